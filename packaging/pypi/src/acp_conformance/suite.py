"""The cases of one subject: how to run them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence

from .report import CaseTest, tests

#: Options that select cases.
_SELECTION = ("--case", "--requirement", "--skip", "--shard")

#: Options with and without a value that leave all cases selected.
_VALUES = (
    *("--act", "--cwd", "--env", "--expected", "--format", "--header", "--html", "--jobs", "-j", "--login", "--repeat"),
    *("--setting", "--snapshots", "--timeout-answer", "--timeout-exit", "--timeout-start", "--timeout-turn"),
    "--trace-dir",
)
_FLAGS = ("--allow-incomplete", "--isolate", "--keep-home", "--redact", "--strict")


class ConformanceError(Exception):
    """The suite could not run: the program is missing, the subject does not start, or the options are wrong."""


class Suite:
    """All cases for one subject. pytest makes one test per case of each ``Suite`` that is a global of a test module.

    :param subject: ``agent`` or ``client``; ``None`` means the subject of ``acp-conformance.toml``.
    :param command: The command line of the subject, as words. That of a client contains ``{agent}``.
    :param profile: A profile: a file, or the name of a built-in one.
    :param options: Options of ``acp-conformance agent`` or ``client``, as words.
    :param cwd: The directory to start in.
    :param env: Variables in addition to those of this process.
    :param inconclusive: ``skip`` or ``fail``: the result of a test whose case is undecided.
    """

    def __init__(
        self,
        subject: Optional[str],
        command: Sequence[str] = (),
        *,
        profile: Optional[str] = None,
        options: Sequence[str] = (),
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        inconclusive: str = "skip",
    ):
        profile_words = [] if profile is None else ["--profile", profile]
        self._words = [*([subject] if subject else []), *profile_words, *options]
        self._subject, self._profile, self._options = subject, profile, list(options)
        self._command = ["--", *command] if command else []
        self._cwd, self._env, self._inconclusive = cwd, env, inconclusive

    def cases(self) -> Optional[dict[str, str]]:
        """Returns the titles of all cases by id, without running them; ``None`` if the options select cases."""
        if self._subject is None or not self._runs_all():
            return None
        words = [binary(), "list", "--party", self._subject, "--format", "json"]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise ConformanceError(f"acp-conformance list failed\n{done.stderr.decode(errors='replace').strip()}")
        cases = {case["id"]: case["title"] for case in json.loads(done.stdout)["cases"]}
        # Those of the area http need another transport: a profile, or an option that is not in _VALUES.
        return {id: title for id, title in cases.items() if self._profile is not None or id.split("/")[2] != "http"}

    def _runs_all(self):
        words = iter(self._options)
        for word in words:
            name, has_value, _ = word.partition("=")
            if name in _VALUES:
                if not has_value:
                    next(words, None)
            elif name not in _FLAGS:
                return False
        return True

    def run(self, only: Optional[Sequence[str]] = None) -> dict[str, Any]:
        """Runs the cases and returns the report; ``acp-conformance schema report`` prints its schema.

        :param only: The ids of the cases to run; ``None`` means all that the options select.
        """
        with tempfile.TemporaryDirectory(prefix="acp-conformance-") as folder:
            file = Path(folder) / "report.json"
            chosen = [word for case in only or () for word in ("--case", case)]
            words = [binary(), *self._words, *chosen, "--quiet", "--format", f"json={file}", *self._command]
            env = {**os.environ, **(self._env or {})}
            done = subprocess.run(
                words, cwd=self._cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            output = done.stdout.decode(errors="replace").strip()
            # A run with verdicts exits with 0, 1, 3 or 4.
            if not file.exists():
                raise ConformanceError(f"acp-conformance exited with {done.returncode} and wrote no report\n{output}")
            report = json.loads(file.read_bytes())
        if "obstacle" in report:
            raise ConformanceError(report["obstacle"])
        if "partial" in report:
            raise ConformanceError(f"the run ended early, and its report is partial\n{output}")
        return report

    def tests(self) -> list[CaseTest]:
        """Runs the cases and returns their results as tests."""
        return self.tests_of(self.run())

    def tests_of(self, report: dict[str, Any]) -> list[CaseTest]:
        """Returns the results of a run as tests."""
        return tests(report, self._again, self._inconclusive)

    def _again(self, case):
        words = self._words
        kept = [
            word
            for at, word in enumerate(words)
            if word.split("=")[0] not in _SELECTION and not (at > 0 and words[at - 1] in _SELECTION)
        ]
        return shlex.join(["acp-conformance", *kept, "--case", case, *self._command])


def Agent(command: Sequence[str] = (), **options: Any) -> Suite:
    """An agent with this command line; the options are those of :class:`Suite`."""
    return Suite("agent", command, **options)


def Client(command: Sequence[str] = (), **options: Any) -> Suite:
    """A client with this command line; the options are those of :class:`Suite`."""
    return Suite("client", command, **options)


def Project(**options: Any) -> Suite:
    """The subject that ``acp-conformance.toml`` describes; the options are those of :class:`Suite`."""
    return Suite(None, **options)


def binary() -> str:
    """Returns the path of the program: that in ``ACP_CONFORMANCE_BINARY``, else that of this package, else that in
    ``PATH``.

    :raises ConformanceError: It is missing.
    """
    own = os.environ.get("ACP_CONFORMANCE_BINARY")
    if own:
        if Path(own).is_file():
            return own
        raise ConformanceError(f"cannot find the program in ACP_CONFORMANCE_BINARY: {own}")
    folders = [Path(sysconfig.get_path("scripts", scheme)) for scheme in _schemes()]
    # With `pip install --target DIR`, the commands are in DIR/bin.
    folders.append(Path(__file__).parent.parent / "bin")
    packaged = next((path for path in (folder / "acp-conformance" for folder in folders) if path.is_file()), None)
    found = packaged or shutil.which("acp-conformance")
    if found is None:
        raise ConformanceError(
            "cannot find the program acp-conformance: ACP_CONFORMANCE_BINARY is not set, "
            f"it is not in the package ({', '.join(str(folder) for folder in folders)}), and not in PATH\n"
            "help: install acp-conformance again, or set ACP_CONFORMANCE_BINARY to the path of the program"
        )
    return str(found)


def _schemes():
    user = f"{os.name}_user"
    return [sysconfig.get_default_scheme(), *([user] if user in sysconfig.get_scheme_names() else [])]
