//! The serde types of a fault file, from which `fault.schema.json` is generated.

use std::collections::BTreeMap;

use acp_conformance::case::file::{LimitsFile, OneOrMany};
use acp_conformance::document::shape;
use acp_conformance::requirement::Transport;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The JSON Schema of a fault file, as it is committed in `fault.schema.json`.
pub fn schema() -> Value {
    shape::schema::<FaultFile>()
}

/// A fault is one deliberate deviation, with `title`, `kills`, `case`, and the deviation: `match` and `do`, or `edits`,
/// or `agent` or `client`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "acp-conformance-fault/1")]
pub struct FaultFile {
    /// The violation, in a sentence.
    #[schemars(length(min = 1))]
    pub title: String,
    /// The requirement that must fail.
    pub kills: String,
    /// The case that shows it, or a list of cases, by id.
    pub case: OneOrMany,
    /// Further requirements that fail, each with the reason why that is a consequence.
    #[serde(default)]
    pub also: BTreeMap<String, String>,
    /// Requirements that fail in some runs or cases and not in others, each with the reason.
    #[serde(default)]
    pub sometimes: BTreeMap<String, String>,
    /// Options of the mutant agent, such as `[--layer, cancel-sticky]`.
    #[serde(default)]
    pub agent: Vec<String>,
    /// Options of the mutant client, such as `[--layer, kill-ignored]`.
    #[serde(default)]
    pub client: Vec<String>,
    /// What carries the messages, if the fault is in that: `http` or `ws`.
    pub transport: Option<Transport>,
    /// Time limits, if the fault shows only through a time limit.
    pub limits: Option<LimitsFile>,
    /// Which messages of the subject are changed.
    #[serde(rename = "match")]
    pub on: Option<MatchFile>,
    /// The change of these messages.
    #[serde(rename = "do")]
    pub change: Option<ChangeFile>,
    /// Several changes, if the deviation needs more than one; the first that matches a message changes it.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub edits: Vec<EditFile>,
}

/// One of several changes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EditFile {
    /// Which messages of the subject are changed.
    #[serde(rename = "match")]
    pub on: MatchFile,
    /// The change of these messages.
    #[serde(rename = "do")]
    pub change: ChangeFile,
}

/// Selects messages by exactly one of `method`, `result-of`, `error-of`, `update`, `any` and `end`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MatchFile {
    /// A request or a notification of this method.
    pub method: Option<String>,
    /// The result of a request of the other side, by its method.
    pub result_of: Option<String>,
    /// The error that answers a request of the other side, by its method.
    pub error_of: Option<String>,
    /// A `session/update` of this variant, such as `tool_call`.
    pub update: Option<String>,
    /// Every message.
    #[schemars(extend("const" = true))]
    pub any: Option<bool>,
    /// Only in `delay-until`: the end of the stream.
    #[schemars(extend("const" = true))]
    pub end: Option<bool>,
    /// Selects messages that the subject receives and then misreads: they are changed or dropped before they reach it.
    #[schemars(extend("const" = true))]
    pub received: Option<bool>,
    /// Only messages with these values, by JSON pointer; `null` also matches an absent member.
    #[serde(default, rename = "where")]
    pub wanted: BTreeMap<String, Value>,
    /// Only messages with one of these values, by JSON pointer.
    #[serde(default)]
    pub one_of: BTreeMap<String, Vec<Value>>,
    /// Only messages without these values, by JSON pointer; a list has several values for one member.
    #[serde(default)]
    pub unless: BTreeMap<String, Value>,
    /// Only while a request of this method is open in the session of the message.
    pub open: Option<String>,
    /// Only while no request of this method is open in the session of the message.
    pub not_open: Option<String>,
    /// Only messages in this session of the case, counted from 1 in the order in which they were opened.
    #[schemars(range(min = 1))]
    pub session: Option<usize>,
    /// Only messages that come later than one that fits this.
    pub after: Option<Box<MatchFile>>,
    /// Only until a message fits this, or until then after each that fits `after`.
    pub until: Option<Box<MatchFile>>,
    /// Only the match with this number, counted from 1; all matches if absent.
    #[schemars(range(min = 1))]
    pub nth: Option<usize>,
}

/// The change of a message: members are changed first, then lines.
///
/// In `before`, `after`, `replace` and `reply`, `{id}` is the id of the message, `{session}` the id of its session as
/// written between quotes, `{params}` its params, `{message}` the message itself, `{pretty}` the message over several
/// lines, and `{count}` the number of messages changed so far, including this one.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ChangeFile {
    /// Renamed members, from one JSON pointer to another.
    #[serde(default)]
    pub rename: BTreeMap<String, String>,
    /// Values that the edits of the fault remember, by name; `{name}` as a value of `set` is the remembered one.
    #[serde(default)]
    pub keep: BTreeMap<String, String>,
    /// Members that get a new value, by JSON pointer; `/-` appends to a list.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Texts to append to members, by JSON pointer.
    #[serde(default)]
    pub append: BTreeMap<String, String>,
    /// Removed members, by JSON pointer.
    #[serde(default)]
    pub remove: Vec<String>,
    /// A text that replaces the line.
    pub replace: Option<String>,
    /// The line is written in Latin-1.
    #[schemars(extend("const" = true))]
    pub latin_1: Option<bool>,
    /// The line is dropped.
    #[schemars(extend("const" = true))]
    pub drop: Option<bool>,
    /// The line is sent twice.
    #[schemars(extend("const" = true))]
    pub duplicate: Option<bool>,
    /// A line back to its sender, instead of or before an answer.
    pub reply: Option<String>,
    /// The program ends: with a message that it receives, or after one that it sends.
    #[schemars(extend("const" = true))]
    pub end: Option<bool>,
    /// A line before it.
    pub before: Option<String>,
    /// A line after it.
    pub after: Option<String>,
    /// The message, or the end, until which all of this is held back; a match selected by `nth` is not awaited if it
    /// has already come.
    pub delay_until: Option<MatchFile>,
}

impl ChangeFile {
    /// Whether it changes the message itself.
    pub fn edits_members(&self) -> bool {
        let changes = self.rename.len() + self.set.len() + self.append.len() + self.remove.len();
        changes > 0
    }

    /// Whether it does more than change members, which is possible only for a message that the program sends.
    pub const fn changes_lines(&self) -> bool {
        let texts = self.replace.is_some() || self.before.is_some() || self.after.is_some();
        texts || self.latin_1.is_some() || self.duplicate.is_some() || self.delay_until.is_some()
    }

    /// Whether it does more than change members.
    pub fn acts_on_lines(&self) -> bool {
        let acts = self.drop.is_some() || self.reply.is_some() || self.end.is_some() || !self.keep.is_empty();
        self.changes_lines() || acts
    }
}
