//! Questions to the user that are still open: permission requests and elicitations.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::{
    Error,
    v1::{
        Responder,
        schema::{
            CreateElicitationResponse, ElicitationAction, ElicitationMode, PermissionOption, RequestPermissionOutcome,
            RequestPermissionResponse, SelectedPermissionOutcome, SessionId,
        },
    },
};
use tokio::sync::Notify;

use super::{
    Fault,
    serve::answer,
    state::{Client, lock},
};

/// How long the act `decide` waits for a question that is still on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// What is asked.
#[derive(Debug)]
pub(super) enum Matter {
    /// May a tool be used?
    Permission(Vec<PermissionOption>),
    /// A form or a URL.
    Elicitation(Box<ElicitationMode>),
}

/// An open request that waits for the user.
#[derive(Debug)]
pub(super) struct Question {
    pub session: Option<SessionId>,
    pub matter: Matter,
    pub responder: Responder,
}

/// All open questions, oldest first.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Mutex<Open>,
    asked: Notify,
}

#[derive(Debug, Default)]
struct Open {
    questions: Vec<(u64, Question)>,
    n_asked: u64,
    /// Requests that a fault never answers; dropping a responder would answer.
    lost: Vec<Responder>,
}

impl Questions {
    fn take(&self, wanted: impl Fn(u64, &Question) -> bool) -> Vec<Question> {
        let mut open = lock(&self.open);
        let taken = open.questions.extract_if(.., |(key, question)| wanted(*key, question));
        taken.map(|(_, question)| question).collect()
    }
}

/// Leaves a question open until the user decides, the turn is cancelled, or the agent gives it up.
pub(super) fn hold(client: &Arc<Client>, question: Question) {
    let given_up = question.responder.cancellation();
    let key = {
        let mut open = lock(&client.questions.open);
        open.n_asked += 1;
        let key = open.n_asked;
        open.questions.push((key, question));
        key
    };
    client.questions.asked.notify_waiters();
    let client = Arc::clone(client);
    tokio::spawn(async move {
        given_up.cancelled().await;
        let all = client.commits(Fault::CancelRequestAbortsAll);
        for question in client.questions.take(|other, _| all || other == key) {
            give_up(&client, question.responder);
        }
    });
}

/// Answers a request that the agent cancelled.
pub(super) fn give_up(client: &Client, responder: Responder) {
    if client.commits(Fault::CancelledRequestDropped) {
        return lock(&client.questions.open).lost.push(responder);
    }
    let internal = client.commits(Fault::CancelledRequestInternal);
    let error = if internal { Error::internal_error() } else { Error::request_cancelled() };
    // Fails only when the connection has ended.
    let _ = responder.respond_with_error(error);
}

/// Keeps a request from being answered, on behalf of a fault.
pub(super) fn lose(client: &Client, responder: Responder) {
    lock(&client.questions.open).lost.push(responder);
}

/// Answers the open questions of a session because the user stopped its turn or closes it.
pub(super) fn dismiss(client: &Client, session: &SessionId) {
    if client.commits(Fault::PermissionLeftOpen) {
        return;
    }
    let all = client.commits(Fault::PermissionClearsAll);
    let questions = client.questions.take(|_, question| all || question.session.as_ref() == Some(session));
    questions.into_iter().for_each(|question| turn_down(client, question));
}

/// Answers all open questions because the client ends.
pub(super) fn dismiss_all(client: &Client) {
    let leaves_open = client.commits(Fault::PermissionLeftOpen) || client.commits(Fault::CloseLeavesPermissions);
    for question in client.questions.take(|_, _| true) {
        match leaves_open {
            true => lose(client, question.responder),
            false => turn_down(client, question),
        }
    }
}

/// Answers a question that the user will not look at.
pub(super) fn turn_down(client: &Client, question: Question) {
    let is_permission = matches!(question.matter, Matter::Permission(_));
    // Fails only when the connection has ended.
    let _ = if is_permission && client.commits(Fault::PermissionErrorOnCancel) {
        question.responder.respond_with_error(Error::internal_error())
    } else if is_permission {
        answer(question.responder, Ok(RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled)))
    } else {
        answer(question.responder, Ok(CreateElicitationResponse::new(ElicitationAction::Cancel)))
    };
}

/// Answers the oldest open permission request with an option, as the user wants it.
pub(super) async fn decide(client: &Client, option: &str) -> Result<(), String> {
    let oldest = oldest(client, |question| offers(question).is_some()).await.ok_or("no permission request is open")?;
    let is_offered = |question: &Question| {
        offers(question).is_some_and(|options| options.iter().any(|offered| *offered.option_id.0 == *option))
    };
    let mut chosen = client.questions.take(|key, question| key == oldest && is_offered(question));
    let question = chosen.pop().ok_or_else(|| format!("the option `{option}` is not offered"))?;
    // Fails only when the connection has ended.
    let _ = answer(question.responder, Ok(select(option.to_owned())));
    Ok(())
}

/// Builds the outcome that names an option.
pub(super) fn select(option: String) -> RequestPermissionResponse {
    RequestPermissionResponse::new(RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option)))
}

/// Takes the oldest open elicitation.
pub(super) async fn take_elicitation(client: &Client) -> Option<(ElicitationMode, Responder)> {
    let oldest = oldest(client, |question| matches!(question.matter, Matter::Elicitation(_))).await?;
    let question = client.questions.take(|key, _| key == oldest).pop()?;
    match question.matter {
        Matter::Elicitation(mode) => Some((*mode, question.responder)),
        Matter::Permission(_) => None,
    }
}

/// Finds the oldest open question of a kind.
///
/// An act and a request come on two ways, so the request may be a moment late.
async fn oldest(client: &Client, wanted: impl Fn(&Question) -> bool) -> Option<u64> {
    let find = || {
        let open = lock(&client.questions.open);
        open.questions.iter().find(|(_, question)| wanted(question)).map(|(key, _)| *key)
    };
    let asked = async {
        loop {
            let asked = client.questions.asked.notified();
            if find().is_some() || !client.is_busy() {
                return;
            }
            asked.await;
        }
    };
    let _ = tokio::time::timeout(ON_ITS_WAY, asked).await;
    find()
}

fn offers(question: &Question) -> Option<&[PermissionOption]> {
    match &question.matter {
        Matter::Permission(options) => Some(options),
        Matter::Elicitation(_) => None,
    }
}
