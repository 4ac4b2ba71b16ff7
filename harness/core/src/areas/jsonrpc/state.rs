//! Lines that are not messages, ids that both parties use at the same time, and notifications before a fence.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::late::{Late, is_instant};
use crate::areas::Event;
use crate::conversation::timing::between;
use crate::conversation::{Answer, CallSeen, Conversation, LineSeen};
use crate::requirement::Party;
use crate::wire::{Content, Envelope, LineEnd, Members, RpcId};

/// The history that only requirements of JSON-RPC need.
#[derive(Debug, Default)]
pub struct State {
    /// By sender: the latest lines that are not messages, oldest first.
    garbled: BTreeMap<Party, VecDeque<Garbled>>,
    /// Requests whose id an open request of the other party also had: the events of both.
    pub(super) twins: BTreeMap<usize, usize>,
    /// By sender: the event of the last notification, and of the last one before the last answered fence at that time.
    notifications: BTreeMap<Party, (usize, Option<usize>)>,
    /// By method, the longest time in which the agent opened a session.
    slowest_opening: BTreeMap<String, Duration>,
    /// By sender: an answer that came when a turn ended, until a later one shows how fast the sender is.
    pub(super) late: BTreeMap<Party, Late>,
    /// The last request of the client that was sent while the agent worked on a prompt.
    pub(super) during_work: Option<usize>,
}

/// The most lines of one party that are remembered.
const MOST_LINES: usize = 256;

/// The most twins that are remembered.
const MOST_TWINS: usize = 1 << 12;

impl State {
    /// Returns the latest lines of a party that are not messages.
    pub(super) fn garbled_by(&self, sender: Party) -> impl DoubleEndedIterator<Item = &Garbled> {
        self.garbled.get(&sender).into_iter().flatten()
    }

    /// Returns the last notification of a party before the last answered fence.
    pub(super) fn fenced_notification(&self, conversation: &Conversation, sender: Party) -> Option<usize> {
        let (last, fenced) = *self.notifications.get(&sender)?;
        if conversation.fence? > last { Some(last) } else { fenced }
    }

    /// Returns the longest time in which the agent opened a session with this method.
    pub(super) fn slowest_opening(&self, method: &str) -> Option<Duration> {
        self.slowest_opening.get(method).copied()
    }

    /// Returns the unanswered lines of the other party that this answer of `from` may belong to. If one of them has the
    /// answer's id, it is the only one.
    pub(super) fn meant_by(&self, from: Party, answer: &Answer<'_>) -> Vec<&Garbled> {
        let lines = self.garbled_by(from.other());
        let meant: Vec<&Garbled> = lines.filter(|line| line.is_unanswered() && line.is_meant(answer)).collect();
        let id = answer.id.filter(|id| **id != RpcId::Null);
        match meant.iter().find(|line| id.is_some() && line.id.as_ref() == id) {
            Some(named) => vec![*named],
            None => meant,
        }
    }

    pub(in crate::areas) fn line(&mut self, event: &Event<'_>, line: &LineSeen<'_>) {
        if let Some(garbled) = Garbled::of(event.n, line.content).filter(|_| line.end == LineEnd::Lf) {
            self.note_garbled(event.from, garbled);
        }
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        match call.id {
            Some(id) => {
                if event.from == Party::Client && is_at_work(event.conversation) {
                    self.during_work = Some(event.n);
                }
                if let Some(twin) = event.conversation.open.get(&(event.from.other(), RpcId::new(id))) {
                    self.twins.insert(event.n, twin.n);
                }
            }
            None => {
                // An error response without an id may answer a notification that the tester broke on purpose.
                if event.conversation.deliberate.contains(&event.n) {
                    let line = Garbled { n: event.n, kind: GarbledKind::Other, id: None, answer: None };
                    self.note_garbled(event.from, line);
                }
                let fenced = self.fenced_notification(event.conversation, event.from);
                self.notifications.insert(event.from, (event.n, fenced));
            }
        }
    }

    fn note_garbled(&mut self, from: Party, garbled: Garbled) {
        let lines = self.garbled.entry(from).or_default();
        if lines.len() == MOST_LINES {
            lines.pop_front();
        }
        lines.push_back(garbled);
    }

    /// Reads an answer to no request. Of several lines, it answers the first with its code; with another code it counts
    /// only if there is one line.
    pub(in crate::areas) fn response(&mut self, event: &Event<'_>, answer: &Answer<'_>) {
        if let Some(exchange) = answer.exchange {
            if is_instant(&exchange.method) {
                match self.late.get(&event.from) {
                    Some(late) if exchange.n > late.turn_ended => drop(self.late.remove(&event.from)),
                    Some(_) => {}
                    None => {
                        let late = Late::of(event.conversation, event.from, (event.n, event.us), answer);
                        self.late.extend(late.map(|late| (event.from, late)));
                    }
                }
            }
            if exchange.opens_a_session() && answer.outcome.error_code().is_none() {
                let slowest = self.slowest_opening.entry(exchange.method.clone()).or_default();
                *slowest = (*slowest).max(between(exchange.us, event.us));
            }
            return;
        }
        let meant = self.meant_by(event.from, answer);
        let code = answer.outcome.error_code();
        let alike = meant.iter().all(|line| Some(line.kind) == meant.first().map(|first| first.kind));
        let found = meant.iter().find(|line| line.code() == code || alike).map(|line| line.n);
        let lines = self.garbled.get_mut(&event.from.other()).into_iter().flatten();
        if let Some(line) = lines.into_iter().find(|line| Some(line.n) == found && line.answer.is_none()) {
            line.answer = Some(event.n);
        }
    }

    pub(in crate::areas) fn forget(&mut self) {
        while self.twins.len() > MOST_TWINS {
            self.twins.pop_first();
        }
    }
}

/// Whether the agent works on a prompt, in any session.
fn is_at_work(conversation: &Conversation) -> bool {
    conversation.open_of(Party::Client).any(|open| open.method == "session/prompt")
        || conversation.sessions.values().any(|session| session.work.is_active())
}

/// A line that is not a message.
#[derive(Debug, Clone)]
pub struct Garbled {
    /// The position of its event in the trace.
    pub n: usize,
    /// The reason why it is not a message.
    pub kind: GarbledKind,
    /// The readable id in it.
    pub id: Option<RpcId>,
    /// The event of the answer.
    pub answer: Option<usize>,
}

/// The reason why a line is not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GarbledKind {
    /// It is not JSON.
    NotJson,
    /// It is JSON, and neither a message nor a list.
    NotMessage,
    /// No requirement determines the code of its answer: a list, bytes that are not UTF-8, or a notification that the
    /// tester broke on purpose.
    Other,
}

impl Garbled {
    fn of(n: usize, content: &Content) -> Option<Self> {
        let (kind, id) = match content {
            Content::NotJson { .. } => (GarbledKind::NotJson, None),
            Content::One { value, .. } if value.is_array() => (GarbledKind::Other, None),
            Content::One { value, .. } if matches!(Envelope::of(value), Envelope::Unclear) => {
                (GarbledKind::NotMessage, value.member("id").map(RpcId::new))
            }
            // A reader that refuses the line answers it like a line that it cannot read.
            Content::One { refused: true, .. } | Content::Several { .. } | Content::NotUtf8(_) => {
                (GarbledKind::Other, None)
            }
            Content::One { .. } | Content::Blank => return None,
        };
        Some(Self { n, kind, id, answer: None })
    }

    /// Whether an answer may belong to this line: it answers no request, and has the line's id, no id or null, or a
    /// code for unreadable lines.
    pub fn is_meant(&self, answer: &Answer<'_>) -> bool {
        let id = answer.id.filter(|id| **id != RpcId::Null);
        let is_parse_error = matches!(answer.outcome.error_code(), Some(-32700 | -32600));
        answer.exchange.is_none() && (is_parse_error || id.is_none_or(|id| self.id.as_ref() == Some(id)))
    }

    fn is_unanswered(&self) -> bool {
        // A list may get one answer for each of its entries.
        self.answer.is_none() || self.kind == GarbledKind::Other
    }

    /// Returns the code that JSON-RPC defines for such a line.
    pub const fn code(&self) -> Option<i64> {
        match self.kind {
            GarbledKind::NotJson => Some(-32700),
            GarbledKind::NotMessage => Some(-32600),
            GarbledKind::Other => None,
        }
    }
}
