//! What the areas remember of a conversation. Each area owns its part, and keeps it next to its checks.

use super::check::Seen;
use super::{
    cancel, commands, content, elicit, ext, http, jsonrpc, list, modes, plan, prompt, resume, session, subagent,
    system_prompt, transport,
};
use crate::conversation::{Conversation, Memory};
use crate::requirement::Party;
use crate::trace::HttpEvent;
use crate::wire::RpcId;

/// The memory of each area that needs more than the conversation itself. Checks read it as it was before their event.
#[derive(Debug, Default)]
pub struct Areas {
    pub(super) cancel: cancel::State,
    pub(super) commands: commands::State,
    pub(super) content: content::State,
    pub(super) elicit: elicit::State,
    pub(super) ext: ext::State,
    pub(super) http: http::State,
    pub(super) jsonrpc: jsonrpc::State,
    pub(super) list: list::State,
    pub(super) modes: modes::State,
    pub(super) plan: plan::State,
    pub(super) prompt: prompt::State,
    pub(super) resume: resume::State,
    pub(super) session: session::State,
    pub(super) subagent: subagent::State,
    pub(super) system_prompt: system_prompt::State,
    pub(super) transport: transport::State,
}

/// An event that the checks have read, and the conversation before it.
pub(crate) struct Event<'e> {
    pub conversation: &'e Conversation,
    /// The position of the event.
    pub n: usize,
    /// Microseconds since the start of the trace.
    pub us: u64,
    pub from: Party,
    pub seen: Seen<'e>,
}

impl Areas {
    /// Reads a line, a call, an update of the agent, a response, a request to the model or an event of the transport,
    /// after its checks and before the conversation does.
    pub(crate) fn observe(&mut self, event: &Event<'_>) {
        match event.seen {
            Seen::Line(line) => {
                self.http.line(event, line);
                self.jsonrpc.line(event, line);
                self.transport.line(event, line);
            }
            Seen::Call(call) => {
                self.cancel.call(event, call);
                self.content.call(event, call);
                self.elicit.call(event, call);
                self.ext.call(event, call);
                self.jsonrpc.call(event, call);
                self.list.call(call);
                self.modes.call(event, call);
                self.plan.call(event, call);
                self.prompt.call(event, call);
                self.resume.call(event, call);
                self.subagent.call(event, call);
                self.system_prompt.call(event, call);
            }
            Seen::Update(update) => {
                self.commands.update(event, update);
                self.content.update(update);
                self.modes.update(update);
                self.plan.update(update);
                self.resume.update(event, update);
                self.session.update(event, update);
                self.subagent.update(event, update);
                self.system_prompt.update(event, update);
            }
            Seen::Response(answer) => {
                self.content.response(answer);
                self.elicit.response(answer);
                self.jsonrpc.response(event, answer);
                self.list.response(event, answer);
                self.modes.response(answer);
                self.prompt.response(event, answer);
                self.system_prompt.response(answer);
            }
            Seen::Http(http) => self.http.http(event, http),
            Seen::Model(model) => self.system_prompt.model(event, model),
            _ => {}
        }
    }

    /// Returns the id of the client's request that this response of HTTP refuses by its status.
    pub(crate) fn refused(&self, http: &HttpEvent) -> Option<RpcId> {
        self.http.refused(http)
    }

    /// Forgets the oldest parts where there are too many; returns whether entries of listings are missing from now on.
    pub(crate) fn forget(&mut self, conversation: &Conversation, memory: Memory) -> bool {
        self.cancel.forget(conversation, memory);
        self.content.forget(conversation, memory);
        self.modes.forget(conversation, memory);
        self.plan.forget(conversation, memory);
        self.prompt.forget(conversation, memory);
        self.resume.forget(conversation, memory);
        self.subagent.forget(conversation);
        self.system_prompt.forget(conversation, memory);
        self.jsonrpc.forget();
        self.list.forget(memory)
    }

    /// Returns the memory at the start of the agent's next process, whose client may open the same sessions again.
    pub(crate) fn on_next_connection(&self) -> Self {
        Self {
            modes: self.modes.clone(),
            plan: self.plan.clone(),
            prompt: self.prompt.on_next_connection(),
            resume: self.resume.clone(),
            system_prompt: self.system_prompt.clone(),
            ..Self::default()
        }
    }
}
