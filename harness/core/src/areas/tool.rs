//! Area `tool`: reports of tool calls.

mod state;

use std::cell::LazyCell;

use serde_json::Value;

use self::state::FileWrite;
pub use self::state::State;
use super::common::{decide_absolute, is_probe, proper};
use super::support::Finish;
use crate::areas::common::decide_replaced;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Exchange, Outcome, Payload, Session, ToolCall, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::{Feature, Member};
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("tool.reported", On::Response(reported)).only(&["session/prompt"]),
    Check::agent("tool.created-before-update", On::Update(created_before_update)).only(&["tool_call_update"]),
    Check::agent("tool.id-unique", On::Update(id_unique)).only(&["tool_call"]),
    Check::agent("tool.title", On::Update(title_not_empty)).alone().only(&["tool_call"]),
    Check::agent("tool.final-status", On::Response(final_status)).only(&["session/prompt"]),
    Check::agent("tool.status-order", On::Update(status_order)).only(&["tool_call_update"]),
    Check::agent("tool.status-no-regress", On::Update(status_no_regress)).only(&["tool_call_update"]),
    Check::agent("tool.in-progress", On::Update(in_progress)),
    Check::agent("tool.location-absolute", On::Payload(location_absolute)).only(REPORTING),
    Check::agent("tool.location-line", On::Payload(location_line)).only(REPORTING),
    Check::agent("tool.diff-absolute", On::Payload(diff_absolute)).only(REPORTING),
    Check::agent("tool.terminal-known", On::Payload(terminal_known)).with_history().only(REPORTING),
    Check::agent("tool.terminal-before-release", On::Payload(terminal_before_release)).with_history().only(REPORTING),
    Check::agent("tool.reported-before-effects", On::Update(reported_before_effects)).only(&["tool_call"]),
    Check::agent("tool.reported-before-effects", On::Response(effects_after_report)).only(&["session/prompt"]),
    Check::agent(
        "tool.no-create-variant",
        On::Update(|_, update, ruling| decide_replaced(update, ["tool_call", "tool_call_update"], ruling)),
    )
    .alone()
    .only(&["tool_call", "tool_call_update"]),
];

/// The messages that report a tool call.
const REPORTING: &[&str] = &["tool_call", "tool_call_update", "session/request_permission"];

/// The id of a tool call in an update.
const POINTER: &str = "/params/update/toolCallId";

/// Returns the session of a tool call report, with the call as known before.
fn known<'m>(_: &CheckContext<'m>, update: &UpdateSeen<'m>) -> Option<(&'m Session, &'m str, Option<&'m ToolCall>)> {
    let session = update.known?;
    let id = update.body.text("toolCallId")?;
    Some((session, id, session.tools.get(id)))
}

/// As [`known`], only for an update of this variant.
fn known_in<'m>(
    variant: &str,
    ctx: &CheckContext<'m>,
    update: &UpdateSeen<'m>,
) -> Option<(&'m Session, &'m str, Option<&'m ToolCall>)> {
    if update.variant == variant { known(ctx, update) } else { None }
}

/// "When the language model requests a tool invocation, the Agent SHOULD report it": a written file that the prompt
/// names proves the tool call.
///
/// Correct but unusual: an agent that writes files of its own in a turn, such as a journal.
fn reported(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = proper(answer, "session/prompt").and_then(Exchange::session) else { return };
    let session = ctx.conversation.session(id);
    let Some((session, turn)) = session.and_then(|session| Some((session, session.turn.as_ref()?))) else { return };
    if turn.overlapped {
        return;
    }
    let prompt = session.spoken.iter().rfind(|(variant, _)| variant == "user_message_chunk");
    let is_asked_for = |write: &&FileWrite| {
        let name = write.path.rsplit(['/', '\\']).next();
        prompt.zip(name).is_some_and(|((_, prompt), name)| prompt.contains(name))
    };
    let writes = ctx.areas.tool.writes(id, turn);
    if !matches!(answer.outcome, Outcome::Result(_)) || writes.is_empty() {
        return;
    }
    if !turn.tools.is_empty() || session.tools_of_prompt().next().is_some() {
        ruling.pass();
    } else if let Some(write) = writes.iter().find(is_asked_for) {
        ruling.proved_by(&[write.n]).fail(fact!(
            "tool-call-not-reported",
            "the agent wrote `{path}` in a turn without a tool call; expected it to report one",
            path = write.path
        ));
    }
}

/// An update changes a tool call that a `tool_call` created before. In a replay, `load.replay-valid` covers this.
///
/// Correct but unusual: an agent that continues a call from before a load or a resume, even if the load was refused. It
/// is inconclusive.
fn created_before_update(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, id, tool)) = known_in("tool_call_update", ctx, update) else {
        return;
    };
    match tool {
        _ if session.loading.is_some() => {}
        Some(tool) if tool.announced => ruling.pass(),
        Some(_) => ruling.note(fact!(
            "named-by-permission-only",
            "the agent named the tool call `{tool_call_id}` only in a permission request before this update",
            tool_call_id = id; pointer = POINTER
        )),
        // A failed load leaves the earlier calls unchanged.
        None if session.was_reopened || session.earlier_tools.contains_key(id) => ruling.inconclusive(fact!(
            "tool-call-of-earlier-opening",
            "the agent updated the tool call `{tool_call_id}`, which may date from before the session was reopened",
            tool_call_id = id; pointer = POINTER
        )),
        // A `tool_call` before the answer that opened the session violates another requirement, and is not recorded
        // here.
        None if ctx.conversation.unknown_sessions.contains_key(update.session) => ruling.inconclusive(fact!(
            "tool-call-of-early-update",
            "the agent updated the tool call `{tool_call_id}`, which an update before the session may have created",
            tool_call_id = id; pointer = POINTER
        )),
        None => ruling.fail(fact!(
            "unknown-tool-call",
            "the agent updated the unknown tool call `{tool_call_id}`; expected a tool_call that creates it first",
            tool_call_id = id; pointer = POINTER
        )),
    }
}

/// "A unique identifier for this tool call within the session", also across turns.
///
/// Correct but unusual: an agent that reports a finished call once more in full, as a `tool_call` with its title and a
/// final status, in the same turn; and one that does so in a later turn with a call that ran on in the background. Both
/// are inconclusive.
fn id_unique(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, id, tool)) = known_in("tool_call", ctx, update) else { return };
    match tool.filter(|tool| tool.announced) {
        _ if session.loading.is_some() => {}
        // An overlapping prompt may continue in the next turn, with its tool calls.
        Some(tool)
            if (tool.turn != session.prompts
                && !ctx.conversation.is_overlapped(update.session)
                && !runs_on(tool, update))
                || tool.is_final() && !is_restated(tool, update) =>
        {
            ruling.proved_by(&[tool.n]).fail(fact!(
                "id-reused",
                "the agent created a second tool call with the id `{tool_call_id}`; expected a unique id",
                tool_call_id = id; pointer = POINTER
            ));
        }
        Some(tool) => ruling.proved_by(&[tool.n]).inconclusive(fact!(
            "created-again",
            "the agent created the tool call `{tool_call_id}` again, perhaps as the same one",
            tool_call_id = id; pointer = POINTER
        )),
        // The first tool call of a session cannot be confused with another.
        None if session.tools.is_empty() => {}
        None => ruling.pass(),
    }
}

/// Whether the report repeats that a finished tool call is finished, under the same title.
fn is_restated(tool: &ToolCall, update: &UpdateSeen<'_>) -> bool {
    let status = update.body.text("status");
    matches!(status, Some("completed" | "failed")) && has_same_title(tool, update)
}

/// Whether the report may be about a tool call of an earlier turn that has not finished.
fn runs_on(tool: &ToolCall, update: &UpdateSeen<'_>) -> bool {
    !tool.is_final() && has_same_title(tool, update)
}

fn has_same_title(tool: &ToolCall, update: &UpdateSeen<'_>) -> bool {
    update.body.text("title") == Some(tool.title.as_str())
}

/// "title: A human-readable title"; an empty one is noted. The table of shapes handles a missing one.
///
/// Correct but unusual: an empty title, which the schema allows.
fn title_not_empty(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if update.variant == "tool_call" && update.body.text("title") == Some("") {
        ruling.note(fact!(
            "empty-title",
            "the agent reported a tool call with an empty title";
            pointer = "/params/update/title"
        ));
    }
}

/// Every call ends with `completed` or `failed` when its execution ends, so no call is open in a turn that ended by
/// itself. Rejected calls never ran, and a live terminal may run on.
fn final_status(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let by_itself = |finish: &Finish<'_>| finish.reason() == Some("end_turn") && !finish.was_cancelled();
    let Some(finish) = Finish::of(ctx, answer).filter(by_itself) else { return };
    let background = || ctx.conversation.has_live_terminal(finish.turn);
    for (id, tool) in finish.turn.tools.iter().filter_map(|id| Some((id, finish.session.tools.get(id)?))) {
        match tool.status.as_str() {
            _ if tool.is_final() => ruling.pass(),
            _ if !tool.is_allowed() || background() => {}
            status => ruling.proved_by(&[tool.n]).fail(fact!(
                "unfinished-tool-call",
                "the agent ended the turn while the tool call `{tool_call_id}` is {actual}; expected completed \
                or failed",
                tool_call_id = id,
                actual = status
            )),
        }
    }
}

/// The status changes from pending through in_progress to completed or failed, and never back.
fn status_order(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let rank =
        |status: &str| ["pending", "in_progress", "completed", "failed"].iter().position(|known| *known == status);
    let Some((session, id, Some(tool))) = known(ctx, update) else { return };
    let next = update.body.text("status");
    let (Some(next), "tool_call_update", true) = (next, update.variant, tool.announced && session.loading.is_none())
    else {
        return;
    };
    if let (Some(before), Some(after)) = (rank(&tool.status), rank(next)) {
        let good = if tool.is_final() { before == after } else { before <= after };
        ruling.decide(good, || {
            fact!(
                "status-order",
                "the agent changed the tool call `{tool_call_id}` from {before} to {actual}; expected a later status",
                tool_call_id = id, before = tool.status, actual = next; pointer = "/params/update/status"
            )
        });
    }
}

/// "Agents do not move a tool call back to `pending` once it has another status."
///
/// Correct but unusual: null, which "resets it to `pending`" and is noted; another status after a final one; and a
/// replay.
fn status_no_regress(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|session| session.resuming.is_none()) else { return };
    let (Some(id), Some(status)) = (update.body.text("toolCallId"), update.body.member("status")) else {
        return;
    };
    if !session.work.tools.get(id).is_some_and(|tool| tool.has_begun) {
        return;
    }
    let fact = fact!(
        "pending-again",
        "the agent moved the tool call `{tool_call_id}` back to pending; expected another status",
        tool_call_id = id; pointer = "/params/update/status"
    );
    match status.as_str() {
        Some("pending") if !is_probe(ctx, "tool.status-no-regress") => ruling.fail(fact),
        Some("pending") | None => ruling.note(fact),
        Some(_) => ruling.pass(),
    }
}

/// "the Agent SHOULD invoke the tool and report a status update marking the tool as `in_progress`". A short tool may be
/// over by then, but not a command that the agent waited for while it answered another request.
///
/// Correct but unusual: a permission request that shows the call as pending once more.
fn in_progress(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let known = known(ctx, update).filter(|(session, ..)| session.loading.is_none());
    let Some((session, id, tool)) = known else { return };
    match update.body.text("status") {
        Some("in_progress") => ruling.pass(),
        Some("completed" | "failed") => {
            let pending = tool
                .filter(|tool| tool.announced && tool.status == "pending" && !tool.was_in_progress)
                .filter(|tool| tool.kind.as_deref() == Some("execute"));
            let (Some(tool), Some(turn)) = (pending, &session.turn) else { return };
            let alone =
                turn.tools.len() == 1 && turn.tools.contains(id) && turn.cancelled.is_none() && !turn.overlapped;
            let mut terminals = ctx.conversation.terminals.iter().filter(|(_, terminal)| terminal.turn == Some(turn.n));
            let outlasted = terminals.find(|(id, _)| alone && ctx.areas.tool.has_outlasted(id));
            if let Some((_, terminal)) = outlasted {
                ruling.proved_by(&[tool.n, terminal.created]).fail(fact!(
                    "never-in-progress",
                    "the agent waited for a command of the tool call `{tool_call_id}`; expected it to report \
                    in_progress",
                    tool_call_id = id;
                    pointer = "/params/update/status"
                ));
            }
        }
        _ => {}
    }
}

/// Returns the session in the params.
fn session_of<'m>(payload: &Payload<'m>) -> Option<&'m str> {
    payload.value.member("sessionId")?.as_str()
}

/// "path: The absolute file path being accessed or modified."
///
/// Correct but unusual: a path below a cwd or a root that the client itself gave as a relative path, which is
/// inconclusive; and a path of another system, such as `C:\a` or `\\host\share`, which passes.
fn location_absolute(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    paths_absolute(ctx, payload, "ToolCallLocation", ruling);
}

/// Lines count from 1.
///
/// Correct but unusual: no line or null, as for an empty file. Neither is checked.
fn location_line(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    let lines = payload.members(&[("ToolCallLocation", "line")]);
    for (member, line) in
        lines.filter_map(|member| Some((member, member.value.as_i64()?))).filter(|(_, line)| *line >= 0)
    {
        ruling.decide(line > 0, || {
            fact!(
                "line-zero",
                "the agent sent the line {actual} in {method} at {pointer}; expected lines from 1",
                actual = line,
                method = payload.method,
                pointer = payload.pointer(&member.at())
            )
        });
    }
}

/// "path: The absolute file path being modified."
///
/// Correct but unusual: as with locations, a path below a relative cwd or root of the client, which is inconclusive.
fn diff_absolute(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    paths_absolute(ctx, payload, "Diff", ruling);
}

fn paths_absolute(ctx: &CheckContext<'_>, payload: &Payload<'_>, definition: &str, ruling: &mut Ruling<'_>) {
    for member in payload.members(&[(definition, "path")]) {
        if let Some(path) = member.value.as_str() {
            let pointer = payload.pointer(&member.at());
            decide_absolute(ctx, session_of(payload), (payload.method, &pointer), path, ruling);
        }
    }
}

/// "The ID of a terminal created with `terminal/create`", in this session.
///
/// Correct but unusual: a client that counts its terminals in each session by itself, so that two have the same id; an
/// agent that shows a terminal from before a load or a resume. Both are inconclusive. A terminal of an extension is
/// only noted.
fn terminal_known(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    if terminal_ids(payload).next().is_none() {
        return;
    }
    let conversation = ctx.conversation;
    let replay =
        session_of(payload).and_then(|id| conversation.session(id)).is_some_and(|session| session.loading.is_some());
    if replay || !conversation.client_has(Feature::Method("terminal/create")) {
        return;
    }
    for (member, id) in terminal_ids(payload) {
        let pointer = payload.pointer(&member.at());
        match conversation.terminals.get(id) {
            Some(terminal) if Some(terminal.session.as_str()) == session_of(payload) => ruling.pass(),
            Some(terminal) if terminal.shares_id => ruling.proved_by(&[terminal.created]).inconclusive(fact!(
                "id-of-several-terminals",
                "the agent embedded the terminal `{terminal_id}`; the client gave that id to terminals of \
                several sessions",
                terminal_id = id;
                pointer = pointer
            )),
            Some(terminal) => ruling.proved_by(&[terminal.created]).fail(fact!(
                "terminal-of-other-session",
                "the agent embedded the terminal `{terminal_id}` of the session `{actual}`; expected one of this \
                session",
                terminal_id = id, actual = terminal.session;
                pointer = pointer, expected = session_of(payload)
            )),
            None if may_have_other_terminals(ctx) => ruling.note(fact!(
                "own-terminal",
                "the agent embedded a terminal of its own, `{terminal_id}`, which the client's _meta may allow",
                terminal_id = id; pointer = pointer
            )),
            None if was_reopened(ctx, session_of(payload)) => ruling.inconclusive(fact!(
                "terminal-of-earlier-opening",
                "the agent embedded the terminal `{terminal_id}`, which may date from before the session was \
                reopened",
                terminal_id = id;
                pointer = pointer
            )),
            None => ruling.fail(fact!(
                "unknown-terminal",
                "the agent embedded the unknown terminal `{terminal_id}`; expected one that terminal/create \
                returned",
                terminal_id = id;
                pointer = pointer
            )),
        }
    }
}

/// Returns the ids of the terminals that a payload embeds.
fn terminal_ids<'p>(payload: &'p Payload<'p>) -> impl Iterator<Item = (&'p Member<'p>, &'p str)> {
    payload.members(&[("Terminal", "terminalId")]).filter_map(|member| Some((member, member.value.as_str()?)))
}

/// Whether the client loaded or resumed the session, which may have terminals from an earlier connection.
pub(super) fn was_reopened(ctx: &CheckContext<'_>, session: Option<&str>) -> bool {
    session.and_then(|id| ctx.conversation.session(id)).is_some_and(|session| session.was_reopened)
}

/// Whether the client announced an extension about terminals in `_meta`; if it is used, terminals may be the agent's
/// own. Of a redacted extension, the name is unknown.
pub(super) fn may_have_other_terminals(ctx: &CheckContext<'_>) -> bool {
    ctx.conversation
        .capabilities(Party::Client)
        .and_then(|all| all.member("_meta"))
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .any(|(name, value)| {
            ctx.conversation.is_redacted || name.contains("terminal") || value.to_string().contains("terminal")
        })
}

/// "The terminal must be added before calling `terminal/release`."
///
/// Correct but unusual: a replay that embeds a terminal for the first time after its release; a release that the client
/// refused, so that the terminal still exists; and two sessions with the same terminal id. These do not fail.
fn terminal_before_release(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    if terminal_ids(payload).next().is_none() {
        return;
    }
    let session = session_of(payload).and_then(|id| ctx.conversation.session(id));
    if session.is_some_and(|session| session.loading.is_some()) {
        return;
    }
    let reopened = was_reopened(ctx, session_of(payload));
    for (member, id) in terminal_ids(payload) {
        let Some(terminal) = ctx.conversation.terminals.get(id).filter(|terminal| terminal.embedded.is_none()) else {
            continue;
        };
        match terminal.released {
            Some(released) if terminal.shares_id || terminal.release_refused || reopened => {
                ruling.proved_by(&[released]).inconclusive(fact!(
                    "embedded-after-unclear-release",
                    "the agent embedded the terminal `{terminal_id}` after a release, perhaps of another terminal",
                    terminal_id = id; pointer = payload.pointer(&member.at())
                ));
            }
            Some(released) => ruling.proved_by(&[released]).fail(fact!(
                "embedded-after-release",
                "the agent embedded the terminal `{terminal_id}` after its release; expected it before",
                terminal_id = id; pointer = payload.pointer(&member.at())
            )),
            None => ruling.pass(),
        }
    }
}

/// A tool call is reported before the changes it causes: not after its file is written.
fn reported_before_effects(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, id, None)) = known_in("tool_call", ctx, update) else { return };
    let edits = update.body.text("kind") == Some("edit");
    let over = matches!(update.body.text("status"), Some("completed" | "failed"));
    let report = LazyCell::new(|| update.body.to_string());
    let turn = session.turn.as_ref().filter(|turn| !turn.overlapped);
    let writes = turn.into_iter().flat_map(|turn| ctx.areas.tool.writes(update.session, turn));
    let mut silent = writes.filter(|write| !write.reported && edits && over);
    if let Some(write) = silent.find(|write| report.contains(&Value::from(write.path.as_str()).to_string())) {
        ruling.proved_by(&[write.n]).fail(fact!(
            "reported-after-effect",
            "the agent reported the tool call `{tool_call_id}` after it wrote `{path}`; expected the report before",
            tool_call_id = id, path = write.path; pointer = POINTER
        ));
    }
}

/// Exercised by a turn that wrote a file while the tool call was open.
fn effects_after_report(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = proper(answer, "session/prompt").and_then(Exchange::session) else { return };
    let turn = ctx.conversation.session(id).and_then(|session| session.turn.as_ref());
    let mut writes = turn.into_iter().flat_map(|turn| ctx.areas.tool.writes(id, turn));
    if writes.any(|write| write.reported) {
        ruling.pass();
    }
}
