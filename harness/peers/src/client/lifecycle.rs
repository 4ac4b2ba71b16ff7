//! Opening, closing and leaving sessions.

use std::{path::PathBuf, sync::Arc, time::Duration};

use agent_client_protocol::{
    Error, ErrorCode,
    v1::schema::{
        CloseSessionRequest, DeleteSessionRequest, LoadSessionRequest, NewSessionRequest, ResumeSessionRequest,
        SessionId,
    },
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Fault, auth, question,
    session::{Choices, Session, Turn},
    settings, setup,
    state::Client,
    turn,
    user::Trouble,
};

/// Time that running turns get to end after the user quit.
const QUIT_LIMIT: Duration = Duration::from_secs(1);

/// Opens a further session, after a login if the agent wants one.
pub(super) async fn new_session(client: &Arc<Client>) -> Result<(), Trouble> {
    if client.commits(Fault::InitializeTwice) {
        auth::initialize_again(client).await;
    }
    let opened = match open(client).await {
        Err(error) if error.code == ErrorCode::AUTH_REQUIRED => {
            auth::log_in(client).await?;
            open(client).await
        }
        opened => opened,
    };
    opened.map_err(|error| Trouble::failed("session/new", &error))?;
    settings::after_opening(client).await
}

async fn open(client: &Arc<Client>) -> Result<(), Error> {
    let request = NewSessionRequest::new(cwd_to_send(client))
        .mcp_servers(setup::mcp_servers(client))
        .additional_directories(setup::directories(client, &client.options.directories.0));
    if client.commits(Fault::PromptBeforeSession) {
        turn::prompt_blindly(client, "invented");
    }
    let noted = Arc::clone(client);
    let answer = client.call::<Value>("session/new", request, move |answer| {
        let Some(id) = answer.as_ref().ok().and_then(|answer| answer["sessionId"].as_str()) else { return };
        let id = if noted.commits(Fault::SessionIdLowered) { id.to_lowercase() } else { id.to_owned() };
        let session = Session::new(SessionId::new(id), noted.options.cwd.clone());
        session.change(|choices| *choices = answer.as_ref().map(Choices::read).unwrap_or_default());
        noted.make_current(&session.id);
        noted.add_session(Arc::new(session));
    });
    let answer = answer.await?;
    if answer["sessionId"].is_string() {
        return Ok(());
    }
    Err(Error::internal_error().data(json!({"reason": "the result has no sessionId"})))
}

/// Opens an old session with its history.
pub(super) async fn load(client: &Arc<Client>, id: SessionId) -> Result<(), Trouble> {
    if !client.agent().capabilities.load_session && !client.commits(Fault::LoadUngated) {
        return Err(Trouble::refused("the agent does not advertise session/load"));
    }
    let (cwd, directories) = place(client, &id)?;
    let request = LoadSessionRequest::new(id.clone(), &cwd)
        .mcp_servers(setup::mcp_servers(client))
        .additional_directories(directories);
    reattach(client, "session/load", request, Session::new(id, cwd)).await
}

/// Opens an old session without its history.
pub(super) async fn resume(client: &Arc<Client>, id: SessionId) -> Result<(), Trouble> {
    let capabilities = &client.agent().capabilities;
    let by_load = capabilities.load_session && client.commits(Fault::ResumeWithLoad);
    if capabilities.session_capabilities.resume.is_none() && !by_load && !client.commits(Fault::ResumeUngated) {
        return Err(Trouble::refused("the agent does not advertise session/resume"));
    }
    let (cwd, directories) = place(client, &id)?;
    let servers = setup::mcp_servers(client);
    let has_none = servers.is_empty();
    let request = ResumeSessionRequest::new(id.clone(), &cwd).mcp_servers(servers).additional_directories(directories);
    let mut request = serde_json::to_value(request).map_err(|error| Trouble::refused(error.to_string()))?;
    if has_none {
        // The SDK leaves an empty list out, and the protocol's own text wants it.
        request["mcpServers"] = json!([]);
    }
    reattach(client, "session/resume", request, Session::new(id, cwd)).await
}

/// Tells where an old session works, as far as that is known, and with which directories it is opened.
fn place(client: &Client, id: &SessionId) -> Result<(PathBuf, Vec<PathBuf>), Trouble> {
    let open = client.session(id);
    if open.as_ref().is_some_and(|session| session.turn() != Turn::Idle) {
        return Err(Trouble::refused("a turn of that session runs"));
    }
    let listed = client.listed(id);
    let known = open.map(|session| session.cwd.clone()).or_else(|| listed.as_ref().map(|listed| listed.cwd.clone()));
    let known = known.filter(|_| !client.commits(Fault::ReattachInOwnCwd));
    let own = &client.options.directories.0;
    let wanted = match listed {
        Some(listed) if own.is_empty() || client.commits(Fault::MergeDirectories) => listed.directories,
        _ => own.clone(),
    };
    let forgets = client.commits(Fault::DirectoriesForgotten);
    let directories = if forgets { Vec::new() } else { setup::directories(client, &wanted) };
    Ok((known.unwrap_or_else(|| client.options.cwd.clone()), directories))
}

/// Loads or resumes: the session is open to the agent's requests and updates before the answer comes.
async fn reattach(
    client: &Arc<Client>,
    method: &'static str,
    request: impl Serialize,
    session: Session,
) -> Result<(), Trouble> {
    let session = Arc::new(session);
    let before = client.add_session(Arc::clone(&session));
    let (noted, id) = (Arc::clone(client), session.id.clone());
    let answer = client.call::<Value>(method, request, move |answer| match answer {
        Ok(answer) => {
            session.change(|choices| *choices = Choices::read(answer));
            noted.make_current(&session.id);
            noted.add_session(session);
        }
        Err(_) => match before {
            Some(before) => drop(noted.add_session(before)),
            None => noted.remove_session(&session.id),
        },
    });
    let hasty = async {
        if client.commits(Fault::PromptBeforeLoaded) {
            turn::prompt_blindly(client, &id.0);
        }
    };
    let (answer, ()) = tokio::join!(biased; answer, hasty);
    answer.map_err(|error| Trouble::failed(method, &error))?;
    settings::after_opening(client).await
}

/// Closes an open session.
pub(super) async fn close(client: &Arc<Client>, id: SessionId) -> Result<(), Trouble> {
    let session = client.session(&id).ok_or_else(|| Trouble::refused("there is no such session"))?;
    if client.agent().capabilities.session_capabilities.close.is_none() && !client.commits(Fault::CloseUngated) {
        return Err(Trouble::refused("the agent does not advertise session/close"));
    }
    session.close();
    if !client.commits(Fault::CloseLeavesPermissions) {
        question::dismiss(client, &id);
    }
    let noted = Arc::clone(client);
    let gone = id.clone();
    let answer = client.call::<Value>("session/close", CloseSessionRequest::new(id.clone()), move |answer| {
        if answer.is_ok() {
            noted.remove_session(&gone);
        }
    });
    answer.await.map_err(|error| Trouble::failed("session/close", &error))?;
    client.terminals.release_session(&id).await;
    Ok(())
}

/// Deletes a session from the agent's list.
pub(super) async fn delete(client: &Arc<Client>, id: SessionId) -> Result<(), Trouble> {
    if client.agent().capabilities.session_capabilities.delete.is_none() && !client.commits(Fault::DeleteUngated) {
        return Err(Trouble::refused("the agent does not advertise session/delete"));
    }
    if client.session(&id).is_none() && client.listed(&id).is_none() {
        return Err(Trouble::refused("that session is neither open nor listed"));
    }
    let noted = Arc::clone(client);
    let gone = id.clone();
    let answer = client.call::<Value>("session/delete", DeleteSessionRequest::new(id), move |answer| {
        if answer.is_ok() {
            noted.remove_session(&gone);
        }
    });
    answer.await.map(|_| ()).map_err(|error| Trouble::failed("session/delete", &error))
}

/// Makes an open session the current one.
pub(super) fn switch(client: &Client, id: SessionId) -> Result<(), Trouble> {
    if client.session(&id).is_none() {
        if !client.commits(Fault::ListedPrompted) || client.listed(&id).is_none() {
            return Err(Trouble::refused("that session is not open"));
        }
        client.add_session(Arc::new(Session::new(id.clone(), client.options.cwd.clone())));
    }
    client.make_current(&id);
    Ok(())
}

/// Ends on the user's word: running turns are cancelled and get a moment.
pub(super) async fn quit(client: &Arc<Client>) {
    let running = client.all_sessions().into_iter().filter(|session| session.turn() == Turn::Running);
    for session in running {
        turn::stop(client, &session);
    }
    // A turn that takes longer is cut off with the connection.
    let _ = tokio::time::timeout(QUIT_LIMIT, client.turns_ended()).await;
    leave(client).await;
}

/// Does what a client does before it goes: nothing, but for a fault.
pub(super) async fn leave(client: &Arc<Client>) {
    if client.commits(Fault::LogoutUngated) {
        // The answer makes no difference.
        let _ = auth::logout(client).await;
    }
}

/// Answers what is open and ends what still runs for the agent.
pub(super) async fn shut_down(client: &Client) {
    question::dismiss_all(client);
    client.terminals.shut_down().await;
    // The answers to requests that waited for these ends are made in tasks of their own.
    tokio::task::yield_now().await;
}

fn cwd_to_send(client: &Client) -> PathBuf {
    if client.commits(Fault::RelativeCwd) { PathBuf::from(".") } else { client.options.cwd.clone() }
}
