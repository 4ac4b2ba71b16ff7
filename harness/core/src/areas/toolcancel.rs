//! Areas `toolcancel` and `termcancel`: cancels of single tool calls and terminals.

use std::collections::BTreeMap;

use crate::areas::state::{end_of, idle, served, watched};
use crate::areas::support::fail_in_case;
use crate::areas::{Check, CheckContext, On, background};
use crate::conversation::timing::{CANCEL_LIMIT, between, millis};
use crate::conversation::{Activity, CallSeen, UpdateSeen, Work};
use crate::fact;
use crate::finding::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("toolcancel.state-unchanged", On::Update(idle_by_tool_cancel)).only(&["state_update"]),
    Check::agent("toolcancel.confirmed", On::End(|ctx, ruling| unconfirmed(ctx, "tool call", ruling))),
    Check::agent("termcancel.confirmed", On::End(|ctx, ruling| unconfirmed(ctx, "terminal", ruling))),
    Check::client("toolcancel.gated", On::Call(tool_cancel)).only(&["tool_call/cancel"]),
    Check::client("termcancel.gated", On::Call(terminal_cancel)).only(&["terminal/cancel"]),
];

/// "Cancelling a tool call does not change the foreground state by itself."
///
/// Correct but unusual: foreground work that ends because its only tool call was cancelled. So only an idle state fails
/// after which the agent goes on with a message and reports the end of the work again.
fn idle_by_tool_cancel(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(Some(_))) = (update.known, idle(update)) else { return };
    let (work, history) = (&session.work, &session.work.history);
    let Some((cancel, (begun, _))) =
        history.tool_cancelled.zip(work.begun).filter(|(cancel, (begun, _))| cancel > begun)
    else {
        return;
    };
    let is_prompted = session.turn.is_some() || work.accepted.iter().any(|(n, _)| *n > cancel);
    let went_on = history.spoke.is_some_and(|spoke| spoke > history.idle);
    if work.is_active() {
        ruling.pass();
    } else if history.idle > cancel && went_on && !is_prompted && work.ending.is_none() {
        let fact = fact!(
            "idle-after-tool-cancel",
            "the agent reported idle after {method} and then went on with the same work; expected the state to stay",
            method = "tool_call/cancel"; session_id = update.session, pointer = "/params/update/state"
        );
        fail_in_case(ctx, fact, &[cancel, begun, history.idle], ruling);
    }
}

/// An accepted cancel of a tool call or of a terminal is followed by its end.
///
/// Correct but unusual: an agent that gives a command some seconds to end. It is inconclusive if the agent still lists
/// the work as running in the background.
fn unconfirmed(ctx: &CheckContext<'_>, kind: &str, ruling: &mut Ruling<'_>) {
    for (id, session) in watched(ctx) {
        let work = &session.work;
        let listed: Vec<_> = work.background.iter().flat_map(|(_, list)| list).filter_map(background::item).collect();
        let activities = if kind == "terminal" { &work.terminals } else { &work.tools };
        let cancelled = |activity: &Activity| activity.cancel_accepted.filter(|_| !activity.is_over);
        for (name, (n, us)) in activities.iter().filter_map(|(name, activity)| Some((name, cancelled(activity)?))) {
            let wait = between(us, end_of(ctx));
            if wait > CANCEL_LIMIT && served(ctx, n) {
                let fact = fact!(
                    "cancel-not-confirmed",
                    "the agent accepted to cancel the {activity} `{id}` and had not reported its end {after_ms} later; \
                    expected at most {limit_ms}",
                    activity = kind, id = name, after_ms = millis(wait), limit_ms = millis(CANCEL_LIMIT);
                    session_id = id
                );
                let lists = listed.iter().any(|(_, id)| id == name);
                if lists { ruling.inconclusive(fact, &[n]) } else { ruling.fail(fact, &[n]) }
            }
        }
    }
}

/// The client cancels a tool call only while it advertises `cancel`.
fn tool_cancel(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    cancel_gate(ctx, call, ("tool_call/cancel", "toolCallId"), |work| &work.tools, ruling);
}

/// The client cancels a terminal only while it advertises `cancel`.
fn terminal_cancel(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    cancel_gate(ctx, call, ("terminal/cancel", "terminalId"), |work| &work.terminals, ruling);
}

/// Decides about a cancel by `method`, whose member names one of the `activities` of the session.
///
/// Correct but unusual: the agent has just withdrawn the capability, or the tool call has just ended, and the client
/// had not read that yet. This is inconclusive, as is a session that was resumed.
fn cancel_gate(
    ctx: &CheckContext<'_>,
    call: &CallSeen<'_>,
    (method, member): (&str, &str),
    activities: impl FnOnce(&Work) -> &BTreeMap<String, Activity>,
    ruling: &mut Ruling<'_>,
) {
    let session = call.text("sessionId").and_then(|id| ctx.conversation.session(id));
    let (Some(id), Some(session)) = (call.text_of(method, member), session) else { return };
    let fact = || {
        fact!(
            "cancel-not-advertised",
            "the client sent {method} for `{id}`, which does not advertise `cancel`",
            method, id; pointer = format!("/params/{member}")
        )
    };
    let unsure = session.was_reopened || ctx.conversation.may_miss_work(session);
    match activities(&session.work).get(id) {
        Some(activity) if activity.cancellable && !activity.is_over => ruling.pass(),
        Some(activity) if activity.was_cancellable => ruling.inconclusive(fact(), &[]),
        _ if unsure => ruling.inconclusive(fact(), &[]),
        _ => ruling.fail(fact(), &[]),
    }
}
