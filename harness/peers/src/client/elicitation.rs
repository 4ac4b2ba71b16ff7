//! `elicitation/create`: the agent asks the user to fill in a form or to visit a URL.
//!
//! A URL is never opened: this user agrees to a visit and does not make it.

use agent_client_protocol::{
    Error,
    v1::{
        Responder,
        schema::{
            CreateElicitationRequest, CreateElicitationResponse, ElicitationAcceptAction, ElicitationAction,
            ElicitationMode, ElicitationScope,
        },
    },
};

use super::{
    act::Action,
    errors::invalid,
    form,
    options::{Feature, Options, Permission},
    question::{Matter, Question, Questions, answer},
    session::Sessions,
};

/// Answers an elicitation, or leaves it open for the user.
pub(super) fn ask(
    sessions: &Sessions,
    questions: &Questions,
    options: &Options,
    request: CreateElicitationRequest,
    responder: Responder,
) -> Result<(), Error> {
    let (forms, urls) = (options.with(Feature::ElicitationForm), options.with(Feature::ElicitationUrl));
    if !forms && !urls {
        return responder.respond_with_error(Error::method_not_found());
    }
    let is_served = match &request.mode {
        ElicitationMode::Form(_) => forms,
        ElicitationMode::Url(_) => urls,
        _ => false,
    };
    if !is_served {
        return responder.respond_with_error(invalid("the mode is not advertised"));
    }
    let session = match request.mode.scope() {
        ElicitationScope::Session(scope) => Some(sessions.named(&scope.session_id)),
        _ => None,
    };
    let session = match session.transpose() {
        Ok(session) => session,
        Err(error) => return responder.respond_with_error(error),
    };
    let id = session.as_ref().map(|session| session.id.clone());
    if session.is_some_and(|session| session.is_given_up()) {
        Question { session: id, matter: Matter::Elicitation(Box::new(request.mode)), responder }.turn_down();
        return Ok(());
    }
    let action = match options.permission {
        Permission::Hold => {
            questions.hold(Question { session: id, matter: Matter::Elicitation(Box::new(request.mode)), responder });
            return Ok(());
        }
        Permission::Reject => ElicitationAction::Decline,
        Permission::Allow => accept(&request.mode),
    };
    answer(responder, Ok(CreateElicitationResponse::new(action)))
}

/// Answers the oldest open elicitation with the user's decision.
pub(super) async fn answer_oldest(sessions: &Sessions, questions: &Questions, action: Action) -> Result<(), String> {
    let (mode, responder) = questions.take_elicitation(sessions).await.ok_or("no elicitation is open")?;
    let action = match action {
        Action::Accept => accept(&mode),
        Action::Decline => ElicitationAction::Decline,
        Action::Cancel => ElicitationAction::Cancel,
    };
    // This fails only if the connection has ended.
    let _ = answer(responder, Ok(CreateElicitationResponse::new(action)));
    Ok(())
}

/// Agrees to a visit, or fills in a form; declines a form that it cannot fill in.
fn accept(mode: &ElicitationMode) -> ElicitationAction {
    let accepted = ElicitationAcceptAction::new();
    match mode {
        ElicitationMode::Form(form) => match form::fill_in(&form.requested_schema) {
            Some(content) => ElicitationAction::Accept(accepted.content(content)),
            None => ElicitationAction::Decline,
        },
        _ => ElicitationAction::Accept(accepted),
    }
}
