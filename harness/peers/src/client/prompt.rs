//! `session/prompt`, `session/cancel` and the turn between them.

use std::{sync::Arc, time::Duration};

use agent_client_protocol::{
    Error,
    v1::schema::{CancelNotification, PromptRequest},
};
use serde_json::Value;

use super::{
    act::Attachment,
    content,
    errors::describe,
    output::log,
    session::{Session, Turn},
    state::{Client, Trouble},
};

/// Time for running turns to end after the user quits.
const QUIT_LIMIT: Duration = Duration::from_secs(1);

/// Sends a prompt once the session is idle, and does not wait for the end of the turn.
pub(super) async fn prompt(client: &Arc<Client>, text: String, attach: &[Attachment]) -> Result<(), Trouble> {
    let session = client.sessions.current().ok_or_else(|| Trouble::refused("no session is open"))?;
    session.idle().await;
    let takes = &client.agent().capabilities.prompt_capabilities;
    let request = PromptRequest::new(session.id.clone(), content::prompt(takes, &session.cwd, text, attach));
    client.sessions.begin_turn(&session);
    let (noted, ended) = (Arc::clone(client), Arc::clone(&session));
    match client.connection.begin::<Value>("session/prompt", request, move |answer| end(&noted, &ended, answer)) {
        Ok(handle) => {
            session.set_prompt(Some(handle));
            Ok(())
        }
        Err(error) => {
            client.sessions.end_turn(&session);
            Err(Trouble::failed("session/prompt", &error))
        }
    }
}

/// Runs a slash command, which is a prompt that begins with its name.
pub(super) async fn command(client: &Arc<Client>, name: &str, input: Option<&str>) -> Result<(), Trouble> {
    let name = name.strip_prefix('/').unwrap_or(name);
    if client.sessions.current().is_some_and(|session| session.lacks_command(name)) {
        return Err(Trouble::refused(format!("the agent has no command `{name}`")));
    }
    let text = match input.filter(|input| !input.is_empty()) {
        Some(input) => format!("/{name} {input}"),
        None => format!("/{name}"),
    };
    prompt(client, text, &[]).await
}

/// Ends a turn with any stop reason.
fn end(client: &Client, session: &Session, answer: Result<Value, Error>) {
    client.printer.end_line();
    if let Err(error) = answer {
        // The error that an agent may answer to $/cancel_request.
        let is_cancelled = error.code.value() == -32800 && session.turn() == Turn::Cancelling;
        if !is_cancelled {
            log(&format!("the turn failed: {}", describe(&error)));
            client.fail();
        }
    }
    client.sessions.end_turn(session);
}

/// Stops the running turn of the current session.
pub(super) fn cancel(client: &Client) -> Result<(), Trouble> {
    stop(client, &*running(client)?);
    Ok(())
}

/// Cancels the turn of a session, and with it the open questions about it.
fn stop(client: &Client, session: &Session) {
    session.set_turn(Turn::Cancelling);
    // This fails only if the connection has ended.
    let _ = client.connection.notify("session/cancel", CancelNotification::new(session.id.clone()));
    client.questions.dismiss(&session.id);
}

/// Cancels the open prompt of the current session with `$/cancel_request`.
pub(super) fn cancel_request(client: &Client) -> Result<(), Trouble> {
    let session = running(client)?;
    let prompt = session.prompt().ok_or_else(|| Trouble::refused("no prompt is open"))?;
    session.set_turn(Turn::Cancelling);
    let sent = prompt.cancel();
    client.questions.dismiss(&session.id);
    sent.map_err(|error| Trouble::failed("$/cancel_request", &error))
}

fn running(client: &Client) -> Result<Arc<Session>, Trouble> {
    let session = client.sessions.current().ok_or_else(|| Trouble::refused("no session is open"))?;
    if session.turn() == Turn::Idle {
        return Err(Trouble::refused("no turn runs in the session"));
    }
    Ok(session)
}

/// Cancels all running turns and waits briefly; the end of the connection stops longer ones.
pub(super) async fn quit(client: &Client) {
    let sessions = client.sessions.all();
    sessions.iter().filter(|session| session.turn() == Turn::Running).for_each(|session| stop(client, session));
    let _ = tokio::time::timeout(QUIT_LIMIT, client.sessions.turns_ended()).await;
}
