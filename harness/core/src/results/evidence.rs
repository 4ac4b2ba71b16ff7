//! The lines of a trace that prove a finding, shortened for people.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use crate::finding::Fact;
use crate::requirement::Party;
use crate::trace::{Event, McpEvent, McpWhat, ProcessEvent, StepEvent, StepKind, What};

/// The words before a quoted line on standard error.
pub(super) const STDERR: &str = "standard error";

/// The longest line that is quoted whole.
const LONGEST_QUOTE: usize = 600;

/// The most messages between two events that are shown; of more, only the number is.
const MOST_BETWEEN: usize = 3;

/// Returns the lines of the events that prove a finding, in the order of the trace, with the messages between them.
/// If a message of a client decides it, they include the acts of its user that led to the message.
pub(super) fn quote<'t>(event: &dyn Fn(usize) -> Option<&'t Event>, events: &[usize], fact: &Fact) -> Vec<String> {
    let acts = events.first().map(|&deciding| acts_before(event, deciding)).unwrap_or_default();
    let events: BTreeSet<usize> = events.iter().copied().chain(acts).collect();
    let mut lines = Vec::new();
    let mut before: Option<&Event> = None;
    for event_here in events.into_iter().filter_map(event) {
        if let Some(before) = before {
            lines.extend(between(event, before, event_here.n, fact));
        }
        lines.push(match before.and_then(|before| closed_by_tester(event, before, event_here)) {
            Some(words) => words,
            None => format!("#{} {}", event_here.n, describe(&event_here.what, focus(fact))),
        });
        before = Some(event_here);
    }
    lines
}

/// Returns the acts of the user between a message of a client and the client's message before it.
fn acts_before<'t>(event: &dyn Fn(usize) -> Option<&'t Event>, deciding: usize) -> Vec<usize> {
    let is_of_client = |event: &&Event| matches!(event.what, What::Line { from: Party::Client, .. });
    if event(deciding).filter(is_of_client).is_none() {
        return Vec::new();
    }
    let goes_on = |event: &&Event| !is_of_client(event) && !matches!(event.what, What::Case(_));
    let before = (0..deciding).rev().map_while(event).take_while(goes_on);
    before.filter(|event| is_act(&event.what)).map(|event| event.n).collect()
}

const fn is_act(what: &What) -> bool {
    matches!(what, What::Step(StepEvent { kind: StepKind::Act, .. }))
}

/// Returns the messages between two events, or their number. A recording keeps only the events of findings, so these
/// are unknown there.
fn between<'t>(event: &dyn Fn(usize) -> Option<&'t Event>, before: &Event, end: usize, fact: &Fact) -> Vec<String> {
    let messages = (before.n + 1..end).filter_map(event).filter(|event| matches!(event.what, What::Line { .. }));
    let messages: Vec<&Event> = messages.collect();
    if messages.len() > MOST_BETWEEN {
        return vec![format!("({} messages between)", messages.len())];
    }
    messages.iter().map(|event| format!("#{} {}", event.n, describe(&event.what, focus(fact)))).collect()
}

/// Returns a sentence instead of the end of a process after the tester had closed its input: that proves nothing about
/// the subject but the time that it had.
fn closed_by_tester<'t>(event: &dyn Fn(usize) -> Option<&'t Event>, before: &Event, end: &Event) -> Option<String> {
    if !matches!(end.what, What::Process(ProcessEvent::Exited { .. } | ProcessEvent::StdoutEnded)) {
        return None;
    }
    let is_close = |event: &&Event| matches!(event.what, What::Process(ProcessEvent::StdinClosed));
    let closed = (before.n + 1..end.n).filter_map(event).find(is_close)?;
    let ms = closed.us.saturating_sub(before.us) / 1000;
    Some(format!("({} s later the harness closed stdin)", Duration::from_millis(ms / 100 * 100).as_secs_f64()))
}

/// Returns the member around which a long line is shown: the last part of the JSON pointer of a finding.
fn focus(fact: &Fact) -> &str {
    let pointer = fact.field("pointer").and_then(Value::as_str).unwrap_or_default();
    pointer.rsplit('/').next().unwrap_or(pointer)
}

fn describe(what: &What, focus: &str) -> String {
    match what {
        What::Line { from, bytes, .. } => {
            let arrow = if *from == Party::Agent { "agent → client" } else { "client → agent" };
            format!("{arrow}  {}", cut(&String::from_utf8_lossy(bytes), focus))
        }
        What::Unattributed(bytes) => format!("either party  {}", cut(&String::from_utf8_lossy(bytes), focus)),
        What::Stderr(bytes) => format!("{STDERR}  {}", cut(&String::from_utf8_lossy(bytes), focus)),
        What::Stdout(bytes) => format!("standard output  {}", cut(&String::from_utf8_lossy(bytes), focus)),
        What::Fence(method) => format!("fence  {method}"),
        What::Process(process) => format!("process  {}", process_text(process)),
        What::Mcp(McpEvent { server, what, .. }) => match what {
            McpWhat::FromAgent(text) => format!("agent → MCP server {server}  {}", cut(text, focus)),
            McpWhat::ToAgent(text) => format!("MCP server {server} → agent  {}", cut(text, focus)),
            other => format!("MCP server {server}  {}", cut(&serde_json::to_string(other).unwrap_or_default(), focus)),
        },
        What::Model(model) => format!("model {}", model.did),
        What::Http(http) => cut(&http.to_string(), focus),
        What::Visit(visit) => format!("HTTP  {}", cut(&serde_json::to_string(visit).unwrap_or_default(), focus)),
        What::Case(mark) => format!("case  {}", serde_json::to_string(mark).unwrap_or_default()),
        What::Step(step) if step.kind == StepKind::Act => {
            format!("case {}  {}", step.place().unwrap_or_default(), cut(&step.text, focus))
        }
        What::Step(step) => format!(
            "case {}  {} ({})",
            step.place().unwrap_or_default(),
            cut(&step.text, focus),
            serde_json::to_value(step.outcome).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
        ),
    }
}

/// Describes the end of a process in words, and other events as in the trace.
fn process_text(process: &ProcessEvent) -> String {
    match process {
        ProcessEvent::Exited { signal: Some(signal), .. } => format!("ended by {signal}"),
        ProcessEvent::Exited { code: Some(code), .. } => format!("exited with code {code}"),
        ProcessEvent::StdinClosed => "the harness closed stdin".to_owned(),
        ProcessEvent::StdoutEnded => "closed its output".to_owned(),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

/// Shortens a long text around the part that the finding is about.
fn cut(text: &str, focus: &str) -> String {
    let characters = text.chars().count();
    if characters <= LONGEST_QUOTE {
        return text.to_owned();
    }
    let found = Some(focus).filter(|focus| !focus.is_empty()).and_then(|focus| text.find(focus));
    let at = found.map_or(0, |byte| text[..byte].chars().count());
    let start = at.saturating_sub(LONGEST_QUOTE / 2);
    let shown: String = text.chars().skip(start).take(LONGEST_QUOTE).collect();
    let before = if start > 0 { "… " } else { "" };
    let after = if start + LONGEST_QUOTE < characters { " …" } else { "" };
    format!("{before}{shown}{after} ({} bytes)", text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact;
    use crate::trace::Trace;

    /// Returns the lines that prove a finding by these events of a trace.
    fn quoted(events: &[&str], by: &[usize]) -> Vec<String> {
        let head = r#"{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent"}"#;
        let lines =
            events.iter().enumerate().map(|(n, event)| format!("{{\"n\":{n},\"us\":{},{event}}}\n", n * 1_000_000));
        let file = format!("{head}\n{}", lines.collect::<String>());
        let trace = Trace::read(file.as_bytes()).expect("a trace");
        quote(&|n| trace.event(n), by, &fact!("wrong", "it is wrong"))
    }

    #[test]
    fn messages_between_are_shown_or_counted() {
        let line = |text: &str| format!(r#""from":"agent","line":"{text}""#);
        let events: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(line).to_vec();
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let few = ["#0 agent → client  a", "#1 agent → client  b", "#2 agent → client  c"];
        assert_eq!(quoted(&events, &[2, 0]), few);
        assert_eq!(quoted(&events, &[0, 5]), ["#0 agent → client  a", "(4 messages between)", "#5 agent → client  f"]);
    }

    #[test]
    fn acts_of_the_user_stand_before_the_message_that_they_led_to() {
        let act = |n: usize, text: &str| {
            format!(r#""step":{{"kind":"act","line":{n},"text":"user: {{ act: {text} }}","outcome":"done"}}"#)
        };
        let line = |from: &str, text: &str| format!(r#""from":"{from}","line":"{text}""#);
        let events = [
            line("agent", "answer"),
            act(7, "new-session"),
            line("client", "new"),
            act(8, "close"),
            line("agent", "update"),
            line("client", "close"),
        ];
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let shown = quoted(&events, &[5, 0]);
        assert_eq!(
            shown[2..],
            ["#3 case line 8  user: { act: close }", "#4 agent → client  update", "#5 client → agent  close"]
        );
        assert!(!shown.iter().any(|line| line.contains("new-session")), "that led to the message before: {shown:?}");
        assert_eq!(quoted(&events, &[4]), ["#4 agent → client  update"]);
    }

    #[test]
    fn an_exit_after_the_tester_closed_stdin_is_no_proof() {
        let events = [
            r#""from":"client","line":"a""#,
            r#""process":"stdin-closed""#,
            r#""process":{"exited":{"code":0,"signal":null}}"#,
        ];
        assert_eq!(quoted(&events, &[2, 0]), ["#0 client → agent  a", "(1 s later the harness closed stdin)"]);
        assert_eq!(quoted(&events[..1], &[0]), ["#0 client → agent  a"]);
        assert_eq!(quoted(&[events[0], events[2]], &[1, 0])[1], "#1 process  exited with code 0");
    }
}
