//! Runs that stop early: by a signal, by a time limit, or after the first failure. Their reports are partial, and the files of
//! earlier runs stay until the new ones are complete.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acp_conformance::report::model::{PartialReason, RunReport};
use acp_conformance::verdict::Conformance;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

/// An agent that answers `initialize`, and `session/new` if its first argument is the result of that; otherwise it never
/// answers this one request.
const AGENT: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([^,}]*\).*/\1/')
    case $line in
    *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}}\n' "$id" ;;
    *'"method":"session/new"'*) [ -z "$1" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1" ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
    esac
done
"#;

/// The forms that are written to files, apart from JSON.
const FORMS: [&str; 5] = ["junit", "tap", "sarif", "markdown", "html"];

/// A run of an agent, with reports of an earlier one.
struct Run {
    dir: TempDir,
    child: Child,
}

impl Run {
    fn start(options: &[&str], agent: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_acp-conformance"));
        command.args(["agent", "--format", "events"]).args(options);
        for form in FORMS.iter().chain(["json"].iter()) {
            fs::write(dir.path().join(form), "previous").expect("a file");
            command.args(["--format", &format!("{form}={form}")]);
        }
        command.args(["--", "sh", "-c"]).args(agent).current_dir(dir.path()).stdin(Stdio::null());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        Self { dir, child }
    }

    fn signal(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it runs");
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).expect("a file")
    }

    /// Waits for a line of standard output that contains this text.
    fn wait_for(out: &mut impl BufRead, text: &str) {
        let mut lines = out.lines();
        assert!(lines.any(|line| line.expect("text").contains(text)), "the output ended before `{text}`");
    }

    /// Waits for the exit, and returns the exit code with standard error.
    fn end(&mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        // Without a reader of standard output, the run would block.
        if let Some(mut out) = self.child.stdout.take() {
            out.read_to_string(&mut said).expect("text");
            said.clear();
        }
        self.child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        (self.child.wait().expect("it ends").code(), said)
    }

    /// Returns the report, after checking that every form is marked as partial, and that the folder has no other files.
    fn partial_report(&self) -> RunReport {
        for form in FORMS {
            let text = self.file(form);
            assert!(text != "previous" && text.to_lowercase().contains("not run"), "{form}: {text}");
        }
        assert_eq!(self.files().len(), FORMS.len() + 1, "{:?}", self.files());
        serde_json::from_str(&self.file("json")).expect("a report")
    }

    fn files(&self) -> Vec<String> {
        names(self.dir.path())
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    entries.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// Asserts that the report is partial for this reason.
fn assert_partial(report: &RunReport, reason: PartialReason) {
    let partial = report.partial.expect("a partial report");
    assert_eq!(partial.reason, reason);
    assert!(partial.not_run > 0 && !report.cases.is_empty());
    assert_ne!(report.verdict, Conformance::HarnessError, "a case that was cut short is not in the report");
}

#[test]
fn signal_ends_run_with_partial_reports() {
    // With more jobs, each is interrupted in its first case, and none comes back for the rest of its conversation.
    for jobs in [&["--jobs", "1"][..], &[]] {
        let mut run = Run::start(jobs, &[AGENT, "sh", ""]);
        let mut out = BufReader::new(run.child.stdout.take().expect("a pipe"));
        Run::wait_for(&mut out, r#""event":"start""#);
        assert_eq!(run.file("json"), "previous");
        run.signal();
        Run::wait_for(&mut out, r#""event":"run""#);
        let (code, said) = run.end();
        assert_eq!(code, Some(130), "{said}");
        assert_partial(&run.partial_report(), PartialReason::Interrupted);
    }
}

#[test]
fn time_limit_ends_run_with_partial_reports() {
    let mut run = Run::start(&["--jobs", "1", "--time-limit", "5s", "--allow-incomplete"], &[AGENT, "sh", ""]);
    let (code, said) = run.end();
    assert_eq!(code, Some(3), "{said}");
    assert_partial(&run.partial_report(), PartialReason::TimeLimit);
}

#[test]
fn fail_fast_ends_run_after_first_failure() {
    let mut run = Run::start(&["--jobs", "1", "--fail-fast"], &[AGENT, "sh", "{}"]);
    let (code, said) = run.end();
    assert_eq!(code, Some(1), "{said}");
    let report = run.partial_report();
    assert_partial(&report, PartialReason::FailFast);
    assert_eq!(report.summary.cases["fail"], 1);
}

#[test]
fn second_signal_ends_program_at_once() {
    // It answers nothing, ignores the end of its input, and reports its process id through a pipe.
    let pipes = tempfile::tempdir().expect("a folder");
    let pipe = pipes.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
    let agent = ["trap '' TERM; echo $$ > \"$0\"; exec sleep 300", pipe.to_str().expect("text")];
    let mut run = Run::start(&["--jobs", "1", "--timeout-start", "5m", "--timeout-exit", "5m"], &agent);
    let pid = fs::read_to_string(&pipe).expect("it is ready");
    let pid = Pid::from_raw(pid.trim().parse().expect("a process id")).expect("a process id");
    run.signal();
    let mut said = BufReader::new(run.child.stderr.take().expect("a pipe"));
    Run::wait_for(&mut said, "stopping");
    run.signal();
    assert_eq!(run.child.wait().expect("it ends").code(), Some(130));
    assert!(FORMS.iter().all(|form| run.file(form) == "previous"));
    // Process 1 may need a moment to reap it.
    let deadline = Instant::now() + Duration::from_secs(10);
    while test_kill_process(pid).is_ok() {
        assert!(Instant::now() < deadline, "the agent still runs");
        std::thread::yield_now();
    }
}
