//! The kills and releases of terminals, and the last output of their commands.

use std::collections::BTreeMap;

use crate::areas::Event;
use crate::conversation::{Answer, CallSeen, Conversation, Memory, Outcome};
use crate::requirement::Party;
use crate::wire::Members;

/// What happened to a terminal after its creation; each is an event.
#[derive(Debug, Clone, Copy, Default)]
pub struct TerminalEnds {
    /// The first `terminal/kill`.
    pub killed: Option<usize>,
    /// The first successful answer to `terminal/kill`.
    pub kill_done: Option<usize>,
    /// The successful answer to `terminal/release`.
    pub release_done: Option<usize>,
    /// The first output that was requested after the exit of the command and was not empty.
    pub last_words: Option<usize>,
}

/// The terminals by id.
#[derive(Debug, Default)]
pub struct State(BTreeMap<String, TerminalEnds>);

impl State {
    /// Returns what happened to a terminal.
    pub(super) fn of(&self, id: Option<&str>) -> TerminalEnds {
        id.and_then(|id| self.0.get(id)).copied().unwrap_or_default()
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        let id = call.text("terminalId").filter(|id| event.conversation.terminals.contains_key(*id));
        if let Some(id) =
            id.filter(|_| event.from == Party::Agent && call.id.is_some() && call.method == "terminal/kill")
        {
            self.0.entry(id.to_owned()).or_default().killed.get_or_insert(event.n);
        }
    }

    pub(in crate::areas) fn response(&mut self, event: &Event<'_>, answer: &Answer<'_>) {
        let (Some(exchange), Outcome::Result(result)) = (answer.exchange, answer.outcome) else { return };
        if exchange.from != Party::Agent {
            return;
        }
        if exchange.method == "terminal/create" && exchange.session().is_some() {
            // The new terminal may have the id of another one.
            result.text("terminalId").map(|id| self.0.remove(id));
        }
        let Some(id) = exchange.text("terminalId") else { return };
        let terminal = event.conversation.terminals.get(id).filter(|terminal| terminal.is_meant(exchange));
        let Some(terminal) = terminal else { return };
        let ends = self.0.entry(id.to_owned()).or_default();
        match exchange.method.as_str() {
            "terminal/output" if terminal.ended_before(exchange) => {
                let has_output = result.text("output").is_some_and(|text| !text.is_empty());
                ends.last_words = ends.last_words.or(has_output.then_some(event.n));
            }
            "terminal/kill" => ends.kill_done = ends.kill_done.or(Some(event.n)),
            "terminal/release" => ends.release_done = ends.release_done.or(Some(event.n)),
            _ => {}
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        if self.0.len() > memory.terminals {
            self.0.retain(|id, _| conversation.terminals.contains_key(id));
        }
    }
}
