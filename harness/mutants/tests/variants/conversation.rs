//! A recorded trace whose lines can be changed, removed, moved and inserted.

use std::collections::BTreeMap;

use acp_conformance::protocol::{Edition, Kind, Method};
use acp_conformance::requirement::Party;
use acp_conformance::trace::{Event, Header, ProcessEvent, Trace, What};
use acp_conformance::wire::{Content, Envelope, LineEnd, RpcId, read_line};
use serde_json::Value;

/// A trace while it becomes a variant.
#[derive(Clone)]
pub struct Conversation {
    /// The party under test.
    pub subject: Party,
    /// The events in their order.
    pub entries: Vec<Entry>,
    header: Header,
}

/// One event of a [`Conversation`].
#[derive(Clone)]
pub struct Entry {
    /// The event; its number is that in the recorded trace, its bytes are outdated when `value` was changed.
    pub event: Event,
    /// The numbers of the recorded events that it represents; empty if it was added.
    pub stands_for: Vec<usize>,
    /// The message, if the line is one JSON object.
    pub message: Option<Message>,
    /// The message as it was recorded, if it was.
    recorded: Option<Value>,
    /// The line, if it must be spelled differently from usual.
    pub spelled: Option<(Vec<u8>, LineEnd)>,
}

/// A message, with facts from the conversation before it.
#[derive(Clone)]
pub struct Message {
    /// The edition of its conversation.
    pub edition: &'static Edition,
    /// Its sender.
    pub from: Party,
    /// Whether the tester violated the protocol with it on purpose.
    pub deliberate: bool,
    /// The message itself.
    pub value: Value,
    /// The method: its own, or that of the request that it answers.
    pub method: Option<String>,
    /// Whether it answers a request.
    pub is_response: bool,
}

impl Message {
    /// Returns the schema's entry for the method.
    pub fn definition(&self) -> Option<&'static Method> {
        let caller = if self.is_response { self.from.other() } else { self.from };
        let kind = if self.is_response || self.value.get("id").is_some() { Kind::Request } else { Kind::Notification };
        self.edition.methods.find(caller, kind, self.method.as_deref()?)
    }

    /// The payload that the schema describes: its member, and the name of its definition.
    pub fn payload(&self) -> Option<(&'static str, &'static str)> {
        let method = self.definition()?;
        if !self.is_response {
            return Some(("params", &method.params));
        }
        self.value.get("result").and(method.result.as_deref()).map(|result| ("result", result))
    }

    /// Whether this is a call of that method.
    pub fn calls(&self, method: &str) -> bool {
        !self.is_response && self.method.as_deref() == Some(method)
    }

    /// Whether this answers a request of that method.
    pub fn answers(&self, method: &str) -> bool {
        self.is_response && self.method.as_deref() == Some(method)
    }
}

/// Determines which request each response answers.
pub struct Pending {
    edition: &'static Edition,
    /// The method of each open request, by connection, caller and id.
    open: BTreeMap<(usize, Party, RpcId), String>,
}

impl Pending {
    /// Begins a conversation of that edition.
    pub const fn new(edition: &'static Edition) -> Self {
        Self { edition, open: BTreeMap::new() }
    }

    /// Reads the next message of a connection; `None` if it is neither a call nor a response.
    pub fn read(&mut self, connection: usize, from: Party, deliberate: bool, value: Value) -> Option<Message> {
        let (method, is_response) = match Envelope::of(&value) {
            Envelope::Call(call) => {
                if let Some(id) = call.id {
                    self.open.insert((connection, from, RpcId::new(id)), call.method.to_owned());
                }
                (Some(call.method.to_owned()), false)
            }
            Envelope::Response { id, .. } => {
                (id.and_then(|id| self.open.remove(&(connection, from.other(), RpcId::new(id)))), true)
            }
            Envelope::Unclear => return None,
        };
        Some(Message { edition: self.edition, from, deliberate, value, method, is_response })
    }
}

impl Entry {
    /// Creates an event that the subject or the tester adds, at the time of another one.
    pub fn added(like: &Event, what: What) -> Self {
        Self {
            event: Event { what, ..like.clone() },
            stands_for: Vec::new(),
            message: None,
            recorded: None,
            spelled: None,
        }
    }

    /// Creates an added message, at the time of another event.
    pub fn said(like: &Event, edition: &'static Edition, from: Party, value: Value) -> Self {
        let what = What::Line { from, bytes: Vec::new(), end: LineEnd::Lf, deliberate: false };
        let message = Pending::new(edition).read(0, from, false, value);
        Self { message, ..Self::added(like, what) }
    }

    /// Whether this is a correct message of that party.
    pub fn message_of(&self, party: Party) -> Option<&Message> {
        self.message.as_ref().filter(|message| message.from == party && !message.deliberate)
    }

    /// Whether the tester ends the conversation here.
    pub const fn ends(&self) -> bool {
        matches!(self.event.what, What::Process(ProcessEvent::StdinClosed | ProcessEvent::StdoutEnded))
    }

    /// Returns the line as on the wire.
    pub fn line(&self) -> Option<Vec<u8>> {
        match (&self.spelled, &self.message, &self.event.what) {
            (Some((bytes, _)), _, _) => Some(bytes.clone()),
            (None, Some(message), _) if self.recorded.as_ref() != Some(&message.value) => {
                Some(message.value.to_string().into_bytes())
            }
            (None, _, What::Line { bytes, .. }) => Some(bytes.clone()),
            _ => None,
        }
    }
}

impl Conversation {
    /// Splits a trace of that edition into entries.
    pub fn of(trace: &Trace, edition: &'static Edition) -> Self {
        let mut pending = Pending::new(edition);
        let entries = trace.events.iter().map(|event| {
            let message = match &event.what {
                What::Line { from, bytes, deliberate, .. } => match read_line(bytes) {
                    // A duplicate key would be lost.
                    Content::One { value, doubled, .. } if value.is_object() && doubled.is_empty() => {
                        pending.read(event.connection, *from, *deliberate, value)
                    }
                    _ => None,
                },
                _ => None,
            };
            let recorded = message.as_ref().map(|message| message.value.clone());
            Entry { event: event.clone(), stands_for: vec![event.n], message, recorded, spelled: None }
        });
        Self {
            subject: trace.header.subject.unwrap_or(Party::Agent),
            entries: entries.collect(),
            header: trace.header.clone(),
        }
    }

    /// Joins the trace again: numbers the events, and updates the numbers in the steps.
    pub fn into_trace(self) -> Trace {
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            places.extend(entry.stands_for.iter().map(|&old| (old, at)));
        }
        let mut now = 0;
        let events = self.entries.into_iter().enumerate().map(|(n, entry)| {
            now = now.max(entry.event.us);
            let line = entry.line();
            let Entry { mut event, spelled, message, .. } = entry;
            match &mut event.what {
                What::Line { bytes, end, .. } if message.is_some() || spelled.is_some() => {
                    *bytes = line.unwrap_or_default();
                    *end = spelled.map_or(*end, |(_, end)| end);
                }
                What::Step(step) => {
                    step.events.iter_mut().for_each(|event| *event = places.get(event).copied().unwrap_or(*event));
                }
                _ => {}
            }
            Event { n, us: now, ..event }
        });
        Trace { events: events.collect(), header: self.header }
    }
}
