//! `initialize`: the capabilities of this agent and of the client.

use agent_client_protocol::{
    schema::ProtocolVersion,
    v1::schema::{
        AgentAuthCapabilities, AgentCapabilities, ClientCapabilities, Implementation, InitializeResponse,
        LogoutCapabilities, McpCapabilities, Meta, PromptCapabilities, SessionAdditionalDirectoriesCapabilities,
        SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities, SessionListCapabilities,
        SessionResumeCapabilities,
    },
};
use serde_json::json;

use super::{auth, client::Capabilities, extension};

/// Key by which an agent allows the cases of the harness to log in and out.
pub(super) const CONFORMANCE: &str = "acp-conformance";

/// Builds the answer to `initialize`.
pub(super) fn response() -> InitializeResponse {
    let info =
        Implementation::new("acp-reference-agent", env!("CARGO_PKG_VERSION")).title("ACP reference agent".to_owned());
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(agent_capabilities())
        .agent_info(info)
        .auth_methods(vec![auth::method()])
}

fn agent_capabilities() -> AgentCapabilities {
    let prompt = PromptCapabilities::new().image(true).audio(true).embedded_context(true);
    let session = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
    AgentCapabilities::new()
        .load_session(true)
        .mcp_capabilities(McpCapabilities::new().http(true).sse(true))
        .prompt_capabilities(prompt)
        .session_capabilities(session)
        .auth(AgentAuthCapabilities::new().logout(LogoutCapabilities::new()))
        .meta(Meta::from_iter([
            (extension::KEY.to_owned(), json!({"echo": true})),
            (CONFORMANCE.to_owned(), json!({"login": true})),
        ]))
}

/// Reads the capabilities of the client.
pub(super) fn client_capabilities(found: &ClientCapabilities) -> Capabilities {
    let session = found.session.as_ref();
    let options = session.and_then(|session| session.config_options.as_ref());
    let elicitation = found.elicitation.as_ref();
    let extension = found.meta.as_ref().and_then(|meta| meta.get(extension::KEY));
    Capabilities {
        reads_files: found.fs.read_text_file,
        writes_files: found.fs.write_text_file,
        has_terminals: found.terminal,
        boolean_options: options.is_some_and(|options| options.boolean.is_some()),
        elicits_forms: elicitation.is_some_and(|elicitation| elicitation.form.is_some()),
        opens_urls: elicitation.is_some_and(|elicitation| elicitation.url.is_some()),
        knows_extension: extension == Some(&json!(true)),
        shows_notices: session.is_some_and(|session| session.notices.is_some()),
        shows_compactions: session.is_some_and(|session| session.compaction.is_some()),
    }
}
