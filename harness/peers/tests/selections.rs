//! Runs of selected cases: each form of the report says that they passed, and never that the subject is conformant.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use acp_conformance::requirement::Party;
use acp_conformance::results::RunReport;
use acp_conformance::verdict::Conformance::{Incomplete, NotConformant, Passed};
use libtest_mimic::Trial;

use crate::panicking;
use crate::program::{self, said};
use crate::reference::{AGENT, CLIENT, Mutant};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    panicking(
        "selections",
        &[
            ("quick-run-passes", quick),
            ("every-form-says-passed", forms),
            ("undecided-case-is-incomplete", undecided),
            ("expected-failure-passes", expected_failure),
        ],
    )
}

fn quick() {
    let folder = tempfile::tempdir().expect("a folder");
    let (output, report) = run(folder.path(), &["agent", "--quick", "--", AGENT]);
    assert_eq!((output.status.code(), report.verdict, report.selection), (Some(0), Passed, true), "{}", said(&output));
}

fn forms() {
    let folder = tempfile::tempdir().expect("a folder");
    let forms = ["text", "json", "events", "junit", "github", "markdown", "html"];
    let options = forms.map(|form| format!("--format={form}={form}"));
    let words: Vec<&str> = options.iter().map(String::as_str).collect();
    let (output, report) = run(folder.path(), &[&["agent", "fs/read"], words.as_slice(), &["--", AGENT]].concat());
    assert_eq!((output.status.code(), report.verdict, report.selection), (Some(0), Passed, true), "{}", said(&output));
    for form in forms {
        let text = fs::read_to_string(folder.path().join(form)).expect(form);
        // JUnit has no verdict on the run.
        assert!(form == "junit" || text.contains("passed"), "{form}: {text}");
        assert!(!["incomplete", "\"conformant\"", "conformant  "].iter().any(|word| text.contains(word)), "{form}");
    }
}

fn undecided() {
    let folder = tempfile::tempdir().expect("a folder");
    // Nothing says how its user cancels.
    let command = [CLIENT, "--acts", "--cwd", "{cwd}", "--prompt", "{prompt}", "--", "{agent}", "--acp"];
    let (output, report) = run(folder.path(), &[["client", "cancel/", "--"].as_slice(), &command].concat());
    let text = said(&output);
    assert_eq!((output.status.code(), report.verdict, report.selection), (Some(3), Incomplete, true), "{text}");
}

fn expected_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let expected = "expected = [{ requirement = \"cancel.stop-reason\", reason = \"known\" }]\n";
    fs::write(folder.path().join("expected.toml"), expected).expect("a file");
    let mutant = Mutant::new(Party::Agent, &["--fault", "cancelled-as-end-turn"]);
    let (cases, program) = ("v1/agent/cancel/while-asking", mutant.path());
    let (output, report) = run(folder.path(), &["agent", cases, "--expected", "expected.toml", "--", &program]);
    let otherwise = report.expected.as_ref().map(|expected| expected.otherwise);
    let found = (output.status.code(), report.verdict, otherwise);
    assert_eq!(found, (Some(0), NotConformant, Some(Passed)), "{}", said(&output));
}

/// Runs the program in a folder, and returns its output and its report.
fn run(folder: &Path, words: &[&str]) -> (Output, RunReport) {
    let mut command = program::command();
    command.arg(words[0]).arg("--format=json=report.json").args(&words[1..]).current_dir(folder).stdin(Stdio::null());
    let output = command.output().expect("this program starts");
    let text = fs::read_to_string(folder.join("report.json")).unwrap_or_else(|_| panic!("{}", said(&output)));
    (output, serde_json::from_str(&text).expect("a report"))
}
