//! Explains why a conversation never began.

use std::collections::HashSet;

use super::visible::visible;
use super::words::count;
use crate::judge::observed_text;
use crate::requirement::Party;
use crate::trace::{Event, HttpEvent, Outcome, ProcessEvent, StepEvent, StepKind, Trace, What};
use crate::wire::{Content, Envelope, read_line};

/// Why the conversation of a trace never began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// The reason and its remedy, with the last lines that the subject wrote. It may be printed to a terminal.
    pub text: String,
    /// Whether the command most likely starts another program than the user meant: it exited by itself before the
    /// conversation began, or it sends back its input.
    pub is_wrong_program: bool,
}

/// Explains why an agent did not answer `initialize`, or why a client did not send its first prompt. `None` if the
/// conversation began.
pub fn diagnose(trace: &Trace) -> Option<Diagnosis> {
    let text = match trace.header.subject {
        Some(Party::Client) => of_client(trace),
        _ => of_agent(trace),
    };
    // The text quotes the subject.
    text.map(|text| Diagnosis {
        text: visible(&text),
        is_wrong_program: is_echo(trace) || exited_early(trace) || not_served(trace).is_some(),
    })
}

fn of_client(trace: &Trace) -> Option<String> {
    if trace.client_called("session/prompt") {
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
    let is_dialing = !trace.header.transport.is_stdio();
    let starts = trace.events.iter().filter(|event| match &event.what {
        What::Process(ProcessEvent::AgentStarted(_)) => true,
        What::Http(HttpEvent::Request { .. }) => is_dialing,
        _ => false,
    });
    let ended = ended(trace).filter(|_| !was_stopped(trace));
    let how = match ended {
        _ if flooded(trace) => format!("The client {FLOODED}"),
        Some(how) => format!("The client exited ({how})"),
        None => "The client is running".to_owned(),
    };
    let mut text = match starts.count() {
        0 if is_dialing => format!(
            "{how}, but never connected to its agent. Check that {{url}} stands where the client expects the address, and \
             that it connects before the first prompt. If it starts slowly, raise --timeout-start."
        ),
        0 => format!(
            "{how}, but never started its agent. Check that {{agent}} stands where the client expects its agent, and that the \
             client starts its agent before the first prompt. If it starts slowly, raise --timeout-start."
        ),
        _ if !trace.client_called("initialize") => match lines(trace, Party::Client).next() {
            None => format!("{how}; it started its agent, but never sent initialize."),
            Some(first) => {
                let sent = count(lines(trace, Party::Client).count(), "line", "lines");
                let first = shown(first);
                format!(
                    "{how}; it started its agent and sent {sent}, but no readable initialize request. The first line: {first}"
                )
            }
        },
        _ if !trace.client_called("session/new") => {
            format!("{how}; it initialized its agent, but never opened a session.")
        }
        _ => format!(
            "{how}; it opened a session, but never sent the prompt. Check that {{prompt}} stands where the client expects it."
        ),
    };
    for (name, last) in [("standard output", last_lines(trace, stdout)), ("standard error", last_lines(trace, stderr))]
    {
        if let Some(last) = last {
            text.push_str(&format!("\nThe last lines of its {name}:\n{last}"));
        }
    }
    Some(text)
}

fn of_agent(trace: &Trace) -> Option<String> {
    let said: Vec<&[u8]> = lines(trace, Party::Agent).collect();
    let answered = said.iter().any(|bytes| match read_line(bytes) {
        Content::One { value, .. } => matches!(Envelope::of(&value), Envelope::Response { .. }),
        _ => false,
    });
    if answered && !is_echo(trace) {
        return None;
    }
    if let Some(reason) = not_spawned(trace) {
        return Some(format!("The program could not be started: {reason}."));
    }
    let ended = ended(trace);
    let stopped = was_stopped(trace);
    let wrote = said.first().map(|line| {
        format!(
            " It wrote {} to its standard output, but no response. The first line: {}",
            count(said.len(), "line", "lines"),
            shown(line)
        )
    });
    let mut text = if is_echo(trace) {
        "This looks like an echo program, not an ACP agent: it sent back the messages that it received. Check the command."
            .to_owned()
    } else if flooded(trace) {
        format!("The program {FLOODED}, and did not answer initialize.{}", wrote.unwrap_or_default())
    } else if let (Some(how), false) = (&ended, stopped) {
        format!("The program exited ({how}) before it answered initialize.{}", wrote.unwrap_or_default())
    } else if let Some(why) = not_served(trace) {
        why
    } else if let Some(why) = not_answered(trace) {
        why
    } else if closed_its_output(trace) {
        format!(
            "The program closed its standard output before it answered initialize, and is still running.{}",
            wrote.unwrap_or_default()
        )
    } else if let Some(wrote) = wrote {
        format!(
            "The program is running, but did not answer initialize within the time limit (--timeout-start).{wrote}\nStandard \
             output must contain only JSON-RPC messages. Write logs to standard error."
        )
    } else {
        "The program is running, but wrote nothing to its standard output within the time limit (--timeout-start). Does it \
         need an argument such as `acp` or `--acp`?"
            .to_owned()
    };
    match last_lines(trace, stderr) {
        // The reason of a crash comes first.
        Some(last) if ended.is_some() && !stopped => {
            text = format!("The last lines of its standard error:\n{last}\n{text}")
        }
        Some(last) => text.push_str(&format!("\nThe last lines of its standard error:\n{last}")),
        None => {}
    }
    Some(text)
}

/// Returns the events of HTTP or of a WebSocket.
fn http(trace: &Trace) -> impl Iterator<Item = &HttpEvent> {
    trace.events.iter().filter_map(|event| if let What::Http(http) = &event.what { Some(http) } else { None })
}

/// Returns the status of the response to the first request, which opens the connection, and the beginning of its body.
fn first_response(trace: &Trace) -> Option<(u16, Option<&str>)> {
    http(trace).find_map(|event| match event {
        HttpEvent::Response { exchange: 0, status, body, .. } => Some((*status, body.as_deref())),
        _ => None,
    })
}

/// Says why an agent that should serve was not reached.
fn not_served(trace: &Trace) -> Option<String> {
    if trace.header.subject == Some(Party::Client) || trace.header.transport.is_stdio() {
        return None;
    }
    let why = http(trace).find_map(|event| match event {
        HttpEvent::Failed { why, .. } => Some(why.as_str()),
        _ => None,
    });
    match first_response(trace) {
        Some((101 | 200, _)) => None,
        Some((status, _)) => {
            let remedy = match status {
                300..=399 => "It redirects, which the harness does not follow: name the last address by --url.",
                401 | 403 => "If it needs a login, give it by --header.",
                _ => "Is the path of its address right? It is /acp, unless --url or the profile names another one.",
            };
            Some(format!("The server answered the first request with the status {status}. {remedy}"))
        }
        None if why.is_none() && http(trace).next().is_some() => Some(
            "The server accepted the connection, but did not answer the first request within the time limit \
             (--timeout-start)."
                .to_owned(),
        ),
        None => {
            let is_started = |event: &ProcessEvent| matches!(event, ProcessEvent::Spawned { .. }).then_some(());
            let remedy = if process(trace, is_started).is_none() {
                "Does it run at the address that --url names?"
            } else {
                "Check that {port} stands in its command line where the port goes, and name another path than /acp by --url."
            };
            let why = why.unwrap_or("nothing serves at its address within the time limit (--timeout-start)");
            Some(format!("The agent cannot be reached: {why}. {remedy}"))
        }
    }
}

/// Says why an agent that serves did not answer `initialize`, although it answered the first request.
fn not_answered(trace: &Trace) -> Option<String> {
    let (status, body) = first_response(trace).filter(|_| trace.header.subject != Some(Party::Client))?;
    let broken = http(trace).find_map(|event| match event {
        HttpEvent::Ended { why: Some(why), .. } | HttpEvent::Failed { why, .. } => Some(why.as_str()),
        _ => None,
    });
    Some(match (status, body, broken) {
        (_, _, Some(why)) => format!("The server did not answer initialize: the connection broke: {why}."),
        (101, ..) => {
            "The server opened the WebSocket, but did not answer initialize within the time limit (--timeout-start)."
                .to_owned()
        }
        (_, Some(body), _) => {
            format!(
                "The server answered initialize with the status {status}, but with something else than a message: {}",
                shown(body.as_bytes())
            )
        }
        (_, None, _) => format!("The server answered initialize with the status {status}, but with no message."),
    })
}

fn lines(trace: &Trace, party: Party) -> impl Iterator<Item = &[u8]> {
    trace.events.iter().filter_map(move |event| match &event.what {
        What::Line { from, bytes, .. } if *from == party => Some(bytes.as_slice()),
        _ => None,
    })
}

/// Whether an agent sends back lines that it received.
fn is_echo(trace: &Trace) -> bool {
    let sent: HashSet<&[u8]> = lines(trace, Party::Client).collect();
    trace.header.subject != Some(Party::Client) && lines(trace, Party::Agent).any(|line| sent.contains(line))
}

/// Whether a subject whose conversation never began exited by itself, and an agent without a line.
fn exited_early(trace: &Trace) -> bool {
    let connected = |event: &Event| matches!(event.what, What::Process(ProcessEvent::AgentStarted(_)));
    let is_silent = match trace.header.subject {
        Some(Party::Client) => !trace.events.iter().any(connected),
        _ => lines(trace, Party::Agent).next().is_none(),
    };
    is_silent && ended(trace).is_some() && !was_stopped(trace) && !flooded(trace)
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

/// What happened to a subject that floods.
const FLOODED: &str = "sent more output than a case may record, and was stopped";

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

/// Whether the subject was asked to exit before it did.
fn was_stopped(trace: &Trace) -> bool {
    let first = process(trace, |event| match event {
        ProcessEvent::StdinClosed | ProcessEvent::Signalled(_) => Some(true),
        ProcessEvent::Exited { .. } => Some(false),
        _ => None,
    });
    first == Some(true)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edition::V1;
    use crate::trace::{AgentStart, Header};
    use crate::wire::LineEnd;

    #[test]
    fn names_a_line_that_is_no_readable_initialize() {
        let header = Header { subject: Some(Party::Client), ..Header::of_recording(V1.name(), Vec::new()) };
        let line =
            |bytes: &str| What::Line { from: Party::Client, bytes: bytes.into(), end: LineEnd::Lf, deliberate: false };
        let text = |what: Vec<What>| {
            let start = What::Process(ProcessEvent::AgentStarted(AgentStart::default()));
            let what = std::iter::once(start).chain(what).enumerate();
            let events = what.map(|(n, what)| Event { n, us: 0, connection: 1, what }).collect();
            diagnose(&Trace { header: header.clone(), events }).expect("a diagnosis").text
        };
        assert_eq!(text(Vec::new()), "The client is running; it started its agent, but never sent initialize.");
        assert_eq!(
            text(vec![line("\u{feff}{\"method\":\"initialize\"}")]),
            "The client is running; it started its agent and sent 1 line, but no readable initialize request. The first line: \
             \\u{feff}{\"method\":\"initialize\"}"
        );
    }
}
