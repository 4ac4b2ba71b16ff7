//! What the monitor costs a session: `cargo bench --bench monitor`.
//!
//! An agent that says back every line is started by itself and behind the monitor, in turns; so both meet the same machine.
//! Then another one floods. This program is all of them: the client, the agents, and the monitor.

use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use acp_conformance::cli::{Args, Exit, run};
use acp_conformance::peer::between;
use clap::Parser;

/// How many messages go to and fro in a round.
const MESSAGES: usize = 2_000;

/// How many rounds there are of each kind.
const ROUNDS: usize = 10;

/// How much the flood is at least.
const FLOOD: usize = 10 << 20;

fn main() -> ExitCode {
    if let Some(code) = between::detach_if_asked() {
        return code;
    }
    match std::env::args().nth(1).as_deref() {
        Some("monitor") if std::env::args().len() > 2 => return run(Args::parse()).unwrap_or(Exit::Usage).into(),
        Some("echo") => echo(),
        Some("flood") => flood(),
        // Without `--bench` it is run as a test.
        _ if std::env::args().any(|arg| arg == "--bench") => measure(MESSAGES, ROUNDS),
        _ => measure(50, 1),
    }
    ExitCode::SUCCESS
}

fn echo() {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        output.write_all(&line).and_then(|()| output.flush()).expect("the client listens");
        line.clear();
    }
}

fn update(n: usize) -> String {
    let text = format!("Some words of an answer, such as agents say, and a number at its end: {n}. ");
    let update = format!(
        r#"{{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{{"type":"text","text":"{text}"}}}}"#
    );
    format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#) + "\n"
}

fn flood() {
    let mut output = io::stdout().lock();
    let mut written = 0;
    for n in 0.. {
        let line = update(n);
        output.write_all(line.as_bytes()).expect("the client listens");
        written += line.len();
        if written >= FLOOD {
            return;
        }
    }
}

#[expect(clippy::print_stdout, reason = "a program of its own")]
fn measure(messages: usize, rounds: usize) {
    let (mut bare, mut watched) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.extend(there_and_back(false, messages));
        watched.extend(there_and_back(true, messages));
    }
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    println!("a message there and back, {} times     p50         p99", bare.len());
    let ([b50, b99], [w50, w99]) = (percentiles(&mut bare), percentiles(&mut watched));
    println!("  client and agent alone        {:>9.1} µs {:>9.1} µs", us(b50), us(b99));
    println!("  with the monitor in between   {:>9.1} µs {:>9.1} µs", us(w50), us(w99));
    let added = |with: Duration, without: Duration| (us(with) - us(without)) / 2.0;
    println!("  added to each message         {:>9.1} µs {:>9.1} µs", added(w50, b50), added(w99, b99));

    let [(bytes, bare_hash, bare_took), (_, hash, took)] = [false, true].map(swallow);
    let rate = |took: Duration| bytes as f64 / took.as_secs_f64() / f64::from(1 << 20);
    println!("{bytes} bytes of updates, {} MiB/s alone, {} MiB/s watched", rate(bare_took) as u64, rate(took) as u64);
    assert_eq!(bare_hash, hash, "something was lost, or came in another order");
    println!("  nothing was lost, and nothing came in another order");
}

fn start(watched: bool, what: &str) -> Child {
    let here = std::env::current_exe().expect("this program");
    let mut command = Command::new(&here);
    if watched {
        command.args(["monitor", "--"]).arg(&here);
    }
    let piped = command.arg(what).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    piped.spawn().expect("it starts")
}

fn there_and_back(watched: bool, messages: usize) -> Vec<Duration> {
    let mut agent = start(watched, "echo");
    let mut to = agent.stdin.take().expect("a pipe");
    let mut from = BufReader::new(agent.stdout.take().expect("a pipe"));
    let mut line = Vec::new();
    let mut times = Vec::new();
    for n in 0..messages {
        let message = update(n);
        let sent = Instant::now();
        to.write_all(message.as_bytes()).expect("it is taken");
        from.read_until(b'\n', &mut line).expect("it comes back");
        times.push(sent.elapsed());
        assert_eq!(line, message.as_bytes());
        line.clear();
    }
    drop(to);
    agent.wait().expect("it ends");
    // The first messages wait for the programs to start.
    times.split_off(messages / 10)
}

fn percentiles(times: &mut [Duration]) -> [Duration; 2] {
    times.sort();
    [times.len() / 2, times.len() * 99 / 100].map(|at| times[at])
}

fn swallow(watched: bool) -> (usize, u64, Duration) {
    let mut agent = start(watched, "flood");
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
