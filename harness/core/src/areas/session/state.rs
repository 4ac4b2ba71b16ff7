//! The states of new sessions, and the options that they begin with and that the client sets.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{Answer, CallSeen, Conversation, Memory, ToolCall, UpdateSeen, current_values};
use crate::requirement::Party;
use crate::wire::Members;

/// What came before the answers that open sessions, and the options of all sessions.
#[derive(Debug, Default)]
pub struct State {
    /// By session: the last state that came before the answer that opens it, with its event.
    pub(super) early: BTreeMap<String, (usize, String)>,
    /// By session: its options.
    options: BySession<Options>,
    /// The permission requests for a tool call, in order, in version 2.
    pub(super) questions: Vec<Question>,
}

/// A permission request for a tool call.
#[derive(Debug)]
pub(super) struct Question {
    /// The event of the request.
    pub n: usize,
    /// The session and the tool call that it names.
    pub session: String,
    pub tool: String,
    /// Another session in which a tool call of this id and title runs, with the event that reported it first.
    pub running: Option<(String, usize)>,
}

/// The options of a session.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// The answer to `session/new`: its event, and the value of each option.
    pub begun: Option<(usize, BTreeMap<String, Value>)>,
    /// The options that the client set, as far as the agent accepted them.
    pub set: Vec<OptionSet>,
    /// The last answer to `session/resume`, as long as no update and no other answer lists the options.
    pub resumed: Option<Resumed>,
}

/// The options in the answer to `session/resume`.
#[derive(Debug)]
pub(super) struct Resumed {
    /// The event of the answer.
    pub n: usize,
    /// The number of prompts before it.
    pub prompts: usize,
    /// The value of each option.
    pub values: BTreeMap<String, Value>,
}

/// An option that the client set.
#[derive(Debug)]
pub(super) struct OptionSet {
    /// The event of the answer.
    pub n: usize,
    /// The id of the option.
    pub option: String,
    /// The new value.
    pub value: Value,
    /// The value of each option in the answer.
    pub values: BTreeMap<String, Value>,
}

/// The most sessions, and the most changes of the options of one, that are remembered.
const MOST: usize = 64;

impl State {
    /// Returns the options of a session.
    pub(super) fn options(&self, session: &str) -> Option<&Options> {
        self.options.get(session)
    }

    /// Returns the options of each session.
    pub(super) fn all_options(&self) -> impl Iterator<Item = (&str, &Options)> {
        self.options.iter()
    }

    /// Whether there may be permission requests that are not remembered.
    pub(super) fn has_more_questions(&self) -> bool {
        self.questions.len() == MOST
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        let is_question = event.from == Party::Agent && call.method == "session/request_permission";
        let Some(subject) = call.params.filter(|_| is_question).and_then(|params| params.member("subject")) else {
            return;
        };
        let asked = subject.member("toolCall").unwrap_or(subject);
        let Some((session, tool)) = call.text("sessionId").zip(asked.text("toolCallId")) else { return };
        let title = asked.text("title");
        let is_running = |known: &&ToolCall| {
            let is_over = known.is_final() || known.status == "cancelled";
            known.reported && !is_over && title.is_none_or(|title| title == known.title)
        };
        let others = event.conversation.sessions.iter().filter(|(other, _)| *other != session);
        let mut running = others.filter_map(|(other, known)| Some((other, known.tools.get(tool).filter(is_running)?)));
        let running = running.next().map(|(other, known)| (other.clone(), known.n));
        if self.questions.len() < MOST {
            let (n, session, tool) = (event.n, session.to_owned(), tool.to_owned());
            self.questions.push(Question { n, session, tool, running });
        }
    }

    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        if update.variant == "config_option_update" && update.known.is_some() {
            self.options.entry(update.session).resumed = None;
        }
        let state = update.body.text("state").filter(|_| update.variant == "state_update");
        let Some(state) = state.filter(|_| update.known.is_none() && self.early.len() < MOST) else { return };
        self.early.insert(update.session.to_owned(), (event.n, state.to_owned()));
    }

    pub(in crate::areas) fn response(&mut self, event: &Event<'_>, answer: &Answer<'_>) {
        if let Some((_, result)) = answer.result_of("session/new")
            && let Some(id) = result.text("sessionId")
            && let Some(values) = values_in(result)
        {
            *self.options.entry(id) = Options { begun: Some((event.n, values)), ..Options::default() };
        }
        if let Some((exchange, result)) = answer.result_of("session/resume")
            && let (Some(id), Some(values)) = (exchange.session(), values_in(result))
        {
            let prompts = event.conversation.session(id).map_or(0, |session| session.prompts);
            self.options.entry(id).resumed = Some(Resumed { n: event.n, prompts, values });
        }
        let Some((exchange, result)) = answer.result_of("session/set_config_option") else { return };
        let option = exchange.text("configId").map(str::to_owned);
        let (Some(id), Some(option), Some(values)) = (exchange.session(), option, values_in(result)) else { return };
        let value = exchange.params.member("value").cloned().unwrap_or_default();
        let options = self.options.entry(id);
        options.resumed = None;
        if options.set.len() < MOST {
            options.set.push(OptionSet { n: event.n, option, value, values });
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.options.forget(conversation, memory);
    }
}

/// Returns the value of each option in a result.
pub(super) fn values_in(result: &Value) -> Option<BTreeMap<String, Value>> {
    let values = current_values(result.member("configOptions")?.as_array()?);
    Some(values.into_iter().map(|(id, value)| (id.to_owned(), value.clone())).collect())
}
