//! The files that the agent writes in a turn, and the commands for which it waits long.

use std::collections::BTreeSet;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{Answer, CallSeen, Conversation, Memory, Outcome, Session, Turn};
use crate::requirement::Party;
use crate::wire::Members;

/// A file that the agent writes through the client.
#[derive(Debug)]
pub struct FileWrite {
    /// The event of the request.
    pub n: usize,
    /// The path in it.
    pub path: String,
    /// Whether an unfinished tool call of the turn was reported at that time.
    pub reported: bool,
}

/// What the agent did in turns.
#[derive(Debug, Default)]
pub struct State {
    /// The files that it wrote in the last turn of each session that has any, with the event of the prompt.
    writes: BySession<(usize, Vec<FileWrite>)>,
    /// The terminals for whose exit it waited so long that it answered a later request meanwhile.
    outlasted: BTreeSet<String>,
}

impl State {
    /// Returns the files that the agent wrote in a turn.
    pub(super) fn writes(&self, session: &str, turn: &Turn) -> &[FileWrite] {
        let written = self.writes.get(session).filter(|(n, _)| *n == turn.n);
        written.map_or(&[], |(_, writes)| writes.as_slice())
    }

    /// Whether the agent waited so long for the exit of this terminal's command that it answered a later request
    /// meanwhile.
    pub(super) fn has_outlasted(&self, terminal: &str) -> bool {
        self.outlasted.contains(terminal)
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        const MOST: usize = 64;
        if event.from != Party::Agent || call.id.is_none() || call.method != "fs/write_text_file" {
            return;
        }
        let (Some(id), Some(path)) = (call.text("sessionId"), call.text("path")) else { return };
        let Some(session) = event.conversation.session(id) else { return };
        let Some(turn) = &session.turn else { return };
        let (n, writes) = self.writes.entry(id);
        if *n != turn.n {
            (*n, *writes) = (turn.n, Vec::new());
        }
        if writes.len() < MOST {
            writes.push(FileWrite { n: event.n, path: path.to_owned(), reported: has_unfinished_tool(session, turn) });
        }
    }

    pub(in crate::areas) fn response(&mut self, event: &Event<'_>, answer: &Answer<'_>) {
        let Some(exchange) = answer.exchange.filter(|exchange| exchange.from == Party::Agent) else { return };
        let terminals = &event.conversation.terminals;
        match (exchange.method.as_str(), answer.outcome) {
            ("terminal/wait_for_exit", _) if event.conversation.answered_after(Party::Agent, exchange.n) => {
                let id = exchange.text("terminalId").filter(|id| terminals.contains_key(*id));
                self.outlasted.extend(id.map(str::to_owned));
            }
            ("terminal/create", Outcome::Result(result)) if exchange.session().is_some() => {
                // The new terminal may have the id of another one.
                result.text("terminalId").map(|id| self.outlasted.remove(id));
            }
            _ => {}
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.writes.forget(conversation, memory);
        if self.outlasted.len() > memory.terminals {
            self.outlasted.retain(|id| conversation.terminals.contains_key(id));
        }
    }
}

fn has_unfinished_tool(session: &Session, turn: &Turn) -> bool {
    let tools = turn.tools.iter().filter_map(|id| session.tools.get(id));
    let asked = session.tools.values().filter(|tool| tool.turn == session.prompts && !tool.permissions.is_empty());
    tools.chain(asked).any(|tool| !tool.is_final())
}
