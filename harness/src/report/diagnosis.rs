//! Says in words why a conversation never began.

use crate::requirement::Party;
use crate::trace::{ProcessEvent, Trace, What};
use crate::wire::{Content, Envelope, read_line};

/// What to tell the user when `initialize` was not answered; none when it was.
#[must_use]
pub fn diagnose(trace: &Trace) -> Option<String> {
    let lines = |party: Party| {
        trace.events.iter().filter_map(move |event| match &event.what {
            What::Line { from, bytes, .. } if *from == party => Some(bytes.as_slice()),
            _ => None,
        })
    };
    let said: Vec<&[u8]> = lines(Party::Agent).collect();
    let echoed = said.iter().any(|line| lines(Party::Client).any(|sent| sent == *line));
    let answered = said.iter().any(|bytes| match read_line(bytes) {
        Content::One { value, .. } => matches!(Envelope::of(&value), Envelope::Response { .. }),
        _ => false,
    });
    if answered && !echoed {
        return None;
    }
    if let Some(reason) = process(trace, |event| match event {
        ProcessEvent::NotSpawned(reason) => Some(reason.clone()),
        _ => None,
    }) {
        return Some(format!("The program could not be started: {reason}."));
    }
    let ended = process(trace, |event| match event {
        ProcessEvent::Exited { code: Some(code), .. } => Some(format!("exit code {code}")),
        ProcessEvent::Exited { signal: Some(signal), .. } => Some(format!("signal {signal}")),
        _ => None,
    });
    let stopped = process(trace, |event| matches!(event, ProcessEvent::StdinClosed).then_some(())).is_some();
    let wrote = said.first().map(|line| {
        format!(
            " It wrote {} line(s) to its standard output that answer nothing; the first: {}",
            said.len(),
            shown(line)
        )
    });
    let mut text = if echoed {
        "The program sends back what it is sent. It is no agent; perhaps the command starts something else than you meant.".to_owned()
    } else if let (Some(how), false) = (&ended, stopped) {
        format!("The program ended ({how}) before it answered initialize.{}", wrote.unwrap_or_default())
    } else if let Some(wrote) = wrote {
        format!(
            "The program runs, but initialize was not answered before the time limit.{wrote}\nOnly JSON-RPC messages may stand on standard output; logs belong on standard error."
        )
    } else {
        "The program runs, and wrote nothing to its standard output before the time limit for initialize (see --timeout-start). Does it want an argument such as `acp` or `--acp`?".to_owned()
    };
    if let Some(last) = last_stderr(trace) {
        text.push_str(&format!("\nThe end of its standard error:\n{last}"));
    }
    Some(text)
}

fn process<T>(trace: &Trace, pick: impl Fn(&ProcessEvent) -> Option<T>) -> Option<T> {
    trace.events.iter().find_map(|event| if let What::Process(process) = &event.what { pick(process) } else { None })
}

fn last_stderr(trace: &Trace) -> Option<String> {
    const LINES: usize = 8;
    let lines: Vec<String> = trace
        .events
        .iter()
        .filter_map(
            |event| if let What::Stderr(bytes) = &event.what { Some(format!("  {}", shown(bytes))) } else { None },
        )
        .collect();
    (!lines.is_empty()).then(|| lines[lines.len().saturating_sub(LINES)..].join("\n"))
}

fn shown(bytes: &[u8]) -> String {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(bytes);
    text.chars().take(LONGEST).collect()
}
