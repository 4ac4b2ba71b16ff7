//! Elicitations: a form for a name, and pages for the user to visit.
//!
//! The server of a page usually reports a visit to its agent. This agent has no server: the client sends the notification
//! `_acp-reference/visited`. At the end of the turn, the agent explains how it understood the answer.

use agent_client_protocol::{
    Error, UntypedMessage,
    v1::schema::{
        CreateElicitationRequest, ElicitationFormMode, ElicitationMode, ElicitationSchema, ElicitationSessionScope,
        ElicitationUrlMode, StringPropertySchema,
    },
};
use serde_json::Value;

use super::{
    intent::{Elicit, ElicitMode},
    turn::{Cancelled, Turn},
};

/// Asks the user in a way that the client advertised, and reports the result.
pub(super) async fn elicit(turn: &Turn, wish: Elicit) -> Result<(), Cancelled> {
    let client = turn.client.capabilities();
    let mode = match wish.secret {
        Some(_) => ElicitMode::Url,
        None => wish.mode.unwrap_or(if client.elicits_forms { ElicitMode::Form } else { ElicitMode::Url }),
    };
    match (mode, &wish.secret) {
        (ElicitMode::Form, _) if client.elicits_forms => ask_by_form(turn, &wish).await,
        (ElicitMode::Url, _) if client.opens_urls => ask_to_visit(turn, wish.visits).await,
        (_, Some(secret)) => {
            turn.say(&format!("nothing accepted: this client has no safe way to ask for the {secret}"));
            Ok(())
        }
        _ => {
            turn.say("nothing accepted: the client cannot ask its user");
            Ok(())
        }
    }
}

async fn ask_by_form(turn: &Turn, wish: &Elicit) -> Result<(), Cancelled> {
    let field = wish.secret.as_deref().unwrap_or("name");
    let choices = (!wish.choices.is_empty()).then(|| wish.choices.clone());
    let property = StringPropertySchema::new().enum_values(choices);
    let form = ElicitationFormMode::new(scope(turn), ElicitationSchema::new().property(field, property, true));
    let answer = ask(turn, form, &format!("Which {field} shall I use?")).await?;
    let text = match read(&answer, field) {
        Ok(value) => match fitting(&value, &wish.choices) {
            Some(name) => format!("accepted {name}"),
            None => "nothing accepted: the name does not fit the form".to_owned(),
        },
        Err(reason) => format!("nothing accepted: {reason}"),
    };
    turn.say(&text);
    Ok(())
}

/// Sends the user to pages, all at the same time; they count as visited when the client reports it.
async fn ask_to_visit(turn: &Turn, n_visits: usize) -> Result<(), Cancelled> {
    let visits = (0..n_visits).map(|_| async {
        let id = turn.client.visits.begin();
        let visit = ElicitationUrlMode::new(scope(turn), id.clone(), format!("https://example.org/{id}"));
        let answer = ask(turn, visit, "Please have a look at this page.").await?;
        let agreed = accepted(&answer);
        if agreed.is_err() {
            turn.client.visits.end(&id);
        }
        Ok(agreed.map(|()| id))
    });
    let answers: Vec<Result<String, String>> = futures::future::try_join_all(visits).await?;
    match answers.into_iter().collect::<Result<Vec<String>, String>>() {
        Ok(ids) if ids.iter().any(|id| turn.client.visits.is_awaited(id)) => turn.say("visit open"),
        Ok(_) => turn.say("visit completed"),
        Err(reason) => turn.say(&format!("nothing accepted: {reason}")),
    }
    Ok(())
}

fn scope(turn: &Turn) -> ElicitationSessionScope {
    ElicitationSessionScope::new(turn.session.id.clone())
}

/// Asks, and returns the answer as sent on the wire.
async fn ask(turn: &Turn, mode: impl Into<ElicitationMode>, message: &str) -> Result<Result<Value, Error>, Cancelled> {
    let request = CreateElicitationRequest::new(mode, message);
    match UntypedMessage::new("elicitation/create", request) {
        Ok(request) => turn.request(request).await,
        Err(error) => Ok(Err(error)),
    }
}

/// Returns the user's value for a field, or the reason for its absence.
fn read(answer: &Result<Value, Error>, field: &str) -> Result<Value, String> {
    accepted(answer)?;
    let content = answer.as_ref().ok().and_then(|result| result.get("content"));
    let value = content.and_then(|content| content.get(field)).filter(|value| !value.is_null());
    value.cloned().ok_or_else(|| "no name came".to_owned())
}

/// Fails with the reason unless the user accepted.
fn accepted(answer: &Result<Value, Error>) -> Result<(), String> {
    let result = match answer {
        Ok(result) => result,
        Err(error) => return Err(format!("the client answered with error {}", error.code.value())),
    };
    match result.get("action").and_then(Value::as_str) {
        Some("accept") => Ok(()),
        Some(action @ ("decline" | "cancel")) => Err(format!("the user chose {action}")),
        _ => Err("the action is unknown".to_owned()),
    }
}

/// Returns the name as a text if it fits the form.
fn fitting(value: &Value, choices: &[String]) -> Option<String> {
    match value {
        Value::String(name) if choices.is_empty() || choices.contains(name) => Some(name.clone()),
        _ => None,
    }
}
