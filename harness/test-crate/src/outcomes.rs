//! Turns a report into tests: one per case, and one for each known failure that is stale or expired. The packages for
//! npm and PyPI make the same tests.

use serde_json::Value;

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The case passed.
    Pass,
    /// The case violates a requirement.
    Fail,
    /// The case is undecided, does not apply, or is expected to fail.
    Skip,
}

impl Outcome {
    /// Returns the name that the packages of other languages use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Skip => "skip",
        }
    }
}

/// A case as a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseTest {
    /// The id of the case.
    pub id: String,
    /// Its title; empty for an entry of known failures.
    pub title: String,
    /// The verdict on the case, such as `inconclusive`.
    pub verdict: String,
    /// The result of the test.
    pub outcome: Outcome,
    /// The failed requirements with their evidence and the command that repeats the case, or the reason to skip it.
    pub message: String,
}

/// A failure that a case shows by itself.
struct Failure<'r> {
    requirement: &'r Value,
    finding: &'r Value,
    /// The entry that expects it.
    expected: Option<&'r Value>,
}

/// Returns the results of the cases as tests. `again` returns the command that repeats a case.
pub fn tests(report: &Value, again: impl Fn(&str) -> String, deny_inconclusive: bool) -> Vec<CaseTest> {
    let mut tests = Vec::new();
    for case in list(&report["cases"]) {
        let id = text(&case["id"]);
        let (outcome, message) = outcome(case, &failures(report, id), &again(id), deny_inconclusive);
        let (title, verdict) = (text(&case["title"]).to_owned(), text(&case["verdict"]).to_owned());
        tests.push(CaseTest { id: id.to_owned(), title, verdict, outcome, message });
    }
    let entries = list(&report["expected"]["entries"]);
    for entry in entries.filter(|entry| ["stale", "expired"].contains(&text(&entry["standing"]))) {
        let names = ["requirement", "case"].into_iter().filter_map(|key| entry[key].as_str());
        tests.push(CaseTest {
            id: format!("expected/{}", names.collect::<Vec<_>>().join(" in ")),
            title: String::new(),
            verdict: text(&entry["verdict"]).to_owned(),
            outcome: Outcome::Fail,
            message: format!("expected to fail ({}), and {}", text(&entry["reason"]), text(&entry["remedy"])),
        });
    }
    tests
}

/// Returns the failures that a case shows by itself: a more specific requirement and another case own the others.
fn failures<'r>(report: &'r Value, case: &str) -> Vec<Failure<'r>> {
    let is_strict = report["strict"] == true;
    let expected = |requirement: &Value| {
        let is_it = |failure: &Value| failure["requirement"] == *requirement && failure["case"] == case;
        list(&report["expected"]["entries"]).find(|entry| list(&entry["failures"]).any(is_it))
    };
    let counts = |requirement: &&Value| requirement["level"] == "must" || is_strict && requirement["level"] == "should";
    let is_own = |finding: &&Value| {
        let is_of_another = |key: &str| !matches!(finding[key], Value::Null | Value::Bool(false));
        finding["case"] == case
            && finding["verdict"] == "fail"
            && !is_of_another("sameAs")
            && !is_of_another("countedIn")
    };
    let requirements = list(&report["requirements"]).filter(counts);
    let of_one = |requirement: &'r Value| {
        let findings = list(&requirement["findings"]).filter(is_own);
        findings.map(move |finding| Failure { requirement, finding, expected: expected(&requirement["id"]) })
    };
    requirements.flat_map(of_one).collect()
}

fn outcome(case: &Value, failures: &[Failure<'_>], again: &str, deny_inconclusive: bool) -> (Outcome, String) {
    let (verdict, reason) = (text(&case["verdict"]), text(&case["reason"]));
    let reproduced = |parts: Vec<String>| [parts, vec![format!("reproduce: {again}")]].concat().join("\n\n");
    let surprises: Vec<String> = failures.iter().filter(|one| one.expected.is_none()).map(Failure::text).collect();
    if verdict == "harness-error" {
        return (Outcome::Fail, format!("acp-conformance itself failed, not the subject: {reason}"));
    }
    if !surprises.is_empty() {
        return (Outcome::Fail, reproduced(surprises));
    }
    if let Some(entry) = failures.first().and_then(|failure| failure.expected) {
        return (Outcome::Skip, format!("expected to fail: {}", text(&entry["reason"])));
    }
    // Another case fails for it.
    if case["cause"]["kind"] == "same-mistake" {
        return (Outcome::Skip, format!("{}: {reason}", text(&case["cause"]["requirement"])));
    }
    match verdict {
        "fail" => (Outcome::Fail, reproduced(vec![reason.to_owned()])),
        "pass" => (Outcome::Pass, String::new()),
        other => {
            let message = format!("{other}: {reason}");
            match deny_inconclusive && other != "not-applicable" {
                true => (Outcome::Fail, reproduced(vec![message])),
                false => (Outcome::Skip, message),
            }
        }
    }
}

impl Failure<'_> {
    fn text(&self) -> String {
        let Self { requirement, finding, .. } = self;
        let mut lines = vec![
            format!("{}  ({})", text(&requirement["id"]), text(&requirement["level"]).to_uppercase()),
            format!("  {}", text(&requirement["text"])),
        ];
        lines.extend(requirement["link"].as_str().map(|link| format!("  {link}")));
        lines.push(format!("  found: {}", text(&finding["text"])));
        lines.extend(list(&finding["lines"]).map(|line| format!("    {}", text(line))));
        lines.join("\n")
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
