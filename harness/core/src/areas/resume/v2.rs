//! Area `resume`: resumed sessions, with or without a replay, and the ids of replayed messages.

use std::collections::BTreeSet;

use super::state::{MessageText, Messages, Replayed};
use crate::areas::common::proper;
use crate::areas::state::DISTINCTIVE;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, CallSeen, Exchange, Opening, Outcome, Session, UpdateSeen, asks_replay, message_of};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("resume.state-snapshot", On::Response(state_snapshot)).only(&[RESUME]),
    Check::agent("resume.no-replay-by-default", On::Response(no_replay)).only(&[RESUME]),
    Check::agent("resume.no-replay-by-default", On::Update(replay)).only(MESSAGES),
    Check::agent("resume.replay-start", On::Update(late_replay)).only(HISTORY),
    Check::agent("resume.chunks-after-reset", On::Update(kept_message)).only(WRITTEN),
    Check::client("resume.no-load", On::Call(load)).alone().only(&["session/load", "session/resume"]),
    Check::agent("resume.replay-ids", On::Response(replayed_twice)).only(&[RESUME]),
    Check::agent("resume.replay-keeps-ids", On::Response(replayed_with_other_id)).only(&[RESUME]),
    Check::agent("resume.replay-order", On::Response(replayed_in_order)).only(&[RESUME]),
    Check::agent("session.new.independent", On::Response(replayed_elsewhere)).only(&[RESUME]),
];

const RESUME: &str = "session/resume";

const MESSAGES: &[&str] = &["user_message", "user_message_chunk"];

const HISTORY: &[&str] = &["user_message", "user_message_chunk", "agent_message", "agent_message_chunk"];

/// The updates that write a message.
const WRITTEN: &[&str] = &[
    "user_message",
    "user_message_chunk",
    "agent_message",
    "agent_message_chunk",
    "agent_thought",
    "agent_thought_chunk",
];

/// "Resume MUST send a current-state snapshot after any replay and before its response."
///
/// Correct but unusual: a session in which work goes on, whose state is reported at each change. Any state update
/// between the request and the response passes. What comes before the end of a replay is history, so there only a later
/// one counts; one before it is inconclusive, since the schema does not say that a replay has no states.
fn state_snapshot(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, RESUME).filter(|_| matches!(answer.outcome, Outcome::Result(_))) else {
        return;
    };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let reported = session.work.state.is_some() && session.work.state_at > exchange.n;
    let marker = exchange.session().and_then(|id| ctx.areas.resume.get(id)?.markers.last());
    if let Some(marker) = marker.filter(|marker| reported && session.work.state_at < **marker) {
        return ruling.proved_by(&[exchange.n, *marker]).inconclusive(fact!(
            "state-before-replay-complete",
            "the agent answered {method} with the state of the session only before replay_complete, which may be that \
            of the history",
            method = RESUME
        ));
    }
    // Another request to resume the session may have had the snapshot.
    if reported || session.resuming != Some(exchange.n) {
        ruling.pass();
    } else {
        ruling.proved_by(&[exchange.n]).fail(fact!(
            "no-state-before-response",
            "the agent answered {method} without a state update for the session before; expected one",
            method = RESUME
        ));
    }
}

/// Returns the open request to resume this session.
pub(super) fn resuming<'m>(ctx: &CheckContext<'m>, session: &Session) -> Option<&'m Exchange> {
    let request = session.resuming?;
    ctx.conversation.open_of(Party::Client).find(|open| open.n == request)
}

/// Without `replayFrom` the agent replays no history.
///
/// Correct but unusual: a prompt that is open, whose message the agent reports meanwhile, and work that goes on in the
/// session. Only a user message without any prompt fails, and only in a session that is not at work.
fn replay(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|_| MESSAGES.contains(&update.variant)) else { return };
    let Some(request) = resuming(ctx, session).filter(|request| !asks_replay(&request.params)) else { return };
    let fact = fact!(
        "replay",
        "the agent sent {update} before its response to {method} without `replayFrom`; expected no replay",
        update = update.variant, method = RESUME; session_id = update.session, pointer = "/params/update/sessionUpdate"
    );
    let at_work = session.work.state.as_deref().is_some_and(|state| state != "idle");
    let prompted = session.prompts > 0 && session.ended.as_ref().is_none_or(|ended| ended.n > request.n);
    ruling.proved_by(&[request.n]).fail_unless(at_work || prompted || !ctx.conversation.whole, fact);
}

/// Passes a successful resume without `replayFrom`.
fn no_replay(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let asked = proper(answer, RESUME).filter(|exchange| !asks_replay(&exchange.params));
    if asked.is_some() && matches!(answer.outcome, Outcome::Result(_)) {
        ruling.pass();
    }
}

/// "All retained history is replayed before the response."
///
/// Correct but unusual: a message that the agent changes later, after it replayed it, and one that it is still writing.
/// Only an earlier message that the replay left out fails, only before the next prompt, and one of the agent only while
/// the session is idle.
fn late_replay(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|_| HISTORY.contains(&update.variant)) else { return };
    let Some((Opening::Resume, reopened)) = session.reopened else { return };
    let Some((kind, id)) = message_of(&update.update) else { return };
    let messages = ctx.areas.resume.get(update.session).filter(|messages| messages.replay_asked);
    let Some(messages) = messages else { return };
    let key = (kind.to_owned(), id.to_owned());
    let of_user = session.work.user_messages.get(id).is_some_and(|(n, _)| *n < reopened);
    let is_at_rest = session.work.state.as_deref() == Some("idle") && !messages.resumed_at_work;
    let of_agent = is_at_rest && messages.texts.get(&key).is_some_and(|(n, _)| *n < reopened);
    if !(of_user || of_agent) || messages.opened.contains(&key) || messages.has_replayed(kind, id) {
        return;
    }
    let fact = fact!(
        "replay-after-response",
        "the agent sent {update} of the earlier message `{message_id}` after its response to {method}; expected it \
        before",
        update = update.variant, message_id = id, method = RESUME;
        session_id = update.session
    );
    ruling.proved_by(&[reopened]).fail_if(ctx.conversation.whole && !ctx.conversation.may_miss_work(session), fact);
}

/// "Later chunks with the same `messageId` append to the current content", so chunks alone would double a message that
/// the client holds: a whole update with content comes first.
///
/// Correct but unusual: bare chunks for a client that holds nothing of the message, since this connection has not shown
/// it; and a message that is being written in a session at work, or by background work that crosses the request, which
/// is inconclusive.
fn kept_message(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known else { return };
    let Some(request) = resuming(ctx, session).filter(|request| asks_replay(&request.params)) else { return };
    let Some((kind, id)) = message_of(&update.update) else { return };
    let message = (kind.to_owned(), id.to_owned());
    let Some(&shown) = session.work.shown.get(&message).filter(|shown| **shown < request.n) else { return };
    let messages = ctx.areas.resume.get(update.session);
    let is_whole = update.variant == kind;
    if is_whole || messages.is_some_and(|messages| messages.opened.contains(&message)) {
        return ruling.pass();
    }
    let fact = fact!(
        "chunk-without-message",
        "the agent replayed {update} of the message `{message_id}`, which the client holds, before a whole \
        {expected} with this id",
        update = update.variant, message_id = id, expected = kind;
        pointer = "/params/update/messageId"
    );
    let at_work = session.work.state.as_deref().is_some_and(|state| state != "idle");
    let resumed_at_work = messages.is_some_and(|messages| messages.resumed_at_work);
    let is_doubtful = at_work || resumed_at_work || ctx.conversation.may_miss_work(session);
    ruling.proved_by(&[request.n, shown]).fail_unless(is_doubtful, fact);
}

/// Returns the session that was resumed with a replay, as it stands at the answer, and so with whole messages.
fn replayed<'m>(ctx: &CheckContext<'m>, answer: &Answer<'_>) -> Option<(&'m str, &'m Messages)> {
    let exchange = proper(answer, RESUME).filter(|exchange| asks_replay(&exchange.params))?;
    let (id, session) = ctx.conversation.sessions.get_key_value(exchange.session()?)?;
    let messages = ctx.areas.resume.get(id)?;
    (session.resuming == Some(exchange.n)).then_some((id, messages))
}

/// Whether the text of a message tells it apart from others.
fn is_distinctive(text: &MessageText) -> bool {
    !text.is_cut && text.text.len() >= DISTINCTIVE
}

/// "Each replayed message carries a `messageId`", "unique among messages of the same type within a session".
///
/// Correct but unusual: a message that is sent again as a whole, or changed. So two texts under one id fail only if
/// they were two messages before.
fn replayed_twice(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, history)) = replayed(ctx, answer) else { return };
    let messages: Vec<&Replayed> = history.replayed.iter().filter(|message| is_distinctive(&message.text)).collect();
    let live = |message: &Replayed| {
        let same = history.texts.iter().filter(|(key, (_, text))| key.0 == message.kind && *text == message.text);
        same.map(|((_, id), _)| id.clone()).collect::<Vec<_>>()
    };
    let mut has_several = false;
    for (at, message) in messages.iter().enumerate() {
        let mut before = messages[..at].iter().filter(|other| other.kind == message.kind);
        has_several |= before.clone().any(|other| other.id != message.id);
        let Some(other) = before.find(|other| other.id == message.id && other.text != message.text) else { continue };
        let (one, two) = (live(other), live(message));
        if one.is_empty() || two.is_empty() || one.iter().any(|id| two.contains(id)) {
            continue;
        }
        let fact = fact!(
            "replayed-id-again",
            "the agent replayed two different messages as the {kind} `{message_id}`; expected an id for each",
            kind = message.kind, message_id = message.id; session_id = session
        );
        return ruling.proved_by(&[message.n, other.n]).fail_in_case(fact);
    }
    if has_several {
        ruling.pass();
    }
}

/// "If retained and replayed, the message keeps this identifier": the one in the receipt of a prompt.
///
/// Correct but unusual: a summary instead of the message, and a prompt with the same text as another one. So only a
/// message fails whose text is exactly that of live messages, and whose id is not one of theirs.
fn replayed_with_other_id(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, history)) = replayed(ctx, answer) else { return };
    let is_prompt = |kind: &str| kind == "user_message";
    let mut seen = BTreeSet::new();
    let messages = history.replayed.iter().filter(|message| is_prompt(&message.kind) && is_distinctive(&message.text));
    for message in messages.filter(|message| seen.insert(&message.id)) {
        let same = history.texts.iter().filter(|((kind, _), (_, text))| is_prompt(kind) && *text == message.text);
        let same: Vec<&String> = same.map(|((_, id), _)| id).collect();
        match same.first() {
            None => {}
            Some(_) if same.contains(&&message.id) => ruling.pass(),
            Some(live) => ruling.proved_by(&[message.n]).fail_in_case(fact!(
                "replayed-id",
                "the agent replayed the message `{expected}` as `{actual}`; expected the same id",
                expected = live, actual = message.id; session_id = session
            )),
        }
    }
}

/// "session/resume" with `replayFrom` stands for "session/load".
fn load(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.method == "session/resume" {
        ruling.pass();
    } else if call.method == "session/load" {
        ruling.fail(fact!(
            "method-of-version-1",
            "the client called {method}, which only version 1 has; expected session/resume",
            method = call.method; pointer = "/method"
        ));
    }
}

/// A replay of "the whole conversation" has its messages in their order.
///
/// Correct but unusual: a prompt that waited, and stands after the work before it; a message of the user that was
/// reported after its reply; a message that is sent again. So only the first appearance counts, messages of a kind are
/// compared with each other, and those of the agent only with the first one of the user.
fn replayed_in_order(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, history)) = replayed(ctx, answer) else { return };
    let mut seen = BTreeSet::new();
    let known = history.replayed.iter().filter(|message| ["user_message", "agent_message"].contains(&&*message.kind));
    let known: Vec<(&Replayed, usize)> = known
        .filter(|message| seen.insert((&message.kind, &message.id)))
        .filter_map(|message| Some((message, history.texts.get(&(message.kind.clone(), message.id.clone()))?.0)))
        .collect();
    let of_user = known.iter().filter(|(message, _)| message.kind == "user_message").map(|(_, live)| *live);
    let first = of_user.min();
    let is_wrong = |one: &(&Replayed, usize), next: &(&Replayed, usize)| {
        let is_first = next.0.kind == "user_message" && Some(next.1) == first;
        one.1 > next.1 && (one.0.kind == next.0.kind || is_first)
    };
    let pairs = known.iter().enumerate().flat_map(|(at, one)| known[at + 1..].iter().map(move |next| (one, next)));
    let swapped = pairs.into_iter().find(|(one, next)| is_wrong(one, next));
    match swapped {
        Some(((one, live), (next, before))) => {
            ruling.proved_by(&[one.n, next.n, *before, *live]).fail_in_case(fact!(
                "replayed-in-other-order",
                "the agent replayed the {kind} `{message_id}` before the {other_kind} `{other_id}`, which came first \
                in the conversation; expected the same order",
                kind = one.kind,
                message_id = one.id,
                other_kind = next.kind,
                other_id = next.id;
                session_id = session
            ));
        }
        None if known.len() > 1 => ruling.pass(),
        None => {}
    }
}

/// "Each session maintains its own context, conversation history": a replay has no message of another session.
///
/// Correct but unusual: sessions with the same ids, a fork, and the same text in two sessions, with other ids in a new
/// process. So a message fails of which this session had neither the id nor the text, and another one had both.
fn replayed_elsewhere(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, history)) = replayed(ctx, answer).filter(|_| !ctx.conversation.may_open_otherwise()) else {
        return;
    };
    let key = |message: &Replayed| (message.kind.clone(), message.id.clone());
    let is_own = |message: &Replayed| {
        history.texts.iter().any(|((_, id), (_, text))| *id == message.id || *text == message.text)
    };
    let foreign = history.replayed.iter().filter(|message| !is_own(message));
    for message in foreign.filter(|message| is_distinctive(&message.text)) {
        let had = |(_, other): &(&str, &Messages)| {
            other.texts.get(&key(message)).is_some_and(|(_, text)| *text == message.text)
        };
        let found = ctx.areas.resume.others(session).find(had);
        if let Some((other, live)) = found.and_then(|(id, other)| Some((id, other.texts.get(&key(message))?.0))) {
            return ruling.proved_by(&[message.n, live]).fail_in_case(fact!(
                "message-of-other-session",
                "the agent replayed the {kind} `{message_id}` of the session `{other}`; expected only messages of this \
                session",
                kind = message.kind,
                message_id = message.id,
                other;
                session_id = session
            ));
        }
    }
}
