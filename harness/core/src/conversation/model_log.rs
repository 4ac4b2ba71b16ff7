//! What the agent asked the scripted model for a session, and what it reported of the answers.
//!
//! A request to a model names no session. Its last intent identifies the prompt, as long as only one session has that
//! prompt at work.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Conversation;
use crate::protocol::Update;
use crate::trace::{Digest, ModelEvent, ModelRequest, ModelText, intents_in};
use crate::wire::Members;

/// The prompts of a session, and the requests to the model for the last one.
#[derive(Debug, Clone, Default)]
pub struct ModelLog {
    /// The prompts with an intent, in order.
    pub prompts: Vec<IntentPrompt>,
    /// Whether earlier prompts are missing here.
    pub is_cut: bool,
    /// The requests for the last prompt, in order.
    pub requests: Vec<ModelAsked>,
    /// Whether a request for the last prompt may be missing here, or may belong to another session.
    pub is_uncertain: bool,
    /// The text that the agent reported since the last prompt.
    pub reported: Reported,
    /// The first prompt's request with the most tools: its bytes without the prompt, and the number of its tools.
    pub baseline: Option<(usize, usize)>,
    /// The last text that the model wrote before the last prompt.
    pub earlier_text: Option<String>,
    /// A request with a message for each of at least two prompts, in their order.
    pub whole: Option<usize>,
}

/// A prompt with an intent.
#[derive(Debug, Clone)]
pub struct IntentPrompt {
    /// The event of the prompt.
    pub n: usize,
    /// Its last intent, as JSON.
    pub intent: String,
    /// Its text, if it is a single text block.
    pub text: Option<String>,
    /// The bytes of its text blocks.
    pub bytes: usize,
    /// Whether the session was loaded or resumed since the prompt before.
    pub is_after_reopening: bool,
    /// Event and microseconds of the message by which its work ended by itself.
    pub completed: Option<(usize, u64)>,
    /// The words of each of its blocks that a request with the block must contain any of; see [`Block`].
    pub blocks: Vec<Block>,
}

/// A block of a prompt.
#[derive(Debug, Clone)]
pub struct Block {
    /// Its type.
    pub kind: String,
    /// The distinctive words of a text, of the URI and the names of a link, or of the text of a resource, in lower
    /// case.
    pub words: BTreeSet<String>,
    /// The distinctive words of the URI of a resource, in lower case.
    pub place: BTreeSet<String>,
    /// The MIME type of an image, a sound or a resource.
    pub mime_type: String,
    /// The bytes of an image, a sound or a blob.
    pub content: Option<Digest>,
    /// Whether it has annotations: by its audience and priority, an agent may leave it out.
    pub is_annotated: bool,
}

/// A request to the model.
#[derive(Debug, Clone)]
pub struct ModelAsked {
    /// Its event.
    pub n: usize,
    /// Its content and the answer.
    pub event: ModelEvent,
}

/// The text of a turn.
#[derive(Debug, Clone, Default)]
pub struct Reported {
    /// The texts of the agent's messages, joined; a line end is between two messages.
    pub text: String,
    /// Whether a part of the answer is or may be something else, such as a thought or a link.
    pub is_mixed: bool,
    /// The message of the last text.
    message: Option<String>,
    /// The bytes before that message.
    start: usize,
    /// The ids of the messages before that one.
    earlier: Vec<String>,
}

/// The most prompts of a session, and the most requests for one prompt.
const MOST: usize = 64;

/// The updates that hold a part of an answer, which may be something else than text. In version 2 no update is content
/// of a turn.
const OF_ANSWER: [&str; 4] = ["agent_message", "agent_message_chunk", "agent_thought", "agent_thought_chunk"];

/// The bytes of the longest text that is remembered.
const MOST_TEXT: usize = 256 << 10;

/// The shortest distinctive word, in characters.
const SHORTEST_WORD: usize = 5;

impl IntentPrompt {
    /// Reads the params of a prompt; `None` without an intent.
    fn of(n: usize, params: &Value, is_after_reopening: bool) -> Option<Self> {
        let blocks = params.member("prompt")?.as_array()?;
        let text_of = |block: &Value| block.text("text").unwrap_or_default().to_owned();
        let texts: Vec<String> = blocks.iter().map(text_of).filter(|text| !text.is_empty()).collect();
        let intent = texts.iter().flat_map(|text| intents_in(text)).last()?.to_owned();
        let bytes = texts.iter().map(String::len).sum();
        let text = texts.into_iter().next().filter(|text| blocks.len() == 1 && text.len() <= MOST_TEXT);
        let blocks = blocks.iter().map(Block::of).collect();
        Some(Self { n, intent, text, bytes, is_after_reopening, completed: None, blocks })
    }
}

impl Block {
    fn of(block: &Value) -> Self {
        let kind = block.text("type").unwrap_or_default().to_owned();
        let members: &[&str] = match kind.as_str() {
            "text" => &["text"],
            "resource_link" => &["uri", "name", "title", "description"],
            "resource" => &["text"],
            _ => &[],
        };
        let of = block.member("resource").filter(|_| kind == "resource").unwrap_or(block);
        let text_of = |name: &str| of.text(name);
        let data = match kind.as_str() {
            "image" | "audio" => text_of("data"),
            "resource" => text_of("blob"),
            _ => None,
        };
        let bytes = data.filter(|data| data.len() <= MOST_TEXT).and_then(|data| STANDARD.decode(data).ok());
        Self {
            words: members.iter().filter_map(|name| text_of(name)).flat_map(words_of).take(MOST).collect(),
            place: text_of("uri").filter(|_| kind == "resource").into_iter().flat_map(words_of).take(MOST).collect(),
            mime_type: text_of("mimeType").unwrap_or_default().to_owned(),
            content: bytes.map(|bytes| Digest::of(&bytes)),
            is_annotated: block.member("annotations").is_some_and(|annotations| !annotations.is_null()),
            kind,
        }
    }
}

impl IntentPrompt {
    /// Returns the words of a block that stand in no other block of the prompt.
    pub fn own_words(&self, at: usize) -> impl Iterator<Item = &String> {
        self.blocks[at].words.iter().filter(move |word| self.is_own(at, word))
    }

    /// Whether a word of a block stands in no other block of the prompt.
    fn is_own(&self, at: usize, word: &str) -> bool {
        let mut others = self.blocks.iter().enumerate().filter(|(other, _)| *other != at);
        others.all(|(_, block)| !block.words.contains(word) && !block.place.contains(word))
    }

    /// Whether this request holds the content of a block: its bytes, or a word that no other block has.
    pub(crate) fn is_in(&self, at: usize, request: &ModelRequest) -> bool {
        if let Some(content) = &self.blocks[at].content {
            return request.media.iter().any(|medium| medium.content == *content);
        }
        let words = words_in(request);
        self.own_words(at).any(|word| words.contains(word))
    }

    /// Whether this request holds the content of a block, or names the place of a resource.
    pub(crate) fn is_named_in(&self, at: usize, request: &ModelRequest) -> bool {
        let words = words_in(request);
        let mut place = self.blocks[at].place.iter().filter(|word| self.is_own(at, word));
        self.is_in(at, request) || place.any(|word| words.contains(word))
    }
}

impl Block {
    /// Whether it is an image, a sound or an embedded resource.
    pub fn is_attachment(&self) -> bool {
        matches!(self.kind.as_str(), "image" | "audio" | "resource")
    }

    /// Returns what an agent decides by how to pass it on: its type, whether it holds bytes, and its MIME type.
    pub fn sort(&self) -> (String, bool, String) {
        (self.kind.clone(), self.content.is_some(), self.mime_type.clone())
    }
}

/// Returns the texts of a message, if it has only texts.
fn sole_texts(body: &Value) -> Option<String> {
    body.member("content")?.as_array()?.iter().map(|block| block.text("text")).collect()
}

/// Returns the distinctive words of the messages of a request, in lower case.
fn words_in(request: &ModelRequest) -> BTreeSet<String> {
    request.messages.iter().filter_map(|message| message.text.as_deref()).flat_map(words_of).collect()
}

/// Returns the distinctive words of a text, in lower case.
pub(crate) fn words_of(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.chars().count() >= SHORTEST_WORD).map(str::to_lowercase)
}

impl ModelLog {
    fn begin(&mut self, prompt: Option<IntentPrompt>) {
        let is_uncertain = prompt.is_none();
        let mut texts = self.requests.iter().filter_map(|asked| asked.event.answer.as_ref()?.text.text.as_ref());
        self.earlier_text = texts.rfind(|text| !text.is_empty()).cloned().or(self.earlier_text.take());
        (self.requests, self.reported, self.is_uncertain) = (Vec::new(), Reported::default(), is_uncertain);
        if self.prompts.len() == MOST {
            self.prompts.remove(0);
            self.is_cut = true;
        }
        self.is_cut |= is_uncertain;
        self.prompts.extend(prompt);
    }

    fn learn_request(&mut self, n: usize, event: &ModelEvent) {
        if self.requests.len() == MOST {
            self.is_uncertain = true;
            return;
        }
        let request = event.request.as_ref().filter(|_| self.prompts.len() == 1);
        if let Some((prompt, request)) = self.prompts.first().zip(request) {
            let known = (request.bytes.saturating_sub(prompt.bytes), request.tools.len());
            self.baseline = self.baseline.filter(|(_, tools)| *tools >= known.1).or(Some(known));
        }
        let numbers = event.request.as_ref().map(|request| self.history_in(request)).unwrap_or_default();
        if numbers.len() > 1 && numbers.iter().copied().eq(0..self.prompts.len()) {
            self.whole = self.whole.or(Some(n));
        }
        self.requests.push(ModelAsked { n, event: event.clone() });
    }

    /// Notes that the work on the last prompt ended by itself.
    pub(super) fn complete(&mut self, end: (usize, u64)) {
        if let Some(prompt) = self.prompts.last_mut().filter(|_| !self.is_uncertain) {
            prompt.completed = Some(end);
        }
    }

    /// Returns the numbers of the prompts whose intents the messages of a request have, in the order of the messages.
    /// Messages with several intents do not count.
    pub(crate) fn history_in(&self, request: &ModelRequest) -> Vec<usize> {
        let sole_intent = |message: &ModelText| {
            let mut intents = message.intents();
            let intent = intents.next().filter(|_| intents.next().is_none())?;
            self.prompts.iter().position(|prompt| prompt.intent == intent)
        };
        request.messages.iter().filter_map(sole_intent).collect()
    }

    /// Reads an update during a turn or after it.
    pub(super) fn learn_update(&mut self, update: &Update<'_>, is_content: bool) {
        let reported = &mut self.reported;
        let id = update.body.text("messageId");
        let text = match update.variant {
            "user_message" | "user_message_chunk" | "tool_call" | "tool_call_update" | "plan" => return,
            "agent_message_chunk" => update.text().map(str::to_owned),
            // Without content, it changes other members.
            "agent_message" if update.body.member("content").is_none() => return,
            "agent_message" if id.is_some() => sole_texts(update.body),
            _ => None,
        };
        let Some(text) = text.filter(|text| reported.text.len() + text.len() <= MOST_TEXT) else {
            reported.is_mixed |= is_content || OF_ANSWER.contains(&update.variant);
            return;
        };
        if reported.message.as_deref() != id {
            reported.is_mixed |= id.is_some_and(|id| reported.earlier.iter().any(|earlier| earlier == id));
            if !reported.text.is_empty() {
                reported.text.push('\n');
            }
            let before = std::mem::replace(&mut reported.message, id.map(str::to_owned));
            reported.earlier.extend(before);
            reported.start = reported.text.len();
        } else if update.variant == "agent_message" {
            reported.text.truncate(reported.start);
        }
        reported.text.push_str(&text);
    }

    /// Returns the bytes of its texts.
    pub(super) fn size(&self) -> usize {
        let prompts = self.prompts.iter().map(|prompt| prompt.intent.len() + prompt.bytes).sum::<usize>();
        prompts + self.reported.text.len() + self.requests.iter().map(|asked| asked.event.size()).sum::<usize>()
    }

    pub(super) fn forget(&mut self) {
        *self = Self { is_cut: true, is_uncertain: true, ..Self::default() };
    }
}

impl Conversation {
    /// Processes a prompt of a known session; `is_alone` unless it is one of several at once.
    pub(super) fn log_intent(&mut self, session: &str, n: usize, params: &Value, is_alone: bool) {
        if let Some(session) = self.sessions.get_mut(session) {
            let reopened = session.reopened.is_some();
            session.model.begin(IntentPrompt::of(n, params, reopened).filter(|_| is_alone));
        }
    }

    /// Processes a request to the model.
    pub(crate) fn apply_model(&mut self, n: usize, event: &ModelEvent) {
        let Some(request) = &event.request else { return };
        let digest = &request.instructions.sha256;
        if self.instructions.len() < MOST && !self.instructions.contains_key(digest) {
            self.instructions.insert(digest.clone(), n);
        }
        let intents: Vec<&str> = request.intents().collect();
        let is_ended_by_response = self.edition.adapter.response_ends_turn();
        let asks = |id: &String| {
            let session = &self.sessions[id];
            let at_work = session.turn.is_some() || !is_ended_by_response;
            let prompt = session.model.prompts.last().filter(|_| at_work && event.serves_intent());
            prompt.is_some_and(|prompt| Some(&prompt.intent.as_str()) == intents.last())
        };
        let ids: Vec<String> = self.sessions.keys().filter(|id| asks(id)).cloned().collect();
        let [id] = ids.as_slice() else {
            let asking = self.sessions.iter_mut().filter(|(id, _)| ids.contains(id));
            asking.for_each(|(_, session)| session.model.is_uncertain = true);
            self.other_model_request = Some(n);
            return;
        };
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let [.., before, prompt] = session.model.prompts.as_slice()
            && !prompt.is_after_reopening
        {
            let history = intents.split_last().map_or(&[][..], |(_, history)| history);
            if history.contains(&before.intent.as_str()) {
                self.passes_history = self.passes_history.or(Some(n));
            }
        }
        session.model.learn_request(n, event);
        let Some(prompt) = session.model.prompts.last() else { return };
        for (at, block) in prompt.blocks.iter().enumerate().filter(|(_, block)| block.is_attachment()) {
            if !self.passed.contains_key(&block.sort()) && self.passed.len() < MOST && prompt.is_in(at, request) {
                self.passed.insert(block.sort(), n);
            }
        }
    }
}
