//! Area `resume`: resumed sessions, with or without a replay.

use crate::areas::common::proper;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, CallSeen, Exchange, Opening, Outcome, Session, UpdateSeen, asks_replay, message_of};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("resume.state-snapshot", On::Response(state_snapshot)).only(&[RESUME]),
    Check::agent("resume.no-replay-by-default", On::Response(no_replay)).only(&[RESUME]),
    Check::agent("resume.no-replay-by-default", On::Update(replay)).only(MESSAGES),
    Check::agent("resume.replay-start", On::Update(late_replay)).only(HISTORY),
    Check::agent("resume.chunks-after-reset", On::Update(kept_message)).only(WRITTEN),
    Check::client("resume.no-load", On::Call(load)).alone().only(&["session/load", "session/resume"]),
];

const RESUME: &str = "session/resume";

const MESSAGES: &[&str] = &["user_message", "user_message_chunk"];

const HISTORY: &[&str] = &["user_message", "user_message_chunk", "agent_message", "agent_message_chunk"];

/// The updates that write a message.
const WRITTEN: &[&str] = &[
    "user_message",
    "user_message_chunk",
    "agent_message",
    "agent_message_chunk",
    "agent_thought",
    "agent_thought_chunk",
];

/// "Resume MUST send a current-state snapshot after any replay and before its response."
///
/// Correct but unusual: a session in which work goes on, whose state is reported at each change. Any state update
/// between the request and the response passes. What comes before the end of a replay is history, so there only a later
/// one counts; one before it is inconclusive, since the schema does not say that a replay has no states.
fn state_snapshot(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, RESUME).filter(|_| matches!(answer.outcome, Outcome::Result(_))) else {
        return;
    };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let reported = session.work.state.is_some() && session.work.state_at > exchange.n;
    let marker = exchange.session().and_then(|id| ctx.areas.resume.get(id)?.markers.last());
    if let Some(marker) = marker.filter(|marker| reported && session.work.state_at < **marker) {
        return ruling.proved_by(&[exchange.n, *marker]).inconclusive(fact!(
            "state-before-replay-complete",
            "the agent answered {method} with the state of the session only before replay_complete, which may be that \
            of the history",
            method = RESUME
        ));
    }
    // Another request to resume the session may have had the snapshot.
    if reported || session.resuming != Some(exchange.n) {
        ruling.pass();
    } else {
        ruling.proved_by(&[exchange.n]).fail(fact!(
            "no-state-before-response",
            "the agent answered {method} without a state update for the session before; expected one",
            method = RESUME
        ));
    }
}

/// Returns the open request to resume this session.
pub(super) fn resuming<'m>(ctx: &CheckContext<'m>, session: &Session) -> Option<&'m Exchange> {
    let request = session.resuming?;
    ctx.conversation.open_of(Party::Client).find(|open| open.n == request)
}

/// Without `replayFrom` the agent replays no history.
///
/// Correct but unusual: a prompt that is open, whose message the agent reports meanwhile, and work that goes on in the
/// session. Only a user message without any prompt fails, and only in a session that is not at work.
fn replay(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|_| MESSAGES.contains(&update.variant)) else { return };
    let Some(request) = resuming(ctx, session).filter(|request| !asks_replay(&request.params)) else { return };
    let fact = fact!(
        "replay",
        "the agent sent {update} before its response to {method} without `replayFrom`; expected no replay",
        update = update.variant, method = RESUME; session_id = update.session, pointer = "/params/update/sessionUpdate"
    );
    let at_work = session.work.state.as_deref().is_some_and(|state| state != "idle");
    let prompted = session.prompts > 0 && session.ended.as_ref().is_none_or(|ended| ended.n > request.n);
    ruling.proved_by(&[request.n]).fail_unless(at_work || prompted || !ctx.conversation.whole, fact);
}

/// Passes a successful resume without `replayFrom`.
fn no_replay(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let asked = proper(answer, RESUME).filter(|exchange| !asks_replay(&exchange.params));
    if asked.is_some() && matches!(answer.outcome, Outcome::Result(_)) {
        ruling.pass();
    }
}

/// "All retained history is replayed before the response."
///
/// Correct but unusual: a message that the agent changes later, after it replayed it, one that it is still writing, and
/// one in another replay. Only an earlier message that the replay left out fails, only before the next prompt, and one
/// of the agent only while the session is idle.
fn late_replay(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let is_meant = |session: &&Session| HISTORY.contains(&update.variant) && session.resuming.is_none();
    let Some(session) = update.known.filter(is_meant) else { return };
    let Some((Opening::Resume, reopened)) = session.reopened else { return };
    let Some((kind, id)) = message_of(&update.update) else { return };
    let messages = ctx.areas.resume.get(update.session).filter(|messages| messages.replay_asked);
    let Some(messages) = messages else { return };
    let key = (kind.to_owned(), id.to_owned());
    let of_user = session.work.user_messages.get(id).is_some_and(|(n, _)| *n < reopened);
    let is_at_rest = session.work.state.as_deref() == Some("idle") && !messages.resumed_at_work;
    let of_agent = is_at_rest && messages.texts.get(&key).is_some_and(|(n, _)| *n < reopened);
    if !(of_user || of_agent) || messages.opened.contains(&key) || messages.has_replayed(kind, id) {
        return;
    }
    let fact = fact!(
        "replay-after-response",
        "the agent sent {update} of the earlier message `{message_id}` after its response to {method}; expected it \
        before",
        update = update.variant, message_id = id, method = RESUME;
        session_id = update.session
    );
    ruling.proved_by(&[reopened]).fail_if(ctx.conversation.whole && !ctx.conversation.may_miss_work(session), fact);
}

/// "Later chunks with the same `messageId` append to the current content", so chunks alone would double a message that
/// the client holds: a whole update with content comes first.
///
/// Correct but unusual: bare chunks for a client that holds nothing of the message, since this connection has not shown
/// it; and a message that is being written in a session at work, or by background work that crosses the request, which
/// is inconclusive.
fn kept_message(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known else { return };
    let Some(request) = resuming(ctx, session).filter(|request| asks_replay(&request.params)) else { return };
    let Some((kind, id)) = message_of(&update.update) else { return };
    let message = (kind.to_owned(), id.to_owned());
    let Some(&shown) = session.work.shown.get(&message).filter(|shown| **shown < request.n) else { return };
    let messages = ctx.areas.resume.get(update.session);
    let is_whole = update.variant == kind;
    if is_whole || messages.is_some_and(|messages| messages.opened.contains(&message)) {
        return ruling.pass();
    }
    let fact = fact!(
        "chunk-without-message",
        "the agent replayed {update} of the message `{message_id}`, which the client holds, before a whole \
        {expected} with this id",
        update = update.variant, message_id = id, expected = kind;
        pointer = "/params/update/messageId"
    );
    let at_work = session.work.state.as_deref().is_some_and(|state| state != "idle");
    let resumed_at_work = messages.is_some_and(|messages| messages.resumed_at_work);
    let is_doubtful = at_work || resumed_at_work || ctx.conversation.may_miss_work(session);
    ruling.proved_by(&[request.n, shown]).fail_unless(is_doubtful, fact);
}

/// "session/resume" with `replayFrom` stands for "session/load".
fn load(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.method == "session/resume" {
        ruling.pass();
    } else if call.method == "session/load" {
        ruling.fail(fact!(
            "method-of-version-1",
            "the client called {method}, which only version 1 has; expected session/resume",
            method = call.method; pointer = "/method"
        ));
    }
}
