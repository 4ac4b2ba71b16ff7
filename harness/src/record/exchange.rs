//! The messages of a trace, each with the request that it answers.

use std::collections::HashMap;

use serde_json::Value;

use crate::requirement::Party;
use crate::trace::{FENCE, Outcome, StepKind, Trace, What};
use crate::wire::{Content, Envelope, RpcId, read_line};

/// A message or an act, in the order of the trace.
#[derive(Debug)]
pub(super) struct Turn {
    /// The position of the event.
    pub(super) n: usize,
    /// The party that did it; the tester's party for acts outside the conversation.
    pub(super) from: Party,
    /// Whether the tester violated the protocol with it on purpose.
    pub(super) deliberate: bool,
    /// The message or act.
    pub(super) said: Said,
}

impl Turn {
    /// Returns the method and the params of a request or a notification.
    pub(super) fn called(&self) -> Option<(&str, Option<&Value>)> {
        match &self.said {
            Said::Request { method, params, .. } | Said::Notification { method, params } => {
                Some((method, params.as_ref()))
            }
            _ => None,
        }
    }
}

/// A message or an act.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    /// A request.
    Request { id: Value, method: String, params: Option<Value> },
    /// A notification.
    Notification { method: String, params: Option<Value> },
    /// The answer to the request at this place of the exchange: a result or an error.
    Answer { to: usize, outcome: Result<Value, Value> },
    /// A request that proves that nothing more will come.
    Fence,
    /// Bytes of the tester that are not a message, or an answer to no request.
    Raw(Vec<u8>),
    /// A step of the recorded case: an act of its user, as written.
    Act(String),
}

/// The exchange of a trace.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) subject: Party,
    pub(super) turns: Vec<Turn>,
}

impl Exchange {
    /// Reads the exchange of a trace; `None` if no case can repeat it.
    pub(super) fn read(trace: &Trace) -> Option<Self> {
        let subject = trace.header.subject?;
        let mut reader = Reader { subject, turns: Vec::new(), open: HashMap::new(), fences: Vec::new() };
        let mut is_fence_next = false;
        for event in &trace.events {
            let (n, tester) = (event.n, subject.other());
            let (from, deliberate, said) = match &event.what {
                _ if event.connection > 0 => return None,
                What::Line { from, bytes, deliberate, .. } => {
                    let is_fence = *from == tester && std::mem::take(&mut is_fence_next);
                    (*from, *deliberate, reader.line(*from, bytes, is_fence)?)
                }
                What::Fence(_) => {
                    is_fence_next = true;
                    continue;
                }
                What::Unattributed(_) => return None,
                What::Step(step) if step.kind == StepKind::Act && step.outcome == Outcome::Done => {
                    (tester, false, Some(Said::Act(step.text.clone())))
                }
                _ => continue,
            };
            reader.turns.extend(said.map(|said| Turn { n, from, deliberate, said }));
        }
        let exchange = Self { subject, turns: reader.turns };
        let is_opening =
            exchange.turns.first().and_then(Turn::called).is_some_and(|(method, _)| method == "initialize");
        let is_agreed = |turn: &Turn| matches!(turn.said, Said::Answer { to: 0, outcome: Ok(_) });
        (is_opening && exchange.turns.iter().any(is_agreed)).then_some(exchange)
    }

    /// Returns the params of the first call of a method.
    pub(super) fn params(&self, method: &str) -> Option<&Value> {
        self.turns.iter().filter_map(Turn::called).find(|(called, _)| *called == method)?.1
    }

    /// Returns the requests that the client answered, with the results or errors.
    pub(super) fn answers(&self) -> impl Iterator<Item = (&Turn, &Result<Value, Value>)> {
        self.turns.iter().filter(|turn| turn.from == Party::Client).filter_map(|turn| match &turn.said {
            Said::Answer { to, outcome } => Some((&self.turns[*to], outcome)),
            _ => None,
        })
    }

    /// Whether the tester cancels a request of this id, which the runner would otherwise choose.
    pub(super) fn cancels(&self, id: &Value) -> bool {
        self.turns.iter().filter(|turn| turn.from != self.subject).filter_map(Turn::called).any(|(method, params)| {
            method == "$/cancel_request" && params.and_then(|params| params.get("requestId")) == Some(id)
        })
    }
}

struct Reader {
    subject: Party,
    turns: Vec<Turn>,
    /// The open requests, by sender and id.
    open: HashMap<(Party, RpcId), usize>,
    fences: Vec<RpcId>,
}

impl Reader {
    /// Reads a line; `Some(None)` if the case does not need it, and `None` if no case can expect it.
    fn line(&mut self, from: Party, bytes: &[u8], is_fence: bool) -> Option<Option<Said>> {
        let is_subject = from == self.subject;
        let raw = || (!is_subject).then(|| Some(Said::Raw(bytes.to_vec())));
        let Content::One { value, doubled, cut: false, .. } = read_line(bytes) else { return raw() };
        if !doubled.is_empty() {
            return raw();
        }
        Some(Some(match Envelope::of(&value) {
            Envelope::Call(call) if call.method == FENCE || is_fence => {
                self.fences.extend(call.id.map(RpcId::new));
                // Consecutive requests form one fence.
                if self.turns.last().is_some_and(|turn| turn.said == Said::Fence) {
                    return Some(None);
                }
                Said::Fence
            }
            Envelope::Call(call) => {
                let (method, params) = (call.method.to_owned(), call.params.cloned());
                match call.id {
                    Some(id) => {
                        self.open.insert((from, RpcId::new(id)), self.turns.len());
                        Said::Request { id: id.clone(), method, params }
                    }
                    None => Said::Notification { method, params },
                }
            }
            Envelope::Response { id, result, error } => {
                let id = id.map(RpcId::new);
                if is_subject && id.as_ref().is_some_and(|id| self.fences.contains(id)) {
                    return Some(None);
                }
                let asked = id.and_then(|id| self.open.remove(&(from.other(), id)));
                match (asked, result, error) {
                    (Some(to), Some(result), None) => Said::Answer { to, outcome: Ok(result.clone()) },
                    (Some(to), None, Some(error)) => Said::Answer { to, outcome: Err(error.clone()) },
                    _ if is_subject => return Some(None),
                    _ => Said::Raw(bytes.to_vec()),
                }
            }
            Envelope::Unclear => return raw(),
        }))
    }
}
