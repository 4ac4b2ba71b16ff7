//! Made-up cases and conversations that share a process, and those that do not.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Opening, beginning, leaves_no_mark, left_as_found};
use crate::case::model::Case;
use crate::case::{Includes, Vocabulary, embedded, load_text};
use crate::edition::V1;
use crate::requirement::Party;
use crate::trace::{Event, Trace};

/// A case of an agent with these lines above its transcript, and these steps.
fn case(above: &str, steps: &[&str]) -> Case {
    let steps: String = steps.iter().map(|step| format!("  - {step}\n")).collect();
    let text = format!("title: A case\nsubject: agent\n{above}\ntranscript:\n{steps}");
    let (mut cases, problems) =
        load_text("cases/v1/agent/x.yaml", &text, &Vocabulary::of(V1.edition()), &Includes::of(&V1));
    cases.pop().unwrap_or_else(|| panic!("{text}\n{problems:?}"))
}

const USUAL: &str = "requirements: [prompt.text]";

fn shares(above: &str, steps: &[&str]) -> bool {
    let case = case(above, steps);
    Opening::of(&case).is_some() && leaves_no_mark(&case)
}

#[test]
fn a_case_that_stays_with_its_sessions_shares_a_process() {
    let prompt =
        "client: { id: turn, method: session/prompt, params: { sessionId: <session>, prompt: { intent: say } } }";
    let answer = "agent: { id: turn, result: { stopReason: <string> } }";
    assert!(shares(USUAL, &["include: session", prompt, answer]));
    let setup = "client: { capabilities: { fs: { readTextFile: true } }, permission: reject }";
    let cancel = "client: { method: session/cancel, params: { sessionId: <session> } }";
    let read = "agent: { id: read, method: fs/read_text_file }";
    let refuse = "client: { id: read, error: { code: -32603, message: refused } }";
    assert!(shares(&format!("{USUAL}\n{setup}"), &["include: session", prompt, read, refuse, cancel, answer]));
    for step in ["fence: {}", "never: { method: session/update }", "file: { path: <cwd>/x, absent: true }"] {
        assert!(shares(USUAL, &["include: session", step]), "{step}");
    }
}

#[test]
fn a_case_that_does_anything_else_has_a_process_of_its_own() {
    for above in [
        "requirements: [init.respond]",
        "requirements: [transport.stdout-only-messages]",
        &format!("{USUAL}\nclient: {{ mcp: [files] }}"),
        &format!("{USUAL}\nclient: {{ wire: {{ ids: text }} }}"),
        &format!("{USUAL}\nclient: {{ wire: {{ meta: true }} }}"),
        &format!("{USUAL}\nclient: {{ capabilities: {{ elicitation: {{ form: {{}} }} }} }}"),
    ] {
        assert!(!shares(above, &["include: session"]), "{above}");
    }
    for step in [
        "client: { id: x, method: session/list, params: {} }",
        "client: { id: x, method: session/delete, params: { sessionId: <session> } }",
        "client: { id: x, method: session/set_mode, params: { sessionId: <session>, modeId: m } }",
        "client: { id: x, method: authenticate, params: { methodId: m } }",
        "client: { id: x, method: _known, params: {} }",
        "client: { id: x, method: session/prompt, params: {}, illegal: true }",
        "client: { id: x, wire-id: 7, method: session/close, params: { sessionId: <session> } }",
        "client: { id: x, split: 1, method: session/close, params: { sessionId: <session> } }",
        "client: { id: x, method: session/new, params: { cwd: <cwd>, mcpServers: [{ name: a, command: /a, args: [], env: [] }] } }",
        "raw: { text: x }",
        "close: stdin",
    ] {
        assert!(!shares(USUAL, &["include: session", step]), "{step}");
    }
    let own = "client: { id: i, method: initialize, params: { protocolVersion: 1 } }";
    let decided = "agent: { id: i, result: { protocolVersion: 1 }, decides: prompt.text }";
    assert!(!shares(USUAL, &[own, decided]));
    assert!(!shares(USUAL, &["client: { id: s, method: session/new, params: { cwd: <cwd>, mcpServers: [] } }"]));
}

#[test]
fn cases_share_only_what_was_opened_for_them_alike() {
    let usual = case(USUAL, &["include: session"]);
    let opening = Opening::of(&usual).expect("it shares");
    assert!(opening.may_go_on(&usual, &json!({})));
    let other = case(&format!("{USUAL}\nclient: {{ capabilities: {{}} }}"), &["include: session"]);
    assert!(!opening.may_go_on(&other, &json!({})), "it declares something else");
    let steps = ["include: session", "client: { id: x, method: session/list, params: {} }"];
    let listing = case(&format!("{USUAL}\nneeds: agent.sessionCapabilities.list"), &steps);
    assert!(opening.may_go_on(&listing, &json!({ "agentCapabilities": {} })), "nothing of it is played");
    let able = json!({ "agentCapabilities": { "sessionCapabilities": { "list": {} } } });
    assert!(!opening.may_go_on(&listing, &able), "it lists sessions");
}

/// So many cases of an agent can share a process; one that changes sides does so on purpose.
#[test]
fn the_built_in_cases_that_share_a_process_are_known() {
    let (cases, _) = embedded(&V1);
    let cases: Vec<Case> = cases.into_iter().filter(|case| case.subject == Party::Agent).collect();
    let opening = Opening::usual(&cases).expect("many share one");
    let shared: Vec<&Case> = cases.iter().filter(|case| opening.may_begin(case)).collect();
    assert!(shared.len() > 100, "only {} of {}", shared.len(), cases.len());
    for area in ["init", "transport", "auth", "cancelreq", "mcp", "list", "delete", "compaction", "notice"] {
        let found = shared.iter().find(|case| case.id.starts_with(&format!("v1/agent/{area}/")));
        assert!(found.is_none(), "{}", found.map_or("", |case| &case.id));
    }
    for id in ["v1/agent/cancel/while-running", "v1/agent/session/new", "v1/agent/fs/read"] {
        assert!(shared.iter().any(|case| case.id == id), "{id}");
    }
}

const HELLO: [&str; 2] = [
    r#""from":"client","line":"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}""#,
    r#""from":"agent","line":"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":1}}""#,
];

/// The events of a case that begins in the usual way, and then goes on like this.
fn events(rest: &[&str]) -> Vec<Event> {
    let lines = [r#""process":{"spawned":{"pid":1}}"#].iter().chain(&HELLO).chain(rest);
    let mut file = r#"{"format":"acp-conformance-trace/1","suite":"0","edition":"v1","subject":"agent"}"#.to_owned();
    for (n, line) in lines.enumerate() {
        file += &format!("\n{{\"n\":{n},\"us\":{n},{line}}}");
    }
    Trace::read(file.as_bytes()).expect("a trace").events
}

#[test]
fn the_beginning_ends_with_the_answer_to_initialize() {
    let events = events(&[r#""stderr":"later""#]);
    let (begun, answer) = beginning(&events).expect("it begins as usual");
    assert_eq!((begun.len(), answer), (3, json!({ "protocolVersion": 1 })));
    assert!(beginning(&events[..2]).is_none(), "no answer");
    assert!(beginning(&events[2..]).is_none(), "no request");
}

#[test]
fn a_process_is_as_found_when_nothing_is_open_and_everything_went_as_written() {
    let new = r#""from":"client","line":"{\"id\":1,\"method\":\"session/new\"}""#;
    let made = r#""from":"agent","line":"{\"id\":1,\"result\":{\"sessionId\":\"s\"}}""#;
    let asks = r#""from":"agent","line":"{\"id\":1,\"method\":\"fs/read_text_file\"}""#;
    let told = r#""from":"client","line":"{\"id\":1,\"result\":{\"content\":\"\"}}""#;
    let none = BTreeSet::new();
    let left = |rest: &[&str]| left_as_found(&events(rest), &none);
    assert_eq!(left(&[new, made, asks, told]), Some(["s".to_owned()].into()));
    assert_eq!(left(&[]), Some(BTreeSet::new()));
    let asking = |kind: &str| {
        let params = json!({ "options": [{ "optionId": "yes", "kind": kind }] });
        let request = json!({ "id": 5, "method": "session/request_permission", "params": params }).to_string();
        format!(r#""from":"agent","line":{}"#, json!(request))
    };
    let chosen = r#""from":"client","line":"{\"id\":5,\"result\":{\"outcome\":{\"optionId\":\"yes\"}}}""#;
    let cancelled = r#""from":"client","line":"{\"id\":5,\"result\":{\"outcome\":{\"outcome\":\"cancelled\"}}}""#;
    assert!(left(&[&asking("reject_once"), chosen]).is_some());
    assert!(left(&[&asking("allow_always"), cancelled]).is_some());
    for (why, rest) in [
        ("a request of the tester is open", &[new][..]),
        ("a request of the agent is open", &[new, made, asks]),
        ("a session twice", &[new, made, r#""from":"client","line":"{\"id\":2,\"method\":\"session/new\"}""#, made]),
        ("the process ended", &[r#""process":{"exited":{"code":0,"signal":null}}"#]),
        ("no message", &[r#""from":"agent","line":"oops""#]),
        ("a user has allowed it for good", &[&asking("allow_always"), chosen]),
        (
            "a user has filled in a form",
            &[
                r#""from":"agent","line":"{\"id\":5,\"method\":\"elicitation/create\"}""#,
                r#""from":"client","line":"{\"id\":5,\"result\":{}}""#,
            ],
        ),
        ("a line did not come in time", &[r#""step":{"kind":"hope","line":1,"text":"","outcome":"timed-out"}"#]),
    ] {
        assert_eq!(left(rest), None, "{why}");
    }
    let earlier = ["s".to_owned()].into();
    assert_eq!(left_as_found(&events(&[new, made]), &earlier), None, "a session that an earlier case has had");
    for (kind, outcome) in [("needs", "not-applicable"), ("hope", "missed"), ("must", "contradicted")] {
        let step = format!(r#""step":{{"kind":"{kind}","line":0,"text":"","outcome":"{outcome}"}}"#);
        assert!(left(&[&step]).is_some(), "nothing is on its way: {outcome}");
    }
}
