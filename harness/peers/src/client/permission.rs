//! `session/request_permission`: the agent asks whether it may use a tool.

use agent_client_protocol::{
    Error,
    v1::{
        Responder,
        schema::{
            PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
            RequestPermissionResponse, SelectedPermissionOutcome,
        },
    },
};

use super::{
    options::Permission,
    question::{Matter, Question, Questions, answer},
    session::Sessions,
};

/// Answers a permission request, or leaves it open for the user.
pub(super) fn ask(
    sessions: &Sessions,
    questions: &Questions,
    user: Permission,
    request: RequestPermissionRequest,
    responder: Responder,
) -> Result<(), Error> {
    let session = match sessions.named(&request.session_id) {
        Ok(session) => session,
        Err(error) => return responder.respond_with_error(error),
    };
    let options = &request.options;
    let chosen = match user {
        Permission::Allow => first(options, true).or(options.first()),
        Permission::Reject => first(options, false),
        Permission::Hold => None,
    };
    if let Some(option) = chosen.filter(|_| !session.is_given_up()) {
        return answer(responder, Ok(select(&option.option_id.0)));
    }
    let waits = user == Permission::Hold && !session.is_given_up();
    let question =
        Question { session: Some(request.session_id), matter: Matter::Permission(request.options), responder };
    // Without a matching option, the user cannot express a decision, and `cancelled` allows nothing.
    if waits {
        questions.hold(question)
    } else {
        question.turn_down()
    }
    Ok(())
}

/// Answers the oldest open permission request with the user's option.
pub(super) async fn decide(sessions: &Sessions, questions: &Questions, option: &str) -> Result<(), String> {
    let responder = questions.take_permission(sessions, option).await?;
    // This fails only if the connection has ended.
    let _ = answer(responder, Ok(select(option)));
    Ok(())
}

fn select(option: &str) -> RequestPermissionResponse {
    let selected = SelectedPermissionOutcome::new(option.to_owned());
    RequestPermissionResponse::new(RequestPermissionOutcome::Selected(selected))
}

/// Finds the first option that allows, or the first that rejects.
fn first(options: &[PermissionOption], allows: bool) -> Option<&PermissionOption> {
    let is_allowing = |kind| matches!(kind, PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowAlways);
    options.iter().find(|option| is_allowing(option.kind) == allows)
}
