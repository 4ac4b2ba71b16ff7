//! A session as the client knows it: its turns, tool calls, modes and options.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::exchange::Exchange;
use super::model_log::ModelLog;
use super::permission::{Decision, Permission};
use super::turn_log::{Refused, TurnLog};
use super::work::Work;
use crate::conversation::outcome::Outcome;
use crate::wire::{Members, push_text};

/// The request by which the client knows a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Opening {
    /// The result of `session/new`.
    #[default]
    New,
    /// The client's own `session/load`.
    Load,
    /// The client's own `session/resume`.
    Resume,
}

impl Opening {
    /// Returns the method that opens a session in this way.
    pub const fn method(self) -> &'static str {
        match self {
            Self::New => "session/new",
            Self::Load => "session/load",
            Self::Resume => "session/resume",
        }
    }
}

/// A session.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// The last way in which it was opened.
    pub opening: Opening,
    /// The event that made it known.
    pub known: usize,
    /// The working directory that the client gave.
    pub cwd: String,
    /// The additional roots that the client gave.
    pub roots: Vec<String>,
    /// The number of MCP servers that the client named for it.
    pub mcp_servers: usize,
    /// The event of the `session/load` request that is being answered.
    pub loading: Option<usize>,
    /// The event of the `session/resume` request that is being answered.
    pub resuming: Option<usize>,
    /// The running turn.
    pub turn: Option<Turn>,
    /// The end of the last turn.
    pub ended: Option<Ended>,
    /// The number of prompts.
    pub prompts: usize,
    /// Whether it has messages that a replay would show.
    pub has_history: bool,
    /// Its tool calls, by id.
    pub tools: BTreeMap<String, ToolCall>,
    /// The tool calls that were created since the last prompt, and are still known.
    pub new_tools: BTreeSet<String>,
    /// The tool calls that were known when the last `session/load` was sent, by id: the status of each, and the number
    /// of the prompt in whose turn it was created.
    pub earlier_tools: BTreeMap<String, (String, usize)>,
    /// The status of each reported compaction, by id.
    pub compactions: BTreeMap<String, String>,
    /// The last mode state: a `SessionModeState`.
    pub modes: Option<Value>,
    /// The mode in the first mode state.
    pub first_mode: Option<String>,
    /// The number of prompts when a load or a resume last reported the mode that the client knew.
    pub mode_kept: Option<usize>,
    /// The number of prompts when a load or a resume last reported the option values that the client knew.
    pub options_kept: Option<usize>,
    /// The event of the last list of commands.
    pub commands: Option<usize>,
    /// The event at which it was loaded or resumed, as long as no list of commands followed although there was one
    /// before.
    pub commands_due: Option<usize>,
    /// The last list of config options.
    pub options: Option<Vec<Value>>,
    /// Options and their values that were missing from a later list: (option, value), with the event of that list. The
    /// option itself has no value here.
    pub dropped: BTreeMap<(String, Option<String>), usize>,
    /// Whether the client answered a request for permission with anything but an option that allows.
    pub has_denied: bool,
    /// The event of the first answer of the client that selected an option of a request for permission.
    pub selected: Option<usize>,
    /// The user of each message id: id, with update variant and number of the prompt.
    pub message_ids: HashMap<String, (String, usize)>,
    /// The variant and message id of the last chunk.
    pub last_chunk: Option<(String, Option<String>)>,
    /// Message ids after which another one was used.
    pub finished_messages: BTreeSet<String>,
    /// The event of the answer to a `session/close` that succeeded.
    pub closed: Option<usize>,
    /// The time of that answer, in microseconds since the start of the trace.
    pub closed_us: Option<u64>,
    /// Whether it was ever closed or deleted.
    pub was_ended: bool,
    /// Whether a `session/delete` succeeded. Later loads and the state of an active session are
    /// implementation-defined.
    pub deleted: bool,
    /// The event of the last `session/cancel` while no turn ran.
    pub idle_cancel: Option<usize>,
    /// The text of the turns so far, in order, including the prompts: (variant, text).
    pub spoken: Vec<(String, String)>,
    /// Whether the history may be incomplete: a turn did not run to its natural end, the agent compacted the history,
    /// or requests that open the session overlapped.
    pub uneven: bool,
    /// The content of the replay of the last `session/load`, until the next prompt: (variant, text), with adjacent
    /// pieces of a variant joined.
    pub replay: Vec<(String, String)>,
    /// The tool calls of that replay, by id: the number of pieces of content before the first report of each.
    pub replayed_tools: BTreeMap<String, usize>,
    /// The way in which it was opened again, with the event of the answer, as long as no prompt followed.
    pub reopened: Option<(Opening, usize)>,
    /// Whether it was ever loaded or resumed.
    pub was_reopened: bool,
    /// Whether it had a turn after that.
    pub had_turn_since: bool,
    /// Whether the last attempt to load or resume it failed.
    pub reopening_failed: bool,
    /// The mode that the client set last, as a mode or by an option, as long as no update concerned either.
    pub chosen_mode: Option<String>,
    /// Whether the client ever changed its mode or an option.
    pub was_set: bool,
    /// Whether a turn ended with a stop reason before any such change.
    pub served_unset: bool,
    /// The last mode that the client set, as long as no other message concerned the mode.
    pub mode_set: Option<ModeSet>,
    /// What the agent reported about its work; empty in version 1.
    pub work: Work,
    /// What the agent asked the scripted model for it.
    pub model: ModelLog,
    /// The log of the running turn, or of the last one since the session was opened.
    pub log: Option<TurnLog>,
    /// The client's last request about the session other than a prompt, since it was opened.
    pub asked: Option<usize>,
    /// The last prompt that was refused although no turn came before it.
    pub refused: Option<Refused>,
}

/// A mode that the client set.
#[derive(Debug, Clone)]
pub struct ModeSet {
    /// The event of the answer.
    pub n: usize,
    /// The time of the answer, in microseconds.
    pub us: u64,
    /// The new mode.
    pub mode: String,
    /// The previous mode.
    pub before: String,
    /// Whether the client had just set another one, and the agent may still report that.
    pub after_another: bool,
}

/// The most entries in [`Session::spoken`]: enough for every case, and constant for long recordings.
const MOST_SPOKEN: usize = 4096;

impl Session {
    /// Returns whether another prompt than the one of this event is open, or overlapped with it.
    pub fn has_other_prompt(&self, n: usize) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.overlapped || turn.n != n)
    }

    /// Creates a session that has just become known.
    pub fn new(opening: Opening, known: usize, params: &Value) -> Self {
        let text = |name: &str| params.text(name).unwrap_or_default().to_owned();
        let roots = params.member("additionalDirectories").and_then(Value::as_array);
        let roots = roots.into_iter().flatten().filter_map(|root| Some(root.as_str()?.to_owned())).collect();
        Self {
            opening,
            known,
            cwd: text("cwd"),
            roots,
            mcp_servers: params.member("mcpServers").and_then(Value::as_array).map_or(0, Vec::len),
            ..Self::default()
        }
    }

    /// Whether it is open for the client: it was created here, or a request to load or resume it succeeded.
    pub fn is_introduced(&self) -> bool {
        self.opening == Opening::New || self.was_reopened
    }

    /// Whether `id` is one of the modes that the agent listed.
    pub fn lists_mode(&self, id: &str) -> bool {
        let modes = self.modes.as_ref().and_then(|modes| modes.member("availableModes")).and_then(Value::as_array);
        modes.into_iter().flatten().any(|mode| mode.text("id") == Some(id))
    }

    /// Returns the current mode, as far as the client knows.
    pub fn mode(&self) -> Option<&str> {
        self.modes.as_ref()?.member("currentModeId")?.as_str()
    }

    /// Returns the tool call with this id; the event `n` creates it if it is unknown.
    pub(super) fn tool(&mut self, n: usize, id: &str) -> &mut ToolCall {
        let (prompts, created) = (self.prompts, &mut self.new_tools);
        self.tools.entry(id.to_owned()).or_insert_with(|| {
            created.insert(id.to_owned());
            ToolCall::unannounced(n, prompts)
        })
    }

    /// Returns the tool calls of the current prompt, or of the last one, by id.
    pub fn tools_of_prompt(&self) -> impl Iterator<Item = (&String, &ToolCall)> {
        let known = self.new_tools.iter().filter_map(|id| Some((id, self.tools.get(id)?)));
        known.filter(|(_, tool)| tool.turn == self.prompts)
    }

    /// Records an interruption of the agent's text, so that the next piece starts a new line.
    pub(super) fn pause(&mut self) {
        if let Some((variant, text)) = self.spoken.last_mut()
            && variant == "agent_message_chunk"
            && !text.ends_with('\n')
        {
            text.push('\n');
        }
    }

    /// Records a prompt, which is a message of its own even if no other text was in between.
    pub(super) fn say_prompt(&mut self, text: String) {
        self.has_history = true;
        if self.spoken.len() < MOST_SPOKEN {
            self.spoken.push(("user_message_chunk".to_owned(), text));
        }
    }

    /// Records a piece of text that belongs to the history of the session.
    pub(super) fn say(&mut self, variant: &str, text: &str) {
        self.has_history = true;
        let room = self.spoken.len() < MOST_SPOKEN;
        match self.spoken.last_mut() {
            Some((last, all)) if last == variant => push_text(all, text),
            _ if room => self.spoken.push((variant.to_owned(), text.to_owned())),
            _ => {}
        }
    }

    /// Returns the log of the turn that has not ended.
    pub(super) fn running_log(&mut self) -> Option<&mut TurnLog> {
        self.log.as_mut().filter(|log| log.ended.is_none())
    }

    pub(super) fn log_answer(&mut self, now: (usize, u64), exchange: &Exchange, outcome: Outcome<'_>) {
        let Some(log) = self.log.as_mut() else { return };
        if !log.unanswered.remove(&exchange.n) || !log.unanswered.is_empty() {
            return;
        }
        log.ended = Some(now);
        log.failed = matches!(outcome, Outcome::Error(_));
        log.gave_up = matches!(outcome, Outcome::Result(result) if result.text("stopReason") == Some("cancelled"));
        self.refused = match outcome {
            Outcome::Error(error) if log.after.is_none() && log.disturbed.is_none() && !exchange.deliberate => {
                let (params, error) = (exchange.params.clone(), error.clone());
                Some(Refused { n: now.0, params, error, acted: log.acted })
            }
            _ => None,
        };
    }
}

/// An error with which the client answered a request of the agent.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The event of the answer.
    pub n: usize,
    /// The time of the answer, in microseconds since the start of the trace.
    pub us: u64,
    /// The method of the request.
    pub method: String,
    /// The code of the error.
    pub code: Option<i64>,
    /// The client's message.
    pub message: String,
}

/// A turn, from its prompt to its answer.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The event of the prompt.
    pub n: usize,
    /// The number of the prompt in its session, from 1.
    pub number: usize,
    /// The events of its prompts without an answer: its own, and later ones that came while it ran. The turn lasts
    /// until all of them are answered, since later events may belong to any of them.
    pub unanswered: BTreeSet<usize>,
    /// Whether another prompt came while it ran.
    pub overlapped: bool,
    /// The last of its prompts that was answered with a result while an earlier or a later one had no answer.
    pub answered: Option<usize>,
    /// The event of the `session/cancel`.
    pub cancelled: Option<usize>,
    /// The event of a `session/close` during the turn.
    pub closed: Option<usize>,
    /// The event of a permission answer with outcome `cancelled`.
    pub permission_cancelled: Option<usize>,
    /// The event of a permission answer that neither allows nor cancels.
    pub permission_refused: Option<usize>,
    /// The event of the first update that is content of the turn and not an echo of the prompt.
    pub first_output: Option<usize>,
    /// Whether the agent wrote a message.
    pub wrote_message: bool,
    /// The tool calls that were reported in it.
    pub tools: BTreeSet<String>,
    /// The way in which the session was reopened directly before the turn.
    pub after: Option<Opening>,
    /// The errors with which the client answered requests of the agent.
    pub refused: Vec<Refusal>,
    /// The event of the first answer of the client with `_meta`.
    pub meta_answer: Option<usize>,
    /// The event at which another session was closed.
    pub other_closed: Option<usize>,
    /// The event of the first update with content of a turn that named a session which had no prompt meanwhile.
    pub strayed: Option<usize>,
}

impl Turn {
    /// Records the answer to one of several prompts.
    pub(super) fn note_answer(&mut self, prompt: usize, outcome: Outcome<'_>) {
        if matches!(outcome, Outcome::Result(_)) {
            self.answered = self.answered.max(Some(prompt));
        }
    }

    pub(super) const fn note_permission(&mut self, n: usize, decision: Decision) {
        match decision {
            Decision::Allowed => {}
            Decision::Cancelled => self.permission_cancelled = Some(n),
            Decision::Rejected | Decision::Other => self.permission_refused = Some(n),
        }
    }
}

/// The end of a turn.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The event of the prompt.
    pub prompt: usize,
    /// The event of the answer.
    pub n: usize,
    /// The stop reason; `None` after an error.
    pub reason: Option<String>,
    /// The event of the `session/cancel` during the turn.
    pub cancelled: Option<usize>,
}

/// A tool call as the agent reported it.
#[derive(Debug, Clone, Default)]
pub struct ToolCall {
    /// The event that created it.
    pub n: usize,
    /// Whether a `tool_call` created it; otherwise only a permission request named it.
    pub announced: bool,
    /// Its title; empty before one was given.
    pub title: String,
    /// Its status; `pending` before one was given.
    pub status: String,
    /// Whether a report gave a status.
    pub has_status: bool,
    /// Whether a report ever gave the status `in_progress`.
    pub was_in_progress: bool,
    /// Its kind, once one was given.
    pub kind: Option<String>,
    /// Whether an update reported it since the session was opened; otherwise only a permission request named it.
    pub reported: bool,
    /// The number of the prompt in whose turn it was created.
    pub turn: usize,
    /// Every path in its locations, diffs or raw input.
    pub paths: BTreeSet<String>,
    /// The permission requests about it, open or answered.
    pub permissions: Vec<Permission>,
}

/// Whether a tool call with this status has finished.
pub fn is_final(status: &str) -> bool {
    matches!(status, "completed" | "failed")
}

impl ToolCall {
    fn unannounced(n: usize, turn: usize) -> Self {
        Self { n, turn, status: "pending".to_owned(), ..Self::default() }
    }

    /// Whether it was reported as finished.
    pub fn is_final(&self) -> bool {
        is_final(&self.status)
    }

    /// Whether the client allowed it in every request about it.
    pub fn is_allowed(&self) -> bool {
        self.permissions.iter().all(|permission| matches!(permission.answer, Some((_, Decision::Allowed))))
    }
}
