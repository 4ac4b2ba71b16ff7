//! Permission requests, and what the user says to them.

use std::sync::Arc;

use agent_client_protocol::{
    Error,
    v1::{
        Responder,
        schema::{PermissionOption, PermissionOptionKind, RequestPermissionRequest, SessionId},
    },
};

use super::{
    Fault, Permission,
    question::{self, Matter, Question},
    serve::answer,
    state::{Client, invalid},
};

/// Answers a permission request, or leaves it open.
pub(super) fn ask(client: &Arc<Client>, request: RequestPermissionRequest, responder: Responder) -> Result<(), Error> {
    let session = match client.served_session(&request.session_id) {
        Ok(session) => session,
        Err(error) => return responder.respond_with_error(error),
    };
    if client.commits(Fault::PermissionNeedsTitle) && request.tool_call.fields.title.is_none() {
        return responder.respond_with_error(invalid("the tool call has no title"));
    }
    if client.commits(Fault::PermissionMissing) {
        return responder.respond_with_error(Error::method_not_found());
    }
    let is_late = session.is_given_up();
    let options = request.options;
    let chosen = match client.options.permission {
        _ if is_late && !client.commits(Fault::PermissionLateAsked) => Choice::TurnedDown,
        _ if client.commits(Fault::PermissionUnoffered) => Choice::Option("allow".to_owned()),
        Permission::Allow => choose(first(&options, true).or(options.first())),
        Permission::Reject => choose(first(&options, false)),
        Permission::Hold if is_late => choose(options.first()),
        Permission::Hold => Choice::Open,
    };
    let held = is_late && client.commits(Fault::PermissionLeftOpen);
    match chosen {
        Choice::Option(option) => return answer(responder, Ok(question::select(option))),
        Choice::TurnedDown if !held => question::turn_down(client, asked(request.session_id, options, responder)),
        _ => question::hold(client, asked(request.session_id, options, responder)),
    }
    Ok(())
}

/// What becomes of a permission request.
enum Choice {
    Option(String),
    Open,
    TurnedDown,
}

/// Takes an option; without one the user cannot say what they want, and nothing may be taken for a yes.
fn choose(option: Option<&PermissionOption>) -> Choice {
    option.map_or(Choice::TurnedDown, |option| Choice::Option(option.option_id.0.to_string()))
}

fn asked(session: SessionId, options: Vec<PermissionOption>, responder: Responder) -> Question {
    Question { session: Some(session), matter: Matter::Permission(options), responder }
}

/// Finds the first option that allows, or the first that rejects.
fn first(options: &[PermissionOption], allows: bool) -> Option<&PermissionOption> {
    let is_allowing = |kind| matches!(kind, PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowAlways);
    options.iter().find(|option| is_allowing(option.kind) == allows)
}
