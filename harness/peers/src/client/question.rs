//! Questions of the agent to the user: `session/request_permission` and `elicitation/create`.
//!
//! The answers are the same in all versions of the protocol. A URL is never opened: this user agrees to a visit and
//! does not make it.

use agent_client_protocol::Error;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    act::{Act, Action},
    errors::invalid,
    form,
    options::{Feature, Permission},
    session::Session,
    state::Client,
};

/// An option of a permission request, which has the same shape in all versions.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PermissionOption {
    option_id: String,
    kind: String,
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
