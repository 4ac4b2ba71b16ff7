//! Version 1 of the protocol, in the types of the SDK.

use std::sync::Arc;

use agent_client_protocol::{
    Agent, Builder, Client as ClientRole, Error, HandleDispatchFrom, NullClose, NullRun, on_receive_notification,
    on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo,
        schema::{
            AgentCapabilities, AgentNotification, AgentRequest, AuthCapabilities, BooleanConfigOptionCapabilities,
            ClientCapabilities, ClientSessionCapabilities, ContentBlock, CreateElicitationRequest,
            ElicitationCapabilities, ElicitationFormCapabilities, ElicitationMode, ElicitationScope,
            ElicitationUrlCapabilities, FileSystemCapabilities, Implementation, InitializeRequest, LoadSessionRequest,
            LoadSessionResponse, Meta, NewSessionRequest, PermissionOption, PermissionOptionKind, ReadTextFileResponse,
            ResumeSessionRequest, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
            SessionConfigOptionsCapabilities, SessionConfigSelectOptions, SessionUpdate, WriteTextFileResponse,
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
    session::{ConfigOption, Settings},
    state::Client,
};

/// Version 1.
pub(super) struct V1;

impl Major for V1 {
    fn number(&self) -> u64 {
        1
    }

    fn login_methods(&self) -> (&'static str, &'static str) {
        ("authenticate", "logout")
    }

    fn initialize(&self, options: &Options) -> Value {
        let with = |feature| options.with(feature);
        let fs =
            FileSystemCapabilities::new().read_text_file(with(Feature::FsRead)).write_text_file(with(Feature::FsWrite));
        let boolean = SessionConfigOptionsCapabilities::new().boolean(BooleanConfigOptionCapabilities::new());
        let session = ClientSessionCapabilities::new().config_options(boolean);
        let form = with(Feature::ElicitationForm).then(ElicitationFormCapabilities::new);
        let url = with(Feature::ElicitationUrl).then(ElicitationUrlCapabilities::new);
        let elicits = form.is_some() || url.is_some();
        let capabilities = ClientCapabilities::new()
            .fs(fs)
            .terminal(with(Feature::Terminal))
            .auth(AuthCapabilities::new().terminal(with(Feature::AuthTerminal)))
            .session(with(Feature::ConfigBoolean).then_some(session))
            .elicitation(elicits.then(|| ElicitationCapabilities::new().form(form).url(url)))
            .meta(Meta::from_iter([("acp-reference".to_owned(), json!(true))]));
        let info = Implementation::new("acp-reference-client", env!("CARGO_PKG_VERSION"))
            .title("ACP reference client".to_owned());
        json!(InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities).client_info(info))
    }

    fn agent(&self, result: &Value) -> AgentInfo {
        let capabilities = AgentCapabilities::deserialize(&result["agentCapabilities"]).unwrap_or_default();
        let (session, prompt) = (capabilities.session_capabilities, capabilities.prompt_capabilities);
        let takes = Capabilities {
            sessions: true,
            list: session.list.is_some(),
            load: capabilities.load_session,
            resume: session.resume.is_some(),
            close: session.close.is_some(),
            delete: session.delete.is_some(),
            logout: capabilities.auth.logout.is_some(),
            additional_directories: session.additional_directories.is_some(),
            mcp_stdio: true,
            mcp_http: capabilities.mcp_capabilities.http,
            mcp_sse: capabilities.mcp_capabilities.sse,
            image: prompt.image,
            audio: prompt.audio,
            embedded_context: prompt.embedded_context,
        };
        let methods = result["authMethods"].as_array().into_iter().flatten();
        AgentInfo { takes, auth_methods: methods.filter_map(auth_method).collect() }
    }

    fn open(&self, start: &Start, place: Place) -> (&'static str, Value) {
        let Place { cwd, directories, servers } = place;
        match start {
            Start::New => {
                let request = NewSessionRequest::new(cwd).mcp_servers(servers).additional_directories(directories);
                ("session/new", json!(request))
            }
            Start::Load(id) => {
                let request = LoadSessionRequest::new(id.clone(), cwd);
                ("session/load", json!(request.mcp_servers(servers).additional_directories(directories)))
            }
            Start::Resume(id) => {
                let request = ResumeSessionRequest::new(id.clone(), cwd).additional_directories(directories);
                let mut params = json!(request);
                // The SDK omits an empty list, and the text of the protocol requires it.
                params["mcpServers"] = json!(servers);
                ("session/resume", params)
            }
        }
    }

    fn settings(&self, result: &Value) -> Settings {
        // The results of all requests that open a session have these members.
        let result = LoadSessionResponse::deserialize(result).unwrap_or_default();
        let modes = result.modes.into_iter().flat_map(|modes| modes.available_modes);
        let options = result.config_options.into_iter().flatten();
        Settings {
            modes: modes.map(|mode| mode.id.to_string()).collect(),
            options: options.filter_map(config_option).collect(),
        }
    }

    fn type_of(&self, value: &OptionValue) -> Option<&'static str> {
        matches!(value, OptionValue::Flag(_)).then_some("boolean")
    }

    fn response_ends_turn(&self) -> bool {
        true
    }
}

/// Reads a login method. The type is parsed by hand, since the SDK treats an unknown type as `agent`.
fn auth_method(method: &Value) -> Option<AuthMethod> {
    let kind = match &method["type"] {
        Value::Null => AuthKind::Agent,
        kind if kind == "agent" => AuthKind::Agent,
        kind if kind == "terminal" => AuthKind::Terminal(TerminalLogin::read(method)),
        _ => AuthKind::Unknown,
    };
    Some(AuthMethod { id: method["id"].as_str()?.to_owned(), kind })
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
    Some(ConfigOption { id: option.id.to_string(), is_mode, values })
}

/// Builds the client's side of a connection.
pub(super) fn builder(
    client: &Arc<Client>,
) -> Builder<ClientRole, impl HandleDispatchFrom<Agent> + 'static, NullRun, NullClose, agent_client_protocol::V1> {
    let (requests, notifications) = (Arc::clone(client), Arc::clone(client));
    ClientRole
        .v1()
        .on_receive_request(
            async move |request: AgentRequest, responder, _: ConnectionTo<Agent>| {
                let client = Arc::clone(&requests);
                let answer = async move { answer(&client, request).await };
                respond(responder, answer, Err(Error::request_cancelled()));
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: AgentNotification, _: ConnectionTo<Agent>| {
                note(&notifications, notification);
                Ok(())
            },
            on_receive_notification!(),
        )
}

/// Answers one request of the agent.
async fn answer(client: &Client, request: AgentRequest) -> Result<Value, Error> {
    let Client { sessions, terminals, .. } = client;
    let has_terminals = client.has(Feature::Terminal);
    match request {
        AgentRequest::ReadTextFileRequest(request) if client.has(Feature::FsRead) => {
            sessions.check(&request.session_id.0)?;
            let text = client.files.read(&request.path, request.line, request.limit)?;
            Ok(json!(ReadTextFileResponse::new(text)))
        }
        AgentRequest::WriteTextFileRequest(request) if client.has(Feature::FsWrite) => {
            sessions.check(&request.session_id.0)?;
            client.files.write(&request.path, request.content)?;
            Ok(json!(WriteTextFileResponse::new()))
        }
        AgentRequest::CreateTerminalRequest(request) if has_terminals => terminals.create(sessions, &request),
        AgentRequest::TerminalOutputRequest(request) if has_terminals => {
            terminals.output(&request.session_id.0, &request.terminal_id.0)
        }
        AgentRequest::WaitForTerminalExitRequest(request) if has_terminals => {
            terminals.wait_for_exit(&request.session_id.0, &request.terminal_id.0).await
        }
        AgentRequest::KillTerminalRequest(request) if has_terminals => {
            terminals.kill(&request.session_id.0, &request.terminal_id.0).await
        }
        AgentRequest::ReleaseTerminalRequest(request) if has_terminals => {
            terminals.release(&request.session_id.0, &request.terminal_id.0).await
        }
        AgentRequest::RequestPermissionRequest(request) => {
            let choices = request.options.iter().map(choice).collect();
            question::ask_permission(client, request.session_id.to_string(), choices).await
        }
        AgentRequest::CreateElicitationRequest(request) => elicit(client, request).await,
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
    let session = match request.mode.scope() {
        ElicitationScope::Session(scope) => Some(scope.session_id.to_string()),
        _ => None,
    };
    let task = match request.mode {
        ElicitationMode::Form(form) => Elicitation::Form(json!(form.requested_schema)),
        ElicitationMode::Url(_) => Elicitation::Url,
        _ => Elicitation::Unknown,
    };
    question::elicit(client, session, task).await
}

/// Handles a notification, which may come at any time; the SDK ignores unknown ones.
fn note(client: &Client, notification: AgentNotification) {
    let AgentNotification::SessionNotification(notification) = notification else { return };
    let id = &notification.session_id.0;
    match notification.update {
        SessionUpdate::AgentMessageChunk(chunk) => {
            if let ContentBlock::Text(text) = chunk.content {
                client.printer.print(&text.text);
            }
        }
        SessionUpdate::ConfigOptionUpdate(update) => {
            let options = update.config_options.into_iter().filter_map(config_option).collect();
            client.sessions.change(id, |session| session.settings.options = options);
        }
        SessionUpdate::AvailableCommandsUpdate(update) => {
            let names = update.available_commands.into_iter().map(|command| command.name).collect();
            client.sessions.change(id, |session| session.commands = Some(names));
        }
        _ => {}
    }
}
