//! What is forgotten: a recording may be longer than any memory, so what is old makes room for what is new.
//!
//! Whatever is forgotten leaves a hole, so that nobody is accused of what can no longer be looked up.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use super::{Conversation, Course, Session, Terminal};
use crate::requirement::Party;
use crate::wire::RpcId;

/// How much is remembered of one connection.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// How many requests behind their answer.
    pub requests: usize,
    /// How many sessions. Each may hold as much as the bounds below allow.
    pub sessions: usize,
    /// How many terminals.
    pub terminals: usize,
    /// How many tool calls and message ids of one session.
    pub tools: usize,
    /// How many bytes of text of one session, to hold a replay against.
    pub text: usize,
    /// How many events pass before the rest is forgotten.
    pub every: usize,
}

impl Memory {
    /// What lets a long recording be judged in the space of a short one, and makes no check slow.
    pub const USUAL: Self =
        Self { requests: 1 << 16, sessions: 256, terminals: 1 << 9, tools: 1 << 9, text: 1 << 18, every: 1 << 10 };
}

/// What may have been said that was not seen, or that was forgotten. Nothing follows from its absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holes {
    /// Anything at all.
    pub anywhere: bool,
    /// Requests that were answered.
    pub requests: bool,
    /// Sessions, and what listings said of them.
    pub sessions: bool,
    /// Terminals.
    pub terminals: bool,
    /// Tool calls and messages of a session.
    pub tools: bool,
}

impl Holes {
    /// Whether one of them is where `other` has one as well; one anywhere is where any other is.
    #[must_use]
    pub const fn meet(self, other: Self) -> bool {
        (self.anywhere && other.anywhere)
            || (self.requests && other.requests)
            || (self.sessions && other.sessions)
            || (self.terminals && other.terminals)
            || (self.tools && other.tools)
    }
}

/// The bound on names, and on requests that wait for an answer: far more than anybody has.
const MOST_NAMES: usize = 1 << 12;

impl Conversation {
    /// Takes in a request of which nobody knows who sent it.
    pub(in crate::judge) fn note_stray_request(&mut self, id: RpcId) {
        self.stray_requests.insert(id);
    }

    /// Whether an answer of which nobody knows who sent it may be to a request of a known party.
    pub(in crate::judge) fn may_await(&mut self, id: &RpcId) -> bool {
        let open = [Party::Agent, Party::Client].into_iter().any(|party| self.open.contains_key(&(party, id.clone())));
        // The null answers what could not be read, and is of no consequence.
        open || (*id != RpcId::Null && !self.stray_requests.remove(id))
    }

    /// Forgets what is old where there is too much.
    pub(in crate::judge) fn forget_old(&mut self, memory: Memory) {
        let holes = &mut self.holes;
        holes.requests |= keep_newest(&mut self.answered, memory.requests, |n| *n);
        holes.anywhere |= self.open.keep_newest(MOST_NAMES);
        if self.shared_ids.len() > MOST_NAMES {
            // They only excuse answers to what is remembered.
            self.shared_ids.retain(|id| self.answered.contains_key(id) || self.open.contains_key(id));
        }
        holes.sessions |= keep_newest_of(&mut self.sessions, memory.sessions, Session::last_touched);
        if self.sessions.len() > 2 * memory.sessions {
            // Nobody has turns in so many at once.
            holes.anywhere = true;
            keep_newest_of(&mut self.sessions, memory.sessions, |session| session.known);
        }
        holes.sessions |= keep_newest_of(&mut self.deleted, memory.sessions, |n| *n);
        holes.sessions |= keep_few(&mut self.cursors, memory.sessions);
        let gone = |terminal: &Terminal| if terminal.released.is_some() { terminal.created } else { usize::MAX };
        holes.terminals |= keep_newest_of(&mut self.terminals, memory.terminals, gone);
        if self.terminals.len() > memory.terminals {
            // Terminals that still run excuse the turns that they belong to.
            (holes.terminals, holes.tools) = (true, true);
            keep_newest_of(&mut self.terminals, memory.terminals, |terminal| terminal.created);
        }
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
        self.course.forget_old(&self.sessions, memory);
    }
}

impl Course {
    fn forget_old(&mut self, sessions: &BTreeMap<String, Session>, memory: Memory) {
        while self.twins.len() > MOST_NAMES {
            self.twins.pop_first();
        }
        if self.sessions.len() > memory.sessions {
            self.sessions.retain(|id, _| sessions.contains_key(id));
        }
        for (id, course) in &mut self.sessions {
            if course.reported.len() > memory.tools || course.kinds.len() > memory.tools {
                let known = |tool: &String| sessions.get(id).is_some_and(|session| session.tools.contains_key(tool));
                course.reported.retain(known);
                course.kinds.retain(|tool, _| known(tool));
            }
        }
    }
}

impl Session {
    /// The event of the last thing that is known to have been done with it; the last of all while a turn runs.
    fn last_touched(&self) -> usize {
        let ended = self.ended.as_ref().map_or(0, |ended| ended.n);
        let reopened = self.reopened.as_ref().map_or(0, |(_, n)| *n);
        let busy = self.turn.is_some() || self.loading.is_some() || self.resuming.is_some();
        if busy { usize::MAX } else { self.known.max(ended).max(reopened) }
    }

    fn forget_old(&mut self, memory: Memory) -> bool {
        let forgot = keep_newest_of(&mut self.tools, memory.tools, |tool| tool.n);
        let ids = keep_newest(&mut self.message_ids, memory.tools, |(_, prompt)| *prompt);
        if ids {
            self.finished_messages.retain(|id| self.message_ids.contains_key(id));
        }
        if text_of(&self.spoken) + text_of(&self.replay) > memory.text {
            self.spoken.clear();
            self.replay.clear();
            self.uneven = true;
        }
        forgot | ids
    }
}

fn text_of(pieces: &[(String, String)]) -> usize {
    pieces.iter().map(|(_, text)| text.len()).sum()
}

/// Empties what holds too much, and has no order.
fn keep_few<T>(set: &mut BTreeSet<T>, most: usize) -> bool {
    let many = set.len() > most;
    if many {
        set.clear();
    }
    many
}

/// Keeps what began it all, and what has just happened.
fn keep_ends(events: &mut BTreeSet<usize>) {
    if events.len() > MOST_NAMES {
        let n = events.len();
        let ends = events.iter().enumerate().filter(|(at, _)| *at < MOST_NAMES / 4 || n - at < MOST_NAMES / 4);
        *events = ends.map(|(_, event)| *event).collect();
    }
}

/// Drops the older half of what is too much, by the event that `age` tells.
fn keep_newest<K: Eq + Hash, V>(map: &mut HashMap<K, V>, most: usize, age: impl Fn(&V) -> usize) -> bool {
    let many = map.len() > most;
    if many {
        let middle = middle(map.values().map(&age));
        map.retain(|_, value| age(value) > middle);
    }
    many
}

/// As above; what has no age yet ([`usize::MAX`]) stays.
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

    fn ask(talk: &mut Conversation, n: usize, from: Party, method: &str, params: &Value, result: &Value) {
        let id = json!(n);
        talk.apply_call((n, 0), from, &Call { id: Some(&id), method, params: Some(params) }, None, false);
        let outcome = crate::judge::Outcome::Result(result);
        talk.apply_response((n + 1, 0), from.other(), &RpcId::new(&id), outcome);
    }

    #[test]
    fn a_long_conversation_takes_no_more_space_than_a_short_one() {
        let mut talk = Conversation::new(v1(), false);
        for n in (0..4_000).step_by(10) {
            let of = json!({ "sessionId": format!("s{n}") });
            ask(&mut talk, n, Party::Client, "session/new", &json!({ "cwd": "/w" }), &of);
            let prompt = json!({ "sessionId": format!("s{n}"), "prompt": [{ "type": "text", "text": "some words" }] });
            ask(&mut talk, n + 2, Party::Client, "session/prompt", &prompt, &json!({ "stopReason": "end_turn" }));
            let terminal = json!({ "terminalId": format!("t{n}") });
            ask(&mut talk, n + 4, Party::Agent, "terminal/create", &of, &terminal);
            for (number, kind, name) in (0..8).flat_map(|number| KINDS.map(|(kind, name)| (number, kind, name))) {
                let update = json!({ "sessionUpdate": kind, name: format!("{number}") });
                let update = json!({ "sessionId": format!("s{n}"), "update": update });
                let call = Call { id: None, method: "session/update", params: Some(&update) };
                let update = talk.edition.adapter.update(&update);
                talk.apply_call((n + 6, 0), Party::Agent, &call, update.as_ref(), false);
            }
            talk.forget_old(SMALL);
            assert!(talk.answered.len() <= SMALL.requests);
            assert!(talk.sessions.len() <= SMALL.sessions);
            assert!(talk.terminals.len() <= SMALL.terminals);
            for session in talk.sessions.values() {
                assert!(session.tools.len() <= SMALL.tools && session.message_ids.len() <= SMALL.tools);
                assert!(text_of(&session.spoken) <= SMALL.text);
            }
        }
        assert!(talk.holes.requests && talk.holes.sessions && talk.holes.terminals && talk.holes.tools);
    }
}
