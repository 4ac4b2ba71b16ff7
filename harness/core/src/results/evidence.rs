//! The lines of a trace that prove a finding, shortened for people.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::finding::Fact;
use crate::requirement::Party;
use crate::trace::{Event, McpEvent, McpWhat, What};

/// The words before a quoted line on standard error.
pub(super) const STDERR: &str = "standard error";

/// The longest line that is quoted whole.
const LONGEST_QUOTE: usize = 600;

/// Returns the lines of the events that prove a finding, in the order of the trace.
pub(super) fn quote<'t>(event: &dyn Fn(usize) -> Option<&'t Event>, events: &[usize], fact: &Fact) -> Vec<String> {
    let events: BTreeSet<usize> = events.iter().copied().collect();
    let seen = events.into_iter().filter_map(event);
    seen.map(|event| format!("#{} {}", event.n, describe(&event.what, focus(fact)))).collect()
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
        What::Process(process) => format!("process  {}", serde_json::to_string(process).unwrap_or_default()),
        What::Mcp(McpEvent { server, what, .. }) => match what {
            McpWhat::FromAgent(text) => format!("agent → MCP server {server}  {}", cut(text, focus)),
            McpWhat::ToAgent(text) => format!("MCP server {server} → agent  {}", cut(text, focus)),
            other => format!("MCP server {server}  {}", cut(&serde_json::to_string(other).unwrap_or_default(), focus)),
        },
        What::Model(model) => format!("model {}", model.did),
        What::Visit(visit) => format!("HTTP  {}", cut(&serde_json::to_string(visit).unwrap_or_default(), focus)),
        What::Case(mark) => format!("case  {}", serde_json::to_string(mark).unwrap_or_default()),
        What::Step(step) => format!(
            "case {}  {} ({})",
            step.place().unwrap_or_default(),
            cut(&step.text, focus),
            serde_json::to_value(step.outcome).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
        ),
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
