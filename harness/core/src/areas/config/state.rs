//! The lists of options that the agent reported.

use serde_json::Value;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::areas::reported::settings_in;
use crate::conversation::{Answer, Conversation, Memory, Session, UpdateSeen};
use crate::wire::Members;

/// The lists of options of one session.
#[derive(Debug, Clone, Default)]
pub struct OptionLists {
    /// The first list.
    first: Vec<Value>,
    /// The list before the last one, with the event of the last one.
    earlier: Option<(Vec<Value>, usize)>,
    /// The number of prompts when an update last named the mode or listed the options.
    announced: Option<usize>,
}

/// The lists of options of each session.
#[derive(Debug, Clone, Default)]
pub struct State(BySession<OptionLists>);

impl State {
    /// Returns the first list of options of a session.
    pub(super) fn first(&self, session: Option<&str>) -> &[Value] {
        session.and_then(|id| self.0.get(id)).map_or(&[], |lists| lists.first.as_slice())
    }

    /// Returns the list of options before the last one, with the event of the last one.
    pub(super) fn earlier(&self, session: Option<&str>) -> Option<&(Vec<Value>, usize)> {
        self.0.get(session?)?.earlier.as_ref()
    }

    /// Returns the number of prompts when an update last named the mode or listed the options.
    pub(super) fn announced(&self, session: Option<&str>) -> Option<usize> {
        self.0.get(session?)?.announced
    }

    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        let settings = ["current_mode_update", "config_option_update"];
        let Some(session) = update.known.filter(|_| settings.contains(&update.variant)) else { return };
        self.0.entry(update.session).announced = Some(session.prompts);
        if update.variant == "config_option_update" {
            self.learn(event.n, (update.session, session), update.body);
        }
    }

    pub(in crate::areas) fn response(&mut self, event: &Event<'_>, answer: &Answer<'_>) {
        if let Some((_, result)) = answer.result_of("session/new")
            && let Some(id) = result.text("sessionId")
        {
            let first = list(result).map(<[Value]>::to_vec).unwrap_or_default();
            *self.0.entry(id) = OptionLists { first, ..OptionLists::default() };
        }
        let Some((id, session, result)) = settings_in(event, answer) else { return };
        self.learn(event.n, (id, session), result);
        if answer.exchange.is_some_and(|exchange| exchange.method != "session/set_config_option") {
            self.0.entry(id).announced = None;
        }
    }

    fn learn(&mut self, n: usize, (id, session): (&str, &Session), report: &Value) {
        let Some(options) = list(report) else { return };
        let lists = self.0.entry(id);
        if session.options.is_none() {
            lists.first = options.to_vec();
        }
        lists.earlier = session.options.clone().map(|before| (before, n));
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.0.forget(conversation, memory);
    }
}

/// Returns the options in a result or an update.
pub(super) fn list(value: &Value) -> Option<&[Value]> {
    value.member("configOptions").and_then(Value::as_array).map(Vec::as_slice)
}
