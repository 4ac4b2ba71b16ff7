//! Turns an intent into the words that make a subject act.
//!
//! A case names what the agent should do, never the words for a model. The words come from the profile, or from here;
//! the last line repeats the intent as JSON for subjects that obey it without a model, unless the profile drops it.

use serde_json::{Map, Value, json};

use crate::case::MARKER;
use crate::model::SAID;
use crate::run::environment::Subject;

/// Returns the default wording of an intent; `{name}` stands for an argument.
fn default_wording(intent: &str) -> &'static str {
    match intent {
        "say" => "Reply with exactly the following text and do nothing else: {text}",
        "think" => "Think step by step about what two plus two is, then answer.",
        "plan" => "Make a plan of three steps for adding a greeting to this project, and report your progress on it.",
        "read-file" => "Read the file {path} and quote its full content in your reply.",
        "read-files" => "Read the files {paths}, all at the same time, and quote the content of each in your reply.",
        "write-file" => "Write a file at {path} with exactly this content: {content}",
        "edit-file" => "In the file {path}, replace the text {old} by {new}.",
        "run-command" => "Run the command `{command} {args}` and quote its output in your reply.",
        "ask-permission" => "Ask me for permission before you do anything, then tell me what I decided.",
        "keep-busy" => "Count slowly from one to a thousand, one number a line, without stopping.",
        "ask-and-wait" => "Ask me for permission to continue and wait for my answer.",
        "search" => "Search the files of this project for the text {text} and list where it occurs.",
        "call-mcp-tool" => {
            "Call the tool {tool} of the MCP server {server} with the arguments {arguments}, and quote its answer."
        }
        "set-mode" => "Switch yourself to the mode {modeId}.",
        "elicit" => {
            "Ask me for my name by the dialog that you have for questions to me, in a field called `name`. Then reply \
             `accepted ` and the name that I gave, or `nothing accepted`."
        }
        "spawn-subagent" => "Let a subagent look for the word cherry in this folder, and tell me what it found.",
        "notice" => "Show me a notice with exactly this title: {title}",
        "compact" => "/compact",
        _ => "Please do what the next line asks for.",
    }
}

/// Replaces every `{"intent": …}` in the params of a prompt with text for the subject.
pub fn expand(params: &Value, subject: &Subject) -> Value {
    let mut params = params.clone();
    let blocks = params.get_mut("prompt");
    match blocks {
        Some(Value::Array(blocks)) => {
            for block in blocks {
                if let Some(text) = in_words(block, subject) {
                    *block = text;
                }
            }
        }
        Some(prompt) => {
            if let Some(text) = in_words(prompt, subject) {
                *prompt = json!([text]);
            }
        }
        None => {}
    }
    params
}

fn in_words(block: &Value, subject: &Subject) -> Option<Value> {
    let arguments = block.as_object()?;
    let intent = arguments.get("intent")?.as_str()?;
    let template = subject.prompts.get(intent).map_or_else(|| default_wording(intent), String::as_str);
    let mut words = arguments.clone();
    if intent == "say" {
        words.entry("text").or_insert_with(|| SAID.into());
    }
    let mut text = fill(template, &words);
    if subject.intent_line {
        text.push_str(&format!("\n{MARKER}{block}"));
    }
    Some(json!({ "type": "text", "text": text }))
}

fn fill(template: &str, arguments: &Map<String, Value>) -> String {
    arguments.iter().fold(template.to_owned(), |text, (name, value)| {
        let words = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                .collect::<Vec<_>>()
                .join(" "),
            other => other.to_string(),
        };
        text.replace(&format!("{{{name}}}"), &words)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::embedded;
    use crate::case::model::Body;
    use crate::edition::{V1, V2};

    #[test]
    fn every_prompt_of_a_case_is_in_words() {
        let subject = Subject { intent_line: false, ..Subject::agent(Vec::new(), "/".into()) };
        let mut prompts = 0;
        for case in [&V1, &V2].into_iter().flat_map(|bundle| embedded(bundle).0) {
            for params in case.sent().filter_map(|line| match &line.body {
                Body::Request { params: Some(params), .. } if line.intent().is_some() => Some(params),
                _ => None,
            }) {
                prompts += 1;
                let prompt = expand(params, &subject)["prompt"].to_string();
                let is_open = |name: &str| prompt.contains(&format!("{{{name}}}"));
                let names = ["text", "path", "paths", "content", "old", "new", "command", "tool", "server", "title"];
                assert!(!names.into_iter().any(is_open), "{}: {prompt}", case.id);
            }
        }
        assert!(prompts > 500, "{prompts} prompts");
    }

    #[test]
    fn intents_become_text_and_other_blocks_stay() {
        let mut subject = Subject::agent(Vec::new(), "/".into());
        subject.prompts.insert("read-file".to_owned(), "cat {path}".to_owned());
        let params = json!({ "sessionId": "s", "prompt": { "intent": "read-file", "path": "/a b" } });
        let expected = "cat /a b\nacp-intent: {\"intent\":\"read-file\",\"path\":\"/a b\"}";
        assert_eq!(expand(&params, &subject)["prompt"], json!([{ "type": "text", "text": expected }]));
        let link = json!({ "type": "resource_link", "uri": "file:///a", "name": "a" });
        let params = json!({ "prompt": [link.clone(), { "intent": "say", "text": "hi" }] });
        let prompt = expand(&params, &subject)["prompt"].clone();
        assert_eq!(prompt[0], link);
        assert!(
            prompt[1]["text"]
                .as_str()
                .is_some_and(|text| text.ends_with("acp-intent: {\"intent\":\"say\",\"text\":\"hi\"}"))
        );
        subject.intent_line = false;
        assert_eq!(
            expand(&params, &subject)["prompt"][1]["text"].as_str().map(str::lines).map(Iterator::count),
            Some(1)
        );
    }
}
