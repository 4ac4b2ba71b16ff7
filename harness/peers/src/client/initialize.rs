//! `initialize`: the client and the agent agree on the version and exchange their capabilities.

use std::sync::Arc;

use agent_client_protocol::{
    schema::ProtocolVersion,
    v1::schema::{
        AuthCapabilities, BooleanConfigOptionCapabilities, ClientCapabilities, ClientSessionCapabilities,
        ElicitationCapabilities, ElicitationFormCapabilities, ElicitationUrlCapabilities, FileSystemCapabilities,
        Implementation, InitializeRequest, Meta, SessionConfigOptionsCapabilities,
    },
};
use serde_json::{Value, json};

use super::{
    agent::AgentInfo,
    errors::describe,
    options::{Feature, Options},
    state::Client,
};

/// Initializes the connection; fails if the agent has no version in common with the client.
pub(super) async fn initialize(client: &Arc<Client>) -> Result<(), String> {
    let noted = Arc::clone(client);
    let answer = client.connection.call::<Value>("initialize", request(&client.options), move |answer| {
        if let Ok(answer) = answer {
            noted.set_agent(AgentInfo::read(answer));
        }
    });
    let answer = answer.await.map_err(|error| format!("initialize failed: {}", describe(&error)))?;
    if answer["protocolVersion"] != 1 {
        return Err(format!("the agent wants protocol version {}", answer["protocolVersion"]));
    }
    Ok(())
}

fn request(options: &Options) -> InitializeRequest {
    let info =
        Implementation::new("acp-reference-client", env!("CARGO_PKG_VERSION")).title("ACP reference client".to_owned());
    InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities(options)).client_info(info)
}

fn capabilities(options: &Options) -> ClientCapabilities {
    let with = |feature| options.with(feature);
    let fs =
        FileSystemCapabilities::new().read_text_file(with(Feature::FsRead)).write_text_file(with(Feature::FsWrite));
    let boolean = SessionConfigOptionsCapabilities::new().boolean(BooleanConfigOptionCapabilities::new());
    let session = ClientSessionCapabilities::new().config_options(boolean);
    let form = with(Feature::ElicitationForm).then(ElicitationFormCapabilities::new);
    let url = with(Feature::ElicitationUrl).then(ElicitationUrlCapabilities::new);
    let elicits = form.is_some() || url.is_some();
    let elicitation = ElicitationCapabilities::new().form(form).url(url);
    let auth = AuthCapabilities::new().terminal(with(Feature::AuthTerminal));
    let meta: Meta = [("acp-reference".to_owned(), json!(true))].into_iter().collect();
    ClientCapabilities::new()
        .fs(fs)
        .terminal(with(Feature::Terminal))
        .auth(auth)
        .session(with(Feature::ConfigBoolean).then_some(session))
        .elicitation(elicits.then_some(elicitation))
        .meta(meta)
}
