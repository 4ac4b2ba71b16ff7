//! Area `cancel`, the client's half: how the client sends `session/cancel`.

use serde_json::Value;

use crate::areas::{Check, CheckContext, On};
use crate::conversation::{CallSeen, Opening, Session};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::{Kind, is_respelt};

pub(super) const CHECKS: &[Check] = &[
    Check::client("cancel.notification", On::Call(notification)).alone().only(&["session/cancel"]),
    Check::client("cancel.known-session", On::Call(known_session)).only(&["session/cancel"]),
];

/// "By sending a `session/cancel` notification."
///
/// Correct but unusual: a cancel that comes twice, or without a running turn. Only a member `id` fails, also one that
/// is null.
fn notification(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.method == "session/cancel" {
        let id = call.id.unwrap_or(&Value::Null);
        ruling.decide(call.kind == Kind::Notification, || {
            fact!(
                "sent-as-request",
                "the client sent {method} with the id {id}; expected a notification",
                method = call.method, id; pointer = "/id"
            )
        });
    }
}

/// The session is one of this connection: it was created, loaded or resumed on it.
///
/// Correct but unusual: the client gives up a session whose load failed, one that a draft method opened, one that it
/// found in a listing and that runs elsewhere, one that the agent named in an early update, or that of a subagent. All
/// of these pass.
fn known_session(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let Some(id) = call.text_of("session/cancel", "sessionId") else { return };
    let opening = |session: &Session| session.loading.or(session.resuming).is_some();
    match conversation.session(id) {
        Some(session) if session.opening == Opening::New || session.was_reopened || opening(session) => ruling.pass(),
        // A cancel for the session may cross with the answer that it does not exist.
        Some(_) => {}
        None if conversation.children.contains_key(id) => ruling.pass(),
        None if conversation.initialized.is_none() => {}
        // Another requirement covers its spelling.
        None if conversation.sessions.keys().any(|known| is_respelt(known, id)) => {}
        None if conversation.unknown_sessions.contains_key(id)
            || conversation.announced_sessions.contains(id)
            || conversation.may_open_otherwise()
            || ctx.areas.list.listed.contains(id) =>
        {
            ruling.inconclusive(fact!(
                "session-of-other-origin",
                "the client sent {method} for the session `{session_id}`, which an unknown method may have opened",
                method = call.method, session_id = id; pointer = "/params/sessionId"
            ));
        }
        None => ruling.fail(fact!(
            "unknown-session",
            "the client sent {method} for the unknown session `{session_id}`; expected a session of this \
            connection",
            method = call.method, session_id = id;
            pointer = "/params/sessionId"
        )),
    }
}
