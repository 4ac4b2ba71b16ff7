//! The agent's requests and notifications.

use std::sync::Arc;

use agent_client_protocol::{
    Error,
    schema::MaybeUndefined,
    v1::schema as v1,
    v2::{
        Responder,
        schema::{
            AgentNotification, AgentRequest, CancelledPermissionOutcome, ContentBlock, CreateElicitationRequest,
            CreateElicitationResponse, ElicitationAcceptAction, ElicitationAction, ElicitationMode, ElicitationScope,
            PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
            RequestPermissionResponse, SelectedPermissionOutcome, SessionId, SessionUpdate, StateUpdate,
        },
    },
};
use serde::Serialize;
use serde_json::json;

use super::state::{Client, Matter, Question};
use crate::client::{
    act::Action,
    errors::invalid,
    form,
    options::{Feature, Permission},
};

/// Handles one request of the agent.
pub(super) fn handle(client: &Arc<Client>, request: AgentRequest, responder: Responder) -> Result<(), Error> {
    match request {
        AgentRequest::RequestPermissionRequest(request) => ask_permission(client, *request, responder),
        AgentRequest::CreateElicitationRequest(request) => elicit(client, *request, responder),
        _ => responder.respond_with_error(Error::method_not_found()),
    }
}

fn ask_permission(client: &Arc<Client>, request: RequestPermissionRequest, responder: Responder) -> Result<(), Error> {
    let policy = client.options.permission;
    if policy == Permission::Hold {
        let matter = Matter::Permission(request.options);
        hold(client, Question { session: Some(request.session_id), matter, responder });
        return Ok(());
    }
    let chosen = choose(&request.options, policy == Permission::Allow);
    let outcome = chosen.map_or_else(
        || RequestPermissionOutcome::Cancelled(CancelledPermissionOutcome::new()),
        |option| RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone())),
    );
    answer(responder, Ok(RequestPermissionResponse::new(outcome)))
}

/// Chooses the first option that allows, or the first that rejects.
fn choose(options: &[PermissionOption], allow: bool) -> Option<&PermissionOption> {
    options.iter().find(|option| match option.kind {
        PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowAlways => allow,
        PermissionOptionKind::RejectOnce | PermissionOptionKind::RejectAlways => !allow,
        _ => false,
    })
}

fn elicit(client: &Arc<Client>, request: CreateElicitationRequest, responder: Responder) -> Result<(), Error> {
    let (scope, feature) = match &request.mode {
        ElicitationMode::Form(form) => (&form.scope, Feature::ElicitationForm),
        ElicitationMode::Url(url) => (&url.scope, Feature::ElicitationUrl),
        _ => return responder.respond_with_error(invalid("the mode of the elicitation is unknown")),
    };
    if !client.options.with(feature) {
        return responder.respond_with_error(invalid("the mode of the elicitation was not advertised"));
    }
    let session = match scope {
        ElicitationScope::Session(session) => Some(session.session_id.clone()),
        _ => None,
    };
    match client.options.permission {
        Permission::Allow => answer(responder, Ok(reply(&request.mode, Action::Accept))),
        Permission::Reject => answer(responder, Ok(reply(&request.mode, Action::Decline))),
        Permission::Hold => {
            hold(client, Question { session, matter: Matter::Elicitation(request.mode), responder });
            Ok(())
        }
    }
}

/// Builds the reply of the user; a form that the user cannot fill in is declined.
pub(super) fn reply(mode: &ElicitationMode, action: Action) -> CreateElicitationResponse {
    let accept = || match mode {
        ElicitationMode::Form(form) => {
            // Both versions have the same forms, and the user of version 1 fills them in.
            let schema: v1::ElicitationSchema = serde_json::from_value(json!(form.requested_schema)).ok()?;
            let content = serde_json::from_value(json!(form::fill_in(&schema)?)).ok()?;
            let mut accepted = ElicitationAcceptAction::new();
            accepted.content = Some(content);
            Some(accepted)
        }
        // The client opens no page; its user would.
        _ => Some(ElicitationAcceptAction::new()),
    };
    CreateElicitationResponse::new(match action {
        Action::Accept => accept().map_or(ElicitationAction::Decline, ElicitationAction::Accept),
        Action::Decline => ElicitationAction::Decline,
        Action::Cancel => ElicitationAction::Cancel,
    })
}

/// Leaves a question open until the user decides or the agent cancels it.
fn hold(client: &Arc<Client>, question: Question) {
    let (given_up, id) = (question.responder.cancellation(), question.responder.id().clone());
    client.questions().push(question);
    client.changed.notify_waiters();
    let client = Arc::clone(client);
    tokio::spawn(async move {
        given_up.cancelled().await;
        let is_meant = |question: &mut Question| *question.responder.id() == id;
        let given_up: Vec<_> = client.questions().extract_if(.., is_meant).collect();
        given_up.into_iter().for_each(turn_down);
    });
}

/// Answers the questions of a session because the user stopped its work or closes it.
pub(super) fn dismiss(client: &Client, session: &SessionId) {
    let is_meant = |question: &mut Question| question.session.as_ref() == Some(session);
    let dismissed: Vec<_> = client.questions().extract_if(.., is_meant).collect();
    dismissed.into_iter().for_each(turn_down);
}

/// Answers all questions because the client ends.
pub(super) fn dismiss_all(client: &Client) {
    let all = std::mem::take(&mut *client.questions());
    all.into_iter().for_each(turn_down);
}

fn turn_down(question: Question) {
    // This fails only if the connection has ended.
    let _ = match question.matter {
        Matter::Permission(_) => {
            let outcome = RequestPermissionOutcome::Cancelled(CancelledPermissionOutcome::new());
            answer(question.responder, Ok(RequestPermissionResponse::new(outcome)))
        }
        Matter::Elicitation(_) => {
            answer(question.responder, Ok(CreateElicitationResponse::new(ElicitationAction::Cancel)))
        }
    };
}

/// Answers a request with a typed result.
pub(super) fn answer<T: Serialize>(responder: Responder, result: Result<T, Error>) -> Result<(), Error> {
    let value = result.and_then(|value| serde_json::to_value(value).map_err(Error::into_internal_error));
    responder.respond_with_result(value)
}

/// Processes a notification of the agent; an unknown one is ignored.
pub(super) fn note(client: &Client, notification: AgentNotification) {
    let AgentNotification::UpdateSessionNotification(notification) = notification else { return };
    let id = notification.session_id;
    match notification.update {
        SessionUpdate::StateUpdate(state) => client.change(&id, |session| {
            // An unknown state does not end the work.
            session.is_working = !matches!(state, StateUpdate::Idle(_));
            session.awaits_work &= !session.is_working;
        }),
        SessionUpdate::AgentMessageChunk(chunk) => {
            client.change(&id, |session| session.printed.push(chunk.message_id));
            print(client, &[chunk.content]);
        }
        SessionUpdate::AgentMessage(message) => {
            let MaybeUndefined::Value(content) = message.content else { return };
            let is_printed = |session: &super::state::Session| session.printed.contains(&message.message_id);
            // The client cannot replace printed text.
            if !client.sessions().open.get(&id).is_some_and(is_printed) {
                print(client, &content);
            }
        }
        SessionUpdate::ToolCallUpdate(update) => client.change(&id, |session| match update.capabilities {
            MaybeUndefined::Undefined => {}
            MaybeUndefined::Value(capabilities) if capabilities.cancel.is_some() => {
                session.tools.push(update.tool_call_id);
            }
            _ => session.tools.retain(|tool| *tool != update.tool_call_id),
        }),
        SessionUpdate::TerminalUpdate(update) => client.change(&id, |session| match update.capabilities {
            MaybeUndefined::Undefined => {}
            MaybeUndefined::Value(capabilities) if capabilities.cancel.is_some() => {
                session.terminals.push(update.terminal_id);
            }
            _ => session.terminals.retain(|terminal| *terminal != update.terminal_id),
        }),
        SessionUpdate::ConfigOptionUpdate(update) => {
            client.change(&id, |session| session.options = update.config_options);
        }
        _ => {}
    }
}

fn print(client: &Client, blocks: &[ContentBlock]) {
    for block in blocks {
        if let ContentBlock::Text(text) = block {
            client.printer.print(&text.text);
        }
    }
}
