//! The content of requests and answers, as the trace holds it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::answer::{Finish, ModelAnswer};
use super::ask::{Ask, ModelTurn, ToolResult};
use crate::trace::{Digest, MOST_ENTRIES, ModelCall, ModelMedia, ModelOutput, ModelRequest, ModelResult, ModelText};

/// The longest message of the user that a trace holds as text, in bytes. Agents add instructions of many kilobytes, and
/// repeat each message in every later request.
const LONGEST_MESSAGE: usize = 4 << 10;

/// The longest answer of the model that a trace holds as text, in bytes: more than any case asks for.
const LONGEST_ANSWER: usize = 64 << 10;

/// Returns the content of a request; `body` is the same as the agent sent it.
pub fn of_request(ask: &Ask, body: &Value) -> ModelRequest {
    let mut request = ModelRequest {
        bytes: ask.size(),
        instructions: Digest::of(ask.system.as_bytes()),
        tools: ask.tools.iter().map(|tool| tool.name.clone()).collect(),
        ..ModelRequest::default()
    };
    let earlier = ask.turns.len() - ask.wish().map_or(0, |wish| wish.since.len());
    for (at, turn) in ask.turns.iter().enumerate() {
        match turn {
            ModelTurn::User(text) => request.messages.push(ModelText::new(text, LONGEST_MESSAGE)),
            ModelTurn::Result(result) => request.results.push(result_of(result, at >= earlier)),
            ModelTurn::Model(_) => {}
        }
    }
    // The schema of a tool may have examples.
    let conversation = body.as_object().into_iter().flatten().filter(|(name, _)| *name != "tools");
    conversation.for_each(|(_, value)| find_media(value, &mut request.media));
    let ModelRequest { messages, media, results, tools, cut, .. } = &mut request;
    *cut = keep_last(messages) | keep_last(media) | keep_last(results) | keep_last(tools);
    request
}

/// Returns the result of a call, with its text if it is for the last prompt.
fn result_of(result: &ToolResult, is_of_last: bool) -> ModelResult {
    let Digest { bytes, sha256 } = Digest::of(result.text.as_bytes());
    let text = Some(&result.text).filter(|text| is_of_last && text.len() <= LONGEST_MESSAGE);
    ModelResult { bytes, sha256, call: result.call.clone(), text: text.cloned() }
}

/// Returns the content of an answer.
pub fn of_answer(answer: &ModelAnswer) -> ModelOutput {
    let calls = answer.calls().take(MOST_ENTRIES).map(|call| ModelCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: ModelText::new(&call.arguments_text(), LONGEST_MESSAGE),
    });
    ModelOutput {
        text: ModelText::new(&answer.said(), LONGEST_ANSWER),
        calls: calls.collect(),
        finished: answer.finish == Finish::Stop,
    }
}

/// Drops the oldest entries of a list that is too long; returns whether it did.
fn keep_last<T>(list: &mut Vec<T>) -> bool {
    let excess = list.len().saturating_sub(MOST_ENTRIES);
    list.drain(..excess);
    excess > 0
}

/// Adds the media in a part of a request. The APIs write them as data URLs, or as Base64 next to a MIME type or a
/// format.
fn find_media(value: &Value, media: &mut Vec<ModelMedia>) {
    const TYPES: [&str; 4] = ["mimeType", "mime_type", "media_type", "format"];
    match value {
        Value::String(text) => {
            let url = text.strip_prefix("data:").and_then(|url| url.split_once(";base64,"));
            media.extend(url.and_then(|(mime, data)| medium(mime, data)));
        }
        Value::Array(items) => items.iter().for_each(|item| find_media(item, media)),
        Value::Object(members) => {
            let mime = TYPES.iter().find_map(|name| members.get(*name)?.as_str());
            let data = members.get("data").and_then(Value::as_str);
            match mime.zip(data).and_then(|(mime, data)| medium(mime, data)) {
                Some(found) => media.push(found),
                None => members.values().for_each(|member| find_media(member, media)),
            }
        }
        _ => {}
    }
}

/// Returns a medium by its MIME type, or by the format of a sound.
fn medium(mime: &str, data: &str) -> Option<ModelMedia> {
    let kind = match mime.split_once('/') {
        Some(("image", _)) => "image",
        Some(("audio", _)) => "audio",
        Some(_) => "file",
        None if matches!(mime, "wav" | "mp3" | "ogg" | "flac") => "audio",
        None => return None,
    };
    Some(ModelMedia { kind: kind.to_owned(), content: Digest::of(&STANDARD.decode(data).ok()?) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::dialect::Dialect;
    use crate::model::dialect::{chat::Chat, gemini::Gemini, messages::Messages, responses::Responses};

    #[test]
    fn every_api_shows_the_text_and_the_media_of_a_prompt() {
        let url = "data:image/png;base64,AQID";
        let chat = json!({ "messages": [{ "role": "user", "content": [
            { "type": "text", "text": "See." }, { "type": "image_url", "image_url": { "url": url } },
            { "type": "input_audio", "input_audio": { "data": "AQID", "format": "wav" } },
        ] }] });
        let messages = json!({ "messages": [{ "role": "user", "content": [
            { "type": "text", "text": "See." },
            { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AQID" } },
        ] }] });
        let gemini = json!({ "contents": [{ "role": "user", "parts": [
            { "text": "See." }, { "inlineData": { "mimeType": "image/png", "data": "AQID" } },
        ] }] });
        let responses = json!({ "input": [{ "type": "message", "role": "user", "content": [
            { "type": "input_text", "text": "See." }, { "type": "input_image", "image_url": url },
        ] }] });
        let apis: [(&dyn Dialect, Value); 4] =
            [(&Chat, chat), (&Messages, messages), (&Gemini, gemini), (&Responses, responses)];
        let image = ModelMedia { kind: "image".to_owned(), content: Digest::of(&[1, 2, 3]) };
        for (api, body) in apis {
            let request = of_request(&api.read(&body), &body);
            assert_eq!(request.messages, [ModelText::new("See.", 64)], "{}", api.name());
            assert_eq!(request.media.first(), Some(&image), "{}", api.name());
        }
    }

    #[test]
    fn long_texts_become_digests_that_keep_their_intents() {
        let intent = r#"{"intent":"say","text":"a } b"}"#;
        let text = format!("{}\nacp-intent: {intent}\n", "x".repeat(LONGEST_MESSAGE));
        let ask = Ask { turns: vec![ModelTurn::User(text); MOST_ENTRIES + 1], ..Ask::default() };
        let request = of_request(&ask, &Value::Null);
        assert_eq!((request.messages.len(), request.cut), (MOST_ENTRIES, true));
        assert_eq!(request.messages[0].text, None);
        assert_eq!(request.intents().next(), Some(intent));
    }
}
