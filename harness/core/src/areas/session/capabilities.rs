//! The client's half of the areas `load`, `resume`, `close`, `list` and `delete`, for capabilities: the same requirement for
//! all methods on stored and open sessions. A client that calls no such method exercises nothing here.

use crate::areas::common::fail_unannounced;
use crate::areas::{Check, Moment, On};
use crate::conversation::CallSeen;
use crate::finding::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::client("load.gate", On::Call(|moment, call, ruling| method_gate(moment, call, "session/load", ruling)))
        .alone()
        .only(&["session/load"]),
    Check::client("resume.gate", On::Call(|moment, call, ruling| method_gate(moment, call, "session/resume", ruling)))
        .alone()
        .only(&["session/resume"]),
    Check::client("close.gate", On::Call(|moment, call, ruling| method_gate(moment, call, "session/close", ruling)))
        .alone()
        .only(&["session/close"]),
    Check::client("list.gate", On::Call(|moment, call, ruling| method_gate(moment, call, "session/list", ruling)))
        .alone()
        .only(&["session/list"]),
    Check::client("delete.gate", On::Call(|moment, call, ruling| method_gate(moment, call, "session/delete", ruling)))
        .alone()
        .only(&["session/delete"]),
];

/// "If `sessionCapabilities.close` is not present, the Agent does not support closing sessions and Clients MUST NOT
/// attempt to call `session/close`", and so for the others.
///
/// Correct but unusual: the client calls the method before the agent answered `initialize`, or the recording begins after that.
/// Then the capabilities are unknown, and nothing fails.
fn method_gate(moment: &Moment<'_>, call: &CallSeen<'_>, method: &str, ruling: &mut Ruling<'_>) {
    let path = moment.talk.edition.adapter.capability_of(call.method);
    if let Some(path) = path.filter(|_| call.method == method) {
        fail_unannounced(moment, path, (call.method, "/method"), ruling);
    }
}
