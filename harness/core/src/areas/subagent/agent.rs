//! The agent's half of the area `subagent`: its announcements, and its reports on its children.

use serde_json::Value;

use super::state::{Child, Work, participants};
use crate::areas::common::{decide_absolute, is_own_value};
use crate::areas::state::{STATE, idle};
use crate::areas::{Check, CheckContext, On, background};
use crate::conversation::{Answer, CallSeen, Opening, Outcome, SUBAGENT, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("subagent.announced-first", On::Update(announced_first)),
    Check::agent("subagent.announced-first", On::Call(asks_for_child)),
    Check::agent("subagent.association", On::Update(association)).only(&[SUBAGENT]),
    Check::agent("subagent.state-value", On::Update(state_value)).alone().only(&[SUBAGENT]),
    Check::agent("subagent.paths-absolute", On::Update(paths_absolute)).only(&[SUBAGENT]),
    Check::agent("subagent.error-details", On::Update(error_details)).alone().only(&[SUBAGENT]),
    Check::agent("subagent.reference-known", On::Update(reference_known)).only(&[
        "tool_call",
        "tool_call_update",
        "tool_call_content_chunk",
    ]),
    Check::agent("subagent.cancel-effective", On::Update(cancel_ends_work)).only(&[SUBAGENT, STATE]),
    Check::agent("subagent.cancel-effective", On::Update(parent_idle)).only(&[STATE]),
    Check::agent("subagent.cancel-effective", On::Response(parent_cancelled)).only(&["session/prompt"]),
    Check::agent("subagent.cancel-effective", On::End(cancel_ignored)),
    Check::agent("subagent.state-mirrored", On::Update(state_mirrored)).only(&[STATE, SUBAGENT]),
    Check::agent("subagent.background-live", On::Update(background_live)).only(&[STATE]),
];

/// The child in a `subagent_update`.
const CHILD: &str = "/params/update/sessionId";

/// Whether the client takes the sessions of subagents, for all that the conversation shows. In version 2, every client
/// does.
pub(super) fn is_supported(ctx: &CheckContext<'_>) -> bool {
    let feature = Feature::Update(SUBAGENT);
    let adapter = ctx.conversation.edition.adapter;
    adapter.capability(crate::requirement::Party::Client, feature).is_none() || !ctx.conversation.client_lacks(feature)
}

/// Returns the child that an update reports about.
fn child_of<'m>(update: &UpdateSeen<'m>) -> Option<&'m str> {
    update.body.text("sessionId").filter(|_| update.variant == SUBAGENT)
}

/// "The first update for an unknown `sessionId` announces the child and MUST be sent before any live child traffic or
/// live message naming the child as sender or recipient."
///
/// Correct but unusual: a child that is announced by its id only, and one below another child, announced on the session
/// of that; traffic after the turn; a message whose sender is a session that the agent never announces. What
/// comes in a replay is not live: it is inconclusive.
fn announced_first(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if !is_supported(ctx) {
        return;
    }
    let is_child = |id: &str| ctx.conversation.children.contains_key(id);
    if is_child(update.session) || participants(update).any(is_child) {
        ruling.pass();
    }
    let early = child_of(update).and_then(|id| Some((id, *ctx.areas.subagent.early.get(id)?)));
    let Some((id, early)) = early.filter(|(id, _)| !ctx.conversation.knows_session(id)) else { return };
    let fact = fact!(
        "announced-late",
        "the agent announced the session `{session_id}` of a subagent after it had used it; expected the announcement \
        first",
        session_id = id; pointer = CHILD
    );
    ruling.proved_by(&[early]).fail_unless(ctx.conversation.is_replaying(), fact);
}

/// As above, for a request with the id of an announced child.
fn asks_for_child(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = call.text("sessionId").filter(|_| call.method != "session/update" && is_supported(ctx));
    if session.is_some_and(|id| ctx.conversation.children.contains_key(id)) {
        ruling.pass();
    }
}

/// "Sent on the immediate parent session. … Later updates modify the existing association's metadata, not its
/// ownership."
///
/// Correct but unusual: the same announcement again, also after a load; a child of a child. While a session is opened
/// again, another parent is inconclusive.
fn association(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let Some(id) = child_of(update).filter(|_| is_supported(ctx)) else { return };
    let opened = conversation.session(id).is_some_and(|session| session.opening == Opening::New);
    let is_known = conversation.knows_session(update.session);
    if id == update.session || opened {
        return ruling.fail(fact!(
            "no-child",
            "the agent announced the session `{session_id}` as a subagent; expected a session that the client did not \
            open",
            session_id = id; pointer = CHILD
        ));
    }
    match conversation.children.get(id) {
        Some(child) if child.parent != update.session => {
            let fact = fact!(
                "other-parent",
                "the agent moved the subagent `{session_id}` from the session `{expected}` to `{actual}`; expected it \
                to stay",
                session_id = id, expected = child.parent, actual = update.session;
                pointer = "/params/sessionId"
            );
            ruling.proved_by(&[child.n]).fail_unless(conversation.is_replaying(), fact);
        }
        _ if is_known => ruling.pass(),
        _ if conversation.may_know_session(update.session) => {}
        // The answer may name the session.
        _ if conversation.open_of(ctx.from.other()).any(|open| open.method == "session/new") => {}
        _ => ruling.fail(fact!(
            "unknown-parent",
            "the agent announced the subagent `{session_id}` on the session `{parent}`, which the client does not \
            know",
            session_id = id, parent = update.session;
            pointer = "/params/sessionId"
        )),
    }
}

/// Values of states and stop reasons that begin with `_` "are reserved for implementation-specific extensions. Other
/// unknown values are reserved for future ACP variants."
///
/// Correct but unusual: a state that is null, idle without a stop reason, and any members of a state with an
/// underscore.
fn state_value(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    const STATES: [&str; 4] = ["running", "idle", "requires_action", "unknown"];
    const REASONS: [&str; 6] = ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"];
    let Some(state) = update.body.member("state").filter(|_| is_supported(ctx) && update.variant == SUBAGENT) else {
        return;
    };
    let edition = ctx.conversation.edition;
    for (name, known, set) in [("state", &STATES[..], "StateUpdate"), ("stopReason", &REASONS, "IdleStateUpdate")] {
        let Some(value) = state.text(name) else { continue };
        let pointer = format!("/params/update/state/{name}");
        if known.contains(&value) || is_own_value(value) {
            ruling.pass();
        } else if edition.has_value_elsewhere(set, value) {
            ruling.note(fact!(
                "newer-value",
                "the agent sent the {name} `{actual}`, which a draft or another revision defines; this edition does \
                not judge it",
                name, actual = value; pointer = pointer
            ));
        } else {
            ruling.fail(fact!(
                "reserved-value",
                "the agent sent the {name} `{actual}` of a subagent; expected a defined one, or one with `_` first",
                name, actual = value; pointer = pointer
            ));
        }
    }
}

/// `cwd`: "Must be an absolute path", and for `additionalDirectories`: "Each path MUST be absolute."
///
/// Correct but unusual: null, an empty list, and a directory outside of that of the parent.
fn paths_absolute(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if child_of(update).is_none() || !is_supported(ctx) {
        return;
    }
    let cwd = update.body.member("cwd").map(|cwd| ("/params/update/cwd".to_owned(), cwd));
    let roots = update.body.list("additionalDirectories").iter();
    let roots = roots.enumerate().map(|(at, root)| (format!("/params/update/additionalDirectories/{at}"), root));
    for (pointer, path) in cwd.into_iter().chain(roots) {
        if let Some(path) = path.as_str() {
            decide_absolute(ctx, Some(update.session), ("session/update", &pointer), path, ruling);
        }
    }
}

/// `error` of a child that stopped with an error: "Agents SHOULD include it."
///
/// Correct but unusual: an error whose message hides the details.
fn error_details(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(state) = update.body.member("state").filter(|_| is_supported(ctx) && update.variant == SUBAGENT) else {
        return;
    };
    let is = |name: &str, value: &str| state.text(name) == Some(value);
    if is("state", "idle") && is("stopReason", "error") {
        ruling.decide(state.member("error").is_some_and(Value::is_object), || {
            fact!(
                "error-without-details",
                "the agent reported that a subagent stopped with an error, without the member error";
                pointer = "/params/update/state/error"
            )
        });
    }
}

/// "The referenced session must already be known to the Client through ordinary session setup or a `subagent_update`
/// announcement."
///
/// Correct but unusual: a reference from a child to its parent or to a sibling, and one that is removed later.
fn reference_known(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    for (at, content) in tool_content(update.body) {
        let is_session = content.text("type") == Some("session");
        let Some(id) = content.text("sessionId").filter(|_| is_session) else { continue };
        if conversation.knows_session(id) {
            ruling.pass();
        } else if is_supported(ctx) && !conversation.may_know_session(id) {
            let fact = fact!(
                "unknown-reference",
                "the agent sent a tool call with a reference to the session `{session_id}`, which the client does not \
                know",
                session_id = id; pointer = format!("/params/update{at}/sessionId")
            );
            // The entry of a list of sessions may have made it known.
            ruling.fail_unless(ctx.areas.list.listed.contains(id), fact);
        }
    }
}

/// Returns the contents of a tool call, each with its pointer. A chunk of version 2 has one.
fn tool_content(body: &Value) -> Vec<(String, &Value)> {
    match body.member("content") {
        Some(Value::Array(items)) => {
            items.iter().enumerate().map(|(at, item)| (format!("/content/{at}"), item)).collect()
        }
        Some(content) => vec![("/content".to_owned(), content)],
        None => Vec::new(),
    }
}

/// Returns the child whose work an update reports, with the new state.
pub(super) fn work_of<'m>(ctx: &CheckContext<'m>, update: &UpdateSeen<'m>) -> Option<(&'m str, &'m Child, Work)> {
    let (id, state) = match child_of(update) {
        Some(id) => (id, update.body.member("state")?),
        None => (update.session, update.body),
    };
    Some((id, ctx.areas.subagent.child(id)?, Work::of(ctx.n, state)?))
}

/// "Permits the client to cancel this child's current work without ending the session."
///
/// Correct but unusual: work that ended before the agent read the cancel; an agent that lost sight of the work and
/// reports `unknown`; a parent that ends its turn by itself afterwards.
fn cancel_ends_work(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some((_, child, work)) = work_of(ctx, update)
        && child.cancelled.is_some()
        && work.is_over()
    {
        ruling.pass();
    }
}

/// Returns the event of the cancel of a child of the session since the event `since`.
fn cancel_below(ctx: &CheckContext<'_>, session: &str, since: usize) -> Option<usize> {
    let mut children = ctx.areas.subagent.children().filter(|(id, _)| ctx.conversation.is_below(id, session));
    children.find_map(|(_, child)| child.last_cancel.filter(|n| *n > since))
}

fn fail_of_parent((session, pointer): (&str, &str), cancel: usize, ruling: &mut Ruling<'_>) {
    ruling.proved_by(&[cancel]).fail_in_case(fact!(
        "parent-cancelled",
        "the agent ended the work of the session `{session_id}` as cancelled; the client had cancelled only a subagent",
        session_id = session; pointer = pointer
    ));
}

/// As above: the turn of the parent does not end as cancelled.
fn parent_cancelled(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange else { return };
    let (Some(id), Outcome::Result(result)) = (exchange.session(), answer.outcome) else { return };
    let turn = ctx.conversation.session(id).and_then(|session| session.turn.as_ref());
    let is_cancelled = result.text("stopReason") == Some("cancelled");
    if is_cancelled
        && turn.is_some_and(|turn| turn.cancelled.is_none() && turn.closed.is_none() && !turn.overlapped)
        && exchange.cancel_requested.is_none()
        && let Some(cancel) = cancel_below(ctx, id, exchange.n)
    {
        fail_of_parent((id, "/result/stopReason"), cancel, ruling);
    }
}

/// The same in version 2, where a state update ends the work.
fn parent_idle(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(Some("cancelled"))) = (update.known, idle(update)) else { return };
    let begun = session.work.begun.filter(|_| session.work.is_active() && !session.work.may_be_ended());
    if let Some((begun, _)) = begun
        && let Some(cancel) = cancel_below(ctx, update.session, begun)
    {
        fail_of_parent((update.session, "/params/update/stopReason"), cancel, ruling);
    }
}

/// As above: the work of the child ends. Only a case fails, after a fence that the agent answered some time later.
fn cancel_ignored(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    for (id, child) in ctx.areas.subagent.children() {
        let Some((cancel, us)) = child.cancelled.filter(|_| ctx.conversation.whole) else { continue };
        if let Some(fence) = ctx.conversation.settled_since(us) {
            ruling.proved_by(&[cancel, fence]).fail(fact!(
                "subagent-not-cancelled",
                "the client cancelled the work of the subagent `{session_id}`, and the agent did not report its end",
                session_id = id
            ));
        }
    }
}

/// "Agents SHOULD mirror known child state changes in the parent's `state`."
///
/// Correct but unusual: the parent reports the state before or after the child; it reports a repeated state once; it
/// reports no state that is unknown or of the agent's own.
fn state_mirrored(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, child, work)) = work_of(ctx, update).filter(|_| !ctx.conversation.is_replaying()) else { return };
    if update.variant == SUBAGENT {
        if child.own.as_ref().is_some_and(|(own, is_mirrored)| !is_mirrored && own.is_like(&work)) {
            ruling.pass();
        }
        return;
    }
    if child.mirror.as_ref().is_some_and(|mirror| mirror.is_like(&work)) {
        ruling.pass();
    }
    let Some((own, false)) = &child.own else { return };
    if !own.is_like(&work) && (own.is_active() || own.state == "idle") {
        ruling.proved_by(&[own.n]).fail(fact!(
            "state-not-mirrored",
            "the agent reported the state `{state}` of the subagent `{session_id}` only on its own session; expected \
            it on that of its parent as well",
            state = own.state,
            session_id = update.session
        ));
    }
}

/// A subagent in a list of background work is "a detached subagent session that has anything running: its state is not
/// `idle`, or its own `background` list is non-empty or not reported", and is associated with this session.
///
/// Correct but unusual: a child that is idle, and whose own list the agent does not report.
fn background_live(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let items = background::list(update).unwrap_or_default().iter().enumerate();
    for (at, (kind, id)) in items.filter_map(|(at, item)| Some((at, background::item(item)?))) {
        // `background.announced-first` decides about a session that is not announced.
        let Some(association) = ctx.conversation.children.get(id).filter(|_| kind == "subagent") else { continue };
        let pointer = format!("/params/update/background/{at}/sessionId");
        let work = ctx.areas.subagent.child(id).and_then(Child::work);
        if association.parent != update.session {
            ruling.proved_by(&[association.n]).fail(fact!(
                "subagent-of-other-session",
                "the agent listed the subagent `{session_id}` as background work of `{actual}`; its parent is \
                `{expected}`",
                session_id = id, actual = update.session, expected = association.parent; pointer = pointer
            ));
        } else if let Some(work) = work.filter(|work| work.state == "idle" && work.background == Some(0)) {
            ruling.proved_by(&[work.n]).fail(fact!(
                "idle-subagent-listed",
                "the agent listed the subagent `{session_id}` as background work; it is idle and has none running",
                session_id = id; pointer = pointer
            ));
        } else {
            ruling.pass();
        }
    }
}
