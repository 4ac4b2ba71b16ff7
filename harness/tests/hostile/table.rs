//! The table of the subjects: the behaviour of each, and the expected verdict.

use std::collections::BTreeSet;
use std::time::Duration;

use acp_conformance::requirement::Party;
use acp_conformance::run::Limits;
use serde::Deserialize;

/// A limit that ends a wait without another cause.
const SHORT: Duration = Duration::from_secs(2);

/// Long enough for any machine; subjects that let the harness wait get a shorter one.
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
    /// The hostile behaviour, as the rest of "an agent that …".
    pub that: String,
    /// The stage of the behaviour.
    pub at: Stage,
    /// The word for the behaviour; see `actions.rs`.
    pub does: String,
    /// The case, if it differs from the usual one.
    pub case: Option<String>,
    /// The limit that ends the wait for it, if one does.
    pub waits: Option<Wait>,
    /// The verdict on the case.
    pub verdict: String,
    /// Words of the message to the user.
    #[serde(default)]
    pub says: String,
    /// The requirements that fail, all of them.
    #[serde(default)]
    pub failed: BTreeSet<String>,
    /// Whether its leftovers are found only at the end of the whole run.
    #[serde(default)]
    pub hides: bool,
    /// The most memory of the harness for it, in MiB.
    #[serde(default = "usual_memory")]
    pub memory: u64,
    /// Set from the section of the table.
    #[serde(skip)]
    party: Option<Party>,
}

fn usual_memory() -> u64 {
    128
}

/// The progress of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// No message was read or written; a client has not started its agent.
    Start,
    /// A client has started its agent.
    Started,
    /// `initialize` is answered.
    Initialized,
    /// A session is open.
    Session,
    /// A turn is running; in it, a client is asked for permission.
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
    /// Returns its party.
    pub fn party(&self) -> Party {
        self.party.unwrap_or(Party::Agent)
    }

    /// Returns its name among the tests.
    pub fn title(&self) -> String {
        format!("an {} that {}", self.party(), self.that).replace("an client", "a client")
    }

    /// Returns its time limits.
    pub fn limits(&self) -> Limits {
        match self.waits {
            Some(Wait::Start) => Limits { start: SHORT, ..PATIENT },
            Some(Wait::Answer) => Limits { answer: SHORT, ..PATIENT },
            Some(Wait::Turn) => Limits { turn: SHORT, ..PATIENT },
            None => PATIENT,
        }
    }
}

/// Returns all of them, in the order of the table.
pub fn all() -> Vec<Row> {
    let table: Table = toml::from_str(include_str!("subjects.toml")).expect("the table is whole");
    let of = |party, rows: Vec<Row>| rows.into_iter().map(move |row| Row { party: Some(party), ..row });
    of(Party::Agent, table.agent).chain(of(Party::Client, table.client)).collect()
}

/// Returns the one with this name.
pub fn find(party: &str, that: &str) -> Row {
    let mut rows = all().into_iter();
    rows.find(|row| row.that == that && row.party().to_string() == party).expect("a row of the table")
}
