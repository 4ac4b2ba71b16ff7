//! Questions of the agent to the user: `session/request_permission` and `elicitation/create`.
//!
//! The answers are the same in all versions of the protocol. A URL is never opened: this user agrees to a visit and
//! does not make it.

use std::time::Duration;

use agent_client_protocol::Error;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    sync::{oneshot, watch},
    time::timeout,
};

use super::{
    act::{Act, Action},
    errors::invalid,
    form,
    options::{Feature, Permission},
    session::Session,
    state::{Client, Trouble},
};

/// The time that an act waits for a question that is still on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// An option of a permission request, which has the same shape in all versions.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PermissionOption {
    option_id: String,
    kind: String,
}

/// Returns the answer that an act of the user gives to a question, if any.
type Read = dyn Fn(&Act) -> Option<Value> + Send + Sync;

/// An open question; dropping it answers it without the user.
struct Question {
    session: Option<String>,
    read: Box<Read>,
    answer: oneshot::Sender<Value>,
}

/// The open questions, oldest first.
#[derive(Default)]
pub(super) struct Questions(watch::Sender<Vec<Question>>);

impl Questions {
    /// Returns the answer of the user, or `turned_down` if the user stops the turn of the session.
    async fn ask(
        &self,
        session: Option<String>,
        read: impl Fn(&Act) -> Option<Value> + Send + Sync + 'static,
        turned_down: Value,
    ) -> Value {
        let (answer, answered) = oneshot::channel();
        self.0.send_modify(|open| {
            // The agent has withdrawn a question that has no receiver.
            open.retain(|question| !question.answer.is_closed());
            open.push(Question { session, read: Box::new(read), answer });
        });
        answered.await.unwrap_or(turned_down)
    }

    /// Answers the questions of a session because the user stops its turn or closes it.
    pub(super) fn dismiss(&self, session: &str) {
        self.0.send_modify(|open| open.retain(|question| question.session.as_deref() != Some(session)));
    }

    /// Answers all questions because the client ends.
    pub(super) fn dismiss_all(&self) {
        self.0.send_modify(Vec::clear);
    }

    /// Answers the oldest question that the act of the user fits.
    pub(super) async fn answer(&self, act: &Act) -> Result<(), Trouble> {
        let fits = |question: &Question| !question.answer.is_closed() && (question.read)(act).is_some();
        let mut open = self.0.subscribe();
        if timeout(ON_ITS_WAY, open.wait_for(|open| open.iter().any(fits))).await.is_err() {
            return Err(Trouble::refused("no question is open that has this answer"));
        }
        self.0.send_modify(|open| {
            let question = open.iter().position(fits).map(|at| open.remove(at));
            if let Some(question) = question
                && let Some(answer) = (question.read)(act)
            {
                // This fails only if the agent withdraws the question.
                let _ = question.answer.send(answer);
            }
        });
        Ok(())
    }
}

/// Returns the answer to a permission request with these options.
pub(super) async fn ask_permission(client: &Client, session: &str, options: Value) -> Result<Value, Error> {
    client.sessions.check(session)?;
    let options: Vec<PermissionOption> = serde_json::from_value(options).map_err(Error::into_internal_error)?;
    let first = |kind| options.iter().find(|option| option.kind.starts_with(kind));
    let chosen = match client.options.permission {
        _ if client.sessions.read(session, Session::is_given_up) == Some(true) => None,
        Permission::Allow => first("allow_").or(first("reject_")),
        Permission::Reject => first("reject_"),
        Permission::Hold => {
            let read = move |act: &Act| match act {
                Act::Decide { option_id } if options.iter().any(|option| option.option_id == *option_id) => {
                    Some(selected(option_id))
                }
                _ => None,
            };
            return Ok(client.questions.ask(Some(session.to_owned()), read, permission_cancelled()).await);
        }
    };
    // Without a matching option, the user cannot express a decision, and `cancelled` allows nothing.
    Ok(chosen.map_or_else(permission_cancelled, |option| selected(&option.option_id)))
}

/// Returns the answer to an elicitation, which has the same shape in all versions.
pub(super) async fn elicit(client: &Client, request: Value) -> Result<Value, Error> {
    if !client.has(Feature::ElicitationForm) && !client.has(Feature::ElicitationUrl) {
        return Err(Error::method_not_found());
    }
    let is_served = match request["mode"].as_str() {
        Some("form") => client.has(Feature::ElicitationForm),
        Some("url") => client.has(Feature::ElicitationUrl),
        _ => false,
    };
    if !is_served {
        return Err(invalid("the mode is not advertised"));
    }
    let session = request["sessionId"].as_str().map(str::to_owned);
    if let Some(session) = &session {
        client.sessions.check(session)?;
        if client.sessions.read(session, Session::is_given_up) == Some(true) {
            return Ok(elicitation_cancelled());
        }
    }
    match client.options.permission {
        Permission::Allow => Ok(reply(&request, Action::Accept)),
        Permission::Reject => Ok(reply(&request, Action::Decline)),
        Permission::Hold => {
            let read = move |act: &Act| match act {
                Act::Answer { action } => Some(reply(&request, *action)),
                _ => None,
            };
            Ok(client.questions.ask(session, read, elicitation_cancelled()).await)
        }
    }
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
fn reply(request: &Value, action: Action) -> Value {
    match action {
        Action::Cancel => elicitation_cancelled(),
        Action::Accept if request["mode"] == "url" => json!({"action": "accept"}),
        Action::Accept => match form::fill_in(&request["requestedSchema"]) {
            Some(content) => json!({"action": "accept", "content": content}),
            None => json!({"action": "decline"}),
        },
        Action::Decline => json!({"action": "decline"}),
    }
}
