//! Questions of the agent to the user: `session/request_permission` and `elicitation/create`.
//!
//! The answers are the same in all versions of the protocol. A URL is never opened: this user agrees to a visit and does not
//! make it.

use std::{sync::Mutex, time::Duration};

use agent_client_protocol::Error;
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};

use super::{
    act::Action,
    errors::invalid,
    form,
    options::{Feature, Permission},
    session::{Session, lock},
    state::{Client, Trouble},
};

/// The time that an act waits for a question that is still on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// An option of a permission request.
#[derive(Debug)]
pub(super) struct Choice {
    pub id: String,
    /// Whether it allows or rejects; `None` for an unknown kind.
    pub allows: Option<bool>,
}

/// The task of an elicitation.
#[derive(Debug)]
pub(super) enum Elicitation {
    /// A form with this schema.
    Form(Value),
    /// A visit to a URL.
    Url,
    /// A mode that the client does not know.
    Unknown,
}

/// The subject of a question.
#[derive(Debug)]
enum Subject {
    /// Permission by one of these options.
    Permission(Vec<Choice>),
    Elicitation(Elicitation),
}

impl Subject {
    /// Returns the answer without the user.
    fn turned_down(&self) -> Value {
        match self {
            Self::Permission(_) => permission_cancelled(),
            Self::Elicitation(_) => elicitation_cancelled(),
        }
    }
}

/// An open question; dropping it answers it without the user.
#[derive(Debug)]
struct Question {
    session: Option<String>,
    subject: Subject,
    answer: oneshot::Sender<Value>,
}

/// The open questions, oldest first.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Mutex<Vec<Question>>,
    asked: Notify,
}

impl Questions {
    /// Leaves a question open until the user decides, or stops the turn of the session.
    async fn hold(&self, session: Option<String>, subject: Subject) -> Value {
        let turned_down = subject.turned_down();
        let (answer, answered) = oneshot::channel();
        lock(&self.open).push(Question { session, subject, answer });
        self.asked.notify_waiters();
        answered.await.unwrap_or(turned_down)
    }

    /// Answers the questions of a session because the user stops its turn or closes it.
    pub(super) fn dismiss(&self, session: &str) {
        lock(&self.open).retain(|question| question.session.as_deref() != Some(session));
    }

    /// Answers all questions because the client ends.
    pub(super) fn dismiss_all(&self) {
        lock(&self.open).clear();
    }

    /// Answers the oldest question for which the user has an answer.
    async fn answer(&self, answer: impl Fn(&Subject) -> Option<Value>) -> Result<(), Trouble> {
        let find = || {
            let mut open = lock(&self.open);
            // The agent has withdrawn a question that has no receiver.
            open.retain(|question| !question.answer.is_closed());
            let found = open.iter().enumerate().find_map(|(at, question)| Some((at, answer(&question.subject)?)));
            found.map(|(at, answer)| (open.remove(at), answer))
        };
        let asked = async {
            loop {
                let asked = self.asked.notified();
                if let Some(found) = find() {
                    return found;
                }
                asked.await;
            }
        };
        let found = tokio::time::timeout(ON_ITS_WAY, asked).await;
        let (question, answer) = found.map_err(|_| Trouble::refused("no question is open that has this answer"))?;
        // This fails only if the agent withdraws the question.
        let _ = question.answer.send(answer);
        Ok(())
    }
}

/// Returns the answer to a permission request.
pub(super) async fn ask_permission(client: &Client, session: String, choices: Vec<Choice>) -> Result<Value, Error> {
    client.sessions.check(&session)?;
    if client.sessions.read(&session, Session::is_given_up) == Some(true) {
        return Ok(permission_cancelled());
    }
    let first = |allows| choices.iter().find(|choice| choice.allows == Some(allows));
    let chosen = match client.options.permission {
        Permission::Allow => first(true).or(first(false)),
        Permission::Reject => first(false),
        Permission::Hold => return Ok(client.questions.hold(Some(session), Subject::Permission(choices)).await),
    };
    // Without a matching option, the user cannot express a decision, and `cancelled` allows nothing.
    Ok(chosen.map_or_else(permission_cancelled, |choice| selected(&choice.id)))
}

/// Returns the answer to an elicitation.
pub(super) async fn elicit(client: &Client, session: Option<String>, task: Elicitation) -> Result<Value, Error> {
    let (forms, urls) = (client.has(Feature::ElicitationForm), client.has(Feature::ElicitationUrl));
    if !forms && !urls {
        return Err(Error::method_not_found());
    }
    let is_served = match task {
        Elicitation::Form(_) => forms,
        Elicitation::Url => urls,
        Elicitation::Unknown => false,
    };
    if !is_served {
        return Err(invalid("the mode is not advertised"));
    }
    if let Some(session) = &session {
        client.sessions.check(session)?;
        if client.sessions.read(session, Session::is_given_up) == Some(true) {
            return Ok(elicitation_cancelled());
        }
    }
    match client.options.permission {
        Permission::Allow => Ok(reply(&task, Action::Accept)),
        Permission::Reject => Ok(reply(&task, Action::Decline)),
        Permission::Hold => Ok(client.questions.hold(session, Subject::Elicitation(task)).await),
    }
}

/// Selects an option of the oldest permission request that offers it.
pub(super) async fn decide(client: &Client, option: &str) -> Result<(), Trouble> {
    let answer = |subject: &Subject| match subject {
        Subject::Permission(choices) => choices.iter().any(|choice| choice.id == option).then(|| selected(option)),
        Subject::Elicitation(_) => None,
    };
    client.questions.answer(answer).await
}

/// Answers the oldest elicitation.
pub(super) async fn answer(client: &Client, action: Action) -> Result<(), Trouble> {
    let answer = |subject: &Subject| match subject {
        Subject::Permission(_) => None,
        Subject::Elicitation(task) => Some(reply(task, action)),
    };
    client.questions.answer(answer).await
}

fn selected(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

/// Returns the answer to a permission request that has no decision.
pub(super) fn permission_cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

/// Returns the answer to an elicitation that has no decision.
pub(super) fn elicitation_cancelled() -> Value {
    json!({"action": "cancel"})
}

/// Agrees to a visit, or fills in a form; declines a form that it cannot fill in.
fn reply(task: &Elicitation, action: Action) -> Value {
    match (action, task) {
        (Action::Cancel, _) => elicitation_cancelled(),
        (Action::Accept, Elicitation::Url) => json!({"action": "accept"}),
        (Action::Accept, Elicitation::Form(schema)) => match form::fill_in(schema) {
            Some(content) => json!({"action": "accept", "content": content}),
            None => json!({"action": "decline"}),
        },
        _ => json!({"action": "decline"}),
    }
}
