//! The agent's requests: each goes to its handler, and none holds up the others.

use std::sync::Arc;

use agent_client_protocol::{
    Error,
    v1::{Responder, schema::AgentRequest},
};
use serde::Serialize;

use super::{Fault, Feature, elicitation, files, permission, state::Client, terminals};

/// Handles one request; what takes time goes on in a task of its own.
pub(super) fn handle(client: &Arc<Client>, request: AgentRequest, responder: Responder) -> Result<(), Error> {
    let reads = client.serves(Feature::FsRead);
    let writes = client.serves(Feature::FsWrite);
    let has_terminals = client.serves(Feature::Terminal);
    match request {
        AgentRequest::ReadTextFileRequest(request) if reads => answer(responder, files::read(client, &request)),
        AgentRequest::WriteTextFileRequest(request) if writes => files::answer_write(client, &request, responder),
        AgentRequest::RequestPermissionRequest(request) => permission::ask(client, request, responder),
        AgentRequest::CreateTerminalRequest(request) if has_terminals => terminals::create(client, request, responder),
        AgentRequest::TerminalOutputRequest(request) if has_terminals => terminals::output(client, &request, responder),
        AgentRequest::WaitForTerminalExitRequest(request) if has_terminals => {
            terminals::wait_for_exit(client, &request, responder)
        }
        AgentRequest::KillTerminalRequest(_) if client.commits(Fault::KillMissing) => {
            responder.respond_with_error(Error::method_not_found())
        }
        AgentRequest::KillTerminalRequest(request) if has_terminals => terminals::kill(client, &request, responder),
        AgentRequest::ReleaseTerminalRequest(request) if has_terminals => {
            terminals::release(client, &request, responder)
        }
        AgentRequest::CreateElicitationRequest(request) => elicitation::ask(client, request, responder),
        AgentRequest::ExtMethodRequest(_) if client.commits(Fault::ExtensionsAnswered) => {
            responder.respond(serde_json::json!({}))
        }
        _ => responder.respond_with_error(Error::method_not_found()),
    }
}

/// Answers a request with a typed result.
pub(super) fn answer<T: Serialize>(responder: Responder, result: Result<T, Error>) -> Result<(), Error> {
    let value = result.and_then(|value| serde_json::to_value(value).map_err(Error::into_internal_error));
    responder.respond_with_result(value)
}
