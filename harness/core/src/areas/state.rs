//! Area `state`: the begin and the end of the work.
//!
//! A message that does not come fails a requirement only in a case, after a time window and an answered later request.

use serde_json::Value;

use crate::areas::{Check, CheckContext, On};
use crate::conversation::timing::{CLEAN_UP, OUTPUT_SILENCE, between, millis};
use crate::conversation::{Session, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("state.running-on-start", On::Update(begins)).only(&[STATE]),
    Check::agent("state.custom-needs-standard", On::Update(only_custom)).only(&[STATE]),
    Check::agent("state.idle-ends-turn", On::End(hangs)),
    Check::agent("state.stop-reason-should", On::Update(stop_reason)).only(&[STATE]),
    Check::agent("state.stop-reason-own", On::Update(stop_reason_of_work_before)).only(&[STATE]),
    Check::agent("state.leaves-requires-action", On::End(stays_blocked)),
    Check::agent("state.leaves-requires-action", On::Update(resumes_in_silence)).only(&[STATE]),
];

/// The bytes from which on a text tells messages apart.
pub(super) const DISTINCTIVE: usize = 8;

pub(super) const STATE: &str = "state_update";

/// Returns the stop reason of an update by which a session becomes idle; the outer `None` stands for any other update.
#[expect(clippy::option_option, reason = "an idle session may have no stop reason")]
pub(super) fn idle<'m>(update: &UpdateSeen<'m>) -> Option<Option<&'m str>> {
    let is_idle = update.variant == STATE && update.body.text("state") == Some("idle");
    is_idle.then(|| update.body.text("stopReason"))
}

/// Returns the sessions of which the trace shows all work, at the end of a case that was not closed.
pub(super) fn watched<'m>(ctx: &CheckContext<'m>) -> impl Iterator<Item = (&'m str, &'m Session)> {
    let conversation = ctx.conversation;
    let known = conversation
        .sessions
        .iter()
        .filter(|(_, session)| session.closed.is_none() && !conversation.may_miss_work(session));
    known.filter(|_| conversation.whole).map(|(id, session)| (id.as_str(), session))
}

/// Returns the time until which the agent could go on.
pub(super) fn end_of(ctx: &CheckContext<'_>) -> u64 {
    ctx.conversation.closed_us.unwrap_or(ctx.us)
}

/// Whether the agent answered a fence that was sent after this event.
pub(super) fn served(ctx: &CheckContext<'_>, since: usize) -> bool {
    ctx.conversation.fence.is_some_and(|fence| fence > since)
}

/// "Agents report `running` when foreground work starts."
///
/// Correct but unusual: updates of background work in an idle session, and an idle state that is repeated without new
/// work. Only a prompt that was accepted, then output, then an end with a stop reason fails.
fn begins(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
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
    let is_certain = ctx.conversation.whole && !ctx.conversation.may_miss_work(session);
    ruling.proved_by(&[accepted, output]).fail_if(is_certain, fact);
}

/// An idle that ends work "SHOULD" say why.
///
/// Correct but unusual: an idle session that is reported again, and the state of a session that was opened just now.
/// Work that the client ends has requirements of its own.
fn stop_reason(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(reason)) = (update.known, idle(update)) else { return };
    let work = &session.work;
    if !work.is_active() || work.ending.is_some() || session.resuming.is_some() {
        return;
    }
    if reason.is_some() {
        ruling.pass();
    } else if ctx.conversation.whole {
        ruling.proved_by(&[work.state_at]).fail(fact!(
            "no-stop-reason",
            "the agent ended its work without a stop reason; expected one in the state idle";
            session_id = update.session, pointer = "/params/update/stopReason"
        ));
    }
}

/// `stopReason`: "Why foreground work stopped", and not why the work before did.
///
/// Correct but unusual: an agent that refuses each prompt after one, or whose session has no tokens left. It does not
/// write all of the text for which the prompt asks. So this fails only if the reply is exactly this text.
fn stop_reason_of_work_before(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    const LIMITS: [&str; 4] = ["max_tokens", "max_turn_requests", "refusal", "error"];
    let (Some(session), Some(Some(reason))) = (update.known, idle(update)) else { return };
    let work = &session.work;
    let before = work.history.stopped.as_ref().filter(|(_, before)| LIMITS.contains(&before.as_str()));
    let Some((stopped, before)) = before.filter(|_| work.is_active() && !session.was_reopened) else { return };
    let Some(prompt) = session.model.prompts.last().filter(|prompt| prompt.n > *stopped) else { return };
    let intent: Value = serde_json::from_str(&prompt.intent).unwrap_or_default();
    let asked = intent.text("text").filter(|_| intent.text("intent") == Some("say"));
    if asked != Some(work.reply.trim()) || session.has_other_prompt(prompt.n) || ctx.conversation.is_redacted {
        return;
    }
    if reason == before {
        ruling.proved_by(&[*stopped, prompt.n]).fail_in_case(fact!(
            "stop-reason-of-work-before",
            "the agent ended its work as {actual}, like the work before, and replied with the whole text that it was \
            asked for; expected {expected}",
            actual = reason, expected = "end_turn"; session_id = update.session, pointer = "/params/update/stopReason"
        ));
    } else {
        ruling.pass();
    }
}

/// "Unless the Client advertised support for this state, Agents MUST still report the standard states."
///
/// Correct but unusual: custom states of background work in an idle session. Only a prompt that was accepted and then
/// ended with a stop reason fails. The harness supports no custom state.
fn only_custom(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(Some(_))) = (update.known, idle(update)) else { return };
    let (work, history) = (&session.work, &session.work.history);
    let Some(custom) = history.custom else { return };
    let accepted = work.accepted.iter().map(|(n, _)| *n).find(|n| *n > history.idle);
    if history.has_begun {
        ruling.pass();
    } else if let Some(accepted) = accepted.filter(|_| !session.was_reopened && ctx.conversation.whole) {
        ruling.proved_by(&[custom, accepted]).fail(fact!(
            "only-custom-state",
            "the agent worked on a prompt and reported only a state of its own; expected running or requires_action \
            too";
            session_id = update.session, pointer = "/params/update/state"
        ));
    }
}

/// "Once reported, Agents MUST report `running` when progress resumes, or `idle` if the work ends without resuming."
///
/// Correct but unusual: a tool call that the user refused, a cancel, another question or a page that still waits for
/// the user, and an agent that only writes a last message. So this fails only if the tool call of the last answered
/// question ran or was completed after the answer, and the next state is an end of the work.
fn resumes_in_silence(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(Some(_))) = (update.known, idle(update)) else { return };
    let (work, visits) = (&session.work, &ctx.areas.elicit);
    let blocked = work.state.as_deref() == Some("requires_action") && !work.may_be_ended();
    let Some((answer, resumed)) = work.settled.zip(work.resumed).filter(|_| blocked) else { return };
    let waits = ctx.conversation.open_of(Party::Agent).any(|open| open.session() == Some(update.session));
    if waits || visits.any_outstanding() || visits.overflown || session.was_reopened || !ctx.conversation.whole {
        return;
    }
    ruling.proved_by(&[answer, resumed]).fail(fact!(
        "running-not-reported",
        "the agent went on with the tool call after the answer of the user and reported idle after requires_action; \
        expected running before that";
        session_id = update.session, pointer = "/params/update/state"
    ));
}

/// The agent reports `idle` when no foreground work remains.
///
/// Correct but unusual: a model that pauses, a tool call that runs, and a question that waits for the user. So only an
/// agent fails that repeated the text which the prompt asked it to repeat, when it sends nothing more for long.
fn hangs(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    for (id, session) in watched(ctx) {
        let work = &session.work;
        let waits = ctx.conversation.open_of(Party::Agent).any(|open| open.session() == Some(id));
        let busy = work.tools.values().chain(work.terminals.values()).any(|activity| !activity.is_over);
        let (last, us) = work.updated;
        let done = work.is_active() && !waits && !busy && !work.may_be_ended() && has_sent_all_text(ctx, session);
        if done && between(us, end_of(ctx)) > OUTPUT_SILENCE && served(ctx, last) {
            ruling.proved_by(&[last]).fail(fact!(
                "work-not-ended",
                "the agent sent all requested text, then nothing for {limit_ms}; expected the state idle",
                limit_ms = millis(OUTPUT_SILENCE); session_id = id
            ));
        }
    }
}

/// Whether the agent has repeated a text of the last prompt; only this proves that a model is done.
pub(super) fn has_sent_all_text(ctx: &CheckContext<'_>, session: &Session) -> bool {
    let prompt = session.spoken.iter().rfind(|(variant, _)| variant == "user_message_chunk");
    let reply = session.work.reply.trim();
    // Redacted texts are alike.
    let is_shown = !ctx.conversation.is_redacted && reply.len() >= DISTINCTIVE;
    is_shown && prompt.is_some_and(|(_, prompt)| prompt.contains(reply))
}

/// After `requires_action` the agent reports `running` when the work goes on, or `idle`.
///
/// Correct but unusual: an agent that waits for another question or for the user to visit a page, and one that reports
/// the state a moment after its output.
fn stays_blocked(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let visits = &ctx.areas.elicit;
    for (id, session) in watched(ctx).filter(|_| !visits.any_outstanding() && !visits.overflown) {
        let work = &session.work;
        let blocked = work.state.as_deref() == Some("requires_action") && !work.may_be_ended();
        let (Some(answer), Some((output, us))) = (work.settled.filter(|_| blocked), work.output) else { continue };
        let waits = ctx.conversation.open_of(Party::Agent).any(|open| open.session() == Some(id));
        if !waits && between(us, end_of(ctx)) > CLEAN_UP && served(ctx, output) {
            ruling.proved_by(&[output, answer]).fail(fact!(
                "state-not-left",
                "the agent went on after the answer of the user and still reports requires_action; expected running \
                or idle";
                session_id = id
            ));
        }
    }
}
