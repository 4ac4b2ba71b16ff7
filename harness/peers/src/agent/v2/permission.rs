//! Permission requests and their answers.

use agent_client_protocol::v2::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, RequestPermissionSubject, ToolCallPermissionSubject, ToolCallUpdate,
};

use super::{tool::Tool, turn::Turn};
use crate::agent::{permission::Answer, turn::Cancelled};

const OPTIONS: [(&str, &str, PermissionOptionKind); 4] = [
    ("allow-once", "Allow", PermissionOptionKind::AllowOnce),
    ("allow-always", "Always allow", PermissionOptionKind::AllowAlways),
    ("reject-once", "Reject", PermissionOptionKind::RejectOnce),
    ("reject-always", "Always reject", PermissionOptionKind::RejectAlways),
];

/// Returns the tool call as the subject of a permission request.
pub(super) fn about_call(tool: &Tool<'_>) -> RequestPermissionSubject {
    let call = ToolCallUpdate::new(tool.id.clone());
    RequestPermissionSubject::ToolCall(Box::new(ToolCallPermissionSubject::new(call)))
}

/// Asks the user unless an "always" option was chosen for such calls before.
pub(super) async fn ask(
    turn: &Turn,
    tool: &Tool<'_>,
    title: &str,
    subject: RequestPermissionSubject,
) -> Result<Answer, Cancelled> {
    match turn.session.decision(&tool.kind) {
        Some(true) => Ok(Answer::Allowed),
        Some(false) => Ok(Answer::Rejected),
        None => ask_once(turn, tool, title, subject).await,
    }
}

/// Asks the user in any case. A cancel withdraws the request.
pub(super) async fn ask_once(
    turn: &Turn,
    tool: &Tool<'_>,
    title: &str,
    subject: RequestPermissionSubject,
) -> Result<Answer, Cancelled> {
    let options = OPTIONS.map(|(id, name, kind)| PermissionOption::new(id, name, kind));
    let request = RequestPermissionRequest::new(turn.session.id.clone(), title, options.into()).subject(subject);
    Ok(match turn.ask(request).await? {
        Ok(response) => read_answer(turn, tool, &response),
        Err(_) => Answer::Rejected,
    })
}

/// Ends a tool call that the user did not allow.
pub(super) fn refuse(turn: &Turn, tool: Tool<'_>, answer: Answer) {
    tool.fail(answer.word());
    turn.say(&format!("It was not done, permission was {}.", answer.word()));
}

fn read_answer(turn: &Turn, tool: &Tool<'_>, response: &RequestPermissionResponse) -> Answer {
    let selected = match &response.outcome {
        RequestPermissionOutcome::Selected(selected) => selected,
        RequestPermissionOutcome::Cancelled(_) => return Answer::Dismissed,
        // An unknown outcome does not approve anything.
        _ => return Answer::Rejected,
    };
    let chosen = OPTIONS.iter().find(|(id, ..)| *id == &*selected.option_id.0);
    // An option that the agent did not offer does not allow anything.
    let Some((.., kind)) = chosen else { return Answer::Rejected };
    match kind {
        PermissionOptionKind::AllowAlways => turn.session.decide(tool.kind.clone(), true),
        PermissionOptionKind::RejectAlways => turn.session.decide(tool.kind.clone(), false),
        _ => {}
    }
    match kind {
        PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowAlways => Answer::Allowed,
        _ => Answer::Rejected,
    }
}
