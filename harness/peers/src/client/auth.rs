//! The handshake, and logging in and out.

use std::sync::Arc;

use agent_client_protocol::{
    schema::ProtocolVersion,
    v1::schema::{
        AgentCapabilities, AuthCapabilities, AuthenticateRequest, BooleanConfigOptionCapabilities, ClientCapabilities,
        ClientSessionCapabilities, ElicitationCapabilities, ElicitationFormCapabilities, ElicitationUrlCapabilities,
        FileSystemCapabilities, Implementation, InitializeRequest, LogoutRequest, Meta,
        SessionConfigOptionsCapabilities,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Fault, Feature, Options,
    login::{self, Additions},
    state::{AgentSide, Client, LoginMethod, describe},
    user::Trouble,
};

/// The capabilities that the schema knows.
const CAPABILITIES: [&str; 6] =
    ["loadSession", "promptCapabilities", "mcpCapabilities", "sessionCapabilities", "auth", "_meta"];

/// Agrees on the version and the capabilities.
pub(super) async fn initialize(client: &Arc<Client>) -> Result<(), String> {
    let noted = Arc::clone(client);
    let answer = client.call::<Value>("initialize", request(&client.options), move |answer| {
        if let Ok(answer) = answer {
            noted.set_agent(agent_side(answer));
        }
    });
    let answer = if client.commits(Fault::SessionBeforeInitialize) {
        let early = super::lifecycle::new_session(client);
        let (answer, _) = tokio::join!(biased; answer, early);
        answer
    } else {
        answer.await
    };
    let answer = answer.map_err(|error| format!("initialize failed: {}", describe(&error)))?;
    if answer["protocolVersion"] != 1 {
        return Err(format!("the agent wants protocol version {}", answer["protocolVersion"]));
    }
    if client.commits(Fault::DieWithoutExtension) {
        let ping = client.call::<Value>("_acp-reference/ping", json!({}), |_| ()).await;
        ping.map_err(|error| format!("_acp-reference/ping failed: {}", describe(&error)))?;
    }
    Ok(())
}

/// Sends initialize once more, on behalf of a fault.
pub(super) async fn initialize_again(client: &Arc<Client>) {
    // The answer makes no difference.
    let _ = client.call::<Value>("initialize", request(&client.options), |_| ()).await;
}

/// Returns initialize as it stands on the wire.
pub(super) fn first_message(options: &Options) -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": request(options) })
}

/// Logs in with the first method that the agent handles by itself, or else with the first one for a terminal.
pub(super) async fn log_in(client: &Arc<Client>) -> Result<(), Trouble> {
    let methods = &client.agent().methods;
    let own = methods.iter().find(|method| is_usable(client, method));
    let method = own.or_else(|| methods.iter().find(|method| runs_in_terminal(client, method)));
    let method =
        method.ok_or_else(|| Trouble::Failed("the agent wants a login and offers none that can be done".into()))?;
    authenticate(client, &method.id).await
}

/// Logs in with a method that the user names.
pub(super) async fn authenticate(client: &Arc<Client>, id: &str) -> Result<(), Trouble> {
    match client.agent().methods.iter().find(|method| method.id == id) {
        Some(method) if is_usable(client, method) => {}
        Some(method) if runs_in_terminal(client, method) => return login::run(client, method).await,
        None if client.commits(Fault::AuthenticateUnlisted) => {}
        Some(_) => {
            return Err(Trouble::refused(format!("the login method `{id}` is neither the agent's nor for a terminal")));
        }
        None => return Err(Trouble::refused(format!("the agent has no login method `{id}`"))),
    }
    let request = AuthenticateRequest::new(id.to_owned());
    let answer = client.call::<Value>("authenticate", request, |_| ()).await;
    answer.map(|_| ()).map_err(|error| Trouble::failed("authenticate", &error))
}

/// Logs out.
pub(super) async fn logout(client: &Arc<Client>) -> Result<(), Trouble> {
    if client.agent().capabilities.auth.logout.is_none() && !client.commits(Fault::LogoutUngated) {
        return Err(Trouble::refused("the agent does not advertise logout"));
    }
    let answer = client.call::<Value>("logout", LogoutRequest::new(), |_| ()).await;
    answer.map(|_| ()).map_err(|error| Trouble::failed("logout", &error))
}

/// Tells whether a method may be given to authenticate: it is the agent's own, which is the default.
fn is_usable(client: &Client, method: &LoginMethod) -> bool {
    match method.kind.as_deref() {
        None => !client.commits(Fault::UntypedMethodIgnored),
        Some("agent") => true,
        Some("terminal") => client.commits(Fault::AuthenticateTerminal),
        Some(_) => false,
    }
}

fn runs_in_terminal(client: &Client, method: &LoginMethod) -> bool {
    method.kind.as_deref() == Some("terminal") && client.options.with(Feature::AuthTerminal)
}

fn agent_side(answer: &Value) -> AgentSide {
    // A member of the wrong type counts as not advertised.
    let capabilities = AgentCapabilities::deserialize(&answer["agentCapabilities"]).unwrap_or_default();
    let methods = answer["authMethods"].as_array().into_iter().flatten().filter_map(|method| {
        let id = method["id"].as_str()?.to_owned();
        let kind = match &method["type"] {
            Value::Null => None,
            kind => Some(kind.as_str().unwrap_or("unknown").to_owned()),
        };
        Some(LoginMethod { id, kind, additions: Additions::read(method) })
    });
    let known = answer["agentCapabilities"].as_object();
    let is_strange = |name: &String| !CAPABILITIES.contains(&name.as_str());
    AgentSide {
        capabilities,
        methods: methods.collect(),
        is_minimal: known.is_none_or(|known| !known.contains_key("promptCapabilities")),
        is_strange: known.is_some_and(|known| known.keys().any(is_strange)),
    }
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
