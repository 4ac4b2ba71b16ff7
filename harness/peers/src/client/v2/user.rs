//! The user: prompts from the command line, then acts from standard input, become requests.

use std::{path::PathBuf, sync::Arc, time::Duration};

use agent_client_protocol::{
    Agent, Error,
    schema::ProtocolVersion,
    v1::schema as v1,
    v2::{
        ConnectionTo, InitializeOutcome,
        schema::{
            AuthMethod, ClientAuthCapabilities, ClientCapabilities, ElicitationCapabilities,
            ElicitationFormCapabilities, ElicitationUrlCapabilities, Implementation, InitializeRequest,
            ListSessionsResponse, McpCapabilities, Meta, NewSessionResponse, PromptCapabilities, PromptResponse,
            RequestPermissionOutcome, RequestPermissionResponse, ResumeSessionResponse, SelectedPermissionOutcome,
            SessionCapabilities, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
            SessionConfigSelect, SessionConfigSelectOptions, SessionId, SetSessionConfigOptionResponse,
            TerminalAuthCapabilities,
        },
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    serve::{self, answer, reply},
    state::{Client, Matter, Question, Session},
};
use crate::client::{
    act::{Act, Attachment, OptionValue},
    agent::TerminalLogin,
    content,
    errors::describe,
    mcp,
    options::Feature,
    output::log,
    state::Trouble,
    user::{Acts, End},
};

/// Time that an act waits for a question of the agent.
const ON_ITS_WAY: Duration = Duration::from_secs(1);
/// Time that cancelled work gets to end before the client leaves.
const LAST_WORK: Duration = Duration::from_secs(1);
/// The most pages that the client reads of a list, since an agent may always have a next one.
const MAX_PAGES: usize = 10_000;

/// Does the user's acts as long as one connection can serve them; fails if the client cannot continue.
pub(super) async fn run(
    client: &Arc<Client>,
    connection: &ConnectionTo<Agent>,
    acts: &mut Acts,
) -> Result<End, String> {
    initialize(client, connection).await?;
    match new_session(client).await {
        Ok(()) => {}
        Err(Trouble::LoggedIn) => return Ok(End::LoggedIn),
        Err(Trouble::Refused(reason) | Trouble::Failed(reason)) => return Err(reason),
    }
    while let Some(act) = acts.next().await {
        if act == Act::Quit {
            quit(client).await;
            return Ok(End::Done);
        }
        match perform(client, act).await {
            Ok(()) => {}
            Err(Trouble::LoggedIn) => {
                all_idle(client).await;
                return Ok(End::LoggedIn);
            }
            Err(Trouble::Refused(reason)) => log(&format!("not done: {reason}")),
            Err(Trouble::Failed(reason)) => {
                client.fail();
                log(&reason);
            }
        }
    }
    all_idle(client).await;
    Ok(End::Done)
}

async fn initialize(client: &Client, connection: &ConnectionTo<Agent>) -> Result<(), String> {
    let info =
        Implementation::new("acp-reference-client", env!("CARGO_PKG_VERSION")).title("ACP reference client".to_owned());
    let request = InitializeRequest::new(ProtocolVersion::V2, info).capabilities(capabilities(client));
    let outcome = connection.send_initialize(request).block_task().await;
    match outcome.map_err(|error| format!("initialize failed: {}", describe(&error)))? {
        InitializeOutcome::Initialized(response) => {
            client.agent.get_or_init(|| response);
            Ok(())
        }
        _ => Err("the agent does not speak version 2".to_owned()),
    }
}

fn capabilities(client: &Client) -> ClientCapabilities {
    let with = |feature| client.options.with(feature);
    let form = with(Feature::ElicitationForm).then(ElicitationFormCapabilities::new);
    let url = with(Feature::ElicitationUrl).then(ElicitationUrlCapabilities::new);
    let elicits = form.is_some() || url.is_some();
    let elicitation = ElicitationCapabilities::new().form(form).url(url);
    let terminal = with(Feature::AuthTerminal).then(TerminalAuthCapabilities::new);
    let auth = ClientAuthCapabilities::new().terminal(terminal);
    ClientCapabilities::new()
        .auth(auth)
        .elicitation(elicits.then_some(elicitation))
        .meta(Meta::from_iter([("acp-reference".to_owned(), json!(true))]))
}

async fn perform(client: &Arc<Client>, act: Act) -> Result<(), Trouble> {
    match act {
        Act::Prompt { text, attach } => prompt(client, text, &attach).await,
        Act::Command { name, input } => {
            let text = input.map_or_else(|| format!("/{name}"), |input| format!("/{name} {input}"));
            prompt(client, text, &[]).await
        }
        Act::Cancel => {
            let session = current(client)?;
            let params = json!({"sessionId": session});
            let sent = client.connection.notify("session/cancel", params);
            serve::dismiss(client, &session);
            sent.map_err(|error| Trouble::failed("session/cancel", &error))
        }
        Act::NewSession { cwd } => {
            client.go_to(cwd);
            new_session(client).await
        }
        Act::Load { session_id } => resume(client, session_id.into(), true).await,
        Act::Resume { session_id } => resume(client, session_id.into(), false).await,
        Act::Close { session_id } => close(client, session_id.into()).await,
        Act::Delete { session_id } => delete(client, session_id.into()).await,
        Act::Switch { session_id } => {
            let id = SessionId::from(session_id);
            let is_open = client.sessions().open.get(&id).is_some_and(|session| session.cwd.is_some());
            if !is_open {
                return Err(Trouble::refused("the session is not open"));
            }
            client.sessions().current = Some(id);
            Ok(())
        }
        Act::List { dir } => list(client, dir.as_deref()).await,
        Act::SetMode { mode_id } => {
            let mode = |option: &SessionConfigOption| option.category == Some(SessionConfigOptionCategory::Mode);
            set_option(client, mode, &OptionValue::Choice(mode_id)).await
        }
        Act::SetOption { config_id, value } => {
            set_option(client, |option| *option.config_id.0 == *config_id, &value).await
        }
        Act::Authenticate { method_id } => authenticate(client, &method_id).await,
        Act::Logout => {
            if methods(client).is_empty() {
                return Err(Trouble::refused("the agent has no logins"));
            }
            call::<Value>(client, "auth/logout", json!({})).await.map(drop)
        }
        Act::CustomRequest { method } if method.starts_with('_') => {
            let answer = client.connection.call::<Value>(&method, json!({}), |_| ()).await;
            answer
                .map_or_else(|error| log(&format!("{method}: {error}")), |result| log(&format!("{method}: {result}")));
            Ok(())
        }
        Act::CustomRequest { .. } => Err(Trouble::refused("a custom method begins with an underscore")),
        Act::CancelRequest => Err(Trouble::refused("a prompt of version 2 is cancelled with session/cancel")),
        Act::Decide { option_id } => {
            let offers = |matter: &Matter| match matter {
                Matter::Permission(options) => options.iter().any(|option| *option.option_id.0 == *option_id),
                Matter::Elicitation(_) => false,
            };
            let question = question(client, offers).await?;
            let outcome = RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option_id));
            told(answer(question.responder, Ok(RequestPermissionResponse::new(outcome))))
        }
        Act::Answer { action } => {
            let question = question(client, |matter| matches!(matter, Matter::Elicitation(_))).await?;
            match &question.matter {
                Matter::Elicitation(mode) => told(answer(question.responder, Ok(reply(mode, action)))),
                Matter::Permission(_) => Ok(()),
            }
        }
        Act::CancelTool => {
            let session = current(client)?;
            let tool = known(client, &session, |session| session.tools.last().cloned());
            let tool = tool.ok_or_else(|| Trouble::refused("no tool call can be cancelled"))?;
            let params = json!({"sessionId": session, "toolCallId": tool});
            call::<Value>(client, "tool_call/cancel", params).await.map(drop)
        }
        Act::CancelTerminal => {
            let session = current(client)?;
            let terminal = known(client, &session, |session| session.terminals.last().cloned());
            let terminal = terminal.ok_or_else(|| Trouble::refused("no terminal can be cancelled"))?;
            let params = json!({"sessionId": session, "terminalId": terminal});
            call::<Value>(client, "terminal/cancel", params).await.map(drop)
        }
        Act::Quit => Ok(()),
    }
}

fn told(answered: Result<(), Error>) -> Result<(), Trouble> {
    answered.map_err(|error| Trouble::failed("the answer", &error))
}

/// Sends a request and waits for its result.
async fn call<T: DeserializeOwned + Send + 'static>(
    client: &Client,
    method: &str,
    params: Value,
) -> Result<T, Trouble> {
    client.connection.call(method, params, |_| ()).await.map_err(|error| Trouble::failed(method, &error))
}

fn current(client: &Client) -> Result<SessionId, Trouble> {
    client.sessions().current.clone().ok_or_else(|| Trouble::refused("no session is open"))
}

/// Looks something up in a session.
fn known<T>(client: &Client, id: &SessionId, find: impl FnOnce(&Session) -> Option<T>) -> Option<T> {
    client.sessions().open.get(id).and_then(find)
}

fn session_capabilities(client: &Client) -> SessionCapabilities {
    client.agent.get().and_then(|agent| agent.capabilities.session.clone()).unwrap_or_default()
}

fn methods(client: &Client) -> &[AuthMethod] {
    client.agent.get().map_or(&[], |agent| &agent.auth_methods)
}

/// Opens a session, after a login if the agent wants one.
async fn new_session(client: &Arc<Client>) -> Result<(), Trouble> {
    if client.agent.get().is_none_or(|agent| agent.capabilities.session.is_none()) {
        return Err(Trouble::refused("the agent has no sessions"));
    }
    let cwd = client.cwd();
    let params = setup(client, &cwd);
    let opened = client.connection.call::<NewSessionResponse>("session/new", params.clone(), |_| ()).await;
    let opened = match opened {
        Err(error) if error.code.value() == -32000 => {
            log_in(client).await?;
            call(client, "session/new", params).await?
        }
        opened => opened.map_err(|error| Trouble::failed("session/new", &error))?,
    };
    client.change(&opened.session_id, |session| {
        session.cwd = Some(cwd);
        session.options = opened.config_options;
    });
    client.sessions().current = Some(opened.session_id);
    Ok(())
}

/// Builds the params that open a session, with the servers and directories that the agent takes.
fn setup(client: &Client, cwd: &PathBuf) -> Value {
    let takes = session_capabilities(client);
    let mut params = json!({"cwd": cwd});
    let servers = servers(client, takes.mcp.unwrap_or_default());
    if !servers.is_empty() {
        params["mcpServers"] = servers.into();
    }
    if takes.additional_directories.is_some() && !client.options.directories.0.is_empty() {
        params["additionalDirectories"] = json!(client.options.directories.0);
    }
    params
}

/// Describes the user's MCP servers as version 2 does: each has a type.
fn servers(client: &Client, takes: McpCapabilities) -> Vec<Value> {
    let fitting = mcp::servers(&client.options.mcp_servers.0, &v1::McpCapabilities::new().http(takes.http.is_some()));
    let typed = fitting.into_iter().filter_map(|server| {
        let is_stdio = matches!(server, v1::McpServer::Stdio(_));
        let mut server = serde_json::to_value(server).ok()?;
        if is_stdio {
            server["type"] = "stdio".into();
        }
        (!is_stdio || takes.stdio.is_some()).then_some(server)
    });
    typed.collect()
}

/// Opens a session again in its own directory, with all of its conversation or without it.
async fn resume(client: &Client, id: SessionId, replays: bool) -> Result<(), Trouble> {
    let cwd = {
        let sessions = client.sessions();
        let open = sessions.open.get(&id).and_then(|session| session.cwd.clone());
        open.or_else(|| sessions.listed.get(&id).cloned()).unwrap_or_else(|| client.cwd())
    };
    let mut params = setup(client, &cwd);
    params["sessionId"] = json!(id);
    if replays {
        params["replayFrom"] = json!({"type": "start"});
    }
    let resumed: ResumeSessionResponse = call(client, "session/resume", params).await?;
    client.change(&id, |session| {
        session.cwd = Some(cwd);
        session.options = resumed.config_options;
    });
    client.sessions().current = Some(id);
    Ok(())
}

async fn close(client: &Client, id: SessionId) -> Result<(), Trouble> {
    serve::dismiss(client, &id);
    let closed = client.connection.call::<Value>("session/close", json!({"sessionId": id}), |_| ()).await;
    forget(client, &id);
    match closed {
        // A session that the agent does not know is closed.
        Err(error) if error.code.value() != -32002 => Err(Trouble::failed("session/close", &error)),
        _ => Ok(()),
    }
}

async fn delete(client: &Client, id: SessionId) -> Result<(), Trouble> {
    if session_capabilities(client).delete.is_none() {
        return Err(Trouble::refused("the agent does not advertise session/delete"));
    }
    call::<Value>(client, "session/delete", json!({"sessionId": id})).await?;
    forget(client, &id);
    Ok(())
}

fn forget(client: &Client, id: &SessionId) {
    let mut sessions = client.sessions();
    sessions.open.remove(id);
    if sessions.current.as_ref() == Some(id) {
        sessions.current = None;
    }
    drop(sessions);
    client.changed.notify_waiters();
}

/// Reads all pages of the list, or of the sessions in one directory.
async fn list(client: &Client, dir: Option<&str>) -> Result<(), Trouble> {
    let dir = dir.map(|dir| client.cwd().join(dir));
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let mut params = json!({});
        if let Some(dir) = &dir {
            params["cwd"] = json!(dir);
        }
        if let Some(cursor) = cursor {
            params["cursor"] = json!(cursor);
        }
        let page: ListSessionsResponse = call(client, "session/list", params).await?;
        for session in page.sessions {
            log(&format!("session {} in {}", session.session_id.0, session.cwd.0.display()));
            client.sessions().listed.insert(session.session_id, session.cwd.0);
        }
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(()),
        }
    }
    Err(Trouble::refused(format!("the list has more than {MAX_PAGES} pages")))
}

/// Prompts once the session is idle, and does not wait for the end of the work.
async fn prompt(client: &Arc<Client>, text: String, attach: &[Attachment]) -> Result<(), Trouble> {
    let id = current(client)?;
    client.until(|sessions| !sessions.open.get(&id).is_some_and(Session::is_busy)).await;
    let takes = session_capabilities(client).prompt.unwrap_or_default();
    let cwd = known(client, &id, |session| session.cwd.clone()).unwrap_or_default();
    let blocks = content::prompt(&in_version_1(&takes), &cwd, text, attach);
    client.change(&id, |session| session.awaits_work = true);
    let (noted, session) = (Arc::clone(client), id.clone());
    let note = move |receipt: Result<PromptResponse, Error>| {
        if let Err(error) = receipt {
            noted.fail();
            log(&format!("session/prompt failed: {}", describe(&error)));
            noted.change(&session, |session| session.awaits_work = false);
        }
    };
    let sent = client.connection.begin("session/prompt", json!({"sessionId": id, "prompt": blocks}), note);
    sent.map(drop).map_err(|error| Trouble::failed("session/prompt", &error))
}

/// Converts the prompt capabilities to those of version 1, whose content blocks are the same.
fn in_version_1(takes: &PromptCapabilities) -> v1::PromptCapabilities {
    v1::PromptCapabilities::new()
        .image(takes.image.is_some())
        .audio(takes.audio.is_some())
        .embedded_context(takes.embedded_context.is_some())
}

async fn set_option(
    client: &Client,
    is_meant: impl Fn(&SessionConfigOption) -> bool,
    value: &OptionValue,
) -> Result<(), Trouble> {
    let id = current(client)?;
    let option = known(client, &id, |session| session.options.iter().find(|option| is_meant(option)).cloned());
    let option = option.ok_or_else(|| Trouble::refused("the session has no such option"))?;
    let (kind, value) = match (&option.kind, value) {
        (SessionConfigKind::Boolean(_), OptionValue::Flag(flag)) => ("boolean", json!(flag)),
        (SessionConfigKind::Select(select), OptionValue::Choice(choice)) if has_value(select, choice) => {
            ("id", json!(choice))
        }
        _ => return Err(Trouble::refused("the option has no such value")),
    };
    let params = json!({"sessionId": id, "configId": option.config_id, "type": kind, "value": value});
    let set: SetSessionConfigOptionResponse = call(client, "session/set_config_option", params).await?;
    client.change(&id, |session| session.options = set.config_options);
    Ok(())
}

/// Returns whether a select option has a value, in any group.
fn has_value(select: &SessionConfigSelect, value: &str) -> bool {
    match &select.options {
        SessionConfigSelectOptions::Ungrouped(options) => options.iter().any(|option| *option.value.0 == *value),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| &group.options).any(|option| *option.value.0 == *value)
        }
        _ => false,
    }
}

/// Logs in with the first method that the agent handles by itself, or else with the first one for a terminal.
async fn log_in(client: &Client) -> Result<(), Trouble> {
    let own = methods(client).iter().find(|method| matches!(method, AuthMethod::Agent(_)));
    let method = own.or_else(|| methods(client).iter().find(|method| matches!(method, AuthMethod::Terminal(_))));
    let id = method.map(id_of).ok_or_else(|| Trouble::Failed("the agent wants a login and offers none".to_owned()))?;
    authenticate(client, &id).await
}

fn id_of(method: &AuthMethod) -> String {
    json!(method)["methodId"].as_str().unwrap_or_default().to_owned()
}

async fn authenticate(client: &Client, id: &str) -> Result<(), Trouble> {
    let method = methods(client).iter().find(|method| id_of(method) == id);
    match method {
        Some(AuthMethod::Agent(_)) => call::<Value>(client, "auth/login", json!({"methodId": id})).await.map(drop),
        Some(AuthMethod::Terminal(method)) if client.options.with(Feature::AuthTerminal) => {
            let env = method.env.iter().map(|variable| (variable.name.clone(), variable.value.clone())).collect();
            let login = TerminalLogin { args: method.args.clone(), env };
            match client.launcher.log_in(&login).await {
                Ok(()) => Err(Trouble::LoggedIn),
                Err(error) => Err(Trouble::Failed(format!("the login `{id}` failed: {error}"))),
            }
        }
        Some(_) => Err(Trouble::refused(format!("the client cannot use the login method `{id}`"))),
        None => Err(Trouble::refused(format!("the agent has no login method `{id}`"))),
    }
}

/// Removes and returns the oldest question of a kind, after a wait if the agent has not sent it yet.
async fn question(client: &Client, is_meant: impl Fn(&Matter) -> bool) -> Result<Question, Trouble> {
    let take = || {
        let mut questions = client.questions();
        let at = questions.iter().position(|question| is_meant(&question.matter))?;
        Some(questions.remove(at))
    };
    let asked = async {
        loop {
            let changed = client.changed.notified();
            if let Some(question) = take() {
                return question;
            }
            changed.await;
        }
    };
    timeout(ON_ITS_WAY, asked).await.map_err(|_| Trouble::refused("the agent has no open question of that kind"))
}

async fn all_idle(client: &Client) {
    client.until(|sessions| !sessions.open.values().any(Session::is_busy)).await;
}

/// Cancels all work, and gives it time to end.
async fn quit(client: &Client) {
    let busy: Vec<SessionId> = {
        let sessions = client.sessions();
        sessions.open.iter().filter(|(_, session)| session.is_busy()).map(|(id, _)| id.clone()).collect()
    };
    for id in busy {
        // This fails only if the connection has ended.
        let _ = client.connection.notify("session/cancel", json!({"sessionId": id}));
        serve::dismiss(client, &id);
    }
    let _ = timeout(LAST_WORK, all_idle(client)).await;
}
