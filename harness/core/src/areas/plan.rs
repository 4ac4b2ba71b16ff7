//! Area `plan`: plans as a whole; their entries are in the table of `judge::shapes`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::support::{Finish, fail_in_case};
use crate::areas::by_session::BySession;
use crate::areas::common::{decide_absolute, decide_replaced};
use crate::areas::probes::holds;
use crate::areas::{Check, CheckContext, Event, On};
use crate::conversation::{Answer, CallSeen, Conversation, Memory, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("plan.complete", On::Update(complete)).only(&["plan"]),
    Check::agent("plan.complete", On::Update(complete_of_v2)).only(&["plan_update"]),
    Check::agent("plan.update-complete", On::Update(complete_items)).only(&["plan_update"]),
    Check::agent("plan.path-absolute", On::Update(path_absolute)).only(&["plan_update"]),
    Check::agent("plan.fallback", On::Update(kind_of_plan)).only(&["plan", "plan_update"]),
    Check::agent("plan.updated", On::Update(updated)).only(&["plan"]),
    Check::agent("plan.updated", On::Response(left_pending)).only(&["session/prompt"]),
    Check::agent(
        "plan.no-v1-variant",
        On::Update(|_, update, ruling| decide_replaced(update, ["plan", "plan_update"], ruling)),
    )
    .alone()
    .only(&["plan", "plan_update"]),
];

/// The entries of a plan in an update.
const POINTER: &str = "/params/update/entries";

/// The plans of each session by id, with an empty id for the plan of version 1.
#[derive(Debug, Clone, Default)]
pub struct State(BySession<BTreeMap<String, Plan>>);

/// The last two states of a plan.
#[derive(Debug, Clone, Default)]
struct Plan {
    /// The entries of the last update.
    entries: Vec<Value>,
    /// The texts that the last update left out, if it contained only entries of the one before.
    dropped: BTreeSet<String>,
}

impl State {
    fn get(&self, session: &str, id: &str) -> Option<&Plan> {
        self.0.get(session)?.get(id)
    }

    pub(super) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
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

    pub(super) fn update(&mut self, update: &UpdateSeen<'_>) {
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
            plan.dropped = if texts.is_subset(&before) { &before - &texts } else { BTreeSet::new() };
            plan.entries = now.to_vec();
        }
    }

    pub(super) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.0.forget(conversation, memory);
    }
}

/// Returns the id and the entries of an update of a plan.
fn items<'m>(update: &UpdateSeen<'m>) -> Option<(&'m str, &'m [Value])> {
    let plan = update.body.member("plan").filter(|_| update.variant == "plan_update")?;
    Some((plan.member("planId")?.as_str()?, plan.member("entries")?.as_array()?))
}

/// Returns the id of the plan that an update removes, or replaces by something other than entries.
fn replaced<'m>(update: &UpdateSeen<'m>) -> Option<&'m str> {
    let body = if update.variant == "plan_update" { update.body.member("plan")? } else { update.body };
    body.member("planId").filter(|_| matches!(update.variant, "plan_update" | "plan_removed"))?.as_str()
}

/// Returns the texts of the entries of a plan.
fn texts(entries: &[Value]) -> BTreeSet<String> {
    entries.iter().filter_map(|entry| Some(entry.member("content")?.as_str()?.to_owned())).collect()
}

fn entries(body: &Value) -> &[Value] {
    body.member("entries").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// "The Agent MUST send a complete list of all plan entries in each update." Entries may be removed, so a shorter list
/// proves nothing: only one does that contains entries missing in the previous list, and lacks those in it.
///
/// Correct but unusual: the agent removes entries, drops the whole plan, replaces it by another one, or restores an
/// entry that it had removed. Only a case fails, whose plan has entries that stay; a recording is inconclusive.
fn complete(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if update.known.is_some() && update.variant == "plan" {
        compare(ctx, (update.session, ""), entries(update.body), POINTER, ruling);
    }
}

/// As above, for the plans of version 2. In version 1 such plans have a requirement of their own.
fn complete_of_v2(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if ctx.conversation.edition.major > 1 {
        complete_items(ctx, update, ruling);
    }
}

/// As above, for plans with an id, each by itself: "The Agent MUST send all entries with their current status."
///
/// Correct but unusual: two plans in turn, an id that is used again after `plan_removed`, and a plan whose type changes
/// in between.
fn complete_items(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if let (Some(_), Some((id, entries))) = (update.known, items(update)) {
        compare(ctx, (update.session, id), entries, "/params/update/plan/entries", ruling);
    }
}

/// `path`: "A supplied path MUST be absolute."
///
/// Correct but unusual: null, a path outside of the `cwd`, a file that does not exist yet, and paths of Windows.
fn path_absolute(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let plan = update.body.member("plan").filter(|plan| plan.member("type").is_some_and(|kind| kind == "markdown"));
    if let Some(path) = plan.and_then(|plan| plan.member("path")?.as_str()) {
        decide_absolute(ctx, Some(update.session), ("session/update", "/params/update/plan/path"), path, ruling);
    }
}

/// A probe: the kind of update in which an agent reports its plans, with and without the capability.
fn kind_of_plan(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let is_plain = match update.variant {
        "plan" => true,
        "plan_update" => false,
        _ => return,
    };
    if ctx.conversation.client_lacks(Feature::Update("plan_update")) == is_plain {
        ruling.note(holds());
    } else if is_plain {
        ruling.note(fact!(
            "plain-plan-with-capability",
            "the agent sent the update `plan` to a client that advertises `plan`"
        ));
    }
}

/// Compares the entries of a plan with those of its last update.
fn compare(ctx: &CheckContext<'_>, (session, id): (&str, &str), now: &[Value], pointer: &str, ruling: &mut Ruling<'_>) {
    let Some(plan) = ctx.areas.plan.get(session, id) else { return };
    let (before, now) = (texts(&plan.entries), texts(now));
    let back: Vec<&String> = plan.dropped.iter().filter(|text| now.contains(*text)).collect();
    if before.is_empty() || now.is_empty() {
        return;
    }
    match back.first() {
        Some(text) if before.is_disjoint(&now) => {
            let fact = fact!(
                "partial-plan",
                "the agent sent a plan with the dropped entry `{entry}` and without those of the last plan; expected \
                all entries",
                entry = text;
                pointer = pointer
            );
            fail_in_case(ctx, fact, &[], ruling);
        }
        Some(text) => {
            let fact = fact!(
                "entry-came-back",
                "the agent dropped the entry `{entry}` from the plan and sent it again",
                entry = text; pointer = pointer
            );
            ruling.inconclusive(fact, &[]);
        }
        None if now.is_subset(&before) && now.len() < before.len() => {
            let fact = fact!(
                "shorter-plan",
                "the agent sent a plan with {actual} of the {before} entries of the last one",
                actual = now.len(), before = before.len(); pointer = pointer
            );
            ruling.inconclusive(fact, &[]);
        }
        None => ruling.pass(),
    }
}

/// "As the Agent progresses through the plan, it SHOULD report updates."
fn updated(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if update.variant == "plan"
        && let Some(plan) = ctx.areas.plan.get(update.session, "")
        && !plan.entries.is_empty()
        && plan.entries != entries(update.body)
    {
        ruling.pass();
    }
}

/// As above: a plan without progress is only noted, since the agent may have abandoned it.
fn left_pending(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(|finish| finish.reason() == Some("end_turn")) else { return };
    let Some(plan) = finish.exchange.session().and_then(|id| ctx.areas.plan.get(id, "")) else { return };
    let mut all = plan.entries.iter();
    if !plan.entries.is_empty() && all.all(|entry| entry.member("status").and_then(Value::as_str) == Some("pending")) {
        ruling.note(fact!(
            "plan-left-pending",
            "the agent ended the turn with a plan whose entries are all pending";
            session_id = finish.exchange.session()
        ));
    }
}
