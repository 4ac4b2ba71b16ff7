//! Area `plan`: plans as a whole; their entries are in the table of `judge::shapes`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::support::{Finish, fail_in_case};
use crate::areas::common::decide_replaced;
use crate::areas::{Check, Moment, On};
use crate::conversation::{Answer, UpdateSeen, plan_items, plan_texts};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("plan.complete", On::Update(complete)).only(&["plan"]),
    Check::agent("plan.complete", On::Update(complete_items)).only(&["plan_update"]),
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

fn entries(body: &Value) -> &[Value] {
    body.member("entries").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// "The Agent MUST send a complete list of all plan entries in each update." Entries may be removed, so a shorter list proves
/// nothing: only one does that contains entries missing in the previous list, and lacks those in it.
///
/// Correct but unusual: the agent removes entries, drops the whole plan, replaces it by another one, or restores an entry that
/// it had removed. Only a case fails, whose plan has entries that stay; a recording is inconclusive.
fn complete(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), "plan") = (update.known, update.variant) else { return };
    let dropped = moment.talk.course.session(update.session).map(|course| &course.plan_dropped);
    compare(moment, (&session.plan, entries(update.body)), dropped, POINTER, ruling);
}

/// As above, for the plans of version 2, each by itself: "the agent must send a complete list of all entries".
fn complete_items(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some((id, entries))) = (update.known, plan_items(&update.update)) else { return };
    if let Some(plan) = session.work.history.plans.get(id) {
        compare(moment, (&plan.entries, entries), Some(&plan.dropped), "/params/update/plan/entries", ruling);
    }
}

/// Compares the entries of a plan with those of its last update.
fn compare(
    moment: &Moment<'_>,
    (before, now): (&[Value], &[Value]),
    dropped: Option<&BTreeSet<String>>,
    pointer: &str,
    ruling: &mut Ruling<'_>,
) {
    let (before, now) = (plan_texts(before), plan_texts(now));
    let back: Vec<&String> = dropped.into_iter().flatten().filter(|text| now.contains(*text)).collect();
    if before.is_empty() || now.is_empty() {
        return;
    }
    match back.first() {
        Some(text) if before.is_disjoint(&now) => {
            let fact = fact!(
                "partial-plan",
                "the agent sent a plan with the dropped entry `{entry}` and without those of the last plan; expected all entries",
                entry = text; pointer = pointer
            );
            fail_in_case(moment, fact, &[], ruling);
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
fn updated(_: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if let (Some(session), "plan") = (update.known, update.variant)
        && !session.plan.is_empty()
        && session.plan != entries(update.body)
    {
        ruling.pass();
    }
}

/// As above: a plan without progress is only noted, since the agent may have abandoned it.
fn left_pending(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(moment, answer).filter(|finish| finish.reason() == Some("end_turn")) else { return };
    let plan = &finish.session.plan;
    if !plan.is_empty() && plan.iter().all(|entry| entry.member("status").and_then(Value::as_str) == Some("pending")) {
        ruling.note(fact!(
            "plan-left-pending",
            "the agent ended the turn with a plan whose entries are all pending";
            session_id = finish.exchange.session()
        ));
    }
}
