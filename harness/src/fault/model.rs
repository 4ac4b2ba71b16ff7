//! A fault as it is applied.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::case::LimitOverrides;
use crate::requirement::Party;
use crate::source::SourceFile;

/// A deliberate deviation, with what it must bring to light.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The name: that of the file without extension.
    pub id: String,
    /// What the subject does wrong, in a sentence.
    pub title: String,
    /// The requirement that must fail.
    pub kills: String,
    /// The cases in which it shows, by id.
    pub cases: Vec<String>,
    /// Further requirements that fail, each with the reason why that is a consequence.
    pub also: BTreeMap<String, String>,
    /// Requirements that fail in some runs or cases and not in others, each with the reason.
    pub sometimes: BTreeMap<String, String>,
    /// The party that deviates.
    pub party: Party,
    /// Arguments for the reference peer of that party, which then deviates by itself.
    pub peer_args: Vec<String>,
    /// Time limits that are stronger than those of the case.
    pub limits: LimitOverrides,
    /// What is changed on the wire, if anything is; a message is changed by the first that fits it.
    pub edits: Vec<Edit>,
    /// The file.
    pub source: Arc<SourceFile>,
}

impl Fault {
    /// Whether this requirement is among those that fail as a consequence, always or sometimes.
    #[must_use]
    pub fn breaks_besides(&self, requirement: &str) -> bool {
        self.also.contains_key(requirement) || self.sometimes.contains_key(requirement)
    }
}

/// A change of certain messages of the subject.
#[derive(Debug, Clone)]
pub struct Edit {
    /// Which messages.
    pub on: Matcher,
    /// What becomes of them.
    pub change: Change,
}

/// Picks messages that the subject sends or receives.
#[derive(Debug, Clone)]
pub struct Matcher {
    /// Whether they are messages that the subject receives, instead of those that it sends.
    pub received: bool,
    /// By what they are.
    pub selector: Selector,
    /// By what is in them: JSON pointers and the values there; `null` also where nothing is.
    pub wanted: Vec<(String, Value)>,
    /// Only this one of those that fit, counted from 1; all of them if not given.
    pub nth: Option<usize>,
}

/// What kind of message is meant.
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
    /// No message, but the end of the stream.
    End,
}

/// What becomes of a message. The members are applied in this order.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Members that move, from one JSON pointer to another.
    pub rename: Vec<(String, String)>,
    /// Members that get a value, by JSON pointer.
    pub set: Vec<(String, Value)>,
    /// Members that go, by JSON pointer.
    pub remove: Vec<String>,
    /// Text that takes the place of the line.
    pub replace: Option<String>,
    /// Whether the line is written in Latin-1.
    pub latin_1: bool,
    /// Whether the line does not come at all.
    pub drop: bool,
    /// Whether the line comes twice.
    pub duplicate: bool,
    /// A line before it.
    pub before: Option<String>,
    /// A line after it.
    pub after: Option<String>,
    /// Until which message all of this is held back.
    pub delay_until: Option<Matcher>,
}

impl Change {
    /// Whether the message itself gets another content.
    #[must_use]
    pub fn edits_members(&self) -> bool {
        !(self.rename.is_empty() && self.set.is_empty() && self.remove.is_empty())
    }

    /// Whether this can happen to a message that the subject receives: a change of members, or the loss of the message.
    #[must_use]
    pub const fn fits_received(&self) -> bool {
        let texts = self.replace.is_some() || self.before.is_some() || self.after.is_some();
        !(texts || self.latin_1 || self.duplicate || self.delay_until.is_some())
    }

    /// Whether anything happens beside a change of members.
    #[must_use]
    pub const fn acts_on_lines(&self) -> bool {
        let texts = self.replace.is_some() || self.before.is_some() || self.after.is_some();
        texts || self.latin_1 || self.drop || self.duplicate || self.delay_until.is_some()
    }
}
