//! The offers to cancel single tool calls and terminals, and the cancels that the agent accepted.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{Answer, CallSeen, Conversation, Memory, UpdateSeen, message_of};
use crate::requirement::Party;
use crate::wire::Members;

/// The most tool calls or terminals of a session that are remembered.
const MOST: usize = 4096;

/// The requests that cancel a single tool call or terminal.
pub const CANCEL_ONE: [&str; 2] = ["tool_call/cancel", "terminal/cancel"];

/// The cancels of one session.
#[derive(Debug, Clone, Default)]
pub struct Cancels {
    /// The event at which the agent last accepted to cancel a tool call.
    pub of_tool: Option<usize>,
    /// The event of the last message of the agent.
    pub spoke: Option<usize>,
    /// The tool calls, by id.
    pub tools: BTreeMap<String, Cancellable>,
    /// The terminals, by id.
    pub terminals: BTreeMap<String, Cancellable>,
}

/// A tool call or a terminal.
#[derive(Debug, Clone, Default)]
pub struct Cancellable {
    /// Whether it advertises `cancel` now.
    pub is_offered: bool,
    /// Whether it ever advertised `cancel`.
    pub was_offered: bool,
    /// The agent accepted a request to cancel it: the event and time of the response.
    pub accepted: Option<(usize, u64)>,
}

/// The cancels of each session.
#[derive(Debug, Clone, Default)]
pub struct State(BySession<Cancels>);

impl State {
    /// Returns the cancels of a session.
    pub(super) fn of(&self, session: &str) -> Option<&Cancels> {
        self.0.get(session)
    }

    /// Whether the agent accepted a cancel of a single tool call or terminal in a session.
    pub(in crate::areas) fn is_used(&self, session: &str) -> bool {
        self.of(session).is_some_and(|cancels| {
            let mut known = cancels.tools.values().chain(cancels.terminals.values());
            cancels.of_tool.is_some() || known.any(|one| one.accepted.is_some())
        })
    }

    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        let Some(session) = update.known.filter(|_| !event.conversation.edition.adapter.response_ends_turn()) else {
            return;
        };
        let cancels = self.0.entry(update.session);
        if matches!(message_of(update), Some(("agent_message", _))) && session.resuming.is_none() {
            cancels.spoke = Some(event.n);
        }
        let (known, name) = match update.variant {
            "tool_call_update" => (&mut cancels.tools, "toolCallId"),
            "terminal_update" => (&mut cancels.terminals, "terminalId"),
            _ => return,
        };
        if let Some(id) = update.body.text(name) {
            learn(known, id, update.body);
        }
    }

    /// Reads the tool call that a permission request is about, which updates it.
    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        if event.from != Party::Agent || call.method != "session/request_permission" {
            return;
        }
        let tool = call.params.and_then(|params| params.member("subject")?.member("toolCall"));
        let id = call.text("sessionId").filter(|id| event.conversation.knows_session(id));
        if let (Some(session), Some(tool)) = (id, tool)
            && let Some(id) = tool.text("toolCallId")
        {
            learn(&mut self.0.entry(session).tools, id, tool);
        }
    }

    pub(in crate::areas) fn response(&mut self, event: &Event<'_>, answer: &Answer<'_>) {
        let accepted = CANCEL_ONE.into_iter().find_map(|method| Some(answer.result_of(method)?.0));
        let Some(exchange) = accepted.filter(|_| event.from == Party::Agent) else { return };
        let Some((id, session)) = exchange.session().and_then(|id| Some((id, event.conversation.session(id)?))) else {
            return;
        };
        let cancels = self.0.entry(id);
        let (known, name, reported) = if exchange.method == "tool_call/cancel" {
            cancels.of_tool = Some(event.n);
            (&mut cancels.tools, "toolCallId", &session.work.tools)
        } else {
            (&mut cancels.terminals, "terminalId", &session.work.terminals)
        };
        if let Some(name) = exchange.text(name).filter(|name| reported.contains_key(*name)) {
            known.entry(name.to_owned()).or_default().accepted = Some((event.n, event.us));
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.0.forget(conversation, memory);
    }
}

/// Reads the capabilities of a tool call or a terminal; null and an object without `cancel` withdraw the offer.
fn learn(known: &mut BTreeMap<String, Cancellable>, id: &str, body: &Value) {
    let Some(offers) = body.member("capabilities") else { return };
    if known.len() < MOST || known.contains_key(id) {
        let cancel = known.entry(id.to_owned()).or_default();
        cancel.is_offered = offers.member("cancel").is_some_and(Value::is_object);
        cancel.was_offered |= cancel.is_offered;
    }
}
