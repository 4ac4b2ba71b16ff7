//! Areas `toolcancel` and `termcancel`: cancels of single tool calls and terminals.

mod state;

use std::collections::BTreeMap;

pub use self::state::{CANCEL_ONE, State};
use self::state::{Cancellable, Cancels};
use crate::areas::state::{end_of, idle, served, watched};
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
/// Correct but unusual: foreground work that ends because its only tool call was cancelled, which decides nothing. So
/// only an idle state fails after which the agent goes on with a message and reports the end of the work again.
fn idle_by_tool_cancel(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(Some(_))) = (update.known, idle(update)) else { return };
    let (work, history) = (&session.work, &session.work.history);
    let Some(cancels) = ctx.areas.toolcancel.of(update.session) else { return };
    let Some((cancel, (begun, _))) = cancels.of_tool.zip(work.begun).filter(|(cancel, (begun, _))| cancel > begun)
    else {
        return;
    };
    let is_prompted = session.turn.is_some() || work.accepted.iter().any(|(n, _)| *n > cancel);
    let went_on = |since: usize| cancels.spoke.is_some_and(|spoke| spoke > since);
    if work.is_active() {
        if went_on(cancel) {
            ruling.pass();
        }
    } else if history.idle > cancel && went_on(history.idle) && !is_prompted && !work.may_be_ended() {
        ruling.proved_by(&[cancel, begun, history.idle]).fail_in_case(fact!(
            "idle-after-tool-cancel",
            "the agent reported idle after {method} and then went on with the same work; expected the state to stay",
            method = "tool_call/cancel"; session_id = update.session, pointer = "/params/update/state"
        ));
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
        let Some(cancels) = ctx.areas.toolcancel.of(id) else { continue };
        let (activities, cancels) = match kind {
            "terminal" => (&work.terminals, &cancels.terminals),
            _ => (&work.tools, &cancels.tools),
        };
        let runs = |name: &&String| activities.get(*name).is_some_and(|activity| !activity.is_over);
        let accepted = cancels.iter().filter_map(|(name, cancel)| Some((name, cancel.accepted?)));
        for (name, (n, us)) in accepted.filter(|(name, _)| runs(name)) {
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
                ruling.proved_by(&[n]).fail_unless(lists, fact);
            }
        }
    }
}

/// The client cancels a tool call only while it advertises `cancel`.
fn tool_cancel(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    cancel_gate(ctx, call, ("tool_call/cancel", "toolCallId"), |work, cancels| (&work.tools, &cancels.tools), ruling);
}

/// The client cancels a terminal only while it advertises `cancel`.
fn terminal_cancel(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    cancel_gate(
        ctx,
        call,
        ("terminal/cancel", "terminalId"),
        |work, cancels| (&work.terminals, &cancels.terminals),
        ruling,
    );
}

/// Tool calls or terminals by id: what the agent reported of each, and the offers to cancel it.
type Known<'m> = (&'m BTreeMap<String, Activity>, &'m BTreeMap<String, Cancellable>);

/// Decides about a cancel by `method`, whose member names a tool call or a terminal of the session.
///
/// Correct but unusual: the agent has just withdrawn the capability, or the tool call has just ended, and the client
/// had not read that yet. This is inconclusive, as is a session that was resumed.
fn cancel_gate(
    ctx: &CheckContext<'_>,
    call: &CallSeen<'_>,
    (method, member): (&str, &str),
    of: impl for<'m> FnOnce(&'m Work, &'m Cancels) -> Known<'m>,
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
    let none = Cancels::default();
    let cancels = call.text("sessionId").and_then(|id| ctx.areas.toolcancel.of(id)).unwrap_or(&none);
    let (activities, cancels) = of(&session.work, cancels);
    let is_over = activities.get(id).is_none_or(|activity| activity.is_over);
    match cancels.get(id) {
        Some(cancel) if cancel.is_offered && !is_over => ruling.pass(),
        Some(cancel) if cancel.was_offered => ruling.inconclusive(fact()),
        _ if unsure => ruling.inconclusive(fact()),
        _ => ruling.fail(fact()),
    }
}
