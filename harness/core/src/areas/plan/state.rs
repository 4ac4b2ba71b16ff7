//! The plans of each session.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{CallSeen, Conversation, Memory, UpdateSeen};
use crate::requirement::Party;
use crate::wire::Members;

/// The plans of each session by id, with an empty id for the plan of version 1.
#[derive(Debug, Clone, Default)]
pub struct State(BySession<BTreeMap<String, Plan>>);

/// The last two states of a plan.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    /// The entries of the last update.
    pub(super) entries: Vec<Value>,
    /// The texts that were left out by the last updates of which each contained only entries of the one before.
    pub(super) dropped: BTreeSet<String>,
}

impl State {
    pub(super) fn get(&self, session: &str, id: &str) -> Option<&Plan> {
        self.0.get(session)?.get(id)
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        if event.from != Party::Client {
            return;
        }
        let Some(plans) = self.0.get_mut(call.text("sessionId")) else { return };
        match call.method {
            // A replay repeats earlier plans.
            "session/load" | "session/resume" => plans.values_mut().for_each(|plan| plan.dropped.clear()),
            "session/prompt" if !event.conversation.deliberate.contains(&event.n) => {
                let session = call.text("sessionId").and_then(|id| event.conversation.session(id));
                if session.is_some_and(|session| session.turn.is_none()) {
                    plans.remove("");
                }
            }
            _ => {}
        }
    }

    pub(in crate::areas) fn update(&mut self, update: &UpdateSeen<'_>) {
        const MOST: usize = 256;
        let of_session = (update.variant == "plan").then(|| ("", entries(update.body)));
        let (Some((id, now)), Some(_)) = (of_session.or_else(|| items(update)), update.known) else {
            // A plan that was removed, or has another type now, has no earlier entries.
            if let (Some(plans), Some(id)) = (self.0.get_mut(Some(update.session)), replaced(update)) {
                plans.remove(id);
            }
            return;
        };
        let plans = self.0.entry(update.session);
        if plans.len() < MOST {
            let plan = plans.entry(id.to_owned()).or_default();
            let (before, texts) = (texts(&plan.entries), texts(now));
            let known = &plan.dropped | &before;
            plan.dropped = if texts.is_subset(&before) { &known - &texts } else { BTreeSet::new() };
            plan.entries = now.to_vec();
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.0.forget(conversation, memory);
    }
}

/// Returns the id and the entries of an update of a plan.
pub(super) fn items<'m>(update: &UpdateSeen<'m>) -> Option<(&'m str, &'m [Value])> {
    let plan = update.body.member("plan").filter(|_| update.variant == "plan_update")?;
    Some((plan.text("planId")?, plan.member("entries")?.as_array()?))
}

/// Returns the id of the plan that an update removes, or replaces by something other than entries.
fn replaced<'m>(update: &UpdateSeen<'m>) -> Option<&'m str> {
    let body = if update.variant == "plan_update" { update.body.member("plan")? } else { update.body };
    body.member("planId").filter(|_| matches!(update.variant, "plan_update" | "plan_removed"))?.as_str()
}

/// Returns the texts of the entries of a plan.
pub(super) fn texts(entries: &[Value]) -> BTreeSet<String> {
    entries.iter().filter_map(|entry| Some(entry.text("content")?.to_owned())).collect()
}

/// Returns the entries in a plan of version 1, or in a plan with an id.
pub(super) fn entries(body: &Value) -> &[Value] {
    body.list("entries")
}
