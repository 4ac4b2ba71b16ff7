//! Elicitations: a form for a name, and pages for the user to visit.
//!
//! The server of a page usually reports a visit to its agent. This agent has no server: the client sends the
//! notification `_acp-reference/visited`. At the end of the turn, the agent explains how it understood the answer.

use agent_client_protocol::{Error, UntypedMessage};
use serde_json::{Value, json};

use super::{
    intent::{Elicit, ElicitMode},
    turn::{Cancelled, Turn},
    wire::Message,
};

/// Request for an elicitation, which all versions write alike.
const CREATE: &str = "elicitation/create";
/// Notification that a page was visited.
pub(super) const COMPLETE: &str = "elicitation/complete";

/// Asks the user in a way that the client advertised, and reports the result.
pub(super) async fn elicit(turn: &Turn, wish: Elicit) -> Result<(), Cancelled> {
    let client = turn.client.capabilities();
    let mode = match wish.secret {
        Some(_) => ElicitMode::Url,
        None => wish.mode.unwrap_or(if client.elicits_forms { ElicitMode::Form } else { ElicitMode::Url }),
    };
    let result = match (mode, &wish.secret) {
        (ElicitMode::Form, _) if client.elicits_forms => ask_by_form(turn, &wish).await?,
        (ElicitMode::Url, _) if client.opens_urls => ask_to_visit(turn, wish.visits).await?,
        (_, Some(secret)) => Err(format!("this client has no safe way to ask for the {secret}")),
        _ => Err("the client cannot ask its user".to_owned()),
    };
    turn.say(&result.unwrap_or_else(|reason| format!("nothing accepted: {reason}")));
    Ok(())
}

async fn ask_by_form(turn: &Turn, wish: &Elicit) -> Result<Result<String, String>, Cancelled> {
    let field = if wish.several { names(&wish.choices) } else { name(&wish.choices) };
    let answer = turn.ask(form("sessionId", json!(turn.session.id), "Which name shall I use?", field)).await?;
    Ok(accepted(answer).and_then(|answer| {
        let fits = |name: &str| wish.choices.is_empty() || wish.choices.iter().any(|choice| choice == name);
        match &answer["content"]["name"] {
            Value::Null => Err("no name came".to_owned()),
            Value::String(name) if fits(name) && !wish.several => Ok(format!("accepted {name}")),
            Value::Array(names) if wish.several && names.iter().all(|name| name.as_str().is_some_and(fits)) => {
                Ok(format!("accepted {} names", names.len()))
            }
            _ => Err("the name does not fit the form".to_owned()),
        }
    }))
}

/// Sends the user to pages, all at the same time; they count as visited when the client reports it.
async fn ask_to_visit(turn: &Turn, n_visits: usize) -> Result<Result<String, String>, Cancelled> {
    let visits = (0..n_visits).map(|_| async {
        let id = turn.client.visits.begin();
        let page = json!({
            "mode": "url",
            "sessionId": turn.session.id,
            "elicitationId": id,
            "url": format!("https://example.org/{id}"),
            "message": "Please have a look at this page.",
        });
        let agreed = accepted(turn.ask(UntypedMessage::new(CREATE, page)).await?);
        if agreed.is_err() {
            turn.client.visits.end(&id);
        }
        Ok(agreed.map(|_| id))
    });
    let answers: Vec<Result<String, String>> = futures::future::try_join_all(visits).await?;
    let visited = answers.into_iter().collect::<Result<Vec<String>, String>>();
    Ok(visited.map(|ids| {
        let is_open = ids.iter().any(|id| turn.client.visits.is_awaited(id));
        if is_open { "visit open".to_owned() } else { "visit completed".to_owned() }
    }))
}

/// Describes the field for a name, perhaps one of some choices.
pub(super) fn name(choices: &[String]) -> Value {
    match choices {
        [] => json!({"type": "string"}),
        _ => json!({"type": "string", "enum": choices}),
    }
}

/// Describes the field for several of some names, each with a title.
fn names(choices: &[String]) -> Value {
    let titled = |name: &String| json!({"const": name, "title": format!("The name {name}")});
    json!({"type": "array", "items": {"anyOf": choices.iter().map(titled).collect::<Vec<_>>()}})
}

/// Asks by a form with one field, a name; the scope is a session or a request.
pub(super) fn form(scope: &str, id: Value, message: &str, name: Value) -> Message {
    let schema = json!({"type": "object", "properties": {"name": name}, "required": ["name"]});
    UntypedMessage::new(CREATE, json!({"mode": "form", scope: id, "requestedSchema": schema, "message": message}))
}

/// Returns the answer, or the reason if the user did not accept.
fn accepted(answer: Result<Value, Error>) -> Result<Value, String> {
    let answer = answer.map_err(|error| format!("the client answered with error {}", error.code.value()))?;
    match answer["action"].as_str() {
        Some("accept") => Ok(answer),
        Some("decline") => Err("the user chose decline".to_owned()),
        // An action that the agent does not know is handled like `cancel`.
        _ => Err("the user chose cancel".to_owned()),
    }
}
