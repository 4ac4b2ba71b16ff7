//! Requests of the agent that wait for the user: permission requests and elicitations.

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
            RequestPermissionResponse, SessionId,
        },
    },
};
use serde::Serialize;
use tokio::sync::Notify;

use super::session::{Sessions, lock};

/// The time an act waits for a question that is still on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// The subject of a question.
#[derive(Debug)]
pub(super) enum Matter {
    /// Permission for a tool.
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

impl Question {
    /// Answers without the user, because the turn was cancelled, or the session or the client ends.
    pub(super) fn turn_down(self) {
        // This fails only if the connection has ended.
        let _ = match self.matter {
            Matter::Permission(_) => {
                answer(self.responder, Ok(RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled)))
            }
            Matter::Elicitation(_) => {
                answer(self.responder, Ok(CreateElicitationResponse::new(ElicitationAction::Cancel)))
            }
        };
    }

    /// Returns whether the user may choose this option.
    fn offers(&self, option: &str) -> bool {
        match &self.matter {
            Matter::Permission(options) => options.iter().any(|offered| *offered.option_id.0 == *option),
            Matter::Elicitation(_) => false,
        }
    }
}

/// All open questions, oldest first.
#[derive(Debug, Default, Clone)]
pub(super) struct Questions(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    open: Mutex<Open>,
    asked: Notify,
}

#[derive(Debug, Default)]
struct Open {
    questions: Vec<(u64, Question)>,
    count: u64,
}

impl Questions {
    /// Leaves a question open until the user decides, the turn is cancelled, or the agent cancels it.
    pub(super) fn hold(&self, question: Question) {
        let given_up = question.responder.cancellation();
        let key = {
            let mut open = lock(&self.0.open);
            open.count += 1;
            let key = open.count;
            open.questions.push((key, question));
            key
        };
        self.0.asked.notify_waiters();
        let questions = self.clone();
        tokio::spawn(async move {
            given_up.cancelled().await;
            questions.take(|other, _| other == key).into_iter().for_each(|question| give_up(question.responder));
        });
    }

    /// Answers the open questions of a session because the user stopped its turn or closes it.
    pub(super) fn dismiss(&self, session: &SessionId) {
        self.take(|_, question| question.session.as_ref() == Some(session)).into_iter().for_each(Question::turn_down);
    }

    /// Answers all open questions because the client ends.
    pub(super) fn dismiss_all(&self) {
        self.take(|_, _| true).into_iter().for_each(Question::turn_down);
    }

    /// Takes the oldest open permission request, which must offer this option.
    pub(super) async fn take_permission(&self, sessions: &Sessions, option: &str) -> Result<Responder, String> {
        let oldest = self.oldest(sessions, |question| matches!(question.matter, Matter::Permission(_))).await;
        let oldest = oldest.ok_or("no permission request is open")?;
        let chosen = self.take(|key, question| key == oldest && question.offers(option)).pop();
        chosen.map(|question| question.responder).ok_or_else(|| format!("the option `{option}` is not offered"))
    }

    /// Takes the oldest open elicitation.
    pub(super) async fn take_elicitation(&self, sessions: &Sessions) -> Option<(ElicitationMode, Responder)> {
        let oldest = self.oldest(sessions, |question| matches!(question.matter, Matter::Elicitation(_))).await?;
        let question = self.take(|key, _| key == oldest).pop()?;
        match question.matter {
            Matter::Elicitation(mode) => Some((*mode, question.responder)),
            Matter::Permission(_) => None,
        }
    }

    fn take(&self, wanted: impl Fn(u64, &Question) -> bool) -> Vec<Question> {
        let mut open = lock(&self.0.open);
        let taken = open.questions.extract_if(.., |(key, question)| wanted(*key, question));
        taken.map(|(_, question)| question).collect()
    }

    /// Finds the oldest open question of a kind.
    ///
    /// An act and a request arrive on different paths, so the request may come slightly later while a turn runs.
    async fn oldest(&self, sessions: &Sessions, wanted: impl Fn(&Question) -> bool) -> Option<u64> {
        let find = || {
            let open = lock(&self.0.open);
            open.questions.iter().find(|(_, question)| wanted(question)).map(|(key, _)| *key)
        };
        let asked = async {
            loop {
                let asked = self.0.asked.notified();
                if find().is_some() || !sessions.is_busy() {
                    return;
                }
                asked.await;
            }
        };
        let _ = tokio::time::timeout(ON_ITS_WAY, asked).await;
        find()
    }
}

/// Answers a request that the agent cancelled.
pub(super) fn give_up(responder: Responder) {
    // This fails only if the connection has ended.
    let _ = responder.respond_with_error(Error::request_cancelled());
}

/// Answers a request with a typed result.
pub(super) fn answer<T: Serialize>(responder: Responder, result: Result<T, Error>) -> Result<(), Error> {
    let value = result.and_then(|value| serde_json::to_value(value).map_err(Error::into_internal_error));
    responder.respond_with_result(value)
}
