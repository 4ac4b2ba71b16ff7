//! One prompt: from the user's words to the end of the turn, or to its cancellation.

use std::sync::Arc;

use agent_client_protocol::{
    Error,
    v1::schema::{CancelNotification, ContentBlock, PromptRequest, SessionId},
};
use serde_json::Value;

use super::{
    Fault,
    act::Attachment,
    content,
    output::log,
    question,
    session::{Session, Turn},
    state::{Client, describe},
    user::Trouble,
};

/// Gives a prompt to the agent once the session is idle, and does not wait for the end of the turn.
pub(super) async fn prompt(client: &Arc<Client>, text: String, attach: &[Attachment]) -> Result<(), Trouble> {
    let session = client.current().ok_or_else(|| Trouble::refused("no session is open"))?;
    if !client.commits(Fault::OverlappingPrompts) {
        session.idle().await;
    }
    let prompt = content::prompt(client, &session, text, attach);
    begin(client, &session, prompt).map_err(|error| Trouble::failed("session/prompt", &error))?;
    if let Some(reason) = last_straw(client, &session) {
        client.die(reason);
    }
    Ok(())
}

/// Tells why a fault ends the client in the middle of its turn.
fn last_straw(client: &Client, session: &Session) -> Option<&'static str> {
    let agent = client.agent();
    let straws = [
        (Fault::DieOnMinimalInitialize, agent.is_minimal, "the agent sent no promptCapabilities"),
        (Fault::DieOnUnknownCapability, agent.is_strange, "a capability is unknown"),
        (Fault::DieWithoutOptions, session.choices().options.is_none(), "the session has no options"),
    ];
    straws.into_iter().find(|(fault, is_met, _)| *is_met && client.commits(*fault)).map(|(_, _, reason)| reason)
}

/// Runs a slash command, which is a prompt that begins with its name.
pub(super) async fn command(client: &Arc<Client>, name: &str, input: Option<&str>) -> Result<(), Trouble> {
    let name = name.strip_prefix('/').unwrap_or(name);
    let input = input.filter(|input| !input.is_empty());
    let text = match input {
        _ if client.commits(Fault::CommandNameDropped) => input.unwrap_or_default().to_owned(),
        Some(input) => format!("/{name} {input}"),
        None => format!("/{name}"),
    };
    prompt(client, text, &[]).await
}

fn begin(client: &Arc<Client>, session: &Arc<Session>, prompt: Vec<ContentBlock>) -> Result<(), Error> {
    session.set_turn(Turn::Running);
    client.count_turns(|n_running| *n_running += 1);
    let request = PromptRequest::new(session.id.clone(), prompt);
    let (noted, ended) = (Arc::clone(client), Arc::clone(session));
    let handle = client.begin::<Value>("session/prompt", request, move |answer| end(&noted, &ended, answer));
    match handle {
        Ok(handle) => {
            session.set_prompt(Some(handle));
            Ok(())
        }
        Err(error) => {
            idle(client, session);
            Err(error)
        }
    }
}

/// Takes the end of a turn, whatever its stop reason is.
fn end(client: &Client, session: &Session, answer: Result<Value, Error>) {
    client.printer.end_line();
    let was_given_up = session.turn() == Turn::Cancelling;
    match &answer {
        Ok(answer) => {
            let reason = answer["stopReason"].as_str().unwrap_or_default();
            if client.commits(Fault::StuckOnStopReason) && reason != "end_turn" {
                return;
            }
        }
        // The error that an agent may answer to $/cancel_request.
        Err(error) if error.code.value() == -32800 && was_given_up => {}
        Err(error) => {
            log(&format!("the turn failed: {}", describe(error)));
            client.fail();
            if error.code == agent_client_protocol::ErrorCode::AUTH_REQUIRED && client.commits(Fault::DieOnLogout) {
                return client.die("an open session wants a login");
            }
        }
    }
    idle(client, session);
}

fn idle(client: &Client, session: &Session) {
    session.set_prompt(None);
    session.set_turn(Turn::Idle);
    client.count_turns(|n_running| *n_running = n_running.saturating_sub(1));
}

/// Stops the running turn of the current session.
pub(super) fn cancel(client: &Client) -> Result<(), Trouble> {
    let session = running(client)?;
    stop(client, &session);
    Ok(())
}

/// Cancels the turn of a session, and with it the open questions about it.
pub(super) fn stop(client: &Client, session: &Session) {
    session.set_turn(Turn::Cancelling);
    // Fails only when the connection has ended.
    let _ = client.notify("session/cancel", CancelNotification::new(session.id.clone()));
    question::dismiss(client, &session.id);
}

/// Gives the open prompt of the current session up, without a word to the session itself.
pub(super) fn cancel_request(client: &Client) -> Result<(), Trouble> {
    let session = running(client)?;
    let prompt = session.prompt().ok_or_else(|| Trouble::refused("no prompt is open"))?;
    session.set_turn(Turn::Cancelling);
    let sent = prompt.cancel();
    question::dismiss(client, &session.id);
    sent.map_err(|error| Trouble::failed("$/cancel_request", &error))
}

fn running(client: &Client) -> Result<Arc<Session>, Trouble> {
    let session = client.current().ok_or_else(|| Trouble::refused("no session is open"))?;
    if session.turn() == Turn::Idle {
        return Err(Trouble::refused("no turn runs in the session"));
    }
    Ok(session)
}

/// Prompts a session that nobody opened yet, on behalf of a fault.
pub(super) fn prompt_blindly(client: &Client, session: &str) {
    let request = PromptRequest::new(SessionId::new(session), vec!["Hello".into()]);
    // The answer makes no difference.
    let _ = client.begin::<Value>("session/prompt", request, |_| ());
}
