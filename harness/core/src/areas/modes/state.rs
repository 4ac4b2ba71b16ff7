//! The settings that the client changes: unlisted values that the agent took, and modes that it may still report.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::areas::reported::settings_in;
use crate::conversation::{Answer, CallSeen, Conversation, Memory, Outcome, Session, UpdateSeen, option_values};
use crate::requirement::Party;
use crate::wire::Members;

/// What the client set.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The open requests that set a mode or a value of an option which the agent does not list.
    unlisted: BTreeSet<usize>,
    /// Whether the agent accepted such a request.
    took_unlisted: bool,
    /// How often the client set each mode without an update that names it since then.
    unreported: BySession<BTreeMap<String, usize>>,
    /// What the agent reported of the modes of each session.
    reports: BySession<ModeReports>,
}

/// What the agent reported of the modes of a session.
#[derive(Debug, Clone, Default)]
struct ModeReports {
    /// Whether an update named the mode.
    by_update: bool,
    /// The mode with which the session began.
    first: Option<String>,
    /// The mode state before the last one, with the event that replaced it.
    earlier: Option<(Value, usize)>,
}

/// The most open requests and modes that are remembered.
const MOST: usize = 256;

impl State {
    /// Whether an update with this mode may be about an earlier request of the client: the agent may report each
    /// change, and nothing says when.
    pub(super) fn may_report(&self, session: &str, mode: &str) -> bool {
        self.unreported.get(session).and_then(|modes| modes.get(mode)).is_some_and(|count| *count > 0)
    }

    /// Whether a mode or value that the agent reports and does not list may come from the client. An agent that accepts
    /// an unlisted one may keep it in a form of its own, and for later sessions. A recording may lack the client's
    /// request, and shows nothing of what was set before it in a session that is opened again.
    pub(in crate::areas) fn may_be_set_unlisted(&self, conversation: &Conversation) -> bool {
        let is_reopened = |method: &&str| conversation.has_sent(Party::Client, method);
        let is_cut_off = !conversation.whole && ["session/load", "session/resume"].iter().any(is_reopened);
        conversation.holes.anywhere || is_cut_off || self.took_unlisted || !self.unlisted.is_empty()
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        let Some(value) = set_value(call.method, |name| call.text(name)).filter(|_| event.from == Party::Client) else {
            return;
        };
        let session = call.text("sessionId");
        let known = session.and_then(|id| event.conversation.session(id));
        if self.unlisted.len() < MOST && !known.is_some_and(|session| lists(session, value)) {
            self.unlisted.insert(event.n);
        }
        if let Some(session) = session {
            let modes = self.unreported.entry(session);
            if modes.len() < MOST || modes.contains_key(value) {
                *modes.entry(value.to_owned()).or_default() += 1;
            }
        }
    }

    pub(in crate::areas) fn response(&mut self, event: &Event<'_>, answer: &Answer<'_>) {
        self.learn_report(event, settings_in(event, answer));
        let Some(exchange) = answer.exchange else { return };
        let is_accepted = matches!(answer.outcome, Outcome::Result(_));
        self.took_unlisted |= self.unlisted.remove(&exchange.n) && is_accepted;
        let value = set_value(&exchange.method, |name| exchange.text(name)).filter(|_| !is_accepted);
        if let Some((session, mode)) = exchange.session().zip(value) {
            self.reported(session, mode);
        }
    }

    /// Whether an update named the mode of a session.
    pub(super) fn is_in_update(&self, session: Option<&str>) -> bool {
        session.and_then(|id| self.reports.get(id)).is_some_and(|reports| reports.by_update)
    }

    /// Returns the mode with which a session began.
    pub(super) fn first(&self, session: &str) -> Option<&str> {
        self.reports.get(session)?.first.as_deref()
    }

    /// Returns the mode state of a session before the last one, with the event that replaced it.
    pub(super) fn earlier(&self, session: Option<&str>) -> Option<&(Value, usize)> {
        self.reports.get(session?)?.earlier.as_ref()
    }

    /// Reads a report that may contain the modes of a session.
    fn learn_report(&mut self, event: &Event<'_>, report: Option<(&str, &Session, &Value)>) {
        let modes = report.and_then(|(id, session, it)| Some((id, session, it.member("modes")?.as_object()?)));
        if let Some((id, session, modes)) = modes {
            let reports = self.reports.entry(id);
            let current = modes.get("currentModeId").and_then(Value::as_str).map(str::to_owned);
            reports.first = reports.first.take().or(current);
            reports.earlier = session.modes.clone().map(|before| (before, event.n));
        }
    }

    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        match (update.variant, update.known) {
            ("current_mode_update", Some(_)) => self.reports.entry(update.session).by_update = true,
            ("config_option_update", Some(session)) => {
                self.learn_report(event, Some((update.session, session, update.body)));
            }
            _ => {}
        }
        if let Some(mode) = update.body.text("currentModeId") {
            self.reported(update.session, mode);
        }
    }

    fn reported(&mut self, session: &str, mode: &str) {
        if let Some(count) = self.unreported.get_mut(Some(session)).and_then(|modes| modes.get_mut(mode)) {
            *count = count.saturating_sub(1);
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.unreported.forget(conversation, memory);
        self.reports.forget(conversation, memory);
    }
}

/// Returns the mode or value that a request sets.
fn set_value<'m>(method: &str, member: impl Fn(&str) -> Option<&'m str>) -> Option<&'m str> {
    match method {
        "session/set_mode" => member("modeId"),
        "session/set_config_option" => member("value"),
        _ => None,
    }
}

fn lists(session: &Session, value: &str) -> bool {
    let options = session.options.iter().flatten();
    session.lists_mode(value) || options.flat_map(option_values).any(|offered| offered == value)
}
