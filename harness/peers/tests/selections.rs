//! Runs of selected cases: each form of the report says that they passed, and never that the subject is conformant.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use acp_conformance::requirement::Party;
use acp_conformance::verdict::Conformance::{Incomplete, NotConformant, Passed};
use acp_conformance::verdict::Verdict;
use libtest_mimic::Trial;

use crate::panicking;
use crate::program::{said, tested, tested_in};
use crate::reference::{AGENT, CLIENT, Mutant};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    panicking(
        "selections",
        &[
            ("quick-run-passes", quick),
            ("quick-run-of-a-client-needs-no-unknown-act", quick_client),
            ("agent-without-sessions-is-skipped-after-two-cases", without_sessions),
            ("repeated-run-counts-verdicts", repeated),
            ("every-form-says-passed", forms),
            ("undecided-case-is-incomplete", undecided),
            ("selection-for-another-version-is-incomplete", other_version),
            ("expected-failure-passes", expected_failure),
        ],
    )
}

fn quick() {
    let (output, report) = tested(&["agent", "--quick", "--", AGENT]);
    assert_eq!((output.status.code(), report.verdict, report.selection), (Some(0), Passed, true), "{}", said(&output));
}

fn quick_client() {
    let command = [CLIENT, "--cwd", "{cwd}", "--prompt", "{prompt}", "--", "{agent}"];
    let (output, report) = tested(&[["client", "--quick", "--"].as_slice(), &command].concat());
    let text = said(&output);
    assert!(report.selection && (5..40).contains(&report.cases.len()), "{} cases: {text}", report.cases.len());
    assert!(report.reasons.iter().all(|reason| !reason.kind.starts_with("unknown-")), "{text}");
    assert_eq!(report.summary.cases["fail"], 0, "{text}");
}

fn without_sessions() {
    let silent = "title: t\nkills: t\ncase: t\nmatch: { result-of: session/new }\ndo: { drop: true }\n";
    let mutant = Mutant::of(Party::Agent, silent);
    let agent = mutant.path();
    let words = ["agent", "--quick", "--timeout-answer", "300ms", "--jobs", "1", "--", &agent];
    let (output, report) = tested(&words);
    let text = said(&output);
    let skipped = report.cases.iter().filter_map(|case| case.reason.as_ref());
    let skipped = skipped.filter(|reason| reason.starts_with("skipped: the agent did not answer session/new")).count();
    assert!(skipped > 40, "{skipped} cases were skipped: {text}");
    assert!(text.contains("cases say nothing: the agent does not answer session/new"), "{text}");
    assert!(text.contains("got no answer to session/new"), "{text}");
}

fn repeated() {
    let folder = tempfile::tempdir().expect("a folder");
    // Every second start goes wrong.
    let script = format!(
        "#!/bin/sh\nif mkdir '{0}/odd' 2>/dev/null; then exec '{AGENT}'; fi\nrmdir '{0}/odd'\n'{AGENT}' | sed -u s/end_turn/end_turns/\n",
        folder.path().display()
    );
    let agent = folder.path().join("agent");
    fs::write(&agent, script).expect("a script");
    fs::set_permissions(&agent, Permissions::from_mode(0o755)).expect("it becomes executable");
    let agent = agent.display().to_string();
    let words = ["agent", "v1/agent/prompt/text", "--isolate", "--repeat", "5", "--", &agent];
    let (output, report) = tested_in(folder.path(), &words);
    let text = said(&output);
    let repeated = report.repeated.as_ref().expect("several runs");
    let verdicts = &repeated.cases["v1/agent/prompt/text"];
    assert_eq!((repeated.runs, verdicts.values().sum::<usize>()), (5, 5), "{text}");
    let failed = verdicts[&Verdict::Fail];
    assert!((1..5).contains(&failed), "{verdicts:?}");
    let places = [format!("failed in {failed} of 5 runs").as_str(), "--repeat 5"].map(|words| text.find(words));
    assert!(places[0].is_some() && places[0] < places[1], "{text}");
    assert_eq!(output.status.code(), Some(1));
}

fn other_version() {
    let older = "title: t\nkills: t\ncase: t\nmatch: { result-of: initialize }\ndo: { set: { /result: { protocolVersion: 1, agentCapabilities: {}, authMethods: [] } } }\n";
    let agent = Mutant::of(Party::Agent, older);
    let (output, report) = tested(&["agent", "--protocol", "v2", "init/handshake", "--", &agent.path()]);
    let text = said(&output);
    assert_eq!((output.status.code(), report.verdict, report.selection), (Some(3), Incomplete, true), "{text}");
    assert!(text.contains("the subject speaks another version of the protocol"), "{text}");
}

fn forms() {
    let folder = tempfile::tempdir().expect("a folder");
    let forms = ["text", "json", "events", "junit", "github", "markdown", "html"];
    let options = forms.map(|form| format!("--format={form}={form}"));
    let words: Vec<&str> = options.iter().map(String::as_str).collect();
    let (output, report) =
        tested_in(folder.path(), &[&["agent", "fs/read"], words.as_slice(), &["--", AGENT]].concat());
    assert_eq!((output.status.code(), report.verdict, report.selection), (Some(0), Passed, true), "{}", said(&output));
    for form in forms {
        let text = fs::read_to_string(folder.path().join(form)).expect(form);
        // JUnit has no verdict on the run.
        assert!(form == "junit" || text.contains("passed"), "{form}: {text}");
        assert!(!["incomplete", "\"conformant\"", "conformant  "].iter().any(|word| text.contains(word)), "{form}");
    }
}

fn undecided() {
    // Nothing says how its user cancels.
    let command = [CLIENT, "--acts", "--cwd", "{cwd}", "--prompt", "{prompt}", "--", "{agent}", "--acp"];
    let (output, report) = tested(&[["client", "cancel/", "--"].as_slice(), &command].concat());
    let text = said(&output);
    assert_eq!((output.status.code(), report.verdict, report.selection), (Some(3), Incomplete, true), "{text}");
}

fn expected_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let expected = "expected = [{ requirement = \"cancel.stop-reason\", reason = \"known\" }]\n";
    fs::write(folder.path().join("expected.toml"), expected).expect("a file");
    let mutant = Mutant::new(Party::Agent, &["--fault", "cancelled-as-end-turn"]);
    let (cases, program) = ("v1/agent/cancel/while-asking", mutant.path());
    let (output, report) = tested_in(folder.path(), &["agent", cases, "--expected", "expected.toml", "--", &program]);
    let otherwise = report.expected.as_ref().map(|expected| expected.otherwise);
    let found = (output.status.code(), report.verdict, otherwise);
    assert_eq!(found, (Some(0), NotConformant, Some(Passed)), "{}", said(&output));
}
