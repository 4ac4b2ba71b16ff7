//! Area `resume`: the update `replay_complete`, which ends a replay.

use super::state::Messages;
use super::v2::resuming;
use crate::areas::common::{BAD_PARAMS, proper};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Outcome, Session, UpdateSeen, asks_replay, message_of};
use crate::fact;
use crate::finding::{Fact, Ruling};

pub(super) const CHECKS: &[Check] = &[
    Check::agent("resume.replay-complete", On::Response(marker_missing)).only(&[RESUME]),
    Check::agent("resume.replay-complete", On::Update(marker_again)).only(MARKER),
    Check::agent("resume.replay-complete", On::Update(replay_after_marker)).only(WHOLE),
    Check::agent("resume.marker-not-on-truncation", On::Response(marker_of_refused)).only(&[RESUME]),
    Check::agent("resume.no-marker-without-replay", On::Response(no_marker)).only(&[RESUME]),
    Check::agent("resume.no-marker-without-replay", On::Update(unasked_marker)).only(MARKER),
    Check::agent("resume.child-marker", On::Update(child_marker)).only(MARKER),
];

const RESUME: &str = "session/resume";

const MARKER: &[&str] = &["replay_complete"];

const WHOLE: &[&str] = &["user_message", "agent_message"];

/// Fails unless the trace may miss a message of the session.
fn fail_if_seen(ctx: &CheckContext<'_>, session: &Session, fact: Fact, also: &[usize], ruling: &mut Ruling<'_>) {
    ruling.proved_by(also).fail_unless(ctx.conversation.may_miss_work(session), fact);
}

/// "The Agent MUST send this exactly once on a session for each `session/resume` request with a `replayFrom` cursor,
/// after the last replayed update for that session and before the response, even for an empty replay."
///
/// Correct but unusual: an error as the response, with or without a marker, and updates of any kind between marker and
/// response. Requests to resume one session that overlap are left out, since nothing distinguishes their markers.
fn marker_missing(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let asked = proper(answer, RESUME).filter(|exchange| asks_replay(&exchange.params));
    let Some(exchange) = asked.filter(|_| matches!(answer.outcome, Outcome::Result(_))) else { return };
    let Some(id) = exchange.session() else { return };
    let Some(session) = ctx.conversation.session(id).filter(|known| known.resuming == Some(exchange.n)) else { return };
    let Some(messages) = ctx.areas.resume.get(id).filter(|messages| !messages.overlaps) else { return };
    if messages.markers.is_empty() {
        let fact = fact!(
            "no-replay-complete",
            "the agent answered {method} with `replayFrom` without {expected} before; expected it after the replay",
            method = RESUME, expected = MARKER[0]; session_id = id
        );
        fail_if_seen(ctx, session, fact, &[exchange.n], ruling);
    } else {
        ruling.pass();
    }
}

/// "The Agent MUST NOT send it … when it cannot finish the replay."
///
/// Correct but unusual: a replay that is complete before the rest of the resume fails, perhaps one of nothing. So only
/// a marker fails that follows no message, in a case, if the session has some and the agent refuses the params.
fn marker_of_refused(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let asked = proper(answer, RESUME).filter(|exchange| asks_replay(&exchange.params));
    let Some(exchange) = asked.filter(|_| answer.outcome.error_code() == Some(BAD_PARAMS)) else { return };
    let messages = exchange.session().and_then(|id| ctx.areas.resume.get(id)).filter(|messages| !messages.overlaps);
    let Some(messages) = messages.filter(|messages| !messages.texts.is_empty() && messages.replayed.is_empty()) else {
        return;
    };
    match messages.markers.first() {
        Some(marker) => ruling.proved_by(&[exchange.n, *marker]).fail_in_case(fact!(
            "marker-of-refused-replay",
            "the agent sent {update} without a replay and refused {method} after it; expected no such update",
            update = MARKER[0], method = RESUME; session_id = exchange.session().unwrap_or_default()
        )),
        None => ruling.pass(),
    }
}

/// Returns what is known of a session that was last resumed with a replay.
fn replayed<'m>(ctx: &CheckContext<'m>, update: &UpdateSeen<'m>) -> Option<(&'m Session, &'m Messages)> {
    let messages = ctx.areas.resume.get(update.session)?;
    Some((update.known?, messages)).filter(|_| messages.replay_asked && !messages.overlaps)
}

/// As above: a second marker for one request, also after the response.
fn marker_again(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, messages)) = replayed(ctx, update).filter(|_| MARKER.contains(&update.variant)) else { return };
    if let Some(first) = messages.markers.first() {
        let fact = fact!(
            "replay-complete-again",
            "the agent sent {update} a second time for one {method}; expected it once",
            update = update.variant, method = RESUME;
            session_id = update.session, pointer = "/params/update/sessionUpdate"
        );
        fail_if_seen(ctx, session, fact, &[*first], ruling);
    }
}

/// As above: an earlier message that the agent replays after the marker.
///
/// Correct but unusual: a live message that waited for the end of the replay, and a change of a message that was
/// replayed before. So only a whole message fails that this connection showed before the request and that the replay
/// left out until the marker; one of the agent only if no work goes on, which may change it.
fn replay_after_marker(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, messages)) = replayed(ctx, update).filter(|_| WHOLE.contains(&update.variant)) else { return };
    let (Some(request), Some(marker)) = (resuming(ctx, session), messages.markers.first()) else { return };
    let Some((kind, id)) = message_of(&update.update) else { return };
    let message = (kind.to_owned(), id.to_owned());
    let is_earlier = session.work.shown.get(&message).is_some_and(|shown| *shown < request.n);
    let is_replayed = messages.opened.contains(&message) || messages.replayed.iter().any(|it| it.id == id);
    let is_at_work = messages.resumed_at_work || session.work.is_active();
    if is_earlier && !is_replayed && (kind == "user_message" || !is_at_work) {
        let fact = fact!(
            "replay-after-marker",
            "the agent replayed the message `{message_id}` after {expected}; expected it before",
            message_id = id, expected = MARKER[0];
            session_id = update.session, pointer = "/params/update/sessionUpdate"
        );
        fail_if_seen(ctx, session, fact, &[*marker, request.n], ruling);
    }
}

/// "The Agent MUST NOT send it when `replayFrom` is omitted or `null`."
///
/// Correct but unusual: the marker of a child, which the client did not resume.
fn unasked_marker(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|_| MARKER.contains(&update.variant)) else { return };
    let messages = ctx.areas.resume.get(update.session);
    if messages.is_some_and(|messages| messages.replay_asked || messages.overlaps) {
        return;
    }
    let fact = fact!(
        "unasked-replay-complete",
        "the agent sent {update} in a session that the client did not resume with `replayFrom`; expected none",
        update = update.variant; session_id = update.session, pointer = "/params/update/sessionUpdate"
    );
    fail_if_seen(ctx, session, fact, session.resuming.as_slice(), ruling);
}

/// Passes a successful resume without `replayFrom` and without a marker.
fn no_marker(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let asked = proper(answer, RESUME).filter(|exchange| !asks_replay(&exchange.params));
    let Some(exchange) = asked.filter(|_| matches!(answer.outcome, Outcome::Result(_))) else { return };
    let messages = exchange.session().and_then(|id| ctx.areas.resume.get(id));
    if messages.is_some_and(|messages| messages.markers.is_empty()) {
        ruling.pass();
    }
}

/// Records a marker of a session that the agent announced.
fn child_marker(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let is_marker = MARKER.contains(&update.variant) && update.known.is_none();
    if is_marker && ctx.conversation.children.contains_key(update.session) {
        ruling.note(fact!("child-marker", "the agent sent {update} for a child session, too", update = update.variant));
    }
}
