//! Area `cancel`: the end of cancelled work in version 2.

use super::state::LeftOpen;
use crate::areas::common::{LOGIN, WITHDRAWN, proper};
use crate::areas::state::{DISTINCTIVE, STATE, end_of, idle, served, watched};
use crate::areas::toolcancel::CANCEL_ONE;
use crate::areas::{Check, CheckContext, On, background, with};
use crate::conversation::timing::{CANCEL_CROSSING, CANCEL_LIMIT, WRONG_CANCEL, between, millis};
use crate::conversation::{
    Answer, CallSeen, EndedBy, Ending, Exchange, Session, UpdateSeen, message_of, text_of_content,
};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::wire::{Members, RpcId};

pub(super) const CHECKS: &[Check] = &[
    Check::agent("cancel.not-an-error", On::Update(not_an_error)).only(&["state_update"]),
    Check::agent("cancel.updates-first", On::Update(late_update)).only(OUTPUT),
    Check::agent("cancel.updates-first", On::CaseEnd(silent_after_cancel)),
    Check::agent("cancel.idle-cancelled", On::Update(with!(reason, EndedBy::Cancel))).only(&[STATE]),
    Check::agent("cancel.permissions-released", On::End(|ctx, ruling| goes_on(ctx, true, ruling))),
    Check::agent("cancel.permissions-cancelled", On::End(|ctx, ruling| left_open(ctx, ASK, ruling))),
    Check::agent("cancel.elicitations-cancelled", On::Call(withdrawn)).only(&[WITHDRAW]),
    Check::agent("cancel.elicitations-cancelled", On::End(|ctx, ruling| left_open(ctx, ELICIT, ruling))),
    Check::agent("cancel.scope", On::Call(with!(withdrawn_elsewhere, EndedBy::Cancel))).only(&[WITHDRAW]),
    Check::agent("close.other-sessions-unaffected", On::Call(with!(withdrawn_elsewhere, EndedBy::Close)))
        .only(&[WITHDRAW]),
    Check::agent("cancel.idle-before-new-work", On::Update(new_work_first)).only(SAID),
    Check::agent("cancel.idle-before-new-work", On::Update(idle_before_new_work)).only(&[STATE]),
    Check::agent("cancel.later-submissions", On::Update(later_work_cancelled)).only(&[STATE]),
    Check::agent("cancel.held-prompts", On::Response(held_prompt)).only(&["session/prompt"]),
    Check::client("cancel.answers-cancelled-request", On::Response(cancelled_permission))
        .only(&["session/request_permission"]),
];

const REASON: &str = "/params/update/stopReason";

const ASK: &str = "session/request_permission";

const ELICIT: &str = "elicitation/create";

const WITHDRAW: &str = "$/cancel_request";

/// The updates with the text of the agent.
const SAID: &[&str] = &["agent_message", "agent_message_chunk"];

/// The updates that show parts of a message or of a tool call.
const OUTPUT: &[&str] = &[
    "agent_message",
    "agent_message_chunk",
    "agent_thought",
    "agent_thought_chunk",
    "tool_call_update",
    "tool_call_content_chunk",
    "terminal_update",
];

/// Whether the work that the client wanted to end cannot have ended by itself before the agent read that.
pub(in crate::areas) fn had_read(
    ctx: &CheckContext<'_>,
    session: &Session,
    ending: &Ending,
    update: &UpdateSeen<'_>,
) -> bool {
    let late = ctx.conversation.in_between(ending.since, ctx.us) > CANCEL_CROSSING;
    let is_open = |question: &usize| ctx.conversation.open_of(Party::Agent).any(|open| open.n == *question);
    // An agent may take the answer to its question before it takes a request that came earlier.
    let withdrew = || ctx.conversation.cancel_requests_of(Party::Agent).any(|request| request.n > ending.n);
    let asked = ending.questions.iter().any(|it| ending.by == EndedBy::Cancel || is_open(it) || withdrew());
    late || asked
        || marks_cancelled(ctx, session, ending, update)
        || ctx.conversation.whole && leaves_tool(session, update)
}

/// Whether a tool call that was in progress at the message was reported as cancelled since, and the client cancelled
/// neither a tool call nor a terminal on its own in this session.
fn marks_cancelled(ctx: &CheckContext<'_>, session: &Session, ending: &Ending, update: &UpdateSeen<'_>) -> bool {
    let asks = ctx.conversation.open_of(Party::Client).any(|open| CANCEL_ONE.contains(&open.method.as_str()));
    let is_cancelled = |id: &String| session.tools.get(id).is_some_and(|tool| tool.status == "cancelled");
    !asks && !ctx.areas.toolcancel.is_used(update.session) && ending.tools.iter().any(is_cancelled)
}

/// Whether the agent ends its work while a tool call of the foreground is in progress.
///
/// This looks at the end of the work: a call that was in progress at the cancel may have ended before the agent read
/// it.
fn leaves_tool(session: &Session, end: &UpdateSeen<'_>) -> bool {
    let before = session.work.background.as_ref().map_or(&[][..], |(_, list)| list);
    let listed = before.iter().chain(background::list(end).unwrap_or_default());
    let listed: Vec<_> = listed.filter_map(background::item).collect();
    let mut tools =
        session.tools.iter().filter(|(_, tool)| session.work.begun.is_some_and(|(begun, _)| tool.n > begun));
    tools.any(|(id, tool)| tool.status == "in_progress" && !listed.contains(&("tool_call", id)))
}

/// "After cancelling … the agent sends an idle state update with the `cancelled` stop reason", and closing does the
/// same.
///
/// Correct but unusual: work that came to its own end while the message was on its way. It is inconclusive, unless a
/// question waited for the user, a tool call is still in progress, or the agent took long.
pub(in crate::areas) fn reason(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, by: EndedBy, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(reason)) = (update.known, idle(update)) else { return };
    let Some(ending) = session.work.ending.as_ref().filter(|ending| ending.by == by) else { return };
    if reason == Some("cancelled") {
        return ruling.pass();
    }
    // That has a requirement of its own.
    if reason == Some("error") && by == EndedBy::Cancel {
        return;
    }
    let method = if by == EndedBy::Cancel { "session/cancel" } else { "session/close" };
    let ended = reason.unwrap_or("idle without a stop reason");
    if had_read(ctx, session, ending, update) {
        ruling.proved_by(&[ending.n]).fail(fact!(
            "wrong-stop-reason",
            "the agent ended its work as {actual} after {method}; expected the stop reason cancelled",
            actual = ended, method; pointer = REASON
        ));
    } else {
        ruling.proved_by(&[ending.n]).inconclusive(fact!(
            "end-crossed-message",
            "the agent ended its work as {actual}; that may have crossed {method}",
            actual = ended, method; pointer = REASON
        ));
    }
}

/// The agent acts on `session/cancel`, and does not wait for the user then (`asked`).
///
/// Correct but unusual: an agent that first gives a tool some seconds to end.
pub(in crate::areas) fn goes_on(ctx: &CheckContext<'_>, asked: bool, ruling: &mut Ruling<'_>) {
    for (id, session) in watched(ctx) {
        let ending = session.work.ending.as_ref().filter(|ending| ending.by == EndedBy::Cancel);
        let Some(ending) = ending.filter(|ending| asked != ending.questions.is_empty()) else { continue };
        let passed = ctx.conversation.in_between(ending.since, end_of(ctx));
        if passed > CANCEL_LIMIT && served(ctx, ending.n) {
            ruling.proved_by(&[ending.n]).fail(fact!(
                "work-goes-on",
                "the agent had not reported the end of the cancelled work {after_ms} after the cancel, but answered a \
                later request; expected at most {limit_ms}",
                after_ms = millis(passed),
                limit_ms = millis(CANCEL_LIMIT);
                session_id = id
            ));
        }
    }
}

/// "It MUST cancel each of them with `$/cancel_request`": the questions of work that was cancelled, of this method.
/// Closing does so "as if `session/cancel` was called".
///
/// Correct but unusual: a client that answers the question by itself as soon as it cancels. "Scope alone does not
/// establish" that an elicitation belongs to the cancelled work, so one is inconclusive without a cancelled tool call,
/// unless the agent sent it during that work, and reports that no other work goes on.
fn left_open(ctx: &CheckContext<'_>, method: &str, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let known = conversation.sessions.iter().filter(|(_, session)| !conversation.may_miss_work(session));
    for (id, session) in known.filter(|_| conversation.whole) {
        for LeftOpen { question, cancel, end, is_of_work } in ctx.areas.cancel.left_open(id) {
            let open = conversation.open_of(Party::Agent).find(|open| open.n == question);
            let Some(open) = open.filter(|open| open.method == method && open.cancel_requested.is_none()) else {
                continue;
            };
            if served(ctx, end) {
                let fact = fact!(
                    "question-left-open",
                    "the agent ended the cancelled work and did not cancel its question to the user; expected \
                    {expected}",
                    expected = "$/cancel_request";
                    session_id = id
                );
                let tool = open.text("toolCallId").and_then(|id| session.tools.get(id));
                let is_of_work = is_of_work || method == ASK || tool.is_some_and(|tool| tool.status == "cancelled");
                ruling.proved_by(&[end, question, cancel]).fail_if(is_of_work, fact);
            }
        }
    }
}

/// Returns the open question that the agent withdraws with `$/cancel_request`.
fn question_of<'m>(ctx: &CheckContext<'m>, call: &CallSeen<'_>) -> Option<&'m Exchange> {
    let id = RpcId::new(call.params?.member("requestId")?);
    let open: &Exchange = ctx.conversation.open.get(&(Party::Agent, id))?;
    [ASK, ELICIT].contains(&open.method.as_str()).then_some(open)
}

/// "Cancels the named session's active foreground work": a question of another session stays with the user.
///
/// Correct but unusual: an agent that gives up a question for reasons of its own. So this fails only just after the
/// client ended the other session, if that is its only act since the question after which an agent may give up work.
fn withdrawn_elsewhere(ctx: &CheckContext<'_>, call: &CallSeen<'_>, by: EndedBy, ruling: &mut Ruling<'_>) {
    let Some(asked) = question_of(ctx, call).filter(|asked| asked.turn_cancelled.is_none()) else { return };
    let Some((id, session)) = asked.session().and_then(|id| Some((id, ctx.conversation.session(id)?))) else { return };
    let Some(((act, us), ended, other)) = ctx.areas.cancel.end_of_another(id, asked.n) else { return };
    let is_child = |id: &str| ctx.conversation.children.contains_key(id);
    let is_ended = session.work.may_be_ended() || session.closed.is_some() || is_child(id) || is_child(other);
    if ended != by || is_ended || between(us, ctx.us) > WRONG_CANCEL {
        return;
    }
    ruling.proved_by(&[asked.n, act]).fail_in_case(fact!(
        "question-of-other-session-withdrawn",
        "the agent withdrew its question after the client ended another session; expected it to stay open";
        session_id = id, pointer = "/params/requestId"
    ));
}

/// Passes an elicitation that the agent cancels after the client cancelled the work of its session.
fn withdrawn(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(asked) = question_of(ctx, call).filter(|open| open.method == ELICIT) else { return };
    let is_of_cancelled = asked.session().is_some_and(|id| {
        let ending = ctx.conversation.session(id).and_then(|session| session.work.ending.as_ref());
        let is_of_ending = ending.is_some_and(|ending| ending.questions.contains(&asked.n));
        is_of_ending || ctx.areas.cancel.left_open(id).any(|left| left.question == asked.n)
    });
    if is_of_cancelled {
        ruling.pass();
    }
}

/// Returns the event of the cancel after which the agent has not ended its work, with the texts of the prompts before
/// it and of those after it; `None` without any after it.
fn prompts_after_cancel<'m>(
    ctx: &CheckContext<'m>,
    update: &UpdateSeen<'m>,
) -> Option<(usize, Vec<&'m str>, Vec<&'m str>)> {
    let cancel = update.known?.work.ending.as_ref().filter(|ending| ending.by == EndedBy::Cancel)?.n;
    let (before, after): (Vec<_>, Vec<_>) = ctx.areas.cancel.prompts(update.session).partition(|(n, _)| *n < cancel);
    let texts = |prompts: Vec<(usize, &'m str)>| prompts.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    (!after.is_empty()).then(|| (cancel, texts(before), texts(after)))
}

/// The agent sends "an idle `state_update`" for the cancelled work "before starting new foreground work in the same
/// session".
///
/// Correct but unusual: a prompt that is inserted and answered before that, and output of the cancelled work. So only a
/// message fails that repeats what the later prompt asked it to repeat, and no earlier one.
fn new_work_first(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((cancel, before, after)) = prompts_after_cancel(ctx, update) else { return };
    let said = update.body.member("content").map(text_of_content).unwrap_or_default();
    let said = said.trim();
    let asks_for = |text: &&str| text.contains(said);
    if SAID.contains(&update.variant)
        && said.len() >= DISTINCTIVE
        && after.iter().any(asks_for)
        && !before.iter().any(asks_for)
    {
        ruling.proved_by(&[cancel]).fail_in_case(fact!(
            "new-work-before-idle",
            "the agent worked on a prompt before it reported the end of the work that the client cancelled before; \
            expected the state idle first";
            session_id = update.session, pointer = "/params/update/content"
        ));
    }
}

/// Passes the end of cancelled work after which a later prompt waits.
fn idle_before_new_work(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let is_end = idle(update) == Some(Some("cancelled"));
    if is_end && prompts_after_cancel(ctx, update).is_some() {
        ruling.pass();
    }
}

/// "Exceptions raised by aborting are not reported as failure": cancelled work does not end with the stop reason
/// `error`.
///
/// Correct but unusual: a model that fails while the cancel is on its way. That is inconclusive, as for any other stop
/// reason.
fn not_an_error(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(reason)) = (update.known, idle(update)) else { return };
    let Some(ending) = session.work.ending.as_ref().filter(|ending| ending.by == EndedBy::Cancel) else { return };
    let fact = || {
        fact!(
            "cancelled-as-error",
            "the agent ended cancelled work with the stop reason error; expected cancelled";
            pointer = "/params/update/stopReason"
        )
    };
    match reason {
        Some("cancelled") => ruling.pass(),
        Some("error") if had_read(ctx, session, ending, update) => ruling.proved_by(&[ending.n]).fail(fact()),
        Some("error") => ruling.proved_by(&[ending.n]).inconclusive(fact()),
        _ => {}
    }
}

/// "This cancellation does not cover later submissions."
///
/// Correct but unusual: a later prompt that the agent refuses, a second cancel before the agent reported that it works
/// on it, work that ends with the connection, and work that the user ends in another way: "an interaction the Agent
/// offers, such as a permission option that tells the Agent to stop". So it is inconclusive if the user has declined
/// anything since the later prompt, or if a request was withdrawn. Work that ends before the agent has answered the
/// later prompt may be its own.
fn later_work_cancelled(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(Some(reason))) = (update.known, idle(update)) else { return };
    let work = &session.work;
    let Some((cancel, true)) = work.last_cancel.filter(|_| !work.may_be_ended() && work.is_active()) else { return };
    let Some((prompt, _)) = ctx.areas.cancel.prompts(update.session).find(|(n, _)| *n > cancel) else { return };
    if ctx.conversation.open_of(Party::Client).any(|open| open.n == prompt) {
        return;
    }
    if reason != "cancelled" {
        return ruling.pass();
    }
    let fact = fact!(
        "later-work-cancelled",
        "the agent ended its work as {actual} without a cancel; the client had cancelled only earlier work",
        actual = reason; session_id = update.session, pointer = REASON
    );
    let is_withdrawn = ctx.conversation.cancel_requests.iter().any(|request| request.n > cancel);
    let is_over = session.closed.is_some() || ctx.conversation.shutting_down.is_some();
    let is_discouraged = ctx.areas.cancel.discouraged.is_some_and(|n| n > prompt);
    let is_disturbed = ctx.conversation.deliberate.range(prompt..).next().is_some();
    let is_doubtful = is_discouraged || is_disturbed || is_withdrawn || is_over || !ctx.conversation.whole;
    ruling.proved_by(&[prompt, cancel]).fail_unless(is_doubtful, fact);
}

/// Whether an update belongs to a message, tool call or command of the work with these events of its end and begin;
/// `None` if that is unknown.
fn is_live(session: &Session, update: &UpdateSeen<'_>, (ended, begun): (usize, usize)) -> Option<bool> {
    if let Some((kind, id)) = message_of(&update.update) {
        return Some(kind == "agent_message" && session.work.history.replies.contains(id));
    }
    if let Some(id) = update.body.text("terminalId") {
        // Only a list of the end, or a later one, shows that a command does not go on.
        let (_, list) = session.work.background.as_ref().filter(|(listed, _)| *listed >= ended)?;
        let terminal = session.work.terminals.get(id).filter(|terminal| !terminal.is_over)?;
        let is_listed = list.iter().filter_map(background::item).any(|item| item == ("terminal", id));
        return Some(!is_listed && terminal.n > begun && terminal.n < ended);
    }
    let id = update.body.text("toolCallId")?;
    let listed = session.work.background.as_ref().map(|(_, list)| list.iter().filter_map(background::item));
    let is_listed = listed?.into_iter().any(|item| item == ("tool_call", id));
    let tool = session.tools.get(id)?;
    Some(!is_listed && tool.n > begun && tool.n < ended)
}

/// "The agent sends all final updates of the cancelled work before the idle state."
///
/// Correct but unusual: a tool call that goes on in the background, a new message, the work for the next prompt, and a
/// patch of anything but content, status and exit status, such as `_meta`. An agent that reports no background work
/// does not show what goes on, so its tool calls and commands do not fail.
fn late_update(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|session| session.resuming.is_none()) else { return };
    let Some(cancelled) = session.work.history.cancelled else { return };
    if ["content", "status", "exitStatus"].iter().all(|name| update.body.member(name).is_none()) {
        return;
    }
    if is_live(session, update, cancelled) == Some(true) {
        let fact = fact!(
            "update-after-cancel",
            "the agent sent {update} of cancelled work after it reported the session as idle; expected it before",
            update = update.variant; session_id = update.session, pointer = "/params/update/sessionUpdate"
        );
        let is_certain = ctx.conversation.whole && !ctx.conversation.may_miss_work(session);
        ruling.proved_by(&[cancelled.0]).fail_if(is_certain, fact);
    }
}

/// Passes cancelled work after whose end the agent answered a later request.
fn silent_after_cancel(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    for (_, session) in watched(ctx) {
        let ended = session.work.history.cancelled.filter(|(ended, _)| ctx.conversation.is_of_case(*ended));
        if ended.is_some_and(|(ended, _)| ctx.conversation.fence.is_some_and(|fence| fence > ended)) {
            ruling.pass();
        }
    }
}

/// "Prompts that were not inserted yet … are answered with error -32800" after `session/cancel`.
///
/// Correct but unusual: an agent that inserts a prompt at once, or refuses it, while it works on another one. Its
/// answer may cross the cancel. So only a prompt fails that was still open when a fence before the cancel was answered,
/// and an error only of an agent that took a prompt before which had to wait.
/// An agent that inserts such a prompt may have done so just before it read the cancel, unless it has ended the
/// cancelled work before.
fn held_prompt(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, "session/prompt") else { return };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let Some((cancel, ended)) = session.work.last_cancel.filter(|(cancel, _)| *cancel > exchange.n) else { return };
    let held = ctx.conversation.fence.is_some_and(|fence| exchange.n < fence && fence < cancel);
    let code = answer.outcome.error_code();
    let fact = || {
        fact!(
            "held-prompt-not-withdrawn",
            "the agent answered a prompt that waited when the client cancelled with {answer}; expected error \
            {expected}",
            answer = answer.outcome.describe(), expected = WITHDRAWN;
            code = code
        )
    };
    match code {
        Some(WITHDRAWN) => ruling.pass(),
        Some(LOGIN) => {}
        Some(_) if held && ctx.conversation.holds_prompts && ctx.conversation.whole => {
            ruling.proved_by(&[exchange.n, cancel]).fail(fact())
        }
        None if held && ctx.conversation.whole && ended => ruling.proved_by(&[exchange.n, cancel]).fail(fact()),
        _ => ruling.proved_by(&[exchange.n, cancel]).inconclusive(fact()),
    }
}

/// A permission request that the agent cancels with `$/cancel_request` is answered with the outcome `cancelled`.
///
/// Correct but unusual: the user had chosen an option before the client read the cancellation. That is inconclusive, as
/// is an error for a request whose work has ended.
fn cancelled_permission(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, "session/request_permission") else { return };
    let Some(cancel) = exchange.cancel_requested else { return };
    let result = answer.result_of("session/request_permission");
    let outcome = result.and_then(|(_, result)| result.member("outcome")?.member("outcome")?.as_str());
    let fact = || {
        fact!(
            "not-cancelled",
            "the client answered a cancelled permission request with {answer}; expected the outcome cancelled",
            answer = answer.outcome.describe(); pointer = "/result/outcome"
        )
    };
    match (outcome, answer.outcome.error_code()) {
        (Some("cancelled"), _) => ruling.pass(),
        (None, Some(-32601 | -32603)) => ruling.proved_by(&[exchange.n, cancel]).fail(fact()),
        _ => ruling.proved_by(&[exchange.n, cancel]).inconclusive(fact()),
    }
}
