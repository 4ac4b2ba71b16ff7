//! The client's half of the area `modes`: changes to modes that the agent offers.

use serde_json::Value;

use crate::areas::{Check, CheckContext, On};
use crate::conversation::{CallSeen, Session};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("modes.set-listed", On::Call(mode_listed)).only(&[SET_MODE]),
    Check::client("modes.set-only-if-offered", On::Call(modes_offered)).only(&[SET_MODE]),
];

pub(in crate::areas) const SET_MODE: &str = "session/set_mode";

/// Returns the session that a request of `method` names, if it is open and its state is not about to be replaced.
pub(in crate::areas) fn settled<'m>(ctx: &CheckContext<'m>, call: &CallSeen<'_>, method: &str) -> Option<&'m Session> {
    let session = ctx.conversation.session(call.text_of(method, "sessionId")?)?;
    (session.is_introduced() && session.loading.or(session.resuming).is_none()).then_some(session)
}

/// Whether the client may have another state of the session: after a deliberately wrong line, or an update that came
/// before the session was known.
pub(in crate::areas) fn is_unclear(ctx: &CheckContext<'_>, call: &CallSeen<'_>) -> bool {
    let early = call.text("sessionId").is_some_and(|id| ctx.conversation.unknown_sessions.contains_key(id));
    early || !ctx.conversation.deliberate.is_empty()
}

/// `modeId`: "Must be one of the modes listed in `availableModes`".
///
/// Correct but unusual: the client sets the current mode again although the list lacks it, a mode of another session of
/// the same agent, or one that the list lost in a response which the client may not have read yet. The first and the
/// last of these do not fail.
fn mode_listed(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, mode)) = settled(ctx, call, SET_MODE).zip(call.text("modeId")) else { return };
    let Some(modes) =
        session.modes.as_ref().filter(|modes| modes.member("availableModes").is_some_and(Value::is_array))
    else {
        return;
    };
    if session.lists_mode(mode) {
        ruling.pass();
    } else if modes.text("currentModeId") == Some(mode) {
        // The agent is in that mode, although it does not list it.
    } else if let Some(list) = just_dropped(ctx, call, mode) {
        ruling.proved_by(&[list]).inconclusive(fact!(
            "dropped-just-before",
            "the client set the mode `{mode_id}`, which the agent had just dropped from availableModes",
            mode_id = mode; method = SET_MODE, pointer = "/params/modeId"
        ));
    } else {
        let fact = fact!(
            "unlisted-mode",
            "the client set the mode `{mode_id}`; expected a mode of availableModes",
            mode_id = mode; method = SET_MODE, pointer = "/params/modeId"
        );
        ruling.fail_unless(is_unclear(ctx, call), fact);
    }
}

/// The response that left out a mode which the list before it had, if the client may not have read it yet.
fn just_dropped(ctx: &CheckContext<'_>, call: &CallSeen<'_>, mode: &str) -> Option<usize> {
    let (modes, n) = ctx.areas.modes.earlier(call.text("sessionId"))?;
    let mut ids = modes.list("availableModes").iter().filter_map(|mode| mode.text("id"));
    (ids.any(|id| id == mode) && !ctx.conversation.answered_after(Party::Client, *n)).then_some(*n)
}

/// A session has modes only if the agent lists them: it "MAY return a list of modes it can operate in".
///
/// Correct but unusual: the agent lists no modes and names the current one in an update, and the client sets it again.
fn modes_offered(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = settled(ctx, call, SET_MODE) else { return };
    if session.modes.is_some() {
        ruling.pass();
    } else if ctx.areas.modes.is_in_update(call.text("sessionId")) {
        ruling.inconclusive(fact!(
            "mode-from-update",
            "the client sent {method}; the agent listed no modes and named one in an update",
            method = SET_MODE
        ));
    } else {
        let fact = fact!(
            "no-modes-offered",
            "the client sent {method}; expected it only for a session with modes",
            method = SET_MODE
        );
        ruling.fail_unless(is_unclear(ctx, call), fact);
    }
}
