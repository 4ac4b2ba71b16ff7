//! `session/new`, `session/load`, `session/resume`, `session/close` and `session/delete`.

use std::{path::PathBuf, sync::Arc};

use agent_client_protocol::{
    Error, ErrorCode,
    v1::schema::{
        CloseSessionRequest, DeleteSessionRequest, LoadSessionRequest, McpServer, NewSessionRequest,
        ResumeSessionRequest, SessionId,
    },
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    authenticate,
    errors::failed,
    mcp,
    output::log,
    session::{Choices, Session, Turn},
    state::{Client, Trouble},
};

/// Opens another session, after a login if the agent requires one.
pub(super) async fn new_session(client: &Arc<Client>) -> Result<(), Trouble> {
    let opened = match open(client).await {
        Err(error) if error.code == ErrorCode::AUTH_REQUIRED => {
            authenticate::log_in(client).await?;
            open(client).await
        }
        opened => opened,
    };
    opened.map_err(|error| Trouble::failed("session/new", &error))
}

async fn open(client: &Arc<Client>) -> Result<(), Error> {
    let cwd = client.cwd();
    let request = NewSessionRequest::new(&cwd)
        .mcp_servers(mcp_servers(client))
        .additional_directories(directories(client, &client.options.directories.0));
    let noted = Arc::clone(client);
    let answer = client.connection.call::<Value>("session/new", request, move |answer| {
        let Ok(answer) = answer else { return };
        let Some(id) = answer["sessionId"].as_str() else { return };
        let session = Session::new(SessionId::new(id), cwd);
        session.change(|choices| *choices = Choices::read(answer));
        noted.sessions.make_current(&session.id);
        noted.sessions.add(Arc::new(session));
    });
    match answer.await? {
        answer if answer["sessionId"].is_string() => Ok(()),
        _ => Err(failed("the result has no sessionId")),
    }
}

/// Opens an old session with its history.
pub(super) async fn load(client: &Arc<Client>, id: SessionId) -> Result<(), Trouble> {
    if !client.agent().capabilities.load_session {
        return Err(Trouble::refused("the agent does not advertise session/load"));
    }
    let (cwd, directories) = place(client, &id)?;
    let request =
        LoadSessionRequest::new(id.clone(), &cwd).mcp_servers(mcp_servers(client)).additional_directories(directories);
    reattach(client, "session/load", request, Session::new(id, cwd)).await
}

/// Opens an old session without its history.
pub(super) async fn resume(client: &Arc<Client>, id: SessionId) -> Result<(), Trouble> {
    if client.agent().capabilities.session_capabilities.resume.is_none() {
        return Err(Trouble::refused("the agent does not advertise session/resume"));
    }
    let (cwd, directories) = place(client, &id)?;
    let servers = mcp_servers(client);
    let has_none = servers.is_empty();
    let request = ResumeSessionRequest::new(id.clone(), &cwd).mcp_servers(servers).additional_directories(directories);
    let mut request = serde_json::to_value(request).map_err(|error| Trouble::refused(error.to_string()))?;
    if has_none {
        // The SDK omits an empty list, and the text of the protocol requires it.
        request["mcpServers"] = json!([]);
    }
    reattach(client, "session/resume", request, Session::new(id, cwd)).await
}

/// Returns the directory of an old session, and the additional ones to open it with.
fn place(client: &Client, id: &SessionId) -> Result<(PathBuf, Vec<PathBuf>), Trouble> {
    let open = client.sessions.find(id);
    if open.as_ref().is_some_and(|session| session.turn() != Turn::Idle) {
        return Err(Trouble::refused("a turn of that session runs"));
    }
    let listed = client.sessions.listed(id);
    let known = open.map(|session| session.cwd.clone()).or_else(|| listed.as_ref().map(|listed| listed.cwd.clone()));
    let own = &client.options.directories.0;
    let wanted = match listed {
        Some(listed) if own.is_empty() => listed.directories,
        _ => own.clone(),
    };
    Ok((known.unwrap_or_else(|| client.cwd()), directories(client, &wanted)))
}

/// Loads or resumes: the session is open to the agent's requests and updates before the answer comes.
async fn reattach(
    client: &Arc<Client>,
    method: &'static str,
    request: impl Serialize,
    session: Session,
) -> Result<(), Trouble> {
    let session = Arc::new(session);
    let before = client.sessions.add(Arc::clone(&session));
    let noted = Arc::clone(client);
    let answer = client.connection.call::<Value>(method, request, move |answer| match answer {
        Ok(answer) => {
            session.change(|choices| *choices = Choices::read(answer));
            noted.sessions.make_current(&session.id);
            noted.sessions.add(session);
        }
        Err(_) => match before {
            Some(before) => drop(noted.sessions.add(before)),
            None => noted.sessions.remove(&session.id),
        },
    });
    answer.await.map(drop).map_err(|error| Trouble::failed(method, &error))
}

/// Closes an open session.
pub(super) async fn close(client: &Arc<Client>, id: SessionId) -> Result<(), Trouble> {
    let session = client.sessions.find(&id).ok_or_else(|| Trouble::refused("unknown session"))?;
    if client.agent().capabilities.session_capabilities.close.is_none() {
        return Err(Trouble::refused("the agent does not advertise session/close"));
    }
    session.close();
    client.questions.dismiss(&id);
    end(client, "session/close", CloseSessionRequest::new(id.clone()), id.clone()).await?;
    client.terminals.release_session(&id).await;
    Ok(())
}

/// Deletes a session from the agent's list.
pub(super) async fn delete(client: &Arc<Client>, id: SessionId) -> Result<(), Trouble> {
    if client.agent().capabilities.session_capabilities.delete.is_none() {
        return Err(Trouble::refused("the agent does not advertise session/delete"));
    }
    if client.sessions.find(&id).is_none() && client.sessions.listed(&id).is_none() {
        return Err(Trouble::refused("that session is neither open nor listed"));
    }
    end(client, "session/delete", DeleteSessionRequest::new(id.clone()), id).await
}

/// Sends a request that ends a session, and removes the session when the agent has ended it.
async fn end(client: &Arc<Client>, method: &str, request: impl Serialize, id: SessionId) -> Result<(), Trouble> {
    let noted = Arc::clone(client);
    let answer = client.connection.call::<Value>(method, request, move |answer| {
        if answer.is_ok() {
            noted.sessions.remove(&id);
        }
    });
    answer.await.map(drop).map_err(|error| Trouble::failed(method, &error))
}

/// Makes an open session the current one.
pub(super) fn switch(client: &Client, id: &SessionId) -> Result<(), Trouble> {
    if client.sessions.find(id).is_none() {
        return Err(Trouble::refused("that session is not open"));
    }
    client.sessions.make_current(id);
    Ok(())
}

fn mcp_servers(client: &Client) -> Vec<McpServer> {
    mcp::servers(&client.options.mcp_servers.0, &client.agent().capabilities.mcp_capabilities)
}

/// Returns those of the user's additional directories that may be sent.
fn directories(client: &Client, wanted: &[PathBuf]) -> Vec<PathBuf> {
    if client.agent().capabilities.session_capabilities.additional_directories.is_some() {
        return wanted.to_vec();
    }
    if !wanted.is_empty() {
        log("additional directories left out: the agent takes none");
    }
    Vec::new()
}
