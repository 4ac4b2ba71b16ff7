//! The table of the subjects: what each does, and what has to be said of it.

use std::collections::BTreeSet;
use std::time::Duration;

use acp_conformance::requirement::Party;
use acp_conformance::run::Limits;
use serde::Deserialize;

/// A limit that ends a wait by itself, where nothing else does.
const SHORT: Duration = Duration::from_secs(2);

/// Long enough for any machine; whoever has to be waited for gets a shorter one.
const PATIENT: Limits = Limits {
    start: Duration::from_secs(240),
    answer: Duration::from_secs(240),
    turn: Duration::from_secs(240),
    exit: Duration::from_millis(500),
};

/// One subject.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What is hostile about it, as the rest of "an agent that …".
    pub that: String,
    /// When it does it.
    pub at: Stage,
    /// What it does; see `deeds.rs`.
    pub does: String,
    /// The case in which it is met, where it is not that of all.
    pub case: Option<String>,
    /// The limit that ends the wait for it, if one does.
    pub waits: Option<Wait>,
    /// The verdict on the case.
    pub verdict: String,
    /// Words of what the user is told.
    #[serde(default)]
    pub says: String,
    /// The requirements that it is accused of, all of them.
    #[serde(default)]
    pub accused: BTreeSet<String>,
    /// Whether what it leaves is found only when the whole run ends.
    #[serde(default)]
    pub hides: bool,
    /// The most memory that the harness may take for it, in MiB.
    #[serde(default = "usual_memory")]
    pub memory: u64,
    /// Filled in by the part of the table.
    #[serde(skip)]
    party: Option<Party>,
}

fn usual_memory() -> u64 {
    128
}

/// How far the conversation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Nothing was read or written; a client has not started its agent.
    Start,
    /// A client has started its agent.
    Started,
    /// `initialize` is answered.
    Initialized,
    /// A session is open.
    Session,
    /// A turn goes on; a client is asked for permission in it.
    Turn,
    /// The turn is cancelled.
    Cancel,
    /// The agent's input has ended, or the turn of a client.
    End,
}

/// A limit of a run.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    Start,
    Answer,
    Turn,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    agent: Vec<Row>,
    client: Vec<Row>,
}

impl Row {
    /// What it is.
    pub fn party(&self) -> Party {
        self.party.unwrap_or(Party::Agent)
    }

    /// Its name among the tests.
    pub fn title(&self) -> String {
        format!("an {} that {}", self.party(), self.that).replace("an client", "a client")
    }

    /// The limits under which it is met.
    pub fn limits(&self) -> Limits {
        match self.waits {
            Some(Wait::Start) => Limits { start: SHORT, ..PATIENT },
            Some(Wait::Answer) => Limits { answer: SHORT, ..PATIENT },
            Some(Wait::Turn) => Limits { turn: SHORT, ..PATIENT },
            None => PATIENT,
        }
    }
}

/// All of them, in the order of the table.
pub fn all() -> Vec<Row> {
    let table: Table = toml::from_str(include_str!("subjects.toml")).expect("the table is whole");
    let of = |party, rows: Vec<Row>| rows.into_iter().map(move |row| Row { party: Some(party), ..row });
    of(Party::Agent, table.agent).chain(of(Party::Client, table.client)).collect()
}

/// The one of this name.
pub fn find(party: &str, that: &str) -> Row {
    let mut rows = all().into_iter();
    rows.find(|row| row.that == that && row.party().to_string() == party).expect("a row of the table")
}
