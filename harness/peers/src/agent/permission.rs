//! Permission requests and their answers.

use std::{path::PathBuf, time::Duration};

use agent_client_protocol::UntypedMessage;
use serde_json::Value;

use super::{
    tool::Tool,
    turn::{Cancelled, Turn},
    wire::Question,
};

/// Time for a cancel that follows the outcome `cancelled`.
const CANCEL_FOLLOWS: Duration = Duration::from_millis(100);

/// The user's decision about one tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// An allow option was chosen.
    Allowed,
    /// A reject option was chosen, or the answer is not an approval.
    Rejected,
    /// The outcome was `cancelled` although the turn continues.
    Dismissed,
}

impl Answer {
    /// Returns the word that the agent uses for the answer in its messages.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Rejected => "rejected",
            Self::Dismissed => "cancelled",
        }
    }
}

/// Asks the user unless an "always" option was chosen for calls of this kind before.
pub(super) async fn ask(
    turn: &Turn,
    tool: &Tool<'_>,
    title: &str,
    command: Option<(String, PathBuf)>,
) -> Result<Answer, Cancelled> {
    match turn.session.decision(&tool.kind) {
        Some(true) => Ok(Answer::Allowed),
        Some(false) => Ok(Answer::Rejected),
        None => ask_once(turn, tool, title, command).await,
    }
}

/// Asks the user in any case.
pub(super) async fn ask_once(
    turn: &Turn,
    tool: &Tool<'_>,
    title: &str,
    command: Option<(String, PathBuf)>,
) -> Result<Answer, Cancelled> {
    let question = Question { title: title.to_owned(), tool: tool.id.clone(), command };
    let request = turn.client.wire.permission(&turn.session.id, &question);
    if turn.client.is_v2() {
        return Ok(turn.ask(request).await?.map_or(Answer::Rejected, |answer| read(turn, tool, &answer)));
    }
    // In version 1 the client must answer with the outcome `cancelled` after a cancel; the agent waits a short time for
    // it.
    let response = match request {
        Ok(request) => turn.request_to_end::<UntypedMessage>(request).await,
        Err(error) => Some(Err(error)),
    };
    let answer = response.and_then(Result::ok).map_or(Answer::Rejected, |answer| read(turn, tool, &answer));
    if answer == Answer::Dismissed {
        // The cancel that explains the outcome may follow it.
        turn.pause(CANCEL_FOLLOWS).await?;
    }
    turn.check().map(|()| answer)
}

/// Ends a tool call that the user did not allow.
pub(super) fn refuse(turn: &Turn, tool: Tool<'_>, answer: Answer) {
    tool.fail(answer.word());
    turn.say(&format!("It was not done, permission was {}.", answer.word()));
}

/// Reads an answer, and remembers an "always".
fn read(turn: &Turn, tool: &Tool<'_>, answer: &Value) -> Answer {
    let outcome = &answer["outcome"];
    let option = match outcome["outcome"].as_str() {
        Some("selected") => outcome["optionId"].as_str(),
        Some("cancelled") => return Answer::Dismissed,
        // An unknown outcome does not approve anything.
        _ => None,
    };
    let (is_allowed, is_lasting) = match option {
        Some("allow-once") => (true, false),
        Some("allow-always") => (true, true),
        Some("reject-always") => (false, true),
        // An option that the agent did not offer does not allow anything.
        _ => (false, false),
    };
    if is_lasting {
        turn.session.decide(&tool.kind, is_allowed);
    }
    if is_allowed { Answer::Allowed } else { Answer::Rejected }
}
