//! The client's half of the area `subagent`: what it answers for children, and what it sends for them.

use serde_json::Value;

use super::agent::is_supported;
use crate::areas::common::{BAD_PARAMS, NOT_FOUND, mentions};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::timing::{CAPABILITY_CROSSING, between};
use crate::conversation::{Answer, CallSeen, Outcome};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("subagent.registers-child", On::Response(answers_for_child)),
    Check::client("subagent.baseline", On::Response(answers_for_child)),
    Check::client("subagent.restricted", On::Call(restricted)),
    Check::client("subagent.cancel-gate", On::Call(cancel_gate)).only(&[CANCEL]),
];

const CANCEL: &str = "session/cancel";
const ASK: &str = "session/request_permission";
const POINTER: &str = "/params/sessionId";

/// The methods that change a session, each with the word that a capability for it would have.
const MUTATIONS: [(&str, &str); 6] = [
    ("session/prompt", "prompt"),
    ("session/set_mode", "mode"),
    ("session/set_config_option", "config"),
    ("session/close", "close"),
    ("session/delete", "delete"),
    ("session/fork", "fork"),
];

/// Clients take "restricted-session semantics": a request with the id of an announced child has an answer like any
/// other.
///
/// Correct but unusual: a client that asks its user in the view of the parent, or shows no child at all; one that
/// refuses a file or a command of a child; an error for a question that the agent withdraws. Only an error to a
/// permission request fails, in a case whose client answered another one well, and an error that names the session as
/// unknown.
fn answers_for_child(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|it| it.from == Party::Agent && !it.deliberate) else { return };
    let Some(id) = exchange.session().filter(|_| is_supported(ctx)) else { return };
    if ctx.conversation.children.get(id).is_none_or(|child| child.n > exchange.n) {
        return;
    }
    let is_unknown = matches!(answer.outcome.error_code(), Some(BAD_PARAMS | NOT_FOUND))
        && (mentions(answer.outcome, "session") || mentions(answer.outcome, id));
    let refuses = exchange.method == ASK && ctx.conversation.served.contains(ASK);
    match answer.outcome {
        Outcome::Result(_) => ruling.pass(),
        Outcome::Error(_) if (is_unknown || refuses) && exchange.cancel_requested.is_none() => {
            ruling.proved_by(&[exchange.n]).fail_in_case(fact!(
                "child-not-served",
                "the client answered {method} for the subagent `{session_id}` with an error; expected a result",
                method = exchange.method, session_id = id; code = answer.outcome.error_code()
            ))
        }
        Outcome::Error(_) => {}
    }
}

/// "A mutation requires an explicit per-child capability. Support for the method on ordinary sessions does not grant
/// support on a child."
///
/// Correct but unusual: answers to requests of the child, and methods that only read. "No child load, resume, or
/// subscription is needed", so these are noted. A capability that this edition does not know may permit a method.
fn restricted(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let Some(id) = call.text("sessionId").filter(|_| is_supported(ctx)) else { return };
    let Some(association) = conversation.children.get(id) else {
        // The user's next prompt could have gone to a child.
        if call.method == "session/prompt" && conversation.children.values().any(|child| child.parent == id) {
            ruling.pass();
        }
        return;
    };
    if matches!(call.method, "session/load" | "session/resume") {
        return ruling.note(fact!(
            "child-reopened",
            "the client sent {method} for the subagent `{session_id}`, which needs none",
            method = call.method,
            session_id = id
        ));
    }
    let Some((_, word)) = MUTATIONS.iter().find(|(method, _)| *method == call.method) else { return };
    let capabilities = ctx.areas.subagent.child(id).and_then(|child| child.capabilities.as_object());
    let is_permitted = capabilities
        .into_iter()
        .flatten()
        .any(|(name, value)| name != "_meta" && value.is_object() && name.to_lowercase().contains(word));
    let fact = fact!(
        "child-changed",
        "the client sent {method} for the subagent `{session_id}`, which has no capability for it",
        method = call.method, session_id = id; pointer = POINTER
    );
    // A child that the client loaded may be a session like any other for the agent.
    ruling.proved_by(&[association.n]).fail_unless(is_permitted || conversation.session(id).is_some(), fact);
}

/// "Permits the client to cancel this child's current work …. Omitted or `null` means unsupported."
///
/// Correct but unusual: a client that cancels the parent only. A cancel that may have crossed with the withdrawal of
/// the capability is inconclusive.
fn cancel_gate(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let Some(id) = call.text_of(CANCEL, "sessionId").filter(|_| is_supported(ctx)) else { return };
    let Some(association) = conversation.children.get(id) else {
        let mut below = ctx.areas.subagent.children().filter(|(child, _)| conversation.is_below(child, id));
        // A client that cancels the children as well could have named this one.
        if below.any(|(_, child)| !child.is_cancellable()) {
            ruling.pass();
        }
        return;
    };
    let Some(child) = ctx.areas.subagent.child(id).filter(|_| conversation.session(id).is_none()) else { return };
    if child.is_cancellable() {
        return ruling.pass();
    }
    let fact = fact!(
        "cancel-not-permitted",
        "the client sent {method} for the subagent `{session_id}`, whose capabilities lack cancel",
        method = CANCEL, session_id = id; pointer = POINTER
    );
    match child.revoked {
        // An answer to a later request shows that the client had read the withdrawal.
        Some((n, us)) if conversation.latest_answered.get(&Party::Agent).is_none_or(|last| *last < n) => {
            ruling.proved_by(&[n]).fail_unless(between(us, ctx.us) < CAPABILITY_CROSSING, fact);
        }
        Some((n, _)) => ruling.proved_by(&[n]).fail(fact),
        None => ruling.proved_by(&[association.n]).fail(fact),
    }
}

/// Whether the client answered a permission request as cancelled.
pub(super) fn is_cancelled(outcome: Outcome<'_>) -> bool {
    let Outcome::Result(result) = outcome else { return false };
    let outcome = result.member("outcome");
    let name = outcome.and_then(|outcome| outcome.member("outcome")).or(outcome).and_then(Value::as_str);
    name == Some("cancelled")
}
