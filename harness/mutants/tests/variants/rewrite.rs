//! This program as a layer around a reference program: it forwards its lines, changed by a transformation.
//!
//! `variants --rewrite EDITION KIND SEED ONE_IN PARTY -- COMMAND…` replaces COMMAND: for an agent between the tester
//! and the agent, for a client between the client and its agent.

use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use acp_conformance::edition::Editions;
use acp_conformance::protocol::Edition;
use acp_conformance::requirement::Party;
use acp_conformance::wire::{Content, LineEnd, read_line};
use serde_json::Value;

use crate::choices::{Choices, mix};
use crate::conversation::{Message, Pending};
use crate::kinds::extension::ADDED;
use crate::kinds::ids::Renamed;
use crate::kinds::{self, Around, How, Kind};
use crate::live::Delivery;

/// The argument that makes this program a layer.
pub const REWRITE: &str = "--rewrite";

/// Runs as a layer, if the arguments require it.
pub fn run_if_asked() -> Option<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [flag, edition, kind, seed, one_in, party, dashes, command @ ..] = arguments.as_slice() else { return None };
    if flag != REWRITE || dashes != "--" {
        return None;
    }
    let subject = if party == "client" { Party::Client } else { Party::Agent };
    let seed: u64 = seed.parse().expect("the seed is a number");
    let choices = Choices::random(seed, one_in.parse().expect("a number"));
    let edition = Editions::built_in().named(edition).expect("a built-in edition").edition();
    let (kind, delivery) = match Delivery::named(kind) {
        Some(delivery) => (None, delivery),
        None => (Some(kinds::named(edition, kind).expect("a known transformation")), Delivery::AtOnce),
    };
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]);
    if io::stdin().is_terminal() {
        // A login in a terminal is not a connection.
        panic!("the command cannot be started: {}", program.exec());
    }
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the command can be started");
    let layer = Layer::new(kind, edition, subject, choices);
    let writer = Writer { delivery, rng: fastrand::Rng::with_seed(mix(seed, 1)), waiting: Vec::new(), due: None };
    Some(pump(&mut child, subject, layer, writer))
}

/// A line with the time at which it was read, or the end of a stream.
enum Heard {
    /// Of our standard input.
    Outer(Option<(Vec<u8>, Instant)>),
    /// Of the command's standard output.
    Inner(Option<(Vec<u8>, Instant)>),
}

fn read(from: impl Read + Send + 'static, to: mpsc::Sender<Heard>, make: fn(Option<(Vec<u8>, Instant)>) -> Heard) {
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        loop {
            let mut line = Vec::new();
            match from.read_until(b'\n', &mut line) {
                Ok(1..) => drop(to.send(make(Some((line, Instant::now()))))),
                _ => return drop(to.send(make(None))),
            }
        }
    });
}

fn pump(child: &mut Child, subject: Party, mut layer: Layer, mut writer: Writer) -> ExitCode {
    let (sender, heard): (_, Receiver<Heard>) = mpsc::channel();
    read(io::stdin(), sender.clone(), Heard::Outer);
    read(child.stdout.take().expect("a pipe"), sender, Heard::Inner);
    let mut inner: Option<ChildStdin> = child.stdin.take();
    let outer_is = if subject == Party::Agent { subject.other() } else { subject };
    writer.noise();
    loop {
        let next = match writer.due {
            None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => heard.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        let next = match next {
            Ok(next) => next,
            Err(RecvTimeoutError::Timeout) => {
                writer.flush(subject, &mut inner);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let (from, line) = match next {
            Heard::Outer(line) => (outer_is, line),
            Heard::Inner(line) => (outer_is.other(), line),
        };
        let Some((line, read)) = line else {
            writer.flush(subject, &mut inner);
            if from == outer_is {
                inner = None;
                continue;
            }
            break;
        };
        for (to, line) in layer.pass(from, line) {
            if to == subject.other() {
                writer.write(line, read, subject, &mut inner);
            } else {
                write_to(&line, to == outer_is, &mut inner);
            }
        }
    }
    drop(inner);
    let code = child.wait().ok().and_then(|status| status.code());
    if writer.delivery == Delivery::LateExit {
        // The tester kills the group, or the client its agent; otherwise this program exits by itself.
        thread::sleep(Duration::from_secs(120));
    }
    ExitCode::from(u8::try_from(code.unwrap_or(1)).unwrap_or(1))
}

/// Writes to our standard output, or to the command; a broken pipe is handled when the other stream ends.
fn write_to(line: &[u8], outer: bool, inner: &mut Option<ChildStdin>) {
    if outer {
        let mut output = io::stdout().lock();
        let _ = output.write_all(line).and_then(|()| output.flush());
    } else if let Some(inner) = inner {
        let _ = inner.write_all(line).and_then(|()| inner.flush());
    }
}

/// Delivers the lines of the subject.
struct Writer {
    delivery: Delivery,
    rng: fastrand::Rng,
    waiting: Vec<u8>,
    /// When the waiting lines are written: a program that holds them longer while it streams does not deliver its
    /// answers.
    due: Option<Instant>,
}

/// How long the first line of a burst waits.
const BURST: Duration = Duration::from_millis(30);

impl Writer {
    fn write(&mut self, line: Vec<u8>, read: Instant, subject: Party, inner: &mut Option<ChildStdin>) {
        let outer = subject == Party::Agent;
        match self.delivery {
            Delivery::AtOnce | Delivery::LateExit => write_to(&line, outer, inner),
            Delivery::Noisy => {
                self.noise();
                write_to(&line, outer, inner);
            }
            Delivery::Slow => {
                let longest = if self.rng.u8(..10) == 0 { 1_000 } else { 100 };
                // The delay counts from the arrival: a slow line delays those behind it, and not each one after the
                // other.
                let due = read + Duration::from_millis(self.rng.u64(..longest));
                thread::sleep(due.saturating_duration_since(Instant::now()));
                write_to(&line, outer, inner);
            }
            Delivery::Bytes => line.chunks(1).for_each(|byte| write_to(byte, outer, inner)),
            Delivery::Bursts => {
                self.waiting.extend(line);
                self.due.get_or_insert_with(|| Instant::now() + BURST);
            }
        }
    }

    fn flush(&mut self, subject: Party, inner: &mut Option<ChildStdin>) {
        self.due = None;
        let waiting = std::mem::take(&mut self.waiting);
        if !waiting.is_empty() {
            write_to(&waiting, subject == Party::Agent, inner);
        }
    }

    fn noise(&mut self) {
        if self.delivery == Delivery::Noisy {
            let many = if self.rng.u8(..20) == 0 { 1000 } else { 3 };
            let text = "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n[warn] ümläut 😀 100%\r\n\n".repeat(many);
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}

/// Changes lines.
struct Layer {
    subject: Party,
    choices: Choices,
    pending: Pending,
    how: Option<How>,
    around: Option<Box<dyn Around>>,
    renamed: Option<Renamed>,
}

impl Layer {
    fn new(kind: Option<&Kind>, edition: &'static Edition, subject: Party, choices: Choices) -> Self {
        let how = kind.map(|kind| kind.how);
        let around = if let Some(How::Around(make)) = how { Some(make()) } else { None };
        let renamed = if let Some(How::Rename(renaming)) = how { Some(Renamed::new(renaming, subject)) } else { None };
        Self { subject, choices, pending: Pending::new(edition), how, around, renamed }
    }

    /// Returns the lines that replace one, each with its receiver.
    fn pass(&mut self, from: Party, line: Vec<u8>) -> Vec<(Party, Vec<u8>)> {
        let same = |line: Vec<u8>| vec![(from.other(), line)];
        let Content::One { value, doubled, .. } = read_line(line.strip_suffix(b"\n").unwrap_or(&line)) else {
            return same(line);
        };
        if !doubled.is_empty() || self.how.is_none() || !line.ends_with(b"\n") {
            return same(line);
        }
        // Ids that the renaming hides are restored before the request of an answer is looked up.
        let mut message = match self.pending.read(0, from, false, value) {
            Some(message) => message,
            None => return same(line),
        };
        let own = from == self.subject;
        match self.how {
            Some(How::Spelling(spell)) if own => match self.choices.site() {
                Some(mut rng) => {
                    let (mut bytes, end) = spell(&message.value, &mut rng);
                    bytes.extend(if end == LineEnd::CrLf { &b"\r\n"[..] } else { b"\n" });
                    same(bytes)
                }
                None => same(line),
            },
            Some(How::Edit(edit)) if own => {
                edit(&mut message, &mut self.choices);
                same(bytes(&message.value))
            }
            Some(How::Around(_)) => self.around(&message),
            Some(How::Rename(_)) => same(self.rename(message)),
            _ => same(line),
        }
    }

    fn around(&mut self, message: &Message) -> Vec<(Party, Vec<u8>)> {
        let id = message.value.get("id").and_then(Value::as_str).unwrap_or_default();
        if message.from != self.subject && message.is_response && id.starts_with(ADDED) {
            return Vec::new();
        }
        let said = self.around.as_mut().map(|around| around.pass(message, self.subject, &mut self.choices));
        let said = said.into_iter().flatten().filter(|said| said.original || said.from == self.subject);
        said.map(|said| (said.from.other(), bytes(&said.value))).collect()
    }

    fn rename(&mut self, mut message: Message) -> Vec<u8> {
        if let Some(renamed) = &mut self.renamed {
            renamed.note(&message);
            if message.from == self.subject {
                renamed.forward(&mut message);
            } else {
                renamed.backward(&mut message);
            }
        }
        bytes(&message.value)
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}
