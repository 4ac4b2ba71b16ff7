//! The requests that open, list, close and delete sessions.

use std::{
    collections::HashSet,
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use agent_client_protocol::{
    Error, ErrorCode,
    v1::schema::{McpServer, McpServerStdio},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    authenticate,
    errors::{Trouble, failed},
    major::{Place, Start},
    output::log,
    session::{Listed, Session, Settings, Turn},
    state::Client,
};

/// The most pages that are read; an agent that always has a next one must not hold the client forever.
const MAX_PAGES: usize = 10_000;

/// The client's instructions for the agent.
const INSTRUCTIONS: &str = "The user has no screen. Answer in plain text.";

/// Opens another session, after a login if the agent requires one.
pub(super) async fn new_session(client: &Arc<Client>) -> Result<(), Trouble> {
    client.require("sessions", |takes| takes.sessions)?;
    let opened = match open_new(client).await {
        Err(error) if error.code == ErrorCode::AUTH_REQUIRED => {
            authenticate::log_in(client).await?;
            open_new(client).await
        }
        opened => opened,
    };
    opened.map_err(|error| Trouble::failed("session/new", &error))
}

async fn open_new(client: &Arc<Client>) -> Result<(), Error> {
    let cwd = client.cwd();
    let place = place(client, cwd.clone(), &client.options.directories.0);
    let (method, params) = build_opening(client, Start::New, place);
    let noted = Arc::clone(client);
    let answer = client.connection.call(method, params, move |answer| {
        let Ok(answer) = answer else { return };
        let Some(id) = answer["sessionId"].as_str() else { return };
        noted.sessions.change(id, |session| {
            session.cwd = Some(cwd);
            session.settings = Settings::read(answer, noted.major.option_id);
        });
        noted.sessions.make_current(id);
    });
    match answer.await? {
        answer if answer["sessionId"].is_string() => Ok(()),
        _ => Err(failed("the result has no sessionId")),
    }
}

/// Opens an old session with its history.
pub(super) async fn load(client: &Arc<Client>, id: String) -> Result<(), Trouble> {
    client.require("session/load", |takes| takes.load)?;
    reopen(client, &id, Start::Load(id.clone())).await
}

/// Opens an old session without its history.
pub(super) async fn resume(client: &Arc<Client>, id: String) -> Result<(), Trouble> {
    client.require("session/resume", |takes| takes.resume)?;
    reopen(client, &id, Start::Resume(id.clone())).await
}

/// Opens an old session, which is open to the agent's requests and updates before the answer comes.
async fn reopen(client: &Arc<Client>, id: &str, start: Start) -> Result<(), Trouble> {
    let open = client.sessions.read(id, |session| (session.cwd.clone(), session.turn));
    if open.as_ref().is_some_and(|(_, turn)| *turn != Turn::Idle) {
        return Err(Trouble::refused("a turn of that session runs"));
    }
    let listed = client.sessions.listed(id);
    let known = open.and_then(|(cwd, _)| cwd).or_else(|| listed.as_ref().map(|listed| listed.cwd.clone()));
    let cwd = known.unwrap_or_else(|| client.cwd());
    let own = &client.options.directories.0;
    let directories =
        listed.filter(|_| own.is_empty()).map_or_else(|| own.clone(), |listed| listed.additional_directories);
    let (method, params) = build_opening(client, start, place(client, cwd.clone(), &directories));
    let earlier = client.sessions.replace(id, Some(Session { cwd: Some(cwd), ..Session::default() }));
    let (noted, session) = (Arc::clone(client), id.to_owned());
    let answer = client.connection.call(method, params, move |answer| match answer {
        Ok(answer) => {
            noted.sessions.change(&session, |session| session.settings = Settings::read(answer, noted.major.option_id));
            noted.sessions.make_current(&session);
        }
        Err(_) => drop(noted.sessions.replace(&session, earlier)),
    });
    answer.await.map(drop).map_err(|error| Trouble::failed(method, &error))
}

/// Closes an open session.
pub(super) async fn close(client: &Arc<Client>, id: &str) -> Result<(), Trouble> {
    client.sessions.check(id).map_err(|_| Trouble::refused("unknown session"))?;
    client.require("session/close", |takes| takes.close)?;
    client.sessions.change(id, |session| session.is_closing = true);
    client.questions.dismiss(id);
    // Separate tasks answer the dismissed questions, before the request.
    tokio::task::yield_now().await;
    end(client, "session/close", id).await?;
    client.terminals.release_session(id).await;
    Ok(())
}

/// Deletes a session from the agent's list.
pub(super) async fn delete(client: &Arc<Client>, id: &str) -> Result<(), Trouble> {
    client.require("session/delete", |takes| takes.delete)?;
    if client.sessions.check(id).is_err() && client.sessions.listed(id).is_none() {
        return Err(Trouble::refused("that session is neither open nor listed"));
    }
    end(client, "session/delete", id).await
}

/// Sends a request that ends a session, and removes the session before any later message of the agent is handled.
async fn end(client: &Arc<Client>, method: &str, id: &str) -> Result<(), Trouble> {
    // The agent does not know a session that has already ended.
    let has_failed = |error: &Error| error.code != ErrorCode::RESOURCE_NOT_FOUND;
    let (noted, ended) = (Arc::clone(client), id.to_owned());
    let answer = client.connection.call(method, json!({"sessionId": id}), move |answer| {
        if !answer.as_ref().is_err_and(has_failed) {
            noted.sessions.replace(&ended, None);
        }
    });
    match answer.await {
        Err(error) if has_failed(&error) => Err(Trouble::failed(method, &error)),
        _ => Ok(()),
    }
}

/// Makes an open session the current one.
pub(super) fn switch(client: &Client, id: &str) -> Result<(), Trouble> {
    client.sessions.check(id).map_err(|_| Trouble::refused("that session is not open"))?;
    client.sessions.make_current(id);
    Ok(())
}

/// A page of the agent's list of sessions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    sessions: Vec<Listed>,
    next_cursor: Option<String>,
}

/// Reads all pages of the list, or of the sessions in one directory.
pub(super) async fn list(client: &Client, dir: Option<&str>) -> Result<(), Trouble> {
    client.require("session/list", |takes| takes.list)?;
    let mut params = json!({});
    if let Some(dir) = dir {
        params["cwd"] = json!(client.cwd().join(dir));
    }
    for _ in 0..MAX_PAGES {
        let page = client.connection.call("session/list", params.clone(), |_| ()).await;
        let page = page.and_then(|page| Page::deserialize(page).map_err(Error::into_internal_error));
        let page = page.map_err(|error| Trouble::failed("session/list", &error))?;
        for session in page.sessions {
            log(&format!("session {} in {}", session.session_id, session.cwd.display()));
            client.sessions.add_listed(session);
        }
        match page.next_cursor {
            Some(next) => params["cursor"] = next.into(),
            None => return Ok(()),
        }
    }
    Err(Trouble::refused(format!("the list has more than {MAX_PAGES} pages")))
}

/// Builds the request that opens a session, with the client's instructions if the agent takes them.
fn build_opening(client: &Client, start: Start, place: Place) -> (&'static str, Value) {
    let (method, mut params) = (client.major.open)(start, place);
    if let Some(mode) = client.agent().takes.system_prompt {
        params["systemPrompt"] = json!({"mode": mode, "content": [{"type": "text", "text": INSTRUCTIONS}]});
    }
    (method, params)
}

/// Describes the surroundings of a session, without what the agent does not take. Servers of one name get numbers.
fn place(client: &Client, cwd: PathBuf, directories: &[PathBuf]) -> Place {
    let takes = &client.agent().takes;
    let fitting = |server: &McpServer| match server {
        McpServer::Http(server) if !takes.mcp_http => left_out(&server.name, "the agent takes no http servers"),
        McpServer::Sse(server) if !takes.mcp_sse => left_out(&server.name, "the agent takes no sse servers"),
        McpServer::Stdio(server) if !takes.mcp_stdio => left_out(&server.name, "the agent starts no servers"),
        McpServer::Stdio(server) => located(server.clone()),
        server => Some(server.clone()),
    };
    let mut names = HashSet::new();
    let servers = client.options.mcp_servers.0.iter().filter_map(fitting).map(|mut server| {
        if let Some(name) = name_of(&mut server) {
            let given = name.clone();
            for number in 2.. {
                if names.insert(name.clone()) {
                    break;
                }
                *name = format!("{given}-{number}");
            }
        }
        server
    });
    let servers = servers.collect();
    let directories = if takes.additional_directories || directories.is_empty() {
        directories.to_vec()
    } else {
        log("additional directories left out: the agent takes none");
        Vec::new()
    };
    Place { cwd, directories, servers }
}

fn name_of(server: &mut McpServer) -> Option<&mut String> {
    match server {
        McpServer::Http(server) => Some(&mut server.name),
        McpServer::Sse(server) => Some(&mut server.name),
        McpServer::Stdio(server) => Some(&mut server.name),
        _ => None,
    }
}

/// Makes the command of a server absolute, as the user's shell would find it.
fn located(mut server: McpServerStdio) -> Option<McpServer> {
    let found = if server.command.is_absolute() { Some(server.command.clone()) } else { find(&server.command) };
    match found {
        Some(command) => {
            server.command = command;
            Some(McpServer::Stdio(server))
        }
        None => left_out(&server.name, "its command is not found"),
    }
}

fn find(command: &Path) -> Option<PathBuf> {
    if command.components().count() > 1 {
        return std::path::absolute(command).ok();
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(command)).find(|path| path.is_absolute() && path.is_file())
}

fn left_out(name: &str, why: &str) -> Option<McpServer> {
    log(&format!("MCP server `{name}` left out: {why}"));
    None
}
