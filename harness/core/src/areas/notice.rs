//! Area `notice`: live information for the user.

use super::common::is_own_value;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::UpdateSeen;
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[Check::agent("notice.severity", On::Update(severity)).alone().only(&[NOTICE])];

const NOTICE: &str = "notice";

/// "Values beginning with `_` are reserved for implementation-specific extensions", other unknown ones for ACP.
fn severity(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let severity = update.body.text("severity").filter(|_| update.variant == NOTICE);
    if let Some(severity) = severity {
        let known = matches!(severity, "info" | "warning" | "error") || is_own_value(severity);
        if !known && ctx.conversation.edition.has_value_elsewhere("NoticeSeverity", severity) {
            return ruling.note(fact!(
                "newer-severity",
                "the agent sent the severity `{actual}`, which a draft or another revision defines; this edition does \
                not judge it",
                actual = severity;
                pointer = "/params/update/severity"
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
