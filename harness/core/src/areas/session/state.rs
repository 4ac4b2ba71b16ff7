//! The states of new sessions, and the options that they begin with and that the client sets.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{Answer, Conversation, Memory, UpdateSeen, current_values};
use crate::wire::Members;

/// What came before the answers that open sessions, and the options of all sessions.
#[derive(Debug, Default)]
pub struct State {
    /// By session: the last state that came before the answer that opens it, with its event.
    pub(super) early: BTreeMap<String, (usize, String)>,
    /// By session: its options.
    options: BySession<Options>,
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
