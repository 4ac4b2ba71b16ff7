//! Area `background`: the list of background work in each state update.

use serde_json::Value;

use crate::areas::state::STATE;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Activity, UpdateSeen, Work};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("background.every-update", On::Update(every_update)).only(&[STATE]),
    Check::agent("background.announced-first", On::Update(announced_first)).only(&[STATE]),
    Check::agent("background.final-before-removal", On::Update(final_before_removal)).only(&[STATE]),
    Check::agent("background.only-live", On::Update(only_live)).only(&[STATE]),
    Check::agent("background.listed-once", On::Update(listed_once)).alone().only(&[STATE]),
];

const POINTER: &str = "/params/update/background";

/// Returns the list of a state update; `None` if the agent reports no background work.
pub(super) fn list<'m>(update: &UpdateSeen<'m>) -> Option<&'m [Value]> {
    update.body.member("background").and_then(Value::as_array).filter(|_| update.variant == STATE).map(Vec::as_slice)
}

/// Returns the subject of an item: its type and its id.
pub(super) fn item(item: &Value) -> Option<(&str, &str)> {
    let kind = item.text("type")?;
    let id = match kind {
        "terminal" => item.member("terminalId"),
        "tool_call" => item.member("toolCallId"),
        "subagent" => item.member("sessionId"),
        _ => None,
    };
    Some((kind, id?.as_str()?))
}

/// Returns what the agent reported of a tool call or a terminal.
fn reported<'w>(work: &'w Work, (kind, id): (&str, &str)) -> Option<&'w Activity> {
    let map = if kind == "terminal" { &work.terminals } else { &work.tools };
    map.get(id)
}

/// Returns whether the reported tool call or terminal has ended; `None` if the agent did not report it.
fn is_over(work: &Work, item: (&str, &str)) -> Option<bool> {
    reported(work, item).map(|activity| activity.is_over)
}

/// Whether the agent reported the item, a subagent by its announcement.
fn is_announced(ctx: &CheckContext<'_>, work: &Work, (kind, id): (&str, &str)) -> bool {
    match kind {
        "subagent" => ctx.conversation.knows_session(id) || ctx.conversation.announced_sessions.contains(id),
        _ => is_over(work, (kind, id)).is_some(),
    }
}

/// "An Agent that reports background work MUST include it on every state update for the session."
///
/// Correct but unusual: an agent that reported an empty list only, or whose work ended when the session was closed.
/// Neither fails.
fn every_update(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let known = update.known.filter(|_| update.variant == STATE);
    let Some((n, before)) = known.and_then(|session| session.work.background.as_ref()) else { return };
    let reported = update.body.member("background").is_some_and(|list| !list.is_null());
    let fact = || {
        fact!(
            "background-left-out",
            "the agent sent a state update without `background`, which it had reported before; expected the list";
            pointer = POINTER
        )
    };
    match (reported, before.is_empty()) {
        (true, _) => ruling.pass(),
        (false, true) => ruling.proved_by(&[*n]).inconclusive(fact()),
        (false, false) => ruling.proved_by(&[*n]).fail(fact()),
    }
}

/// The agent announces each item by a separate update before it lists it.
///
/// Correct but unusual: a session that was resumed without a replay, whose terminals and tool calls an earlier
/// connection announced, and types of work with an underscore. The former is inconclusive.
fn announced_first(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(list)) = (update.known, list(update)) else { return };
    let unsure = session.was_reopened || session.resuming.is_some() || ctx.conversation.may_miss_work(session);
    for named in list.iter().filter_map(item) {
        let fact = || {
            fact!(
                "unannounced-background-work",
                "the agent listed the {kind} `{id}` as background work and had not reported it",
                kind = named.0, id = named.1; pointer = POINTER
            )
        };
        match is_announced(ctx, &session.work, named) {
            true => ruling.pass(),
            false if unsure => ruling.inconclusive(fact()),
            false => ruling.fail(fact()),
        }
    }
}

/// "Before an item leaves the list": its final status was reported.
///
/// Correct but unusual: a state update without a list, which reports nothing, and work that moves to the foreground
/// again. A tool call that is listed as its terminal from there on is inconclusive as well.
fn final_before_removal(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(now)) = (update.known, list(update)) else { return };
    let Some((n, before)) = &session.work.background else { return };
    let still: Vec<_> = now.iter().filter_map(item).collect();
    let is_idle = update.body.text("state") == Some("idle");
    // Work of a subagent has no final status.
    let ends = |(kind, _): &(&str, &str)| *kind != "subagent";
    for gone in before.iter().filter_map(item).filter(|gone| ends(gone) && !still.contains(gone)) {
        let fact = || {
            fact!(
                "background-work-without-end",
                "the agent no longer lists the {kind} `{id}` as background work and has not reported its end",
                kind = gone.0, id = gone.1; pointer = POINTER
            )
        };
        match is_over(&session.work, gone) {
            Some(true) => ruling.pass(),
            // An idle session has no foreground work, so the work can only be listed as something else.
            Some(false) if is_idle && now.is_empty() => ruling.proved_by(&[*n]).fail(fact()),
            _ => ruling.proved_by(&[*n]).inconclusive(fact()),
        }
    }
}

/// A terminal is "live until its `terminal_update` reports `exitStatus`", and the list is "a complete snapshot" of what
/// runs.
///
/// Correct but unusual: an agent whose list was made before the end and sent after it, and a tool call with a final
/// status whose work goes on, such as a watcher. So only a terminal fails, and only if the agent had sent another state
/// since the end.
fn only_live(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(list)) = (update.known, list(update)) else { return };
    let work = &session.work;
    for named in list.iter().filter_map(item) {
        let Some(ended) = reported(work, named).filter(|it| it.is_over).and_then(|it| it.ended) else { continue };
        let fact = fact!(
            "ended-work-listed",
            "the agent listed the {kind} `{id}` as background work after it had reported its end",
            kind = named.0, id = named.1; pointer = POINTER
        );
        ruling.proved_by(&[ended]).fail_if(named.0 == "terminal" && ended < work.state_at, fact);
    }
    let before = work.background.iter().flat_map(|(_, before)| before).filter_map(item);
    let left: Vec<_> = list.iter().filter_map(item).collect();
    if before.into_iter().any(|gone| !left.contains(&gone) && is_over(work, gone) == Some(true)) {
        ruling.pass();
    }
}

/// One piece of work is listed once.
fn listed_once(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let items: Vec<_> = list(update).unwrap_or_default().iter().filter_map(item).collect();
    match items.iter().enumerate().find(|(at, item)| items[..*at].contains(item)) {
        Some((_, (kind, id))) => ruling.fail(fact!(
            "listed-twice",
            "the agent listed the {kind} `{id}` twice as background work; expected it once",
            kind, id; pointer = POINTER
        )),
        None if items.len() > 1 => ruling.pass(),
        None => {}
    }
}
