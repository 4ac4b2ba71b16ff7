//! `monitor` between real processes: the reference programs, and programs that exit, hang, flood and are killed.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use acp_conformance::edition::V1;
use acp_conformance::requirement::Party;
use acp_conformance::results::RunReport;
use acp_conformance::trace::{ProcessEvent, Trace, What};
use acp_conformance::verdict::{Conformance, Verdict};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::reference::Mutant;
use crate::{panicking, program, reference};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    panicking(
        "monitor",
        &[
            ("both-see-the-same-bytes", same_bytes),
            ("reference-programs-fail-nothing", clean),
            ("the-agent-is-named-when-it-is-at-fault", guilty_agent),
            ("the-client-is-named-when-it-is-at-fault", guilty_client),
            ("the-agreed-version-decides", agreed_version),
            ("reports-are-there-at-the-end-of-the-output", reports_at_the_end),
            ("wait-exits-after-everything-is-written", wait_exits_last),
            ("wait-passes-signals-and-the-exit-code-on", wait_forwards),
            ("half-a-line-goes-on-at-once", half_a_line),
            ("an-end-and-an-exit-code-are-passed-on", exit_code),
            ("a-signal-reaches-the-agent", signalled),
            ("a-killed-agent-leaves-a-whole-record", killed),
            ("a-killed-group-leaves-a-whole-record", killed_group),
            ("a-flood-passes-whole-and-in-order", flood),
            ("deaf-agent-does-not-block-the-client", deaf),
            ("a-full-disk-breaks-no-session", full_disk),
            ("an-agent-that-cannot-be-started", no_agent),
            ("a-login-in-a-terminal-has-the-terminal", terminal_login),
        ],
    )
}

/// A folder for one session.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.file(name)).expect("a file")
    }

    fn trace(&self) -> Trace {
        Trace::read(BufReader::new(File::open(self.file("trace")).expect("a trace"))).expect("a whole trace")
    }

    fn reports(&self) -> [RunReport; 2] {
        let text = fs::read_to_string(self.file("report")).expect("a report");
        let reports: Vec<RunReport> = text.lines().map(|line| serde_json::from_str(line).expect("a report")).collect();
        reports.try_into().expect("one for each party")
    }

    /// Returns the words that start the monitor before an agent.
    fn words(&self, options: &[&str], agent: &[&str]) -> Vec<String> {
        let [trace, report] = ["trace", "report"].map(|name| self.file(name).display().to_string());
        let own = ["monitor", "--trace", &trace, "--report", &report];
        let words = own.iter().chain(options).chain(&["--"]).chain(agent).map(|word| (*word).to_owned());
        program::words().into_iter().chain(words).collect()
    }

    fn start(&self, options: &[&str], agent: &[&str]) -> Session {
        let words = self.words(options, agent);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.0.path()).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Session(command.spawn().expect("the monitor starts"))
    }

    /// Runs the reference client with a prompt; returns the standard error of the agent and the monitor.
    fn reference(&self, prompt: &str, of_client: &[&str], options: &[&str], of_agent: &[&str]) -> String {
        self.between((reference::CLIENT, reference::AGENT), prompt, of_client, options, of_agent)
    }

    /// Like [`Self::reference`], with these programs.
    fn between(
        &self,
        (client, agent): (&str, &str),
        prompt: &str,
        of_client: &[&str],
        options: &[&str],
        of_agent: &[&str],
    ) -> String {
        let words = self.words(options, &[&[agent], of_agent].concat());
        let mut client = Command::new(client);
        client.args(["--prompt", prompt]).args(of_client).arg("--").args(words).current_dir(self.0.path());
        // Its standard error ends when all holders have closed it: then the session has been checked.
        let out = client.stdin(Stdio::null()).output().expect("the client runs");
        String::from_utf8_lossy(&out.stderr).into_owned()
    }
}

/// A client that the test controls.
struct Session(Child);

impl Session {
    fn say(&mut self, bytes: &[u8]) {
        self.0.stdin.as_mut().expect("it is open").write_all(bytes).expect("it is read");
    }

    fn hear(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.stdout.as_mut().expect("it is open").read_exact(&mut bytes).expect("it is said");
        bytes
    }

    fn hear_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::with_capacity(1, self.0.stdout.as_mut().expect("it is open")).read_line(&mut line).expect("text");
        line
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Returns the exit of the agent, and the standard error until the monitor has exited, too.
    fn end(&mut self) -> (ExitStatus, String) {
        drop(self.0.stdin.take());
        let status = self.0.wait().expect("it ends");
        let mut errors = String::new();
        self.0.stderr.as_mut().expect("it is open").read_to_string(&mut errors).expect("text");
        (status, errors)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn failed(report: &RunReport) -> Vec<&str> {
    report.requirements.iter().filter(|r| r.verdict == Verdict::Fail).map(|r| r.id.as_str()).collect()
}

fn said(trace: &Trace, party: Party) -> Vec<u8> {
    let lines = trace.events.iter().filter_map(|event| match &event.what {
        What::Line { from, bytes, end, .. } if *from == party => Some([bytes, end.bytes()].concat()),
        _ => None,
    });
    lines.flatten().collect()
}

const PLAN: &str = r#"acp-intent: {"intent":"plan"}"#;

fn same_bytes() {
    let desk = Desk::new();
    let inside = format!("tee agent-in | {} | tee agent-out", reference::AGENT);
    let words = desk.words(&[], &["sh", "-c", &inside]);
    let outside = r#"tee client-out | "$@" | tee client-in"#;
    let mut client = Command::new(reference::CLIENT);
    client.args(["--prompt", PLAN, "--", "sh", "-c", outside, "sh"]).args(words).current_dir(desk.0.path());
    let out = client.stdin(Stdio::null()).output().expect("the client runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let trace = desk.trace();
    for (party, written, read) in [(Party::Client, "client-out", "agent-in"), (Party::Agent, "agent-out", "client-in")]
    {
        assert!(!desk.read(written).is_empty());
        assert_eq!(desk.read(written), desk.read(read));
        assert_eq!(desk.read(written), said(&trace, party));
    }
}

fn clean() {
    let desk = Desk::new();
    let errors = desk.reference(PLAN, &[], &[], &[]);
    assert_eq!(errors, "", "a session without fault says nothing");
    for (report, (kind, name)) in
        desk.reports().iter().zip([(Party::Agent, "acp-reference-agent"), (Party::Client, "acp-reference-client")])
    {
        assert_eq!((report.subject.kind, report.subject.name.as_deref()), (kind, Some(name)));
        assert_eq!((failed(report), report.verdict), (vec![], Conformance::Incomplete));
        assert!(report.summary.requirements["pass"] > 10, "{kind}: {:?}", report.summary);
    }
}

fn agreed_version() {
    let desk = Desk::new();
    let errors = desk.reference(PLAN, &["--protocol", "v2"], &["--live"], &[]);
    assert_eq!(errors, "", "a session without fault says nothing");
    for report in desk.reports() {
        assert_eq!((failed(&report), report.suite.edition.as_str()), (vec![], "v2@2026-11-20"));
        assert!(report.summary.requirements["pass"] > 10, "{:?}", report.summary);
    }
}

fn guilty_agent() {
    let desk = Desk::new();
    let prompt = r#"acp-intent: {"intent":"run-command","command":"true"}"#;
    let agent = Mutant::new(Party::Agent, &["--fault", "terminal-used-after-release"]);
    let programs = (reference::CLIENT, &*agent.path());
    let errors = desk.between(programs, prompt, &[], &["--live", "--html", "page.html"], &[]);
    let [agent, client] = desk.reports();
    assert_eq!((failed(&agent), failed(&client)), (vec!["terminal.no-use-after-release"], vec![]));
    assert!(errors.contains("failed  terminal.no-use-after-release"), "{errors}");
    assert!(errors.contains("the agent (acp-reference-agent) broke 1 MUST;"), "{errors}");
    let page = String::from_utf8(desk.read("page.html")).expect("a page is UTF-8");
    assert!(page.contains("aria-label=\"The agent\"") && page.contains("aria-label=\"The client\""));
    assert_eq!(page.matches("data-chart=\"").count(), 1, "a chart of the session");
}

fn guilty_client() {
    let desk = Desk::new();
    let client = Mutant::new(Party::Client, &["--fault", "client-answer-notifications"]);
    let errors = desk.between((&client.path(), reference::AGENT), PLAN, &[], &[], &[]);
    let [agent, client] = desk.reports();
    assert_eq!((failed(&agent), failed(&client)), (vec![], vec!["jsonrpc.notification-no-response.client"]));
    assert!(errors.contains("failed  jsonrpc.notification-no-response.client"), "{errors}");
}

/// A client that waits for the end of the agent's output finds the reports.
fn reports_at_the_end() {
    for _ in 0..5 {
        let desk = Desk::new();
        let mut session = desk.start(&[], &["cat"]);
        session.say(INITIALIZE);
        session.hear(INITIALIZE.len());
        drop(session.0.stdin.take());
        let mut rest = Vec::new();
        session.0.stdout.as_mut().expect("it is open").read_to_end(&mut rest).expect("it is read");
        assert_eq!(desk.reports().len(), 2);
    }
}

fn wait_exits_last() {
    for _ in 0..3 {
        let desk = Desk::new();
        let agent = Mutant::new(Party::Agent, &["--fault", "capability-object-for-boolean"]);
        let errors = File::create(desk.file("errors")).expect("a file");
        let words = desk.words(&["--wait", "--html", "page.html"], &[&agent.path()]);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(desk.0.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut session = Session(command.stderr(errors).spawn().expect("the monitor starts"));
        session.say(INITIALIZE);
        session.hear_line();
        drop(session.0.stdin.take());
        let status = session.0.wait().expect("it exits");
        assert_eq!(status.code(), Some(0));
        assert!(!failed(&desk.reports()[0]).is_empty());
        assert!(desk.read("page.html").trim_ascii_end().ends_with(b"</html>"));
        let errors = String::from_utf8(desk.read("errors")).expect("text");
        assert!(errors.contains("acp-conformance: the agent"), "{errors}");
    }
}

fn wait_forwards() {
    let desk = Desk::new();
    let script = "trap 'echo stopping; exit 9' TERM; trap 'echo one' USR1; echo ready; while :; do sleep 0.01; done";
    let mut session = desk.start(&["--wait"], &["sh", "-c", script]);
    assert_eq!(session.hear_line(), "ready\n");
    kill_process(session.pid(), Signal::USR1).expect("it runs");
    assert_eq!(session.hear_line(), "one\n");
    kill_process(session.pid(), Signal::TERM).expect("it runs");
    assert_eq!(session.hear_line(), "stopping\n");
    assert_eq!(session.end().0.code(), Some(9));
    let (status, _) = desk.start(&["--wait"], &["sh", "-c", "kill -KILL $$"]).end();
    assert_eq!(status.code(), Some(128 + 9));
    let (status, errors) = desk.start(&["--wait"], &["no-such-agent"]).end();
    assert_eq!(status.code(), Some(2));
    assert_eq!(errors, "error: cannot start the agent: no program `no-such-agent` on PATH\n");
}

fn half_a_line() {
    let desk = Desk::new();
    let mut session = desk.start(&[], &["cat"]);
    session.say(b"{\"half");
    assert_eq!(session.hear(6), b"{\"half");
    let (status, _) = session.end();
    assert_eq!(status.code(), Some(0));
}

fn exit_code() {
    let desk = Desk::new();
    let mut session = desk.start(&[], &["sh", "-c", "cat; pwd; echo $0 >&2; exit 7"]);
    session.say(b"{}\n");
    assert_eq!(session.hear(3), b"{}\n");
    let (status, errors) = session.end();
    let mut rest = String::new();
    session.0.stdout.take().expect("it is open").read_to_string(&mut rest).expect("text");
    assert_eq!(Path::new(rest.trim()), desk.0.path().canonicalize().expect("a folder"));
    assert_eq!((status.code(), errors.lines().next()), (Some(7), Some("sh")));
    let ends: Vec<_> = desk.trace().events.into_iter().filter_map(|event| process(event.what)).collect();
    let [ProcessEvent::Spawned { .. }, ProcessEvent::StdinClosed, ProcessEvent::StdoutEnded] = &ends[..] else {
        panic!("{ends:?}")
    };
}

fn process(what: What) -> Option<ProcessEvent> {
    match what {
        What::Process(process) => Some(process),
        _ => None,
    }
}

fn signalled() {
    let desk = Desk::new();
    let script = "trap 'echo stopping; exit 9' TERM; echo ready; while :; do sleep 0.01; done";
    let mut session = desk.start(&[], &["sh", "-c", script]);
    assert_eq!(session.hear_line(), "ready\n");
    kill_process(session.pid(), Signal::TERM).expect("it runs");
    assert_eq!(session.hear_line(), "stopping\n");
    assert_eq!(session.end().0.code(), Some(9));
}

/// An agent with an incomplete message, which lacks its line feed.
const BUSY: &str = r#"read -r line
printf '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"_meta":{"x":{}}},"authMethods":[],"agentInfo":{"name":"a","version":"1"}}}\n'
printf '{"jsonrpc":"2.0","method":"_x/y"}'; exec sleep 1000"#;

const HALF: &[u8] = br#"{"jsonrpc":"2.0","method":"_x/y"}"#;

const INITIALIZE: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1,\"clientCapabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n";

fn killed() {
    die_by(|session| kill_process(session.pid(), Signal::KILL).expect("it runs"));
}

fn killed_group() {
    die_by(|session| kill_process_group(session.pid(), Signal::KILL).expect("it runs"));
}

fn die_by(kill: impl FnOnce(&Session)) {
    let desk = Desk::new();
    let mut session = desk.start(&[], &["sh", "-c", BUSY]);
    session.say(INITIALIZE);
    session.hear_line();
    assert_eq!(session.hear(HALF.len()), HALF);
    kill(&session);
    let (status, _) = session.end();
    assert_eq!(status.signal(), Some(9));
    assert_eq!(said(&desk.trace(), Party::Client), INITIALIZE);
    assert!(said(&desk.trace(), Party::Agent).ends_with(HALF));
    // Work that a kill prevented is not a failure.
    for report in desk.reports() {
        assert_eq!(failed(&report), Vec::<&str>::new());
    }
}

fn flood() {
    const LINES: usize = 20_000;
    let desk = Desk::new();
    let script = format!("i=0; while [ $i -lt {LINES} ]; do echo $i; i=$((i+1)); done");
    let mut session = desk.start(&[], &["sh", "-c", &script]);
    let lines = BufReader::new(session.0.stdout.take().expect("it is open")).lines();
    let numbers: Vec<usize> = lines.map(|line| line.expect("text").parse().expect("a number")).collect();
    assert!(numbers.into_iter().eq(0..LINES));
    session.end();
    assert_eq!(said(&desk.trace(), Party::Agent).iter().filter(|byte| **byte == b'\n').count(), LINES);
}

fn deaf() {
    let desk = Desk::new();
    let mut session = desk.start(&[], &["sh", "-c", "echo ready; exec sleep 1000"]);
    assert_eq!(session.hear_line(), "ready\n");
    let mut stdin = session.0.stdin.take().expect("it is open");
    let writer = std::thread::spawn(move || stdin.write_all(&vec![b'x'; 4 << 20]));
    kill_process(session.pid(), Signal::KILL).expect("it runs");
    assert_eq!(session.end().0.signal(), Some(9));
    // Some of it may have fitted before the end, and no more than that.
    assert!(writer.join().expect("no panic").is_err());

    // An agent that closes its standard input is still read.
    let mut session = desk.start(&[], &["sh", "-c", "exec <&-; echo closed; exec sleep 1000"]);
    assert_eq!(session.hear_line(), "closed\n");
    let stdin = session.0.stdin.as_mut().expect("it is open");
    while stdin.write_all(b"{}\n").is_ok() {}
    kill_process(session.pid(), Signal::KILL).expect("it runs");
    session.end();
}

fn full_disk() {
    let desk = Desk::new();
    let errors = {
        let mut session = desk.start(&["--live"], &["cat"]);
        session.say(b"{}\n");
        assert_eq!(session.hear(3), b"{}\n");
        session.end().1
    };
    assert!(errors.contains("acp-conformance: the agent broke"), "{errors}");

    let mut words = desk.words(&[], &["cat"]);
    let trace = words.iter().position(|word| word == "--trace").expect("an option") + 1;
    "/dev/full".clone_into(&mut words[trace]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut session = Session(command.spawn().expect("the monitor starts"));
    session.say(b"{}\n");
    assert_eq!(session.hear(3), b"{}\n");
    let (status, errors) = session.end();
    assert_eq!((status.code(), errors.lines().count()), (Some(0), 1), "{errors}");
    assert!(errors.contains("the trace cannot be written"), "{errors}");
}

/// A client logs in by starting its agent in a terminal, with the monitor before it.
fn terminal_login() {
    let mut subject = reference::subject(Party::Client, &[]);
    let agent = 1 + subject.command.iter().position(|word| word == "--").expect("the agent follows `--`");
    let monitor = program::words().into_iter().chain(["monitor", "--"].map(str::to_owned));
    subject.command.splice(agent..agent, monitor);
    let mut cases = reference::cases_of(Party::Client, &V1);
    cases.retain(|case| case.id == "v1/client/auth/terminal-login");
    let run = reference::run_with(&cases, &subject, 1, true);
    assert_eq!(run.report.cases[0].verdict, Verdict::Pass, "{:#?}", run.report.cases);
}

fn no_agent() {
    let desk = Desk::new();
    let (status, errors) = desk.start(&[], &["no-such-agent"]).end();
    assert_eq!(status.code(), Some(2));
    assert_eq!(errors, "error: cannot start the agent: no program `no-such-agent` on PATH\n");
}
