//! Area `compaction`: what an agent tells of compacting its context.

use serde_json::Value;

use super::common::{decide_offered, is_own_value};
use crate::judge::check::{Check, On};
use crate::judge::moment::{Moment, UpdateSeen};
use crate::judge::ruling::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("compaction.gate", On::Update(gate)),
    Check::agent("compaction.id-unique", On::Update(id_unique)),
    Check::agent("compaction.status", On::Update(status_known)),
];

const UPDATE: &str = "compaction_update";
const CHUNK: &str = "compaction_summary_chunk";

/// "Agents MUST only send this update when the Client advertised the `session.compaction` Client capability."
///
/// Correct but unusual: the capability is `{}`, or the recording begins after `initialize`. Neither fails.
fn gate(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if matches!(update.variant, UPDATE | CHUNK) {
        decide_offered(moment, update.variant, &["session", "compaction"], ruling);
    }
}

/// The status of a compaction update.
fn status<'m>(update: &UpdateSeen<'m>) -> Option<&'m str> {
    update.body.get("status").and_then(Value::as_str).filter(|_| update.variant == UPDATE)
}

/// The id is "unique within the session", so what is completed does not begin again. A replay tells it once more.
///
/// Correct but unusual: the agent tries again what failed or was cancelled, patches what is completed, or has two
/// compactions at the same time. None of these fails.
fn id_unique(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = moment.talk.session(update.session).filter(|session| session.loading.is_none());
    let (Some(session), Some("in_progress")) = (session, status(update)) else { return };
    let Some(id) = update.body.get("compactionId").and_then(Value::as_str) else { return };
    match session.compactions.get(id).map(String::as_str) {
        Some("completed") => ruling.fail(format!("the compaction `{id}` was completed and is in progress again"), &[]),
        Some("failed" | "cancelled") => {
            ruling.inconclusive(format!("the compaction `{id}` is in progress again, maybe as the same one"), &[]);
        }
        _ if session.compactions.keys().any(|other| other != id) => ruling.pass(),
        _ => {}
    }
}

/// "Values beginning with `_` are reserved for implementation-specific extensions", other unknown ones for ACP.
fn status_known(_: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(status) = status(update) {
        let known = matches!(status, "in_progress" | "completed" | "failed" | "cancelled") || is_own_value(status);
        ruling.decide(known, || format!("the status `{status}` is reserved and not defined"));
    }
}
