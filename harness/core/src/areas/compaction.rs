//! Area `compaction`: the agent's reports on the compaction of its context.

use super::common::is_own_value;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::UpdateSeen;
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("compaction.id-unique", On::Update(id_unique)).only(&[UPDATE]),
    Check::agent("compaction.status", On::Update(status_known)).only(&[UPDATE]),
    Check::agent("compaction.chunk-in-progress", On::Update(chunk)).only(&["compaction_summary_chunk"]),
];

const UPDATE: &str = "compaction_update";

/// Returns the status of a compaction update.
fn status<'m>(update: &UpdateSeen<'m>) -> Option<&'m str> {
    update.body.text("status").filter(|_| update.variant == UPDATE)
}

/// The id is "unique within the session", so a completed compaction does not begin again. A replay repeats it once.
///
/// Correct but unusual: the agent retries a failed or cancelled compaction, patches a completed one, or has two
/// compactions at the same time. These do not fail.
fn id_unique(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = update.known.filter(|session| session.loading.is_none());
    let (Some(session), Some("in_progress")) = (session, status(update)) else { return };
    let Some(id) = update.body.text("compactionId") else { return };
    match session.compactions.get(id).map(String::as_str) {
        Some("completed") => ruling.fail(fact!(
            "id-reused",
            "the agent started the completed compaction `{compaction_id}` again; expected a new id",
            compaction_id = id; pointer = "/params/update/compactionId"
        )),
        Some("failed" | "cancelled") => ruling.inconclusive(fact!(
            "started-again",
            "the agent started the compaction `{compaction_id}` again, perhaps as the same one",
            compaction_id = id; pointer = "/params/update/compactionId"
        )),
        _ if session.compactions.keys().any(|other| other != id) => ruling.pass(),
        _ => {}
    }
}

/// "Values beginning with `_` are reserved for implementation-specific extensions", other unknown ones for ACP.
fn status_known(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(status) = status(update) {
        let known = matches!(status, "in_progress" | "completed" | "failed" | "cancelled") || is_own_value(status);
        if !known && ctx.conversation.edition.has_value_elsewhere("CompactionStatus", status) {
            return ruling.note(fact!(
                "newer-status",
                "the agent sent the status `{actual}`, which a draft or another revision defines; this edition does \
                not judge it",
                actual = status;
                pointer = "/params/update/status"
            ));
        }
        ruling.decide(known, || {
            fact!(
                "reserved-status",
                "the agent sent the status `{actual}`; expected a defined status, or a name with `_` first",
                actual = status; pointer = "/params/update/status"
            )
        });
    }
}

/// Summary chunks come only while that compaction is in progress.
///
/// Correct but unusual: a recording or a replay that begins within a compaction, and a status with an underscore. Only
/// a compaction that the agent reported as over fails.
fn chunk(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) =
        update.known.filter(|session| session.resuming.is_none() && update.variant == "compaction_summary_chunk")
    else {
        return;
    };
    let Some(id) = update.body.text("compactionId") else { return };
    match session.compactions.get(id).map(String::as_str) {
        Some("in_progress") => ruling.pass(),
        Some(status @ ("completed" | "failed" | "cancelled")) => ruling.fail(fact!(
            "chunk-after-end",
            "the agent sent a summary chunk of the compaction `{compaction_id}`, which is {status}",
            compaction_id = id, status; pointer = "/params/update/compactionId"
        )),
        _ => {}
    }
}
