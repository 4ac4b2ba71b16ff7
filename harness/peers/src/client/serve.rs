//! Passes each of the agent's requests to its handler, without delaying others.

use agent_client_protocol::{
    Error,
    v1::{Responder, schema::AgentRequest},
};

use super::{elicitation, options::Feature, permission, question::answer, state::Client};

/// Handles one request; separate tasks wait for the user or for a command.
pub(super) fn handle(client: &Client, request: AgentRequest, responder: Responder) -> Result<(), Error> {
    let Client { sessions, questions, terminals, files, options, .. } = client;
    let has_terminals = client.has(Feature::Terminal);
    match request {
        AgentRequest::ReadTextFileRequest(request) if client.has(Feature::FsRead) => {
            answer(responder, files.read(sessions, &request))
        }
        AgentRequest::WriteTextFileRequest(request) if client.has(Feature::FsWrite) => {
            answer(responder, files.write(sessions, &request))
        }
        AgentRequest::RequestPermissionRequest(request) => {
            permission::ask(sessions, questions, options.permission, request, responder)
        }
        AgentRequest::CreateTerminalRequest(request) if has_terminals => {
            answer(responder, terminals.create(sessions, &request))
        }
        AgentRequest::TerminalOutputRequest(request) if has_terminals => answer(responder, terminals.output(&request)),
        AgentRequest::WaitForTerminalExitRequest(request) if has_terminals => {
            terminals.wait_for_exit(&request, responder)
        }
        AgentRequest::KillTerminalRequest(request) if has_terminals => terminals.kill(&request, responder),
        AgentRequest::ReleaseTerminalRequest(request) if has_terminals => terminals.release(&request, responder),
        AgentRequest::CreateElicitationRequest(request) => {
            elicitation::ask(sessions, questions, options, request, responder)
        }
        _ => responder.respond_with_error(Error::method_not_found()),
    }
}
