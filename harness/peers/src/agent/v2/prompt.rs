//! `session/prompt`: from the accepted prompt to the idle session.

use agent_client_protocol::{
    Error,
    v2::schema::{ContentBlock, MessageId, SessionInfoUpdate, SessionUpdate, StopReason, UserMessage},
};

use super::{
    intent::{self, prompt_text},
    obey::obey,
    session::Foreground,
    turn::Turn,
};
use crate::agent::{reply::invalid_params, turn::Cancelled};

/// Largest number of characters of a session title.
const TITLE: usize = 60;

/// Refuses a prompt with nothing in it, or with content of an unknown type.
pub(super) fn check(prompt: &[ContentBlock]) -> Result<(), Error> {
    if prompt.is_empty() {
        return Err(invalid_params("the prompt is empty"));
    }
    if prompt.iter().any(|block| matches!(block, ContentBlock::Other(_))) {
        return Err(invalid_params("the prompt has content of an unsupported type"));
    }
    Ok(())
}

/// Inserts a prompt into the conversation and returns the id of its message; the first one gives the session its title.
pub(super) fn insert(turn: &Turn, prompt: &[ContentBlock]) -> MessageId {
    turn.session.change_state(|state| state.foreground = Foreground::Running, None);
    let id = turn.next_message_id();
    let message = UserMessage::new(id.clone()).content(prompt.to_vec());
    turn.session.update(SessionUpdate::UserMessage(message));
    let title: String = prompt_text(prompt).trim().lines().next().unwrap_or_default().chars().take(TITLE).collect();
    let is_first = {
        let mut record = turn.session.record();
        record.turns += 1;
        let is_first = record.title.is_none() && !title.is_empty();
        if is_first {
            record.title = Some(title.clone());
        }
        is_first
    };
    if is_first {
        turn.session.update(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title)));
    }
    id
}

/// Runs the turn of an inserted prompt until the session is idle again.
pub(super) async fn run(turn: &Turn, prompt: &[ContentBlock]) {
    let obeyed = obey_intent(turn, prompt).await;
    let stop = if turn.is_cancelled() { StopReason::Cancelled } else { obeyed.unwrap_or(StopReason::Cancelled) };
    turn.abandon_tools();
    let rest = |state: &mut super::session::State| {
        state.foreground = Foreground::Idle;
        state.n_questions = 0;
    };
    turn.session.change_state(rest, Some(stop));
}

async fn obey_intent(turn: &Turn, prompt: &[ContentBlock]) -> Result<StopReason, Cancelled> {
    turn.check()?;
    match intent::of_prompt(prompt) {
        Ok(intent) => obey(turn, intent, prompt).await,
        Err(problem) => {
            turn.say(&problem);
            Ok(StopReason::EndTurn)
        }
    }
}
