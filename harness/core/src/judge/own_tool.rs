//! Tools of an agent that did by itself what a case needs a request to the client for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::requirement::Party;
use crate::trace::{Event, Expected, ExpectedMessage, StepEvent, What};
use crate::wire::Members;

/// Returns the method that the agent did not call, if the step waits for it and the agent reports since the last prompt
/// that a tool of the same kind is completed. A tool that called this method with other arguments, such as those of a
/// shell around the command, replaces nothing.
pub(super) fn replaced_method(events: &[Event], (n, step): (usize, &StepEvent)) -> Option<String> {
    let Some(Expected::Message(ExpectedMessage::Request(wanted))) = &step.expected else { return None };
    let kind = match wanted.as_str() {
        "fs/read_text_file" => "read",
        "fs/write_text_file" => "edit",
        "terminal/create" => "execute",
        _ => return None,
    };
    let before = &events[..events.partition_point(|event| event.n < n)];
    let messages = before.iter().filter_map(message);
    let mut kinds: BTreeMap<String, String> = BTreeMap::new();
    let mut completed: BTreeSet<String> = BTreeSet::new();
    let mut is_called = false;
    for (from, message) in messages {
        let method = message.text("method");
        if from == Party::Client && method == Some("session/prompt") {
            completed.clear();
            is_called = false;
        }
        is_called |= from == Party::Agent && method == Some(wanted);
        let update = message.pointer("/params/update").filter(|_| from == Party::Agent);
        let text = |name: &str| update?.member(name)?.as_str();
        let Some(id) = text("toolCallId") else { continue };
        kinds.extend(text("kind").map(|kind| (id.to_owned(), kind.to_owned())));
        completed.extend((text("status") == Some("completed")).then(|| id.to_owned()));
    }
    let is_kind = |id: &String| kinds.get(id).is_some_and(|known| known == kind);
    (!is_called && completed.iter().any(is_kind)).then(|| wanted.clone())
}

fn message(event: &Event) -> Option<(Party, Value)> {
    let What::Line { from, bytes, .. } = &event.what else { return None };
    Some((*from, serde_json::from_slice(bytes).ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trace::Trace;

    const PROMPT: &str =
        r#"{"from":"client","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/prompt\",\"params\":{}}"}"#;

    fn update(update: Value) -> String {
        let message =
            json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}});
        json!({"from": "agent", "line": message.to_string()}).to_string()
    }

    /// Returns the method that was replaced, after these lines.
    fn replaced(lines: &[String], method: &str) -> Option<String> {
        let head = r#"{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent"}"#;
        let step = json!({"step": {"kind": "optional", "line": 8, "text": "", "outcome": "missed",
            "expected": {"message": {"request": method}}, "observed": "nothing"}});
        let events = lines.iter().cloned().chain([step.to_string()]).enumerate();
        let events: String = events.map(|(n, event)| format!("{{\"n\":{n},\"us\":{n},{}\n", &event[1..])).collect();
        let trace = Trace::read(format!("{head}\n{events}").as_bytes()).expect("a trace");
        let last = trace.events.last().expect("a step");
        let What::Step(step) = &last.what else { panic!("no step") };
        replaced_method(&trace.events, (last.n, step))
    }

    #[test]
    fn a_completed_tool_of_the_kind_replaces_the_request() {
        let call = update(json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Write", "kind": "edit"}));
        let done = update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}));
        let failed = update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed"}));
        let lines = |lines: &[&String]| lines.iter().map(|line| (*line).clone()).collect::<Vec<_>>();
        let prompt = PROMPT.to_owned();
        let write = "fs/write_text_file";
        assert_eq!(replaced(&lines(&[&prompt, &call, &done]), write), Some(write.to_owned()));
        assert_eq!(replaced(&lines(&[&prompt, &call, &done]), "terminal/create"), None, "another kind");
        assert_eq!(replaced(&lines(&[&prompt, &call, &failed]), write), None, "it failed");
        assert_eq!(replaced(&lines(&[&prompt, &call, &done, &prompt]), write), None, "an earlier turn");
        let called = json!({"jsonrpc": "2.0", "id": 7, "method": write, "params": {}}).to_string();
        let called = json!({"from": "agent", "line": called}).to_string();
        assert_eq!(replaced(&lines(&[&prompt, &call, &called, &done]), write), None, "a call of the client");
        assert_eq!(replaced(&lines(&[&prompt, &call, &done]), "session/request_permission"), None);
    }
}
