//! The requests to close a session.

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{Answer, CallSeen, Conversation, Memory, Turn, UpdateSeen};
use crate::requirement::Party;

/// The requests to close one session.
#[derive(Debug, Clone, Default)]
pub struct Closing {
    /// The event of the last request.
    asked: Option<usize>,
    /// The event of the request with the last successful answer.
    done: usize,
    /// The turn that ran at that answer: its event, the time of the answer, and whether content of the turn came after
    /// it.
    during: Option<(usize, u64, bool)>,
}

/// The closings of each session.
#[derive(Debug, Clone, Default)]
pub struct State(BySession<Closing>);

impl State {
    /// Returns the event of the last request to close a session.
    pub(super) fn asked(&self, session: &str) -> Option<usize> {
        self.0.get(session)?.asked
    }

    /// Whether the request that closed a session came after the event `n`.
    pub(super) fn was_asked_after(&self, session: Option<&str>, n: usize) -> bool {
        session.and_then(|id| self.0.get(id)).is_some_and(|closing| closing.done > n)
    }

    /// Returns the time at which the agent closed the session of this turn, and whether content of the turn came after
    /// that.
    pub(super) fn during(&self, session: &str, turn: &Turn) -> Option<(u64, bool)> {
        self.0.get(session)?.during.filter(|(n, ..)| *n == turn.n).map(|(_, us, output)| (us, output))
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        let is_close = event.from == Party::Client && call.id.is_some() && call.method == "session/close";
        let session = call.text("sessionId").filter(|id| is_close && event.conversation.session(id).is_some());
        if let Some(session) = session {
            self.0.entry(session).asked = Some(event.n);
        }
    }

    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        let Some(turn) = update.known.and_then(|session| session.turn.as_ref()) else { return };
        let closing = self.0.get_mut(Some(update.session)).and_then(|closing| closing.during.as_mut());
        let Some((_, _, output)) = closing.filter(|(n, ..)| *n == turn.n) else { return };
        let is_content = event.conversation.edition.adapter.is_turn_content(update.variant);
        // A plan with an id is output as well, but may change at any time.
        *output |= is_content && update.variant != "user_message_chunk" || update.variant == "plan_update";
    }

    pub(in crate::areas) fn response(&mut self, event: &Event<'_>, answer: &Answer<'_>) {
        let Some((exchange, _)) = answer.result_of("session/close").filter(|_| event.from == Party::Agent) else {
            return;
        };
        let Some(id) = exchange.session() else { return };
        let Some(session) = event.conversation.session(id) else { return };
        let closing = self.0.entry(id);
        closing.done = exchange.n;
        if let Some(turn) = &session.turn {
            let output = closing.during.is_some_and(|(n, _, output)| n == turn.n && output);
            closing.during = Some((turn.n, event.us, output));
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.0.forget(conversation, memory);
    }
}
