//! Area `resume`: the messages and tool calls of a replay, compared with those of the conversation.

use std::collections::BTreeSet;

use super::state::{MessageText, Messages, Replay, Replayed};
use crate::areas::common::proper;
use crate::areas::state::DISTINCTIVE;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, UpdateSeen, Work, asks_replay, is_final};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("resume.replay-ids", On::Response(replayed_twice)).only(&[RESUME]),
    Check::agent("resume.replay-keeps-ids", On::Response(replayed_with_other_id)).only(&[RESUME]),
    Check::agent("resume.replay-order", On::Response(replayed_in_order)).only(&[RESUME]),
    Check::agent("resume.replay-order", On::Response(replayed_once)).only(&[RESUME]),
    Check::agent("resume.replay-order", On::Response(tools_in_their_turns)).only(&[RESUME]),
    Check::agent("resume.replay-start", On::Response(left_out_before)).only(&[RESUME]),
    Check::agent("resume.replay-start", On::Response(of_other_party)).only(&[RESUME]),
    Check::agent("resume.replay-start", On::Update(ended_otherwise)).only(&["tool_call_update"]),
    Check::agent("resume.replay-start", On::Response(left_unfinished)).only(&[RESUME]),
    Check::agent("resume.replay-start", On::Response(with_other_content)).only(&[RESUME]),
    Check::agent("resume.chunks-after-reset", On::Response(doubled)).only(&[RESUME]),
    Check::agent("session.new.independent", On::Response(replayed_elsewhere)).only(&[RESUME]),
];

const RESUME: &str = "session/resume";

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

/// Each message of "the whole conversation" comes once.
///
/// Correct but unusual: a message that is sent again under its id, and one that another message repeats or quotes. So
/// only a message of the agent counts, once for each id, whose text came in fewer messages before. A prompt with
/// another id has a requirement of its own.
fn replayed_once(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, history)) = replayed(ctx, answer) else { return };
    let is_reply = |kind: &str| kind == "agent_message";
    let replies: Vec<&Replayed> =
        history.replayed.iter().filter(|message| is_reply(&message.kind) && is_distinctive(&message.text)).collect();
    for message in &replies {
        let lived = history.texts.iter().filter(|((kind, _), (_, text))| is_reply(kind) && *text == message.text);
        let same: Vec<&&Replayed> = replies.iter().filter(|other| other.text == message.text).collect();
        let ids: BTreeSet<&str> = same.iter().map(|other| other.id.as_str()).collect();
        let lived = lived.count();
        if let (Some(last), true) = (same.last(), lived > 0 && ids.len() > lived) {
            return ruling.proved_by(&[message.n, last.n]).fail_in_case(fact!(
                "message-replayed-twice",
                "the agent replayed the text of the {kind} `{message_id}` also as `{other_id}`; expected each message \
                once",
                kind = message.kind, message_id = message.id, other_id = last.id; session_id = session
            ));
        }
    }
}

/// "Chunks … append to that update's current content", so a message that comes whole and in chunks has its text two
/// times.
///
/// Correct but unusual: an agent that renders or shortens a message. So only a text fails that is exactly the earlier
/// one two times.
fn doubled(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, history)) = replayed(ctx, answer) else { return };
    let plain = |text: &MessageText| text.text.split_whitespace().collect::<String>();
    for message in history.replayed.iter().filter(|message| !message.text.is_cut) {
        let live = history.texts.get(&(message.kind.clone(), message.id.clone()));
        let Some((live, text)) = live.filter(|(_, text)| is_distinctive(text)) else { continue };
        let fact = fact!(
            "replayed-text-doubled",
            "the agent replayed the {kind} `{message_id}` with its text twice; expected the text once",
            kind = message.kind, message_id = message.id; session_id = session
        );
        let (now, before, events) = (plain(&message.text), plain(text), [*live, message.n]);
        // Redacted texts are alike, so that only their number is known.
        if ctx.conversation.is_redacted && now.len() > before.len() {
            ruling.proved_by(&events).inconclusive(fact);
        } else if !ctx.conversation.is_redacted && now == before.repeat(2) {
            return ruling.proved_by(&events).fail_in_case(fact);
        }
    }
}

/// "The Agent MUST replay all retained conversation history", and what a later replay has was retained before.
///
/// Correct but unusual: an agent that retains only a part, gives new ids to replayed messages, or still works. So a
/// message only fails that came before an earlier request to resume the idle session, and that is in this replay and
/// not in that one, by its id or its text.
fn left_out_before(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, history)) = replayed(ctx, answer) else { return };
    for message in &history.replayed {
        let key = (message.kind.clone(), message.id.clone());
        let Some((live, _)) = history.texts.get(&key) else { continue };
        let has_text = |other: &Replayed| !ctx.conversation.is_redacted && other.text == message.text;
        let is_same = |other: &Replayed| other.id == message.id || has_text(other);
        let lacks = |replay: &&Replay| replay.asked > *live && !replay.messages.iter().any(is_same);
        let lacking = history.replays.iter().find(lacks);
        if let Some(earlier) = lacking {
            let fact = fact!(
                "left-out-of-earlier-replay",
                "the agent left the {kind} `{message_id}` out of an earlier replay and has it in this one; expected it \
                in both",
                kind = message.kind, message_id = message.id; session_id = session
            );
            let events = [*live, earlier.asked, message.n];
            let proved = ruling.proved_by(&events);
            return if ctx.conversation.is_redacted { proved.inconclusive(fact) } else { proved.fail_in_case(fact) };
        }
    }
}

/// A replayed message has its kind: "a user message from the conversation history" is a `user_message`.
///
/// Correct but unusual: one party repeats the other word by word, a summary quotes both, or a message has a new text.
/// So only a whole text fails that one party wrote and the other one never did, with an id that is new for its kind.
fn of_other_party(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    const PARTIES: [(&str, &str); 2] = [("user_message", "agent_message"), ("agent_message", "user_message")];
    // Redacted texts are alike.
    let Some((session, history)) = replayed(ctx, answer).filter(|_| !ctx.conversation.is_redacted) else { return };
    for message in history.replayed.iter().filter(|message| is_distinctive(&message.text)) {
        let live_as = |wanted: &str| {
            let mut live = history.texts.iter().filter(|((kind, _), _)| kind == wanted);
            live.find(|(_, (_, text))| *text == message.text).map(|(_, (n, _))| *n)
        };
        if live_as(&message.kind).is_some() {
            ruling.pass();
            continue;
        }
        if history.texts.contains_key(&(message.kind.clone(), message.id.clone())) {
            continue;
        }
        let other = PARTIES.iter().find(|(kind, _)| *kind == message.kind).map(|(_, other)| *other);
        if let Some((expected, live)) = other.and_then(|other| Some((other, live_as(other)?))) {
            return ruling.proved_by(&[live, message.n]).fail_in_case(fact!(
                "replayed-as-other-kind",
                "the agent replayed a text of {expected} as the {kind} `{message_id}`; expected {expected}",
                expected, kind = message.kind, message_id = message.id; session_id = session
            ));
        }
    }
}

/// As for messages: a tool call ends in the replay as it ended in the conversation.
///
/// Correct but unusual: the replay leaves out tool calls or their status; a call that the user refused has another
/// status. So only `completed` for `failed`, or the reverse, fails.
fn ended_otherwise(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let is_replay = update.known.is_some_and(|session| session.resuming.is_some() && !session.has_denied);
    let messages = ctx.areas.resume.get(update.session).filter(|messages| is_replay && messages.replay_asked);
    let Some(messages) = messages else { return };
    let ended = update.body.text("toolCallId").and_then(|id| Some((id, messages.tools.get(id)?.end.as_ref()?)));
    let actual = update.body.text("status").filter(|status| is_final(status));
    let (Some((id, (live, expected))), Some(actual)) = (ended, actual) else { return };
    if actual != expected && is_final(expected) {
        ruling.proved_by(&[*live]).fail_in_case(fact!(
            "tool-call-ended-otherwise",
            "the agent replayed the tool call `{tool_call_id}` as {actual}; expected {expected}, as it ended",
            tool_call_id = id, actual, expected; pointer = "/params/update/status"
        ));
    }
}

/// As above: a tool call that has ended is not still to be done, or in progress, after the replay.
///
/// Correct but unusual: a replay that shows each status that the call had, and one that leaves the status out. So only
/// the last status counts, of a call that ended before the session was resumed at rest.
fn left_unfinished(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, history)) = replayed(ctx, answer).filter(|(_, history)| !history.resumed_at_work) else {
        return;
    };
    let is_idle = |work: &Work| work.state.as_deref() == Some("idle");
    if !ctx.conversation.session(session).is_some_and(|session| is_idle(&session.work)) {
        return;
    }
    for tool in &history.replayed_tools {
        let ended = history.tools.get(&tool.id).and_then(|live| live.end.as_ref());
        let (Some((live, expected)), Some((n, actual))) = (ended, &tool.status) else { continue };
        if matches!(actual.as_str(), "pending" | "in_progress") {
            return ruling.proved_by(&[*live, *n]).fail_in_case(fact!(
                "tool-call-left-unfinished",
                "the agent replayed the tool call `{tool_call_id}` as {actual}; expected {expected}, as it ended",
                tool_call_id = tool.id, actual, expected; session_id = session
            ));
        }
    }
}

/// As for messages: a tool call has its own content.
///
/// Correct but unusual: calls with the same content, and a replay that shortens contents or leaves them out. So only a
/// call fails whose text is exactly that of another one, and was a different one before.
fn with_other_content(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    // Redacted texts are alike.
    let Some((session, history)) = replayed(ctx, answer).filter(|_| !ctx.conversation.is_redacted) else { return };
    for tool in history.replayed_tools.iter().filter(|tool| is_distinctive(&tool.text)) {
        let own = history.tools.get(&tool.id).filter(|live| is_distinctive(&live.text) && live.text != tool.text);
        let other = history.tools.iter().find(|(id, live)| **id != tool.id && live.text == tool.text);
        if let (Some(_), Some((other, _))) = (own, other) {
            return ruling.proved_by(&[tool.n]).fail_in_case(fact!(
                "content-of-other-tool-call",
                "the agent replayed the tool call `{tool_call_id}` with the content of `{other}`; expected its own",
                tool_call_id = tool.id, other; session_id = session
            ));
        }
    }
}

/// As for messages: a tool call comes after the prompt of its turn, and before the next prompt.
///
/// Correct but unusual: an agent that leaves out prompts, gives them new ids, or reported one after the work on it. So
/// only a tool call counts that came after the reports of all prompts, and whose prompt the replay has.
fn tools_in_their_turns(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, history)) = replayed(ctx, answer) else { return };
    let is_known = |id: &String| history.texts.contains_key(&("user_message".to_owned(), id.clone()));
    for tool in &history.replayed_tools {
        let live = history.tools.get(&tool.id).and_then(|live| live.prompt.as_ref());
        let Some(expected) = live.filter(|expected| history.has_replayed("user_message", expected)) else { continue };
        if tool.prompt.as_ref() != Some(expected) && tool.prompt.as_ref().is_none_or(is_known) {
            return ruling.proved_by(&[tool.n]).fail_in_case(fact!(
                "tool-call-in-other-turn",
                "the agent replayed the tool call `{tool_call_id}` outside of the turn of the user message \
                `{message_id}`; expected it there",
                tool_call_id = tool.id, message_id = expected; session_id = session
            ));
        }
    }
}
