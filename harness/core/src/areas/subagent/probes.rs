//! Questions about subagents that the specification leaves open: the answers are noted.

use super::agent::work_of;
use super::client::is_cancelled;
use crate::areas::state::STATE;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, SUBAGENT, UpdateSeen};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("subagent.cancel-confirmed", On::Update(cancel_confirmed)).only(&[SUBAGENT]),
    Check::agent("subagent.cascade", On::Update(cascade)).only(&[SUBAGENT, STATE]),
    Check::agent("subagent.unlisted", On::Response(unlisted)).only(&["session/list"]),
    Check::agent("subagent.replayed", On::Response(replayed)).only(&["session/load"]),
    Check::agent("session-message.links", On::End(links)),
    Check::agent("session-message.participants", On::End(without_participants)),
    Check::client("subagent.permission-on-cancel", On::Response(permission_on_cancel))
        .only(&["session/request_permission"]),
];

fn cancel_confirmed(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((id, child, work)) = work_of(ctx, update).filter(|(_, _, work)| work.is_over()) else { return };
    if child.cancelled.is_none() {
        return;
    }
    ruling.note(match work.reason.as_deref() {
        Some("cancelled") => Fact::holds(),
        reason => fact!(
            "other-end",
            "the agent reported the cancelled subagent `{session_id}` as {state} with the stop reason {reason}",
            session_id = id,
            state = work.state,
            reason
        ),
    });
}

fn cascade(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((id, child, work)) = work_of(ctx, update) else { return };
    if child.parent_cancelled.is_some() && child.cancelled.is_none() {
        ruling.note(match (work.state.as_str(), work.reason.as_deref()) {
            ("idle", Some("cancelled")) => Fact::holds(),
            (state, reason) => fact!(
                "child-goes-on",
                "the agent reported the subagent `{session_id}` as {state} with the stop reason {reason} after the \
                cancel of its parent",
                session_id = id,
                state,
                reason
            ),
        });
    }
}

fn unlisted(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("session/list") else { return };
    if ctx.conversation.children.is_empty() {
        return;
    }
    let mut ids = result.list("sessions").iter().filter_map(|entry| entry.text("sessionId"));
    ruling.note(match ids.find(|id| ctx.conversation.children.contains_key(*id)) {
        None => Fact::holds(),
        Some(id) => {
            fact!("child-listed", "the agent listed the session `{session_id}` of a subagent", session_id = id)
        }
    });
}

fn replayed(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, _)) = answer.result_of("session/load") else { return };
    let Some(id) = exchange.session() else { return };
    let known = ctx.areas.subagent.children();
    let mut reported = known.filter(|(child, _)| ctx.conversation.is_below(child, id)).map(|(_, it)| it.reported);
    let Some(first) = reported.next() else { return };
    ruling.note(match reported.chain([first]).any(|n| n > exchange.n) {
        true => Fact::holds(),
        false => {
            fact!(
                "children-not-replayed",
                "the agent loaded the session `{session_id}` without its subagents",
                session_id = id
            )
        }
    });
}

fn links(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    for ((session, id), message) in &ctx.areas.subagent.messages {
        ruling.note(match message.is_linked {
            true => Fact::holds(),
            false => fact!(
                "no-link",
                "the agent did not name the other view of the message `{message_id}` between sessions",
                message_id = id; session_id = session
            ),
        });
    }
}

fn without_participants(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    for ((session, id), message) in &ctx.areas.subagent.messages {
        ruling.note(match message.is_named {
            true => Fact::holds(),
            false => fact!(
                "no-participant",
                "the agent never named a sender or a recipient of the message `{message_id}` between sessions",
                message_id = id; session_id = session
            ),
        });
    }
}

fn permission_on_cancel(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|it| it.method == "session/request_permission") else { return };
    let Some(child) = exchange.session().and_then(|id| ctx.areas.subagent.child(id)) else { return };
    let cancel = child.cancelled.map(|(n, _)| n).or(child.parent_cancelled);
    if cancel.is_some_and(|n| n > exchange.n) {
        ruling.note(match is_cancelled(answer.outcome) {
            true => Fact::holds(),
            false => fact!(
                "not-cancelled",
                "the client did not answer the permission request of a subagent as cancelled after it cancelled its \
                work"
            ),
        });
    }
}
