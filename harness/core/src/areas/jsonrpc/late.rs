//! An answer that came when a turn ended, long after its request.

use std::time::Duration;

use crate::conversation::timing::{ANSWER_AFTER_END, HELD_BACK, between, millis};
use crate::conversation::{Answer, Conversation};
use crate::fact;
use crate::finding::Fact;
use crate::requirement::Party;

/// An answer that needed no work, and came when a turn ended.
#[derive(Debug)]
pub(super) struct Late {
    /// The event of the answer.
    pub answered: usize,
    /// The event of its request.
    pub asked: usize,
    /// The event with which the turn ended.
    pub turn_ended: usize,
    /// How long the answer took.
    pub waited: Duration,
    /// Whether the party does not know the method.
    pub is_unknown: bool,
    method: String,
}

/// Whether the answer needs no work, so that only a party that does not read delays it.
pub(super) fn is_instant(method: &str) -> bool {
    method.starts_with('_')
}

impl Late {
    /// Returns the answer of this party, if it is late. A party that is always slow with such requests is not delayed
    /// by the turn.
    pub(super) fn of(
        conversation: &Conversation,
        from: Party,
        (n, us): (usize, u64),
        answer: &Answer<'_>,
    ) -> Option<Self> {
        let exchange = answer.exchange.filter(|exchange| !exchange.deliberate && is_instant(&exchange.method))?;
        let waited = |us: u64| conversation.in_between((exchange.us, exchange.heard), us);
        // A still later answer was delayed by something other than the turn.
        let is_held_back = |ended: u64| waited(ended) > HELD_BACK && between(ended, us) < ANSWER_AFTER_END;
        let turns = conversation.turn_logs().map(|(_, turn)| turn);
        let (turn_ended, ended) = turns
            .filter(|turn| turn.n < exchange.n && turn.at_cancel.is_none())
            .find_map(|turn| turn.ended.filter(|(ended, _)| *ended > exchange.n))?;
        let is_late = is_held_back(ended) && conversation.has_replied_before(from, &exchange.method, exchange.n);
        is_late.then(|| Self {
            answered: n,
            asked: exchange.n,
            turn_ended,
            waited: waited(us),
            is_unknown: answer.outcome.error_code() == Some(-32601),
            method: exchange.method.clone(),
        })
    }

    /// States it as a fact about the party.
    pub(super) fn fact(&self, party: Party) -> Fact {
        fact!(
            "answered-after-turn",
            "the {party} answered {method} after {waited_ms}, when the turn was over; expected an answer during \
            the turn",
            party,
            method = self.method,
            waited_ms = millis(self.waited)
        )
    }
}
