//! Measures the speed and memory of checking a long recording, and how both grow: `cargo bench --bench check`.
//!
//! The table also shows the floor: parsing each message and validating its payload against the schema, without the
//! checks. The important values are the time on a core relative to the floor, and the growth of memory with the size.
//! Benchmark libraries measure neither.

mod conversation;
mod cost;
mod measure;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::time::Duration;

use acp_conformance::edition::V1;
use acp_conformance::judge::JudgingSession;
use acp_conformance::protocol::Kind;
use acp_conformance::recording::{Input, Recording};
use acp_conformance::requirement::Party;
use acp_conformance::verdict::Verdict;
use acp_conformance::wire::{Content, Envelope, RpcId, read_line};

use conversation::{Size, Written, write};
use cost::{Clock, exponent, forget_peak, peak_mib, thousands};
use measure::{is_wanted, row};

/// The number of doublings of each size.
const DOUBLINGS: u32 = 3;

fn main() {
    let scale = if is_wanted() { 1 } else { 500 };
    let usual = Size { messages: 125_000 / scale, sessions: 8, text: 40 };
    // Data that is created once and kept does not count.
    judge(write(Size { messages: 100, ..usual }).expect("room for it"));
    let judged = grow("messages", usual.messages, |messages| Size { messages, ..usual });
    // Each session has two turns of 39 messages.
    let sessions = |sessions| Size { messages: sessions * 79, sessions, ..usual };
    grow("sessions", 1_000 / scale, sessions);
    let text = |text| Size { messages: 2_000 / scale, text, ..usual };
    grow("bytes a chunk", 16_384 / scale, text);
    against_the_floor(&judged);
}

/// Checks conversations of growing sizes; returns the findings of the last one.
fn grow(what: &str, first: usize, size: impl Fn(usize) -> Size) -> Judged {
    let sizes: Vec<usize> = (0..=DOUBLINGS).map(|n| first << n).collect();
    let all: Vec<Judged> = sizes.iter().map(|n| judge(write(size(*n)).expect("room for it"))).collect();
    let times: Vec<_> = all.iter().map(|judged| format!("{:.2}", judged.took.as_secs_f64())).collect();
    let peaks: Vec<_> = all.iter().map(|judged| judged.peak_mib.unwrap_or_default().to_string()).collect();
    let ends = [0, DOUBLINGS as usize];
    let power = exponent(ends.map(|at| sizes[at]), ends.map(|at| all[at].took));
    let from_to = format!("{} to {} {what}", thousands(sizes[ends[0]]), thousands(sizes[ends[1]]));
    row([
        &format!("`check` of {from_to}: time"),
        &format!("{} s", times.join(", ")),
        "linear",
        &format!("power {power:.2}"),
        "1",
    ]);
    row([&format!("`check` of {from_to}: peak memory"), &format!("{} MiB", peaks.join(", ")), "", "", ""]);
    all.into_iter().next_back().expect("there is a last one")
}

/// A conversation, and the cost of checking it.
struct Judged {
    written: Written,
    took: Duration,
    peak_mib: Option<u64>,
}

fn judge(written: Written) -> Judged {
    forget_peak();
    let started = Clock::now();
    check(&written.file);
    Judged { took: started.elapsed(), peak_mib: peak_mib(), written }
}

fn against_the_floor(judged: &Judged) {
    let mut file = &judged.written.file;
    file.rewind().expect("a file");
    let started = Clock::now();
    floor(file);
    let bare = started.elapsed();
    let messages = judged.written.messages;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "for people"
    )]
    let rate = |took: Duration| format!("{}/s", thousands((messages as f64 / took.as_secs_f64()) as usize));
    let what = format!(
        "`check` of {} messages, {} MiB, against parsing and validating alone",
        thousands(messages),
        judged.written.bytes >> 20
    );
    let ratio = judged.took.as_secs_f64() / bare.as_secs_f64();
    row([&what, &rate(judged.took), &rate(bare), &format!("{ratio:.1}"), "100,000/s"]);
}

fn check(file: &File) {
    let input = Input::Whole(Box::new(file.try_clone().expect("a handle")), None, None);
    let recording = Recording::open(input, V1.edition()).expect("a recording");
    let mut session = JudgingSession::new(&recording.header, V1.edition());
    for event in recording {
        session.event(&event.expect("an event"));
    }
    let judged = session.close();
    let failed = judged.judgement.tallies.iter().find(|(_, tally)| tally.verdict() == Verdict::Fail);
    assert!(failed.is_none(), "the conversation is flawless, and {failed:?}");
}

fn floor(file: &File) {
    let edition = V1.edition();
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
