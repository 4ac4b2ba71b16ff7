//! A fault in the form in which it is applied.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::case::LimitOverrides;
use crate::requirement::Party;
use crate::source::SourceFile;

/// A deliberate deviation, and the failures that it must cause.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The name of the file without its extension.
    pub id: String,
    /// The violation, in a sentence.
    pub title: String,
    /// The requirement that must fail.
    pub kills: String,
    /// The ids of the cases that show it.
    pub cases: Vec<String>,
    /// Further requirements that fail, each with the reason why that is a consequence.
    pub also: BTreeMap<String, String>,
    /// Requirements that fail in some runs or cases and not in others, each with the reason.
    pub sometimes: BTreeMap<String, String>,
    /// The party that deviates.
    pub party: Party,
    /// Arguments that make the reference program of that party deviate by itself.
    pub peer_args: Vec<String>,
    /// Time limits that override those of the case.
    pub limits: LimitOverrides,
    /// The changes on the wire, if there are any; the first that matches a message changes it.
    pub edits: Vec<Edit>,
    /// The file.
    pub source: Arc<SourceFile>,
}

impl Fault {
    /// Whether this requirement also fails as a consequence, always or sometimes.
    #[must_use]
    pub fn breaks_besides(&self, requirement: &str) -> bool {
        self.also.contains_key(requirement) || self.sometimes.contains_key(requirement)
    }
}

/// A change of certain messages of the subject.
#[derive(Debug, Clone)]
pub struct Edit {
    /// The messages that it changes.
    pub on: Matcher,
    /// The change.
    pub change: Change,
}

/// Selects messages that the subject sends or receives.
#[derive(Debug, Clone)]
pub struct Matcher {
    /// Whether it selects messages that the subject receives, not those that it sends.
    pub received: bool,
    /// The kind of message.
    pub selector: Selector,
    /// The values that the message must have, by JSON pointer; `null` also matches an absent member.
    pub wanted: Vec<(String, Value)>,
    /// Only in this session of the case, counted from 1.
    pub session: Option<usize>,
    /// Only later than a message that fits this.
    pub after: Option<Box<Matcher>>,
    /// Only the match with this number, counted from 1; all matches if absent.
    pub nth: Option<usize>,
}

/// The kind of a selected message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Every message.
    Any,
    /// A request or a notification of this method.
    Method(String),
    /// The result of a request.
    ResultOf(String),
    /// The error that answers a request.
    ErrorOf(String),
    /// A `session/update` of this variant.
    Update(String),
    /// The end of the stream instead of a message.
    End,
}

/// The change of a message. The members are applied in this order.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Renamed members, from one JSON pointer to another.
    pub rename: Vec<(String, String)>,
    /// Members that get a new value, by JSON pointer.
    pub set: Vec<(String, Value)>,
    /// Removed members, by JSON pointer.
    pub remove: Vec<String>,
    /// Text that replaces the line.
    pub replace: Option<String>,
    /// Whether the line is written in Latin-1.
    pub latin_1: bool,
    /// Whether the line is dropped.
    pub drop: bool,
    /// Whether the line is sent twice.
    pub duplicate: bool,
    /// A line before it.
    pub before: Option<String>,
    /// A line after it.
    pub after: Option<String>,
    /// The message until which all of this is held back.
    pub delay_until: Option<Matcher>,
}

impl Change {
    /// Whether it changes the message itself.
    #[must_use]
    pub fn edits_members(&self) -> bool {
        !(self.rename.is_empty() && self.set.is_empty() && self.remove.is_empty())
    }

    /// Whether it can be applied to a message that the subject receives: a change of members, or a dropped message.
    #[must_use]
    pub const fn fits_received(&self) -> bool {
        let texts = self.replace.is_some() || self.before.is_some() || self.after.is_some();
        !(texts || self.latin_1 || self.duplicate || self.delay_until.is_some())
    }

    /// Whether it does more than change members.
    #[must_use]
    pub const fn acts_on_lines(&self) -> bool {
        let texts = self.replace.is_some() || self.before.is_some() || self.after.is_some();
        texts || self.latin_1 || self.drop || self.duplicate || self.delay_until.is_some()
    }
}
