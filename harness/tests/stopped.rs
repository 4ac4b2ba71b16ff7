//! Runs that stop early: by a signal, by a time limit, or after the first failure. Their reports are partial, and the
//! files of earlier runs stay until the new ones are complete. And a run of which one file cannot be written.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acp_conformance::judge::Cause;
use acp_conformance::results::{PartialReason, RunReport};
use acp_conformance::verdict::{Conformance, Verdict};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "stopped":
        signal_ends_run_with_partial_reports,
        time_limit_ends_run_with_partial_reports,
        fail_fast_ends_run_after_first_failure,
        second_signal_ends_program_at_once,
        interrupted_run_has_the_verdicts_of_its_traces,
        failure_that_needs_three_sessions_is_found_and_repeated,
        run_that_is_interrupted_at_once_has_a_report,
        case_that_a_signal_interrupts_is_judged,
        file_that_cannot_be_written_takes_no_other_with_it,
    ]
}

/// An agent that answers `initialize`, and `session/new` if its first argument is the result of that; otherwise it
/// never answers this one request.
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
const FORMS: [&str; 3] = ["junit", "markdown", "html"];

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

fn assert_partial(report: &RunReport, reason: PartialReason) {
    let partial = report.partial.expect("a partial report");
    assert_eq!(partial.reason, reason);
    assert!(partial.not_run > 0 && !report.cases.is_empty());
    assert_ne!(report.verdict, Conformance::HarnessError, "a case that was cut short is not in the report");
}

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

fn time_limit_ends_run_with_partial_reports() {
    let mut run = Run::start(&["--jobs", "1", "--time-limit", "5s", "--allow-incomplete"], &[AGENT, "sh", ""]);
    let (code, said) = run.end();
    assert_eq!(code, Some(3), "{said}");
    assert_partial(&run.partial_report(), PartialReason::TimeLimit);
}

fn fail_fast_ends_run_after_first_failure() {
    let mut run = Run::start(&["--jobs", "1", "--fail-fast"], &[AGENT, "sh", "{}"]);
    let (code, said) = run.end();
    assert_eq!(code, Some(1), "{said}");
    let report = run.partial_report();
    assert_partial(&report, PartialReason::FailFast);
    // The conversation of that case holds others, and what they showed is in the report too.
    assert!(report.summary.cases["fail"] > 0);
}

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

/// An agent with a mistake in the third session of each process, which a case alone does not show.
const LATE: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
n=0
while read -r line; do
    id=${line#*'"id":'}; id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*) say "\"id\":$id,\"result\":{\"protocolVersion\":1,\"agentInfo\":{\"name\":\"late\",\"version\":\"1\"}}" ;;
    *'"method":"session/new"'*)
        n=$((n+1))
        [ $n != 3 ] || say '"method":"session/update","params":{"sessionId":"unknown","update":{"sessionUpdate":"plan","entries":[]}}'
        say "\"id\":$id,\"result\":{\"sessionId\":\"$$-$n\"}" ;;
    *'"method":"session/prompt"'*) say "\"id\":$id,\"result\":{\"stopReason\":\"end_turn\"}" ;;
    *'"method":"_'*) say "\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"unknown\"}" ;;
    esac
done
"#;

/// The requirement that it violates.
const LATE_BREAKS: &str = "update.session-known";

impl Run {
    /// Ends the run, and returns its report with that of `check` on its traces.
    fn with_its_traces(&mut self) -> (RunReport, RunReport) {
        let (_, said) = self.end();
        let report = serde_json::from_str(&self.file("json")).unwrap_or_else(|error| panic!("{error}: {said}"));
        let mut check = Command::new(env!("CARGO_BIN_EXE_acp-conformance"));
        check.args(["check", "--format", "json", "traces"]).current_dir(self.dir.path());
        let output = check.output().expect("it runs");
        let checked = serde_json::from_slice(&output.stdout);
        (report, checked.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr))))
    }
}

/// Checks that both have the same verdicts, and returns that on the requirement which the agent violates.
fn same_verdicts(run: &RunReport, checked: &RunReport) -> Verdict {
    let verdicts = |report: &RunReport| -> BTreeMap<String, Verdict> {
        report.requirements.iter().map(|one| (one.id.clone(), one.verdict)).collect()
    };
    let (mine, theirs) = (verdicts(run), verdicts(checked));
    let other: Vec<_> = mine.iter().filter(|(id, verdict)| theirs.get(*id) != Some(verdict)).collect();
    assert!(other.is_empty(), "check has other verdicts than {other:?}");
    assert_eq!(run.verdict, checked.verdict);
    mine[LATE_BREAKS]
}

fn interrupted_run_has_the_verdicts_of_its_traces() {
    for limit in ["1s", "4s"] {
        let mut run = Run::start(&["--trace-dir", "traces", "--time-limit", limit], &[LATE]);
        let (report, checked) = run.with_its_traces();
        assert!(report.partial.is_some(), "{limit}");
        let verdict = same_verdicts(&report, &checked);
        let is_seen = report.requirements.iter().any(|one| one.id == LATE_BREAKS && !one.findings.is_empty());
        assert_eq!(is_seen, matches!(verdict, Verdict::Fail | Verdict::Inconclusive), "{limit}: {verdict}");
    }
    let mut run = Run::start(&["--trace-dir", "traces"], &[LATE]);
    let mut out = BufReader::new(run.child.stdout.take().expect("a pipe"));
    Run::wait_for(&mut out, r#""event":"case""#);
    run.signal();
    Run::wait_for(&mut out, r#""event":"run""#);
    let (report, checked) = run.with_its_traces();
    assert!(report.partial.is_some());
    assert_ne!(same_verdicts(&report, &checked), Verdict::NotApplicable);
}

fn failure_that_needs_three_sessions_is_found_and_repeated() {
    let options = ["prompt/*", "--trace-dir", "traces", "--format", "text=text"];
    let mut run = Run::start(&options, &[LATE]);
    let (report, checked) = run.with_its_traces();
    assert_eq!(same_verdicts(&report, &checked), Verdict::Fail);
    let traces = fs::read_dir(run.dir.path().join("traces")).expect("a folder").count();
    assert_eq!(traces, report.summary.starts, "each process has a trace of its own");
    let text = run.file("text");
    assert!(text.contains("failed  update.session-known") && text.contains("--in-order"), "{text}");
    let broken = report.requirements.iter().find(|one| one.id == LATE_BREAKS).expect("it is judged");
    let after = broken.findings.iter().map(|finding| finding.after.len()).min();
    assert!(matches!(after, Some(1 | 2)), "a few sessions come before the third one: {after:?}");
}

fn run_that_is_interrupted_at_once_has_a_report() {
    // It never answers initialize.
    let mut run = Run::start(&["--time-limit", "100ms", "--timeout-start", "30s"], &["sleep 60"]);
    let (code, said) = run.end();
    assert_eq!(code, Some(3), "{said}");
    let report = run.partial_report();
    assert_eq!(report.partial.map(|partial| partial.reason), Some(PartialReason::TimeLimit));
    let handshake = report.cases.first().map(|case| (case.verdict, case.cause.clone()));
    assert_eq!((report.cases.len(), handshake), (1, Some((Verdict::Inconclusive, Some(Cause::RunEnded)))));
}

/// An agent that breaks the wire format in the prompt whose number is its argument, and then says nothing more. Its
/// user ends the run there.
const BREAKS_AND_HANGS: &str = r#"
n=0
while read -r line; do
    id=${line#*'"id":'}; id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}\n' "$id" ;;
    *'"method":"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"%s"}}\n' "$id" "$$-$id" ;;
    *'"method":"session/prompt"'*)
        n=$((n+1))
        if [ $n = "$0" ]; then
            printf 'Thinking ...\n{"jsonrpc":"1.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$id"
            kill -INT $PPID
            exec sleep 300
        fi
        printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$id" ;;
    *'"method":"_'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
    esac
done
"#;

fn case_that_a_signal_interrupts_is_judged() {
    for (kind, prompt) in [("--quiet", "4"), ("--isolate", "1")] {
        let options = ["prompt/*", "--trace-dir", "traces", "--timeout-turn", "5m", "--jobs", "1", kind];
        let mut run = Run::start(&options, &[BREAKS_AND_HANGS, prompt]);
        let (report, checked) = run.with_its_traces();
        assert_eq!(report.partial.map(|partial| partial.reason), Some(PartialReason::Interrupted));
        for broken in ["transport.stdout-only-messages", "jsonrpc.version-member.agent"] {
            let one = report.requirements.iter().find(|one| one.id == broken).expect("it is judged");
            let seen = (one.verdict, !one.findings.is_empty());
            assert!(matches!(seen, (Verdict::Inconclusive | Verdict::Fail, true)), "{broken}: {seen:?}");
        }
        same_verdicts(&report, &checked);
    }
}

fn file_that_cannot_be_written_takes_no_other_with_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_acp-conformance"));
    command.args([
        "agent",
        "init/handshake",
        "--format",
        "junit=/dev/full",
        "--format",
        "json=json",
        "--snapshots",
        "file",
    ]);
    command.args(["--", "sh", "-c", AGENT, "sh", ""]).current_dir(dir.path()).stdin(Stdio::null());
    fs::write(dir.path().join("file"), "no folder").expect("a file");
    let output = command.output().expect("it runs");
    let [said, failed] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    assert!(said.contains("Every selected case passed") && failed.contains("--snapshots file"), "{said}{failed}");
    assert_eq!(output.status.code(), Some(2), "{said}{failed}");
    let report = fs::read(dir.path().join("json")).expect("the other report");
    let report: RunReport = serde_json::from_slice(&report).expect("a report");
    assert_eq!(report.verdict, Conformance::Passed);
}
