//! Events outside the protocol stream.

use acp_conformance::requirement::Party;
use acp_conformance::trace::{ProcessEvent, StepKind, What};

use super::{How, Kind};
use crate::choices::Choices;
use crate::conversation::{Conversation, Entry};

pub const KINDS: &[Kind] = &[
    Kind {
        name: "standard-error",
        rule: "transports: \"The agent MAY write UTF-8 strings to its standard error (stderr) for logging purposes\"",
        how: How::Whole(|conversation, _, choices| noise(conversation, choices)),
    },
    Kind {
        name: "late-exit",
        rule: "transports: the client \"close[s] stdin, terminate[s] [the] subprocess\"; nothing obliges the agent to exit first",
        how: How::Whole(|conversation, _, choices| late_exit(conversation, choices)),
    },
];

fn noise(conversation: &mut Conversation, choices: &mut Choices) {
    const LINES: [&[u8]; 7] = [
        b"[info] ready\n",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{}}\n",
        b"\x1b[31mWarning\x1b[0m: 100%\r",
        "ümläut 😀\n".as_bytes(),
        b"\n",
        b"no line feed",
        b"panicked at src/main.rs:1:1\n",
    ];
    let end = conversation.entries.iter().rposition(|entry| matches!(entry.event.what, What::Line { .. })).unwrap_or(0);
    let mut at = 1;
    for _ in 0..end {
        if let Some(mut rng) = choices.site() {
            let many = if rng.u8(..50) == 0 { 2000 } else { rng.usize(1..3) };
            for _ in 0..many {
                let line = LINES[rng.usize(..LINES.len())].to_vec();
                // The encoding of a client's log is unspecified.
                let line =
                    if conversation.subject == Party::Client && rng.bool() { vec![0xff, 0xfe, b'\n'] } else { line };
                let entry = Entry::added(&conversation.entries[at - 1].event, What::Stderr(line));
                conversation.entries.insert(at, entry);
                at += 1;
            }
        }
        at += 1;
    }
}

/// Makes the subject exit only when it is killed, if no check uses the exit of its process.
fn late_exit(conversation: &mut Conversation, choices: &mut Choices) {
    let concerns = |entry: &Entry| matches!(&entry.event.what, What::Step(step) if step.kind == StepKind::Exit);
    if conversation.entries.iter().any(concerns) {
        return;
    }
    let is = |wanted: fn(&ProcessEvent) -> bool| {
        conversation
            .entries
            .iter()
            .position(|entry| matches!(&entry.event.what, What::Process(process) if wanted(process)))
    };
    let closed = is(|process| *process == ProcessEvent::StdinClosed);
    let exited = is(|process| matches!(process, ProcessEvent::Exited { code: Some(0), .. }));
    let Some((_, exited)) = closed.zip(exited).filter(|(closed, exited)| closed < exited) else { return };
    let Some(mut rng) = choices.site() else { return };
    let signal = if rng.bool() { "SIGTERM" } else { "SIGKILL" };
    let later = |entry: &mut Entry, us: u64| entry.event.us += us;
    conversation.entries[exited..].iter_mut().for_each(|entry| later(entry, 3_000_000));
    conversation.entries[exited].event.what =
        What::Process(ProcessEvent::Exited { code: None, signal: Some(signal.to_owned()) });
    let signalled =
        Entry::added(&conversation.entries[exited].event, What::Process(ProcessEvent::Signalled(signal.to_owned())));
    conversation.entries.insert(exited, signalled);
}
