//! The replay of a session's history, and the state of a session that was opened again.

use super::session::{Opening, Session};
use super::{Conversation, Exchange, current_values};
use crate::conversation::outcome::Outcome;
use crate::protocol::Update;
use crate::wire::{Members, push_text};

/// The most pieces of text that are kept of one replay.
const MOST_REPLAYED: usize = 4096;

impl Conversation {
    /// Processes the answer to a `session/load` or `session/resume`.
    pub(super) fn apply_reopened(&mut self, n: usize, exchange: &Exchange, outcome: Outcome<'_>) {
        // Another request to open the same session may still be open.
        let others =
            self.open.values().filter(|open| open.from == exchange.from && open.session() == exchange.session());
        let open_still = |method: &str| others.clone().filter(|open| open.method == method).map(|open| open.n).max();
        let (loading, resuming) = (open_still("session/load"), open_still("session/resume"));
        let Some(session) = exchange.session().and_then(|id| self.sessions.get_mut(id)) else { return };
        session.loading = loading;
        session.resuming = resuming;
        session.last_chunk = None;
        session.reopening_failed = matches!(outcome, Outcome::Error(_));
        if let Outcome::Result(result) = outcome {
            let opening = if exchange.method == "session/load" { Opening::Load } else { Opening::Resume };
            session.reopened = Some((opening, n));
            session.was_reopened = true;
            session.roots = Session::new(opening, n, &exchange.params).roots;
            let before = session.mode().map(str::to_owned);
            let known = session.options.clone();
            session.learn_state(n, result);
            let kept = before.is_some() && session.mode() == before.as_deref();
            session.mode_kept = kept.then_some(session.prompts);
            let values = session.options.as_deref().map(current_values);
            let kept = known.as_deref().is_some_and(|known| values == Some(current_values(known)));
            session.options_kept = kept.then_some(session.prompts);
            session.commands_due = session.commands.filter(|&list| list < exchange.n).map(|_| n);
        }
    }
}

impl Session {
    /// Records a piece of the replayed history.
    pub(super) fn learn_replay(&mut self, update: &Update<'_>) {
        if self.loading.is_none() {
            return;
        }
        let room = self.replay.len() < MOST_REPLAYED;
        let tool = update.body.text("toolCallId").filter(|_| update.variant == "tool_call");
        if let Some(id) = tool.filter(|_| room) {
            let before = self.replay.len();
            self.replayed_tools.entry(id.to_owned()).or_insert(before);
        }
        if !update.variant.ends_with("_chunk") {
            return;
        }
        let text = update.text().unwrap_or_default();
        match self.replay.last_mut() {
            Some((last, all)) if last == update.variant => push_text(all, text),
            _ if room => self.replay.push((update.variant.to_owned(), text.to_owned())),
            _ => {}
        }
    }
}
