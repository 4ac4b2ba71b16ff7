//! Elicitations: a form for a name, and pages that the user is to visit, as in version 1.

use agent_client_protocol::{
    Error,
    v2::schema::{
        CreateElicitationRequest, CreateElicitationResponse, ElicitationAction, ElicitationContentValue,
        ElicitationFormMode, ElicitationMode, ElicitationSchema, ElicitationScope, ElicitationSessionScope,
        ElicitationUrlMode, StringPropertySchema,
    },
};

use super::turn::Turn;
use crate::agent::{
    intent::{Elicit, ElicitMode},
    turn::Cancelled,
};

/// Asks the user in a way that the client advertised, and reports the answer.
pub(super) async fn elicit(turn: &Turn, wish: Elicit) -> Result<(), Cancelled> {
    let client = turn.client.capabilities();
    let mode = match wish.secret {
        Some(_) => ElicitMode::Url,
        None => wish.mode.unwrap_or(if client.elicits_forms { ElicitMode::Form } else { ElicitMode::Url }),
    };
    let text = match (mode, &wish.secret) {
        (ElicitMode::Form, _) if client.elicits_forms => ask_by_form(turn, &wish).await?,
        (ElicitMode::Url, _) if client.opens_urls => ask_to_visit(turn, wish.visits).await?,
        (_, Some(secret)) => Err(format!("this client has no safe way to ask for the {secret}")),
        _ => Err("the client cannot ask its user".to_owned()),
    };
    turn.say(&text.unwrap_or_else(|reason| format!("nothing accepted: {reason}")));
    Ok(())
}

async fn ask_by_form(turn: &Turn, wish: &Elicit) -> Result<Result<String, String>, Cancelled> {
    let choices = (!wish.choices.is_empty()).then(|| wish.choices.clone());
    let property = StringPropertySchema::new().enum_values(choices);
    let form = ElicitationFormMode::new(scope(turn), ElicitationSchema::new().property("name", property, true));
    let answer = ask(turn, ElicitationMode::Form(form), "Which name shall I use?").await?;
    Ok(accepted(answer).and_then(|mut content| match content.remove("name") {
        Some(ElicitationContentValue::String(name)) if wish.choices.is_empty() || wish.choices.contains(&name) => {
            Ok(format!("accepted {name}"))
        }
        Some(_) => Err("the name does not fit the form".to_owned()),
        None => Err("no name came".to_owned()),
    }))
}

/// Sends the user to pages, all at the same time; they count as visited when the client says so.
async fn ask_to_visit(turn: &Turn, n_visits: usize) -> Result<Result<String, String>, Cancelled> {
    let visits = (0..n_visits).map(|_| async {
        let id = turn.client.visits.begin();
        let visit = ElicitationUrlMode::new(scope(turn), id.clone(), format!("https://example.org/{id}"));
        let agreed = accepted(ask(turn, ElicitationMode::Url(visit), "Please have a look at this page.").await?);
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

fn scope(turn: &Turn) -> ElicitationScope {
    ElicitationScope::Session(ElicitationSessionScope::new(turn.session.id.clone()))
}

type Asked = Result<CreateElicitationResponse, Error>;

async fn ask(turn: &Turn, mode: ElicitationMode, message: &str) -> Result<Asked, Cancelled> {
    turn.ask(CreateElicitationRequest::new(mode, message)).await
}

/// Returns the content that the user gave, or the reason for its absence.
fn accepted(answer: Asked) -> Result<std::collections::BTreeMap<String, ElicitationContentValue>, String> {
    match answer.map_err(|error| format!("the client answered with error {}", error.code.value()))?.action {
        ElicitationAction::Accept(accepted) => Ok(accepted.content.unwrap_or_default()),
        ElicitationAction::Decline => Err("the user chose decline".to_owned()),
        // An action that the agent does not know is handled like `cancel`.
        _ => Err("the user chose cancel".to_owned()),
    }
}
