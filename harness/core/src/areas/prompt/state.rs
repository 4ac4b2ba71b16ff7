//! The prompts that the agent inserted, the keys by which a client marks the attempts at one prompt, and what the
//! client returned for the tools of a turn.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{Answer, CallSeen, Conversation, Exchange, Memory, Outcome, text_of_content};
use crate::requirement::Party;
use crate::wire::Members;

/// The prompts and the keys of all sessions.
#[derive(Debug, Clone, Default)]
pub struct State {
    sessions: BySession<Keys>,
    /// The prompts that the agent inserted, in the order of their answers.
    inserted: BySession<Vec<Inserted>>,
    /// Prompts with a key that an earlier prompt in another session had.
    pub(super) shared: Vec<SharedKey>,
    /// Whether the client sent a prompt with a key, and one without.
    pub(super) sent: (bool, bool),
    /// What the client returned since the last prompt of each session.
    sources: BySession<Vec<Source>>,
}

/// A file or a command of the client, from which a tool of the agent got its result.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// The event of the content.
    pub n: usize,
    /// The name of the file, or the last argument of the command.
    pub name: String,
    /// The terminal of the command.
    pub terminal: Option<String>,
    /// The content of the file, or the whole output once the command has ended; absent if it is too long.
    pub text: Option<String>,
}

/// The keys of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys {
    /// The messages that the agent inserted, by key.
    pub inserted: BTreeMap<String, Insertion>,
    /// How often the client closed or resumed the session.
    pub openings: usize,
    /// The last attempt that got the id of an earlier one, until the next prompt: the event of the answer, and the
    /// text.
    pub retried: Option<(usize, String)>,
}

/// The message that the agent inserted for the first attempt with a key.
#[derive(Debug, Clone)]
pub(super) struct Insertion {
    /// The event of the answer.
    pub n: usize,
    /// The id of the message.
    pub id: String,
    /// The digest of the content.
    pub content: u64,
    /// How often the session had been closed or resumed.
    pub opening: usize,
}

/// A prompt that the agent inserted as a message.
#[derive(Debug, Clone)]
pub(super) struct Inserted {
    /// The event of the answer.
    pub n: usize,
    /// The id of the message.
    pub id: String,
    /// The text of the prompt.
    pub text: String,
    /// Its blocks of text.
    pub texts: Vec<String>,
}

/// A prompt whose key another session had before.
#[derive(Debug, Clone)]
pub(super) struct SharedKey {
    /// The event and time of the answer.
    pub answer: (usize, u64),
    /// The session.
    pub session: String,
    /// The id of the message.
    pub id: String,
    /// Whether the message of the other session has the same id.
    pub is_id_shared: bool,
}

/// The most keys of a session that are remembered.
const MOST: usize = 256;

/// The bytes of the longest text that is remembered.
const MOST_TEXT: usize = 1024;

/// Returns the key of a prompt: a text of 1 to 255 characters.
pub(super) fn key_of(params: &Value) -> Option<&str> {
    params.member("idempotencyKey")?.as_str().filter(|key| (1..=255).contains(&key.chars().count()))
}

/// Returns the digest of the content of a prompt.
pub(super) fn digest(params: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    params.member("prompt").map(Value::to_string).hash(&mut hasher);
    hasher.finish()
}

fn file_name(path: &str) -> Option<String> {
    path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).map(str::to_owned)
}

impl State {
    /// Returns the prompts of a session that the agent inserted.
    pub(super) fn inserted(&self, session: &str) -> &[Inserted] {
        self.inserted.get(session).map_or(&[], Vec::as_slice)
    }

    /// Returns what is known of a session.
    pub(super) fn get(&self, session: &str) -> Option<&Keys> {
        self.sessions.get(session)
    }

    /// Returns what the client returned since the last prompt of a session.
    pub(super) fn sources(&self, session: &str) -> &[Source] {
        self.sources.get(session).map_or(&[], Vec::as_slice)
    }

    fn learn_source(&mut self, n: usize, exchange: &Exchange, result: &Value) {
        let Some(session) = exchange.session() else { return };
        let sources = self.sources.entry(session);
        let short = |text: &str| Some(text.to_owned()).filter(|text| text.len() <= MOST_TEXT);
        let (name, terminal, text) = match exchange.method.as_str() {
            "fs/read_text_file" => (exchange.text("path").and_then(file_name), None, result.text("content")),
            "terminal/create" => {
                let last = exchange.params.list("args").last().and_then(Value::as_str);
                (last.or(exchange.text("command")).map(str::to_owned), result.text("terminalId"), None)
            }
            "terminal/output" => {
                let of = |source: &&mut Source| source.terminal.as_deref() == exchange.text("terminalId");
                let has_ended =
                    result.given("exitStatus").is_some() && result.member("truncated") != Some(&Value::Bool(true));
                if let Some(source) = sources.iter_mut().find(of) {
                    (source.n, source.text) = (n, result.text("output").filter(|_| has_ended).and_then(short));
                }
                return;
            }
            _ => return,
        };
        if let Some(name) = name.filter(|_| sources.len() < MOST) {
            sources.push(Source { n, name, terminal: terminal.map(str::to_owned), text: text.and_then(short) });
        }
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        let Some(session) = call.text("sessionId").filter(|_| event.from == Party::Client && call.id.is_some()) else {
            return;
        };
        match call.method {
            "session/prompt" => {
                let has_key = call.params.and_then(|params| params.given("idempotencyKey")).is_some();
                self.sent = (self.sent.0 || has_key, self.sent.1 || !has_key);
                self.sessions.entry(session).retried = None;
                self.sources.entry(session).clear();
            }
            "session/resume" | "session/close" => self.sessions.entry(session).openings += 1,
            _ => {}
        }
    }

    pub(in crate::areas) fn response(&mut self, event: &Event<'_>, answer: &Answer<'_>) {
        if let (Some(exchange), Outcome::Result(result), Party::Client) = (answer.exchange, answer.outcome, event.from)
        {
            self.learn_source(event.n, exchange, result);
        }
        let Some((exchange, result)) = answer.result_of("session/prompt").filter(|(prompt, _)| !prompt.deliberate)
        else {
            return;
        };
        let id = result.text("messageId");
        let (Some(session), Some(id)) = (exchange.session(), id) else { return };
        let text = exchange.params.member("prompt").map(text_of_content).unwrap_or_default();
        let inserted = self.inserted.entry(session);
        if inserted.len() < MOST && text.len() <= MOST_TEXT && inserted.iter().all(|prompt| prompt.id != id) {
            let blocks = exchange.params.member("prompt").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let texts = blocks.iter().filter_map(|block| block.text("text")).map(str::to_owned).collect();
            inserted.push(Inserted { n: event.n, id: id.to_owned(), text: text.clone(), texts });
        }
        let Some(key) = key_of(&exchange.params) else { return };
        let others = self.sessions.iter().filter(|(other, _)| *other != session);
        let in_others: Vec<bool> = others.filter_map(|(_, keys)| Some(keys.inserted.get(key)?.id == id)).collect();
        let keys = self.sessions.entry(session);
        match keys.inserted.get(key) {
            Some(first) if first.id == id => {
                keys.retried = Some((event.n, text)).filter(|(_, text)| text.len() <= MOST_TEXT);
            }
            None if keys.inserted.len() < MOST => {
                let (content, opening) = (digest(&exchange.params), keys.openings);
                let first = Insertion { n: event.n, id: id.to_owned(), content, opening };
                keys.inserted.insert(key.to_owned(), first);
                if !in_others.is_empty() && self.shared.len() < MOST {
                    let answer = (event.n, event.us);
                    let (session, id, is_id_shared) = (session.to_owned(), id.to_owned(), in_others.contains(&true));
                    self.shared.push(SharedKey { answer, session, id, is_id_shared });
                }
            }
            _ => {}
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.sessions.forget(conversation, memory);
        self.inserted.forget(conversation, memory);
        self.sources.forget(conversation, memory);
    }

    /// Returns the memory for the agent's next process, which remembers the keys.
    pub(in crate::areas) fn on_next_connection(&self) -> Self {
        Self { sessions: self.sessions.clone(), ..Self::default() }
    }
}
