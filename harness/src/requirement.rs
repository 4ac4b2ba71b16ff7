//! The catalogue: every requirement of the protocol, as data.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// The catalogue of protocol version 1, as it is embedded in the program.
pub const V1_SOURCE: &str = include_str!("../../cases/requirements/v1.yaml");

/// One of the two sides of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The coding agent.
    Agent,
    /// The code editor, or whatever else talks to the agent.
    Client,
}

impl Party {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Agent, Self::Client];

    /// The opposite side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Agent => Self::Client,
            Self::Client => Self::Agent,
        }
    }

    /// The name used in files and output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Client => "client",
        }
    }

    /// The name with its article, for sentences.
    #[must_use]
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

/// How binding a requirement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Breaking it makes a subject not conformant.
    Must,
    /// Breaking it is reported, and decides nothing without `--strict`.
    Should,
    /// The specification is silent or undecided: what happens is recorded, never failed.
    MayProbe,
}

impl Level {
    /// All of them, the most binding first.
    pub const ALL: [Self; 3] = [Self::Must, Self::Should, Self::MayProbe];

    /// The name used in files and output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::MayProbe => "may-probe",
        }
    }

    /// The name for people, which is shorter for a probe.
    #[must_use]
    pub const fn spoken(self) -> &'static str {
        match self {
            Self::MayProbe => "probe",
            other => other.name(),
        }
    }
}

/// Whether, and by what, a requirement is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// A check, or a step of a case, decides it.
    Checked,
    /// It is recorded and never decided.
    Probe,
    /// Only a person can decide it.
    Human,
    /// Nothing looks at it yet.
    Planned,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Checked, Self::Probe, Self::Human, Self::Planned];

    /// The name used in files and output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Checked => "checked",
            Self::Probe => "probe",
            Self::Human => "human",
            Self::Planned => "planned",
        }
    }
}

/// How a requirement can be brought to show itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// By looking at any trace.
    Passive,
    /// By a stimulus of the tester.
    Active,
    /// By looking at disk, processes or servers around the subject.
    Environment,
    /// By a person.
    Human,
}

/// One atomic normative statement, in our own words.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// `<area>.<slug>`, with `.agent` or `.client` behind it where both parties have their half of one rule.
    pub id: String,
    /// The accountable party.
    pub party: Party,
    /// How binding it is.
    pub level: Level,
    /// What it asks, in a sentence.
    pub text: String,
    /// Where the specification says so: `page#anchor`, `schema#Definition`, `jsonrpc#anchor` or `rfd:name`.
    pub source: String,
    /// The precondition, in words; `always` where there is none.
    pub applies_when: String,
    /// How it can be brought to show itself.
    pub check: Means,
    /// How it is exercised and judged.
    pub how: String,
    /// The smallest change to a conforming peer that breaks it.
    pub mutant: String,
    /// Whether it is judged.
    pub status: Status,
    /// Why a requirement that could be judged is not, or what is peculiar about how it is.
    #[serde(default)]
    pub remark: Option<String>,
    /// Why no fault kills a requirement that is checked.
    #[serde(default, rename = "no-fault")]
    pub no_fault: Option<String>,
}

/// Whether the requirement with this id, in version 1, is recorded and never decided.
#[must_use]
pub fn is_probe(id: &str) -> bool {
    Catalogue::v1().find(id).is_some_and(|requirement| requirement.status == Status::Probe)
}

impl Requirement {
    /// The area of the protocol: the first word of the id.
    #[must_use]
    pub fn area(&self) -> &str {
        self.id.split('.').next().unwrap_or(&self.id)
    }

    /// Its entry in the pages of `docs/requirements/`: the file, and the anchor that GitHub gives the heading.
    #[must_use]
    pub fn page(&self) -> String {
        format!("{}.md#{}", self.area(), self.anchor())
    }

    /// The anchor of its heading: letters, digits, hyphens and underscores of the id stay.
    #[must_use]
    pub fn anchor(&self) -> String {
        self.id.to_lowercase().chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
    }

    /// The address of the page that says so, where the source names one.
    #[must_use]
    pub fn link(&self) -> Option<String> {
        let source = self.source.split(" (").next().unwrap_or(&self.source);
        if source.starts_with("rfd:") {
            return Some(format!("https://agentclientprotocol.com/rfds/{}", source.trim_start_matches("rfd:")));
        }
        let (page, anchor) = source.split_once('#').unwrap_or((source, ""));
        let base = match page {
            "jsonrpc" => "https://www.jsonrpc.org/specification".to_owned(),
            _ => format!("https://agentclientprotocol.com/protocol/v1/{page}"),
        };
        let anchor = if page == "schema" { anchor.to_lowercase() } else { anchor.to_owned() };
        Some(if anchor.is_empty() { base } else { format!("{base}#{anchor}") })
    }
}

/// All requirements of one major version, by id.
#[derive(Debug)]
pub struct Catalogue {
    entries: Vec<Requirement>,
    by_id: BTreeMap<String, usize>,
}

impl Catalogue {
    /// The embedded catalogue of protocol version 1.
    ///
    /// # Panics
    ///
    /// When the embedded file is broken, which [`Catalogue::try_v1`] tells without a panic.
    #[must_use]
    pub fn v1() -> &'static Self {
        Self::try_v1().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The embedded catalogue of protocol version 1, unless the file is broken.
    ///
    /// # Errors
    ///
    /// The first problem of the file, with its place.
    pub fn try_v1() -> Result<&'static Self, &'static str> {
        static V1: LazyLock<Result<Catalogue, String>> = LazyLock::new(|| {
            Catalogue::parse(V1_SOURCE).map_err(|error| format!("cases/requirements/v1.yaml: {error}"))
        });
        V1.as_ref().map_err(String::as_str)
    }

    /// Reads a catalogue.
    ///
    /// # Errors
    ///
    /// The first problem of the file, with its place, or a doubled id.
    pub fn parse(yaml: &str) -> Result<Self, String> {
        let entries: Vec<Requirement> = serde_saphyr::from_str(yaml).map_err(|e| e.to_string())?;
        let mut by_id = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            if by_id.insert(entry.id.clone(), index).is_some() {
                return Err(format!("the id `{}` stands twice", entry.id));
            }
        }
        Ok(Self { entries, by_id })
    }

    /// The requirement with this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Requirement> {
        self.by_id.get(id).map(|&index| &self.entries[index])
    }

    /// Every requirement, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Requirement> {
        self.entries.iter()
    }
}
