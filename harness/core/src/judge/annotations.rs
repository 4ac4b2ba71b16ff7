//! The annotations of the schema of version 2 against the conversation and the checks: `x-scope` names the members that
//! hold ids which the receiver has to know, and `x-state` says how each message changes what a session holds. A
//! revision that adds or changes one of them fails here.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::judge;
use crate::conversation::{Conversation, Session};
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::testing::v2;
use crate::trace::{Event, Header, Trace, What};
use crate::verdict::Verdict;
use crate::wire::{Call, LineEnd, RpcId};

/// What the tests say about a member that holds an id.
enum Scope {
    /// A message with an unknown id there fails or leaves a requirement undecided.
    Decides,
    /// The checks do not need it known, for this reason.
    Open(&'static str),
}

/// The members by definition, kind of id and path, in the order of the schema's definitions.
const SCOPES: &[(&str, &str, &str, Scope)] = &[
    ("CompleteElicitationNotification", "elicitation", "elicitationId", Scope::Decides),
    ("CreateElicitationRequest", "request", "requestId", Scope::Decides),
    ("CreateElicitationRequest", "session", "sessionId", Scope::Decides),
    ("CreateElicitationRequest", "toolCall", "toolCallId", Scope::Open("no text asks for an earlier report")),
    ("RequestPermissionRequest", "session", "sessionId", Scope::Decides),
    ("RequestPermissionRequest", "toolCall", "subject.toolCall.toolCallId", Scope::Open("the request is an upsert")),
    ("RequestPermissionRequest", "toolCall", "subject.toolCallId", Scope::Open("no text asks for an earlier report")),
    ("UpdateSessionNotification", "session", "sessionId", Scope::Decides),
];

/// Returns a correct call of the agent for a scoped definition: its method and params. The ids are `s` for the session,
/// 5 for the request, and `e` for the elicitation.
fn call(definition: &str, kind: &str) -> (&'static str, Value) {
    let form = json!({ "type": "object", "properties": {} });
    match (definition, kind) {
        ("CreateElicitationRequest", "request") => {
            let params = json!({ "requestId": 5, "mode": "form", "message": "m", "requestedSchema": form });
            ("elicitation/create", params)
        }
        ("CreateElicitationRequest", _) => {
            let params = json!({ "sessionId": "s", "mode": "form", "message": "m", "requestedSchema": form });
            ("elicitation/create", params)
        }
        ("RequestPermissionRequest", _) => {
            let options = json!([{ "optionId": "a", "name": "A", "kind": "allow_once" }]);
            ("session/request_permission", json!({ "sessionId": "s", "title": "t", "options": options }))
        }
        ("CompleteElicitationNotification", _) => ("elicitation/complete", json!({ "elicitationId": "e" })),
        ("UpdateSessionNotification", _) => {
            let update = json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2 });
            ("session/update", json!({ "sessionId": "s", "update": update }))
        }
        _ => panic!("no message of the definition {definition}"),
    }
}

/// Returns the requirements that fail or are undecided, if the agent sends this call in a session in which it has asked
/// for a visit, while a request is open.
fn complaints((method, params): (&str, &Value)) -> Vec<String> {
    let visit =
        json!({ "sessionId": "s", "mode": "url", "message": "m", "url": "https://a.example", "elicitationId": "e" });
    let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
    if !matches!(method, "session/update" | "elicitation/complete") {
        message["id"] = json!(8);
    }
    let capabilities = json!({ "elicitation": { "form": {}, "url": {} } });
    let info = json!({ "name": "p", "version": "1" });
    let lines = [
        (
            Party::Client,
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": { "protocolVersion": 2, "info": info, "capabilities": capabilities } }),
        ),
        (
            Party::Agent,
            json!({ "jsonrpc": "2.0", "id": 0,
            "result": { "protocolVersion": 2, "info": info, "capabilities": { "session": {} } } }),
        ),
        (Party::Client, json!({ "jsonrpc": "2.0", "id": 1, "method": "session/new", "params": { "cwd": "/w" } })),
        (Party::Agent, json!({ "jsonrpc": "2.0", "id": 1, "result": { "sessionId": "s" } })),
        (Party::Agent, json!({ "jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": visit })),
        (Party::Client, json!({ "jsonrpc": "2.0", "id": 7, "result": { "action": "accept" } })),
        (Party::Client, json!({ "jsonrpc": "2.0", "id": 5, "method": "session/list", "params": {} })),
        (Party::Agent, message),
    ];
    let event = |(n, (from, line)): (usize, &(Party, Value))| {
        let bytes = line.to_string().into_bytes();
        Event { n, us: 0, connection: 0, what: What::Line { from: *from, bytes, end: LineEnd::Lf, deliberate: false } }
    };
    let header = Header::of_recording(&v2().name, Vec::new());
    let header = Header { subject: Some(Party::Agent), case: Some("case".to_owned()), ..header };
    let judgement = judge(&Trace { header, events: lines.iter().enumerate().map(event).collect() }, v2());
    let undecided = judgement.tallies.iter().filter(|(_, tally)| {
        tally.findings.iter().any(|finding| finding.events.first() == Some(&(lines.len() - 1)))
            && matches!(tally.verdict(), Verdict::Fail | Verdict::Inconclusive)
    });
    undecided.map(|(id, _)| id.clone()).collect()
}

/// Returns the members of a definition that hold ids, each with its kind.
fn scopes(edition: &Edition) -> Vec<(&str, &str, &str)> {
    let definitions = edition.stable.root()["$defs"].as_object().into_iter().flatten();
    let mut found = Vec::new();
    for (definition, schema) in definitions {
        for (kind, paths) in schema["x-scope"].as_object().into_iter().flatten() {
            let paths = paths.as_array().into_iter().flatten().filter_map(Value::as_str);
            found.extend(paths.map(|path| (definition.as_str(), kind.as_str(), path)));
        }
    }
    found.sort_unstable();
    found
}

#[test]
fn ids_of_each_scope_have_to_be_known() {
    let known: Vec<_> = SCOPES.iter().map(|(definition, kind, path, _)| (*definition, *kind, *path)).collect();
    assert_eq!(scopes(v2()), known);
    for (definition, kind, path, scope) in SCOPES {
        let (method, mut params) = call(definition, kind);
        assert_eq!(complaints((method, &params)), Vec::<String>::new(), "{definition} with known ids");
        if let Scope::Decides = scope {
            params[*path] = if *kind == "request" { json!(99) } else { json!("unknown") };
            assert_ne!(complaints((method, &params)), Vec::<String>::new(), "{definition} with an unknown {path}");
        }
    }
    let reasons = SCOPES.iter().filter_map(|(.., scope)| if let Scope::Open(why) = scope { Some(why) } else { None });
    assert!(reasons.into_iter().all(|why| !why.is_empty()));
}

/// Whether the conversation holds what an update put into the session `s` under the id `x`.
type IsKept = fn(&Conversation, &Session) -> bool;

/// The targets of `x-state`, each with the kinds of change that it has and where the conversation or an area holds it;
/// none where nothing depends on it.
const TARGETS: &[(&str, &[&str], Option<IsKept>)] = &[
    ("agentMessage", &["append", "upsert"], Some(|_, s| is_shown(s, "agent_message"))),
    ("agentThought", &["append", "upsert"], Some(|_, s| is_shown(s, "agent_thought"))),
    ("availableCommands", &["replace"], None),
    ("compaction", &["append", "upsert"], Some(|_, s| s.compactions.contains_key("x"))),
    ("configOptions", &["replace"], Some(|_, s| s.options.as_ref().is_some_and(Vec::is_empty))),
    // `areas::plan` holds the plans.
    ("plan", &["remove", "replace"], None),
    ("sessionInfo", &["upsert"], None),
    ("sessionMessage", &["append", "upsert"], None),
    ("state", &["replace"], Some(|_, s| s.work.state.as_deref() == Some("idle"))),
    ("subagent", &["upsert"], Some(|c, _| c.announced_sessions.contains("x"))),
    // The content of chunks is not held, so only an upsert makes an entry of these two.
    ("terminal", &["append", "upsert"], Some(|_, s| s.work.terminals.contains_key("x"))),
    ("toolCall", &["append", "upsert"], Some(|_, s| s.work.tools.contains_key("x"))),
    ("usage", &["upsert"], None),
    ("userMessage", &["append", "upsert"], Some(|_, s| is_shown(s, "user_message"))),
];

fn is_shown(session: &Session, kind: &str) -> bool {
    session.work.shown.contains_key(&(kind.to_owned(), "x".to_owned()))
}

/// Returns a conversation in which the agent sent one update in the session `s`.
fn after(update: Value) -> Conversation {
    let mut conversation = Conversation::new(v2(), true);
    let (id, params) = (json!(1), json!({ "cwd": "/w" }));
    let open = Call { id: Some(&id), method: "session/new", params: Some(&params) };
    conversation.apply_call((0, 0), Party::Client, &open, None, false);
    let result = json!({ "sessionId": "s" });
    let outcome = crate::conversation::Outcome::Result(&result);
    conversation.apply_response((1, 0), Party::Agent, &RpcId::new(&id), outcome);
    let params = json!({ "sessionId": "s", "update": update });
    let call = Call { id: None, method: "session/update", params: Some(&params) };
    conversation.apply_call((2, 0), Party::Agent, &call, v2().adapter.update(&params).as_ref(), false);
    conversation
}

#[test]
fn updates_change_what_the_schema_says() {
    let branches = v2().stable.root()["$defs"]["SessionUpdate"]["anyOf"].as_array().expect("a union");
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for branch in branches.iter().filter(|branch| branch["properties"]["sessionUpdate"]["const"].is_string()) {
        let kind = branch["properties"]["sessionUpdate"]["const"].as_str().expect("a kind");
        assert!(branch["x-state"].is_object(), "{kind} has no x-state");
        for change in branch["x-state"]["session"].as_array().into_iter().flatten() {
            let [target, action] = ["target", "action"].map(|name| change[name].as_str().expect("a text"));
            let actions = found.entry(target).or_default();
            actions.push(action);
            actions.sort_unstable();
            let known = TARGETS.iter().find(|(known, ..)| *known == target);
            let (.., kept) = known.unwrap_or_else(|| panic!("{kind} changes {target}, which no test knows"));
            let mut update = json!({ "sessionUpdate": kind, "state": "idle", "configOptions": [] });
            if let Some(id) = change["id"].as_str().filter(|id| !id.contains('.')) {
                update[id] = json!("x");
            }
            let makes_none = action == "append" && matches!(target, "terminal" | "toolCall");
            if let Some(is_kept) = kept {
                let mut conversation = after(update.clone());
                if target == "subagent" {
                    conversation.learn_announced_sessions("session/update", &json!({ "update": update }));
                }
                let session = conversation.session("s").expect("it was opened");
                assert_eq!(is_kept(&conversation, session), !makes_none, "{kind}");
            }
        }
    }
    let known: BTreeMap<&str, Vec<&str>> =
        TARGETS.iter().map(|(target, actions, _)| (*target, actions.to_vec())).collect();
    assert_eq!(found, known);
}
