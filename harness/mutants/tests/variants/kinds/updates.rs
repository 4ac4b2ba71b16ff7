//! Session updates split into pieces, and additional ones that change nothing.

use std::collections::BTreeMap;

use acp_conformance::requirement::Party;
use fastrand::Rng;
use serde_json::{Value, json};

use super::{Around, How, Kind, Said};
use crate::choices::Choices;
use crate::conversation::{Conversation, Message};

const TURN: &str =
    "prompt-turn, 3: \"The Agent reports the model's output to the Client via session/update notifications\"";

pub const KINDS: &[Kind] = &[
    Kind {
        name: "chunks-split",
        rule: "schema.json, ContentChunk: \"A streamed item of content\"; nothing says where a text is cut",
        how: How::Around(|| Box::new(Split)),
    },
    Kind {
        name: "chunks-merged",
        rule: "schema.json, ContentChunk: \"A streamed item of content\"; nothing says how many chunks a message has",
        how: How::Whole(merge),
    },
    more("thoughts-added", TURN, || More::with(Extra::Thought)),
    more("empty-chunks-added", "schema.json, TextContent: `text` is a string without `minLength`", || {
        More::with(Extra::Empty)
    }),
    more(
        "plans-added",
        "agent-plan: the agent \"SHOULD report updates by sending more session/update notifications with the same structure\"",
        || More::with(Extra::Plan),
    ),
    more("tool-updates-added", "tool-calls: \"All fields except toolCallId are optional in updates\"", || {
        More::with(Extra::ToolUpdate)
    }),
    more(
        "session-infos-added",
        "schema.json, SessionInfoUpdate: \"All fields are optional to support partial updates\"; at any time",
        || More::with(Extra::SessionInfo),
    ),
    more("usage-added", "schema.json, UsageUpdate: `used` and `size` are whole numbers; at any time", || {
        More::with(Extra::Usage)
    }),
    more(
        "commands-added",
        "slash-commands: \"The Agent can update the list of available commands at any time during a session\"",
        || More::with(Extra::Commands),
    ),
];

/// Updates that only version 2 has.
pub const OF_V2: &[Kind] = &[
    more(
        "notices-added",
        "schema.json of version 2, Notice: \"Notices are live events rather than session history\"; \"No Client capability is required\"",
        || More::with(Extra::Notice),
    ),
    more(
        "compactions-added",
        "schema.json of version 2, CompactionUpdate: \"The first notification fixes the compaction's timeline position\"; at any time",
        || More::with(Extra::Compaction),
    ),
    more(
        "unknown-updates-added",
        "schema.json of version 2, SessionUpdate: \"Values beginning with `_` are reserved for implementation-specific extensions\"",
        || More::with(Extra::Unknown),
    ),
    more(
        "custom-plans-added",
        "schema.json of version 2, PlanUpdateContent: a `type` that begins with `_`, with a `planId`",
        || More::with(Extra::CustomPlan),
    ),
];

const fn more(name: &'static str, rule: &'static str, make: fn() -> Box<dyn Around>) -> Kind {
    Kind { name, rule, how: How::Around(make) }
}

/// The kinds of chunks with text.
pub const CHUNKS: [&str; 3] = ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"];

/// Returns the session, the kind and the body of an update.
pub fn update(message: &Message) -> Option<(&str, &str, &Value)> {
    if !message.calls("session/update") || message.deliberate {
        return None;
    }
    let params = message.value.get("params")?;
    let update = params.get("update")?;
    Some((params.get("sessionId")?.as_str()?, update.get("sessionUpdate")?.as_str()?, update))
}

/// Returns the text of a chunk.
fn text(update: &Value) -> Option<&str> {
    let chunk = update.get("sessionUpdate").and_then(Value::as_str).is_some_and(|kind| CHUNKS.contains(&kind));
    let content = update.get("content").filter(|content| chunk && content["type"] == "text")?;
    content.get("text")?.as_str()
}

/// Splits texts between any two code points.
struct Split;

impl Around for Split {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        let text: Option<Vec<char>> =
            update(message).and_then(|(_, _, update)| text(update)).map(|text| text.chars().collect());
        let Some((letters, mut rng)) = text.and_then(|letters| Some((letters, choices.site()?))) else {
            return vec![Said::same(message)];
        };
        let mut cuts: Vec<usize> = (0..rng.usize(1..4)).map(|_| rng.usize(..=letters.len())).collect();
        cuts.extend([0, letters.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| letters[cut[0]..cut[1]].iter().collect::<String>());
        let piece = |text: String| {
            let mut value = message.value.clone();
            value["params"]["update"]["content"]["text"] = text.into();
            Said::changed(message, value)
        };
        pieces.map(piece).collect()
    }
}

/// Joins neighbouring chunks that differ only in their text.
fn merge(conversation: &mut Conversation, _: &Conversation, choices: &mut Choices) {
    let mut at = 0;
    while at + 1 < conversation.entries.len() {
        let [first, second] = [at, at + 1]
            .map(|at| conversation.entries[at].message.as_ref().filter(|message| update(message).is_some()));
        let joined = first.zip(second).and_then(|(first, second)| {
            let texts = [first, second].map(|message| update(message).and_then(|(_, _, update)| text(update)));
            let [Some(one), Some(two)] = texts else { return None };
            let mut joined = first.value.clone();
            joined["params"]["update"]["content"]["text"] = second.value["params"]["update"]["content"]["text"].clone();
            if joined != second.value {
                return None;
            }
            joined["params"]["update"]["content"]["text"] = [one, two].concat().into();
            Some(joined)
        });
        match joined.and_then(|joined| choices.site().map(|_| joined)) {
            Some(joined) => {
                let gone = conversation.entries.remove(at);
                conversation.entries[at].stands_for.extend(gone.stands_for);
                if let Some(message) = &mut conversation.entries[at].message {
                    message.value = joined;
                }
            }
            None => at += 1,
        }
    }
}

/// The statuses of tool calls that have ended.
const FINAL: [&str; 3] = ["completed", "failed", "cancelled"];

fn plan(plan: Value) -> Value {
    json!({ "sessionUpdate": "plan_update", "plan": plan })
}

/// An additional update.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extra {
    Thought,
    Empty,
    Plan,
    ToolUpdate,
    SessionInfo,
    Usage,
    Commands,
    Notice,
    Compaction,
    Unknown,
    CustomPlan,
}

impl Extra {
    /// Whether it belongs to a turn.
    const fn in_turn(self) -> bool {
        matches!(self, Self::Thought | Self::Empty | Self::Plan | Self::ToolUpdate)
    }
}

/// Adds updates to sessions of the agent.
struct More {
    extra: Extra,
    sessions: BTreeMap<String, Session>,
    /// The sessions of the unanswered requests, by request id: of prompts, and of requests that open a session.
    prompts: BTreeMap<String, String>,
    opening: BTreeMap<String, String>,
    added: usize,
}

/// The facts about a session.
#[derive(Default)]
struct Session {
    prompts: usize,
    /// Version 2: whether the last state is not idle.
    at_work: bool,
    cancelled: bool,
    plan: Option<Value>,
    commands: Option<Value>,
    /// The unfinished tool calls, with their last status.
    calls: BTreeMap<String, Value>,
    /// Whether its chunks have message ids, once one was seen.
    ids: Option<bool>,
}

impl More {
    fn with(extra: Extra) -> Box<dyn Around> {
        let (sessions, prompts, opening) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Box::new(Self { extra, sessions, prompts, opening, added: 0 })
    }

    fn note(&mut self, message: &Message) {
        let id = message.value.get("id").map(Value::to_string).unwrap_or_default();
        let named = message.value.pointer("/params/sessionId").and_then(Value::as_str);
        match (message.method.as_deref(), message.is_response) {
            (Some("session/prompt"), false) => {
                if let Some(session) = named.and_then(|named| Some((named, self.sessions.get_mut(named)?))) {
                    session.1.prompts += 1;
                    session.1.cancelled = false;
                    self.prompts.insert(id, session.0.to_owned());
                }
            }
            (Some("session/cancel" | "session/close" | "session/delete"), false) => {
                if let Some(session) = named.and_then(|named| self.sessions.get_mut(named)) {
                    session.cancelled = true;
                }
            }
            (Some("session/prompt"), true) => {
                if let Some(session) = self.prompts.remove(&id).and_then(|named| self.sessions.get_mut(&named)) {
                    session.prompts -= 1;
                }
            }
            (Some("session/load" | "session/resume"), false) => {
                self.opening.extend(named.map(|named| (id, named.to_owned())));
            }
            (Some("session/new" | "session/load" | "session/resume"), true)
                if message.value.get("result").is_some() =>
            {
                let given = message.value.pointer("/result/sessionId").and_then(Value::as_str).map(str::to_owned);
                let opened = given.or_else(|| self.opening.remove(&id));
                let list = message.value.pointer("/result/availableCommands").cloned();
                let commands =
                    list.map(|list| json!({ "sessionUpdate": "available_commands_update", "availableCommands": list }));
                let ids = (message.edition.major > 1).then_some(true);
                let session = Session { commands, ids, ..Session::default() };
                self.sessions.extend(opened.map(|opened| (opened, session)));
            }
            _ => {}
        }
        let Some((named, kind, update)) = update(message) else { return };
        let Some(session) = self.sessions.get_mut(named) else { return };
        if CHUNKS.contains(&kind) {
            session.ids = Some(update.get("messageId").is_some_and(Value::is_string));
        }
        match kind {
            "plan" | "plan_update" => session.plan = Some(update.clone()),
            "available_commands_update" => session.commands = Some(update.clone()),
            "state_update" => {
                session.at_work = update.get("state").is_none_or(|state| state != "idle");
                session.cancelled &= session.at_work;
            }
            "tool_call" | "tool_call_update" => {
                let call = update.get("toolCallId").and_then(Value::as_str).unwrap_or_default().to_owned();
                match update.get("status").filter(|status| !status.is_null()) {
                    Some(status) if FINAL.iter().any(|known| status == known) => drop(session.calls.remove(&call)),
                    Some(status) => drop(session.calls.insert(call, status.clone())),
                    None => drop(session.calls.entry(call).or_insert_with(|| "pending".into())),
                }
            }
            _ => {}
        }
    }

    fn make(&mut self, named: &str, is_v1: bool, rng: &mut Rng) -> Option<Value> {
        let session = self.sessions.get(named)?;
        let chunk = |kind: &str, text: &str, id: String| {
            let mut chunk = json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
            if session.ids? {
                chunk["messageId"] = id.into();
            }
            Some(chunk)
        };
        let update = match self.extra {
            Extra::Thought => chunk("agent_thought_chunk", "Let me see …", format!("thought-{}", self.added))?,
            Extra::Empty => chunk("agent_message_chunk", "", format!("empty-{}", self.added))?,
            Extra::Plan => match (&session.plan, is_v1) {
                (Some(plan), _) => plan.clone(),
                (None, true) => json!({ "sessionUpdate": "plan", "entries": [] }),
                (None, false) => plan(json!({ "type": "items", "planId": "variant", "entries": [] })),
            },
            Extra::ToolUpdate => {
                let calls: Vec<_> = session.calls.iter().collect();
                let (id, status) = rng.choice(calls)?;
                match rng.u8(..3) {
                    0 => json!({ "sessionUpdate": "tool_call_update", "toolCallId": id }),
                    1 => json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status }),
                    // In version 2, null would make the call a pending one again.
                    _ => {
                        let status = if is_v1 { &Value::Null } else { status };
                        json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status, "title": "Still at it" })
                    }
                }
            }
            Extra::SessionInfo => match rng.u8(..3) {
                0 => json!({ "sessionUpdate": "session_info_update" }),
                1 => json!({ "sessionUpdate": "session_info_update", "title": null, "updatedAt": null }),
                _ => {
                    json!({ "sessionUpdate": "session_info_update", "title": "A title", "updatedAt": "2026-11-22T11:00:00Z" })
                }
            },
            Extra::Usage => match rng.u8(..3) {
                0 => json!({ "sessionUpdate": "usage_update", "used": 0, "size": 0 }),
                1 => json!({ "sessionUpdate": "usage_update", "used": 5, "size": 4, "cost": null }),
                _ => {
                    json!({ "sessionUpdate": "usage_update", "used": 1, "size": 200_000, "cost": { "amount": 0.25, "currency": "EUR" } })
                }
            },
            Extra::Commands => session
                .commands
                .clone()
                .unwrap_or_else(|| json!({ "sessionUpdate": "available_commands_update", "availableCommands": [] })),
            Extra::Notice => {
                let severity = ["info", "warning", "error", "_quiet"][rng.usize(..4)];
                json!({ "sessionUpdate": "notice", "severity": severity, "title": "A notice", "description": null })
            }
            Extra::Compaction => {
                let status = ["in_progress", "completed", "failed", "cancelled", "_later"][rng.usize(..5)];
                let id = format!("variant-{}", self.added);
                json!({ "sessionUpdate": "compaction_update", "compactionId": id, "status": status, "summary": [] })
            }
            Extra::Unknown => match rng.u8(..2) {
                0 => json!({ "sessionUpdate": "_example.org/progress" }),
                _ => json!({ "sessionUpdate": "_progress", "percent": 5, "messageId": 7, "content": { "type": "x" } }),
            },
            Extra::CustomPlan => plan(json!({ "type": "_mind_map", "planId": "variant", "nodes": ["one", 2] })),
        };
        self.added += 1;
        Some(
            json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": named, "update": update } }),
        )
    }

    /// Returns a session that can get an additional update after this message.
    fn room(&self, message: &Message) -> Option<String> {
        let (named, ..) = update(message)?;
        let session = self.sessions.get(named)?;
        let replays = self.opening.values().any(|opening| opening == named);
        let works = if message.edition.major == 1 { session.prompts > 0 } else { session.at_work };
        (!session.cancelled && !replays && (!self.extra.in_turn() || works)).then(|| named.to_owned())
    }
}

impl Around for More {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        self.note(message);
        let mut said = vec![Said::same(message)];
        let room = self.room(message);
        let added = room.and_then(|named| choices.site().map(|rng| (named, rng)));
        if let Some(value) = added.and_then(|(named, mut rng)| self.make(&named, message.edition.major == 1, &mut rng))
        {
            // The output of work follows the state update that begins it.
            let begins = update(message).is_some_and(|(_, kind, _)| kind == "state_update");
            let is_thought = value["params"]["update"]["sessionUpdate"] == "agent_thought_chunk";
            let before = is_thought && !begins && choices.whole().bool();
            said.insert(usize::from(!before), Said::more(message.from, value));
        }
        said
    }
}
