//! The notices, the tool calls, and the attachments of each session.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{CallSeen, Conversation, Memory, Session, UpdateSeen, is_final};
use crate::requirement::Party;
use crate::wire::Members;

/// The most notices, tool calls, and prompts with attachments, of a session that are remembered.
const MOST: usize = 256;

/// The bytes of the longest image or sound that is compared; an agent may leave out longer ones.
const MOST_DATA: usize = 64 * 1024;

/// The notices, the tool calls, and the attachments of each session.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The titles of notices that were shown in the turn of a prompt which contains the title.
    notices: BySession<BTreeSet<String>>,
    tools: BySession<ToolReports>,
    attachments: BySession<Attachments>,
    replayed_ids: BySession<ReplayedIds>,
}

/// The message ids of the agent's messages in a replay.
#[derive(Debug, Clone, Default)]
struct ReplayedIds {
    /// The event of the `session/load`.
    load: Option<usize>,
    /// The number of pieces of content before the last chunk with each id, with the event of that chunk.
    last: BTreeMap<String, (usize, usize)>,
}

/// How the agent reported the tool calls of a session.
#[derive(Debug, Clone, Default)]
struct ToolReports {
    /// Those outside of replays, by id.
    live: BTreeMap<String, LiveTool>,
    /// The event of the `session/load` that the others are from.
    load: Option<usize>,
    /// The first report of each tool call in that replay.
    first: BTreeMap<String, FirstReport>,
    /// The further reports in that replay.
    again: Vec<ReplayedAgain>,
}

/// A tool call outside of replays.
#[derive(Debug, Clone, Default)]
struct LiveTool {
    /// How often the agent created it.
    created: usize,
    /// Whether it ended in the turn in which the agent created it.
    ended_in_its_turn: bool,
}

/// The first report of a tool call in a replay.
#[derive(Debug, Clone)]
struct FirstReport {
    /// The event.
    n: usize,
    /// The title.
    title: String,
    /// The number of pieces of content before the report that it ended.
    ended: Option<usize>,
}

/// A tool call that had ended in a replay when the replay created it again.
#[derive(Debug, Clone)]
pub(super) struct ReplayedAgain {
    /// Its id.
    pub id: String,
    /// The events of the first and the second report.
    pub events: [usize; 2],
}

/// The attachments of a session.
#[derive(Debug, Clone, Default)]
struct Attachments {
    /// Those of each prompt.
    prompts: Vec<BTreeSet<Attachment>>,
    /// The event of the last `session/load`.
    load: Option<usize>,
    /// Those of the user in its replay.
    replayed: BTreeSet<Attachment>,
}

/// An image, a sound, a link to a resource, or an embedded one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Attachment {
    /// The MIME type of an image or a sound; [`RESOURCE`] for a resource, which an agent may embed or link to.
    pub kind: String,
    /// The digest of its data or of its URI.
    content: u64,
    /// The last part of a URI, by which a text may name it.
    name: Option<String>,
}

/// The kind of a resource.
pub(super) const RESOURCE: &str = "resource";

impl State {
    /// Returns an attachment that the replay for this `session/load` lacks, although it has another one of the same
    /// kind from the same prompt, and only what the prompts had. A resource may also be named in the text of the
    /// replay.
    pub(super) fn lost_attachment(&self, session: &str, load: usize, text: &str) -> Option<&Attachment> {
        let known = self.attachments.get(session).filter(|known| known.load == Some(load))?;
        let is_sent = |one: &Attachment| known.prompts.iter().any(|prompt| prompt.contains(one));
        if !known.replayed.iter().all(is_sent) {
            return None;
        }
        let is_named = |one: &Attachment| one.name.as_ref().is_some_and(|name| text.contains(name.as_str()));
        let lacks = |one: &&Attachment| !known.replayed.contains(*one) && !is_named(one);
        let has_other = |prompt: &BTreeSet<Attachment>, kind: &str| {
            prompt.iter().any(|other| other.kind == kind && known.replayed.contains(other))
        };
        known.prompts.iter().find_map(|prompt| prompt.iter().filter(lacks).find(|one| has_other(prompt, &one.kind)))
    }

    /// Returns the titles of the notices of a session.
    pub(super) fn notices(&self, session: &str) -> impl Iterator<Item = &str> {
        self.notices.get(session).into_iter().flatten().map(String::as_str)
    }

    /// Returns the tool calls that the replay for this `session/load` has twice: it created them again with the same
    /// title, after they had ended and other messages had followed. Live, the agent created each of them once, and it
    /// ended in its turn.
    pub(super) fn replayed_again(&self, session: &str, load: usize) -> &[ReplayedAgain] {
        let reports = self.tools.get(session).filter(|reports| reports.load == Some(load));
        reports.map_or(&[], |reports| reports.again.as_slice())
    }

    /// Returns the last chunk with this id of a message of the agent in a replay, and the number of pieces of content
    /// before it.
    pub(super) fn replayed_id(&self, session: &str, load: usize, id: &str) -> Option<(usize, usize)> {
        let known = self.replayed_ids.get(session).filter(|known| known.load == Some(load))?;
        known.last.get(id).copied()
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        let Some(id) = call.text("sessionId").filter(|_| event.from == Party::Client && call.id.is_some()) else {
            return;
        };
        if call.method == "session/prompt" {
            let blocks = call.params.and_then(|params| params.member("prompt")?.as_array());
            let attached: BTreeSet<Attachment> = blocks.into_iter().flatten().filter_map(attachment).collect();
            if attached.len() > 1 {
                let prompts = &mut self.attachments.entry(id).prompts;
                prompts.extend((prompts.len() < MOST).then_some(attached));
            }
        }
    }

    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        let Some(session) = update.known else { return };
        match update.variant {
            "notice" => self.learn_notice(session, update),
            "user_message_chunk" => self.learn_attachment(session, update),
            "agent_message_chunk" => self.learn_id(event.n, session, update),
            "tool_call" | "tool_call_update" => {
                let Some(id) = update.body.text("toolCallId") else { return };
                let reports = self.tools.entry(update.session);
                match session.loading {
                    Some(load) => reports.learn_replayed((load, event.n), id, session, update),
                    None => reports.learn_live(id, session, update),
                }
            }
            _ => {}
        }
    }

    fn learn_notice(&mut self, session: &Session, update: &UpdateSeen<'_>) {
        if session.turn.is_none() {
            return;
        }
        let prompt = session.spoken.iter().rfind(|(variant, _)| variant == "user_message_chunk");
        let title = update.body.text("title").filter(|title| !title.is_empty());
        if let (Some((_, prompt)), Some(title)) = (prompt, title)
            && prompt.contains(title)
        {
            let notices = self.notices.entry(update.session);
            if notices.len() < MOST {
                notices.insert(title.to_owned());
            }
        }
    }

    fn learn_attachment(&mut self, session: &Session, update: &UpdateSeen<'_>) {
        let attached = update.body.member("content").and_then(attachment);
        let Some((load, known)) = session.loading.zip(self.attachments.get_mut(Some(update.session))) else { return };
        if known.load != Some(load) {
            (known.load, known.replayed) = (Some(load), BTreeSet::new());
        }
        known.replayed.extend(attached.filter(|_| known.replayed.len() < MOST));
    }

    fn learn_id(&mut self, n: usize, session: &Session, update: &UpdateSeen<'_>) {
        // While a turn runs, its messages are live.
        let loading = session.loading.filter(|_| session.turn.is_none());
        let Some((load, id)) = loading.zip(update.body.text("messageId")) else { return };
        let known = self.replayed_ids.entry(update.session);
        if known.load != Some(load) {
            *known = ReplayedIds { load: Some(load), last: BTreeMap::new() };
        }
        if known.last.len() < MOST || known.last.contains_key(id) {
            known.last.insert(id.to_owned(), (session.replay.len(), n));
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.replayed_ids.forget(conversation, memory);
        self.notices.forget(conversation, memory);
        self.tools.forget(conversation, memory);
        self.attachments.forget(conversation, memory);
    }
}

impl ToolReports {
    fn learn_live(&mut self, id: &str, session: &Session, update: &UpdateSeen<'_>) {
        if self.live.len() >= MOST && !self.live.contains_key(id) {
            return;
        }
        let tool = self.live.entry(id.to_owned()).or_default();
        tool.created += usize::from(update.variant == "tool_call");
        let turn = session.tools.get(id).map_or(session.prompts, |tool| tool.turn);
        tool.ended_in_its_turn |= is_end(update) && session.turn.is_some() && turn == session.prompts;
    }

    fn learn_replayed(&mut self, (load, n): (usize, usize), id: &str, session: &Session, update: &UpdateSeen<'_>) {
        if self.load != Some(load) {
            (self.load, self.first, self.again) = (Some(load), BTreeMap::new(), Vec::new());
        }
        let title = update.body.text("title").unwrap_or_default();
        let is_created = update.variant == "tool_call";
        let place = session.replay.len();
        let Some(first) = self.first.get_mut(id) else {
            if is_created && self.first.len() < MOST {
                let ended = is_end(update).then_some(place);
                self.first.insert(id.to_owned(), FirstReport { n, title: title.to_owned(), ended });
            }
            return;
        };
        let Some(ended) = first.ended else {
            first.ended = is_end(update).then_some(place);
            return;
        };
        let is_message = |(variant, _): &(String, String)| variant.ends_with("_message_chunk");
        let is_later = session.replay.get(ended..).unwrap_or_default().iter().any(is_message);
        let was_single = self.live.get(id).is_some_and(|tool| tool.created == 1 && tool.ended_in_its_turn);
        if is_created && is_later && was_single && first.title == title && self.again.len() < MOST {
            self.again.push(ReplayedAgain { id: id.to_owned(), events: [first.n, n] });
        }
    }
}

/// Returns what distinguishes the attachment in a block from others.
fn attachment(block: &Value) -> Option<Attachment> {
    let (kind, content, name) = match block.text("type")? {
        "image" | "audio" => (block.text("mimeType")?, block.text("data")?.trim(), None),
        "resource_link" | "resource" => {
            let uri = block.member("resource").unwrap_or(block).text("uri")?;
            (RESOURCE, uri, Some(uri.rsplit('/').next().unwrap_or(uri).to_owned()))
        }
        _ => return None,
    };
    let mut hasher = DefaultHasher::new();
    (content.len() <= MOST_DATA).then_some(content)?.hash(&mut hasher);
    Some(Attachment { kind: kind.to_owned(), content: hasher.finish(), name })
}

/// Whether the report says that the tool call has ended.
fn is_end(update: &UpdateSeen<'_>) -> bool {
    update.body.text("status").is_some_and(is_final)
}
