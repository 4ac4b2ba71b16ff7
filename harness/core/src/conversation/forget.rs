//! Forgets old history: a recording may exceed any memory, so new events replace the oldest.
//!
//! Each forgotten part leaves a hole, so that no check fails because of forgotten data.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use super::{Conversation, Session, Terminal};
use crate::requirement::Party;
use crate::wire::RpcId;

/// The limits of the history of one connection.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// The number of answered requests.
    pub requests: usize,
    /// The number of sessions. Each may hold as much as the limits below allow.
    pub sessions: usize,
    /// The number of terminals.
    pub terminals: usize,
    /// The number of tool calls and message ids of one session.
    pub tools: usize,
    /// The bytes of text of one session, for comparison with a replay.
    pub text: usize,
    /// The number of events after which the excess is forgotten.
    pub every: usize,
}

impl Memory {
    /// Limits with which a long recording needs no more memory than a short one, and no check becomes slow.
    pub const USUAL: Self =
        Self { requests: 1 << 16, sessions: 256, terminals: 1 << 9, tools: 1 << 9, text: 1 << 18, every: 1 << 10 };
}

/// Kinds of messages that may be missing from the trace or were forgotten. Their absence proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holes {
    /// Any message.
    pub anywhere: bool,
    /// Answered requests.
    pub requests: bool,
    /// Sessions, and their entries in listings.
    pub sessions: bool,
    /// Terminals.
    pub terminals: bool,
    /// Tool calls and messages of a session.
    pub tools: bool,
    /// Earlier messages of the other party, which may also be later ones: the order is unknown. Only checks for which
    /// one message decides run then.
    pub order: bool,
}

impl Holes {
    /// Returns a bit for each kind, so that two values have a hole in common if any bit is set in both.
    pub const fn bits(self) -> u8 {
        (self.anywhere as u8)
            | (self.requests as u8) << 1
            | (self.sessions as u8) << 2
            | (self.terminals as u8) << 3
            | (self.tools as u8) << 4
            | (self.order as u8) << 5
    }
}

/// The limit for names and for unanswered requests: far more than any program has.
const MOST_NAMES: usize = 1 << 12;

impl Conversation {
    /// Records a request whose sender is unknown.
    pub(crate) fn note_stray_request(&mut self, id: RpcId) {
        self.stray_requests.insert(id);
    }

    /// Whether an answer from an unknown sender may belong to a request of a known party.
    pub(crate) fn may_await(&mut self, id: &RpcId) -> bool {
        let open = [Party::Agent, Party::Client].into_iter().any(|party| self.open.contains_key(&(party, id.clone())));
        // An answer with null belongs to an unreadable line and has no further effect.
        open || (*id != RpcId::Null && !self.stray_requests.remove(id))
    }

    /// Forgets the oldest entries where there are too many.
    pub(crate) fn forget_old(&mut self, memory: Memory) {
        let holes = &mut self.holes;
        holes.requests |= keep_newest(&mut self.answered, memory.requests, |n| *n);
        holes.anywhere |= self.open.keep_newest(MOST_NAMES);
        if self.shared_ids.len() > MOST_NAMES {
            // They only excuse answers to remembered requests.
            self.shared_ids.retain(|id| self.answered.contains_key(id) || self.open.contains_key(id));
        }
        holes.sessions |= keep_newest_of(&mut self.sessions, memory.sessions, Session::last_touched);
        if self.sessions.len() > 2 * memory.sessions {
            // No program runs turns in so many sessions at once.
            holes.anywhere = true;
            keep_newest_of(&mut self.sessions, memory.sessions, |session| session.known);
        }
        holes.sessions |= keep_newest_of(&mut self.deleted, memory.sessions, |n| *n);
        let gone = |terminal: &Terminal| if terminal.released.is_some() { terminal.created } else { usize::MAX };
        holes.terminals |= keep_newest_of(&mut self.terminals, memory.terminals, gone);
        if self.terminals.len() > memory.terminals {
            // Terminals that still run excuse the turns that they belong to.
            (holes.terminals, holes.tools) = (true, true);
            keep_newest_of(&mut self.terminals, memory.terminals, |terminal| terminal.created);
        }
        self.unreleased.retain(|id| self.terminals.contains_key(id));
        for session in self.sessions.values_mut() {
            holes.tools |= session.forget_old(memory);
        }
        for used in self.methods_used.values_mut() {
            keep_few(used, MOST_NAMES);
        }
        while self.replied.len() > MOST_NAMES {
            self.replied.pop_last();
        }
        keep_few(&mut self.served, MOST_NAMES);
        keep_few(&mut self.stray_requests, MOST_NAMES);
        keep_ends(&mut self.deliberate);
        while self.errors.len() > MOST_NAMES {
            self.errors.pop_first();
        }
    }
}

impl Session {
    /// Returns the event of its last known use; the maximum while a turn runs.
    fn last_touched(&self) -> usize {
        let ended = self.ended.as_ref().map_or(0, |ended| ended.n);
        let reopened = self.reopened.as_ref().map_or(0, |(_, n)| *n);
        let busy = self.turn.is_some() || self.loading.is_some() || self.resuming.is_some();
        if busy { usize::MAX } else { self.known.max(ended).max(reopened) }
    }

    fn forget_old(&mut self, memory: Memory) -> bool {
        let forgot = keep_newest_of(&mut self.tools, memory.tools, |tool| tool.n);
        if forgot {
            self.new_tools.retain(|id| self.tools.contains_key(id));
        }
        let ids = keep_newest(&mut self.message_ids, memory.tools, |(_, prompt)| *prompt);
        if ids {
            self.finished_messages.retain(|id| self.message_ids.contains_key(id));
        }
        if text_of(&self.spoken) + text_of(&self.replay) > memory.text {
            self.spoken.clear();
            self.replay.clear();
            self.replayed_tools.clear();
            self.uneven = true;
        }
        if self.model.size() > memory.text {
            self.model.forget();
        }
        forgot | ids
    }
}

fn text_of(pieces: &[(String, String)]) -> usize {
    pieces.iter().map(|(_, text)| text.len()).sum()
}

/// Empties an unordered set that has become too large.
fn keep_few<T>(set: &mut BTreeSet<T>, most: usize) -> bool {
    let many = set.len() > most;
    if many {
        set.clear();
    }
    many
}

/// Keeps the first and the latest events.
fn keep_ends(events: &mut BTreeSet<usize>) {
    if events.len() > MOST_NAMES {
        let n = events.len();
        let ends = events.iter().enumerate().filter(|(at, _)| *at < MOST_NAMES / 4 || n - at < MOST_NAMES / 4);
        *events = ends.map(|(_, event)| *event).collect();
    }
}

/// Drops the older half of a map that has become too large, by the event that `age` returns.
fn keep_newest<K: Eq + Hash, V>(map: &mut HashMap<K, V>, most: usize, age: impl Fn(&V) -> usize) -> bool {
    let many = map.len() > most;
    if many {
        let middle = middle(map.values().map(&age));
        map.retain(|_, value| age(value) > middle);
    }
    many
}

/// Like [`keep_newest`], but entries without an age yet ([`usize::MAX`]) stay.
fn keep_newest_of<K: Ord, V>(map: &mut BTreeMap<K, V>, most: usize, age: impl Fn(&V) -> usize) -> bool {
    let many = map.len() > most;
    if many {
        let middle = middle(map.values().map(&age));
        map.retain(|_, value| age(value) > middle || age(value) == usize::MAX);
    }
    many
}

fn middle(ages: impl Iterator<Item = usize>) -> usize {
    let mut ages: Vec<usize> = ages.collect();
    let at = ages.len() / 2;
    *ages.select_nth_unstable(at).1
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::v1;
    use crate::wire::Call;

    const KINDS: [(&str, &str); 2] = [("tool_call", "toolCallId"), ("agent_message_chunk", "messageId")];

    const SMALL: Memory = Memory { requests: 8, sessions: 4, terminals: 4, tools: 4, text: 64, every: 1 };

    fn ask(conversation: &mut Conversation, n: usize, from: Party, method: &str, params: &Value, result: &Value) {
        let id = json!(n);
        conversation.apply_call((n, 0), from, &Call { id: Some(&id), method, params: Some(params) }, None, false);
        let outcome = crate::conversation::outcome::Outcome::Result(result);
        conversation.apply_response((n + 1, 0), from.other(), &RpcId::new(&id), outcome);
    }

    #[test]
    fn a_long_conversation_takes_no_more_space_than_a_short_one() {
        let mut conversation = Conversation::new(v1(), false);
        for n in (0..4_000).step_by(10) {
            let of = json!({ "sessionId": format!("s{n}") });
            ask(&mut conversation, n, Party::Client, "session/new", &json!({ "cwd": "/w" }), &of);
            let prompt = json!({ "sessionId": format!("s{n}"), "prompt": [{ "type": "text", "text": "some words" }] });
            ask(
                &mut conversation,
                n + 2,
                Party::Client,
                "session/prompt",
                &prompt,
                &json!({ "stopReason": "end_turn" }),
            );
            let terminal = json!({ "terminalId": format!("t{n}") });
            ask(&mut conversation, n + 4, Party::Agent, "terminal/create", &of, &terminal);
            for (number, kind, name) in (0..8).flat_map(|number| KINDS.map(|(kind, name)| (number, kind, name))) {
                let update = json!({ "sessionUpdate": kind, name: format!("{number}") });
                let update = json!({ "sessionId": format!("s{n}"), "update": update });
                let call = Call { id: None, method: "session/update", params: Some(&update) };
                let update = conversation.edition.adapter.update(&update);
                conversation.apply_call((n + 6, 0), Party::Agent, &call, update.as_ref(), false);
            }
            conversation.forget_old(SMALL);
            assert!(conversation.answered.len() <= SMALL.requests);
            assert!(conversation.sessions.len() <= SMALL.sessions);
            assert!(conversation.terminals.len() <= SMALL.terminals);
            for session in conversation.sessions.values() {
                assert!(session.tools.len() <= SMALL.tools && session.message_ids.len() <= SMALL.tools);
                assert!(text_of(&session.spoken) <= SMALL.text);
            }
        }
        assert!(
            conversation.holes.requests
                && conversation.holes.sessions
                && conversation.holes.terminals
                && conversation.holes.tools
        );
    }
}
