//! Permission requests and their answers.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, ToolCallUpdate, ToolCallUpdateFields,
};

use super::{
    tool::Tool,
    turn::{Cancelled, Turn},
};

const OPTIONS: [(&str, &str, PermissionOptionKind); 4] = [
    ("allow-once", "Allow", PermissionOptionKind::AllowOnce),
    ("allow-always", "Always allow", PermissionOptionKind::AllowAlways),
    ("reject-once", "Reject", PermissionOptionKind::RejectOnce),
    ("reject-always", "Always reject", PermissionOptionKind::RejectAlways),
];

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
pub(super) async fn ask(turn: &Turn, tool: &Tool<'_>) -> Result<Answer, Cancelled> {
    match turn.session.decision(tool.kind) {
        Some(true) => Ok(Answer::Allowed),
        Some(false) => Ok(Answer::Rejected),
        None => ask_once(turn, tool).await,
    }
}

/// Asks the user in any case.
///
/// After a cancel the client must answer with the outcome `cancelled`; the agent waits for that answer for a short time.
pub(super) async fn ask_once(turn: &Turn, tool: &Tool<'_>) -> Result<Answer, Cancelled> {
    let options = OPTIONS.map(|(id, name, kind)| PermissionOption::new(id, name, kind));
    let call = ToolCallUpdate::new(tool.id.clone(), ToolCallUpdateFields::new());
    let request = RequestPermissionRequest::new(turn.session.id.clone(), call, options.into());
    let response = turn.request_to_end(request).await;
    let answer = match response {
        Some(Ok(response)) => read_answer(turn, tool, &response),
        Some(Err(_)) | None => Answer::Rejected,
    };
    match answer {
        Answer::Dismissed => {
            // The cancel that explains the outcome may follow it.
            turn.pause(std::time::Duration::from_millis(100)).await?;
            Ok(answer)
        }
        _ => turn.check().map(|()| answer),
    }
}

/// Ends a tool call that the user did not allow.
pub(super) fn refuse(turn: &Turn, tool: Tool<'_>, answer: Answer) {
    tool.fail(answer.word());
    turn.say(&format!("It was not done, permission was {}.", answer.word()));
}

fn read_answer(turn: &Turn, tool: &Tool<'_>, response: &RequestPermissionResponse) -> Answer {
    let RequestPermissionOutcome::Selected(selected) = &response.outcome else { return Answer::Dismissed };
    let chosen = OPTIONS.iter().find(|(id, ..)| *id == &*selected.option_id.0);
    // An option that the agent did not offer does not allow anything.
    let Some((.., kind)) = chosen else { return Answer::Rejected };
    match kind {
        PermissionOptionKind::AllowAlways => turn.session.decide(tool.kind, true),
        PermissionOptionKind::RejectAlways => turn.session.decide(tool.kind, false),
        _ => {}
    }
    match kind {
        PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowAlways => Answer::Allowed,
        _ => Answer::Rejected,
    }
}
