//! The sessions of a connection: their directories, settings and turns.

use std::{collections::HashMap, path::PathBuf};

use agent_client_protocol::{Error, RequestCancellationHandle, schema::MaybeUndefined};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use super::errors::{Trouble, invalid};

/// The turn of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Turn {
    #[default]
    Idle,
    /// A prompt was sent, and the agent has not reported work yet.
    Prompted,
    Running,
}

/// The settings of a session that the user can change.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub modes: Vec<String>,
    pub options: Vec<ConfigOption>,
}

impl Settings {
    /// Reads the result of a request that opens a session.
    pub(super) fn read(result: &Value, option_id: &str) -> Self {
        let modes = result["modes"]["availableModes"].as_array().into_iter().flatten();
        let modes = modes.filter_map(|mode| mode["id"].as_str().map(str::to_owned)).collect();
        Self { modes, options: ConfigOption::read_all(&result["configOptions"], option_id) }
    }
}

/// A config option.
#[derive(Debug, Clone)]
pub(super) struct ConfigOption {
    pub id: String,
    pub is_mode: bool,
    /// The ids of the values of a select option, or `None` for a boolean option.
    pub values: Option<Vec<String>>,
}

impl ConfigOption {
    /// Reads a list of options, which differs between the versions only in the name of the id; leaves out unknown
    /// types.
    pub(super) fn read_all(options: &Value, id: &str) -> Vec<Self> {
        let read = |option: &Value| {
            let values = match option["type"].as_str()? {
                "boolean" => None,
                "select" => Some(values(&option["options"])),
                _ => return None,
            };
            Some(Self { id: option[id].as_str()?.to_owned(), is_mode: option["category"] == "mode", values })
        };
        options.as_array().into_iter().flatten().filter_map(read).collect()
    }
}

/// Lists the values of a select option, also those in groups.
fn values(options: &Value) -> Vec<String> {
    let options = options.as_array().into_iter().flatten();
    let in_group = |option: &Value| match option["value"].as_str() {
        Some(value) => vec![value.to_owned()],
        None => values(&option["options"]),
    };
    options.flat_map(in_group).collect()
}

/// One session.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Its directory, once the session is open; updates may come before the result that opens it.
    pub cwd: Option<PathBuf>,
    /// The session that owns it, if it is that of a subagent.
    pub parent: Option<String>,
    pub settings: Settings,
    /// The names in the last list of slash commands; `None` before the first list.
    pub commands: Option<Vec<String>>,
    pub turn: Turn,
    /// The user stopped the turn.
    pub is_cancelling: bool,
    /// The user closes the session.
    pub is_closing: bool,
    /// The prompt without a response.
    pub prompt: Option<RequestCancellationHandle>,
    /// The messages of which chunks were printed.
    pub printed: Vec<String>,
    /// The tool calls that can be cancelled, the last offer last.
    pub tools: Vec<String>,
    /// The terminals that can be cancelled, the last offer last.
    pub terminals: Vec<String>,
}

impl Session {
    pub(super) fn end_turn(&mut self) {
        self.turn = Turn::Idle;
        self.is_cancelling = false;
        self.prompt = None;
    }

    /// Returns whether questions of the agent have no purpose any more.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_cancelling || self.is_closing
    }

    fn is_open(&self) -> bool {
        self.cwd.is_some()
    }
}

/// An entry in the agent's list of sessions.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    pub session_id: String,
    pub cwd: PathBuf,
    #[serde(default)]
    pub additional_directories: Vec<PathBuf>,
}

/// The sessions that this connection knows.
#[derive(Debug, Default)]
pub(super) struct Sessions(watch::Sender<Known>);

#[derive(Debug, Default)]
struct Known {
    sessions: HashMap<String, Session>,
    listed: HashMap<String, Listed>,
    current: Option<String>,
}

impl Known {
    /// Lists the open sessions with a turn.
    fn busy(&self) -> impl Iterator<Item = &String> {
        // The agent works in the sessions of subagents, and the user waits for its own.
        let is_users = |session: &Session| session.is_open() && session.parent.is_none();
        let is_busy = move |session: &Session| is_users(session) && session.turn != Turn::Idle;
        self.sessions.iter().filter(move |(_, session)| is_busy(session)).map(|(id, _)| id)
    }
}

impl Sessions {
    pub(super) fn read<T>(&self, id: &str, read: impl FnOnce(&Session) -> T) -> Option<T> {
        self.0.borrow().sessions.get(id).filter(|session| session.is_open()).map(read)
    }

    /// Changes a session, which may not be open yet.
    pub(super) fn change(&self, id: &str, change: impl FnOnce(&mut Session)) {
        self.0.send_modify(|known| change(known.sessions.entry(id.to_owned()).or_default()));
    }

    /// Registers the session of a subagent. Its directory is that of its parent as long as the agent reports none.
    pub(super) fn register(&self, parent: &str, id: &str, cwd: MaybeUndefined<PathBuf>) {
        let Some(inherited) = self.read(parent, |session| session.cwd.clone()).flatten() else { return };
        self.change(id, |session| {
            if session.is_open() && session.parent.is_none() {
                return;
            }
            session.parent = Some(parent.to_owned());
            session.cwd = match cwd {
                MaybeUndefined::Value(cwd) => Some(cwd),
                MaybeUndefined::Undefined if session.cwd.is_some() => return,
                _ => Some(inherited),
            };
        });
    }

    /// Lists the sessions of the subagents of a session.
    pub(super) fn subagents(&self, parent: &str) -> Vec<String> {
        let known = self.0.borrow();
        let is_child = |session: &Session| session.parent.as_deref() == Some(parent);
        known.sessions.iter().filter(|(_, session)| is_child(session)).map(|(id, _)| id.clone()).collect()
    }

    /// Replaces a session and returns the earlier one.
    pub(super) fn replace(&self, id: &str, session: Option<Session>) -> Option<Session> {
        let mut earlier = None;
        self.0.send_modify(|known| {
            earlier = known.sessions.remove(id);
            known.sessions.extend(session.map(|session| (id.to_owned(), session)));
        });
        earlier
    }

    /// Returns an error unless the session that a request of the agent names is open.
    pub(super) fn check(&self, id: &str) -> Result<(), Error> {
        self.read(id, |_| ()).ok_or_else(|| invalid("unknown session"))
    }

    /// Returns the session that the user works in.
    pub(super) fn current(&self) -> Result<String, Trouble> {
        let current = self.0.borrow().current.clone();
        current.filter(|id| self.check(id).is_ok()).ok_or_else(|| Trouble::refused("no session is open"))
    }

    pub(super) fn make_current(&self, id: &str) {
        self.0.send_modify(|known| known.current = Some(id.to_owned()));
    }

    /// Returns the latest entry about a session in the agent's list.
    pub(super) fn listed(&self, id: &str) -> Option<Listed> {
        self.0.borrow().listed.get(id).cloned()
    }

    pub(super) fn add_listed(&self, listed: Listed) {
        self.0.send_modify(|known| drop(known.listed.insert(listed.session_id.clone(), listed)));
    }

    /// Lists the open sessions with a turn.
    pub(super) fn busy(&self) -> Vec<String> {
        self.0.borrow().busy().cloned().collect()
    }

    /// Waits until a session has no turn, or all if none is given.
    pub(super) async fn idle(&self, id: Option<&str>) {
        let is_idle = |known: &Known| !known.busy().any(|busy| id.is_none_or(|id| id == busy));
        // This fails only without a sender, which lives as long as the client.
        let _ = self.0.subscribe().wait_for(is_idle).await;
    }
}
