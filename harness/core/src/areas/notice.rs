//! Area `notice`: live information for the user.

use serde_json::Value;

use super::common::{decide_offered, is_own_value};
use crate::areas::{Check, Moment, On};
use crate::conversation::UpdateSeen;
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("notice.gate", On::Update(gate)).alone().only(&[NOTICE]),
    Check::agent("notice.severity", On::Update(severity)).alone().only(&[NOTICE]),
];

const NOTICE: &str = "notice";

/// "Agents MUST only send notices when the Client advertised the `session.notices` Client capability."
///
/// Correct but unusual: the capability is `{}`, or the recording begins after `initialize`. Neither fails.
fn gate(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if update.variant == NOTICE {
        decide_offered(moment, update.variant, &["session", "notices"], ruling);
    }
}

/// "Values beginning with `_` are reserved for implementation-specific extensions", other unknown ones for ACP.
fn severity(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let severity = update.body.member("severity").and_then(Value::as_str).filter(|_| update.variant == NOTICE);
    if let Some(severity) = severity {
        let known = matches!(severity, "info" | "warning" | "error") || is_own_value(severity);
        if !known && moment.talk.edition.is_newer_value("NoticeSeverity", severity) {
            return ruling.note(fact!(
                "newer-severity",
                "the agent sent the severity `{actual}`, which a draft or a newer schema defines; this edition does not judge it",
                actual = severity; pointer = "/params/update/severity"
            ));
        }
        ruling.decide(known, || {
            fact!(
                "reserved-severity",
                "the agent sent the severity `{actual}`; expected info, warning, error, or a name with `_` first",
                actual = severity; pointer = "/params/update/severity"
            )
        });
    }
}
