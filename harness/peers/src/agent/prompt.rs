//! `session/prompt`: from the accepted prompt to its stop reason.

use agent_client_protocol::Error;
use serde_json::{Value, json};

use super::{
    errors::invalid_params,
    intent::{Intent, prompt_text},
    obey::obey,
    turn::{Cancelled, Turn},
    update::{Block, Foreground, State, Stop, Update},
};

/// Largest number of characters of a session title.
const TITLE: usize = 60;

/// Returns the prompt; refuses one without content, or with content of an unknown type.
pub(super) fn check(prompt: Vec<Block>) -> Result<Vec<Block>, Error> {
    if prompt.is_empty() {
        return Err(invalid_params("the prompt is empty"));
    }
    if prompt.iter().all(|block| ["text", "image", "audio", "resource_link", "resource"].contains(&block.kind())) {
        Ok(prompt)
    } else {
        Err(invalid_params("the prompt has content of an unsupported type"))
    }
}

/// Reads the key by which the client marks the attempts at one prompt.
pub(super) fn key(value: &Value) -> Result<Option<String>, Error> {
    match value {
        Value::Null => Ok(None),
        Value::String(key) if (1..=255).contains(&key.chars().count()) => Ok(Some(key.clone())),
        _ => Err(invalid_params("the idempotencyKey is not a text of 1 to 255 characters")),
    }
}

/// Inserts a prompt into the conversation and returns the id of its message; the first one gives the session its title.
pub(super) fn insert(turn: &Turn, content: Vec<Block>, key: Option<String>) -> String {
    let session = &turn.session;
    session.change_state(|state| state.foreground = Foreground::Running, None);
    let id = turn.next_message_id();
    let title: String = prompt_text(&content).trim().lines().next().unwrap_or_default().chars().take(TITLE).collect();
    let message = Update::UserMessage(id.clone(), content);
    let is_first = {
        let mut record = session.record();
        record.turns += 1;
        record.keys.extend(key.map(|key| (key, id.clone())));
        record.title.is_none() && !title.is_empty()
    };
    if is_first {
        session.record().title = Some(title.clone());
    }
    // In version 1 the client shows the prompt itself.
    if !turn.client.is_v2() {
        session.remember(&message);
        return id;
    }
    session.update(message);
    if is_first {
        session.update(Update::Alike(json!({"sessionUpdate": "session_info_update", "title": title})));
    }
    id
}

/// Runs the turn of an inserted prompt to its end.
pub(super) async fn run(turn: &Turn, prompt: &[Block]) -> Stop {
    let n_before = turn.session.record().history.len();
    let obeyed = obey_intent(turn, prompt).await;
    let stop = if turn.is_cancelled() { Stop::Cancelled } else { obeyed.unwrap_or(Stop::Cancelled) };
    turn.abandon_tools();
    if stop == Stop::Refusal && !turn.client.is_v2() {
        // In version 1 a refused prompt and the following updates are not part of the conversation.
        turn.session.record().history.truncate(n_before.saturating_sub(1));
    }
    let rest = |state: &mut State| {
        state.foreground = Foreground::Idle;
        state.n_questions = 0;
    };
    turn.session.change_state(rest, Some(stop));
    stop
}

async fn obey_intent(turn: &Turn, prompt: &[Block]) -> Result<Stop, Cancelled> {
    turn.check()?;
    match Intent::of_prompt(prompt) {
        Ok(intent) => obey(turn, intent, prompt).await,
        Err(problem) => {
            turn.say(&problem);
            Ok(Stop::EndTurn)
        }
    }
}
