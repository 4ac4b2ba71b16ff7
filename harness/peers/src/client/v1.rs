//! Version 1 of the protocol, in the types of the SDK.

use agent_client_protocol::{
    Client as ClientRole, Error,
    schema::ProtocolVersion,
    v1::{
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
    session::ConfigOption,
    state::Client,
    version::Version,
};

/// Version 1.
pub(super) struct V1;

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

impl Version for V1 {
    const MAJOR: Major = Major {
        number: 1,
        login: "authenticate",
        logout: "logout",
        option_id: "id",
        choice_type: None,
        response_ends_turn: true,
        initialize,
        agent,
        open,
    };

    type Protocol = agent_client_protocol::V1;
    type Request = AgentRequest;
    type Notification = sdk::AgentNotification;

    fn builder() -> Builder<ClientRole> {
        ClientRole.v1()
    }

    async fn answer(client: &Client, request: AgentRequest) -> Result<Value, Error> {
        let Client { sessions, terminals, .. } = client;
        let has_terminals = client.has(Feature::Terminal);
        match request {
            AgentRequest::ReadTextFileRequest(request) if client.has(Feature::FsRead) => {
                sessions.check(&request.session_id.0)?;
                let text = client.files.read(&request.path, request.line, request.limit)?;
                Ok(json!(sdk::ReadTextFileResponse::new(text)))
            }
            AgentRequest::WriteTextFileRequest(request) if client.has(Feature::FsWrite) => {
                sessions.check(&request.session_id.0)?;
                client.files.write(&request.path, request.content)?;
                Ok(json!(sdk::WriteTextFileResponse::new()))
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
                question::ask_permission(client, &request.session_id.0, json!(request.options)).await
            }
            AgentRequest::CreateElicitationRequest(request) => question::elicit(client, json!(request)).await,
            _ => Err(Error::method_not_found()),
        }
    }

    fn note(client: &Client, notification: sdk::AgentNotification) {
        let sdk::AgentNotification::SessionNotification(notification) = notification else { return };
        let id = &notification.session_id.0;
        match notification.update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                if let sdk::ContentBlock::Text(text) = chunk.content {
                    client.printer.print(&text.text);
                }
            }
            SessionUpdate::SubagentUpdate(update) => {
                client.sessions.register(id, &update.session_id.0, update.cwd);
            }
            SessionUpdate::ConfigOptionUpdate(update) => {
                let options = ConfigOption::read_all(&json!(update.config_options), Self::MAJOR.option_id);
                client.sessions.change(id, |session| session.settings.options = options);
            }
            SessionUpdate::AvailableCommandsUpdate(update) => {
                let names = update.available_commands.into_iter().map(|command| command.name).collect();
                client.sessions.change(id, |session| session.commands = Some(names));
            }
            _ => {}
        }
    }
}

fn initialize(options: &Options) -> Value {
    let with = |feature| options.with(feature);
    let fs = sdk::FileSystemCapabilities::new()
        .read_text_file(with(Feature::FsRead))
        .write_text_file(with(Feature::FsWrite));
    let boolean = sdk::SessionConfigOptionsCapabilities::new().boolean(sdk::BooleanConfigOptionCapabilities::new());
    let session = sdk::ClientSessionCapabilities::new().config_options(boolean);
    let form = with(Feature::ElicitationForm).then(sdk::ElicitationFormCapabilities::new);
    let url = with(Feature::ElicitationUrl).then(sdk::ElicitationUrlCapabilities::new);
    let elicits = form.is_some() || url.is_some();
    let capabilities = sdk::ClientCapabilities::new()
        .fs(fs)
        .terminal(with(Feature::Terminal))
        .auth(sdk::AuthCapabilities::new().terminal(with(Feature::AuthTerminal)))
        .session(with(Feature::ConfigBoolean).then_some(session))
        .subagents(sdk::SubagentCapabilities::new())
        .plan(sdk::PlanCapabilities::new())
        .elicitation(elicits.then(|| sdk::ElicitationCapabilities::new().form(form).url(url)))
        .meta(sdk::Meta::from_iter([("acp-reference".to_owned(), json!(true))]));
    let info = sdk::Implementation::new("acp-reference-client", env!("CARGO_PKG_VERSION"))
        .title("ACP reference client".to_owned());
    json!(sdk::InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities).client_info(info))
}

fn agent(result: &Value) -> AgentInfo {
    let capabilities = sdk::AgentCapabilities::deserialize(&result["agentCapabilities"]).unwrap_or_default();
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
        system_prompt: Capabilities::system_prompt_mode(
            &result["agentCapabilities"]["sessionCapabilities"]["systemPrompt"],
        ),
    };
    let methods = result["authMethods"].as_array().into_iter().flatten();
    AgentInfo { takes, auth_methods: methods.filter_map(auth_method).collect() }
}

fn open(start: Start, place: Place) -> (&'static str, Value) {
    let Place { cwd, directories, servers } = place;
    match start {
        Start::New => {
            let request = sdk::NewSessionRequest::new(cwd).mcp_servers(servers).additional_directories(directories);
            ("session/new", json!(request))
        }
        Start::Load(id) => {
            let request = sdk::LoadSessionRequest::new(id, cwd);
            ("session/load", json!(request.mcp_servers(servers).additional_directories(directories)))
        }
        Start::Resume(id) => {
            let request = sdk::ResumeSessionRequest::new(id, cwd).additional_directories(directories);
            let mut params = json!(request);
            // The SDK omits an empty list, and the text of the protocol requires it.
            params["mcpServers"] = json!(servers);
            ("session/resume", params)
        }
    }
}
