//! The stored report becomes the same tests as in the packages for npm and PyPI.

use acp_conformance_test::{CaseTest, Outcome, tests};
use serde_json::{Value, json};

fn read(name: &str) -> Value {
    let path = format!("{}/../../packaging/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
}

fn again(case: &str) -> String {
    format!("acp-conformance agent --case {case} -- my-agent")
}

#[test]
fn a_report_becomes_one_test_per_case_and_per_wrong_entry() {
    let plain = |CaseTest { id, verdict, outcome, message, .. }: CaseTest| json!({ "id": id, "verdict": verdict, "result": outcome.name(), "message": message });
    let found: Vec<Value> = tests(&read("report.json"), again, false).into_iter().map(plain).collect();
    assert_eq!(Value::Array(found), read("tests.json"));
}

#[test]
fn one_mistake_is_one_failing_test() {
    let cause = json!({ "kind": "same-mistake", "requirement": "fs.read.params", "case": "a" });
    let case = json!({ "id": "b", "verdict": "inconclusive", "reason": "same mistake as a", "cause": cause });
    let report = json!({ "cases": [case], "requirements": [] });
    for deny_inconclusive in [false, true] {
        let [test] = &tests(&report, again, deny_inconclusive)[..] else { panic!("one case") };
        assert_eq!((test.outcome, &*test.message), (Outcome::Skip, "fs.read.params: same mistake as a"));
    }
}

#[test]
fn undecided_cases_fail_on_request() {
    let found = tests(&read("report.json"), again, true);
    let of = |verdict: &str| -> Vec<(&str, Outcome)> {
        let chosen = found.iter().filter(|test| test.verdict == verdict);
        chosen.map(|test| (&*test.id, test.outcome)).collect()
    };
    // The last one shows only a mistake that another test fails for.
    let undecided = [("v1/agent/cancel/next-prompt", Outcome::Fail), ("v1/agent/cancel/while-writing", Outcome::Skip)];
    assert_eq!(of("inconclusive"), undecided);
    assert_eq!(of("not-applicable"), [("v1/agent/auth/terminal-methods", Outcome::Skip)]);
}
