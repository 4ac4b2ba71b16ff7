//! Runs in shards: their joined report equals that of `check` on all of their traces, and has the results of the whole
//! run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use acp_conformance::requirement::Party;
use acp_conformance::results::RunReport;
use acp_conformance::verdict::{Conformance, Verdict};
use libtest_mimic::Trial;
use tempfile::TempDir;

use crate::panicking;
use crate::program::{self, said};
use crate::reference::{AGENT, CLIENT, Mutant};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    panicking(
        "shards",
        &[
            ("an-agent-in-two", agent_in_two),
            ("an-agent-that-fails-in-three", failing_agent_in_three),
            ("a-client-in-three", client_in_three),
            ("a-client-that-fails-in-two", failing_client_in_two),
            ("a-subject-that-says-nothing", silent),
            ("what-is-missing-is-named", missing),
            ("what-does-not-belong-together-is-refused", refused),
            ("every-form-is-written", forms),
        ],
    )
}

/// Some cases that take little time.
const FEW: &[&str] = &["--case", "cancel/"];

/// The known failures of the failing subjects: one that is true, one that is stale, and one for a single case.
const EXPECTED: [(&str, &str); 2] = [
    (
        "agent.toml",
        r#"
expected = [
    { requirement = "cancel.stop-reason", reason = "known" },
    { requirement = "init.version-integer.agent", reason = "no longer true" },
    { requirement = "cancel.no-error", case = "v1/agent/cancel/idle", reason = "of one case" },
]
"#,
    ),
    (
        "client.toml",
        r#"
expected = [
    { requirement = "permission.outcome-shape", case = "v1/client/permission/allowed", reason = "of one case" },
    { case = "v1/client/permission/other-session", reason = "whatever fails there" },
]
"#,
    ),
];

fn agent_in_two() {
    Run::new("agent", 2, &[]).of(&["--case", "fs/", "--", AGENT]).is_as_judged();
}

fn failing_agent_in_three() {
    let run = Run::new("agent", 3, &["--expected", "agent.toml", "--today", "2026-11-21"]);
    let mutant = Mutant::new(Party::Agent, &["--fault", "cancelled-as-end-turn"]);
    run.of(&["--isolate", "--case", "v1/agent/cancel/", "--", &mutant.path()]).is_as_judged();
}

fn client_in_three() {
    Run::new("client", 3, &[]).of(&["--case", "fs/", "--profile", "acp-reference-client"]).is_as_judged();
}

fn failing_client_in_two() {
    let run = Run::new("client", 2, &["--expected", "client.toml", "--today", "2026-11-21"]);
    let mutant = Mutant::new(Party::Client, &["--fault", "client-permission-outcome-text"]);
    let words = ["--isolate", "--case", "permission/", "--profile", "acp-reference-client"];
    run.with_path(mutant.folder()).of(&words).is_as_judged();
}

/// No shard can test it, and the joined report says that once.
fn silent() {
    let run = Run::new("agent", 2, &[]).of(&["--", "true"]);
    let joined = run.merge(&["1.json", "2.json"]);
    let cases = read(&run.folder("report.json")).cases;
    assert!(cases.len() == 1 && cases[0].id == "v1/agent/init/handshake", "{cases:?}");
    assert_eq!(joined.status.code(), Some(3), "{}", said(&joined));
}

fn missing() {
    let run = Run::new("agent", 3, FEW).of(&["--", AGENT]);
    let some = run.merge(&["1.json", "3.json"]);
    assert_eq!(some.status.code(), Some(2));
    assert!(said(&some).contains("shard 2 of 3 is missing"), "{}", said(&some));
    let some = run.merge(&["1.json", "3.json", "--allow-missing"]);
    assert_eq!(some.status.code(), Some(3), "the cases of shard 2 were selected too: {}", said(&some));
    let some = run.merge(&["1.json", "3.json", "--allow-missing", "--allow-incomplete"]);
    assert_eq!(some.status.code(), Some(0), "{}", said(&some));
    assert!(said(&some).contains("shard 2 of 3 is missing"), "{}", said(&some));
}

fn refused() {
    let run = Run::new("agent", 2, FEW).of(&["--", AGENT]);
    let refuses = |change: &dyn Fn(&mut RunReport), why: &str| {
        let mut changed = read(&run.folder("2.json"));
        change(&mut changed);
        fs::write(run.folder("changed.json"), serde_json::to_string(&changed).expect("JSON")).expect("a file");
        let output = run.merge(&["1.json", "changed.json"]);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{why}: {said}");
        assert!(["1.json", "changed.json", why].iter().all(|part| said.contains(part)), "{why}: {said}");
    };
    refuses(&|report| report.subject.version = Some("9".to_owned()), "acp-reference-agent 9");
    refuses(&|report| report.subject.command.push("--other".to_owned()), "--other");
    refuses(&|report| report.suite.version = "9.9.9".to_owned(), "acp-conformance 9.9.9");
    refuses(&|report| report.suite.edition = "v2@2027-01".to_owned(), "v2@2027-01");
    refuses(&|report| report.strict = true, "--strict");
    let twice = read(&run.folder("1.json")).cases;
    refuses(&|report| report.cases.extend(twice.clone()), &twice[0].id);
    refuses(&|report| report.shard.iter_mut().for_each(|shard| shard.number = 1), "both are shard 1 of 2");
    refuses(&|report| report.shard.iter_mut().for_each(|shard| shard.of = 5), "the other of 5");
    refuses(&|report| report.shard.iter_mut().for_each(|shard| shard.selection.clear()), "different selections");
    let mut elsewhere = read(&run.folder("2.json"));
    elsewhere.subject.command[0] = "elsewhere/acp-reference-agent".to_owned();
    fs::write(run.folder("2.json"), serde_json::to_string(&elsewhere).expect("JSON")).expect("a file");
    let joined = run.merge(&["1.json", "2.json"]);
    assert_eq!(joined.status.code(), Some(0), "the same program in another folder: {}", said(&joined));
}

fn forms() {
    let mutant = Mutant::new(Party::Agent, &["--fault", "cancelled-as-end-turn"]);
    let run = Run::new("agent", 2, FEW).of(&["--isolate", "--", &mutant.path()]);
    let files = ["junit", "github", "markdown", "events", "html"];
    let mut words = vec!["1.json".to_owned(), "2.json".to_owned()];
    words.extend(files.iter().map(|form| format!("--format={form}={form}")));
    let joined = run.merge(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let said = said(&joined);
    assert_eq!(joined.status.code(), Some(1), "{said}");
    assert!(said.contains("reproduce: ") && said.contains(" agent --case v1/agent/cancel/"), "{said}");
    for form in files {
        let written = fs::read_to_string(run.folder(form)).expect(form);
        assert!(form == "events" || written.contains("cancel"), "{form}: {written}");
    }
    let page = fs::read_to_string(run.folder("html")).expect("a page");
    assert_eq!(
        page.matches("data-chart=").count(),
        read(&run.folder("report.json")).cases.len(),
        "a chart for each case"
    );
}

/// A run in shards, in a folder of its own.
struct Run {
    dir: TempDir,
    party: &'static str,
    shards: usize,
    options: &'static [&'static str],
    /// The folder of the reference programs.
    programs: PathBuf,
}

impl Run {
    fn new(party: &'static str, shards: usize, options: &'static [&'static str]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        for (file, text) in EXPECTED {
            fs::write(dir.path().join(file), text).expect("a file");
        }
        let programs = Path::new(CLIENT).parent().expect("the folder of the reference peers").to_owned();
        Self { dir, party, shards, options, programs }
    }

    /// Takes the reference programs from this folder.
    fn with_path(self, programs: &Path) -> Self {
        Self { programs: programs.to_owned(), ..self }
    }

    /// Runs the shards with this subject; writes their reports to `1.json`, `2.json` and so on, and their traces to
    /// `traces`.
    fn of(self, subject: &[&str]) -> Self {
        for number in 1..=self.shards {
            let shard = format!("--shard={number}/{}", self.shards);
            let report = format!("--format=json={number}.json");
            let words =
                [&[self.party, &shard, &report, "--trace-dir=traces", "--quiet"], self.options, subject].concat();
            let output = self.command(&words);
            assert!(self.folder(&format!("{number}.json")).is_file(), "{}", said(&output));
        }
        self
    }

    fn merge(&self, words: &[&str]) -> Output {
        self.command(&[&["merge", "--format=json=report.json", "--quiet"], words].concat())
    }

    /// Checks that its joined report and exit code equal those from all of its traces.
    fn is_as_judged(&self) {
        let reports: Vec<String> = (1..=self.shards).map(|number| format!("{number}.json")).collect();
        let joined = self.merge(&reports.iter().map(String::as_str).collect::<Vec<_>>());
        let judged = self.command(&[&["check", "traces", "--format=json=judged.json"], self.options].concat());
        let codes = [&joined, &judged].map(|output| output.status.code());
        let texts = said(&joined) + &said(&judged);
        let [joined, mut judged] = ["report.json", "judged.json"].map(|file| without_times(read(&self.folder(file))));
        // Traces do not say that the run was a selection.
        judged.selection = true;
        judged.verdict = judged.outcome(judged.verdict, |_| false);
        if let Some(mut expected) = judged.expected.take() {
            expected.otherwise = judged.outcome(expected.otherwise, |verdict| verdict == Verdict::Fail);
            judged.expected = Some(expected);
        }
        let decides = joined.expected.as_ref().map_or(joined.verdict, |expected| expected.otherwise);
        let is_passed = decides == Conformance::Passed && codes[1] == Some(3);
        assert_eq!(codes[0], if is_passed { Some(0) } else { codes[1] }, "{texts}");
        for (joined, judged) in joined.requirements.iter().zip(&judged.requirements) {
            assert_eq!(joined, judged);
        }
        assert_eq!(joined.expected, judged.expected);
        assert_eq!(joined, judged);
    }

    fn folder(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    fn command(&self, words: &[&str]) -> Output {
        let mut command = program::command();
        command.args(words).current_dir(self.dir.path()).env("PATH", program::path_from(&self.programs));
        command.stdin(Stdio::null()).output().expect("this program starts")
    }
}

fn read(file: &Path) -> RunReport {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).expect("a report")
}

// Traces contain no profile either.
fn without_times(mut report: RunReport) -> RunReport {
    report.summary.duration_ms = 0;
    report.began = None;
    report.subject.profile = None;
    report.cases.iter_mut().for_each(|case| case.duration_ms = 0);
    // The judge of a trace keeps only the events that prove something, so it shows no messages between them.
    for finding in report.requirements.iter_mut().flat_map(|requirement| &mut requirement.findings) {
        let proofs: Vec<String> = finding.events.iter().map(|event| format!("#{event} ")).collect();
        finding.lines.retain(|line| proofs.iter().any(|proof| line.starts_with(proof)));
    }
    report
}
