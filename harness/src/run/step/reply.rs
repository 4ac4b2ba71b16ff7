//! The step that compares the text of a turn.

use serde_json::Value;

use crate::case::MARKER;
use crate::case::model::{Presence, ReplyText};
use crate::case::template::Template;
use crate::run::case::inbox::answers;
use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::Channel;
use crate::trace::{Excerpt, Expected, ExpectedText, Observed, Outcome, StepKind};
use crate::wire::push_text;

/// Compares the text that the agent streamed in a turn.
pub(super) fn compare<C: Channel>(running: &RunningCase<'_, C>, check: &ReplyText) -> StepResult {
    let updates = updates_of_turn(running, &check.label);
    let whole = text_of_turn(running, &updates);
    let text = without_prompt(running, &check.label, &whole);
    let rendered = |template: &Option<Template>| template.as_ref().map(|template| template.render(&running.bindings));
    let wanted = [
        rendered(&check.contains)
            .map(|t| (text.contains(&t), Expected::Reply(ExpectedText::Contains(Excerpt::of(&t))))),
        rendered(&check.equals).map(|t| (text == t, Expected::Reply(ExpectedText::Equals(Excerpt::of(&t))))),
        rendered(&check.lacks).map(|t| (!text.contains(&t), Expected::Reply(ExpectedText::Lacks(Excerpt::of(&t))))),
        // A repeated prompt is a reply, too: a program may do nothing but echo. The model "MAY respond with text
        // content, tool calls, or both".
        check.empty.map(|empty| {
            ((whole.is_empty() && !updates.iter().any(is_other_output)) == empty, Expected::AnyReply(!empty))
        }),
    ];
    let events = running.inbox.requests.get(&check.label).map(|asked| asked.n).into_iter().collect();
    match wanted.into_iter().flatten().find(|(good, _)| !good) {
        None => StepResult { events, ..StepResult::new(StepKind::Reply, Outcome::Done) },
        Some((_, expected)) => {
            let outcome = if check.presence == Presence::Must { Outcome::Contradicted } else { Outcome::Missed };
            StepResult {
                events,
                expected: Some(expected),
                observed: Some(Observed::Reply { text: Excerpt::of(&text), repeats_prompt: text != whole }),
                ..StepResult::new(StepKind::Reply, outcome)
            }
        }
    }
}

/// The updates of the session between a prompt and the end of its turn.
fn updates_of_turn<'r, C: Channel>(running: &'r RunningCase<'_, C>, label: &str) -> Vec<&'r Value> {
    let Some(asked) = running.inbox.requests.get(label) else { return Vec::new() };
    let session = asked.params.get("sessionId");
    let by_response = running.case.edition.adapter.response_ends_turn();
    let (mut updates, mut works) = (Vec::new(), false);
    for seen in &running.inbox.messages[asked.from..] {
        if by_response && answers(&seen.value, &asked.id) {
            break;
        }
        let params = seen.value.get("params").filter(|params| params.get("sessionId") == session);
        let Some(update) = params.and_then(|params| params.get("update")) else { continue };
        match update.get("state").and_then(Value::as_str).filter(|_| kind(update) == "state_update") {
            Some("idle") if works => break,
            Some("idle") | None => {}
            Some(_) => works = true,
        }
        updates.push(update);
    }
    updates
}

fn kind(update: &Value) -> &str {
    update.get("sessionUpdate").and_then(Value::as_str).unwrap_or_default()
}

/// The text of the agent's messages in these updates.
fn text_of_turn<C: Channel>(running: &RunningCase<'_, C>, updates: &[&Value]) -> String {
    let by_response = running.case.edition.adapter.response_ends_turn();
    // The text of each message by its id; without ids there is one message.
    let mut messages: Vec<(Option<&Value>, String)> = Vec::new();
    for update in updates {
        let id = update.get("messageId").filter(|_| !by_response);
        match kind(update) {
            "agent_message_chunk" => {
                if let Some(piece) = update.pointer("/content/text").and_then(Value::as_str) {
                    push_text(text_of(&mut messages, id), piece);
                }
            }
            "agent_message" if update.get("content").is_some() => {
                let blocks = update["content"].as_array().into_iter().flatten();
                *text_of(&mut messages, id) = blocks.filter_map(|block| block.get("text")?.as_str()).collect();
            }
            _ => {}
        }
    }
    messages.into_iter().map(|(_, text)| text).collect()
}

/// Whether an update reports output of the model other than a text: another block, a thought or a tool call.
fn is_other_output(update: &&Value) -> bool {
    match kind(update) {
        "agent_message_chunk" | "agent_message" => {
            let Some(content) = update.get("content") else { return false };
            let blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
            blocks.iter().filter_map(|block| block.get("type")).any(|kind| kind != "text")
        }
        kind => kind.starts_with("agent_thought") || kind.starts_with("tool_call"),
    }
}

/// The text of a message, which is empty at first.
fn text_of<'t, 'v>(messages: &'t mut Vec<(Option<&'v Value>, String)>, id: Option<&'v Value>) -> &'t mut String {
    let at = messages.iter().position(|(known, _)| *known == id).unwrap_or(messages.len());
    if at == messages.len() {
        messages.push((id, String::new()));
    }
    &mut messages[at].1
}

/// Removes the parts of a text that repeat the whole prompt: the words of an intent prove nothing if they only come
/// back.
fn without_prompt<C: Channel>(running: &RunningCase<'_, C>, label: &str, text: &str) -> String {
    let prompt = running.inbox.requests.get(label).and_then(|asked| asked.params.get("prompt")?.as_array());
    let blocks = prompt.into_iter().flatten().filter_map(|block| block.get("text")?.as_str());
    let intents = blocks.filter(|block| block.contains(MARKER));
    intents.fold(text.to_owned(), |text, intent| text.replace(intent, ""))
}
