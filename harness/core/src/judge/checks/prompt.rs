//! Area `prompt`: which prompts are taken, and how turns end.

use serde_json::Value;

use super::common::mentions;
use super::support::{Finish, fail_in_case, late_for, says_abort};
use crate::judge::check::{Check, On};
use crate::judge::conversation::{After, Decision, Session, ToolCall};
use crate::judge::moment::{Answer, CallSeen, Moment, Outcome, UpdateSeen};
use crate::judge::ruling::Ruling;
use crate::judge::timing::{CLIENT_PATIENCE, OUTPUT_SILENCE, between};
use crate::requirement::Party;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("prompt.text", On::Response(taken::<TEXT>)),
    Check::agent("prompt.resource-link", On::Response(taken::<LINK>)),
    Check::agent("prompt.image-accepted", On::Response(taken::<IMAGE>)),
    Check::agent("prompt.image-accepted", On::End(no_images)),
    Check::agent("prompt.audio-accepted", On::Response(taken::<AUDIO>)),
    Check::agent("prompt.audio-accepted", On::End(no_audio)),
    Check::agent("prompt.embedded-accepted", On::Response(taken::<EMBEDDED>)),
    Check::agent("prompt.embedded-accepted", On::End(no_embedded)),
    Check::agent("prompt.meta-accepted", On::Response(taken::<META>)),
    Check::agent("prompt.next-turn", On::Response(taken::<NEXT>)),
    Check::agent("cancel.session-usable", On::Response(taken::<AFTER_CANCEL>)),
    Check::agent("cancel.idle", On::Response(taken::<AFTER_IDLE_CANCEL>)),
    Check::agent("schema.nullable-accepted.agent", On::Response(taken::<NULLS>)),
    Check::agent("prompt.stop-reason", On::Response(stop_reason)),
    Check::agent("prompt.responds-at-end", On::Response(responded)),
    Check::agent("prompt.responds-at-end", On::End(never_responded)),
    Check::agent("prompt.no-early-response", On::Response(no_early_response)),
    Check::agent("prompt.updates-before-response", On::Response(updates_came_before)),
    Check::agent("prompt.updates-before-response", On::Update(update_came_late)),
    Check::agent("prompt.output-reported", On::Response(output_reported)),
    Check::agent("prompt.update-session-match", On::Update(update_session_match)),
    Check::agent("prompt.update-session-match", On::Response(updates_went_elsewhere)),
    Check::agent("prompt.cancelled-only-on-cancel", On::Response(cancelled_only_on_cancel)),
    Check::client("prompt.one-at-a-time", On::Call(one_at_a_time)),
];

/// A prompt of nothing but text.
const TEXT: u8 = 0;
/// A prompt with a `resource_link`.
const LINK: u8 = 1;
/// A prompt with an image, which the agent said it takes.
const IMAGE: u8 = 2;
/// A prompt with audio, which the agent said it takes.
const AUDIO: u8 = 3;
/// A prompt with an embedded resource, which the agent said it takes.
const EMBEDDED: u8 = 4;
/// A prompt with `_meta` somewhere.
const META: u8 = 5;
/// A prompt after a turn that ended by itself.
const NEXT: u8 = 6;
/// A prompt after a turn that was cancelled.
const AFTER_CANCEL: u8 = 7;
/// A prompt after a cancel while no turn ran.
const AFTER_IDLE_CANCEL: u8 = 8;
/// A prompt with nulls.
const NULLS: u8 = 9;

/// What is remarkable about the params of a prompt; none when it holds something that the agent did not say it takes.
fn content(moment: &Moment<'_>, params: &Value) -> Option<Vec<u8>> {
    let blocks = params.get("prompt").and_then(Value::as_array).filter(|blocks| !blocks.is_empty())?;
    let mut traits = Vec::new();
    for block in blocks {
        let (capability, kind) = match block.get("type").and_then(Value::as_str)? {
            "text" => continue,
            "resource_link" => ("", LINK),
            "image" => ("image", IMAGE),
            "audio" => ("audio", AUDIO),
            _ => ("embeddedContext", EMBEDDED),
        };
        if !capability.is_empty() && !moment.talk.agent_has(&["promptCapabilities", capability]) {
            return None;
        }
        traits.push(kind);
    }
    let objects = || std::iter::once(params).chain(blocks);
    let has_null = |object: &Value| object.as_object().is_some_and(|object| object.values().any(Value::is_null));
    traits.extend(objects().any(|object| object.get("_meta").is_some_and(Value::is_object)).then_some(META));
    traits.extend(objects().any(has_null).then_some(NULLS));
    traits.dedup();
    Some(traits)
}

/// What is remarkable about what went before a prompt.
fn place(finish: &Finish<'_>) -> impl Iterator<Item = u8> {
    let found = [
        (NEXT, finish.course.after == Some(After::Result)),
        (AFTER_CANCEL, finish.course.after == Some(After::Cancel)),
        (AFTER_IDLE_CANCEL, finish.session.idle_cancel.is_some()),
    ];
    found.into_iter().filter(|(_, found)| *found).map(|(kind, _)| kind)
}

/// A valid prompt to a session that is open and idle is taken: "Agents MUST support ContentBlock::Text and
/// ContentBlock::ResourceLink", they take what they advertise, and a session goes on after a turn, whatever its end.
///
/// Correct but unusual: the agent refuses a prompt without text, an image that is too large, a link to nothing or a `_meta` of
/// its own with a wrong value, which a recording may hold. In a case it refuses every prompt until a model is chosen, an image
/// that the chosen model cannot read, a prompt after a change of the settings, or a second turn at the same time in another
/// session. None of these fails.
fn taken<const TRAIT: u8>(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(moment, answer).filter(is_ready) else { return };
    let params = &finish.exchange.params;
    let valid = moment.talk.edition.stable.problems("PromptRequest", params).is_empty();
    let Some(mut traits) = content(moment, params).filter(|_| valid && finish.course.disturbed.is_none()) else {
        return;
    };
    let plain = traits.is_empty();
    traits.extend(place(&finish));
    if traits.is_empty() {
        traits.push(TEXT);
    }
    if plain && matches!(finish.outcome, Outcome::Result(_)) {
        refused::<TRAIT>(moment, &finish, ruling);
    }
    if !traits.contains(&TRAIT) {
        return;
    }
    let seen = || format!("the prompt was answered with {}", finish.outcome.describe());
    match finish.outcome.error_code() {
        None if matches!(finish.reason(), Some("cancelled") | None) && !finish.was_cancelled() => {}
        None => ruling.pass(),
        // An unknown method breaks the rule on the baseline, and -32800 is a cancellation.
        Some(-32601 | -32800) => {}
        Some(-32602 | -32600)
            if plain && traits.len() == 1 && !finish.course.acted && is_the_reason(moment, &finish, TRAIT) =>
        {
            fail_in_case(moment, seen(), &[finish.exchange.n], ruling);
        }
        Some(_) if finish.was_cancelled() => {}
        Some(_) => ruling.inconclusive(format!("{}, which may come from elsewhere", seen()), &[finish.exchange.n]),
    }
}

/// Whether the session is open and idle. What it does after it was loaded or resumed is for the rules of those areas, and
/// "behavior for deleting an active session is implementation-defined".
fn is_ready(finish: &Finish<'_>) -> bool {
    let session = finish.session;
    let gone = session.closed.is_some() || session.deleted || session.reopening_failed;
    !gone && finish.turn.after.is_none()
}

/// Whether the prompt can only have been refused for this. Where every prompt is refused, as until a model is chosen, neither
/// its text nor a cancel before it is the reason. A change of the settings, or a turn in another session, may be one.
fn is_the_reason(moment: &Moment<'_>, finish: &Finish<'_>, kind: u8) -> bool {
    let asked = finish.exchange.session().and_then(|id| moment.talk.course.session(id)?.asked);
    let before = finish.session.ended.as_ref().map_or(0, |ended| ended.prompt);
    let was_set = asked.is_some_and(|asked| asked > before);
    if was_set || runs_elsewhere(moment, finish) || mentions(finish.outcome, "model") {
        return false;
    }
    let abort = || matches!(finish.outcome, Outcome::Error(error) if says_abort(error));
    let reasons = || moment.talk.sessions.values().filter_map(|session| session.ended.as_ref()?.reason.as_ref());
    match kind {
        TEXT => reasons().next().is_some(),
        AFTER_IDLE_CANCEL => abort() || reasons().next().is_some(),
        _ => true,
    }
}

/// Whether a turn of another session ran after this prompt was sent.
fn runs_elsewhere(moment: &Moment<'_>, finish: &Finish<'_>) -> bool {
    let others = moment.talk.sessions.iter().filter(|(id, _)| finish.exchange.session() != Some(id.as_str()));
    let ended = |session: &Session| session.ended.as_ref().is_some_and(|ended| ended.n > finish.exchange.n);
    others.into_iter().any(|(_, session)| session.turn.is_some() || ended(session))
}

/// What a prompt held was the reason to refuse it, if a plain one in the same session is taken after it: some agents
/// refuse every prompt until a model is chosen.
fn refused<const TRAIT: u8>(moment: &Moment<'_>, finish: &Finish<'_>, ruling: &mut Ruling<'_>) {
    let course = finish.exchange.session().and_then(|id| moment.talk.course.session(id));
    let Some(refused) = course.and_then(|course| course.refused.as_ref()) else { return };
    let outcome = Outcome::Error(&refused.error);
    let of_params =
        matches!(outcome.error_code(), Some(-32602 | -32600)) && !refused.acted && !mentions(outcome, "model");
    let valid = moment.talk.edition.stable.problems("PromptRequest", &refused.params).is_empty();
    if of_params && valid && content(moment, &refused.params).is_some_and(|traits| traits == [TRAIT]) {
        let message =
            format!("the prompt was answered with {}, and a plain one after it was taken", outcome.describe());
        fail_in_case(moment, message, &[refused.n], ruling);
    }
}

fn lacks(moment: &Moment<'_>, kind: &str, ruling: &mut Ruling<'_>) {
    if moment.talk.initialized.is_some() && !moment.talk.agent_has(&["promptCapabilities", kind]) {
        ruling.not_applicable(format!("the agent does not advertise promptCapabilities.{kind}"));
    }
}

fn no_images(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    lacks(moment, "image", ruling);
}

fn no_audio(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    lacks(moment, "audio", ruling);
}

fn no_embedded(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    lacks(moment, "embeddedContext", ruling);
}

/// "The Agent MUST respond to the original session/prompt request with a StopReason"; null has none.
///
/// Correct but unusual: an agent that answers a prompt which the tester broke on purpose with null. That fails nothing.
fn stop_reason(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let Some((exchange, Value::Null)) = answer.result_of("session/prompt").filter(|(it, _)| !it.deliberate) {
        ruling.fail("the result of session/prompt is null, and has no stop reason", &[exchange.n]);
    }
}

/// "If there are no pending tool calls, the turn ends and the Agent MUST respond."
fn responded(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if Finish::of(moment, answer).is_some_and(|finish| finish.reason().is_some()) {
        ruling.pass();
    }
}

/// Whether the agent has repeated, to the last character, something that the prompt asked it to repeat. Nothing else
/// tells from outside that a model is done: an agent whose model cannot be reached is silent as well.
fn has_said_it_all(session: &Session) -> bool {
    const TELLING: usize = 8;
    let start = session.spoken.iter().rposition(|(variant, _)| variant == "user_message_chunk").unwrap_or_default();
    let (prompt, reply) = session.spoken[start..].split_at(1.min(session.spoken.len()));
    let reply: String = reply.iter().map(|(_, text)| text.as_str()).collect();
    reply.trim().len() >= TELLING && prompt.iter().any(|(_, prompt)| prompt.contains(reply.trim()))
}

/// As above: the agent said all that was asked for, waits for nothing, serves the connection, and has been silent for
/// long.
///
/// Correct but unusual: the agent thinks in silence for minutes, waits for the client, for a tool call or for a command in a
/// terminal, or says something else than it was asked for. Time alone does not fail.
fn never_responded(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    let talk = moment.talk;
    for open in talk.open_of(Party::Client).filter(|open| open.method == "session/prompt" && !open.deliberate) {
        let Some((id, &verdict)) = open.session().zip(talk.timed_out.get(&open.n)) else { continue };
        let Some((session, course)) = talk.session(id).zip(talk.course.session(id)) else { continue };
        let Some((turn, course)) = session.turn.as_ref().zip(course.turn.as_ref()).filter(|(turn, _)| turn.n == open.n)
        else {
            continue;
        };
        let until = talk.course.closed_us.unwrap_or(moment.us);
        let silent = course.last_output_us.is_some_and(|last| between(last, until) > OUTPUT_SILENCE);
        let waits = talk.open_of(Party::Agent).any(|request| request.session() == Some(id));
        let busy = turn.tools.iter().filter_map(|id| session.tools.get(id)).any(|tool| !tool.is_final());
        let served = talk.fence.is_some_and(|fence| fence > open.n);
        let alone = turn.cancelled.is_none() && course.disturbed.is_none() && !talk.has_live_terminal(turn);
        let done = has_said_it_all(session) && !waits && !busy && alone;
        if done && silent && served {
            ruling.fail("the turn said all that was asked for, and the prompt was not answered", &[open.n, verdict]);
        } else {
            ruling.inconclusive("the prompt was not answered before its time limit", &[open.n, verdict]);
        }
    }
}

/// Whether the user did not let the tool run, so that it has no end to report.
fn was_refused(tool: &ToolCall) -> bool {
    let answers = tool.permissions.iter().filter_map(|permission| permission.answer);
    answers.map(|(_, decision)| decision).next_back().is_some_and(|decision| decision != Decision::Allowed)
}

/// A turn that ends by itself has no tool call that still runs.
fn no_early_response(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(moment, answer).filter(|finish| finish.reason() == Some("end_turn")) else { return };
    let tools = finish.turn.tools.iter().filter_map(|id| Some((id, finish.session.tools.get(id)?)));
    let tools = tools.filter(|(_, tool)| tool.turn == finish.turn.number);
    let background = moment.talk.has_live_terminal(finish.turn);
    for (id, tool) in tools.filter(|_| !finish.was_cancelled()) {
        if !tool.is_final() && !was_refused(tool) && !background {
            ruling.fail(format!("the turn ends while the tool call `{id}` is {}", tool.status), &[tool.n]);
        } else if tool.is_final() {
            ruling.pass();
        }
    }
}

/// Exercised by a turn that said something.
fn updates_came_before(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if Finish::of(moment, answer).is_some_and(|finish| finish.turn.first_output.is_some() && finish.reason().is_some())
    {
        ruling.pass();
    }
}

/// What belongs to a turn comes before its answer; after a cancel another rule says so, and more strictly.
fn update_came_late(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(turn) = late_for(moment, update).filter(|turn| turn.at_cancel.is_none() && !turn.cancel_requested) else {
        return;
    };
    let ended = turn.ended.map(|(n, _)| n);
    ruling.fail(format!("the update {} came after the answer to the prompt", update.variant), ended.as_slice());
}

/// "The Agent reports the model's output to the Client via session/update notifications." That a turn had output is not
/// to be seen from outside, so only a step that asked for words can miss them.
///
/// Correct but unusual: the model answers with nothing, with a thought, or by a tool call. Nothing of that fails here.
fn output_reported(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(moment, answer).filter(|finish| finish.reason() == Some("end_turn")) else { return };
    if finish.turn.wrote_message {
        ruling.pass();
    } else if finish.turn.first_output.is_none() && !finish.was_cancelled() {
        ruling.inconclusive("the turn ended, and nothing of it was reported", &[finish.exchange.n]);
    }
}

/// The updates of a turn name its session.
fn update_session_match(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let content = moment.talk.edition.adapter.is_turn_content(update.variant);
    if content && moment.talk.session(update.session).is_some_and(|session| session.turn.is_some()) {
        ruling.pass();
    }
}

/// As above: they do not name another one that was never prompted.
///
/// Correct but unusual: an agent that greets its user in each new session. So the turn must have ended with nothing said in
/// its own session, and in a case, since only there it is known that the prompt asked for something.
fn updates_went_elsewhere(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(moment, answer).filter(|finish| finish.reason() == Some("end_turn")) else { return };
    let Some(strayed) = finish.turn.strayed.filter(|_| finish.turn.first_output.is_none()) else { return };
    let message = "the turn ended with no update in its session, and an update named one that was never prompted";
    fail_in_case(moment, message, &[strayed, finish.exchange.n], ruling);
}

/// `cancelled`: "The Client cancels the turn."
///
/// Correct but unusual: the agent calls the turn cancelled after the user refused a permission or dismissed a form, after a
/// change of the model, or because the client answered a request with -32800 or sent `session/cancel` with an id. In a
/// recording the process may have got a signal, such as by Ctrl-C. None of these fails.
fn cancelled_only_on_cancel(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let finish = Finish::even_overlapped(moment, answer);
    let Some(finish) = finish.filter(|finish| finish.reason() == Some("cancelled")) else { return };
    let elsewhere = super::cancel::cancelled_elsewhere(moment, &finish).is_some();
    let before = super::cancel::earlier_cancel(&finish);
    if finish.was_cancelled() {
        ruling.pass();
    } else if finish.turn.other_closed.is_some() {
        // That closing one session leaves the others alone is a rule of its own.
    } else if let Some(n) = finish.other_reason(moment) {
        ruling.inconclusive("the turn ends as cancelled, and the client may have given a reason for that", &[n]);
    } else if !elsewhere && !before {
        let message = "the turn ends as cancelled, and the client did not cancel it";
        fail_in_case(moment, message, &[finish.exchange.n], ruling);
    }
}

/// "Once a prompt turn completes, the Client may send another `session/prompt`": a turn that is being cancelled completes
/// with the answer to its prompt, too. Nobody has to wait for ever for an agent that does not give it.
fn one_at_a_time(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = call.text("sessionId").filter(|_| call.method == "session/prompt") else { return };
    let Some(session) = moment.talk.session(id) else { return };
    let cancelled = moment.talk.course.session(id).and_then(|course| course.turn.as_ref()?.at_cancel.as_ref());
    match &session.turn {
        None if session.ended.is_some() => ruling.pass(),
        None => {}
        Some(turn) if turn.closed.is_some() => {}
        Some(turn) if moment.talk.deliberate.range(turn.n..).next().is_some() => {
            ruling.inconclusive("the tester broke the protocol during the turn before", &[turn.n]);
        }
        Some(turn) if cancelled.is_some_and(|cancel| between(cancel.us, moment.us) > CLIENT_PATIENCE) => {
            ruling.inconclusive("the agent did not answer the prompt that was cancelled", &[turn.n]);
        }
        Some(turn) => ruling.fail("the prompt came before the one before it was answered", &[turn.n]),
    }
}
