//! Checks the results of reading good and broken files.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::case::model::{
    Action, AgentProcess, Body, Ids, IncomingBody, McpCheck, NeedRoot, Presence, UserPermission, WireSetup,
};
use crate::document::yaml;
use crate::edition::V1;
use crate::requirement::Party;

const CLIENT: &str = include_str!("../../../tests/good-client-case.yaml");
const EVERYTHING: &str = include_str!("../../../tests/good-case.yaml");

fn read(text: &str) -> (Option<Case>, Vec<Diagnostic>) {
    one("cases/v1/agent/good.yaml", text)
}

/// Reads the only case of a file.
fn one(path: &str, text: &str) -> (Option<Case>, Vec<Diagnostic>) {
    let (mut cases, problems) = load_text(path, text, &V1);
    assert!(cases.len() <= 1);
    (cases.pop(), problems)
}

#[test]
fn a_case_with_everything_is_lowered() {
    let (case, problems) = read(EVERYTHING);
    assert!(problems.is_empty(), "{}", diagnostic::render_all(&problems, diagnostic::RenderStyle::Plain));
    let case = case.expect("a sound case");
    assert_eq!(case.id, "v1/agent/good");
    assert_eq!(case.needs.iter().map(|need| need.root).collect::<Vec<_>>(), [NeedRoot::Agent, NeedRoot::Session]);
    assert_eq!(case.tester.by_hand.iter().collect::<Vec<_>>(), ["fs/read_text_file"]);
    assert_eq!(case.limits.turn, Some(Duration::from_secs(20)));
    assert_eq!(case.tester.mcp, ["files"]);
    let check = case.steps.iter().find(|step| step.text.starts_with("mcp")).expect("a look at an MCP server");
    let Action::Mcp(McpCheck { server, methods, presence: Presence::Must, .. }) = &check.action else {
        panic!("{check:?}")
    };
    assert_eq!((server.as_str(), check.within), ("files", Some(Duration::from_secs(2))));
    assert_eq!(methods, &["tools/call"]);
    let Action::Send(first) = &case.steps[0].action else { panic!("{:?}", case.steps[0]) };
    assert!(matches!(&first[0].body, Body::Request { label, .. } if label == "initialize"));
    assert_eq!(case.steps[0].source.path(), "cases/v1/agent/include/initialize.yaml");
    let optional = case.steps.iter().find(|step| step.text.starts_with("agent?")).expect("a sound case");
    assert!(matches!(optional.action, Action::Expect { presence: Presence::Optional, .. }));
    assert_eq!(
        case.source.text().lines().nth(optional.place.line - 1).expect("a sound case").trim_start()[2..],
        optional.text
    );
    let end = case.steps.iter().find(|step| step.text.contains("cancelled")).expect("a sound case");
    assert_eq!(end.decides, ["cancel.stop-reason"]);
    let Action::Expect { line, .. } = &end.action else { panic!("{end:?}") };
    let IncomingBody::Result { result, .. } = &line.body else { panic!("{line:?}") };
    let mut bindings = crate::case::Bindings::for_case(&case, "/w", "/h");
    assert!(result.matches(&json!({"stopReason": "cancelled", "_meta": {}}), &mut bindings, line.exact).is_ok());
    assert!(result.matches(&json!({"stopReason": "end_turn"}), &mut bindings, line.exact).is_err());
}

#[test]
fn an_answer_of_any_kind_is_a_line_of_the_subject_alone() {
    let case = |line: &str| {
        let head = "title: Any answer\nsubject: client\nrequirements: [init.first]\ntranscript:\n  - include: turn\n";
        let asks = "  - agent: { id: ask, method: _acp-conformance/ask, params: {} }\n";
        let text = format!("{head}{asks}  - {line}\n");
        one("cases/v1/client/any.yaml", &text)
    };
    for line in ["client: { id: ask }", "client?: { id: ask }", "never: { id: ask }"] {
        let (case, problems) = case(line);
        assert!(problems.is_empty(), "{line}: {}", diagnostic::render_all(&problems, diagnostic::RenderStyle::Plain));
        let case = case.expect("a sound case");
        let Some(Action::Expect { line, .. } | Action::Never(line)) = case.steps.last().map(|step| &step.action) else {
            panic!("{:?}", case.steps)
        };
        assert!(matches!(&line.body, IncomingBody::Answer { label } if label == "ask"));
    }
    for (line, code) in [
        ("agent: { id: turn }", "case::no-message"),
        ("client: { exact: true }", "case::no-message"),
        ("client: { id: other }", "case::unknown-label"),
    ] {
        let (_, problems) = case(line);
        assert_eq!(problems.iter().map(|problem| problem.code).collect::<Vec<_>>(), [code], "{line}");
    }
}

#[test]
fn a_case_of_a_client_is_lowered() {
    let (case, problems) = one("cases/v1/client/good.yaml", CLIENT);
    assert!(problems.is_empty(), "{}", diagnostic::render_all(&problems, diagnostic::RenderStyle::Plain));
    let case = case.expect("a sound case");
    assert_eq!(case.needs[0].root, NeedRoot::Client);
    assert_eq!(case.tester.by_hand.iter().collect::<Vec<_>>(), ["session/prompt"]);
    assert_eq!(case.tester.auth_methods[0]["id"], "key");
    assert_eq!(case.tester.session["modes"]["currentModeId"], "ask");
    assert!(case.tester.answers.contains_key("session/list"));
    assert_eq!(case.user.prompt, "Do as the tester says");
    assert_eq!(case.user.permission, UserPermission::Hold);
    assert_eq!(case.user.mcp_servers[0]["command"], "<cwd>/server");
    let bindings = crate::case::Bindings::for_case(&case, "/w", "/h");
    let directories: Vec<_> = case.user.directories.iter().map(|directory| directory.render(&bindings)).collect();
    assert_eq!(directories, ["/w/more", "/elsewhere"]);
    let included: Vec<_> = case.steps.iter().map(|step| step.source.path()).take(3).collect();
    let names = ["initialize", "session", "turn"].map(|name| format!("cases/v1/client/include/{name}.yaml"));
    assert_eq!(included, names);

    let act = |name| {
        case.steps.iter().find_map(|step| match &step.action {
            Action::Act(act) if act.name == name => Some(Value::Object(act.arguments.clone())),
            _ => None,
        })
    };
    assert_eq!(act("cancel"), Some(json!({})));
    assert_eq!(act("set-option"), Some(json!({ "configId": "verbose", "value": true })));
    assert_eq!(act("prompt"), Some(json!({ "text": "look at <session>", "attach": ["image", "mention"] })));
    let order = |text: &str| case.steps.iter().find(|step| step.text.contains(text)).map(|step| &step.action);
    assert!(matches!(order("stderr:"), Some(Action::AgentProcess(AgentProcess::Stderr(_)))));
    assert!(matches!(order("linger:"), Some(Action::AgentProcess(AgentProcess::Linger))));
    assert!(matches!(order("close: stdout"), Some(Action::AgentProcess(AgentProcess::CloseStdout))));
    assert!(matches!(order("exit: 3"), Some(Action::AgentProcess(AgentProcess::Exit(3)))));
    let check = case.steps.iter().find(|step| step.text.starts_with("process")).expect("a look at a process");
    assert!(
        matches!(&check.action, Action::Process(check) if !check.running && check.pid_file.render(&bindings) == "/w/pid")
    );
    assert_eq!(check.within, Some(Duration::from_secs(5)));
}

const MATRIX: &str = r#"title: Ids come back
subject: agent
requirements: [jsonrpc.response-id.agent, <matrix.id.rule>]
matrix:
  id: { zero: { value: 0, rule: <absent> }, text: { value: a b, rule: jsonrpc.response-id-known.agent } }
  fs: { none: <absent>, "null": null, read: { readTextFile: true } }
client: { capabilities: { fs: <matrix.fs>, terminal: true }, wire: { ids: negative, meta: true } }
workspace: { notes.txt: "id <matrix.id.value><repeat 3 !>" }
transcript:
  - include: initialize
  - client: { id: echo, method: _acp-conformance/echo, params: { fs: <matrix.fs>, all: [1, <matrix.fs>] }, wire-id: <matrix.id.value> }
  - agent: { id: echo, error: { data: <matrix.fs> }, decides: [<matrix.id.rule>] }
"#;

#[test]
fn each_shape_of_a_matrix_is_a_case_of_its_own() {
    let path = "cases/v1/agent/jsonrpc/echo.yaml";
    let (cases, problems) = load_text(path, MATRIX, &V1);
    assert!(problems.is_empty(), "{}", diagnostic::render_all(&problems, diagnostic::RenderStyle::Plain));
    let shapes = ["zero,none", "zero,null", "zero,read", "text,none", "text,null", "text,read"];
    let ids: Vec<_> = cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids, shapes.map(|shape| format!("v1/agent/jsonrpc/echo@{shape}")));
    assert!(ids.iter().all(|id| Case::file_of(id) == "v1/agent/jsonrpc/echo"));
    let [zero_none, .., text_read] = cases.as_slice() else { panic!("{ids:?}") };

    assert_eq!(zero_none.title, "Ids come back (zero, none)");
    assert_eq!(zero_none.requirements, ["jsonrpc.response-id.agent"]);
    assert_eq!(zero_none.tester.capabilities, json!({ "terminal": true }));
    assert_eq!(zero_none.workspace, [("notes.txt".to_owned(), "id 0!!!".into())]);
    assert_eq!(cases[1].tester.capabilities, json!({ "fs": null, "terminal": true }));
    assert_eq!(text_read.requirements, ["jsonrpc.response-id.agent", "jsonrpc.response-id-known.agent"]);
    assert_eq!(text_read.tester.wire, WireSetup { ids: Ids::Negative, meta: true });
    assert_eq!(text_read.workspace, [("notes.txt".to_owned(), "id a b!!!".into())]);

    let said = |case: &Case| {
        let step = case.steps.iter().find(|step| step.text.contains("echo")).expect("a sound case").clone();
        let Action::Send(lines) = step.action else { panic!("{step:?}") };
        let Body::Request { params, wire_id, .. } = lines[0].body.clone() else { panic!("{lines:?}") };
        (step.place.line, params.unwrap_or_default(), wire_id.unwrap_or_default())
    };
    assert_eq!(said(zero_none), (11, json!({ "all": [1] }), json!(0)));
    let read = json!({ "readTextFile": true });
    assert_eq!(said(text_read), (11, json!({ "fs": read, "all": [1, read] }), json!("a b")));

    // In a pattern, `<absent>` means that the member must be absent.
    let asks = |case: &Case, data: Value| {
        let Some(Action::Expect { line, .. }) = case.steps.last().map(|step| &step.action) else { panic!("{case:?}") };
        let IncomingBody::Error { error, .. } = &line.body else { panic!("{line:?}") };
        error.matches(&data, &mut crate::case::Bindings::new(), false).is_ok()
    };
    assert!(asks(zero_none, json!({})) && !asks(zero_none, json!({ "data": 1 })));
    assert!(asks(&cases[1], json!({ "data": null })) && !asks(&cases[1], json!({})));
}

#[test]
fn a_shape_is_found_by_its_id_and_its_file_is_replaced_as_a_whole() {
    let id = "v1/agent/jsonrpc/ids@zero";
    assert_eq!(embedded_case(id, &V1).map(|case| case.id).as_deref(), Some(id));
    assert!(embedded_case("v1/agent/jsonrpc/ids", &V1).is_none());

    let dir = tempfile::tempdir().expect("a directory");
    let folder = dir.path().join("v1/agent/jsonrpc");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("ids.yaml"), MATRIX).expect("a file");
    let (cases, _) = embedded_and(Some(dir.path()), None, &V1);
    let shapes = cases.iter().filter(|case| Case::file_of(&case.id) == "v1/agent/jsonrpc/ids");
    assert_eq!(
        shapes.map(|case| case.title.as_str()).collect::<Vec<_>>()[..2],
        ["Ids come back (zero, none)", "Ids come back (zero, null)"]
    );
    assert!(cases.iter().all(|case| case.id != id));
    for case in &cases {
        let is_own = Case::file_of(&case.id) == "v1/agent/jsonrpc/ids";
        assert_eq!(case.own_file().is_some(), is_own, "{}", case.id);
    }
}

#[test]
fn a_step_knows_the_include_in_which_it_stands() {
    let text =
        "title: t\nsubject: agent\nrequirements: [init.respond]\ntranscript:\n  - include: initialize\n  - fence: {}\n";
    let (cases, problems) = load_text("cases/v1/agent/x.yaml", text, &V1);
    assert!(problems.is_empty(), "{problems:?}");
    let [included @ .., own] = cases[0].steps.as_slice() else { panic!("{:?}", cases[0].steps) };
    assert!(included.iter().all(|step| cases[0].include_of(step) == Some("initialize")));
    assert_eq!((included.is_empty(), cases[0].include_of(own), own.place.line), (false, None, 6));
}

#[test]
fn an_editor_takes_every_case() {
    let editor = jsonschema::validator_for(&crate::case::schema()).expect("a sound schema");
    let files = V1.case_files().into_iter().filter(|(path, _)| !includes::is_include(path));
    for (path, bytes) in files.chain([("echo".to_owned(), MATRIX.as_bytes())]) {
        let (document, _) = document(&path, bytes).expect("a sound file");
        let problems: Vec<_> = editor.iter_errors(&document.value).map(|problem| problem.to_string()).collect();
        assert!(problems.is_empty(), "{path}: {problems:?}");
    }
    let wrong = json!({ "title": "t", "subject": "both", "requirements": ["a"], "matrix": { "a": { "b": "<matrix.c>" } }, "transcript": [] });
    let expected = "an unknown side, an unknown requirement, and nothing in the transcript";
    assert_eq!(editor.iter_errors(&wrong).count(), 3, "{expected}");
}

#[test]
fn no_broken_file_makes_it_panic() {
    let junk = [b'{', b'-', b'\n', b'"', 0xC3, 0, b':', b'<'];
    let (vocabulary, includes) = (Vocabulary::of(V1.edition()), Includes::of(&V1));
    let places = |text: &'static str| (0..text.len()).step_by(5).map(move |at| (text.as_bytes(), at));
    for (text, at) in places(EVERYTHING).chain(places(CLIENT)).chain(places(MATRIX)) {
        let mut changed = text.to_vec();
        changed[at] = junk[at % junk.len()];
        for bytes in [&text[..at], &changed] {
            let (_, problems) = load_bytes("x.yaml", bytes, &vocabulary, &includes);
            assert!(
                problems.is_empty() || !diagnostic::render_all(&problems, diagnostic::RenderStyle::Styled).is_empty()
            );
        }
    }
}

#[test]
fn the_samples_of_the_manual_are_yaml_and_its_cases_are_sound() {
    let manual = include_str!("../../../../cases/README.md");
    let samples: Vec<_> = manual.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let cases = samples.iter().filter(|sample| sample.contains("\nsubject: "));
    let sides = cases.map(|sample| {
        let (case, problems) = one("x.yaml", sample);
        assert!(problems.is_empty(), "{}", diagnostic::render_all(&problems, diagnostic::RenderStyle::Plain));
        case.expect("a sound case").subject
    });
    assert_eq!(sides.collect::<Vec<_>>(), [Party::Agent, Party::Client]);
    for sample in samples {
        let (document, problems) = yaml::read(&Arc::new(SourceFile::new("cases/README.md", sample)));
        assert!(document.is_some() && problems.is_empty(), "{sample}\n{problems:?}");
    }
    for intent in crate::case::INTENTS {
        assert!(manual.contains(&format!("`{intent}`")), "{intent}");
    }
    for (act, arguments) in crate::case::ACTS {
        let named =
            |row: &str| arguments.iter().all(|name| row.contains(&format!("`{}`", name.trim_start_matches('?'))));
        let mut rows = manual.lines().filter(|line| line.starts_with(&format!("| `{act}` |")));
        assert!(rows.any(named), "{act}");
    }
}

#[test]
fn a_directory_adds_cases_and_includes() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    let head = "title: t\nsubject: agent\nrequirements: [init.respond]\ntranscript: ";
    write("v1/agent/init/mine.yaml", &format!("{head}[include: own]\n"));
    write("v1/agent/init/bad.yaml", "title: t\n");
    write("v1/agent/init/other.yml", "");
    write("v1/include/own.yaml", "title: t\ntranscript: [include: session]\n");
    write("requirements/v1.yaml", "- id: x\n");
    write("v2/agent/init/other-version.yaml", "title: t\n");
    let (cases, problems) = load_dir(dir.path(), &V1);
    assert_eq!(cases.iter().map(|case| case.id.as_str()).collect::<Vec<_>>(), ["v1/agent/init/mine"]);
    let codes: Vec<_> = problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["file::missing-key", "file::missing-key", "file::missing-key", "case::extension"]);
    let (_, problems) = load_dir(&dir.path().join("nowhere"), &V1);
    assert!(problems[0].to_string().contains("file::unreadable"));
}

#[test]
fn the_embedded_cases_are_sound() {
    let (_, problems) = embedded(&V1);
    assert!(problems.is_empty(), "{}", diagnostic::render_all(&problems, diagnostic::RenderStyle::Plain));
}
