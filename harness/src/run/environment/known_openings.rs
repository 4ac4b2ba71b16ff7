//! The `initialize` requests that an agent refuses, as observed in this run.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::requirement::Party;
use crate::trace::{Event, What};
use crate::wire::{Content, Envelope, read_line};

/// The `initialize` requests that an agent answers with an error, as observed in this run. No case can do more than its `initialize` in
/// a conversation that begins so.
#[derive(Debug, Clone, Default)]
pub struct KnownRefusals(Arc<Mutex<Vec<Refused>>>);

#[derive(Debug)]
struct Refused {
    opening: Value,
    times: usize,
    case: String,
}

/// The number of processes that have to refuse the same request. One alone may have another reason.
const ENOUGH: usize = 2;

impl KnownRefusals {
    /// Returns the first case in which the agent refused the request, if it did so in several processes.
    pub(in crate::run) fn seen_in(&self, opening: &Value) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = known.iter().find(|refused| refused.opening == *opening && refused.times >= ENOUGH);
        refused.map(|refused| refused.case.clone())
    }

    /// Looks for a refusal in the events of a process that began with this case.
    pub(in crate::run) fn note(&self, opening: &Value, case: &str, events: &[Event]) {
        if !refuses_initialize(events.iter()) {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.iter_mut().find(|refused| refused.opening == *opening) {
            Some(refused) => refused.times += 1,
            None => known.push(Refused { opening: opening.clone(), times: 1, case: case.to_owned() }),
        }
    }
}

/// Whether the agent's first response to a request in these events is an error; it answers `initialize`.
pub(in crate::run) fn refuses_initialize<'e>(events: impl Iterator<Item = &'e Event>) -> bool {
    let mut lines = events.filter_map(|event| match &event.what {
        What::Line { from: Party::Agent, bytes, .. } => Some(read_line(bytes)),
        _ => None,
    });
    let answers =
        |value: &Value| matches!(Envelope::of(value), Envelope::Response { id: Some(id), .. } if !id.is_null());
    let response = lines.find_map(|line| match line {
        Content::One { value, .. } => answers(&value).then(|| value.get("error").is_some()),
        _ => None,
    });
    response == Some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::KnownRefusals;
    use crate::requirement::Party;
    use crate::trace::{Trace, What};

    const HEADER: &str = r#"{"format":"acp-conformance-trace/1","suite":"0","edition":"v1@2026-11","subject":"agent"}"#;

    #[test]
    fn only_a_request_that_two_processes_refuse_is_refused() {
        let trace = |answer: &str| {
            let asks =
                r#"{"n":0,"us":0,"from":"client","line":"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}"}"#;
            let line =
                json!({ "n": 1, "us": 1, "from": "agent", "line": format!(r#"{{"jsonrpc":"2.0","id":0,{answer}}}"#) });
            Trace::read(format!("{HEADER}\n{asks}\n{line}\n").as_bytes()).expect("a trace")
        };
        let (refuses, agrees) = (trace(r#""error":{"code":-32602,"message":"no"}"#), trace(r#""result":{}"#));
        let mut refused_by_client = refuses.clone();
        for event in &mut refused_by_client.events {
            if let What::Line { from, .. } = &mut event.what {
                *from = Party::Client;
            }
        }
        let (known, opening) = (KnownRefusals::default(), json!({ "protocolVersion": 1 }));
        known.note(&opening, "a", &refuses.events);
        known.note(&opening, "b", &agrees.events);
        known.note(&opening, "b", &refused_by_client.events);
        assert_eq!(known.seen_in(&opening), None, "one refusal");
        known.note(&opening, "c", &refuses.events);
        assert_eq!(known.seen_in(&opening).as_deref(), Some("a"));
        assert_eq!(known.seen_in(&json!({})), None, "another request");
    }
}
