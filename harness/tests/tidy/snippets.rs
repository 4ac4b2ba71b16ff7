//! The snippets and settings for editors in `.vscode/`: each snippet is part of a correct case, and the settings name
//! schemas that exist.

use acp_conformance::case::load_text;
use acp_conformance::edition::V1;
use libtest_mimic::Trial;
use serde_json::Value;

use super::{none_of, read, root};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "tidy/snippets":
        snippets_are_correct_cases,
        settings_name_schemas_of_the_repository,
    ]
}

/// A case to which the steps of a snippet are added.
const CASE: &str =
    "title: A case\nsubject: agent\nrequirements: [cancel.stop-reason]\ntranscript:\n  - include: session\n";

fn snippets_are_correct_cases() {
    let snippets: Value = serde_json::from_str(&read(".vscode/cases.code-snippets")).expect("the snippets are JSON");
    let mut wrong = Vec::new();
    for (name, snippet) in snippets.as_object().expect("an object of snippets") {
        let body = snippet["body"].as_array().expect("a list of lines").iter().filter_map(Value::as_str);
        let lines: Vec<String> = body.map(filled).collect();
        let text = match lines[0].starts_with("- ") {
            true => lines.iter().fold(CASE.to_owned(), |text, line| format!("{text}  {line}\n")),
            false => lines.join("\n") + "\n",
        };
        let party = if text.contains("subject: client") { "client" } else { "agent" };
        let (cases, problems) = load_text(&format!("v1/{party}/prompt/x.yaml"), &text, &V1);
        let problems = problems.iter().map(|problem| format!("{name}: {problem:?}"));
        wrong.extend(problems.chain(cases.is_empty().then(|| format!("{name}: not a case:\n{text}"))));
    }
    none_of("snippets with mistakes", &wrong);
}

fn settings_name_schemas_of_the_repository() {
    let settings: Value = serde_json::from_str(&read(".vscode/settings.json")).expect("the settings are JSON");
    let schemas = settings["yaml.schemas"].as_object().expect("an object of schemas");
    assert!(!schemas.is_empty() && schemas.keys().all(|schema| root().join(schema).is_file()), "{schemas:?}");
}

/// Returns a line of a snippet with the first choice, or the default, of each placeholder.
fn filled(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some(at) = rest.find('$') {
        let before = &rest[..at];
        let after = &rest[at + 1..];
        if let Some(escaped) = before.strip_suffix('\\') {
            text = text + escaped + "$";
            rest = after;
            continue;
        }
        let Some(body) = after.strip_prefix('{') else {
            text += before;
            rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            continue;
        };
        let (placeholder, end) = body.split_once('}').expect("a placeholder has an end");
        let value = placeholder.trim_start_matches(|c: char| c.is_ascii_digit());
        let choice = value.strip_prefix('|').map(|choices| choices.split([',', '|']).next().unwrap_or_default());
        text = text + before + choice.unwrap_or_else(|| value.trim_start_matches(':'));
        rest = end;
    }
    text + rest
}
