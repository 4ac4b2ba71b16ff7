//! `initialize`: the capabilities of this agent, and those of the client.

use agent_client_protocol::{
    schema::ProtocolVersion,
    v2::schema::{
        AgentCapabilities, AuthMethod, AuthMethodAgent, ClientCapabilities, Implementation, InitializeResponse,
        McpCapabilities, McpHttpCapabilities, McpStdioCapabilities, Meta, PromptAudioCapabilities, PromptCapabilities,
        PromptEmbeddedContextCapabilities, PromptImageCapabilities, SessionAdditionalDirectoriesCapabilities,
        SessionCapabilities, SessionDeleteCapabilities,
    },
};
use serde_json::json;

use super::client::Capabilities;
use crate::agent::{auth::LOGIN, extension, initialize::CONFORMANCE};

/// Builds the answer to `initialize`.
pub(super) fn response() -> InitializeResponse {
    let info =
        Implementation::new("acp-reference-agent", env!("CARGO_PKG_VERSION")).title("ACP reference agent".to_owned());
    let login = AuthMethodAgent::new(LOGIN, "Reference login").description("Succeeds without asking".to_owned());
    InitializeResponse::new(ProtocolVersion::V2, info)
        .capabilities(capabilities())
        .auth_methods(vec![AuthMethod::Agent(login)])
}

fn capabilities() -> AgentCapabilities {
    let prompt = PromptCapabilities::new()
        .image(PromptImageCapabilities::new())
        .audio(PromptAudioCapabilities::new())
        .embedded_context(PromptEmbeddedContextCapabilities::new());
    let mcp = McpCapabilities::new().stdio(McpStdioCapabilities::new()).http(McpHttpCapabilities::new());
    let session = SessionCapabilities::new()
        .prompt(prompt)
        .mcp(mcp)
        .delete(SessionDeleteCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
    AgentCapabilities::new().session(session).meta(Meta::from_iter([
        (extension::KEY.to_owned(), json!({"echo": true})),
        (CONFORMANCE.to_owned(), json!({"login": true})),
    ]))
}

/// Reads the capabilities of the client.
pub(super) fn client_capabilities(found: &ClientCapabilities) -> Capabilities {
    let elicitation = found.elicitation.as_ref();
    let extension = found.meta.as_ref().and_then(|meta| meta.get(extension::KEY));
    Capabilities {
        elicits_forms: elicitation.is_some_and(|elicitation| elicitation.form.is_some()),
        opens_urls: elicitation.is_some_and(|elicitation| elicitation.url.is_some()),
        knows_extension: extension == Some(&json!(true)),
    }
}
