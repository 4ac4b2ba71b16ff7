//! The work of a session in version 2: its state, what runs in the background, and the messages by their ids.
//!
//! Version 1 lacks these updates, so this stays empty there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Exchange;
use crate::judge::outcome::Outcome;
use crate::protocol::Update;
use crate::wire::Members;

/// The bound on the ids of each kind that are remembered.
const MOST_IDS: usize = 4096;

/// What the agent reported about the work of a session.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// The last state: `running`, `idle`, `requires_action` or one with an underscore.
    pub state: Option<String>,
    /// The event of the last state update.
    pub state_at: usize,
    /// The last list of background work, with its event; none as long as the agent did not report one.
    pub background: Option<(usize, Vec<Value>)>,
    /// The tool calls, by id.
    pub tools: BTreeMap<String, Activity>,
    /// The terminals, by id.
    pub terminals: BTreeMap<String, Activity>,
    /// The user messages that the agent reported, by id: the event of the first report.
    pub user_messages: BTreeMap<String, usize>,
    /// The prompts that the agent accepted: the event of the response and the id of the message.
    pub accepted: Vec<(usize, String)>,
    /// The messages that a whole update opened since the session was last resumed.
    pub opened: BTreeSet<(String, String)>,
    /// Whether something was too much to remember.
    pub overflown: bool,
}

/// A tool call or a terminal.
#[derive(Debug, Clone, Default)]
pub struct Activity {
    /// Whether it has a final status or an exit status.
    pub is_over: bool,
    /// Whether it advertises `cancel` now.
    pub cancellable: bool,
    /// Whether it ever advertised `cancel`.
    pub was_cancellable: bool,
}

impl Activity {
    /// Reads the capabilities of an update; null and an object without `cancel` withdraw it.
    fn learn_capabilities(&mut self, body: &Value) {
        if let Some(capabilities) = body.member("capabilities") {
            self.cancellable = capabilities.member("cancel").is_some_and(Value::is_object);
            self.was_cancellable |= self.cancellable;
        }
    }
}

/// The message that an update is about: its kind without `_chunk`, and its id.
pub fn message_of<'v>(update: &Update<'v>) -> Option<(&'v str, &'v str)> {
    let kind = update.variant.strip_suffix("_chunk").unwrap_or(update.variant);
    let is_message = matches!(kind, "user_message" | "agent_message" | "agent_thought");
    Some((kind, update.body.member("messageId").and_then(Value::as_str).filter(|_| is_message)?))
}

impl Work {
    /// Reads an update of the session.
    pub(super) fn learn(&mut self, n: usize, update: &Update<'_>) {
        let text = |name: &str| update.body.member(name).and_then(Value::as_str);
        match update.variant {
            "state_update" => {
                if let Some(state) = text("state") {
                    self.state = Some(state.to_owned());
                    self.state_at = n;
                }
                if let Some(list) = update.body.member("background").and_then(Value::as_array) {
                    self.background = Some((n, list.clone()));
                }
            }
            "tool_call_update" => {
                if let Some(tool) = text("toolCallId").and_then(|id| entry(&mut self.tools, id, &mut self.overflown)) {
                    tool.learn_capabilities(update.body);
                    if let Some(status) = update.body.member("status") {
                        tool.is_over = matches!(status.as_str(), Some("completed" | "failed" | "cancelled"));
                    }
                }
            }
            "terminal_update" => {
                let terminal = text("terminalId").and_then(|id| entry(&mut self.terminals, id, &mut self.overflown));
                if let Some(terminal) = terminal {
                    terminal.learn_capabilities(update.body);
                    if let Some(status) = update.body.member("exitStatus") {
                        terminal.is_over = status.is_object();
                    }
                }
            }
            _ => {}
        }
        let Some((kind, id)) = message_of(update) else { return };
        if kind == "user_message" {
            if self.user_messages.len() < MOST_IDS {
                self.user_messages.entry(id.to_owned()).or_insert(n);
            } else {
                self.overflown = true;
            }
        }
        if update.variant == kind {
            if self.opened.len() < MOST_IDS {
                self.opened.insert((kind.to_owned(), id.to_owned()));
            } else {
                self.overflown = true;
            }
        }
    }

    /// Reads the response to a prompt.
    pub(super) fn learn_receipt(&mut self, n: usize, outcome: Outcome<'_>) {
        let Outcome::Result(result) = outcome else { return };
        let Some(id) = result.member("messageId").and_then(Value::as_str) else { return };
        if self.accepted.len() < MOST_IDS {
            self.accepted.push((n, id.to_owned()));
        } else {
            self.overflown = true;
        }
    }

    /// Processes a request to resume the session: its replay opens the messages again.
    pub(super) fn begin_resume(&mut self) {
        self.opened.clear();
        // What an agent reports after a resume need not go on with what it reported before.
        self.background = None;
    }
}

/// Whether a resume asks for a replay.
#[must_use]
pub fn asks_replay(exchange: &Exchange) -> bool {
    exchange.params.member("replayFrom").is_some_and(|from| !from.is_null())
}

fn entry<'m>(map: &'m mut BTreeMap<String, Activity>, id: &str, overflown: &mut bool) -> Option<&'m mut Activity> {
    if map.len() >= MOST_IDS && !map.contains_key(id) {
        *overflown = true;
        return None;
    }
    Some(map.entry(id.to_owned()).or_default())
}
