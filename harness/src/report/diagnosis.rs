//! Says in words why a conversation never began.

use std::collections::HashSet;

use super::visible::visible;
use super::words::count;
use crate::judge::observed_text;
use crate::requirement::Party;
use crate::trace::{Event, Outcome, ProcessEvent, StepEvent, StepKind, Trace, What};
use crate::wire::{Content, Envelope, read_line};

/// What to tell the user when there was nothing to judge: an agent did not answer `initialize`, or a client did not come as
/// far as its first prompt. None when the conversation began.
#[must_use]
pub fn diagnose(trace: &Trace) -> Option<String> {
    let told = match trace.header.subject {
        Some(Party::Client) => of_client(trace),
        _ => of_agent(trace),
    };
    // It quotes the subject, and goes to a terminal.
    told.map(|told| visible(&told))
}

fn of_client(trace: &Trace) -> Option<String> {
    let sent = |method: &str| {
        let calls = |bytes: &[u8]| match read_line(bytes) {
            Content::One { value, .. } => matches!(Envelope::of(&value), Envelope::Call(call) if call.method == method),
            _ => false,
        };
        let mut lines = trace.events.iter().filter_map(|event| match &event.what {
            What::Line { from: Party::Client, bytes, .. } => Some(bytes),
            _ => None,
        });
        lines.any(|bytes| calls(bytes))
    };
    if sent("session/prompt") {
        return None;
    }
    if let Some(reason) = not_spawned(trace) {
        return Some(format!("The program could not be started: {reason}."));
    }
    let missed = trace.events.iter().find_map(|event| match &event.what {
        What::Step(step @ StepEvent { kind: StepKind::Act, outcome: Outcome::Missed, .. }) => {
            Some(observed_text(step, Party::Client))
        }
        _ => None,
    });
    if let Some(missed) = missed {
        return Some(format!("The client cannot be driven: {missed}."));
    }
    let starts = trace.events.iter().filter(|event| matches!(event.what, What::Process(ProcessEvent::AgentStarted(_))));
    let ended = ended(trace).filter(|_| !was_stopped(trace));
    let how = match ended {
        _ if flooded(trace) => format!("The client {FLOODED}"),
        Some(how) => format!("The client ended ({how})"),
        None => "The client runs".to_owned(),
    };
    let mut text = match starts.count() {
        0 => format!(
            "{how}, and never started its agent. Is the path {{agent}} where the client looks for it, and does it start its \
             agent before it is prompted? A slow start wants a higher --timeout-start."
        ),
        _ if !sent("initialize") => format!("{how}; it started its agent, and never sent initialize."),
        _ if !sent("session/new") => format!("{how}; it initialized its agent, and never opened a session."),
        _ => format!(
            "{how}; it opened a session, and never sent the prompt. Does {{prompt}} stand where the client wants it?"
        ),
    };
    for (name, last) in [("standard output", last_lines(trace, stdout)), ("standard error", last_lines(trace, stderr))]
    {
        if let Some(last) = last {
            text.push_str(&format!("\nThe end of its {name}:\n{last}"));
        }
    }
    Some(text)
}

fn of_agent(trace: &Trace) -> Option<String> {
    let lines = |party: Party| {
        trace.events.iter().filter_map(move |event| match &event.what {
            What::Line { from, bytes, .. } if *from == party => Some(bytes.as_slice()),
            _ => None,
        })
    };
    let said: Vec<&[u8]> = lines(Party::Agent).collect();
    let sent: HashSet<&[u8]> = lines(Party::Client).collect();
    let echoed = said.iter().any(|line| sent.contains(line));
    let answered = said.iter().any(|bytes| match read_line(bytes) {
        Content::One { value, .. } => matches!(Envelope::of(&value), Envelope::Response { .. }),
        _ => false,
    });
    if answered && !echoed {
        return None;
    }
    if let Some(reason) = not_spawned(trace) {
        return Some(format!("The program could not be started: {reason}."));
    }
    let ended = ended(trace);
    let stopped = was_stopped(trace);
    let wrote = said.first().map(|line| {
        format!(
            " It wrote {} to its standard output, and no answer; the first: {}",
            count(said.len(), "line", "lines"),
            shown(line)
        )
    });
    let mut text = if echoed {
        "The program sends back what it is sent. It is no agent; perhaps the command starts something else than you meant.".to_owned()
    } else if flooded(trace) {
        format!("The program {FLOODED}, and did not answer initialize.{}", wrote.unwrap_or_default())
    } else if let (Some(how), false) = (&ended, stopped) {
        format!("The program ended ({how}) before it answered initialize.{}", wrote.unwrap_or_default())
    } else if closed_its_output(trace) {
        format!(
            "The program closed its standard output before it answered initialize, and runs.{}",
            wrote.unwrap_or_default()
        )
    } else if let Some(wrote) = wrote {
        format!(
            "The program runs, but initialize was not answered before the time limit.{wrote}\nOnly JSON-RPC messages may stand on standard output; logs belong on standard error."
        )
    } else {
        "The program runs, and wrote nothing to its standard output before the time limit for initialize (see --timeout-start). Does it want an argument such as `acp` or `--acp`?".to_owned()
    };
    match last_lines(trace, stderr) {
        // The reason of a crash comes first.
        Some(last) if ended.is_some() && !stopped => text = format!("The end of its standard error:\n{last}\n{text}"),
        Some(last) => text.push_str(&format!("\nThe end of its standard error:\n{last}")),
        None => {}
    }
    Some(text)
}

/// Whether the subject ended by itself before the conversation began.
#[must_use]
pub fn exited_early(trace: &Trace) -> bool {
    let never_began = diagnose(trace).is_some();
    let connected = |event: &Event| matches!(event.what, What::Process(ProcessEvent::AgentStarted(_)));
    let is_client = trace.header.subject == Some(Party::Client);
    let silent = if is_client {
        !trace.events.iter().any(connected)
    } else {
        !trace.events.iter().any(|event| matches!(event.what, What::Line { from: Party::Agent, .. }))
    };
    never_began && silent && ended(trace).is_some() && !was_stopped(trace) && !flooded(trace)
}

/// Whether the subject closed its output before anything else ended.
fn closed_its_output(trace: &Trace) -> bool {
    let first = process(trace, |event| match event {
        ProcessEvent::StdoutEnded => Some(true),
        ProcessEvent::StdinClosed | ProcessEvent::Signalled(_) | ProcessEvent::Exited { .. } => Some(false),
        _ => None,
    });
    first == Some(true)
}

/// How a subject ended that floods.
const FLOODED: &str = "sent more than a case has room for and was stopped";

fn flooded(trace: &Trace) -> bool {
    process(trace, |event| (*event == ProcessEvent::Flooded).then_some(())).is_some()
}

fn process<T>(trace: &Trace, pick: impl Fn(&ProcessEvent) -> Option<T>) -> Option<T> {
    trace.events.iter().find_map(|event| if let What::Process(process) = &event.what { pick(process) } else { None })
}

fn not_spawned(trace: &Trace) -> Option<String> {
    process(trace, |event| match event {
        ProcessEvent::NotSpawned(reason) => Some(reason.clone()),
        _ => None,
    })
}

fn ended(trace: &Trace) -> Option<String> {
    process(trace, |event| match event {
        ProcessEvent::Exited { code: Some(code), .. } => Some(format!("exit code {code}")),
        ProcessEvent::Exited { signal: Some(signal), .. } => Some(format!("signal {signal}")),
        _ => None,
    })
}

/// Whether the subject was asked to end before it did.
fn was_stopped(trace: &Trace) -> bool {
    let asked =
        |event: &ProcessEvent| matches!(event, ProcessEvent::StdinClosed | ProcessEvent::Signalled(_)).then_some(());
    process(trace, asked).is_some()
}

fn stderr(what: &What) -> Option<&[u8]> {
    if let What::Stderr(bytes) = what { Some(bytes) } else { None }
}

fn stdout(what: &What) -> Option<&[u8]> {
    if let What::Stdout(bytes) = what { Some(bytes) } else { None }
}

fn last_lines(trace: &Trace, pick: impl Fn(&What) -> Option<&[u8]>) -> Option<String> {
    const LINES: usize = 8;
    let lines: Vec<String> =
        trace.events.iter().filter_map(|event| pick(&event.what)).map(|bytes| format!("  {}", shown(bytes))).collect();
    (!lines.is_empty()).then(|| lines[lines.len().saturating_sub(LINES)..].join("\n"))
}

fn shown(bytes: &[u8]) -> String {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(bytes);
    text.chars().take(LONGEST).collect()
}
