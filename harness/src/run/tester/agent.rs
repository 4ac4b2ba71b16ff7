//! The tester as an agent: its answers to a client where the transcript has none.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::answer::{Answer, Refusal, code};
use crate::case::model::TesterSetup;
use crate::protocol::{Edition, Feature};
use crate::requirement::Party;
use crate::wire::{Envelope, RpcId, read_line};

/// The member with the options of a session.
const OPTIONS: &str = "configOptions";

/// The agent side of all connections of one case.
#[derive(Debug)]
pub struct Agent {
    edition: &'static Edition,
    capabilities: Value,
    info: Value,
    auth_methods: Vec<Value>,
    /// The members that a session shows in addition to its id.
    session: Map<String, Value>,
    /// The number of sessions opened so far.
    opened: usize,
    options: Options,
}

/// The options of each session as the tester last showed them, in a transcript or by itself. Those of earlier cases
/// stay, since their sessions stay open.
#[derive(Debug, Default, Clone)]
struct Options {
    shown: BTreeMap<String, Vec<Value>>,
    /// The sessions of requests whose answer has options.
    asked: BTreeMap<(usize, RpcId), String>,
}

impl Agent {
    /// Creates an agent with the setup of the case.
    pub fn new(edition: &'static Edition, setup: &TesterSetup) -> Self {
        let own = json!({ "name": "acp-conformance", "title": "ACP conformance harness", "version": env!("CARGO_PKG_VERSION") });
        Self {
            edition,
            capabilities: setup.capabilities.clone(),
            info: setup.info.clone().unwrap_or(own),
            auth_methods: setup.auth_methods.clone(),
            session: setup.session.clone(),
            opened: 0,
            options: Options::default(),
        }
    }

    /// Creates the agent of another case on the same connections; the ids of its sessions stay unique.
    pub fn with_setup(&self, setup: &TesterSetup) -> Self {
        Self { opened: self.opened, options: self.options.clone(), ..Self::new(self.edition, setup) }
    }

    /// Takes note of a request of the client, which the transcript may answer.
    pub fn asked(&mut self, connection: usize, id: &Value, method: &str, params: &Value) {
        let shows_options = matches!(method, "session/load" | "session/resume" | "session/set_config_option");
        if let Some(session) = params.get("sessionId").and_then(Value::as_str).filter(|_| shows_options) {
            self.options.asked.insert((connection, RpcId::new(id)), session.to_owned());
        }
    }

    /// Takes note of a line of the tester.
    pub fn shown(&mut self, connection: usize, line: &[u8]) {
        let Some(message) = read_line(line).one() else { return };
        let (session, shown) = match Envelope::of(&message) {
            Envelope::Call(call) => {
                let params = call.params.unwrap_or(&Value::Null);
                (params["sessionId"].as_str().map(str::to_owned), &params["update"])
            }
            Envelope::Response { id: Some(id), result: Some(result), .. } => {
                let asked = self.options.asked.remove(&(connection, RpcId::new(id)));
                (result["sessionId"].as_str().map(str::to_owned).or(asked), result)
            }
            _ => return,
        };
        if let (Some(session), Value::Array(options)) = (session, &shown[OPTIONS]) {
            // A transcript may show others on purpose. The tester does not repeat them.
            let is_sound = |option: &&Value| self.edition.stable.problems("SessionConfigOption", option).is_empty();
            self.options.shown.insert(session, options.iter().filter(is_sound).cloned().collect());
        }
    }

    /// Answers a request of the client; a prompt is left open.
    pub fn answer(&mut self, method: &str, params: &Value) -> Answer {
        if self.edition.adapter.lacks(Party::Agent, Some(&self.capabilities), Feature::Method(method)) {
            return Refusal::unknown_method(method).into();
        }
        match method {
            // Version 1 has no such error: an agent answers a version that it does not know with its own.
            "initialize" if self.edition.major > 1 && requested(params) < u64::from(self.edition.major) => {
                Answer::Error {
                    code: code::UNSUPPORTED_VERSION,
                    message: "Unsupported protocol version".to_owned(),
                    data: Some(
                        json!({ "requested": params.get("protocolVersion"), "supported": [self.edition.major] }),
                    ),
                }
            }
            "initialize" => {
                let adapter = self.edition.adapter;
                Answer::Result(json!({
                    "protocolVersion": self.edition.major,
                    adapter.capabilities_member(Party::Agent): self.capabilities,
                    adapter.info_member(Party::Agent): self.info,
                    "authMethods": self.auth_methods,
                }))
            }
            "session/new" => {
                self.opened += 1;
                let mut result = Map::from_iter([("sessionId".to_owned(), self.session_id().into())]);
                result.extend(self.session.clone());
                Answer::Result(Value::Object(result))
            }
            "session/load" | "session/resume" => Answer::Result(Value::Object(self.reopened(params))),
            "session/list" => Answer::Result(json!({ "sessions": [] })),
            "session/set_config_option" => {
                self.choose(params).map(|options| Answer::Result(json!({ OPTIONS: options }))).into()
            }
            "authenticate" | "logout" | "auth/login" | "auth/logout" | "session/set_mode" | "session/close"
            | "session/delete" | "tool_call/cancel" | "terminal/cancel" => Answer::done(),
            "session/prompt" => Answer::Held,
            _ => Refusal::unknown_method(method).into(),
        }
    }

    /// Returns an id with letters of both cases, which reveals a client that changes the case.
    fn session_id(&self) -> String {
        format!("Session-{}.aB", self.opened)
    }

    /// Returns the members that a session shows when it is opened again: its options are those that it has now.
    fn reopened(&self, params: &Value) -> Map<String, Value> {
        let mut members = self.session.clone();
        if let Some(options) = members.get_mut(OPTIONS) {
            *options = json!(self.options_of(params));
        }
        members
    }

    /// Returns the options of a session as they were shown last; those of the setup before.
    fn options_of(&self, params: &Value) -> Vec<Value> {
        let shown = params["sessionId"].as_str().and_then(|session| self.options.shown.get(session));
        let of_setup = || self.session.get(OPTIONS)?.as_array();
        shown.or_else(of_setup).cloned().unwrap_or_default()
    }

    /// Sets the value of an option of the session and returns all its options. The tester repeats no value that the
    /// option cannot have: that would be a mistake of its own.
    fn choose(&self, params: &Value) -> Result<Value, Refusal> {
        let mut options = self.options_of(params);
        let (wanted, value) = (params.get("configId"), params.get("value").unwrap_or(&Value::Null));
        let named = |option: &&mut Value| option.get("id").or(option.get("configId")) == wanted;
        for option in options.iter_mut().filter(named) {
            if !can_have(option, value) {
                return Err(Refusal::invalid(format!("the option has no value {value}")));
            }
            option["currentValue"] = value.clone();
        }
        Ok(json!(options))
    }
}

/// Whether the value is one of those from which the option lets a client choose. Values of a select may be in groups.
fn can_have(option: &Value, value: &Value) -> bool {
    if option["type"] == "boolean" {
        return value.is_boolean();
    }
    let listed = |values: &Value| values.as_array().into_iter().flatten().any(|listed| listed["value"] == *value);
    let values = &option["options"];
    listed(values) || values.as_array().into_iter().flatten().any(|group| listed(&group["options"]))
}

/// The version that the client asks for; one that cannot be read counts as too low.
fn requested(params: &Value) -> u64 {
    params.get("protocolVersion").and_then(Value::as_u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edition::V2;

    fn agent(options: &Value) -> Agent {
        Agent {
            edition: V2.edition(),
            capabilities: json!({ "session": {} }),
            info: json!({}),
            auth_methods: Vec::new(),
            session: Map::from_iter([("configOptions".to_owned(), options.clone())]),
            opened: 0,
            options: Options::default(),
        }
    }

    #[test]
    fn answers_with_the_options_that_a_transcript_showed() {
        let mut agent = agent(&json!([]));
        let options = json!([{ "configId": "x", "name": "X", "type": "boolean", "currentValue": false }]);
        let opened = json!({ "jsonrpc": "2.0", "id": 1, "result": { "sessionId": "s", "configOptions": options } });
        agent.shown(0, opened.to_string().as_bytes());
        let Answer::Result(result) = agent.answer(
            "session/set_config_option",
            &json!({ "sessionId": "s", "configId": "x", "type": "boolean", "value": true }),
        ) else {
            panic!("an answer")
        };
        assert_eq!(result["configOptions"][0]["currentValue"], true);
    }

    #[test]
    fn reopened_session_has_the_options_that_it_showed_last() {
        let (a, b) = (json!({ "value": "a", "name": "A" }), json!({ "value": "b", "name": "B" }));
        let option = json!({ "configId": "x", "name": "X", "type": "select", "currentValue": "a" });
        let with = |values: &[&Value]| {
            let mut option = option.clone();
            option["options"] = json!(values);
            json!([option])
        };
        let (both, one) = (with(&[&a, &b]), with(&[&a]));
        let mut agent = agent(&both);
        let reopen = |agent: &mut Agent| match agent.answer("session/resume", &json!({ "sessionId": "s" })) {
            Answer::Result(result) => result["configOptions"].clone(),
            answer => panic!("{answer:?}"),
        };
        assert_eq!(reopen(&mut agent), both, "as in the setup before any update");
        let update = json!({ "sessionUpdate": "config_option_update", "configOptions": one });
        let update =
            json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } });
        agent.shown(0, update.to_string().as_bytes());
        assert_eq!(reopen(&mut agent), one);
    }

    #[test]
    fn never_repeats_a_value_that_an_option_cannot_have() {
        let plain = json!([{ "value": "a", "name": "A" }]);
        let grouped = json!([{ "group": "small", "name": "Small", "options": plain }]);
        let option = |kind: &str, current: Value, options: &Value| json!({ "configId": "x", "name": "X", "type": kind, "currentValue": current, "options": options });
        let table = [
            (option("boolean", json!(false), &Value::Null), json!(true), true),
            (option("boolean", json!(false), &Value::Null), json!("true"), false),
            (option("boolean", json!(false), &Value::Null), json!(1), false),
            (option("select", json!("b"), &plain), json!("a"), true),
            (option("select", json!("b"), &grouped), json!("a"), true),
            (option("select", json!("b"), &plain), json!("A"), false),
            (option("select", json!("b"), &plain), json!(true), false),
            (option("select", json!("b"), &plain), Value::Null, false),
        ];
        for (option, value, can_have) in table {
            let answer = agent(&json!([option]))
                .answer("session/set_config_option", &json!({ "configId": "x", "value": value }));
            match answer {
                Answer::Result(result) => assert!(can_have && result["configOptions"][0]["currentValue"] == value),
                answer => assert!(!can_have, "{option} {value}: {answer:?}"),
            }
        }
    }
}
