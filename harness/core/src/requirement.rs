//! The catalogue: every requirement of the protocol, as data.

mod condition;
mod facts;
mod revision;
mod transport;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::condition::{AppliesWhen, Condition, ConditionError, ConversationFact};
pub use self::facts::{Area, Flag, Need};
pub use self::revision::{CatalogueRevision, Difference, DifferenceKind, RevisionError};
pub use self::transport::{Transport, Transports};

/// One of the two sides of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The coding agent.
    Agent,
    /// The code editor, or another program that uses the agent.
    Client,
}

impl Party {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Agent, Self::Client];

    /// Returns the opposite side.
    pub const fn other(self) -> Self {
        match self {
            Self::Agent => Self::Client,
            Self::Client => Self::Agent,
        }
    }

    /// Returns the name in files and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Client => "client",
        }
    }

    /// Returns the name with its article, for sentences.
    pub const fn one(self) -> &'static str {
        match self {
            Self::Agent => "an agent",
            Self::Client => "a client",
        }
    }
}

impl std::fmt::Display for Party {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The level of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// A violation makes the subject non-conformant.
    Must,
    /// A violation is reported, and decides nothing without `--strict`.
    Should,
    /// The specification is silent or undecided: the behaviour is recorded and never fails.
    MayProbe,
}

impl Level {
    /// All levels, the most binding first.
    pub const ALL: [Self; 3] = [Self::Must, Self::Should, Self::MayProbe];

    /// Returns the name in files and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::MayProbe => "may-probe",
        }
    }

    /// Returns the name for people, which is shorter for a probe.
    pub const fn spoken(self) -> &'static str {
        match self {
            Self::MayProbe => "probe",
            other => other.name(),
        }
    }
}

/// Whether and how a requirement is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// A check, or a step of a case, decides it.
    Checked,
    /// The behaviour is recorded and never decided.
    Probe,
    /// Only a person can decide it.
    Human,
    /// No check or step covers it yet.
    Planned,
}

impl Status {
    /// All statuses.
    pub const ALL: [Self; 4] = [Self::Checked, Self::Probe, Self::Human, Self::Planned];

    /// Returns the name in files and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Checked => "checked",
            Self::Probe => "probe",
            Self::Human => "human",
            Self::Planned => "planned",
        }
    }
}

/// The way to observe a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observation {
    /// In any trace.
    Passive,
    /// By a stimulus of the tester.
    Active,
    /// In files, processes or servers around the subject.
    Environment,
    /// By a person.
    Human,
}

/// One atomic normative statement, in our own words.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// `<area>.<slug>`, with `.agent` or `.client` at the end if both parties have their half of one requirement.
    pub id: String,
    /// The accountable party.
    pub party: Party,
    /// Its level.
    pub level: Level,
    /// Its text, in a sentence.
    pub text: String,
    /// The place in the specification: `page#anchor`, `schema#Definition`, `jsonrpc#anchor`, `rfd:name`, or
    /// `registry:PAGE` for a page of the agent registry.
    pub source: String,
    /// The precondition.
    pub applies_when: AppliesWhen,
    /// The way to observe it.
    pub check: Observation,
    /// The way to exercise and check it.
    pub how: String,
    /// The smallest change to a conforming program that violates it.
    pub mutant: String,
    /// A correct program that a careless check would fail.
    #[serde(default)]
    pub unusual: Option<String>,
    /// Whether it is checked.
    pub status: Status,
    /// The reason why a checkable requirement is not checked, or a peculiarity of its check.
    #[serde(default)]
    pub remark: Option<String>,
    /// The reason why no fault kills a checked requirement.
    #[serde(default, rename = "no-fault")]
    pub no_fault: Option<String>,
    /// More specific requirements of the same party: a mistake that also violates one of them counts there.
    #[serde(default, rename = "refers-to")]
    pub refers_to: Vec<String>,
    /// The parts of a recording without which it is not decided.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Its properties.
    #[serde(default)]
    pub flags: Vec<Flag>,
    /// How to satisfy it with an official SDK, in a sentence each.
    #[serde(default)]
    pub sdk: BTreeMap<Sdk, String>,
}

/// An official SDK, in display order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sdk {
    /// `@agentclientprotocol/sdk` on npm.
    TypeScript,
    /// `agent-client-protocol` on PyPI.
    Python,
    /// `agent-client-protocol` on crates.io.
    Rust,
    /// `com.agentclientprotocol:acp` on Maven Central.
    Kotlin,
}

impl Sdk {
    /// Returns the name of its language.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TypeScript => "TypeScript",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::Kotlin => "Kotlin",
        }
    }
}

impl Requirement {
    /// Whether a program checks or records it.
    pub const fn is_decided(&self) -> bool {
        matches!(self.status, Status::Checked | Status::Probe)
    }

    /// Returns the area of the protocol: the first word of the id.
    pub fn area(&self) -> Area<'_> {
        Area::of(&self.id)
    }

    /// Returns its entry in the pages of its edition: the file, and the anchor that GitHub gives the heading.
    pub fn page(&self) -> String {
        page(&self.id)
    }

    /// Returns the anchor of its heading: letters, digits, hyphens and underscores of the id stay.
    pub fn anchor(&self) -> String {
        anchor(&self.id)
    }

    /// Returns the address of the page that the source names, in the documentation of this major version of the
    /// protocol.
    pub fn link(&self, major: u16) -> Option<String> {
        let first = self.source.split("; ").next().unwrap_or(&self.source);
        let source = first.split(" (").next().unwrap_or(first);
        if source.starts_with("rfd:") {
            return Some(format!("https://agentclientprotocol.com/rfds/{}", source.trim_start_matches("rfd:")));
        }
        if let Some(page) = source.strip_prefix("registry:") {
            return Some(format!("https://github.com/agentclientprotocol/registry/blob/main/{page}.md"));
        }
        let (page, anchor) = source.split_once('#').unwrap_or((source, ""));
        if page.contains(' ') {
            // A document without a page, such as a test suite.
            return None;
        }
        let base = match page {
            "jsonrpc" => "https://www.jsonrpc.org/specification".to_owned(),
            _ => format!("https://agentclientprotocol.com/protocol/v{major}/{page}"),
        };
        let anchor = if page == "schema" { anchor.to_lowercase() } else { anchor.to_owned() };
        Some(if anchor.is_empty() { base } else { format!("{base}#{anchor}") })
    }
}

/// Returns the entry of a requirement in the pages of its edition: the file, and the anchor of its heading.
pub fn page(id: &str) -> String {
    format!("{}.md#{}", Area::of(id).name(), anchor(id))
}

fn anchor(id: &str) -> String {
    id.to_lowercase().chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}

/// All requirements of one edition, by id.
#[derive(Debug)]
pub struct Catalogue {
    entries: Vec<Requirement>,
    by_id: BTreeMap<String, usize>,
    differences: Vec<Difference>,
}

impl Catalogue {
    /// Creates a catalogue with these requirements.
    ///
    /// # Errors
    ///
    /// Returns the first duplicate id.
    pub fn new(entries: Vec<Requirement>) -> Result<Self, DuplicateId> {
        let mut by_id = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            if by_id.insert(entry.id.clone(), index).is_some() {
                return Err(DuplicateId(entry.id.clone()));
            }
        }
        Ok(Self { entries, by_id, differences: Vec::new() })
    }

    /// Returns whether the requirement with this id is recorded and never decided.
    pub fn is_probe(&self, id: &str) -> bool {
        self.find(id).is_some_and(|requirement| requirement.status == Status::Probe)
    }

    /// Returns whether the requirement with this id has the property.
    pub fn has_flag(&self, id: &str, flag: Flag) -> bool {
        self.find(id).is_some_and(|requirement| requirement.flags.contains(&flag))
    }

    /// Returns the requirement with this id.
    pub fn find(&self, id: &str) -> Option<&Requirement> {
        self.by_id.get(id).map(|&index| &self.entries[index])
    }

    /// Returns the differences from the edition before; none for the first edition of a major.
    pub fn differences(&self) -> &[Difference] {
        &self.differences
    }

    /// Returns every requirement, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Requirement> {
        self.entries.iter()
    }
}

/// A duplicate id in a catalogue.
#[derive(Debug, thiserror::Error)]
#[error("the id `{0}` occurs twice")]
pub struct DuplicateId(String);
