//! A secret in every place that may contain one.

use super::*;
use crate::requirement::Party;
use crate::trace::{
    AgentStart, CaseInfo, Difference, Header, McpTransport, ModelCall, ModelEvent, ModelOutput, ModelRequest,
    ModelResult, ModelText, OTHERS, Outcome, StepKind, Visit,
};
use crate::wire::LineEnd;

/// The secrets in the trace; the number stands where only numbers can.
const SECRETS: [&str; 4] = ["hunter2", "secret", "alice", "4711"];

fn agent(text: impl ToString) -> What {
    What::Line { from: Party::Agent, bytes: text.to_string().into_bytes(), end: LineEnd::Lf, deliberate: false }
}

fn client(text: impl ToString) -> What {
    What::Line { from: Party::Client, bytes: text.to_string().into_bytes(), end: LineEnd::Lf, deliberate: false }
}

fn update(update: Value) -> What {
    agent(json!({ "method": "session/update", "params": { "sessionId": "secret-0001", "update": update } }))
}

fn step(expected: Expected, observed: Observed) -> What {
    What::Step(StepEvent {
        line: 1,
        text: "reply: { equals: secret }".to_owned(),
        expected: Some(expected),
        observed: Some(observed),
        ..StepEvent::new(StepKind::Reply, Outcome::Missed)
    })
}

/// Builds a trace with a secret in every place that may contain one.
fn private() -> Trace {
    let started = ProcessEvent::AgentStarted(AgentStart {
        args: vec!["--token=hunter2".to_owned(), "secret".to_owned()],
        cwd: "/x/alice/secret".to_owned(),
        environment: vec!["ALICE_TOKEN".to_owned()],
        values: [("ALICE_KEY".to_owned(), "hunter2".to_owned())].into(),
        ..AgentStart::default()
    });
    let server = McpWhat::Started {
        command: "/x/alice/secret".to_owned(),
        pid: 1,
        args: vec!["--token=hunter2".to_owned()],
        cwd: "/x/alice".to_owned(),
        env: [("ALICE".to_owned(), "hunter2".to_owned())].into(),
        environment: vec!["ALICE_TOKEN".to_owned()],
    };
    let mcp = |what| What::Mcp(McpEvent { server: "alice".to_owned(), over: McpTransport::Stdio, instance: 0, what });
    let call =
        json!({ "id": 1, "method": "tools/call", "params": { "secret": "hunter2", "name": "alice", "n": 4711 } });
    let visit = Visit {
        method: "GET".to_owned(),
        url: "http://alice:hunter2@secret:4711/secret?token=hunter2".to_owned(),
        headers: vec![("x-alice".to_owned(), "hunter2".to_owned())],
    };
    let words = || ExpectedText::Contains(Excerpt::of("hunter2"));
    let case = CaseInfo {
        id: "v1/agent/own".to_owned(),
        title: Some("secret".to_owned()),
        file: Some("/x/alice/v1/agent/own.yaml".to_owned()),
        requirements: Vec::new(),
    };
    let difference =
        || Difference { pointer: String::new(), expected: "secret".to_owned(), actual: "alice".to_owned() };
    let whats = vec![
        What::Case(CaseMark::Begins(case)),
        What::Process(started),
        What::Process(ProcessEvent::NotSpawned("no /x/alice/secret".to_owned())),
        mcp(server),
        mcp(McpWhat::FromAgent(call.to_string())),
        mcp(McpWhat::ToAgent("secret".to_owned())),
        What::Visit(visit),
        What::Model(ModelEvent {
            did: format!("read-file{OTHERS}secret, alice"),
            request: Some(ModelRequest {
                messages: vec![
                    ModelText::new("acp-intent: {\"secret\":\"hunter2\"}", 64),
                    ModelText::new("acp-intent: {\"secret\":\"hunter2\"}", 0),
                ],
                tools: vec!["secret".to_owned()],
                results: vec![ModelResult { text: Some("hunter2 secret".to_owned()), ..ModelResult::default() }],
                ..ModelRequest::default()
            }),
            answer: Some(ModelOutput {
                text: ModelText::new("hunter2", 64),
                calls: vec![ModelCall {
                    id: "call_1".to_owned(),
                    name: "alice".to_owned(),
                    arguments: ModelText::new("secret", 64),
                }],
                finished: true,
            }),
            ..ModelEvent::default()
        }),
        client(
            json!({ "id": 0, "method": "initialize", "params": { "clientCapabilities": { "_meta": { "alice": 4711 } } } }),
        ),
        agent(
            json!({ "id": 0, "result": { "authMethods": [{ "id": "alice", "name": "secret", "description": "secret" }] } }),
        ),
        client(json!({ "id": 1, "method": "session/new", "params": {
            "cwd": "/x/alice/secret", "additionalDirectories": ["alice\\secret", "C:\\alice"],
            "mcpServers": [
                { "name": "secret", "command": "secret", "args": ["hunter2"], "env": [{ "name": "ALICE_TOKEN", "value": "hunter2" }] },
                { "type": "http", "name": "alice", "url": "https://alice:hunter2@secret/?token=hunter2", "headers": [{ "name": "x-alice", "value": "Bearer hunter2" }] },
            ],
        } })),
        agent(json!({ "id": 1, "result": { "sessionId": "secret-0001", "configOptions": [
            { "id": "alice", "name": "secret", "type": "select", "currentValue": "hunter2", "options": [{ "value": "hunter2", "name": "secret" }] },
        ] } })),
        client(json!({ "id": "alice", "method": "session/prompt", "params": { "sessionId": "secret-0001", "prompt": [
            { "type": "text", "text": "my secret is hunter2" },
            { "type": "image", "mimeType": "image/png", "data": "hunter2secre" },
            { "type": "resource_link", "name": "secret", "uri": "file:///x/alice/secret" },
            { "type": "resource", "resource": { "uri": "alice:secret", "text": "/hunter2", "blob": "hunter2, secret" } },
        ] } })),
        update(
            json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "hunter2\nsecret" } }),
        ),
        update(
            json!({ "sessionUpdate": "tool_call", "toolCallId": "/x/alice/secret", "title": "secret", "status": "it is secret: hunter2",
            "rawInput": { "/x/alice/secret": { "secret": "hunter2", "path": "alice", "line": 4711 } }, "rawOutput": ["hunter2", 4711],
            "content": [{ "type": "diff", "path": "/x/alice", "oldText": "secret", "newText": "hunter2" }],
            "locations": [{ "path": "/x/alice/secret" }], "_meta": { "alice": "secret", "traceparent": "secret" }, "secret": { "alice": 4711 } }),
        ),
        update(
            json!({ "sessionUpdate": "plan", "entries": [{ "content": "secret", "priority": "high", "status": "pending" }] }),
        ),
        update(
            json!({ "sessionUpdate": "available_commands_update", "availableCommands": [{ "name": "alice", "description": "secret" }] }),
        ),
        agent(
            json!({ "id": 3, "method": "fs/write_text_file", "params": { "sessionId": "secret-0001", "path": "/x/alice", "content": "a=hunter2" } }),
        ),
        client(
            json!({ "id": 3, "error": { "code": -32603, "message": "no file: /x/alice", "data": { "alice": "secret", "line": 4711 } } }),
        ),
        agent(
            json!({ "id": 4, "method": "terminal/create", "params": { "command": "secret", "args": ["alice"], "env": [{ "name": "ALICE", "value": "secret" }], "cwd": "/x/alice" } }),
        ),
        agent(
            json!({ "id": 5, "method": "elicitation/create", "params": { "message": "secret", "requestedSchema": { "type": "object", "properties": { "alice": { "type": "string", "title": "secret", "enum": ["hunter2"], "default": "hunter2" } }, "required": ["alice"] } } }),
        ),
        client(json!({ "id": 5, "result": { "action": "accept", "content": { "alice": "hunter2", "secret": 4711 } } })),
        agent(
            json!({ "id": 9, "method": "_acme/do", "params": { "secret": "hunter2", "deep": [{ "alice": [4711] }] } }),
        ),
        client(json!({ "id": 9, "result": { "secret": "hunter2" } })),
        agent("{\"broken\": \"hunter2"),
        agent("{\"alice\": 1} {\"secret\": \"hunter2\"} 4711"),
        agent("\"hunter2\""),
        agent("4711"),
        agent("hunter2 secret alice"),
        What::Unattributed(b"\"hunter2\"".to_vec()),
        What::Stderr(b"secret \xffhunter2".to_vec()),
        What::Stdout(b"alice".to_vec()),
        step(
            Expected::File { path: "/x/alice/secret".to_owned(), content: words() },
            Observed::File(Excerpt::of("hunter2")),
        ),
        step(Expected::NoFile("/x/alice".to_owned()), Observed::FileUnreadable("alice".to_owned())),
        step(Expected::Reply(words()), Observed::Reply { text: Excerpt::of("hunter2 secret"), repeats_prompt: true }),
        step(Expected::FenceAnswer, Observed::Error(json!({ "code": 1, "message": "secret", "data": "alice" }))),
        step(Expected::FenceAnswer, Observed::Result(json!({ "secret": "alice" }))),
        step(Expected::FenceAnswer, Observed::Problem("secret".to_owned())),
        step(Expected::FenceAnswer, Observed::NoProcessId { path: "/x/alice".to_owned() }),
        step(Expected::FenceAnswer, Observed::Mismatch(difference())),
        step(
            Expected::FenceAnswer,
            Observed::TimedOut { after_ms: 1, connected: true, by_person: false, differing: Some(difference()) },
        ),
    ];
    let events = whats.into_iter().enumerate();
    let events = events.map(|(n, what)| Event { n, us: 0, connection: 0, what }).collect();
    let command = ["/x/alice/bin/program", "--key=hunter2", "secret", "/x/alice"].map(str::to_owned).to_vec();
    let (case, file) = (Some("v1/agent/own".to_owned()), Some("/x/alice/secret/v1/agent/own.yaml".to_owned()));
    let title = Some("secret".to_owned());
    Trace { header: Header { command, case, title, file, ..Header::of_recording("v1", Vec::new()) }, events }
}

#[test]
fn no_secret_survives() {
    let mut file = Vec::new();
    redact(&private(), crate::testing::v1()).write(&mut file).expect("a vector takes everything");
    let text = String::from_utf8(file.clone()).expect("traces are UTF-8").to_lowercase();
    for line in text.lines() {
        assert!(SECRETS.iter().all(|secret| !line.contains(secret)), "{line}");
    }
    for word in ["/program", "--key=", "_acme/do", "rawinput", "available_commands_update", "image/png", "-32603"] {
        assert!(text.contains(word), "{word}:\n{text}");
    }
    let again = Trace::read(file.as_slice()).expect("a redacted trace is a trace");
    assert_eq!(again.events.len(), private().events.len());
}

#[test]
fn structure_stays() {
    let edition = crate::testing::v1();
    let mut redactor = Redactor::new(edition, false);
    let mut text = |text: &str, name| redactor.text(text, name, false);
    let folder = text("/x/alice", "cwd");
    assert_eq!(folder, "/word-1/word-2");
    assert_eq!(text("/x/alice/../notes.txt", "path"), format!("{folder}/../word-3"));
    assert_eq!(text("C:\\alice", "path"), "C:\\word-2");
    assert_eq!(text("file:///x/alice", "uri"), format!("file://{folder}"));
    assert_eq!(text("http://localhost:80/x", "url"), "http://localhost:80/word-1");
    assert_eq!([text("one", "sessionId"), text("two", "id"), text("one", "id")], ["word-4", "word-5", "word-4"]);
    assert_eq!(text("two\nlines", "text"), "xxx\nxxxxx");
    assert_eq!(text("aGk=", "data"), "AAAA");
    assert_eq!(
        [text("completed", "status"), text("2026-01-02T03:04:05Z", "updatedAt")],
        ["completed", "2026-01-02T03:04:05Z"]
    );
    assert_eq!(text("é€𝄞", "text"), "×ｘ𝐱");
    assert_eq!(text("two words", "name"), "word 6");
    assert_eq!(text("auto", "value"), "word-7-auto");
    assert_eq!([text("Sess/A", "sessionId"), text("sess%2Fa", "sessionId")], ["word-8", "word-8-"]);
    assert_eq!(text("https://me:secret@host.example/x", "url"), "https://word-10:word-11@word-12/word-1");
    assert_eq!(text("host.example:80/x", "url"), "xxxx.xxxxxxx:0word-13/word-1");
    assert_eq!(text("image/png; a=b", "mimeType"), "image/xxxxxxxx");
    assert_eq!(text("lacks `sessionId` of `one`", "message"), "xxxxxx`sessionId`xxxx`xxx`");
    let mut line_of = |bytes: &[u8]| redactor.line(bytes);
    let content = |bytes: &[u8]| std::mem::discriminant(&read_line(bytes));
    for line in ["{\"a\": \"b", "[1,", "plain", " "] {
        assert_eq!(content(&line_of(line.as_bytes())), content(line.as_bytes()), "{line}");
    }
    assert_eq!(content(&line_of(b"a\xff")), content(b"a\xff"));
    let mut shown = |line: &[u8]| String::from_utf8_lossy(&line_of(line)).into_owned();
    assert_eq!(shown(br#"{"id":"one","result":{"content":"a"b"}}"#), r#"{"id":"word-4","result":{"content":"x"x"xx"#);
    assert_eq!(
        shown(br#"{"id":"12","method":"a/b","params":{"session_id":"one"}}"#),
        r#"{"id":"12","method":"a/b","params":{"session_id":"word-4"}}"#
    );
    assert_eq!(shown(br#"{"error":{"data":["a/b",7]}}"#), r#"{"error":{"data":["a/b",0]}}"#);
    assert_eq!(shown(b"{\"error\":{\"message\":\"\xe9t\xe9\"}}"), "{\"error\":{\"message\":\"\u{fffd}x\u{fffd}\"}}");
    assert_eq!(mask_bytes("é".as_bytes().split_at(1).0), "×".as_bytes().split_at(1).0);
}
