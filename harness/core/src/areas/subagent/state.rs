//! The reports on each child session, and the messages between sessions.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::areas::Event;
use crate::conversation::{CallSeen, Conversation, SUBAGENT, UpdateSeen};
use crate::requirement::Party;
use crate::wire::Members;

/// The most children, early ids and messages that are remembered.
const MOST: usize = 1 << 12;

/// The reports on the sessions of subagents.
#[derive(Debug, Clone, Default)]
pub struct State {
    children: BTreeMap<String, Child>,
    /// The ids that a message of the agent named before the client knew them, each with the event.
    pub early: BTreeMap<String, usize>,
    /// The messages between sessions, by the session of their view and their id.
    pub messages: BTreeMap<(String, String), Message>,
}

/// The last reports on a child.
#[derive(Debug, Clone, Default)]
pub struct Child {
    /// The event of the last `subagent_update` about it.
    pub reported: usize,
    /// Its last state, as its parent reports it; `None` if it is not confirmed.
    pub mirror: Option<Work>,
    /// The last state that an update of its own reported, in version 2, and whether its parent reported the same.
    pub own: Option<(Work, bool)>,
    /// Its last capabilities; null if the client may change nothing.
    pub capabilities: Value,
    /// The event and time at which the agent withdrew the capability to cancel its work.
    pub revoked: Option<(usize, u64)>,
    /// The cancel of its work, until it is over.
    pub cancelled: Option<(usize, u64)>,
    /// The event of the last such cancel.
    pub last_cancel: Option<usize>,
    /// The cancel of a session above it while it worked, until that is over.
    pub parent_cancelled: Option<usize>,
}

/// A state of a child.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// The event of the report.
    pub n: usize,
    /// The state.
    pub state: String,
    /// The reason why it is idle.
    pub reason: Option<String>,
    /// The number of pieces of work in its background; `None` if the agent does not report any.
    pub background: Option<usize>,
}

/// A message between sessions in the view of one of them.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// Whether a `session_message` named a session that takes part in it.
    pub is_named: bool,
    /// Whether it named the message in the view of the other session.
    pub is_linked: bool,
}

impl Work {
    /// Reads the state of an update, or of the member `state` of one.
    pub fn of(n: usize, state: &Value) -> Option<Self> {
        let text = |name: &str| state.text(name).map(str::to_owned);
        let background = state.member("background").and_then(Value::as_array).map(Vec::len);
        Some(Self { n, state: text("state")?, reason: text("stopReason"), background })
    }

    /// Whether both report the same.
    pub fn is_like(&self, other: &Self) -> bool {
        self.state == other.state && self.reason == other.reason
    }

    /// Whether work of the foreground is in progress.
    pub fn is_active(&self) -> bool {
        matches!(self.state.as_str(), "running" | "requires_action")
    }

    /// Whether the work of the foreground is over, or the agent does not know more of it.
    pub fn is_over(&self) -> bool {
        matches!(self.state.as_str(), "idle" | "unknown")
    }
}

impl Child {
    /// Whether the client may cancel its work.
    pub fn is_cancellable(&self) -> bool {
        self.capabilities.member("cancel").is_some_and(Value::is_object)
    }

    /// Returns the last report on its state, from its parent or of its own.
    pub fn work(&self) -> Option<&Work> {
        let own = self.own.as_ref().map(|(own, _)| own);
        own.into_iter().chain(&self.mirror).max_by_key(|work| work.n)
    }

    fn begins(&self) -> bool {
        self.work().is_some_and(Work::is_active)
    }

    fn learn_work(&mut self, work: &Work) {
        if work.is_over() {
            (self.cancelled, self.parent_cancelled) = (None, None);
        }
    }

    fn learn_report(&mut self, (n, us): (usize, u64), body: &Value) {
        self.reported = n;
        if let Some(capabilities) = body.member("capabilities") {
            let was_cancellable = self.is_cancellable();
            self.capabilities = capabilities.clone();
            self.revoked = Some((n, us)).filter(|_| was_cancellable && !self.is_cancellable());
        }
        if let Some(state) = body.member("state") {
            self.mirror = Work::of(n, state);
            if let (Some(mirror), Some((own, is_mirrored))) = (&self.mirror, &mut self.own) {
                *is_mirrored |= own.is_like(mirror);
            }
            if let Some(mirror) = self.mirror.clone() {
                self.learn_work(&mirror);
            }
        }
    }
}

impl State {
    /// Returns the reports on a child, if the agent announced it.
    pub fn child(&self, id: &str) -> Option<&Child> {
        self.children.get(id)
    }

    /// Returns the children, by id.
    pub fn children(&self) -> impl Iterator<Item = (&str, &Child)> {
        self.children.iter().map(|(id, child)| (id.as_str(), child))
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        let Some(session) = call.text("sessionId") else { return };
        if event.from == Party::Agent && call.method != "session/update" {
            self.note_early(event, session);
        }
        if event.from != Party::Client || call.method != "session/cancel" {
            return;
        }
        for (id, child) in self.children.iter_mut().filter(|(_, child)| child.begins()) {
            if id == session && child.is_cancellable() {
                child.cancelled = child.cancelled.or(Some((event.n, event.us)));
                child.last_cancel = Some(event.n);
            } else if event.conversation.is_below(id, session) {
                child.parent_cancelled = child.parent_cancelled.or(Some(event.n));
            }
        }
    }

    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        self.note_early(event, update.session);
        match update.variant {
            SUBAGENT => {
                let id = update.body.text("sessionId");
                let Some(id) = id.filter(|id| *id != update.session && self.has_room(id)) else { return };
                self.early.remove(id);
                let child = self.children.entry(id.to_owned()).or_default();
                child.learn_report((event.n, event.us), update.body);
            }
            "state_update" => {
                let work = Work::of(event.n, update.body);
                if let (Some(child), Some(work)) = (self.children.get_mut(update.session), work) {
                    let repeats = child.own.as_ref().filter(|(own, _)| own.is_like(&work));
                    let is_mirrored = child.mirror.as_ref().is_some_and(|mirror| mirror.is_like(&work));
                    let is_mirrored = is_mirrored || repeats.is_some_and(|(_, is_mirrored)| *is_mirrored);
                    child.learn_work(&work);
                    child.own = Some((work, is_mirrored));
                }
            }
            "session_message" | "session_message_chunk" => {
                for session in participants(update) {
                    self.note_early(event, session);
                }
                let Some(id) = update.body.text("messageId") else { return };
                if self.messages.len() < MOST {
                    let names = |name: &str| update.body.member(name).is_some_and(Value::is_string);
                    let message = self.messages.entry((update.session.to_owned(), id.to_owned())).or_default();
                    message.is_named |= names("senderSessionId") || names("recipientSessionId");
                    message.is_linked |= names("senderMessageId") || names("recipientMessageId");
                }
            }
            _ => {}
        }
    }

    fn has_room(&self, id: &str) -> bool {
        self.children.len() < MOST || self.children.contains_key(id)
    }

    fn note_early(&mut self, event: &Event<'_>, session: &str) {
        let is_known = event.conversation.knows_session(session) || event.conversation.may_know_session(session);
        if !is_known && self.early.len() < MOST {
            self.early.entry(session.to_owned()).or_insert(event.n);
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation) {
        self.children.retain(|id, _| conversation.children.contains_key(id));
        if self.messages.len() == MOST {
            self.messages.clear();
        }
        if self.early.len() == MOST {
            self.early.clear();
        }
    }
}

/// Returns the sessions that a message between sessions names as its sender and its recipient.
pub(super) fn participants<'m>(update: &UpdateSeen<'m>) -> impl Iterator<Item = &'m str> {
    let body = update.body;
    let is_message = update.variant == "session_message";
    let names = ["senderSessionId", "recipientSessionId"].into_iter().filter(move |_| is_message);
    names.filter_map(move |name| body.member(name)?.as_str())
}
