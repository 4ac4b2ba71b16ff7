//! Which area remembers what of an event.

use super::check::Seen;
use super::event::Event;
use super::memory::Areas;

impl Areas {
    /// Reads a line, a call, an update of the agent, a response, a request to the model or an event of the transport,
    /// after its checks and before the conversation does.
    pub(crate) fn observe(&mut self, event: &Event<'_>, seen: Seen<'_>) {
        match seen {
            Seen::Line(line) => {
                self.http.line(event, line);
                self.jsonrpc.line(event, line);
                self.transport.line(event, line);
            }
            Seen::Call(call) => {
                self.cancel.call(event, call);
                self.close.call(event, call);
                self.content.call(event, call);
                self.elicit.call(event, call);
                self.ext.call(event, call);
                self.jsonrpc.call(event, call);
                self.list.call(call);
                self.load.call(event, call);
                self.modes.call(event, call);
                self.plan.call(event, call);
                self.prompt.call(event, call);
                self.proxy.call(call);
                self.resume.call(event, call);
                self.session.call(event, call);
                self.subagent.call(event, call);
                self.system_prompt.call(event, call);
                self.terminal.call(event, call);
                self.tool.call(event, call);
                self.toolcancel.call(event, call);
            }
            Seen::Update(update) => {
                self.cancel.update(event, update);
                self.close.update(event, update);
                self.commands.update(event, update);
                self.config.update(event, update);
                self.content.update(update);
                self.load.update(event, update);
                self.modes.update(event, update);
                self.permission.update(event, update);
                self.plan.update(update);
                self.resume.update(event, update);
                self.session.update(event, update);
                self.subagent.update(event, update);
                self.system_prompt.update(event, update);
                self.toolcancel.update(event, update);
            }
            Seen::Response(answer) => {
                self.cancel.response(event, answer);
                self.close.response(event, answer);
                self.config.response(event, answer);
                self.content.response(answer);
                self.elicit.response(answer);
                self.jsonrpc.response(event, answer);
                self.list.response(event, answer);
                self.modes.response(event, answer);
                self.prompt.response(event, answer);
                self.proxy.response(answer);
                self.resume.response(event, answer);
                self.session.response(event, answer);
                self.system_prompt.response(answer);
                self.terminal.response(event, answer);
                self.tool.response(event, answer);
                self.toolcancel.response(event, answer);
            }
            Seen::Http(http) => self.http.http(event, http),
            Seen::Model(model) => self.system_prompt.model(event, model),
            _ => {}
        }
    }
}
