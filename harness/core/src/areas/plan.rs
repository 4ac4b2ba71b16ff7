//! Area `plan`: plans as a whole; their entries are in the table of `judge::shapes`.

mod state;

use std::collections::BTreeSet;

use serde_json::Value;

pub use self::state::State;
use self::state::{entries, items, texts};
use super::support::Finish;
use crate::areas::common::{decide_absolute, decide_replaced};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, UpdateSeen};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::protocol::Feature;
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

/// "The Agent MUST send a complete list of all plan entries in each update." Entries may be removed, so a shorter list
/// proves nothing: only one does that contains entries missing in the previous list, and lacks those in it.
///
/// Correct but unusual: the agent removes entries, drops the whole plan, replaces it by another one, or restores an
/// entry that it had removed. Only a case fails, whose plan has entries that stay; a recording is inconclusive. See
/// also [`left_out`].
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
    if let Some(path) = plan.and_then(|plan| plan.text("path")) {
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
        ruling.note(Fact::holds());
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
        Some(text) if before.is_disjoint(&now) => ruling.fail_in_case(fact!(
            "partial-plan",
            "the agent sent a plan with the dropped entry `{entry}` and without those of the last plan; expected \
            all entries",
            entry = text;
            pointer = pointer
        )),
        Some(text) => ruling.inconclusive(fact!(
            "entry-came-back",
            "the agent dropped the entry `{entry}` from the plan and sent it again",
            entry = text; pointer = pointer
        )),
        None if now.is_subset(&before)
            && let Some((n, entry)) = left_out(ctx, session, &plan.entries, &now) =>
        {
            ruling.proved_by(&[n]).fail_in_case(fact!(
                "entry-left-out",
                "the agent sent a plan without the entry `{entry}`, which its model has in the plan; expected all \
                entries",
                entry; pointer = pointer
            ));
        }
        None if now.is_subset(&before) && now.len() < before.len() => ruling.inconclusive(fact!(
            "shorter-plan",
            "the agent sent a plan with {actual} of the {before} entries of the last one",
            actual = now.len(), before = before.len(); pointer = pointer
        )),
        None => ruling.pass(),
    }
}

/// Returns an entry that a plan lacks although each list of the model with entries of the plan has it, in this turn;
/// with the event of the last list.
///
/// Correct but unusual: an agent that removes entries which are completed.
fn left_out<'p>(
    ctx: &CheckContext<'_>,
    session: &str,
    before: &'p [Value],
    now: &BTreeSet<String>,
) -> Option<(usize, &'p str)> {
    let model = &ctx.conversation.session(session)?.model;
    let mut lists: Vec<(usize, BTreeSet<String>)> = Vec::new();
    for asked in &model.requests {
        for call in asked.event.answer.iter().flat_map(|answer| &answer.calls) {
            let arguments = call.arguments.text.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
            lists.extend(arguments.iter().flat_map(texts_of_lists).map(|list| (asked.n, list)));
        }
    }
    lists.retain(|(_, list)| now.iter().any(|entry| list.contains(entry)));
    let (n, _) = lists.last().filter(|_| !model.is_uncertain)?;
    let is_open = |entry: &&Value| entry.text("status") != Some("completed");
    let mut open = before.iter().filter(is_open).filter_map(|entry| entry.text("content"));
    let entry = open.find(|entry| !now.contains(*entry) && lists.iter().all(|(_, list)| list.contains(*entry)))?;
    Some((*n, entry))
}

/// Returns the texts of the items of each list in a value, one set for each list.
fn texts_of_lists(value: &Value) -> Vec<BTreeSet<String>> {
    let texts_of = |item: &Value| match item {
        Value::String(text) => vec![text.clone()],
        Value::Object(members) => members.values().filter_map(|value| value.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    match value {
        Value::Array(items) => vec![items.iter().flat_map(texts_of).collect()],
        Value::Object(members) => members.values().flat_map(texts_of_lists).collect(),
        _ => Vec::new(),
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
    if !plan.entries.is_empty() && all.all(|entry| entry.text("status") == Some("pending")) {
        ruling.note(fact!(
            "plan-left-pending",
            "the agent ended the turn with a plan whose entries are all pending";
            session_id = finish.exchange.session()
        ));
    }
}
