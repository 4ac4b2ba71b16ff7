//! Elicitations: forms that the user fills in, and URLs that the user agrees to visit.

use std::{collections::BTreeMap, sync::Arc};

use agent_client_protocol::{
    Error,
    v1::{
        Responder,
        schema::{
            CreateElicitationRequest, CreateElicitationResponse, ElicitationAcceptAction, ElicitationAction,
            ElicitationContentValue, ElicitationMode, ElicitationPropertySchema, ElicitationSchema, ElicitationScope,
            IntegerPropertySchema, MultiSelectItems, MultiSelectPropertySchema, NumberPropertySchema,
            OtherElicitationMode, StringFormat, StringPropertySchema,
        },
    },
};

use super::{
    Fault, Feature, Permission,
    act::Action,
    question::{self, Matter, Question},
    serve::answer,
    state::{Client, invalid},
};

/// Answers an elicitation, or leaves it open.
///
/// A URL is never opened: this user agrees to visit it and stays where they are.
pub(super) fn ask(client: &Arc<Client>, request: CreateElicitationRequest, responder: Responder) -> Result<(), Error> {
    let (forms, urls) = (client.serves(Feature::ElicitationForm), client.serves(Feature::ElicitationUrl));
    if !forms && !urls {
        return responder.respond_with_error(Error::method_not_found());
    }
    let is_served = match &request.mode {
        ElicitationMode::Form(_) => forms || client.commits(Fault::UnadvertisedModeServed),
        ElicitationMode::Url(_) => urls || client.commits(Fault::UnadvertisedModeServed),
        _ => client.commits(Fault::UnknownModeServed),
    };
    if !is_served {
        return responder.respond_with_error(invalid("the mode is not advertised"));
    }
    let session = match request.mode.scope() {
        ElicitationScope::Session(scope) => Some(client.served_session(&scope.session_id)),
        _ => None,
    };
    let session = match session.transpose() {
        Ok(session) => session,
        Err(error) => return responder.respond_with_error(error),
    };
    if client.commits(Fault::UrlFetched) {
        fetch_page(&request.mode);
    }
    let id = session.as_ref().map(|session| session.id.clone());
    let question = Question { session: id, matter: Matter::Elicitation(Box::new(request.mode.clone())), responder };
    if session.is_some_and(|session| session.is_given_up()) {
        question::turn_down(client, question);
        return Ok(());
    }
    let action = match client.options.permission {
        Permission::Hold => {
            question::hold(client, question);
            return Ok(());
        }
        Permission::Reject => decline(client, &request.mode),
        Permission::Allow => accept(client, &request.mode),
    };
    answer(question.responder, Ok(CreateElicitationResponse::new(action)))
}

/// Answers the oldest open elicitation, as the user wants it.
pub(super) async fn answer_oldest(client: &Client, action: Action) -> Result<(), String> {
    let (mode, responder) = question::take_elicitation(client).await.ok_or("no elicitation is open")?;
    let action = match action {
        Action::Accept => accept(client, &mode),
        Action::Decline => decline(client, &mode),
        Action::Cancel => ElicitationAction::Cancel,
    };
    // Fails only when the connection has ended.
    let _ = answer(responder, Ok(CreateElicitationResponse::new(action)));
    Ok(())
}

fn decline(client: &Client, mode: &ElicitationMode) -> ElicitationAction {
    if client.commits(Fault::UrlOpenedAnyway) {
        fetch_page(mode);
    }
    ElicitationAction::Decline
}

fn accept(client: &Client, mode: &ElicitationMode) -> ElicitationAction {
    if let ElicitationMode::Url(visit) = mode {
        if client.commits(Fault::ElicitationIdParsed) && !is_uuid(&visit.elicitation_id.0) {
            return ElicitationAction::Cancel;
        }
        return ElicitationAction::Accept(ElicitationAcceptAction::new());
    }
    let content = match mode {
        _ if client.commits(Fault::FormEmpty) => Some(BTreeMap::new()),
        ElicitationMode::Form(form) => fill_in(&form.requested_schema),
        // Only a fault comes here; it takes what looks like a form for one.
        ElicitationMode::Other(other) => fill_in(&form_in(other)),
        _ => None,
    };
    match content {
        Some(content) => ElicitationAction::Accept(ElicitationAcceptAction::new().content(content)),
        // The user cannot say what the form wants.
        None => ElicitationAction::Decline,
    }
}

/// Returns the form that a request of an unknown mode brings along, or one without fields.
fn form_in(other: &OtherElicitationMode) -> ElicitationSchema {
    let schema = other.fields.get("requestedSchema").cloned();
    schema.and_then(|schema| serde_json::from_value(schema).ok()).unwrap_or_default()
}

/// Fills in what is required and what has a default; `None` if a required field is beyond this user.
fn fill_in(schema: &ElicitationSchema) -> Option<BTreeMap<String, ElicitationContentValue>> {
    let required = schema.required.as_deref().unwrap_or_default();
    let mut content = BTreeMap::new();
    for (name, property) in &schema.properties {
        match value_for(property) {
            Some(value) => drop(content.insert(name.clone(), value)),
            None if required.contains(name) => return None,
            None => {}
        }
    }
    required.iter().all(|name| content.contains_key(name)).then_some(content)
}

fn value_for(property: &ElicitationPropertySchema) -> Option<ElicitationContentValue> {
    match property {
        ElicitationPropertySchema::String(property) => text_for(property).map(ElicitationContentValue::String),
        ElicitationPropertySchema::Number(property) => number_for(property).map(ElicitationContentValue::Number),
        ElicitationPropertySchema::Integer(property) => integer_for(property).map(ElicitationContentValue::Integer),
        ElicitationPropertySchema::Boolean(property) => {
            Some(ElicitationContentValue::Boolean(property.default.unwrap_or(true)))
        }
        ElicitationPropertySchema::Array(property) => choices_for(property).map(ElicitationContentValue::StringArray),
        // A property of an unknown type is no field that a user could see.
        _ => None,
    }
}

fn text_for(property: &StringPropertySchema) -> Option<String> {
    let titled = property.one_of.iter().flatten().map(|option| option.value.clone());
    let choices: Vec<String> = property.enum_values.iter().flatten().cloned().chain(titled).collect();
    let fits = |text: &String| {
        let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        property.min_length.is_none_or(|least| length >= least) && property.max_length.is_none_or(|most| length <= most)
    };
    if !choices.is_empty() {
        let default = property.default.clone().filter(|default| choices.contains(default));
        return default.or_else(|| choices.into_iter().find(fits));
    }
    // A default is what the agent itself holds for a proper answer.
    if let Some(default) = property.default.clone().filter(fits) {
        return Some(default);
    }
    let text = match (&property.pattern, &property.format) {
        (Some(pattern), _) => super::pattern::example(pattern)?,
        (None, Some(StringFormat::Email)) => "user@example.com".to_owned(),
        (None, Some(StringFormat::Uri)) => "https://example.com/".to_owned(),
        (None, Some(StringFormat::Date)) => "2000-01-31".to_owned(),
        (None, Some(StringFormat::DateTime)) => "2000-01-31T12:00:00Z".to_owned(),
        (None, Some(_)) => return None,
        (None, None) => plain_text(property),
    };
    Some(text).filter(fits)
}

fn plain_text(property: &StringPropertySchema) -> String {
    let least = property.min_length.unwrap_or(0) as usize;
    let most = property.max_length.unwrap_or(u32::MAX) as usize;
    let text: String = "text".chars().take(most).collect();
    let missing = least.saturating_sub(text.len());
    text + &"x".repeat(missing)
}

fn number_for(property: &NumberPropertySchema) -> Option<f64> {
    let fits = |number: &f64| {
        property.minimum.is_none_or(|least| *number >= least) && property.maximum.is_none_or(|most| *number <= most)
    };
    [property.default, Some(0.0), property.minimum, property.maximum].into_iter().flatten().find(fits)
}

fn integer_for(property: &IntegerPropertySchema) -> Option<i64> {
    let fits = |number: &i64| {
        property.minimum.is_none_or(|least| *number >= least) && property.maximum.is_none_or(|most| *number <= most)
    };
    [property.default, Some(0), property.minimum, property.maximum].into_iter().flatten().find(fits)
}

fn choices_for(property: &MultiSelectPropertySchema) -> Option<Vec<String>> {
    let offered: Vec<String> = match &property.items {
        MultiSelectItems::String(items) => items.values.clone(),
        MultiSelectItems::Titled(items) => items.options.iter().map(|option| option.value.clone()).collect(),
        _ => return None,
    };
    let least = usize::try_from(property.min_items.unwrap_or(0)).ok()?;
    let most = property.max_items.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let fits = |chosen: &Vec<String>| {
        (least..=most).contains(&chosen.len()) && chosen.iter().all(|choice| offered.contains(choice))
    };
    let default = property.default.clone().filter(fits);
    default.or_else(|| Some(offered.iter().take(least).cloned().collect()).filter(fits))
}

/// Looks at a page to its end, on behalf of a fault.
fn fetch_page(mode: &ElicitationMode) {
    use std::io::{Read as _, Write as _};
    let ElicitationMode::Url(visit) = mode else { return };
    let Some(rest) = visit.url.strip_prefix("http://") else { return };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    // Whoever serves the page has seen the request by then, or nobody serves it.
    let _ = std::net::TcpStream::connect(address).and_then(|mut stream| {
        stream.write_all(request.as_bytes())?;
        stream.read_to_end(&mut Vec::new())
    });
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn filled(schema: Value) -> Option<Value> {
        let schema = serde_json::from_value(schema).expect("a schema");
        fill_in(&schema).map(|content| serde_json::to_value(content).expect("content"))
    }

    #[test]
    fn forms_are_filled_in_as_they_want_it() {
        let schema = json!({"type": "object", "required": ["name", "size", "tags"], "properties": {
            "name": {"type": "string", "minLength": 6},
            "colour": {"type": "string", "enum": ["red", "blue"], "default": "blue"},
            "size": {"type": "integer", "minimum": 3, "maximum": 9},
            "ratio": {"type": "number", "maximum": -1.5},
            "sure": {"type": "boolean", "default": false},
            "tags": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["a", "b"]}},
            "odd": {"type": "_dial"},
        }});
        let wanted = json!({
            "name": "textxx", "colour": "blue", "size": 3, "ratio": -1.5, "sure": false, "tags": ["a"],
        });
        assert_eq!(filled(schema), Some(wanted));
    }

    #[test]
    fn a_form_that_cannot_be_filled_in_is_declined() {
        let schema = json!({"type": "object", "required": ["odd"], "properties": {"odd": {"type": "_dial"}}});
        assert_eq!(filled(schema), None);
    }
}
