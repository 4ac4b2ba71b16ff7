//! The requests of an agent to the scripted model, and its answers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// A request to the scripted model of the case, and its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelEvent {
    /// The API of the request; absent if it did not ask for an answer of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    /// The action of the model, such as `read-file: called Read`. It contains only the names of the intent and of
    /// tools, and no other text of the case or of the agent.
    pub did: String,
    /// The place of a text with [`MARK`] in the request, the highest if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<Precedence>,
    /// The content of the request; absent if it did not ask for an answer of the model, and in older traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<ModelRequest>,
    /// The content of the answer; absent if that is an error, and in older traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ModelOutput>,
}

/// The content of a request to the model, bounded in size: each list has at most [`MOST_ENTRIES`] entries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelRequest {
    /// The bytes of the instructions, of all messages, calls and results.
    pub bytes: usize,
    /// The instructions for the model, as a digest.
    pub instructions: Digest,
    /// The messages of the user, or of the agent in the user's place, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<ModelText>,
    /// The images, sounds and files in it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<ModelMedia>,
    /// The results of tool calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ModelResult>,
    /// The names of the offered tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Whether a list lacks entries: its oldest ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// The content of an answer of the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelOutput {
    /// The text of the answer, word for word.
    pub text: ModelText,
    /// The tool calls of the answer, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ModelCall>,
    /// Whether the model finished by itself: it waits for no tool, reached no limit and did not refuse.
    pub finished: bool,
}

/// The result of a tool call in a request to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelResult {
    /// Its bytes.
    pub bytes: usize,
    /// Its SHA-256 in hexadecimal; empty in a redacted trace.
    pub sha256: String,
    /// The id of the call; empty if the API has none, and in older traces.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The text; absent if it is too long or belongs to an earlier prompt, and in older traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A tool call of the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelCall {
    /// Its id; absent in older traces.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as text, usually JSON.
    pub arguments: ModelText,
}

/// An image, a sound or a file in a request to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelMedia {
    /// `image`, `audio` or `file`, by its MIME type.
    pub kind: String,
    /// The content after the decoding.
    pub content: Digest,
}

/// A text of a request or an answer: whole up to a number of bytes, and otherwise as a digest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelText {
    /// The text; absent if it is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The digest of a text that is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The intents in a text that is too long, each as JSON.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intents: Vec<String>,
}

/// A content that the trace does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// Its bytes.
    pub bytes: usize,
    /// Its SHA-256 in hexadecimal; empty in a redacted trace.
    pub sha256: String,
}

/// The weight of a text in a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precedence {
    /// A turn of the user.
    User,
    /// The instructions for the model, or a message of the system or the developer.
    System,
}

impl ModelEvent {
    /// Whether the model answered the intent of a prompt, and not a request of the agent for its own purposes.
    pub fn serves_intent(&self) -> bool {
        let named = self.request.as_ref().and_then(|request| intent_name(request.intents().last()?));
        named.is_some_and(|name| self.did.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(": ")))
    }

    /// Returns the bytes of its texts and names.
    pub fn size(&self) -> usize {
        let asked = self.request.as_ref().map_or(0, |request| {
            let texts: usize = request.messages.iter().map(ModelText::size).sum();
            let tools: usize = request.tools.iter().map(String::len).sum();
            let results = request.results.iter().map(|result| result.text.as_ref().map_or(0, String::len));
            let digests = 1 + request.media.len() + request.results.len();
            texts + tools + results.sum::<usize>() + SHA256_BYTES * digests
        });
        let wrote = self.answer.as_ref().map_or(0, |answer| {
            let calls = answer.calls.iter().map(|call| call.name.len() + call.arguments.size());
            answer.text.size() + calls.sum::<usize>()
        });
        self.did.len() + asked + wrote
    }
    /// Whether the model called a tool for this intent.
    pub fn has_called(&self, intent: &str) -> bool {
        self.split_tools().0.strip_prefix(intent) == Some(CALLED)
    }

    /// Returns the action of the model up to the names of the called or offered tools, and the rest.
    pub fn split_tools(&self) -> (&str, &str) {
        let end = |words: &str| self.did.find(words).map(|at| at + words.len());
        self.did.split_at([CALLED, OTHERS].into_iter().filter_map(end).min().unwrap_or(self.did.len()))
    }
}

impl ModelRequest {
    /// Returns the intents in the messages of the user, in order, each as JSON.
    pub fn intents(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.messages.iter().flat_map(ModelText::intents)
    }
}

impl ModelText {
    /// Creates it from a text, which it keeps if it has at most `most` bytes.
    pub fn new(text: &str, most: usize) -> Self {
        if text.len() <= most {
            return Self { text: Some(text.to_owned()), ..Self::default() };
        }
        let intents = intents_in(text).take(MOST_ENTRIES).map(str::to_owned).collect();
        Self { digest: Some(Digest::of(text.as_bytes())), intents, ..Self::default() }
    }

    /// Returns the intents in the text, in order, each as JSON.
    pub fn intents(&self) -> impl DoubleEndedIterator<Item = &str> {
        let found: Vec<&str> = self.text.as_deref().map(|text| intents_in(text).collect()).unwrap_or_default();
        found.into_iter().chain(self.intents.iter().map(String::as_str))
    }

    /// Returns the bytes that it needs in a trace.
    fn size(&self) -> usize {
        let texts = self.text.iter().chain(&self.intents).map(String::len);
        texts.sum::<usize>() + self.digest.as_ref().map_or(0, |_| SHA256_BYTES)
    }
}

impl Digest {
    /// Returns the digest of a content.
    pub fn of(content: &[u8]) -> Self {
        let sha256 = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { bytes: content.len(), sha256 }
    }
}

/// Returns the JSON objects after the markers in a text, in order, as they stand there.
pub fn intents_in(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(INTENT_MARKER).filter_map(|(at, _)| {
        let rest = &text[at + INTENT_MARKER.len()..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
        values.next()?.ok()?;
        Some(&rest[..values.byte_offset()])
    })
}

/// Returns the name of an intent.
fn intent_name(intent: &str) -> Option<String> {
    Some(serde_json::from_str::<Value>(intent).ok()?.get("intent")?.as_str()?.to_owned())
}

/// The bytes of a SHA-256 in hexadecimal.
const SHA256_BYTES: usize = 64;

/// The most entries of each list in a [`ModelRequest`].
pub const MOST_ENTRIES: usize = 128;

/// The text in a prompt before its intent, which is a JSON object.
pub const INTENT_MARKER: &str = "acp-intent: ";

/// The text in [`ModelEvent::did`] between the intent and the names of the called tools.
pub const CALLED: &str = ": called ";

/// The words of a [`ModelEvent`] before the names of the offered tools, of which none was suitable.
pub const OTHERS: &str = "; the others are ";

/// The text in a `systemPrompt` of a case by which the scripted model finds it in its requests.
pub const MARK: &str = "acp-mark:";
