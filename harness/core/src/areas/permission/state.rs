//! The tool calls that ended in the running turn of each session.

use std::collections::BTreeMap;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{Conversation, Memory, Turn, UpdateSeen, is_final};
use crate::wire::Members;

/// The most tool calls of a turn that are remembered.
const MOST: usize = 64;

/// The tool calls that ended in the last turn of each session that has any: the event of the prompt, and for each call
/// the event of the report that it ended.
#[derive(Debug, Default)]
pub struct State(BySession<(usize, BTreeMap<String, usize>)>);

impl State {
    /// Returns the event of the report that this tool call ended, if that was in the turn.
    pub(super) fn ended(&self, session: &str, turn: &Turn, id: &str) -> Option<usize> {
        let (_, ended) = self.0.get(session).filter(|(n, _)| *n == turn.n)?;
        ended.get(id).copied()
    }

    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        if !matches!(update.variant, "tool_call" | "tool_call_update") {
            return;
        }
        let Some(turn) = update.known.and_then(|session| session.turn.as_ref()) else { return };
        let Some(id) = update.body.text("toolCallId").filter(|_| update.body.text("status").is_some_and(is_final))
        else {
            return;
        };
        let (n, ended) = self.0.entry(update.session);
        if *n != turn.n {
            (*n, *ended) = (turn.n, BTreeMap::new());
        }
        if ended.len() < MOST {
            ended.entry(id.to_owned()).or_insert(event.n);
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.0.forget(conversation, memory);
    }
}
