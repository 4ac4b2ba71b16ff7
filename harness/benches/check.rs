//! How fast a long recording is judged, and in which space: `cargo bench --bench check [-- MESSAGES]`.
//!
//! Beside it stands the floor: to parse each message and to validate its payload against the schema, and nothing else.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};
use std::time::{Duration, Instant};

use acp_conformance::protocol::{Edition, Kind};
use acp_conformance::recording::{Input, Recording};
use acp_conformance::report::Hearing;
use acp_conformance::requirement::Party;
use acp_conformance::verdict::Verdict;
use acp_conformance::wire::{Content, Envelope, RpcId, read_line};

#[expect(clippy::print_stdout, reason = "a program of its own")]
fn main() {
    let mut args = std::env::args().skip(1);
    // Without `--bench` it is run as a test.
    let default = if std::env::args().any(|arg| arg == "--bench") { 1_000_000 } else { 2_000 };
    let wanted = args.find_map(|arg| arg.parse().ok()).unwrap_or(default);
    let mut file = tempfile::tempfile().expect("a temporary file");
    let mut writer = Writer { to: BufWriter::new(&file), written: 0, id: [0, 0] };
    writer.conversation(wanted).expect("room for the recording");
    let written = writer.written;
    drop(writer);
    let bytes = file.stream_position().expect("a position");
    println!("{written} messages, {} MB, 8 sessions, in the format of sacp-tee", bytes >> 20);

    file.rewind().expect("a file");
    let started = Clock::now();
    check(&file);
    let took = started.elapsed();
    tell("check", written, took);
    println!("  peak memory of the process: {} MiB", peak_kib().map_or(0, |kib| kib >> 10));

    file.rewind().expect("a file");
    let started = Clock::now();
    floor(&file);
    let bare = started.elapsed();
    tell("parse and validate alone", written, bare);
    println!("the judge takes {:.1} times the floor", took.as_secs_f64() / bare.as_secs_f64());
}

#[expect(clippy::print_stdout, reason = "a program of its own")]
#[expect(clippy::cast_precision_loss, reason = "for people")]
fn tell(what: &str, messages: usize, took: Duration) {
    let rate = messages as f64 / took.as_secs_f64();
    println!("{what}: {:.2} s, {rate:.0} messages/s", took.as_secs_f64());
}

/// The time that this program has had on a core, which others on the machine do not change; elsewhere that of the day.
enum Clock {
    Core(Duration),
    Day(Instant),
}

impl Clock {
    fn now() -> Self {
        on_core().map_or_else(|| Self::Day(Instant::now()), Self::Core)
    }

    fn elapsed(&self) -> Duration {
        match self {
            Self::Core(before) => on_core().unwrap_or_default().saturating_sub(*before),
            Self::Day(before) => before.elapsed(),
        }
    }
}

fn on_core() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(Duration::from_nanos(stat.split_whitespace().next()?.parse().ok()?))
}

/// The highest resident size so far, where the system tells it.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn check(file: &std::fs::File) {
    let input = Input::Whole(Box::new(file.try_clone().expect("a handle")), None, None);
    let recording = Recording::open(input).expect("a recording");
    let mut hearing = Hearing::new(&recording.header);
    for event in recording {
        hearing.event(&event.expect("an event"));
    }
    let heard = hearing.close();
    let failed = heard.judgement.tallies.iter().find(|(_, tally)| tally.verdict() == Verdict::Fail);
    assert!(failed.is_none(), "the conversation is flawless, and {failed:?}");
}

fn floor(file: &std::fs::File) {
    let edition = Edition::v1();
    let mut asked: HashMap<(Party, RpcId), String> = HashMap::new();
    for line in BufReader::new(file).split(b'\n') {
        let line = line.expect("a line");
        let (from, bytes) = match line.strip_prefix("→ ".as_bytes()) {
            Some(bytes) => (Party::Client, bytes),
            None => (Party::Agent, line.strip_prefix("← ".as_bytes()).expect("an arrow")),
        };
        let Content::One { value, .. } = read_line(bytes) else { panic!("no message") };
        let problems = match Envelope::of(&value) {
            Envelope::Call(call) => {
                if let Some(id) = call.id {
                    asked.insert((from, RpcId::new(id)), call.method.to_owned());
                }
                let kind = edition.methods.kind_of(from, call.method).expect("a method");
                let method = edition.methods.find(from, kind, call.method).expect("a method");
                edition.stable.problems(&method.params, call.params.expect("params"))
            }
            Envelope::Response { id: Some(id), result: Some(result), .. } => {
                let method = asked.remove(&(from.other(), RpcId::new(id))).expect("a request");
                let method = edition.methods.find(from.other(), Kind::Request, &method).expect("a method");
                edition.stable.problems(method.result.as_deref().expect("a result"), result)
            }
            other => panic!("{other:?}"),
        };
        assert!(problems.is_empty(), "{problems:?}");
    }
}

/// Writes a conversation as it is between real programs: turns of several sessions, with tools, files and terminals.
struct Writer<'f> {
    to: BufWriter<&'f std::fs::File>,
    written: usize,
    /// The next id of the agent and of the client.
    id: [usize; 2],
}

impl Writer<'_> {
    fn conversation(&mut self, wanted: usize) -> std::io::Result<()> {
        let capabilities = r#"{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}"#;
        self.ask(
            Party::Client,
            "initialize",
            &format!(
                r#"{{"protocolVersion":1,"clientCapabilities":{capabilities},"clientInfo":{{"name":"bench","version":"1"}}}}"#
            ),
            r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":false},"authMethods":[],"agentInfo":{"name":"bench","version":"1"}}"#,
        )?;
        for session in 0..8 {
            let params = format!(r#"{{"cwd":"/project/{session}","mcpServers":[]}}"#);
            self.ask(Party::Client, "session/new", &params, &format!(r#"{{"sessionId":"session-{session}"}}"#))?;
        }
        let mut turn = 0;
        while self.written < wanted {
            self.turn(turn % 8, turn)?;
            turn += 1;
        }
        self.to.flush()
    }

    fn turn(&mut self, session: usize, turn: usize) -> std::io::Result<()> {
        let of = format!(r#""sessionId":"session-{session}""#);
        let prompt = self.request(
            Party::Client,
            "session/prompt",
            &format!(r#"{{{of},"prompt":[{{"type":"text","text":"Please look at the tests, turn {turn}."}}]}}"#),
        )?;
        let tool = format!(r#""toolCallId":"call-{turn}""#);
        self.update(&of, r#""sessionUpdate":"plan","entries":[{"content":"Run the tests","priority":"high","status":"in_progress"}]"#)?;
        self.update(
            &of,
            &format!(r#""sessionUpdate":"tool_call",{tool},"title":"cargo test","kind":"execute","status":"pending","rawInput":{{"command":"cargo test"}}"#),
        )?;
        self.ask(
            Party::Agent,
            "session/request_permission",
            &format!(r#"{{{of},"toolCall":{{{tool}}},"options":[{{"optionId":"yes","name":"Allow","kind":"allow_once"}},{{"optionId":"no","name":"Reject","kind":"reject_once"}}]}}"#),
            r#"{"outcome":{"outcome":"selected","optionId":"yes"}}"#,
        )?;
        self.update(&of, &format!(r#""sessionUpdate":"tool_call_update",{tool},"status":"in_progress""#))?;
        let terminal = format!(r#""terminalId":"terminal-{turn}""#);
        self.ask(
            Party::Agent,
            "terminal/create",
            &format!(
                r#"{{{of},"command":"cargo","args":["test"],"cwd":"/project/{session}","outputByteLimit":10000}}"#
            ),
            &format!("{{{terminal}}}"),
        )?;
        let content = format!(r#""content":[{{"type":"terminal",{terminal}}}]"#);
        self.update(&of, &format!(r#""sessionUpdate":"tool_call_update",{tool},{content}"#))?;
        let named = format!("{{{of},{terminal}}}");
        self.ask(Party::Agent, "terminal/wait_for_exit", &named, r#"{"exitCode":0,"signal":null}"#)?;
        let output = r#"{"output":"running 3 tests\ntest result: ok. 3 passed\n","truncated":false,"exitStatus":{"exitCode":0,"signal":null}}"#;
        self.ask(Party::Agent, "terminal/output", &named, output)?;
        self.ask(Party::Agent, "terminal/release", &named, "{}")?;
        let path = format!("/project/{session}/src/lib.rs");
        let read = format!(r#"{{{of},"path":"{path}","line":1,"limit":20}}"#);
        self.ask(
            Party::Agent,
            "fs/read_text_file",
            &read,
            r#"{"content":"fn main() {\n    println!(\"hello\");\n}\n"}"#,
        )?;
        let place = format!(r#""locations":[{{"path":"{path}","line":3}}]"#);
        self.update(&of, &format!(r#""sessionUpdate":"tool_call_update",{tool},"status":"completed",{place}"#))?;
        for word in 0..20 {
            let text = format!(r#""content":{{"type":"text","text":"Some words of the answer, part {word}. "}}"#);
            self.update(&of, &format!(r#""sessionUpdate":"agent_message_chunk",{text},"messageId":"message-{turn}""#))?;
        }
        self.answer(Party::Agent, prompt, r#"{"stopReason":"end_turn"}"#)
    }

    fn update(&mut self, of: &str, update: &str) -> std::io::Result<()> {
        let params = format!(r#"{{{of},"update":{{{update}}}}}"#);
        self.line(Party::Agent, &format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#))
    }

    fn ask(&mut self, from: Party, method: &str, params: &str, result: &str) -> std::io::Result<()> {
        let id = self.request(from, method, params)?;
        self.answer(from.other(), id, result)
    }

    fn request(&mut self, from: Party, method: &str, params: &str) -> std::io::Result<usize> {
        let id = self.id[from as usize];
        self.id[from as usize] += 1;
        self.line(from, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#))?;
        Ok(id)
    }

    fn answer(&mut self, from: Party, id: usize, result: &str) -> std::io::Result<()> {
        self.line(from, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    }

    fn line(&mut self, from: Party, message: &str) -> std::io::Result<()> {
        self.written += 1;
        writeln!(self.to, "{} {message}", if from == Party::Client { '→' } else { '←' })
    }
}
