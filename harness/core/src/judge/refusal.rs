//! Requests that the subject answered with an error, or prompts without an answer, where the rest of a case needs it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cause::Cause;
use crate::requirement::Party;
use crate::trace::{Event, Expected, ExpectedMessage, Observed, StepEvent, What};
use crate::wire::{Envelope, Members};

const PROMPT: &str = "session/prompt";

/// The most characters of a message that are quoted.
const LONGEST: usize = 120;

/// Returns the refusal that explains why a step did not go as expected: that of the request which it waits for, and
/// else of the latest prompt. A prompt that has no answer when the wait of a step ends explains it too.
pub(super) fn refusal(events: &[Event], (n, step): (usize, &StepEvent), subject: Party) -> Option<Cause> {
    let method = match &step.expected {
        // A case that expects an error is about the error.
        Some(Expected::Message(ExpectedMessage::Error(_))) => return None,
        Some(Expected::Message(ExpectedMessage::Result(answer) | ExpectedMessage::Answer(answer))) => {
            let is_refused = matches!(step.observed, Some(Observed::Error(_)));
            answer.method.as_deref().filter(|_| is_refused)?
        }
        _ if subject == Party::Agent => PROMPT,
        _ => return None,
    };
    let error = match last(&events[..events.partition_point(|event| event.n < n)], method, subject)? {
        Last::Refused(error) => error,
        Last::Open if matches!(step.observed, Some(Observed::TimedOut { .. })) && method == PROMPT => {
            return Some(Cause::MessageMissing { method: Some(method.to_owned()), timed_out: true });
        }
        Last::Open | Last::Served => return None,
    };
    let message = error.text("message").and_then(|text| text.lines().next());
    let message = message.map(|line| line.chars().take(LONGEST).collect());
    Some(Cause::Refused { method: method.to_owned(), code: error.member("code").and_then(Value::as_i64), message })
}

/// What became of the last request of a method.
enum Last {
    Open,
    Served,
    Refused(Value),
}

/// Returns what became of the last request of this method; `None` if there is none.
fn last(events: &[Event], method: &str, subject: Party) -> Option<Last> {
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut last = None;
    for event in events {
        let What::Line { from, bytes, deliberate, .. } = &event.what else { continue };
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else { continue };
        match Envelope::of(&value) {
            Envelope::Call(call) if *from != subject && !deliberate && call.method == method => {
                if let Some(id) = call.id {
                    open.insert(id.to_string());
                    last = Some(Last::Open);
                }
            }
            Envelope::Response { id: Some(id), error, .. } if *from == subject && open.remove(&id.to_string()) => {
                last = Some(error.cloned().map_or(Last::Served, Last::Refused));
            }
            _ => {}
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Trace;

    /// Returns the cause for a step that waits for `expected` after these lines: `>` of the tester, `<` of the subject.
    fn refused(lines: &[&str], expected: &str, observed: &str) -> Option<Cause> {
        let head = r#"{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent"}"#;
        let step = format!(
            r#""step":{{"kind":"must","line":8,"text":"","outcome":"missed","expected":{expected},"observed":{observed}}}"#
        );
        let line = |line: &&str| match line.split_at(1) {
            (">", text) => format!(r#""from":"client","line":{}"#, Value::from(text)),
            (_, text) => format!(r#""from":"agent","line":{}"#, Value::from(text)),
        };
        let events = lines.iter().map(line).chain([step]).enumerate();
        let events: String = events.map(|(n, event)| format!("{{\"n\":{n},\"us\":{n},{event}}}\n")).collect();
        let trace = Trace::read(format!("{head}\n{events}").as_bytes()).expect("a trace");
        let last = trace.events.last().expect("a step");
        let What::Step(step) = &last.what else { panic!("no step") };
        refusal(&trace.events, (last.n, step), Party::Agent)
    }

    #[test]
    fn a_refused_prompt_explains_what_does_not_follow() {
        const ASKED: &str = r#">{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}"#;
        const REFUSED: &str = r#"<{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"busy\nreally"}}"#;
        const ANSWERED: &str = r#"<{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}"#;
        let update = r#"{"message":{"notification":"session/update"}}"#;
        let cause = Cause::Refused { method: PROMPT.to_owned(), code: Some(-32603), message: Some("busy".to_owned()) };
        assert_eq!(refused(&[ASKED, REFUSED], update, r#""nothing""#), Some(cause));
        assert_eq!(refused(&[ASKED, ANSWERED], update, r#""nothing""#), None);
        assert_eq!(refused(&[ASKED, REFUSED, ASKED, ANSWERED], update, r#""nothing""#), None);
        let silence = Cause::MessageMissing { method: Some(PROMPT.to_owned()), timed_out: true };
        let waited = r#"{"timed-out":{"afterMs":1000,"connected":true,"byPerson":false}}"#;
        assert_eq!(refused(&[ASKED], update, waited), Some(silence));
        assert_eq!(refused(&[ASKED], update, r#""nothing""#), None);
        assert_eq!(refused(&[ASKED, ANSWERED], update, waited), None);
    }
}
