//! What the areas remember of a conversation. Each area owns its part, and keeps it next to its checks.

use super::{
    cancel, close, commands, config, content, elicit, ext, http, jsonrpc, list, load, modes, permission, plan, prompt,
    proxy, resume, session, subagent, system_prompt, terminal, tool, toolcancel, transport,
};
use crate::conversation::{Conversation, Memory};
use crate::trace::HttpEvent;
use crate::wire::RpcId;

/// The memory of each area that needs more than the conversation itself. Checks read it as it was before their event.
#[derive(Debug, Default)]
pub struct Areas {
    pub(super) cancel: cancel::State,
    pub(super) close: close::State,
    pub(super) commands: commands::State,
    pub(super) config: config::State,
    pub(super) content: content::State,
    pub(super) elicit: elicit::State,
    pub(super) ext: ext::State,
    pub(super) http: http::State,
    pub(super) jsonrpc: jsonrpc::State,
    pub(super) list: list::State,
    pub(super) load: load::State,
    pub(super) modes: modes::State,
    pub(super) permission: permission::State,
    pub(super) plan: plan::State,
    pub(super) prompt: prompt::State,
    pub(super) proxy: proxy::State,
    pub(super) resume: resume::State,
    pub(super) session: session::State,
    pub(super) subagent: subagent::State,
    pub(super) system_prompt: system_prompt::State,
    pub(super) terminal: terminal::State,
    pub(super) tool: tool::State,
    pub(super) toolcancel: toolcancel::State,
    pub(super) transport: transport::State,
}

impl Areas {
    /// Whether the client has left each stream over HTTP that carries the messages of this session, or of none.
    pub(crate) fn has_left(&self, session: Option<&str>) -> bool {
        self.http.has_left(session)
    }

    /// Returns the id of the client's request that this response of HTTP refuses by its status.
    pub(crate) fn refused(&self, http: &HttpEvent) -> Option<RpcId> {
        self.http.refused(http)
    }

    /// Forgets the oldest parts where there are too many; returns whether entries of listings are missing from now on.
    pub(crate) fn forget(&mut self, conversation: &Conversation, memory: Memory) -> bool {
        self.cancel.forget(conversation, memory);
        self.close.forget(conversation, memory);
        self.config.forget(conversation, memory);
        self.content.forget(conversation, memory);
        self.load.forget(conversation, memory);
        self.modes.forget(conversation, memory);
        self.permission.forget(conversation, memory);
        self.plan.forget(conversation, memory);
        self.prompt.forget(conversation, memory);
        self.resume.forget(conversation, memory);
        self.session.forget(conversation, memory);
        self.subagent.forget(conversation);
        self.system_prompt.forget(conversation, memory);
        self.terminal.forget(conversation, memory);
        self.tool.forget(conversation, memory);
        self.toolcancel.forget(conversation, memory);
        self.jsonrpc.forget();
        self.list.forget(memory)
    }

    /// Returns the memory at the start of the agent's next process, whose client may open the same sessions again.
    pub(crate) fn on_next_connection(&self) -> Self {
        Self {
            close: self.close.clone(),
            config: self.config.clone(),
            list: self.list.on_next_connection(),
            load: self.load.clone(),
            modes: self.modes.clone(),
            plan: self.plan.clone(),
            prompt: self.prompt.on_next_connection(),
            resume: self.resume.clone(),
            system_prompt: self.system_prompt.clone(),
            toolcancel: self.toolcancel.clone(),
            ..Self::default()
        }
    }
}
