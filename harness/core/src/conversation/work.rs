//! The work of a session in version 2: its state, what runs in the background, and the messages by their ids.
//!
//! Version 1 lacks these updates, so this stays empty there.

use std::collections::BTreeMap;

use serde_json::Value;

use super::history::{History, message_of};
use super::{Conversation, Exchange};
use crate::conversation::outcome::Outcome;
use crate::protocol::Update;
use crate::requirement::Party;
use crate::wire::Members;

/// The bound on the ids of each kind that are remembered.
const MOST_IDS: usize = 4096;

/// The bound on the bytes of a reply.
const MOST_REPLY: usize = 4096;

/// What the agent reported about the work of a session.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// The last state: `running`, `idle`, `requires_action` or one with an underscore.
    pub state: Option<String>,
    /// The event of the last state update.
    pub state_at: usize,
    /// The begin of the work that the agent reported last: its event and time.
    pub begun: Option<(usize, u64)>,
    /// The last list of background work, with its event; none as long as the agent did not report one.
    pub background: Option<(usize, Vec<Value>)>,
    /// The tool calls, by id.
    pub tools: BTreeMap<String, Activity>,
    /// The terminals, by id.
    pub terminals: BTreeMap<String, Activity>,
    /// The user messages that the agent reported, by id: the event and time of the first report.
    pub user_messages: BTreeMap<String, (usize, u64)>,
    /// The prompts that the agent accepted: the event of the response and the id of the message.
    pub accepted: Vec<(usize, String)>,
    /// The messages that an update on this connection showed, with the event of the first one.
    pub shown: BTreeMap<(String, String), usize>,
    /// The first message, thought or tool call of the agent since the last state update: its event and time.
    pub output: Option<(usize, u64)>,
    /// The last update of the session: its event and time.
    pub updated: (usize, u64),
    /// The text of the agent's messages since its work began, up to a limit.
    pub reply: String,
    /// How the client asked for the end of the work that runs, until the agent is idle.
    pub ending: Option<Ending>,
    /// Whether the client asked for the end of work since the last work ended, before the agent reported that it works.
    /// That may end the work on a prompt that the client sent before.
    pub was_ended_early: bool,
    /// The event of the last cancel of work, and whether the agent has reported the end of that work.
    pub last_cancel: Option<(usize, bool)>,
    /// The last answer of the client by which the agent had no open question any more, since it reported
    /// `requires_action`.
    pub settled: Option<usize>,
    /// The tool call that this answer was about.
    pub settled_tool: Option<String>,
    /// The report after that answer that this tool call runs or is completed.
    pub resumed: Option<usize>,
    /// The last prompt that the client sent while the agent worked on another one.
    pub waiting: Option<Waiting>,
    /// What single checks remember.
    pub history: History,
    /// Whether something was too much to remember.
    pub overflown: bool,
}

/// A tool call or a terminal.
#[derive(Debug, Clone, Default)]
pub struct Activity {
    /// The event that first reported it.
    pub n: usize,
    /// Whether it has a final status or an exit status.
    pub is_over: bool,
    /// Whether a tool call has another status than `pending`.
    pub has_begun: bool,
    /// The command that a terminal shows.
    pub command: Option<String>,
    /// The event that reported the end.
    pub ended: Option<usize>,
}

/// A `session/cancel` or `session/close` while the session was at work.
#[derive(Debug, Clone)]
pub struct Ending {
    /// The event of the message.
    pub n: usize,
    /// The time of the message, and how much had been read then.
    pub since: (u64, u64),
    /// The kind of message.
    pub by: EndedBy,
    /// The questions of the agent that waited for the user then.
    pub questions: Vec<usize>,
    /// The tool calls that were in progress then.
    pub tools: Vec<String>,
}

/// A prompt that the client sent while the agent worked on another one.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// The event of the prompt.
    pub n: usize,
    /// Whether the agent had read it before that work ended, and had not answered it then: a fence shows it.
    pub is_held: bool,
}

/// The message that asks for the end of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// `session/cancel`.
    Cancel,
    /// `session/close`.
    Close,
}

impl Work {
    /// Reads an update of the session.
    pub(super) fn learn(&mut self, (n, us): (usize, u64), update: &Update<'_>) {
        self.updated = (n, us);
        match update.variant {
            "state_update" => {
                if let Some(state) = update.body.text("state") {
                    // A custom state describes the work further, and neither begins nor ends it.
                    if state.starts_with('_') {
                        self.history.custom = self.history.custom.or(Some(n));
                    } else {
                        self.learn_state((n, us), state, update.body.text("stopReason"));
                    }
                }
                if let Some(list) = update.body.member("background").and_then(Value::as_array) {
                    self.background = Some((n, list.clone()));
                }
            }
            "tool_call_update" => {
                let is_settled =
                    self.settled_tool.is_some() && update.body.text("toolCallId") == self.settled_tool.as_deref();
                if is_settled && matches!(update.body.text("status"), Some("in_progress" | "completed")) {
                    self.resumed = self.resumed.or(Some(n));
                }
                let tool =
                    update.body.text("toolCallId").and_then(|id| entry(&mut self.tools, id, n, &mut self.overflown));
                if let (Some(tool), Some(status)) = (tool, update.body.member("status")) {
                    tool.is_over = matches!(status.as_str(), Some("completed" | "failed" | "cancelled"));
                    tool.ended = tool.is_over.then_some(n);
                    tool.has_begun = status.as_str().is_some_and(|status| status != "pending");
                }
            }
            "terminal_update" => {
                let terminal = update
                    .body
                    .text("terminalId")
                    .and_then(|id| entry(&mut self.terminals, id, n, &mut self.overflown));
                if let Some(terminal) = terminal {
                    if let Some(status) = update.body.member("exitStatus") {
                        terminal.is_over = status.is_object();
                        terminal.ended = terminal.is_over.then_some(n);
                    }
                    if let Some(command) = update.body.text("command") {
                        terminal.command = Some(command.to_owned());
                    }
                }
            }
            _ => {}
        }
        if is_output(update.variant) {
            self.output = self.output.or(Some((n, us)));
            self.learn_reply(update);
        }
        let Some((kind, id)) = message_of(update) else { return };
        if kind == "user_message" {
            if self.user_messages.len() < MOST_IDS {
                self.user_messages.entry(id.to_owned()).or_insert((n, us));
            } else {
                self.overflown = true;
            }
        }
        if self.shown.len() < MOST_IDS {
            self.shown.entry((kind.to_owned(), id.to_owned())).or_insert(n);
        } else {
            self.overflown = true;
        }
    }

    /// Returns whether the agent is at work: it reported `running` or `requires_action` last.
    pub fn is_active(&self) -> bool {
        matches!(self.state.as_deref(), Some("running" | "requires_action"))
    }

    /// Returns whether the client may have asked for the end of this work.
    pub fn may_be_ended(&self) -> bool {
        self.ending.is_some() || self.was_ended_early
    }

    fn learn_state(&mut self, (n, us): (usize, u64), state: &str, reason: Option<&str>) {
        let begins = !self.is_active() && matches!(state, "running" | "requires_action");
        if begins {
            self.begun = Some((n, us));
            self.reply.clear();
        }
        let is_cancel = reason == Some("cancelled") && self.ending.is_some() && state == "idle";
        let cancelled = self.begun.map(|(begun, _)| begun).filter(|_| is_cancel);
        self.history.learn_state(n, state, begins, cancelled);
        if state == "idle" && self.is_active() {
            self.history.stopped = reason.map(|reason| (n, reason.to_owned()));
        }
        if state == "idle" {
            self.last_cancel = self.last_cancel.map(|(cancel, _)| (cancel, true));
            self.ending = None;
            // An agent may repeat that it is idle before it takes the prompt.
            self.was_ended_early &= !self.is_active();
        }
        self.state = Some(state.to_owned());
        self.state_at = n;
        (self.output, self.settled, self.settled_tool, self.resumed) = (None, None, None, None);
    }

    fn learn_reply(&mut self, update: &Update<'_>) {
        let Some(content) = update.body.member("content").filter(|_| update.variant.starts_with("agent_message"))
        else {
            return;
        };
        let blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
        for text in blocks.iter().filter_map(|block| block.text("text")) {
            if self.reply.len() + text.len() <= MOST_REPLY {
                self.reply.push_str(text);
            }
        }
    }

    /// Reads a request of the client to end the work; the first one counts. `is_open` if a prompt has no answer yet.
    pub(super) fn learn_ending(&mut self, ending: Ending, is_open: bool) {
        if !self.is_active() {
            let is_waiting = is_open || self.accepted.last().is_some_and(|(n, _)| *n > self.state_at);
            let is_idle = self.state.as_deref() == Some("idle") && !is_waiting && !self.was_ended_early;
            match ending.by {
                // It finds nothing to end.
                EndedBy::Cancel if is_idle => self.last_cancel = Some((ending.n, true)),
                _ => self.was_ended_early = true,
            }
            return;
        }
        if ending.by == EndedBy::Cancel {
            self.last_cancel = Some((ending.n, false));
        }
        self.ending.get_or_insert(ending);
    }

    /// Reads an answer of the client to a question of the session; `still_open` if another one is open.
    pub(super) fn learn_answer(&mut self, n: usize, question: &Value, still_open: bool) {
        if self.state.as_deref() == Some("requires_action") && !still_open {
            let subject = question.member("subject");
            let call = subject.map_or(question, |subject| subject.member("toolCall").unwrap_or(subject));
            let id = call.text("toolCallId");
            (self.settled, self.settled_tool, self.resumed) = (Some(n), id.map(str::to_owned), None);
            self.output = None;
        }
    }

    pub(super) fn begin_prompt(&mut self, n: usize) {
        self.history.begin_prompt();
        self.waiting = self.is_active().then_some(Waiting { n, is_held: false });
    }

    /// Reads an answered fence.
    pub(super) fn learn_fence(&mut self) {
        let (is_active, begun) = (self.is_active(), self.begun);
        if let Some(waiting) = &mut self.waiting {
            // Work that began later is that on the prompt itself.
            waiting.is_held |= is_active && begun.is_some_and(|(begun, _)| begun < waiting.n);
        }
    }

    /// Whether the agent had this prompt wait for the end of other work.
    pub fn held(&self, prompt: usize) -> bool {
        self.waiting.is_some_and(|waiting| waiting.n == prompt && waiting.is_held)
    }

    /// Reads the response to a prompt.
    pub(super) fn learn_receipt(&mut self, n: usize, prompt: &Exchange, outcome: Outcome<'_>) {
        let Outcome::Result(result) = outcome else { return self.history.learn_refused(n, &prompt.params) };
        let Some(id) = result.text("messageId") else { return };
        if self.accepted.len() < MOST_IDS {
            self.accepted.push((n, id.to_owned()));
        } else {
            self.overflown = true;
        }
    }

    /// Processes a request to resume the session, which may be active.
    pub(super) fn begin_resume(&mut self, is_active: bool) {
        self.history.begin_prompt();
        self.ending = None;
        // Closing ends the background work.
        self.background = self.background.take().filter(|_| is_active);
    }
}

impl Conversation {
    /// Records that the client asks for the end of the work in a session.
    pub(super) fn note_ending(&mut self, (n, us): (usize, u64), by: EndedBy, params: &Value) {
        let Some(id) = params.text("sessionId") else { return };
        let questions =
            self.open_of(Party::Agent).filter(|open| open.session() == Some(id) && is_question(&open.method));
        let questions = questions.map(|open| open.n).collect();
        let since = (us, self.heard);
        let is_open =
            self.open_of(Party::Client).any(|open| open.method == "session/prompt" && open.session() == Some(id));
        if let Some(session) = self.sessions.get_mut(id) {
            let running = session.tools.iter().filter(|(_, tool)| tool.status == "in_progress");
            let tools = running.map(|(id, _)| id.clone()).collect();
            session.work.learn_ending(Ending { n, since, by, questions, tools }, is_open);
        }
    }

    /// Records an answer of the client to a question of the agent.
    pub(super) fn note_question_answer(&mut self, n: usize, exchange: &Exchange, outcome: Outcome<'_>) {
        let Some(id) = exchange.session().filter(|_| is_question(&exchange.method)) else { return };
        let still_open = self.open_of(Party::Agent).any(|open| open.session() == Some(id) && is_question(&open.method));
        if let Some(session) = self.sessions.get_mut(id) {
            session.work.learn_answer(n, &exchange.params, still_open);
            // A tool that asks by a form is completed without more work if the user does not fill it in.
            let is_filled_in = matches!(outcome, Outcome::Result(result) if result.text("action") == Some("accept"));
            if exchange.method != "session/request_permission" && !is_filled_in {
                session.work.settled_tool = None;
            }
        }
    }
}

/// Whether a request of the agent waits for the user.
fn is_question(method: &str) -> bool {
    matches!(method, "session/request_permission" | "elicitation/create")
}

/// Whether an update shows that the agent works on something: a message, a thought, a tool call or a plan.
fn is_output(variant: &str) -> bool {
    matches!(
        variant,
        "agent_message"
            | "agent_message_chunk"
            | "agent_thought"
            | "agent_thought_chunk"
            | "tool_call_update"
            | "tool_call_content_chunk"
            | "plan_update"
    )
}

/// Whether the params of a resume ask for a replay.
pub fn asks_replay(params: &Value) -> bool {
    params.member("replayFrom").is_some_and(|from| !from.is_null())
}

fn entry<'m>(
    map: &'m mut BTreeMap<String, Activity>,
    id: &str,
    n: usize,
    overflown: &mut bool,
) -> Option<&'m mut Activity> {
    if map.len() >= MOST_IDS && !map.contains_key(id) {
        *overflown = true;
        return None;
    }
    Some(map.entry(id.to_owned()).or_insert_with(|| Activity { n, ..Activity::default() }))
}
