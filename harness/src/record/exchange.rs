//! The messages of a trace, each with the request that it answers, or the reason why they cannot become a case.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::requirement::Party;
use crate::trace::{Event, FENCE, Lack, Outcome, StepKind, Trace, What};
use crate::wire::{Content, Envelope, RpcId, read_line};

/// The reason why a trace cannot become a case.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// The party under test is unknown.
    #[error("the trace does not say whether the agent or the client is the subject; give --subject")]
    NoSubject,
    /// The lines of both parties have no common order.
    #[error("the trace does not tell in which order the two parties spoke")]
    NoOrder,
    /// Several connections.
    #[error("the trace has {0} connections, and a case has one; record it from a trace of one")]
    Connections(usize),
    /// A line without a sender.
    #[error("event #{0} is a line without a known sender")]
    NoSender(usize),
    /// A broken line.
    #[error("event #{0} is not a message, so no step can wait for it")]
    Broken(usize),
    /// The beginning is missing.
    #[error("the trace does not begin with initialize and its answer, and a case does")]
    NoInitialize,
}

/// A message or an act, in the order of the trace.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RecordedTurn {
    /// The position of the event.
    pub(super) n: usize,
    /// The party that did it; the tester's party for acts outside the conversation.
    pub(super) from: Party,
    /// Whether the tester violated the protocol with it on purpose.
    pub(super) deliberate: bool,
    /// The message or act.
    pub(super) said: Said,
}

impl RecordedTurn {
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
#[derive(Debug, Clone, PartialEq)]
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
    /// An answer of the subject to no known request.
    Stray,
}

/// The exchange of a trace.
#[derive(Debug)]
pub(super) struct RecordedExchange {
    pub(super) subject: Party,
    pub(super) turns: Vec<RecordedTurn>,
}

impl RecordedExchange {
    /// Reads the exchange of a trace.
    pub(super) fn read(trace: &Trace, subject: Option<Party>) -> Result<Self, RecordError> {
        let subject = subject.or(trace.header.subject).ok_or(RecordError::NoSubject)?;
        if trace.header.lacks.contains(&Lack::Order) {
            return Err(RecordError::NoOrder);
        }
        let connections = trace.events.iter().map(|event| event.connection + 1).max().unwrap_or_default();
        if connections > 1 {
            return Err(RecordError::Connections(connections));
        }
        let mut reader =
            TurnReader { subject, turns: Vec::new(), open: HashMap::new(), fences: Vec::new(), is_fence_next: false };
        for event in &trace.events {
            reader.read(event)?;
        }
        let exchange = Self { subject, turns: reader.turns };
        let begins = matches!(exchange.turns.first(), Some(RecordedTurn { from: Party::Client, said: Said::Request { method, .. }, .. }) if method == "initialize");
        let agreed = exchange.answer_of(0).is_some_and(|(_, outcome)| outcome.is_ok());
        if begins && agreed { Ok(exchange) } else { Err(RecordError::NoInitialize) }
    }

    /// Returns the answer to the request at this place, and the place of the answer.
    pub(super) fn answer_of(&self, request: usize) -> Option<(usize, &Result<Value, Value>)> {
        self.turns.iter().enumerate().skip(request).find_map(|(at, turn)| match &turn.said {
            Said::Answer { to, outcome } if *to == request => Some((at, outcome)),
            _ => None,
        })
    }

    /// Whether a prompt is open at this place.
    pub(super) fn is_in_turn(&self, at: usize) -> bool {
        let prompts =
            (0..at).filter(|&earlier| self.request(earlier).is_some_and(|(method, _)| method == "session/prompt"));
        prompts.into_iter().any(|prompt| self.answer_of(prompt).is_none_or(|(answer, _)| answer > at))
    }

    /// Returns the request at this place.
    pub(super) fn request(&self, at: usize) -> Option<(&str, Option<&Value>)> {
        match &self.turns.get(at)?.said {
            Said::Request { method, params, .. } => Some((method, params.as_ref())),
            _ => None,
        }
    }

    /// Returns the requests of a party with their answers: place, method, params and outcome.
    pub(super) fn answered(&self, by: Party) -> impl Iterator<Item = AnsweredRequest<'_>> {
        self.turns.iter().enumerate().filter_map(move |(at, turn)| match &turn.said {
            Said::Answer { to, outcome } if turn.from == by => {
                let (method, params) = self.request(*to)?;
                Some(AnsweredRequest { at, request: *to, method, params, outcome })
            }
            _ => None,
        })
    }

    /// Returns the result of the first `session/new` without the id.
    pub(super) fn first_session(&self) -> Map<String, Value> {
        let new = self.answered(Party::Agent).find(|answered| answered.method == "session/new");
        new.and_then(|new| new.outcome.as_ref().ok()).map(members_but_id).unwrap_or_default()
    }
}

/// Returns the members of a result of `session/new` without the id.
pub(super) fn members_but_id(result: &Value) -> Map<String, Value> {
    let mut members = result.as_object().cloned().unwrap_or_default();
    members.shift_remove("sessionId");
    members
}

/// A request with its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnsweredRequest<'e> {
    /// The place of the answer.
    pub(super) at: usize,
    /// The place of the request.
    pub(super) request: usize,
    pub(super) method: &'e str,
    pub(super) params: Option<&'e Value>,
    pub(super) outcome: &'e Result<Value, Value>,
}

impl<'e> AnsweredRequest<'e> {
    /// Returns a text among the params.
    pub(super) fn text(&self, name: &str) -> Option<&'e str> {
        self.params?.get(name)?.as_str()
    }

    /// Returns a number among the params.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.params?.get(name)?.as_u64()
    }
}

struct TurnReader {
    subject: Party,
    turns: Vec<RecordedTurn>,
    /// The open requests, by sender and id.
    open: HashMap<(Party, RpcId), usize>,
    fences: Vec<RpcId>,
    /// The tester's next request is a fence.
    is_fence_next: bool,
}

impl TurnReader {
    fn read(&mut self, event: &Event) -> Result<(), RecordError> {
        let tester = self.subject.other();
        match &event.what {
            What::Line { from, bytes, deliberate, .. } => {
                if let Some(said) = self.line(event.n, *from, bytes)? {
                    self.turns.push(RecordedTurn { n: event.n, from: *from, deliberate: *deliberate, said });
                }
                Ok(())
            }
            What::Fence(_) => {
                self.is_fence_next = true;
                Ok(())
            }
            What::Unattributed(_) => Err(RecordError::NoSender(event.n)),
            What::Step(step) if step.kind == StepKind::Act && step.outcome == Outcome::Done => {
                let said = Said::Act(step.text.clone());
                self.turns.push(RecordedTurn { n: event.n, from: tester, deliberate: false, said });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn line(&mut self, n: usize, from: Party, bytes: &[u8]) -> Result<Option<Said>, RecordError> {
        let broken =
            || if from == self.subject { Err(RecordError::Broken(n)) } else { Ok(Some(Said::Raw(bytes.to_vec()))) };
        let Content::One { value, doubled, cut, .. } = read_line(bytes) else { return broken() };
        if cut || !doubled.is_empty() {
            return broken();
        }
        let here = self.turns.len();
        Ok(Some(match Envelope::of(&value) {
            Envelope::Call(call)
                if call.method == FENCE || from != self.subject && std::mem::take(&mut self.is_fence_next) =>
            {
                self.fences.extend(call.id.map(RpcId::new));
                // Consecutive requests form one fence.
                if self.turns.last().is_some_and(|turn| turn.said == Said::Fence) {
                    return Ok(None);
                }
                Said::Fence
            }
            Envelope::Call(call) => {
                let (method, params) = (call.method.to_owned(), call.params.cloned());
                match call.id {
                    Some(id) => {
                        self.open.insert((from, RpcId::new(id)), here);
                        Said::Request { id: id.clone(), method, params }
                    }
                    None => Said::Notification { method, params },
                }
            }
            Envelope::Response { id, result, error } => {
                let id = id.map(RpcId::new);
                if from == self.subject && id.as_ref().is_some_and(|id| self.fences.contains(id)) {
                    return Ok(None);
                }
                let asked = id.and_then(|id| self.open.remove(&(from.other(), id)));
                match (asked, result, error) {
                    (Some(to), Some(result), None) => Said::Answer { to, outcome: Ok(result.clone()) },
                    (Some(to), None, Some(error)) => Said::Answer { to, outcome: Err(error.clone()) },
                    _ if from == self.subject => Said::Stray,
                    _ => Said::Raw(bytes.to_vec()),
                }
            }
            Envelope::Unclear => return broken(),
        }))
    }
}
