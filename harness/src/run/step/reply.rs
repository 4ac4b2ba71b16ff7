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
pub(super) fn compare<C: Channel>(running: &RunningCase<'_, C>, look: &ReplyText) -> StepResult {
    let whole = text_of_turn(running, &look.label);
    let text = without_prompt(running, &look.label, &whole);
    let rendered = |template: &Option<Template>| template.as_ref().map(|template| template.render(&running.bindings));
    let wanted = [
        rendered(&look.contains).map(|t| (text.contains(&t), Expected::Reply(ExpectedText::Contains(Excerpt::of(&t))))),
        rendered(&look.equals).map(|t| (text == t, Expected::Reply(ExpectedText::Equals(Excerpt::of(&t))))),
        rendered(&look.lacks).map(|t| (!text.contains(&t), Expected::Reply(ExpectedText::Lacks(Excerpt::of(&t))))),
        look.empty.map(|empty| (text.is_empty() == empty, Expected::AnyReply(!empty))),
    ];
    let events = running.inbox.requests.get(&look.label).map(|asked| asked.n).into_iter().collect();
    match wanted.into_iter().flatten().find(|(good, _)| !good) {
        None => StepResult { events, ..StepResult::new(StepKind::Reply, Outcome::Done) },
        Some((_, expected)) => {
            let outcome = if look.presence == Presence::Must { Outcome::Contradicted } else { Outcome::Missed };
            StepResult {
                events,
                expected: Some(expected),
                observed: Some(Observed::Reply { text: Excerpt::of(&text), repeats_prompt: text != whole }),
                ..StepResult::new(StepKind::Reply, outcome)
            }
        }
    }
}

/// Returns the text of all `agent_message_chunk`s of the session between a prompt and its answer.
fn text_of_turn<C: Channel>(running: &RunningCase<'_, C>, label: &str) -> String {
    let Some(asked) = running.inbox.requests.get(label) else { return String::new() };
    let session = asked.params.get("sessionId");
    let mut text = String::new();
    for seen in running.inbox.messages[asked.from..].iter().take_while(|seen| !answers(&seen.value, &asked.id)) {
        let params = seen.value.get("params");
        let update = params.and_then(|params| params.get("update"));
        let chunk = update.filter(|update| update.get("sessionUpdate") == Some(&Value::from("agent_message_chunk")));
        if params.and_then(|params| params.get("sessionId")) == session
            && let Some(piece) = chunk.and_then(|chunk| chunk.pointer("/content/text")?.as_str())
        {
            push_text(&mut text, piece);
        }
    }
    text
}

/// Removes the parts of a text that repeat the whole prompt: the words of an intent prove nothing if they only come back.
fn without_prompt<C: Channel>(running: &RunningCase<'_, C>, label: &str, text: &str) -> String {
    let prompt = running.inbox.requests.get(label).and_then(|asked| asked.params.get("prompt")?.as_array());
    let blocks = prompt.into_iter().flatten().filter_map(|block| block.get("text")?.as_str());
    let intents = blocks.filter(|block| block.contains(MARKER));
    intents.fold(text.to_owned(), |text, intent| text.replace(intent, ""))
}
