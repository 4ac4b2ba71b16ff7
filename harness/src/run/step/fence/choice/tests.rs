//! Checks which requests are offered as a fence in conversations of a few lines.

use super::*;
use crate::case::model::Case;
use crate::edition::V1;
use crate::trace::Event;
use crate::wire::LineEnd;

fn case(id: &str) -> Case {
    let (cases, _) = crate::case::embedded_and(None, None, &V1);
    cases.into_iter().find(|case| case.id == id).expect("a built-in case")
}

/// Builds a conversation of these lines, each sent by the client (`C`) or the agent (`A`).
fn said(lines: &[(char, &str)]) -> Vec<Event> {
    let line = |(n, (from, text)): (usize, &(char, &str))| {
        let from = if *from == 'C' { Party::Client } else { Party::Agent };
        let what = What::Line { from, bytes: text.as_bytes().to_vec(), end: LineEnd::Lf, deliberate: false };
        Event { n, us: 0, connection: 0, what }
    };
    lines.iter().enumerate().map(line).collect()
}

const OPENED: [(char, &str); 5] = [
    (
        'C',
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}}"#,
    ),
    (
        'A',
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"list":{}}}}}"#,
    ),
    ('C', r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}"#),
    ('A', r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}"#),
    ('C', r#"{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}"#),
];

fn methods(id: &str, lines: &[(char, &str)]) -> Vec<&'static str> {
    let (case, events) = (case(id), said(lines));
    let scene = Scene::of(&case, events.iter(), 0, false);
    scene.requests(Path::new("/w")).iter().map(|request| request.method).collect()
}

#[test]
fn offers_only_what_the_subject_advertises_and_the_case_is_not_about() {
    let (read, ask) = ("fs/read_text_file", "session/request_permission");
    for (id, lines, wanted) in [
        ("v1/client/update/in-one-write", 5, vec![read, ask]),
        ("v1/client/update/in-one-write", 4, vec![read]),
        ("v1/client/update/in-one-write", 2, vec![]),
        ("v1/client/update/in-one-write", 1, vec![]),
        ("v1/client/fs/read", 5, vec![ask]),
        ("v1/client/permission/decided@never", 5, vec![read]),
        ("v1/agent/prompt/text", 5, vec!["session/list", "session/new"]),
        ("v1/agent/prompt/text", 1, vec![]),
        ("v1/agent/list/all", 5, vec![]),
        ("v1/agent/session/new", 5, vec!["session/list"]),
    ] {
        assert_eq!(methods(id, &OPENED[..lines]), wanted, "{id} after {lines} lines");
    }
}

#[test]
fn names_no_session_that_was_closed() {
    let closed = [
        ('C', r#"{"jsonrpc":"2.0","id":3,"method":"session/close","params":{"sessionId":"s"}}"#),
        ('A', r#"{"jsonrpc":"2.0","id":3,"result":{}}"#),
    ];
    let lines: Vec<_> = OPENED[..4].iter().chain(&closed).copied().collect();
    assert_eq!(methods("v1/client/update/in-one-write", &lines), Vec::<&str>::new());
}

#[test]
fn every_fence_follows_the_schema() {
    for id in ["v1/client/update/in-one-write", "v1/agent/prompt/text"] {
        let (case, events) = (case(id), said(&OPENED));
        let requests = Scene::of(&case, events.iter(), 0, false).requests(Path::new("/w"));
        assert!(!requests.is_empty(), "{id}");
        for Request { method, params } in requests {
            let kind = crate::protocol::Kind::Request;
            let known =
                V1.edition().methods.find(case.subject.other(), kind, method).expect("a method of the protocol");
            assert_eq!(V1.edition().stable.problems(&known.params, &params), [], "{method}");
        }
    }
}
