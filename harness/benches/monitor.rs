//! Measures the cost of the monitor for a session: `cargo bench --bench monitor`.
//!
//! An agent that echoes every line runs alternately alone and with the monitor, under the same conditions. Then another
//! one floods. This program is all of them: the client, the agents, and the monitor.

mod measure;

use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use acp_conformance::cli::{Args, ProgramExit, run};
use acp_conformance::edition::Editions;
use acp_conformance::transport::between;
use clap::Parser;
use measure::{is_wanted, row};

/// The number of messages in each direction in a round.
const MESSAGES: usize = 2_000;

/// The number of rounds of each kind.
const ROUNDS: usize = 10;

/// The least size of a flood, in bytes.
const FLOOD: usize = 32 << 20;

fn main() -> ExitCode {
    if let Some(code) = between::detach_if_asked() {
        return code;
    }
    match std::env::args().nth(1).as_deref() {
        Some("monitor") if std::env::args().len() > 2 => {
            return run(Args::parse(), Editions::built_in()).unwrap_or(ProgramExit::Usage).into();
        }
        Some("echo") => echo(),
        Some("flood") => flood(number(2), number(3)),
        _ if is_wanted() => measure(MESSAGES, ROUNDS, FLOOD),
        _ => measure(50, 1, 1 << 10),
    }
    ExitCode::SUCCESS
}

fn number(at: usize) -> usize {
    std::env::args().nth(at).and_then(|arg| arg.parse().ok()).expect("a number")
}

fn echo() {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        output.write_all(&line).and_then(|()| output.flush()).expect("the client listens");
        line.clear();
    }
}

fn update(n: usize, text: &str) -> String {
    let text = format!("{n} {text}");
    let update = format!(
        r#"{{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{{"type":"text","text":"{text}"}}}}"#
    );
    format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#) + "\n"
}

fn flood(bytes: usize, text: usize) {
    let (text, mut output, mut written) = ("x".repeat(text), io::stdout().lock(), 0);
    for n in 0.. {
        let line = update(n, &text);
        output.write_all(line.as_bytes()).expect("the client listens");
        written += line.len();
        if written >= bytes {
            return;
        }
    }
}

fn measure(messages: usize, rounds: usize, flood: usize) {
    let (mut bare, mut watched) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.extend(there_and_back(false, messages));
        watched.extend(there_and_back(true, messages));
    }
    // A round trip covers two directions.
    let us = |time: Duration| time.as_secs_f64() * 1e6 / 2.0;
    for ((name, hold), (bare, watched)) in [("p50", "< 50 µs"), ("p99", "")]
        .into_iter()
        .zip(percentiles(&mut bare).into_iter().zip(percentiles(&mut watched)))
    {
        let [bare, watched] = [us(bare), us(watched)];
        let what = format!("`monitor`: added to a message on its way, {name}");
        row([
            &what,
            &format!("{:.1} µs", watched - bare),
            &format!("{bare:.1} µs"),
            &format!("{:.1}", (watched - bare) / bare),
            hold,
        ]);
    }
    let lengths = [64, 1 << 10, 16 << 10];
    lengths.into_iter().for_each(|text| swallow_both(flood, text));
    swallow_both(flood * 4, lengths[0]);
}

/// Makes the agent flood, alone and monitored; no byte may be lost.
fn swallow_both(flood: usize, text: usize) {
    let [(bytes, bare_hash, bare_took), (_, hash, took)] = [false, true].map(|watched| swallow(watched, flood, text));
    assert_eq!(bare_hash, hash, "something was lost, or came in another order");
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let rate = |took: Duration| format!("{:.0} MiB/s", bytes as f64 / took.as_secs_f64() / f64::from(1 << 20));
    let what = format!("`monitor`: {} MiB of updates with {text} bytes of text, all in order", bytes >> 20);
    let ratio = format!("{:.1}", took.as_secs_f64() / bare_took.as_secs_f64());
    row([&what, &rate(took), &rate(bare_took), &ratio, ""]);
}

fn start(watched: bool, what: &[&str]) -> Child {
    let here = std::env::current_exe().expect("this program");
    let mut command = Command::new(&here);
    if watched {
        command.args(["monitor", "--"]).arg(&here);
    }
    let piped = command.args(what).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    piped.spawn().expect("it starts")
}

fn there_and_back(watched: bool, messages: usize) -> Vec<Duration> {
    let mut agent = start(watched, &["echo"]);
    let mut to = agent.stdin.take().expect("a pipe");
    let mut from = BufReader::new(agent.stdout.take().expect("a pipe"));
    let mut line = Vec::new();
    let mut times = Vec::new();
    for n in 0..messages {
        let message = update(n, "Some words of an answer, such as agents say.");
        let sent = Instant::now();
        to.write_all(message.as_bytes()).expect("it is taken");
        from.read_until(b'\n', &mut line).expect("it comes back");
        times.push(sent.elapsed());
        assert_eq!(line, message.as_bytes());
        line.clear();
    }
    drop(to);
    agent.wait().expect("it ends");
    // The first messages wait for the start of the programs.
    times.split_off(messages / 10)
}

fn percentiles(times: &mut [Duration]) -> [Duration; 2] {
    times.sort();
    [times.len() / 2, times.len() * 99 / 100].map(|at| times[at])
}

fn swallow(watched: bool, flood: usize, text: usize) -> (usize, u64, Duration) {
    let mut agent = start(watched, &["flood", &flood.to_string(), &text.to_string()]);
    let mut from = agent.stdout.take().expect("a pipe");
    let (mut hasher, mut bytes, mut buffer) = (DefaultHasher::new(), 0, vec![0; 64 << 10]);
    let mut first = None;
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        first.get_or_insert_with(Instant::now);
        hasher.write(&buffer[..n]);
        bytes += n;
    }
    let took = first.map_or(Duration::ZERO, |first| first.elapsed());
    agent.wait().expect("it ends");
    (bytes, hasher.finish(), took)
}
