//! Area `cancel`, the agent's half: `session/cancel` ends the running turn of its session, and has no other effect.

use std::time::Duration;

use crate::areas::common::{LOGIN, WITHDRAWN};
use crate::areas::support::{Finish, died_after, late_for};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::timing::{CANCEL_CROSSING, CANCEL_LIMIT, TURN_START, WRONG_CANCEL, between, millis};
use crate::conversation::{
    After, Answer, AtCancel, CallSeen, Conversation, Exchange, Outcome, StoppedBy, Terminal, Trial, Turn, UpdateSeen,
};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::requirement::Party;
use crate::trace::ProcessEvent;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("cancel.stop-reason", On::Response(stop_reason)).only(&["session/prompt"]),
    Check::agent("cancel.no-error", On::Response(no_error)).only(&["session/prompt"]),
    Check::agent("cancel.no-error", On::End(errors_when_cancelled)),
    Check::agent("cancel.updates-before-response", On::Update(update_came_late)),
    Check::agent("cancel.updates-before-response", On::ReceivedCall(nothing_came_late)).only(&["session/prompt"]),
    Check::agent("cancel.updates-before-response", On::CaseEnd(nothing_came_at_all)),
    Check::agent("cancel.no-reply", On::Response(no_reply)),
    Check::agent("cancel.no-reply", On::CaseEnd(not_replied)),
    Check::agent("cancel.prompt", On::Response(answered_soon)).only(&["session/prompt"]),
    Check::agent("cancel.prompt", On::End(|ctx, ruling| never_answered(ctx, false, ruling))),
    Check::agent("cancel.awaits-client", On::Response(did_not_wait)).only(&["session/prompt"]),
    Check::agent("cancel.awaits-client", On::End(|ctx, ruling| never_answered(ctx, true, ruling))),
    Check::agent("cancel.idle", On::Process(died_of_idle_cancel)),
    Check::agent("cancel.not-sticky", On::Response(not_sticky)).only(&["session/prompt"]),
    Check::agent("cancel.unknown-session", On::CaseEnd(unknown_session)),
    Check::agent("cancel.unknown-session", On::Process(died_of_unknown_session)),
    Check::agent("cancel.scope", On::Response(scope)).only(&["session/prompt"]),
    Check::agent("cancel.releases-terminals", On::CaseEnd(released_terminals)),
    Check::agent("cancel.releases-terminals", On::End(releases_terminals)),
];

/// Returns the answer to a turn that the client cancelled, and the situation at the cancel.
fn cancelled<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<(Finish<'m>, &'m AtCancel)> {
    let finish = Finish::even_overlapped(ctx, answer)?;
    let at = finish.log.at_cancel.as_ref()?;
    Some((finish, at))
}

/// Whether the agent had begun the turn when the client cancelled it.
fn had_begun(turn: &Turn, prompt: &Exchange, at: &AtCancel) -> bool {
    let showed = turn.first_output.is_some_and(|n| n < at.n) || !at.waiting.is_empty();
    showed || between(prompt.us, at.us) > TURN_START
}

/// Returns the time since a cancel that counts for the agent.
fn since(ctx: &CheckContext<'_>, at: &AtCancel, until: u64) -> Duration {
    ctx.conversation.in_between((at.us, at.heard), until)
}

/// Evidence that the agent had read the cancel when it sent the answer.
#[derive(Clone, Copy, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
enum Evidence {
    /// The answer came long after the cancel.
    LateAnswer,
    /// The turn waited for an answer of the client, which the client sent after the cancel.
    ClientAnswer,
    /// The agent withdrew, after the cancel, a question that the turn waited for.
    QuestionWithdrawn,
    /// A tool call of the turn was in progress.
    ToolInProgress,
}

/// Returns the evidence that the agent had read the cancel when it sent the answer; `None` if the two may have crossed.
///
/// A tool call in progress, or a command in a terminal that ends after the cancel, proves that the turn was not over.
/// Only a case asks for a long one; in a recording both may continue in the background when the turn ends by itself.
fn had_read_cancel(ctx: &CheckContext<'_>, finish: &Finish<'_>, at: &AtCancel) -> Option<Evidence> {
    let waits_still = |n: usize| ctx.conversation.open_of(Party::Agent).any(|open| open.n == n);
    let withdrew = |n: usize| {
        let mut open = ctx.conversation.open_of(Party::Agent).filter(|open| open.n == n);
        open.any(|open| open.cancel_requested.is_some_and(|withdrawn| withdrawn > at.n))
    };
    let running = finish.turn.tools.iter().filter_map(|id| finish.session.tools.get(id));
    if since(ctx, at, ctx.us) > CANCEL_CROSSING {
        Some(Evidence::LateAnswer)
    } else if at.waiting.iter().any(|(n, method)| !waits_still(*n) && (ctx.conversation.whole || needs_answer(method)))
    {
        Some(Evidence::ClientAnswer)
    } else if at.waiting.iter().any(|(n, _)| withdrew(*n)) {
        Some(Evidence::QuestionWithdrawn)
    } else if ctx.conversation.whole && running.into_iter().any(|tool| tool.status == "in_progress") {
        Some(Evidence::ToolInProgress)
    } else {
        None
    }
}

/// Whether a turn cannot end by itself before the client answers; a command in a terminal may outlast it.
fn needs_answer(method: &str) -> bool {
    !method.starts_with("terminal/")
}

/// "The Agent MUST respond to the original session/prompt request with the cancelled stop reason."
///
/// Correct but unusual: a turn that came to its own end while the cancel was on its way, also on a busy machine; one
/// that had not begun when the cancel came; and one with other causes than a cancel.
fn stop_reason(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((finish, at)) = cancelled(ctx, answer) else { return };
    let Some(reason) = finish.reason() else { return };
    match had_read_cancel(ctx, &finish, at) {
        _ if reason == "cancelled" && finish.log.overlapped.is_none() => ruling.pass(),
        _ if !had_begun(finish.turn, finish.exchange, at) => ruling.proved_by(&[at.n]).inconclusive(fact!(
            "cancelled-before-start",
            "the agent ended the turn as {actual}; the client had cancelled it before the agent showed that it \
            had begun",
            actual = reason;
            expected = "cancelled", pointer = "/result/stopReason"
        )),
        _ if finish.log.disturbed.is_some() => ruling.proved_by(&[at.n]).inconclusive(fact!(
            "disturbed-turn",
            "the agent ended the cancelled turn as {actual}; the client had done more than cancel it",
            actual = reason; expected = "cancelled", pointer = "/result/stopReason"
        )),
        Some(evidence) => ruling.proved_by(&[at.n]).fail(fact!(
            "wrong-stop-reason",
            "the agent ended the cancelled turn as {actual}; expected cancelled",
            actual = reason; expected = "cancelled", pointer = "/result/stopReason", evidence = evidence
        )),
        None => ruling.proved_by(&[at.n]).inconclusive(fact!(
            "cancel-crossed-response",
            "the agent ended the turn as {actual}; its response may have crossed the cancel",
            actual = reason; expected = "cancelled", pointer = "/result/stopReason"
        )),
    }
}

/// "Agents MUST catch these errors and return the semantically meaningful cancelled stop reason."
///
/// Correct but unusual: a model that failed on its own while the cancel was on its way, a login that expired, and a
/// prompt that the agent refuses before it begins, after a slow start. The words of the error decide nothing: see
/// [`fails_when_stopped`] for an error that may have crossed the cancel.
fn no_error(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((finish, at)) = cancelled(ctx, answer) else { return };
    let Outcome::Error(_) = finish.outcome else {
        // A turn that ended by itself meanwhile has not caught an error.
        return if finish.reason() == Some("cancelled") && finish.log.overlapped.is_none() {
            ruling.pass();
        };
    };
    let code = finish.outcome.error_code();
    let answer = finish.outcome.describe();
    match had_read_cancel(ctx, &finish, at) {
        _ if code == Some(-32800) && finish.exchange.cancel_requested.is_some() => {}
        _ if code == Some(-32000) || finish.log.disturbed.is_some() => ruling.proved_by(&[at.n]).inconclusive(fact!(
            "error-of-disturbed-turn",
            "the agent answered the cancelled prompt with {answer}, which may have another reason than the cancel",
            answer; code = code
        )),
        _ if matches!(code, Some(-32600 | -32602)) && !finish.log.acted => {
            ruling.proved_by(&[at.n]).inconclusive(fact!(
                "prompt-refused",
                "the agent answered the cancelled prompt with {answer}, which may be about the prompt itself",
                answer; code = code
            ))
        }
        None if code != Some(-32800) => ruling.proved_by(&[at.n]).inconclusive(fact!(
            "cancel-crossed-response",
            "the agent answered the prompt with {answer}; the error may have crossed the cancel",
            answer; code = code
        )),
        _ => ruling.proved_by(&[at.n]).fail(fact!(
            "error-for-cancelled-turn",
            "the agent answered the cancelled prompt with {answer}; expected the stop reason cancelled",
            answer; code = code
        )),
    }
}

/// As above, for turns that fail with an error whenever the client cancels them.
fn errors_when_cancelled(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let Some((trial, events)) = fails_when_stopped(ctx, StoppedBy::Cancel) else { return };
    ruling.proved_by(&events).fail(fact!(
        "error-for-cancelled-turns",
        "the agent ended each cancelled turn with an error, and no other turn; expected the stop reason cancelled";
        code = trial.error
    ));
}

/// Returns the proof that turns fail because the client stops them in this way: at least two failed directly after
/// that, although they had begun, and of at least two others none failed.
pub(in crate::areas) fn fails_when_stopped<'m>(
    ctx: &CheckContext<'m>,
    by: StoppedBy,
) -> Option<(&'m Trial, [usize; 4])> {
    let stop = |trial: &Trial| trial.turn.as_ref().and_then(|turn| turn.stop);
    let is_failed = |trial: &Trial| {
        let soon = stop(trial).is_some_and(|stop| stop.by == by && stop.begun && stop.ago <= WRONG_CANCEL);
        // The answer to an earlier `$/cancel_request` for this prompt, which took a while.
        let by_id = by != StoppedBy::CancelRequest && trial.exchange.cancel_requested.is_some();
        soon && trial.error.is_some_and(|code| code != LOGIN && !(by_id && code == WITHDRAWN))
    };
    let is_turn = |one: &Trial, other: &Trial| match by {
        // A session has only one turn that its close can end.
        StoppedBy::Close => one.turn.is_some() && other.turn.is_some(),
        StoppedBy::Cancel | StoppedBy::CancelRequest => one.is_turn_beside(other),
    };
    ctx.conversation.trials.contrast(|trial| stop(trial).is_some(), is_failed, is_turn)
}

/// "It MUST ensure that it does so before responding to the session/prompt request."
///
/// Correct but unusual: the agent reports on a command in the background, sends a message on its own initiative, or
/// shows another client's turn in the same session. So a recording is inconclusive.
fn update_came_late(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some((at, (ended, _))) = late_for(ctx, update).and_then(|turn| turn.at_cancel.as_ref().zip(turn.ended)) {
        ruling.proved_by(&[at.n, ended]).fail_in_case(fact!(
            "update-after-response",
            "the agent sent {update} after its response to the cancelled prompt; expected it before the response",
            update = update.variant; session_id = update.session, pointer = "/params/update/sessionUpdate"
        ));
    }
}

/// Exercised by a cancelled turn without an update between its response and the next prompt.
fn nothing_came_late(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = call.text_of("session/prompt", "sessionId").and_then(|id| ctx.conversation.session(id));
    let turn = session.and_then(|session| session.log.as_ref());
    if turn.is_some_and(|turn| turn.at_cancel.is_some() && turn.gave_up && turn.overlapped.is_none()) {
        ruling.pass();
    }
}

/// Exercised by a cancelled turn without an update between its response and the response to a later request.
fn nothing_came_at_all(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let turns = ctx.conversation.turn_logs().map(|(_, turn)| turn);
    let cancelled = turns.filter(|turn| turn.at_cancel.is_some() && turn.gave_up && turn.overlapped.is_none());
    for (ended, _) in cancelled.filter_map(|turn| turn.ended) {
        if is_served(ctx, ended) {
            ruling.pass();
        }
    }
}

/// `session/cancel` is a notification, and "the Server MUST NOT reply to a Notification".
///
/// Correct but unusual: an answer without an id that belongs to an unreadable line, or to an answer of the client that
/// the agent rejects. See [`replied_to`].
fn no_reply(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let notifications = ctx.conversation.notifications.answered_by(answer, ctx.from.other());
    // The agent may refuse a cancel that violates the protocol.
    if notifications.iter().all(|(n, _)| !ctx.conversation.deliberate.contains(n)) {
        replied_to(ctx, answer, "session/cancel", ruling);
    }
}

/// Fails if this answers no request and can only belong to the notification `method` of the other party. In a
/// recording, an error with another code may be about a rejected response.
pub(in crate::areas) fn replied_to(ctx: &CheckContext<'_>, answer: &Answer<'_>, method: &str, ruling: &mut Ruling<'_>) {
    let notifications = ctx.conversation.notifications.answered_by(answer, ctx.from.other());
    let unread = ctx.conversation.is_unclear(ctx.from.other());
    let only = notifications.iter().all(|(_, known)| *known == method);
    let Some((n, _)) = notifications.last().filter(|_| only && !unread) else { return };
    let fact = fact!(
        "notification-answered",
        "the {party} answered the notification {method}; expected no response",
        party = ctx.from, method; code = answer.outcome.error_code()
    );
    // These two codes answer only calls.
    let to_a_call = matches!(answer.outcome.error_code(), Some(-32601 | -32602));
    match answer.outcome {
        Outcome::Error(_) if !to_a_call => ruling.proved_by(&[*n]).fail_in_case(fact),
        _ => ruling.proved_by(&[*n]).fail(fact),
    }
}

/// Exercised when a later request was answered without an answer to the cancel before it.
fn not_replied(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let turns = ctx.conversation.turn_logs().map(|(_, turn)| turn);
    let idle = ctx.conversation.sessions.values().filter_map(|session| session.idle_cancel);
    let cancels = turns.filter_map(|turn| Some(turn.at_cancel.as_ref()?.n)).chain(idle).chain(ctx.areas.cancel.stray);
    if cancels.into_iter().any(|n| is_served(ctx, n)) {
        ruling.pass();
    }
}

/// "It SHOULD stop all language model requests and all tool call invocations as soon as possible."
fn answered_soon(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let alone = |finish: &Finish<'_>| finish.log.overlapped.is_none();
    let Some((finish, at)) = cancelled(ctx, answer).filter(|(finish, at)| at.waiting.is_empty() && alone(finish))
    else {
        return;
    };
    let taken = since(ctx, at, ctx.us);
    if finish.reason() != Some("cancelled") && !had_begun(finish.turn, finish.exchange, at) {
        return;
    }
    // A turn that ends in another way within this time may have ended by itself.
    if taken <= CANCEL_LIMIT && finish.reason() != Some("cancelled") {
        return;
    }
    ruling.decide(taken <= CANCEL_LIMIT, || {
        fact!(
            "late-answer",
            "the agent ended the cancelled turn after {after_ms}; expected at most {limit_ms}",
            after_ms = millis(taken),
            limit_ms = millis(CANCEL_LIMIT)
        )
    });
}

/// As above, for a turn that did not end, or that waits for the client.
///
/// Correct but unusual: an agent that reads the cancel before it has begun the turn; and one that cancels its request
/// to the client and waits "for the response from the remote side", which is inconclusive.
fn never_answered(ctx: &CheckContext<'_>, waits_for_client: bool, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let until = conversation.closed_us.unwrap_or(ctx.us);
    let running = conversation.turn_logs().filter(|(_, turn)| turn.ended.is_none() && turn.disturbed.is_none());
    for (session, turn, at) in running.filter_map(|(session, turn)| Some((session, turn, turn.at_cancel.as_ref()?))) {
        let known = conversation.session(session).and_then(|session| session.turn.as_ref());
        let prompt = conversation.open_of(Party::Client).find(|open| open.n == turn.n);
        if !known.zip(prompt).is_some_and(|(known, prompt)| had_begun(known, prompt, at)) {
            continue;
        }
        let passed = since(ctx, at, until);
        let long = passed > CANCEL_LIMIT && conversation.timed_out.contains_key(&turn.n);
        let mut waits = conversation.open_of(Party::Agent).filter(|open| open.session() == Some(session));
        let waiting = waits.find(|open| open.n < at.n && open.method != "session/request_permission");
        let served = conversation.fence.is_some_and(|fence| fence > at.n);
        match waiting {
            Some(open) if waits_for_client && long && open.cancel_requested.is_some() => {
                ruling.proved_by(&[open.n, at.n]).inconclusive(fact!(
                    "awaits-withdrawn-request",
                    "the agent did not end the cancelled turn while it waited for the answer to {method}, which it had \
                    cancelled",
                    method = open.method; session_id = session
                ));
            }
            Some(open) if waits_for_client && long => ruling.proved_by(&[open.n, at.n]).fail(fact!(
                "waits-for-client",
                "the agent did not end the cancelled turn while it waited for {method}; expected it within \
                {limit_ms}",
                method = open.method, limit_ms = millis(CANCEL_LIMIT);
                session_id = session
            )),
            None if !waits_for_client && long && served && at.waiting.is_empty() => {
                ruling.proved_by(&[at.n, turn.n]).fail(fact!(
                    "turn-not-ended",
                    "the agent had not ended the cancelled turn {after_ms} after the cancel, but answered a later \
                    request; expected at most {limit_ms}",
                    after_ms = millis(passed),
                    limit_ms = millis(CANCEL_LIMIT);
                    session_id = session
                ));
            }
            _ => {}
        }
    }
}

/// The agent reacts to the cancel while a request of its own is open.
fn did_not_wait(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, at)) = cancelled(ctx, answer).filter(|(finish, _)| finish.log.overlapped.is_none()) else {
        return;
    };
    let others = at.waiting.iter().filter(|(_, method)| method != "session/request_permission");
    let open = |n: usize| ctx.conversation.open_of(Party::Agent).any(|open| open.n == n);
    if others.into_iter().any(|(n, _)| open(*n)) {
        ruling.pass();
    }
}

/// A cancel without a running turn has no effect.
fn died_of_idle_cancel(ctx: &CheckContext<'_>, process: &ProcessEvent, ruling: &mut Ruling<'_>) {
    let mut cancels = ctx.conversation.sessions.values().filter_map(|session| session.idle_cancel);
    if let Some(n) = cancels.find(|&n| died_after(ctx, process, n)) {
        ruling.proved_by(&[n]).fail(fact!(
            "exit-after-cancel",
            "the agent exited after {method}, which came while no turn ran; expected no effect",
            method = "session/cancel"
        ));
    }
}

/// Whether an earlier cancel came that cannot concern this turn.
pub(in crate::areas) fn earlier_cancel(finish: &Finish<'_>) -> bool {
    finish.session.idle_cancel.is_some() || matches!(finish.log.after, Some(After::Cancel { .. }))
}

/// A cancel is for "an ongoing prompt turn", not for the next one.
///
/// Correct but unusual: a next turn that ends as cancelled for another reason, such as a second cancel, a refused
/// permission or a closed session; and an agent that handles the cancel and the prompt at the same time, since they
/// came together. In a recording, the reason may be missing, such as a signal.
fn not_sticky(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(|finish| earlier_cancel(finish) && !finish.was_cancelled())
    else {
        return;
    };
    match finish.reason() {
        Some("cancelled") if has_no_other_reason(&finish) && cancelled_elsewhere(ctx, &finish).is_none() => {
            if finish.log.cancel_read {
                ruling.proved_by(&[finish.exchange.n]).fail_in_case(fact!(
                    "earlier-cancel-applied",
                    "the agent ended the turn as cancelled; expected it to continue, since the cancel came before \
                    its prompt";
                    pointer = "/result/stopReason", actual = "cancelled"
                ));
            } else {
                ruling.proved_by(&[finish.exchange.n]).inconclusive(fact!(
                    "cancel-read-with-prompt",
                    "the agent ended the turn as cancelled; it may have read the earlier cancel together with the \
                    prompt";
                    pointer = "/result/stopReason", actual = "cancelled"
                ));
            }
        }
        Some("cancelled") | None => {}
        Some(_) => ruling.pass(),
    }
}

fn has_no_other_reason(finish: &Finish<'_>) -> bool {
    finish.other_reason().or(finish.turn.other_closed).is_none()
}

/// Exercised when a later request was answered.
fn unknown_session(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    if ctx.areas.cancel.stray.is_some_and(|n| is_served(ctx, n)) {
        ruling.pass();
    }
}

/// Whether a fence of the current case was answered after this event.
fn is_served(ctx: &CheckContext<'_>, n: usize) -> bool {
    ctx.conversation.is_of_case(n) && ctx.conversation.fence.is_some_and(|fence| fence > n)
}

/// A cancel for an unknown session does not end the agent.
fn died_of_unknown_session(ctx: &CheckContext<'_>, process: &ProcessEvent, ruling: &mut Ruling<'_>) {
    if let Some(n) = ctx.areas.cancel.stray.filter(|&n| died_after(ctx, process, n)) {
        ruling.proved_by(&[n]).fail(fact!(
            "exit-after-cancel",
            "the agent exited after {method}, which named an unknown session; expected no effect",
            method = "session/cancel"; pointer = "/params/sessionId"
        ));
    }
}

/// Returns the cancel of another session's turn, while this turn ran.
pub(in crate::areas) fn cancelled_elsewhere(ctx: &CheckContext<'_>, finish: &Finish<'_>) -> Option<usize> {
    let others = ctx.conversation.turn_logs().filter(|(id, _)| finish.exchange.session() != Some(id));
    let mut cancels = others.filter_map(|(_, turn)| Some(turn.at_cancel.as_ref()?.n));
    cancels.find(|&n| n > finish.turn.n)
}

/// `session/cancel` names one session, and ends only the turn of that session.
///
/// Correct but unusual: a client that cancels several sessions, an agent whose turns fail together with an error, and
/// one that ends the other turn because its user refused something. In a recording a signal may have ended both.
fn scope(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(|finish| !finish.was_cancelled()) else { return };
    let Some(elsewhere) = cancelled_elsewhere(ctx, &finish) else { return };
    match finish.reason() {
        Some("cancelled") if has_no_other_reason(&finish) && !earlier_cancel(&finish) => {
            ruling.proved_by(&[elsewhere]).fail_in_case(fact!(
                "other-session-cancelled",
                "the agent ended the turn as cancelled, but the client cancelled only another session";
                pointer = "/result/stopReason", actual = "cancelled", session_id = finish.exchange.session()
            ));
        }
        Some("cancelled") | None => {}
        // Until then, the agent may have ended both turns before it read the cancel.
        Some(_) if ctx.conversation.answered_after(Party::Agent, elsewhere) || is_given_up(ctx, elsewhere) => {
            ruling.pass()
        }
        Some(_) => {}
    }
}

/// Whether the turn that this cancel is for was answered as cancelled.
fn is_given_up(ctx: &CheckContext<'_>, cancel: usize) -> bool {
    ctx.conversation
        .turn_logs()
        .any(|(_, turn)| turn.gave_up && turn.at_cancel.as_ref().is_some_and(|at| at.n == cancel))
}

/// "The Agent MUST release the terminal using terminal/release when it's no longer needed", as after a cancel.
///
/// Correct but unusual: the agent lets the command exit first, releases the terminal seconds after its answer, or gets
/// the terminal only after the turn is over. It has ten seconds, and a recording never fails. A command that runs in
/// the background, such as a server, may still be needed: only a terminal fails whose exit the cancelled turn waited
/// for, whose exit the agent knows, or which the agent got after the cancel and never used.
fn releases_terminals(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let until = conversation.closed_us.unwrap_or(ctx.us);
    for (terminal, (id, ended, us), (cancel, awaited)) in terminals_of_cancelled_turns(conversation) {
        if terminal.released.is_some() {
            continue;
        }
        let is_named = conversation.open_of(Party::Agent).any(|open| open.text("terminalId") == Some(id));
        let is_used = is_named || terminal.read.is_some();
        let unneeded = awaited || terminal.exited.is_some() || terminal.created > cancel && !is_used;
        let passed = between(us, until);
        if unneeded && passed > CANCEL_LIMIT && conversation.fence.is_some_and(|fence| fence > ended) {
            ruling.proved_by(&[terminal.created, ended]).fail(fact!(
                "terminal-not-released",
                "the agent had not released the terminal `{terminal_id}` {after_ms} after the cancelled turn; expected \
                at most {limit_ms}",
                terminal_id = id,
                after_ms = millis(passed),
                limit_ms = millis(CANCEL_LIMIT)
            ));
        } else {
            ruling.proved_by(&[terminal.created]).inconclusive(fact!(
                "terminal-open-at-end",
                "the agent had not released the terminal `{terminal_id}` when the trace ended; it may still be in use",
                terminal_id = id
            ));
        }
    }
}

/// As [`releases_terminals`], for the terminals that were released.
fn released_terminals(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let released = terminals_of_cancelled_turns(conversation).filter(|(terminal, ..)| terminal.released.is_some());
    released.filter(|(terminal, ..)| conversation.is_of_case(terminal.created)).for_each(|_| ruling.pass());
}

/// Returns the terminals that were created in a cancelled turn, each with its id, with the event and the time of the
/// end of the turn, and with the event of the cancel and whether the turn waited for the exit of its command then.
fn terminals_of_cancelled_turns(
    conversation: &Conversation,
) -> impl Iterator<Item = (&Terminal, (&str, usize, u64), (usize, bool))> {
    let has_terminals = !conversation.client_lacks(Feature::Method("terminal/create"));
    let turns = conversation.turn_logs().map(|(_, turn)| turn);
    let cancelled = turns.filter(move |turn| has_terminals && turn.overlapped.is_none());
    cancelled.filter_map(|turn| Some((turn, turn.at_cancel.as_ref()?, turn.ended?))).flat_map(
        |(turn, at, (ended, us))| {
            let of_turn = conversation.terminals.iter().filter(|(_, terminal)| terminal.turn == Some(turn.n));
            of_turn.map(move |(id, terminal)| (terminal, (id.as_str(), ended, us), (at.n, at.awaited.contains(id))))
        },
    )
}
