//! `session/prompt`: from the accepted prompt to its stop reason.

use agent_client_protocol::{
    Error,
    v1::schema::{ContentBlock, ContentChunk, SessionUpdate, StopReason},
};
use serde_json::json;

use super::{
    intent::{Intent, prompt_text},
    obey,
    reply::invalid_params,
    settings,
    turn::{Cancelled, Turn},
};

/// Largest number of characters of a session title.
const TITLE: usize = 60;

/// Refuses a prompt without content, or with content of an unknown type.
pub(super) fn check(prompt: &[ContentBlock]) -> Result<(), Error> {
    let is_known = |block: &ContentBlock| {
        matches!(
            block,
            ContentBlock::Text(_)
                | ContentBlock::ResourceLink(_)
                | ContentBlock::Image(_)
                | ContentBlock::Audio(_)
                | ContentBlock::Resource(_)
        )
    };
    if prompt.is_empty() {
        return Err(invalid_params("the prompt is empty"));
    }
    if prompt.iter().all(is_known) {
        Ok(())
    } else {
        Err(invalid_params("the prompt has content of an unsupported type"))
    }
}

/// Runs a turn to its end; withdrawing the request with `$/cancel_request` cancels it too. Fails if the model does.
pub(super) async fn run(
    turn: &Turn,
    prompt: &[ContentBlock],
    withdrawn: impl Future<Output = ()>,
) -> Result<StopReason, Error> {
    let before = turn.session.record().history.len();
    remember(turn, prompt);
    if matches!(Intent::of_prompt(prompt), Ok(Intent::ModelError)) && !settings::has_fallback(&turn.session) {
        return Err(Error::internal_error().data(json!({"reason": "the model failed"})));
    }
    let mut obeyed = std::pin::pin!(obey_intent(turn, prompt));
    let obeyed = tokio::select! {
        obeyed = &mut obeyed => obeyed,
        () = withdrawn => {
            turn.session.cancel();
            obeyed.await
        }
    };
    let stop = if turn.is_cancelled() { StopReason::Cancelled } else { obeyed.unwrap_or(StopReason::Cancelled) };
    match stop {
        StopReason::Cancelled => turn.abandon_tools(),
        // A refused prompt and the following updates are not part of the conversation.
        StopReason::Refusal => turn.session.record().history.truncate(before),
        _ => {}
    }
    Ok(stop)
}

async fn obey_intent(turn: &Turn, prompt: &[ContentBlock]) -> Result<StopReason, Cancelled> {
    turn.check()?;
    match Intent::of_prompt(prompt) {
        Ok(intent) => obey::obey(turn, intent, prompt).await,
        Err(problem) => {
            turn.say(&problem);
            Ok(StopReason::EndTurn)
        }
    }
}

/// Adds the prompt to the history; the first one gives the session its title.
fn remember(turn: &Turn, prompt: &[ContentBlock]) {
    let id = turn.next_message_id();
    let title: String = prompt_text(prompt).trim().lines().next().unwrap_or_default().chars().take(TITLE).collect();
    {
        let mut record = turn.session.record();
        record.turns += 1;
        if record.title.is_none() && !title.is_empty() {
            record.title = Some(title);
        }
    }
    for block in prompt {
        let chunk = ContentChunk::new(block.clone()).message_id(id.clone());
        turn.session.remember(&SessionUpdate::UserMessageChunk(chunk));
    }
}
