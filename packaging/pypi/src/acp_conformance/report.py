"""Turns a report into tests: one per case, and one for each known failure that is stale or expired."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Callable, Optional


@dataclass(frozen=True)
class CaseTest:
    """A case as a test."""

    id: str
    title: str
    verdict: str
    #: ``pass``, ``fail`` or ``skip``.
    result: str
    #: The failed requirements with their evidence and the command that repeats the case, or the reason to skip it.
    message: str


def tests(
    report: dict[str, Any], again: Optional[Callable[[str], str]] = None, inconclusive: str = "skip"
) -> list[CaseTest]:
    """Returns the results of the cases as tests. ``again`` returns the command that repeats a case."""
    failures = _failures_by_case(report)
    found = []
    for case in report["cases"]:
        result, message = _result(case, failures[case["id"]], again, inconclusive)
        found.append(CaseTest(case["id"], case.get("title", ""), case["verdict"], result, message))
    for entry in report.get("expected", {}).get("entries", []):
        if entry["standing"] in ("stale", "expired"):
            name = " in ".join(entry[key] for key in ("requirement", "case") if key in entry)
            message = f"expected to fail ({entry['reason']}), and {entry['remedy']}"
            found.append(CaseTest(f"expected/{name}", "", entry["verdict"], "fail", message))
    return found


def _failures_by_case(report):
    """The failures that a case shows by itself: a more specific requirement and another case own the others."""
    entries = report.get("expected", {}).get("entries", [])
    expected = {(one["requirement"], one["case"]): entry for entry in entries for one in entry["failures"]}
    by_case = defaultdict(list)
    for requirement in report["requirements"]:
        counts = requirement["level"] == "must" or (report.get("strict") and requirement["level"] == "should")
        for finding in requirement["findings"]:
            if counts and finding["verdict"] == "fail" and not finding.get("sameAs") and not finding.get("countedIn"):
                entry = expected.get((requirement["id"], finding["case"]))
                by_case[finding["case"]].append((requirement, finding, entry))
    return by_case


def _result(case, failures, again, inconclusive):
    reason = case.get("reason") or ""
    reproduce = [f"reproduce: {again(case['id'])}"] if again else []
    surprises = [(requirement, finding) for requirement, finding, entry in failures if entry is None]
    if case["verdict"] == "harness-error":
        return "fail", f"acp-conformance itself failed, not the subject: {reason}"
    if surprises:
        return "fail", "\n\n".join([*(_text(*one) for one in surprises), *reproduce])
    if failures:
        return "skip", f"expected to fail: {failures[0][2]['reason']}"
    if case["verdict"] == "fail":
        return "fail", "\n\n".join([reason, *reproduce])
    if case["verdict"] == "pass":
        return "pass", ""
    cause = case.get("cause") or {}
    if cause.get("kind") == "same-mistake":
        return "skip", f"{cause['requirement']}: {reason}"
    message = f"{case['verdict']}: {reason}"
    if inconclusive == "fail" and case["verdict"] != "not-applicable":
        return "fail", "\n\n".join([message, *reproduce])
    return "skip", message


def _text(requirement, finding):
    lines = [f"{requirement['id']}  ({requirement['level'].upper()})", f"  {requirement['text']}"]
    if "link" in requirement:
        lines.append(f"  {requirement['link']}")
    lines.append(f"  found: {finding['text']}")
    return "\n".join([*lines, *(f"    {line}" for line in finding["lines"])])
