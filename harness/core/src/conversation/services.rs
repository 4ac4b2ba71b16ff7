//! The agent's requests to the client, and the client's answers.

use std::rc::Rc;

use serde_json::Value;

use super::session::{Refusal, Turn};
use super::{Conversation, Exchange, Terminal};
use crate::conversation::outcome::Outcome;
use crate::requirement::Party;
use crate::wire::{Envelope, Members, read_line};

/// The most entries that are remembered of a single turn.
const MOST_NOTED: usize = 64;

impl Conversation {
    /// Records a request of the agent to the client.
    pub(super) fn note_service_call(&mut self, exchange: &Exchange) {
        if let Some(id) = exchange.text("terminalId")
            && let Some(terminal) = self.terminals.get_mut(id).filter(|_| exchange.method == "terminal/release")
        {
            terminal.released = terminal.released.or(Some(exchange.n));
            self.unreleased.remove(id);
        }
    }

    /// Records the client's answer to a request of the agent.
    pub(super) fn note_service_answer(&mut self, now: (usize, u64), exchange: &Exchange, outcome: Outcome<'_>) {
        if let Some(terminal) = exchange.text("terminalId").and_then(|id| self.terminals.get_mut(id)) {
            terminal.learn(now.0, exchange, outcome);
        }
        let turn = exchange.session().and_then(|id| self.sessions.get_mut(id)?.turn.as_mut());
        if let Some(turn) = turn {
            turn.learn_answer(now, exchange, outcome);
        }
    }

    /// Processes a line that is not JSON in UTF-8, which violates a requirement of its own. If it is an answer when it
    /// is read with replacement characters, this returns it: its request has an answer all the same, and the
    /// conversation continues. If it only looks like one, nothing follows from the silence to a request whose id is
    /// in it. No check reads the content, which is not known exactly.
    pub(crate) fn broken_line(&mut self, from: Party, bytes: &[u8]) -> Option<Value> {
        let text = String::from_utf8_lossy(bytes);
        let value = read_line(text.as_bytes()).one().unwrap_or_default();
        if let Envelope::Response { id: Some(_), .. } = Envelope::of(&value) {
            return Some(value);
        }
        if text.contains("\"id\"") && (text.contains("\"result\"") || text.contains("\"error\"")) {
            let open = self.open.values_mut().filter(|open| open.from != from && text.contains(&open.id.to_string()));
            open.for_each(|open| Rc::make_mut(open).deliberate = true);
        }
        None
    }

    /// Returns the event of the `session/cancel` for the turn of the session that the params name, unless the client
    /// did something else to that session meanwhile.
    pub(super) fn cancel_of(&self, params: &Value) -> Option<usize> {
        let id = params.text("sessionId")?;
        let turn = self.session(id)?.turn.as_ref()?;
        let log = self.session(id)?.log.as_ref()?;
        turn.cancelled.filter(|_| log.n == turn.n && log.disturbed.is_none())
    }

    /// Records that a session was closed, for the turns of the others.
    pub(super) fn note_closing(&mut self, n: usize, closed: &str) {
        for (_, session) in self.sessions.iter_mut().filter(|(id, _)| id.as_str() != closed) {
            if let Some(turn) = session.turn.as_mut() {
                turn.other_closed = turn.other_closed.or(Some(n));
            }
        }
    }

    /// Whether a terminal of this turn has not been released: its command may run on after the turn.
    pub fn has_live_terminal(&self, turn: &Turn) -> bool {
        self.live_terminals().any(|terminal| terminal.turn == Some(turn.n))
    }

    /// Returns the terminals that the agent has not released.
    pub fn live_terminals(&self) -> impl Iterator<Item = &Terminal> {
        self.unreleased.iter().filter_map(|id| self.terminals.get(id))
    }

    /// Whether the party answered a request sent after the event `n`.
    pub fn answered_after(&self, party: Party, n: usize) -> bool {
        self.latest_answered.get(&party.other()).is_some_and(|&latest| latest > n)
    }
}

impl Turn {
    fn learn_answer(&mut self, (n, us): (usize, u64), exchange: &Exchange, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Error(error) if self.refused.len() < MOST_NOTED => {
                let message = error.text("message").unwrap_or_default().to_owned();
                let code = outcome.error_code();
                self.refused.push(Refusal { n, us, method: exchange.method.clone(), code, message });
            }
            Outcome::Result(result) if result.member("_meta").is_some_and(Value::is_object) => {
                self.meta_answer = self.meta_answer.or(Some(n));
            }
            _ => {}
        }
    }
}
