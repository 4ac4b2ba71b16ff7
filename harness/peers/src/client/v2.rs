//! Version 2 of the protocol, a draft, in the types of the SDK.

use agent_client_protocol::{
    Client as ClientRole, Error,
    schema::{MaybeUndefined, ProtocolVersion},
    v1::schema as v1,
    v2::{
        Builder,
        schema::{self as sdk, AgentRequest, SessionUpdate},
    },
};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::{
    agent_info::{AgentInfo, AuthKind, AuthMethod, Capabilities, TerminalLogin},
    major::{Major, Place, Start},
    options::{Feature, Options},
    question,
    session::{ConfigOption, Turn},
    state::Client,
    version::Version,
};

/// Version 2.
pub(super) struct V2;

fn auth_method(method: sdk::AuthMethod) -> AuthMethod {
    let id = method.method_id().to_string();
    let kind = match method {
        sdk::AuthMethod::Agent(_) => AuthKind::Agent,
        sdk::AuthMethod::Terminal(method) => {
            let env = method.env.into_iter().map(|variable| (variable.name, variable.value)).collect();
            AuthKind::Terminal(TerminalLogin { args: method.args, env })
        }
        _ => AuthKind::Unknown,
    };
    AuthMethod { id, kind }
}

/// Converts a server of version 1; in version 2 each has a type.
fn mcp_server(server: &v1::McpServer) -> Option<sdk::McpServer> {
    let mut converted = json!(server);
    if matches!(server, v1::McpServer::Stdio(_)) {
        converted["type"] = "stdio".into();
    }
    serde_json::from_value(converted).ok()
}

impl Version for V2 {
    const MAJOR: Major = Major {
        number: 2,
        login: "auth/login",
        logout: "auth/logout",
        option_id: "configId",
        choice_type: Some("id"),
        response_ends_turn: false,
        initialize,
        agent,
        open,
    };

    type Protocol = agent_client_protocol::V2;
    type Request = AgentRequest;
    type Notification = sdk::AgentNotification;

    fn builder() -> Builder<ClientRole> {
        ClientRole.v2()
    }

    fn withdrawn(request: &AgentRequest) -> Result<Value, Error> {
        match request {
            AgentRequest::RequestPermissionRequest(_) => Ok(question::permission_cancelled()),
            AgentRequest::CreateElicitationRequest(_) => Ok(question::elicitation_cancelled()),
            _ => Err(Error::request_cancelled()),
        }
    }

    async fn answer(client: &Client, request: AgentRequest) -> Result<Value, Error> {
        match request {
            AgentRequest::RequestPermissionRequest(request) => {
                if let Some(sdk::RequestPermissionSubject::ToolCall(subject)) = &request.subject {
                    update_tool(client, &request.session_id.0, &subject.tool_call);
                }
                question::ask_permission(client, &request.session_id.0, json!(request.options)).await
            }
            AgentRequest::CreateElicitationRequest(request) => question::elicit(client, json!(request)).await,
            _ => Err(Error::method_not_found()),
        }
    }

    fn note(client: &Client, notification: sdk::AgentNotification) {
        let sdk::AgentNotification::UpdateSessionNotification(notification) = notification else { return };
        let (id, sessions) = (&notification.session_id.0, &client.sessions);
        match notification.update {
            SessionUpdate::StateUpdate(state) => sessions.change(id, |session| match state {
                // A state from before the prompt does not end its turn.
                sdk::StateUpdate::Idle(_) if session.turn == Turn::Prompted => {}
                sdk::StateUpdate::Idle(_) => session.end_turn(),
                // An unknown state does not end the turn.
                _ => session.turn = Turn::Running,
            }),
            SessionUpdate::AgentMessageChunk(chunk) => {
                sessions.change(id, |session| session.printed.push(chunk.message_id.to_string()));
                print(client, &[chunk.content]);
            }
            SessionUpdate::AgentMessage(message) => {
                let MaybeUndefined::Value(content) = message.content else { return };
                let message = message.message_id.to_string();
                // The client cannot replace printed text.
                if sessions.read(id, |session| session.printed.contains(&message)) != Some(true) {
                    print(client, &content);
                }
            }
            SessionUpdate::ToolCallUpdate(update) => update_tool(client, id, &update),
            // An update without capabilities leaves them as they are.
            SessionUpdate::TerminalUpdate(update) => {
                let Some(capabilities) = update.capabilities.as_opt_ref() else { return };
                let can_cancel = capabilities.is_some_and(|capabilities| capabilities.cancel.is_some());
                sessions.change(id, |session| offer(&mut session.terminals, &update.terminal_id.0, can_cancel));
            }
            SessionUpdate::SubagentUpdate(update) => {
                sessions.register(id, &update.session_id.0, MaybeUndefined::Undefined);
            }
            SessionUpdate::ConfigOptionUpdate(update) => {
                let options = ConfigOption::read_all(&json!(update.config_options), Self::MAJOR.option_id);
                sessions.change(id, |session| session.settings.options = options);
            }
            _ => {}
        }
    }
}

/// Reads an update of a tool call; one without capabilities leaves them as they are.
fn update_tool(client: &Client, session: &str, update: &sdk::ToolCallUpdate) {
    let Some(capabilities) = update.capabilities.as_opt_ref() else { return };
    let can_cancel = capabilities.is_some_and(|capabilities| capabilities.cancel.is_some());
    client.sessions.change(session, |session| offer(&mut session.tools, &update.tool_call_id.0, can_cancel));
}

/// Notes whether the user can cancel a tool call or a terminal.
fn offer(offered: &mut Vec<String>, id: &str, can_cancel: bool) {
    offered.retain(|known| known != id);
    if can_cancel {
        offered.push(id.to_owned());
    }
}

fn print(client: &Client, blocks: &[sdk::ContentBlock]) {
    for block in blocks {
        if let sdk::ContentBlock::Text(text) = block {
            client.printer.print(&text.text);
        }
    }
}

fn initialize(options: &Options) -> Value {
    let with = |feature| options.with(feature);
    let form = with(Feature::ElicitationForm).then(sdk::ElicitationFormCapabilities::new);
    let url = with(Feature::ElicitationUrl).then(sdk::ElicitationUrlCapabilities::new);
    let elicits = form.is_some() || url.is_some();
    let terminal = with(Feature::AuthTerminal).then(sdk::TerminalAuthCapabilities::new);
    let capabilities = sdk::ClientCapabilities::new()
        .auth(sdk::ClientAuthCapabilities::new().terminal(terminal))
        .elicitation(elicits.then(|| sdk::ElicitationCapabilities::new().form(form).url(url)))
        .meta(sdk::Meta::from_iter([("acp-reference".to_owned(), json!(true))]));
    let info = sdk::Implementation::new("acp-reference-client", env!("CARGO_PKG_VERSION"))
        .title("ACP reference client".to_owned());
    json!(sdk::InitializeRequest::new(ProtocolVersion::V2, info).capabilities(capabilities))
}

fn agent(result: &Value) -> AgentInfo {
    let Ok(agent) = sdk::InitializeResponse::deserialize(result) else { return AgentInfo::default() };
    let sessions = agent.capabilities.session.is_some();
    let session = agent.capabilities.session.unwrap_or_default();
    let (mcp, prompt) = (session.mcp.unwrap_or_default(), session.prompt.unwrap_or_default());
    let takes = Capabilities {
        sessions,
        list: sessions,
        load: sessions,
        resume: sessions,
        close: sessions,
        delete: session.delete.is_some(),
        logout: !agent.auth_methods.is_empty(),
        additional_directories: session.additional_directories.is_some(),
        mcp_stdio: mcp.stdio.is_some(),
        mcp_http: mcp.http.is_some(),
        mcp_sse: false,
        image: prompt.image.is_some(),
        audio: prompt.audio.is_some(),
        embedded_context: prompt.embedded_context.is_some(),
        system_prompt: Capabilities::system_prompt_mode(&result["capabilities"]["session"]["systemPrompt"]),
    };
    AgentInfo { takes, auth_methods: agent.auth_methods.into_iter().map(auth_method).collect() }
}

fn open(start: Start, place: Place) -> (&'static str, Value) {
    let Place { cwd, directories, servers } = place;
    let servers = servers.iter().filter_map(mcp_server).collect();
    let (id, replay) = match start {
        Start::New => {
            let request = sdk::NewSessionRequest::new(cwd).mcp_servers(servers).additional_directories(directories);
            return ("session/new", json!(request));
        }
        Start::Load(id) => (id, Some(sdk::ReplayFrom::Start(sdk::ReplayFromStart::new()))),
        Start::Resume(id) => (id, None),
    };
    let request = sdk::ResumeSessionRequest::new(id, cwd).replay_from(replay);
    ("session/resume", json!(request.mcp_servers(servers).additional_directories(directories)))
}
