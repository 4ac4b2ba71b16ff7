//! The keys above the transcript: the capabilities that the subject must advertise, the setup of the tester, and its user.

use serde_json::{Map, Value, json};

use super::exchange::{AnsweredRequest, RecordedExchange, Said};
use super::names::Names;
use super::own::Own;
use crate::case::UserSetup;
use crate::protocol::{Edition, Feature};
use crate::requirement::Party;

/// The harness's name in `initialize`, which a case need not contain.
const HARNESS: &str = "acp-conformance";

/// Returns the keys above the transcript, each with its value.
pub(super) fn keys(
    exchange: &RecordedExchange,
    names: &Names,
    own: &Own,
    edition: &Edition,
) -> Vec<(&'static str, Value)> {
    let mut keys = vec![("needs", needs(exchange, edition))];
    match exchange.subject {
        Party::Agent => {
            keys.push(("client", client(exchange, own)));
        }
        Party::Client => {
            keys.push(("agent", agent(exchange, names, own)));
            keys.push(("user", user(exchange, names)));
        }
    }
    let files = own.workspace.iter().map(|(path, text)| (path.clone(), text.as_str().into()));
    keys.push(("workspace", Value::Object(files.collect())));
    keys.retain(|(_, value)| !matches!(value, Value::Null) && *value != json!({}) && *value != json!([]));
    keys
}

/// Returns the capabilities that the subject advertised for the requests that it answered.
fn needs(exchange: &RecordedExchange, edition: &Edition) -> Value {
    let mut needs: Vec<String> = Vec::new();
    for answered in exchange.answered(exchange.subject).filter(|answered| answered.outcome.is_ok()) {
        let needed = edition.adapter.capability(exchange.subject, Feature::Method(answered.method));
        let need = needed.map(|needed| format!("{}.{}", exchange.subject, needed.name()));
        needs.extend(need.filter(|need| !needs.contains(need)));
    }
    match needs.as_slice() {
        [single] => json!(single),
        several => json!(several),
    }
}

fn client(exchange: &RecordedExchange, own: &Own) -> Value {
    let mut setup = Map::new();
    let declared = exchange.request(0).and_then(|(_, params)| params?.get("clientCapabilities")).cloned();
    let declared = declared.filter(Value::is_object).unwrap_or_else(|| json!({}));
    if declared != json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true }) {
        setup.insert("capabilities".to_owned(), declared);
    }
    setup.extend(own.permission.map(|policy| ("permission".to_owned(), policy.into())));
    Value::Object(setup)
}

fn agent(exchange: &RecordedExchange, names: &Names, own: &Own) -> Value {
    let mut setup = Map::new();
    let Some((_, Ok(result))) = exchange.answer_of(0) else { return Value::Null };
    let mut put = |key: &str, value: Option<&Value>| {
        let empty = [json!({}), json!([]), Value::Null];
        setup.extend(value.filter(|value| !empty.contains(value)).map(|value| (key.to_owned(), names.said(value))));
    };
    if own.by_hand.contains("initialize") {
        return Value::Null;
    }
    put("capabilities", result.get("agentCapabilities"));
    put("info", result.get("agentInfo").filter(|info| info.get("name") != Some(&HARNESS.into())));
    put("auth-methods", result.get("authMethods"));
    if !own.by_hand.contains("session/new") {
        put("session", Some(&Value::Object(exchange.first_session())));
    }
    Value::Object(setup)
}

/// Returns the observable acts of the user: the first prompt, decisions about permissions, and settings.
fn user(exchange: &RecordedExchange, names: &Names) -> Value {
    let mut user = Map::new();
    let params = |wanted: &str| {
        exchange.turns.iter().find_map(|turn| match &turn.said {
            Said::Request { method, params, .. } if method == wanted => params.as_ref(),
            _ => None,
        })
    };
    let prompt = params("session/prompt").and_then(|params| params.get("prompt")?.as_array()?.first()?.get("text"));
    let prompt = prompt.filter(|prompt| prompt.as_str() != Some(UserSetup::default().prompt.as_str()));
    user.extend(prompt.map(|prompt| ("prompt".to_owned(), prompt.clone())));
    let decisions: Vec<&str> = exchange.answered(Party::Client).filter_map(|answered| decision(&answered)).collect();
    let decision = ["hold", "reject"].into_iter().find(|decision| decisions.contains(decision));
    user.extend(decision.map(|decision| ("permission".to_owned(), decision.into())));
    for (key, member) in [("mcp-servers", "mcpServers"), ("directories", "additionalDirectories")] {
        let configured = params("session/new").and_then(|params| params.get(member)).filter(|list| **list != json!([]));
        user.extend(configured.map(|list| (key.to_owned(), names.said(list))));
    }
    Value::Object(user)
}

/// Returns the decision of a user who was asked; a withdrawn request has none.
fn decision(asked: &AnsweredRequest<'_>) -> Option<&'static str> {
    let result = asked.outcome.as_ref().ok();
    let text = |pointer: &str| result.and_then(|result| result.pointer(pointer)?.as_str());
    let chosen = match asked.method {
        "session/request_permission" => text("/outcome/optionId").map(|chosen| kind_of(asked, chosen)),
        "elicitation/create" => text("/action").filter(|action| *action != "cancel"),
        _ => return None,
    };
    Some(match chosen {
        Some("decline" | "reject_once" | "reject_always") => "reject",
        Some(_) => "allow",
        None => "hold",
    })
}

/// Returns the kind of the option with this id.
fn kind_of<'e>(asked: &AnsweredRequest<'e>, chosen: &str) -> &'e str {
    let options = asked.params.and_then(|params| params.get("options")?.as_array());
    let option = options.into_iter().flatten().find(|option| option.get("optionId") == Some(&chosen.into()));
    option.and_then(|option| option.get("kind")?.as_str()).unwrap_or_default()
}
