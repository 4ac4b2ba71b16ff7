//! Areas `state`, `cancel` and `close`: the begin and the end of the work, and cancels of single tool calls and terminals.
//!
//! A message that does not come fails a requirement only in a case, after a time window and an answered later request.

use serde_json::Value;

use crate::areas::background;
use crate::areas::common::proper;
use crate::areas::{Check, Moment, On};
use crate::conversation::timing::{CANCEL_CROSSING, CANCEL_LIMIT, CLEAN_UP, OUTPUT_SILENCE, between, millis};
use crate::conversation::{Activity, Answer, EndedBy, Ending, Outcome, Session, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("state.running-on-start", On::Update(begins)).only(&[STATE]),
    Check::agent("state.custom-needs-standard", On::Update(only_custom)).only(&[STATE]),
    Check::agent("state.idle-ends-turn", On::End(hangs)),
    Check::agent("state.leaves-requires-action", On::End(stays_blocked)),
    Check::agent(
        "cancel.idle-cancelled",
        On::Update(|moment, update, ruling| reason(moment, update, EndedBy::Cancel, ruling)),
    )
    .only(&[STATE]),
    Check::agent(
        "close.cancels-work",
        On::Update(|moment, update, ruling| reason(moment, update, EndedBy::Close, ruling)),
    )
    .only(&[STATE]),
    Check::agent("close.updates-before-response", On::Response(closed_at_work)).only(&[CLOSE]),
    Check::agent("session.baseline-cancel", On::End(|moment, ruling| goes_on(moment, false, ruling))),
    Check::agent("cancel.permissions-released", On::End(|moment, ruling| goes_on(moment, true, ruling))),
    Check::agent("cancel.permissions-cancelled", On::End(left_open)),
    Check::agent("toolcancel.confirmed", On::End(|moment, ruling| unconfirmed(moment, "tool call", ruling))),
    Check::agent("termcancel.confirmed", On::End(|moment, ruling| unconfirmed(moment, "terminal", ruling))),
];

const STATE: &str = "state_update";
const CLOSE: &str = "session/close";
const REASON: &str = "/params/update/stopReason";

/// Returns the stop reason of an update by which a session becomes idle; the outer `None` stands for any other update.
#[expect(clippy::option_option, reason = "an idle session may have no stop reason")]
pub(super) fn idle<'m>(update: &UpdateSeen<'m>) -> Option<Option<&'m str>> {
    let is_idle = update.variant == STATE && update.body.member("state").and_then(Value::as_str) == Some("idle");
    is_idle.then(|| update.body.member("stopReason").and_then(Value::as_str))
}

/// Returns the sessions of which the trace shows all work, at the end of a case that was not closed.
pub(super) fn watched<'m>(moment: &Moment<'m>) -> impl Iterator<Item = (&'m str, &'m Session)> {
    let talk = moment.talk;
    let known = talk.sessions.iter().filter(|(_, session)| session.closed.is_none() && !talk.may_miss_work(session));
    known.filter(|_| talk.whole).map(|(id, session)| (id.as_str(), session))
}

/// Returns the time until which the agent could go on.
fn end_of(moment: &Moment<'_>) -> u64 {
    moment.talk.course.closed_us.unwrap_or(moment.us)
}

/// Whether the agent answered a fence that was sent after this event.
fn served(moment: &Moment<'_>, since: usize) -> bool {
    moment.talk.fence.is_some_and(|fence| fence > since)
}

/// "Agents report `running` when foreground work starts."
///
/// Correct but unusual: updates of background work in an idle session, and an idle state that is repeated without new work. Only
/// a prompt that was accepted, then output, then an end with a stop reason fails.
fn begins(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(Some(reason))) = (update.known, idle(update)) else { return };
    let work = &session.work;
    let accepted = work.accepted.iter().map(|(n, _)| *n).find(|n| work.state.is_none() || *n > work.state_at);
    let Some((accepted, (output, _))) = accepted.zip(work.output).filter(|_| !work.is_active()) else { return };
    if output < accepted || session.was_reopened || work.history.custom.is_some() {
        return;
    }
    let fact = fact!(
        "work-without-begin",
        "the agent ended its work as {actual} and had not reported that it began; expected the state running",
        actual = reason; session_id = update.session, pointer = "/params/update/state"
    );
    if moment.talk.whole && !moment.talk.may_miss_work(session) {
        ruling.fail(fact, &[accepted, output]);
    } else {
        ruling.inconclusive(fact, &[accepted, output]);
    }
}

/// "Unless the Client advertised support for this state, Agents MUST still report the standard states."
///
/// Correct but unusual: custom states of background work in an idle session. Only a prompt that was accepted and then ended
/// with a stop reason fails. The harness supports no custom state.
fn only_custom(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(Some(_))) = (update.known, idle(update)) else { return };
    let (work, history) = (&session.work, &session.work.history);
    let Some(custom) = history.custom else { return };
    let accepted = work.accepted.iter().map(|(n, _)| *n).find(|n| *n > history.idle);
    if history.has_begun {
        ruling.pass();
    } else if let Some(accepted) = accepted.filter(|_| !session.was_reopened && moment.talk.whole) {
        let fact = fact!(
            "only-custom-state",
            "the agent worked on a prompt and reported only a state of its own; expected running or requires_action too";
            session_id = update.session, pointer = "/params/update/state"
        );
        ruling.fail(fact, &[custom, accepted]);
    }
}

/// The agent reports `idle` when no foreground work remains.
///
/// Correct but unusual: a model that pauses, a tool call that runs, and a question that waits for the user. So only an agent
/// fails that repeated the text which the prompt asked it to repeat, when it sends nothing more for long.
fn hangs(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    for (id, session) in watched(moment) {
        let work = &session.work;
        let waits = moment.talk.open_of(Party::Agent).any(|open| open.session() == Some(id));
        let busy = work.tools.values().chain(work.terminals.values()).any(|activity| !activity.is_over);
        let (last, us) = work.updated;
        let done = work.is_active() && !waits && !busy && work.ending.is_none() && has_sent_all_text(session);
        if done && between(us, end_of(moment)) > OUTPUT_SILENCE && served(moment, last) {
            let fact = fact!(
                "work-not-ended",
                "the agent sent all requested text, then nothing for {limit_ms} ms; expected the state idle",
                limit_ms = millis(OUTPUT_SILENCE); session_id = id
            );
            ruling.fail(fact, &[last]);
        }
    }
}

/// Whether the agent has repeated a text of the last prompt; only this proves that a model is done.
pub(super) fn has_sent_all_text(session: &Session) -> bool {
    const TELLING: usize = 8;
    let prompt = session.spoken.iter().rfind(|(variant, _)| variant == "user_message_chunk");
    let reply = session.work.reply.trim();
    reply.len() >= TELLING && prompt.is_some_and(|(_, prompt)| prompt.contains(reply))
}

/// After `requires_action` the agent reports `running` when the work goes on, or `idle`.
///
/// Correct but unusual: an agent that waits for another question or for the user to visit a page, and one that reports the state
/// a moment after its output.
fn stays_blocked(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    let visits = &moment.talk.visits;
    for (id, session) in watched(moment).filter(|_| !visits.any_outstanding() && !visits.overflown) {
        let work = &session.work;
        let blocked = work.state.as_deref() == Some("requires_action") && work.ending.is_none();
        let (Some(answer), Some((output, us))) = (work.settled.filter(|_| blocked), work.output) else { continue };
        let waits = moment.talk.open_of(Party::Agent).any(|open| open.session() == Some(id));
        if !waits && between(us, end_of(moment)) > CLEAN_UP && served(moment, output) {
            let fact = fact!(
                "state-not-left",
                "the agent went on after the answer of the user and still reports requires_action; expected running or idle";
                session_id = id
            );
            ruling.fail(fact, &[output, answer]);
        }
    }
}

/// Whether the work that the client wanted to end cannot have ended by itself before the agent read that.
pub(super) fn had_read(moment: &Moment<'_>, session: &Session, ending: &Ending, update: &UpdateSeen<'_>) -> bool {
    let late = moment.talk.course.in_between(ending.since, moment.us) > CANCEL_CROSSING;
    late || !ending.questions.is_empty() || moment.talk.whole && leaves_tool(session, update)
}

/// Whether the agent ends its work while a tool call of the foreground is in progress.
///
/// This looks at the end of the work: a call that was in progress at the cancel may have ended before the agent read it.
fn leaves_tool(session: &Session, end: &UpdateSeen<'_>) -> bool {
    let before = session.work.background.as_ref().map_or(&[][..], |(_, list)| list);
    let listed = before.iter().chain(background::list(end).unwrap_or_default());
    let listed: Vec<_> = listed.filter_map(background::item).collect();
    let mut tools =
        session.tools.iter().filter(|(_, tool)| session.work.begun.is_some_and(|(begun, _)| tool.n > begun));
    tools.any(|(id, tool)| tool.status == "in_progress" && !listed.contains(&("tool_call", id)))
}

/// "After cancelling … the agent sends an idle state update with the `cancelled` stop reason", and closing does the same.
///
/// Correct but unusual: work that came to its own end while the message was on its way. It is inconclusive, unless a question
/// waited for the user, a tool call is still in progress, or the agent took long.
fn reason(moment: &Moment<'_>, update: &UpdateSeen<'_>, by: EndedBy, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(reason)) = (update.known, idle(update)) else { return };
    let Some(ending) = session.work.ending.as_ref().filter(|ending| ending.by == by) else { return };
    if reason == Some("cancelled") {
        return ruling.pass();
    }
    // That has a requirement of its own.
    if reason == Some("error") && by == EndedBy::Cancel {
        return;
    }
    let method = if by == EndedBy::Cancel { "session/cancel" } else { CLOSE };
    let ended = reason.unwrap_or("idle without a stop reason");
    if had_read(moment, session, ending, update) {
        let fact = fact!(
            "wrong-stop-reason",
            "the agent ended its work as {actual} after {method}; expected the stop reason cancelled",
            actual = ended, method; pointer = REASON
        );
        ruling.fail(fact, &[ending.n]);
    } else {
        let fact = fact!(
            "end-crossed-message",
            "the agent ended its work as {actual}; that may have crossed {method}",
            actual = ended, method; pointer = REASON
        );
        ruling.inconclusive(fact, &[ending.n]);
    }
}

/// "All final updates … are sent before the close response."
///
/// Correct but unusual: a session that was idle when it was closed, and one that another request closes at the same time.
fn closed_at_work(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, CLOSE).filter(|_| matches!(answer.outcome, Outcome::Result(_))) else { return };
    let Some(session) = exchange.session().and_then(|id| moment.talk.session(id)) else { return };
    let work = &session.work;
    if work.is_active() {
        let fact = fact!(
            "closed-at-work",
            "the agent answered {method} while its last state is {actual}; expected the state idle before the response",
            method = CLOSE, actual = work.state; session_id = exchange.session()
        );
        let sure = moment.talk.whole && !moment.talk.may_miss_work(session) && session.closed.is_none();
        if sure { ruling.fail(fact, &[exchange.n]) } else { ruling.inconclusive(fact, &[exchange.n]) }
    } else if work.state_at > exchange.n {
        ruling.pass();
    }
}

/// The agent acts on `session/cancel`, and does not wait for the user then (`asked`).
///
/// Correct but unusual: an agent that first gives a tool some seconds to end.
fn goes_on(moment: &Moment<'_>, asked: bool, ruling: &mut Ruling<'_>) {
    for (id, session) in watched(moment) {
        let ending = session.work.ending.as_ref().filter(|ending| ending.by == EndedBy::Cancel);
        let Some(ending) = ending.filter(|ending| asked != ending.questions.is_empty()) else { continue };
        let long = moment.talk.course.in_between(ending.since, end_of(moment)) > CANCEL_LIMIT;
        if long && served(moment, ending.n) {
            let fact = fact!(
                "work-goes-on",
                "the agent did not report the end of the cancelled work within {limit_ms} ms, but answered a later request",
                limit_ms = millis(CANCEL_LIMIT); session_id = id
            );
            ruling.fail(fact, &[ending.n]);
        }
    }
}

/// "The agent … SHOULD cancel them with `$/cancel_request`": the questions of work that was cancelled.
///
/// Correct but unusual: a client that answers the question by itself as soon as it cancels.
fn left_open(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    for (id, session) in watched(moment) {
        for (question, cancel, end) in &session.work.left_open {
            let open = moment.talk.open_of(Party::Agent).find(|open| open.n == *question);
            if open.is_some_and(|open| open.cancel_requested.is_none()) && served(moment, *end) {
                let fact = fact!(
                    "question-left-open",
                    "the agent ended the cancelled work and did not cancel its question to the user; expected {expected}",
                    expected = "$/cancel_request"; session_id = id
                );
                ruling.fail(fact, &[*end, *question, *cancel]);
            }
        }
    }
}

/// An accepted cancel of a tool call or of a terminal is followed by its end.
///
/// Correct but unusual: an agent that gives a command some seconds to end. It is inconclusive if the agent still lists the work
/// as running in the background.
fn unconfirmed(moment: &Moment<'_>, kind: &str, ruling: &mut Ruling<'_>) {
    for (id, session) in watched(moment) {
        let work = &session.work;
        let listed: Vec<_> = work.background.iter().flat_map(|(_, list)| list).filter_map(background::item).collect();
        let activities = if kind == "terminal" { &work.terminals } else { &work.tools };
        let cancelled = |activity: &Activity| activity.cancel_accepted.filter(|_| !activity.is_over);
        for (name, (n, us)) in activities.iter().filter_map(|(name, activity)| Some((name, cancelled(activity)?))) {
            let wait = between(us, end_of(moment));
            if wait > CANCEL_LIMIT && served(moment, n) {
                let fact = fact!(
                    "cancel-not-confirmed",
                    "the agent accepted to cancel the {activity} `{id}` and did not report its end within {limit_ms} ms",
                    activity = kind, id = name, limit_ms = millis(CANCEL_LIMIT); session_id = id
                );
                let lists = listed.iter().any(|(_, id)| id == name);
                if lists { ruling.inconclusive(fact, &[n]) } else { ruling.fail(fact, &[n]) }
            }
        }
    }
}
