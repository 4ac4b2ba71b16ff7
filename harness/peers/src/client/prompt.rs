//! `session/prompt`, `session/cancel` and the turn between them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agent_client_protocol::Error;
use serde_json::{Value, json};

use super::{
    act::Attachment,
    content,
    errors::{Trouble, describe},
    output::log,
    session::{Session, Turn},
    state::Client,
};

/// Time for running turns to end after the user quits.
const QUIT_LIMIT: Duration = Duration::from_secs(1);

/// Sends a prompt once the session is idle, and does not wait for the end of the turn.
pub(super) async fn prompt(client: &Arc<Client>, text: String, attach: &[Attachment]) -> Result<(), Trouble> {
    let id = client.sessions.current()?;
    client.sessions.idle(Some(&id)).await;
    let cwd = client.sessions.read(&id, |session| session.cwd.clone()).flatten().unwrap_or_default();
    let blocks = content::prompt(&client.agent().takes, &cwd, text, attach);
    let turn = if client.major.response_ends_turn { Turn::Running } else { Turn::Prompted };
    client.sessions.change(&id, |session| session.turn = turn);
    let (noted, session) = (Arc::clone(client), id.clone());
    let mut params = json!({"sessionId": id, "prompt": blocks});
    // Version 1 has no keys.
    if !client.major.response_ends_turn {
        params["idempotencyKey"] = new_key().into();
    }
    let sent = client.connection.begin("session/prompt", params, move |answer| note(&noted, &session, answer));
    let (prompt, failure) = sent.map_or_else(|error| (None, Some(error)), |prompt| (Some(prompt), None));
    client.sessions.change(&id, |session| match prompt {
        Some(prompt) => session.prompt = Some(prompt),
        None => session.end_turn(),
    });
    failure.map_or(Ok(()), |error| Err(Trouble::failed("session/prompt", &error)))
}

/// Returns a key that no other prompt has, also of another process.
fn new_key() -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    format!("prompt-{time:x}-{:x}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// Runs a slash command, which is a prompt that begins with its name.
pub(super) async fn command(client: &Arc<Client>, name: &str, input: Option<&str>) -> Result<(), Trouble> {
    let name = name.strip_prefix('/').unwrap_or(name);
    let lacks = |names: &Vec<String>| names.iter().all(|known| known != name);
    let session = client.sessions.current()?;
    if client.sessions.read(&session, |session| session.commands.as_ref().is_some_and(lacks)) == Some(true) {
        return Err(Trouble::refused(format!("the agent has no command `{name}`")));
    }
    let text = match input.filter(|input| !input.is_empty()) {
        Some(input) => format!("/{name} {input}"),
        None => format!("/{name}"),
    };
    prompt(client, text, &[]).await
}

/// Handles the response to a prompt, with any stop reason.
fn note(client: &Client, session: &str, answer: Result<Value, Error>) {
    let ends = answer.is_err() || client.major.response_ends_turn;
    let was_cancelling = client.sessions.read(session, |session| session.is_cancelling) == Some(true);
    client.sessions.change(session, |session| match ends {
        true => session.end_turn(),
        false => session.prompt = None,
    });
    if ends {
        client.printer.end_line();
    }
    match answer {
        // The error that an agent may answer to $/cancel_request.
        Err(error) if !(was_cancelling && error.code.value() == -32800) => {
            log(&format!("the turn failed: {}", describe(&error)));
            client.fail();
        }
        _ => {}
    }
}

/// Stops the running turn of the current session.
pub(super) fn cancel(client: &Client) -> Result<(), Trouble> {
    stop(client, &running(client)?);
    Ok(())
}

/// Cancels the turn of a session, and with it the open questions about it.
fn stop(client: &Client, session: &str) {
    client.sessions.change(session, |session| session.is_cancelling = true);
    // This fails only if the connection has ended.
    let _ = client.connection.notify("session/cancel", json!({"sessionId": session}));
    dismiss(client, session);
}

/// Answers the open questions of a session and of its subagents, whose work ends with its turn.
fn dismiss(client: &Client, session: &str) {
    client.questions.dismiss(session);
    client.sessions.subagents(session).iter().for_each(|subagent| dismiss(client, subagent));
}

/// Cancels the open prompt of the current session with `$/cancel_request`.
pub(super) fn cancel_request(client: &Client) -> Result<(), Trouble> {
    let id = running(client)?;
    let prompt = client.sessions.read(&id, |session| session.prompt.clone()).flatten();
    let prompt = prompt.ok_or_else(|| Trouble::refused("no prompt is open"))?;
    client.sessions.change(&id, |session| session.is_cancelling = true);
    let sent = prompt.cancel();
    dismiss(client, &id);
    sent.map_err(|error| Trouble::failed("$/cancel_request", &error))
}

fn running(client: &Client) -> Result<String, Trouble> {
    let id = client.sessions.current()?;
    let is_idle = client.sessions.read(&id, |session| session.turn == Turn::Idle) != Some(false);
    if is_idle { Err(Trouble::refused("no turn runs in the session")) } else { Ok(id) }
}

/// Cancels the last of the session's tool calls or terminals that the agent offers to cancel.
pub(super) async fn cancel_offered(
    client: &Client,
    method: &str,
    member: &str,
    offered: impl Fn(&Session) -> &[String],
) -> Result<(), Trouble> {
    let id = client.sessions.current()?;
    let last = client.sessions.read(&id, |session| offered(session).last().cloned()).flatten();
    let last = last.ok_or_else(|| Trouble::refused(format!("the agent offers no {method}")))?;
    client.act(method, json!({"sessionId": id, member: last})).await
}

/// Cancels all running turns and waits briefly; the end of the connection stops longer ones.
pub(super) async fn quit(client: &Client) {
    for session in client.sessions.busy() {
        if client.sessions.read(&session, |session| session.is_cancelling) == Some(false) {
            stop(client, &session);
        }
    }
    let _ = tokio::time::timeout(QUIT_LIMIT, client.sessions.idle(None)).await;
}
