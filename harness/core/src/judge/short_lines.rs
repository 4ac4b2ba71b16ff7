//! Lines of a case without what only checks need: enough to say why the case is undecided.

use serde_json::{Value, json};

use crate::requirement::Party;
use crate::trace::{Event, What};
use crate::wire::Members;

/// Returns the event with a short line, if the line is a request of the tester, a response of the subject, or a report
/// of a tool call. [`super::refusal`] and [`super::own_tool`] read these.
pub(super) fn short_line(event: &Event, subject: Party) -> Option<Event> {
    let What::Line { from, bytes, end, deliberate } = &event.what else { return None };
    let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    let may_matter = if *from == subject { !has("\"method\"") || has("\"toolCallId\"") } else { has("\"method\"") };
    let value: Value = may_matter.then(|| serde_json::from_slice(bytes).ok()).flatten()?;
    let short = if let Some(method) = value.member("method") {
        match value.pointer("/params/update").filter(|_| *from == subject) {
            Some(update) => {
                let members = ["toolCallId", "kind", "status"].map(|name| update.member(name));
                let [id, kind, status] = members;
                json!({ "jsonrpc": "2.0", "method": method, "params": { "update": { "toolCallId": id, "kind": kind, "status": status } } })
            }
            None if *from == subject => return None,
            None => json!({ "jsonrpc": "2.0", "id": value.member("id")?, "method": method }),
        }
    } else {
        let id = value.member("id")?;
        match value.member("error") {
            Some(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
            None => json!({ "jsonrpc": "2.0", "id": id, "result": null }),
        }
    };
    let what = What::Line { from: *from, bytes: short.to_string().into_bytes(), end: *end, deliberate: *deliberate };
    Some(Event { what, ..event.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Trace;

    #[test]
    fn keeps_what_explains_undecided_cases() {
        let line = |from: &str, line: Value| json!({ "from": from, "line": line.to_string() });
        let update = json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "t", "kind": "edit" });
        let update =
            json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } });
        let lines = [
            line(
                "client",
                json!({ "jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": { "prompt": [] } }),
            ),
            line("agent", json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32603, "message": "busy" } })),
            line("agent", json!({ "jsonrpc": "2.0", "id": 1, "result": { "stopReason": "end_turn" } })),
            line("agent", update),
            line("agent", json!({ "jsonrpc": "2.0", "id": 2, "method": "fs/read_text_file", "params": {} })),
            line("client", json!({ "jsonrpc": "2.0", "id": 2, "result": { "content": "x" } })),
        ];
        let head = r#"{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent"}"#;
        let events =
            lines.iter().enumerate().map(|(n, line)| format!("{{\"n\":{n},\"us\":{n},{}\n", &line.to_string()[1..]));
        let trace = Trace::read(format!("{head}\n{}", events.collect::<String>()).as_bytes()).expect("a trace");
        let short = |event: &Event| match short_line(event, Party::Agent)?.what {
            What::Line { bytes, .. } => serde_json::from_slice::<Value>(&bytes).ok(),
            _ => None,
        };
        let short: Vec<Value> = trace.events.iter().filter_map(short).collect();
        assert_eq!(
            short,
            [
                json!({ "jsonrpc": "2.0", "id": 1, "method": "session/prompt" }),
                json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32603, "message": "busy" } }),
                json!({ "jsonrpc": "2.0", "id": 1, "result": null }),
                json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "update": { "toolCallId": "1", "kind": "edit", "status": null } } }),
            ]
        );
    }
}
