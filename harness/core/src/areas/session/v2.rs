//! Area `session`: session methods only for agents with sessions, and the effect of a cancel.

use crate::areas::cancel::v2::goes_on;
use crate::areas::common::fail_unannounced;
use crate::areas::{Check, Moment, On};
use crate::conversation::CallSeen;
use crate::finding::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("session.baseline-cancel", On::End(|moment, ruling| goes_on(moment, false, ruling))),
    Check::client("session.gate", On::Call(gate)).alone(),
];

/// "Omitted and `null` are equivalent and mean the agent does not support the `session/*` methods."
///
/// Correct but unusual: an agent that advertises `{}`, which stands for all baseline methods. `session/delete` has a
/// separate requirement.
fn gate(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let methods = &moment.talk.edition.methods;
    let known = call.method.starts_with("session/") && methods.knows(moment.from, call.method);
    if known && call.method != "session/delete" && !moment.talk.is_foreign() {
        fail_unannounced(moment, &["session"], (call.method, "/method"), ruling);
    }
}
