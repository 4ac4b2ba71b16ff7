//! Area `prompt`: accepted prompts, and the end of turns.

use serde_json::Value;

use crate::areas::cancel::agent::{cancelled_elsewhere, earlier_cancel};
use crate::areas::common::{LOGIN, WITHDRAWN, serves_unset};
use crate::areas::support::{Finish, late_for};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::timing::{CLIENT_PATIENCE, NEXT_PROMPT, OUTPUT_SILENCE, between, millis};
use crate::conversation::{After, Answer, CallSeen, Decision, Outcome, Session, ToolCall, Trial, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("prompt.text", On::Response(with!(taken, Trait::Text))).only(&["session/prompt"]),
    Check::agent("prompt.resource-link", On::Response(with!(taken, Trait::Link))).only(&["session/prompt"]),
    Check::agent("prompt.image-accepted", On::Response(with!(taken, Trait::Image))).only(&["session/prompt"]),
    Check::agent("prompt.audio-accepted", On::Response(with!(taken, Trait::Audio))).only(&["session/prompt"]),
    Check::agent("prompt.embedded-accepted", On::Response(with!(taken, Trait::Embedded))).only(&["session/prompt"]),
    Check::agent("prompt.meta-accepted", On::Response(with!(taken, Trait::Meta))).only(&["session/prompt"]),
    Check::agent("prompt.next-turn", On::Response(with!(taken, Trait::AfterResult))).only(&["session/prompt"]),
    Check::agent("prompt.next-turn", On::CaseEnd(busy_after_turn)),
    Check::agent("cancel.session-usable", On::Response(with!(taken, Trait::AfterCancel))).only(&["session/prompt"]),
    Check::agent("cancel.idle", On::Response(with!(taken, Trait::AfterIdleCancel))).only(&["session/prompt"]),
    Check::agent("schema.nullable-accepted.agent", On::Response(with!(taken, Trait::Nulls))).only(&["session/prompt"]),
    Check::agent("prompt.stop-reason", On::Response(stop_reason)).alone().only(&["session/prompt"]),
    Check::agent("prompt.responds-at-end", On::Response(responded)).only(&["session/prompt"]),
    Check::agent("prompt.responds-at-end", On::End(never_responded)),
    Check::agent("prompt.no-early-response", On::Response(no_early_response)).only(&["session/prompt"]),
    Check::agent("prompt.updates-before-response", On::Response(updates_came_before)).only(&["session/prompt"]),
    Check::agent("prompt.updates-before-response", On::Update(update_came_late)),
    Check::agent("prompt.output-reported", On::Response(output_reported)).only(&["session/prompt"]),
    Check::agent("prompt.update-session-match", On::Update(update_session_match)),
    Check::agent("prompt.update-session-match", On::Response(updates_went_elsewhere)).only(&["session/prompt"]),
    Check::agent("prompt.cancelled-only-on-cancel", On::Response(cancelled_only_on_cancel)).only(&["session/prompt"]),
    Check::client("prompt.one-at-a-time", On::Call(one_at_a_time)).only(&["session/prompt"]),
];

/// A property of a prompt, or of the session before it, that may be the reason for a refusal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trait {
    /// Only text.
    Text,
    /// A `resource_link`.
    Link,
    /// An image, which the agent advertises.
    Image,
    /// Audio, which the agent advertises.
    Audio,
    /// An embedded resource, which the agent advertises.
    Embedded,
    /// A `_meta` in some object.
    Meta,
    /// A null in some object.
    Nulls,
    /// The previous turn ended by itself.
    AfterResult,
    /// The client cancelled the previous turn.
    AfterCancel,
    /// The client sent a cancel while no turn ran.
    AfterIdleCancel,
}

/// Whether a prompt has a resource with bytes instead of text.
fn has_blob(params: &Value) -> bool {
    let blocks = params.list("prompt").iter();
    blocks.filter_map(|block| block.member("resource")).any(|resource| resource.member("blob").is_some())
}

/// Returns the traits of the params of a prompt; `None` if they contain content that the agent does not advertise.
fn content(ctx: &CheckContext<'_>, params: &Value) -> Option<Vec<Trait>> {
    let blocks = params.member("prompt").and_then(Value::as_array).filter(|blocks| !blocks.is_empty())?;
    let mut traits = Vec::new();
    for block in blocks {
        let (content, kind) = match block.text("type")? {
            "text" => continue,
            "resource_link" => ("resource_link", Trait::Link),
            "image" => ("image", Trait::Image),
            "audio" => ("audio", Trait::Audio),
            _ => ("resource", Trait::Embedded),
        };
        if kind != Trait::Link && !ctx.conversation.agent_has(Feature::Content(content)) {
            return None;
        }
        traits.push(kind);
    }
    let objects = || std::iter::once(params).chain(blocks);
    let has_null = |object: &Value| object.as_object().is_some_and(|object| object.values().any(Value::is_null));
    traits.extend(objects().any(|object| object.member("_meta").is_some_and(Value::is_object)).then_some(Trait::Meta));
    traits.extend(objects().any(has_null).then_some(Trait::Nulls));
    traits.dedup();
    Some(traits)
}

/// Returns the traits of the session before a prompt.
fn place(finish: &Finish<'_>) -> impl Iterator<Item = Trait> {
    let found = [
        (Trait::AfterResult, finish.log.after == Some(After::Result)),
        (Trait::AfterCancel, matches!(finish.log.after, Some(After::Cancel { .. }))),
        (Trait::AfterIdleCancel, finish.session.idle_cancel.is_some()),
    ];
    found.into_iter().filter(|(_, found)| *found).map(|(kind, _)| kind)
}

/// A valid prompt to a session that is open and idle is accepted: "Agents MUST support ContentBlock::Text and
/// ContentBlock::ResourceLink", they accept the content that they advertise, and a session continues after a turn,
/// however it ended.
///
/// Correct but unusual: the agent refuses a prompt without text, an image that is too large, a broken link or its own
/// `_meta` key with a wrong value, which a recording may contain. In a case it refuses every prompt until a model is
/// chosen, an image that the chosen model cannot read, a prompt after a change of the settings, or a second turn at the
/// same time in another session. These do not fail.
fn taken(ctx: &CheckContext<'_>, answer: &Answer<'_>, wanted: Trait, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(is_ready) else { return };
    let params = &finish.exchange.params;
    let Some(mut traits) = content(ctx, params).filter(|_| finish.log.disturbed.is_none()) else { return };
    let plain = traits.is_empty();
    let own = traits.clone();
    traits.extend(place(&finish));
    if traits.is_empty() {
        traits.push(Trait::Text);
    }
    // Most prompts lack most traits, and only those with one are validated.
    let accepts = matches!(finish.outcome, Outcome::Result(_)) && finish.session.refused.is_some();
    let shows = traits.contains(&wanted);
    if !(accepts || shows) || !ctx.conversation.edition.stable.problems("PromptRequest", params).is_empty() {
        return;
    }
    if accepts {
        refused(ctx, &finish, &own, wanted, ruling);
    }
    if !shows {
        return;
    }
    let code = finish.outcome.error_code();
    match code {
        None if matches!(finish.reason(), Some("cancelled") | None) && !finish.was_cancelled() => {}
        None if wanted == Trait::AfterCancel && finish.log.after == Some(After::Cancel { had_effect: false }) => {}
        None => ruling.pass(),
        // An unknown method violates another requirement, and -32800 is a cancellation.
        Some(-32601 | -32800) => {}
        Some(-32602 | -32600) if plain && traits.len() == 1 && !finish.log.acted && is_the_reason(ctx, &finish) => {
            ruling.proved_by(&[finish.exchange.n]).fail_in_case(fact!(
                "valid-prompt-refused",
                "the agent refused a valid prompt with {answer}; expected a turn",
                answer = finish.outcome.describe(); code = code
            ));
        }
        Some(_) if finish.was_cancelled() => {}
        Some(_) => ruling.proved_by(&[finish.exchange.n]).inconclusive(fact!(
            "prompt-refused",
            "the agent refused the prompt with {answer}, which may have another reason",
            answer = finish.outcome.describe(); code = code
        )),
    }
}

/// Whether the session is open and idle. Other areas cover sessions that were loaded or resumed, and "behavior for
/// deleting an active session is implementation-defined".
fn is_ready(finish: &Finish<'_>) -> bool {
    let session = finish.session;
    let gone = session.closed.is_some() || session.deleted || session.reopening_failed;
    !gone && finish.turn.after.is_none()
}

/// Whether this trait is the only possible reason for refusing the prompt. If every prompt is refused until the client
/// chooses something, such as a model, neither its text nor what came before is the reason. A change of the settings,
/// or a turn in another session, may be one.
fn is_the_reason(ctx: &CheckContext<'_>, finish: &Finish<'_>) -> bool {
    let asked = finish.session.asked;
    let before = finish.session.ended.as_ref().map_or(0, |ended| ended.prompt);
    let was_set = asked.is_some_and(|asked| asked > before);
    !was_set && !runs_elsewhere(ctx, finish) && serves_unset(ctx.conversation)
}

/// Whether a turn of another session ran after this prompt was sent.
fn runs_elsewhere(ctx: &CheckContext<'_>, finish: &Finish<'_>) -> bool {
    let others = ctx.conversation.sessions.iter().filter(|(id, _)| finish.exchange.session() != Some(id.as_str()));
    let ended = |session: &Session| session.ended.as_ref().is_some_and(|ended| ended.n > finish.exchange.n);
    others.into_iter().any(|(_, session)| session.turn.is_some() || ended(session))
}

/// A prompt was refused because of its content if the agent accepts a plain one in the same session afterwards, and
/// needed no choice of the client meanwhile: some agents refuse every prompt until the user chooses a model. It was
/// refused because of its nulls if the agent accepts one with all of its other traits.
///
/// Correct but unusual: the model that the client chose reads no images and no audio. So these fail only before a
/// choice. An agent that refuses a blob of a media type that it cannot read: embedded context promises no types.
fn refused(ctx: &CheckContext<'_>, finish: &Finish<'_>, accepted: &[Trait], wanted: Trait, ruling: &mut Ruling<'_>) {
    let Some(refused) = &finish.session.refused else { return };
    let outcome = Outcome::Error(&refused.error);
    let chosen = finish.session.asked.is_some_and(|asked| asked > refused.n);
    let by_model = matches!(wanted, Trait::Image | Trait::Audio) && finish.session.was_set;
    let of_params = matches!(outcome.error_code(), Some(-32602 | -32600)) && !refused.acted && !chosen && !by_model;
    let valid = ctx.conversation.edition.stable.problems("PromptRequest", &refused.params).is_empty();
    let is_due = |traits: Vec<Trait>| match accepted {
        [] => traits == [wanted],
        _ => wanted == Trait::Nulls && traits.split_last() == Some((&wanted, accepted)),
    };
    if of_params && valid && content(ctx, &refused.params).is_some_and(is_due) {
        if has_blob(&refused.params) {
            return ruling.proved_by(&[refused.n]).inconclusive(fact!(
                "blob-refused",
                "the agent refused a prompt with a blob with {answer}, and accepted a plain one after it; it may not read \
                the media type",
                answer = outcome.describe(); code = outcome.error_code()
            ));
        }
        ruling.proved_by(&[refused.n]).fail_in_case(fact!(
            "valid-prompt-refused",
            "the agent refused a valid prompt with {answer}, and accepted another one after it; expected a turn",
            answer = outcome.describe(); code = outcome.error_code()
        ));
    }
}

/// "Once a prompt turn completes, the Client may send another session/prompt": the response ends the turn, so the next
/// prompt is accepted at once. It is refused because of the turn before it if each prompt that directly follows a
/// response is refused, and no other one is.
///
/// Correct but unusual: an agent whose provider limits the rate of requests, or whose quota is used up. So a first
/// prompt was accepted between two that were refused, and each refused one came within [`NEXT_PROMPT`] of a response.
fn busy_after_turn(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let is_here = |trial: &&Trial| trial.turn.is_some() && ctx.conversation.is_of_case(trial.exchange.n);
    let prompts: Vec<&Trial> = ctx.conversation.trials.of(Party::Client).filter(is_here).collect();
    let before = |trial: &Trial| {
        let mut earlier =
            prompts.iter().rev().filter(|other| other.n < trial.exchange.n && other.is_turn_beside(trial));
        earlier.next().copied()
    };
    let stopped = |trial: &Trial| trial.turn.as_ref().is_some_and(|turn| turn.stop.is_some());
    let follows = |trial: &Trial| {
        before(trial).is_some_and(|earlier| {
            let pause = between(earlier.us, trial.exchange.us);
            earlier.error.is_none() && !stopped(earlier) && pause < NEXT_PROMPT
        })
    };
    let is_refused = |trial: &&&Trial| {
        trial.error.is_some_and(|code| !matches!(code, LOGIN | WITHDRAWN)) && trial.did_nothing() && !stopped(trial)
    };
    let (next, others): (Vec<&&Trial>, Vec<&&Trial>) =
        prompts.iter().filter(|trial| !trial.closed).partition(|trial| follows(trial));
    let first: Vec<_> = others.into_iter().filter(|trial| before(trial).is_none()).collect();
    if next.len() < 2 || !next.iter().all(is_refused) || !first.iter().all(|trial| trial.error.is_none()) {
        return;
    }
    let between_two = next.windows(2).find_map(|pair| {
        let accepted = first.iter().find(|trial| (pair[0].n..pair[1].n).contains(&trial.exchange.n))?;
        Some((pair[1], [pair[0].n, accepted.n, pair[1].n]))
    });
    if let Some((refused, events)) = between_two {
        ruling.proved_by(&events).fail(fact!(
            "busy-after-response",
            "the agent refused each prompt that directly followed the response to the previous one, and no first \
            prompt of a session; expected the session to accept the next prompt";
            code = refused.error
        ));
    }
}

/// "The Agent MUST respond to the original session/prompt request with a StopReason"; null has none.
///
/// Correct but unusual: an agent that answers a deliberately broken prompt with null. That passes.
fn stop_reason(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let Some((exchange, Value::Null)) = answer.result_of("session/prompt").filter(|(it, _)| !it.deliberate) {
        ruling.proved_by(&[exchange.n]).fail(fact!(
            "null-result",
            "the agent answered session/prompt with null; expected a stop reason";
            method = exchange.method, pointer = "/result"
        ));
    }
}

/// "If there are no pending tool calls, the turn ends and the Agent MUST respond."
fn responded(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if Finish::of(ctx, answer).is_some_and(|finish| finish.reason().is_some()) {
        ruling.pass();
    }
}

/// Whether the agent has repeated exactly the text that the prompt asked it to repeat. Only this proves that a model is
/// done: an agent whose model cannot be reached is silent as well.
fn has_sent_all_text(ctx: &CheckContext<'_>, session: &Session) -> bool {
    const DISTINCTIVE: usize = 8;
    let start = session.spoken.iter().rposition(|(variant, _)| variant == "user_message_chunk").unwrap_or_default();
    let (prompt, reply) = session.spoken[start..].split_at(1.min(session.spoken.len()));
    let reply: String = reply.iter().map(|(_, text)| text.as_str()).collect();
    // Redacted texts are alike.
    let is_shown = !ctx.conversation.is_redacted && reply.trim().len() >= DISTINCTIVE;
    is_shown && prompt.iter().any(|(_, prompt)| prompt.contains(reply.trim()))
}

/// As above: the agent sent all requested text, waits for nothing, serves the connection, and has been silent for long.
///
/// Correct but unusual: the agent thinks in silence for minutes, waits for the client, for a tool call or for a command
/// in a terminal, or does not repeat the requested text. A timeout alone is never a failure.
fn never_responded(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    for open in conversation.open_of(Party::Client).filter(|open| open.method == "session/prompt" && !open.deliberate) {
        let Some((id, &verdict)) = open.session().zip(conversation.timed_out.get(&open.n)) else { continue };
        let Some(session) = conversation.session(id) else { continue };
        let Some((turn, log)) = session.turn.as_ref().zip(session.log.as_ref()).filter(|(turn, _)| turn.n == open.n)
        else {
            continue;
        };
        let until = conversation.closed_us.unwrap_or(ctx.us);
        let silent = log.last_output_us.is_some_and(|last| between(last, until) > OUTPUT_SILENCE);
        let waits = conversation.open_of(Party::Agent).any(|request| request.session() == Some(id));
        let busy = turn.tools.iter().filter_map(|id| session.tools.get(id)).any(|tool| !tool.is_final());
        let served = conversation.fence.is_some_and(|fence| fence > open.n);
        let alone = turn.cancelled.is_none() && log.disturbed.is_none() && !conversation.has_live_terminal(turn);
        let done = has_sent_all_text(ctx, session) && !waits && !busy && alone;
        if done && silent && served {
            ruling.proved_by(&[open.n, verdict]).fail(fact!(
                "prompt-unanswered",
                "the agent sent all requested text, then nothing for {limit_ms}; expected a response to the prompt",
                limit_ms = millis(OUTPUT_SILENCE); session_id = id
            ));
        } else {
            ruling.proved_by(&[open.n, verdict]).inconclusive(fact!(
                "prompt-timed-out",
                "the agent did not answer the prompt within the time limit of the case";
                session_id = id
            ));
        }
    }
}

/// Whether the user did not let the tool run, so that it has no final status.
fn was_refused(tool: &ToolCall) -> bool {
    let answers = tool.permissions.iter().filter_map(|permission| permission.answer);
    answers.map(|(_, decision)| decision).next_back().is_some_and(|decision| decision != Decision::Allowed)
}

/// A turn that ends by itself has no tool call that still runs.
fn no_early_response(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(|finish| finish.reason() == Some("end_turn")) else { return };
    let tools = finish.turn.tools.iter().filter_map(|id| Some((id, finish.session.tools.get(id)?)));
    let tools = tools.filter(|(_, tool)| tool.turn == finish.turn.number);
    let background = || ctx.conversation.has_live_terminal(finish.turn);
    for (id, tool) in tools.filter(|_| !finish.was_cancelled()) {
        if !tool.is_final() && !was_refused(tool) && !background() {
            ruling.proved_by(&[tool.n]).fail(fact!(
                "unfinished-tool-call",
                "the agent ended the turn while the tool call `{tool_call_id}` is {actual}; expected completed or \
                failed",
                tool_call_id = id,
                actual = tool.status
            ));
        } else if tool.is_final() {
            ruling.pass();
        }
    }
}

/// Exercised by a turn with output.
fn updates_came_before(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if Finish::of(ctx, answer).is_some_and(|finish| finish.turn.first_output.is_some() && finish.reason().is_some()) {
        ruling.pass();
    }
}

/// The updates of a turn come before its response; after a cancel, `cancel.updates-before-response` is stricter.
fn update_came_late(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(turn) = late_for(ctx, update).filter(|turn| turn.at_cancel.is_none() && !turn.cancel_requested) else {
        return;
    };
    let ended = turn.ended.map(|(n, _)| n);
    ruling.proved_by(ended.as_slice()).fail(fact!(
        "update-after-response",
        "the agent sent {update} after its response to the prompt; expected it before the response",
        update = update.variant; session_id = update.session, pointer = "/params/update/sessionUpdate"
    ));
}

/// "The Agent reports the model's output to the Client via session/update notifications." The trace does not show
/// whether a turn had output, so only a step that asked for words can miss them.
///
/// Correct but unusual: the model answers with nothing, with a thought, or by a tool call. These do not fail here.
fn output_reported(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let ends_turn = ctx.conversation.edition.adapter.response_ends_turn();
    let finish = Finish::of(ctx, answer).filter(|finish| ends_turn && finish.reason() == Some("end_turn"));
    let Some(finish) = finish else { return };
    if finish.turn.wrote_message {
        ruling.pass();
    } else if finish.turn.first_output.is_none() && !finish.was_cancelled() {
        let fact = fact!("no-output", "the agent ended the turn and sent no update in it");
        ruling.proved_by(&[finish.exchange.n]).inconclusive(fact);
    }
}

/// The updates of a turn name its session.
fn update_session_match(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let content = ctx.conversation.edition.adapter.is_turn_content(update.variant);
    if content && update.known.is_some_and(|session| session.turn.is_some()) {
        ruling.pass();
    }
}

/// As above: they do not name another session that never had a prompt.
///
/// Correct but unusual: an agent that greets its user in each new session. So the turn must have ended without output
/// in its own session, and in a case, since only there the prompt is known to ask for output.
fn updates_went_elsewhere(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(|finish| finish.reason() == Some("end_turn")) else { return };
    let Some(strayed) = finish.turn.strayed.filter(|_| finish.turn.first_output.is_none()) else { return };
    ruling.proved_by(&[strayed, finish.exchange.n]).fail_in_case(fact!(
        "update-in-other-session",
        "the agent sent an update in a session that was never prompted; expected it in `{session_id}`, which got none",
        session_id = finish.exchange.session()
    ));
}

/// `cancelled`: "The Client cancels the turn."
///
/// Correct but unusual: the agent ends the turn as cancelled after the user refused a permission or dismissed a form,
/// after a change of the model, or because the client answered a request with -32800 or sent `session/cancel` with an
/// id. In a recording, the process may have got a signal, for example by Ctrl-C. These do not fail.
fn cancelled_only_on_cancel(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let finish = Finish::even_overlapped(ctx, answer);
    let Some(finish) = finish.filter(|finish| finish.reason() == Some("cancelled")) else { return };
    let elsewhere = cancelled_elsewhere(ctx, &finish).is_some();
    let before = earlier_cancel(&finish);
    if finish.was_cancelled() {
        ruling.pass();
    } else if finish.turn.other_closed.is_some() {
        // `close.other-sessions-unaffected` decides on this.
    } else if let Some(n) = finish.other_reason() {
        ruling.proved_by(&[n]).inconclusive(fact!(
            "cancelled-after-other-act",
            "the agent ended the turn as cancelled; the client did not cancel it, but may have given another reason"
        ));
    } else if !elsewhere && !before {
        ruling.proved_by(&[finish.exchange.n]).fail_in_case(fact!(
            "cancelled-without-cancel",
            "the agent ended the turn as cancelled; expected another stop reason, since the client did not cancel";
            pointer = "/result/stopReason", actual = "cancelled"
        ));
    }
}

/// "Once a prompt turn completes, the Client may send another `session/prompt`": a turn that is being cancelled
/// completes with the answer to its prompt, too. A client need not wait without end for an agent that does not send it.
fn one_at_a_time(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = call.text_of("session/prompt", "sessionId") else { return };
    let Some(session) = ctx.conversation.session(id) else { return };
    let cancelled = session.log.as_ref().and_then(|log| log.at_cancel.as_ref());
    match &session.turn {
        None if session.ended.is_some() => ruling.pass(),
        None => {}
        Some(turn) if turn.closed.is_some() => {}
        Some(turn) if ctx.conversation.deliberate.range(turn.n..).next().is_some() => {
            ruling.proved_by(&[turn.n]).inconclusive(fact!(
                "prompt-after-deliberate-fault",
                "the client sent a prompt before the response to the last one; the tester broke the protocol in that \
                turn";
                session_id = id
            ));
        }
        Some(turn) if cancelled.is_some_and(|cancel| between(cancel.us, ctx.us) > CLIENT_PATIENCE) => {
            ruling.proved_by(&[turn.n]).inconclusive(fact!(
                "cancelled-prompt-unanswered",
                "the client sent a prompt; the agent did not answer the cancelled one within {limit_ms}",
                limit_ms = millis(CLIENT_PATIENCE); session_id = id
            ));
        }
        Some(turn) => ruling.proved_by(&[turn.n]).fail(fact!(
            "overlapping-prompts",
            "the client sent a prompt before the response to the last one; expected one prompt at a time";
            session_id = id
        )),
    }
}
