//! Version 2 of the protocol, a draft, in the types of the SDK.

use std::sync::Arc;

use agent_client_protocol::{
    Agent, Builder, Client as ClientRole, Error, HandleDispatchFrom, NullClose, NullRun, on_receive_notification,
    on_receive_request,
    schema::{MaybeUndefined, ProtocolVersion},
    v1::schema as v1,
    v2::{
        ConnectionTo,
        schema::{
            AgentNotification, AgentRequest, AuthMethod as SdkAuthMethod, ClientAuthCapabilities, ClientCapabilities,
            ContentBlock, CreateElicitationRequest, ElicitationCapabilities, ElicitationFormCapabilities,
            ElicitationMode, ElicitationScope, ElicitationUrlCapabilities, Implementation, InitializeRequest,
            InitializeResponse, McpServer, Meta, NewSessionRequest, PermissionOption, PermissionOptionKind, ReplayFrom,
            ReplayFromStart, ResumeSessionRequest, ResumeSessionResponse, SessionConfigKind, SessionConfigOption,
            SessionConfigOptionCategory, SessionConfigSelectOptions, SessionUpdate, StateUpdate,
            TerminalAuthCapabilities, UpdateSessionNotification,
        },
    },
};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::{
    act::OptionValue,
    connection::respond,
    major::{AgentInfo, AuthKind, AuthMethod, Capabilities, Major, Place, Start, TerminalLogin},
    options::{Feature, Options},
    question::{self, Choice, Elicitation},
    session::{ConfigOption, Settings, Turn},
    state::Client,
};

/// Version 2.
pub(super) struct V2;

impl Major for V2 {
    fn number(&self) -> u64 {
        2
    }

    fn login_methods(&self) -> (&'static str, &'static str) {
        ("auth/login", "auth/logout")
    }

    fn initialize(&self, options: &Options) -> Value {
        let with = |feature| options.with(feature);
        let form = with(Feature::ElicitationForm).then(ElicitationFormCapabilities::new);
        let url = with(Feature::ElicitationUrl).then(ElicitationUrlCapabilities::new);
        let elicits = form.is_some() || url.is_some();
        let terminal = with(Feature::AuthTerminal).then(TerminalAuthCapabilities::new);
        let capabilities = ClientCapabilities::new()
            .auth(ClientAuthCapabilities::new().terminal(terminal))
            .elicitation(elicits.then(|| ElicitationCapabilities::new().form(form).url(url)))
            .meta(Meta::from_iter([("acp-reference".to_owned(), json!(true))]));
        let info = Implementation::new("acp-reference-client", env!("CARGO_PKG_VERSION"))
            .title("ACP reference client".to_owned());
        json!(InitializeRequest::new(ProtocolVersion::V2, info).capabilities(capabilities))
    }

    fn agent(&self, result: &Value) -> AgentInfo {
        let Ok(agent) = InitializeResponse::deserialize(result) else { return AgentInfo::default() };
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
        };
        AgentInfo { takes, auth_methods: agent.auth_methods.into_iter().map(auth_method).collect() }
    }

    fn open(&self, start: &Start, place: Place) -> (&'static str, Value) {
        let Place { cwd, directories, servers } = place;
        let servers = servers.iter().filter_map(mcp_server).collect();
        let (id, replay) = match start {
            Start::New => {
                let request = NewSessionRequest::new(cwd).mcp_servers(servers).additional_directories(directories);
                return ("session/new", json!(request));
            }
            Start::Load(id) => (id, Some(ReplayFrom::Start(ReplayFromStart::new()))),
            Start::Resume(id) => (id, None),
        };
        let request = ResumeSessionRequest::new(id.clone(), cwd).replay_from(replay);
        ("session/resume", json!(request.mcp_servers(servers).additional_directories(directories)))
    }

    fn settings(&self, result: &Value) -> Settings {
        // The results of all requests that open a session or set an option have this member.
        let options = ResumeSessionResponse::deserialize(result).map(|result| result.config_options);
        let options = options.unwrap_or_default().into_iter().filter_map(config_option).collect();
        Settings { modes: Vec::new(), options }
    }

    fn type_of(&self, value: &OptionValue) -> Option<&'static str> {
        Some(if matches!(value, OptionValue::Flag(_)) { "boolean" } else { "id" })
    }

    fn response_ends_turn(&self) -> bool {
        false
    }
}

fn auth_method(method: SdkAuthMethod) -> AuthMethod {
    let id = method.method_id().to_string();
    let kind = match method {
        SdkAuthMethod::Agent(_) => AuthKind::Agent,
        SdkAuthMethod::Terminal(method) => {
            let env = method.env.into_iter().map(|variable| (variable.name, variable.value)).collect();
            AuthKind::Terminal(TerminalLogin { args: method.args, env })
        }
        _ => AuthKind::Unknown,
    };
    AuthMethod { id, kind }
}

/// Converts a server of version 1; in version 2 each has a type.
fn mcp_server(server: &v1::McpServer) -> Option<McpServer> {
    let mut converted = json!(server);
    if matches!(server, v1::McpServer::Stdio(_)) {
        converted["type"] = "stdio".into();
    }
    serde_json::from_value(converted).ok()
}

fn config_option(option: SessionConfigOption) -> Option<ConfigOption> {
    let values = match option.kind {
        SessionConfigKind::Boolean(_) => None,
        SessionConfigKind::Select(select) => {
            let values = match select.options {
                SessionConfigSelectOptions::Ungrouped(options) => options,
                SessionConfigSelectOptions::Grouped(groups) => {
                    groups.into_iter().flat_map(|group| group.options).collect()
                }
                _ => Vec::new(),
            };
            Some(values.into_iter().map(|option| option.value.to_string()).collect())
        }
        _ => return None,
    };
    let is_mode = option.category == Some(SessionConfigOptionCategory::Mode);
    Some(ConfigOption { id: option.config_id.to_string(), is_mode, values })
}

/// Builds the client's side of a connection.
pub(super) fn builder(
    client: &Arc<Client>,
) -> Builder<ClientRole, impl HandleDispatchFrom<Agent> + 'static, NullRun, NullClose, agent_client_protocol::V2> {
    let (requests, notifications) = (Arc::clone(client), Arc::clone(client));
    ClientRole
        .v2()
        .on_receive_request(
            async move |request: AgentRequest, responder, _: ConnectionTo<Agent>| {
                let client = Arc::clone(&requests);
                let withdrawn = withdrawn(&request);
                let answer = async move { answer(&client, request).await };
                respond(responder, answer, withdrawn);
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: AgentNotification, _: ConnectionTo<Agent>| {
                if let AgentNotification::UpdateSessionNotification(update) = notification {
                    note(&notifications, *update);
                }
                Ok(())
            },
            on_receive_notification!(),
        )
}

/// Returns the answer to a request that the agent cancels: a question has a result for that.
fn withdrawn(request: &AgentRequest) -> Result<Value, Error> {
    match request {
        AgentRequest::RequestPermissionRequest(_) => Ok(question::permission_cancelled()),
        AgentRequest::CreateElicitationRequest(_) => Ok(question::elicitation_cancelled()),
        _ => Err(Error::request_cancelled()),
    }
}

/// Answers one request of the agent.
async fn answer(client: &Client, request: AgentRequest) -> Result<Value, Error> {
    match request {
        AgentRequest::RequestPermissionRequest(request) => {
            let choices = request.options.iter().map(choice).collect();
            question::ask_permission(client, request.session_id.to_string(), choices).await
        }
        AgentRequest::CreateElicitationRequest(request) => elicit(client, *request).await,
        _ => Err(Error::method_not_found()),
    }
}

fn choice(option: &PermissionOption) -> Choice {
    let allows = match option.kind {
        PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowAlways => Some(true),
        PermissionOptionKind::RejectOnce | PermissionOptionKind::RejectAlways => Some(false),
        _ => None,
    };
    Choice { id: option.option_id.to_string(), allows }
}

async fn elicit(client: &Client, request: CreateElicitationRequest) -> Result<Value, Error> {
    let (scope, task) = match request.mode {
        ElicitationMode::Form(form) => (form.scope, Elicitation::Form(json!(form.requested_schema))),
        ElicitationMode::Url(url) => (url.scope, Elicitation::Url),
        _ => return question::elicit(client, None, Elicitation::Unknown).await,
    };
    let session = match scope {
        ElicitationScope::Session(scope) => Some(scope.session_id.to_string()),
        _ => None,
    };
    question::elicit(client, session, task).await
}

/// Handles an update of a session, which may come at any time.
fn note(client: &Client, notification: UpdateSessionNotification) {
    let (id, sessions) = (&notification.session_id.0, &client.sessions);
    match notification.update {
        SessionUpdate::StateUpdate(state) => sessions.change(id, |session| match state {
            // A state from before the prompt does not end its turn.
            StateUpdate::Idle(_) if session.turn == Turn::Prompted => {}
            StateUpdate::Idle(_) => session.end_turn(),
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
            if !sessions.change(id, |session| session.printed.contains(&message)) {
                print(client, &content);
            }
        }
        // An update without capabilities leaves them as they are.
        SessionUpdate::ToolCallUpdate(update) => {
            let Some(capabilities) = update.capabilities.as_opt_ref() else { return };
            let can_cancel = capabilities.is_some_and(|capabilities| capabilities.cancel.is_some());
            sessions.change(id, |session| offer(&mut session.tools, &update.tool_call_id.0, can_cancel));
        }
        SessionUpdate::TerminalUpdate(update) => {
            let Some(capabilities) = update.capabilities.as_opt_ref() else { return };
            let can_cancel = capabilities.is_some_and(|capabilities| capabilities.cancel.is_some());
            sessions.change(id, |session| offer(&mut session.terminals, &update.terminal_id.0, can_cancel));
        }
        SessionUpdate::ConfigOptionUpdate(update) => {
            let options = update.config_options.into_iter().filter_map(config_option).collect();
            sessions.change(id, |session| session.settings.options = options);
        }
        _ => {}
    }
}

/// Notes whether the user can cancel a tool call or a terminal.
fn offer(offered: &mut Vec<String>, id: &str, can_cancel: bool) {
    offered.retain(|known| known != id);
    if can_cancel {
        offered.push(id.to_owned());
    }
}

fn print(client: &Client, blocks: &[ContentBlock]) {
    for block in blocks {
        if let ContentBlock::Text(text) = block {
            client.printer.print(&text.text);
        }
    }
}
