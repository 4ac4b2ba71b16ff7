//! The messages of a session before it is resumed in version 2, and in the replay.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{
    Answer, CallSeen, Conversation, Memory, Session, UpdateSeen, asks_replay, is_final, message_of, text_of_content,
};
use crate::requirement::Party;
use crate::wire::Members;

/// The messages of each session.
#[derive(Debug, Clone, Default)]
pub struct State(BySession<Messages>);

/// The messages of a session.
#[derive(Debug, Clone, Default)]
pub(in crate::areas) struct Messages {
    /// Those that a whole update opened since the session was last resumed.
    pub opened: BTreeSet<(String, String)>,
    /// Whether the last request to resume the session asked for a replay.
    pub replay_asked: bool,
    /// Whether work went on in the background when the session was last resumed.
    pub resumed_at_work: bool,
    /// The markers of the end of a replay since that request: their events.
    pub markers: Vec<usize>,
    /// Whether another request to resume the session was open then.
    pub overlaps: bool,
    /// The text of each message outside of replays, by kind and id, with the event that opened it.
    pub texts: BTreeMap<(String, String), (usize, MessageText)>,
    /// The messages of the last replay, in their order.
    pub replayed: Vec<Replayed>,
    /// The replays before that one, of a session at rest.
    pub replays: Vec<Replay>,
    /// The tool calls outside of replays, by id.
    pub tools: BTreeMap<String, LiveTool>,
    /// The tool calls of the last replay, in their order.
    pub replayed_tools: Vec<ReplayedTool>,
}

/// A tool call outside of replays.
#[derive(Debug, Clone, Default)]
pub(in crate::areas) struct LiveTool {
    /// The id of the user message before it, once the agent had reported each prompt.
    pub prompt: Option<String>,
    /// The event in which it ended, and its status.
    pub end: Option<(usize, String)>,
    /// The text of its content.
    pub text: MessageText,
}

/// A tool call in a replay.
#[derive(Debug, Clone)]
pub(in crate::areas) struct ReplayedTool {
    /// The event of its first update.
    pub n: usize,
    /// Its id.
    pub id: String,
    /// The id of the user message before it.
    pub prompt: Option<String>,
    /// The event of its last status, and that status.
    pub status: Option<(usize, String)>,
    /// The text of its content.
    pub text: MessageText,
}

/// A replay that ended with a result.
#[derive(Debug, Clone)]
pub(in crate::areas) struct Replay {
    /// The event of the request.
    pub asked: usize,
    /// Its messages, in their order.
    pub messages: Vec<Replayed>,
}

/// The text of a message, whole or put together from chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::areas) struct MessageText {
    /// The text so far.
    pub text: String,
    /// Whether it was too long to remember all of it.
    pub is_cut: bool,
}

/// A replayed message.
#[derive(Debug, Clone)]
pub(in crate::areas) struct Replayed {
    /// The event that opened it.
    pub n: usize,
    /// Its kind, without `_chunk`.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: MessageText,
}

/// The updates of a tool call.
const TOOL: [&str; 2] = ["tool_call_update", "tool_call_content_chunk"];

/// The most messages that are remembered with their texts.
const MOST: usize = 256;

/// The most replays of a session that are remembered.
const MOST_REPLAYS: usize = 4;

/// The most messages that are remembered as opened.
const MOST_OPENED: usize = 4096;

/// The bound on the bytes of one text; longer ones are not remembered.
const MOST_TEXT: usize = 1024;

impl State {
    pub(in crate::areas) fn get(&self, session: &str) -> Option<&Messages> {
        self.0.get(session)
    }

    /// Returns the messages of all sessions but this one.
    pub(super) fn others<'m>(&'m self, session: &'m str) -> impl Iterator<Item = (&'m str, &'m Messages)> {
        self.0.iter().filter(move |(id, _)| *id != session)
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        let conversation = event.conversation;
        let resumes = event.from == Party::Client && call.method == "session/resume" && call.id.is_some();
        let Some(id) = call.text("sessionId").filter(|_| resumes && is_covered(conversation)) else { return };
        let background = conversation.session(id).and_then(|session| session.work.background.as_ref());
        let messages = self.0.entry(id);
        messages.opened.clear();
        messages.replayed.clear();
        messages.replayed_tools.clear();
        messages.markers.clear();
        messages.overlaps = conversation.session(id).is_some_and(|session| session.resuming.is_some());
        messages.replay_asked = call.params.is_some_and(asks_replay);
        messages.resumed_at_work = background.is_some_and(|(_, list)| !list.is_empty());
    }

    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        let Some(session) = update.known.filter(|_| is_covered(event.conversation)) else { return };
        if update.variant == "replay_complete" {
            let markers = &mut self.0.entry(update.session).markers;
            markers.extend((markers.len() < MOST).then_some(event.n));
        }
        if let Some(id) = update.body.text("toolCallId").filter(|_| TOOL.contains(&update.variant)) {
            let messages = self.0.entry(update.session);
            match session.resuming {
                Some(_) => messages.learn_replayed_tool(event.n, id, update),
                None => messages.learn_tool(event.n, id, session, update),
            }
        }
        let Some((kind, id)) = message_of(&update.update) else { return };
        let messages = self.0.entry(update.session);
        if update.variant == kind && messages.opened.len() < MOST_OPENED {
            messages.opened.insert((kind.to_owned(), id.to_owned()));
        }
        if session.resuming.is_some() {
            messages.learn_replayed(event.n, (kind, id), update);
        } else {
            messages.learn_text(event.n, (kind, id), update);
        }
    }

    pub(in crate::areas) fn response(&mut self, event: &Event<'_>, answer: &Answer<'_>) {
        let Some((exchange, _)) = answer.result_of("session/resume") else { return };
        let Some((id, session)) = exchange.session().and_then(|id| Some((id, event.conversation.session(id)?))) else {
            return;
        };
        let is_at_rest = session.work.state.as_deref() == Some("idle") && session.resuming == Some(exchange.n);
        let messages = self.0.get_mut(Some(id)).filter(|messages| is_at_rest && messages.replay_asked);
        if let Some(messages) = messages.filter(|messages| !messages.overlaps && !messages.resumed_at_work) {
            messages.learn_replay(exchange.n);
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.0.forget(conversation, memory);
    }
}

/// Whether the messages have ids, as in version 2.
fn is_covered(conversation: &Conversation) -> bool {
    !conversation.edition.adapter.response_ends_turn()
}

impl MessageText {
    /// Reads a chunk, or the content of a whole message, which replaces what was before.
    fn learn(&mut self, update: &UpdateSeen<'_>) {
        if let Some(content) = self.content_of(update) {
            self.push(&text_of_content(content));
        }
    }

    /// Reads the content of a tool call in the same way: its texts, and not its diffs and terminals.
    fn learn_tool(&mut self, update: &UpdateSeen<'_>) {
        let Some(content) = self.content_of(update) else { return };
        let items = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
        items.iter().filter_map(|item| item.member("content")).for_each(|block| self.push(&text_of_content(block)));
    }

    /// Returns the content of an update, for which a whole one makes room.
    fn content_of<'m>(&mut self, update: &UpdateSeen<'m>) -> Option<&'m Value> {
        let content = update.body.member("content")?;
        if !update.variant.ends_with("_chunk") {
            *self = Self::default();
        }
        Some(content)
    }

    fn push(&mut self, text: &str) {
        if self.text.len() + text.len() <= MOST_TEXT {
            self.text.push_str(text);
        } else {
            self.is_cut = true;
        }
    }
}

impl Messages {
    /// Whether the last replay had the message.
    pub(in crate::areas) fn has_replayed(&self, kind: &str, id: &str) -> bool {
        self.replayed.iter().any(|message| message.kind == kind && message.id == id)
    }

    /// Reads an update of a tool call, which may go on after it ended.
    fn learn_tool(&mut self, n: usize, id: &str, session: &Session, update: &UpdateSeen<'_>) {
        let work = &session.work;
        let is_new = !self.tools.contains_key(id);
        if is_new && self.tools.len() >= MOST {
            return;
        }
        let tool = self.tools.entry(id.to_owned()).or_default();
        if is_new && work.user_messages.len() == session.prompts {
            tool.prompt = work.user_messages.iter().max_by_key(|(_, seen)| **seen).map(|(id, _)| id.clone());
        }
        if let Some(status) = update.body.text("status") {
            let is_over = is_final(status) || status == "cancelled";
            tool.end = is_over.then(|| (n, status.to_owned()));
        }
        tool.text.learn_tool(update);
    }

    fn learn_replayed_tool(&mut self, n: usize, id: &str, update: &UpdateSeen<'_>) {
        let at = self.replayed_tools.iter().position(|tool| tool.id == id).unwrap_or(self.replayed_tools.len());
        if at == MOST {
            return;
        }
        if at == self.replayed_tools.len() {
            let before = self.replayed.iter().rfind(|message| message.kind == "user_message");
            let prompt = before.map(|message| message.id.clone());
            let (id, text) = (id.to_owned(), MessageText::default());
            self.replayed_tools.push(ReplayedTool { n, id, prompt, status: None, text });
        }
        let tool = &mut self.replayed_tools[at];
        if let Some(status) = update.body.text("status") {
            tool.status = Some((n, status.to_owned()));
        }
        tool.text.learn_tool(update);
    }

    fn learn_replay(&mut self, asked: usize) {
        if self.replays.len() < MOST_REPLAYS && self.replayed.len() < MOST {
            self.replays.push(Replay { asked, messages: self.replayed.clone() });
        }
    }

    fn learn_text(&mut self, n: usize, (kind, id): (&str, &str), update: &UpdateSeen<'_>) {
        let key = (kind.to_owned(), id.to_owned());
        if self.texts.len() < MOST || self.texts.contains_key(&key) {
            self.texts.entry(key).or_insert_with(|| (n, MessageText::default())).1.learn(update);
        }
    }

    /// Reads a part of a replayed message. A whole message with an empty content and its chunks are one message; a
    /// second text for an id is a further one.
    fn learn_replayed(&mut self, n: usize, (kind, id): (&str, &str), update: &UpdateSeen<'_>) {
        let has_room = self.replayed.len() < MOST;
        let known = self.replayed.iter_mut().rev().find(|message| message.kind == kind && message.id == id);
        let is_chunk = update.variant.ends_with("_chunk");
        match known {
            Some(message) if is_chunk || message.text == MessageText::default() => message.text.learn(update),
            Some(_) if update.body.member("content").is_none() => {}
            _ if has_room => {
                let mut text = MessageText::default();
                text.learn(update);
                self.replayed.push(Replayed { n, kind: kind.to_owned(), id: id.to_owned(), text });
            }
            _ => {}
        }
    }
}
