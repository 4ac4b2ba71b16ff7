//! Area `load`: the replay of `session/load`, and the turns after it.

mod state;

use serde_json::Value;

pub use self::state::State;
use super::common::{decide_continues, decide_implemented, is_history, note_null, plain, proper, repeats_history};
use crate::areas::remembered::decide_remembers;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Opening, Session, UpdateSeen, is_final};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("load.implemented", On::Response(implemented)).alone().only(&[LOAD]),
    Check::agent("load.replay-complete", On::Response(replay_complete)).only(&[LOAD]),
    Check::agent("load.replay-complete", On::Response(tools_as_they_ended)).only(&[LOAD]),
    Check::agent("load.replay-order", On::Response(replay_order)).only(&[LOAD]),
    Check::agent("load.replay-complete", On::Response(message_cut_off)).only(&[LOAD]),
    Check::agent("load.replay-complete", On::Response(equal_prompts)).only(&[LOAD]),
    Check::agent("load.replay-order", On::Response(replayed_once)).only(&[LOAD]),
    Check::agent("load.replay-order", On::Response(tools_in_their_turns)).only(&[LOAD]),
    Check::agent("load.replay-order", On::Response(tools_once)).only(&[LOAD]),
    Check::agent("load.replay-complete", On::Response(media_of_one_prompt)).only(&[LOAD]),
    Check::agent("load.replay-before-response", On::Update(replay_before_response)),
    Check::agent("load.replay-before-response", On::Response(replay_then_response)).only(&[LOAD]),
    Check::agent("load.replay-session-id", On::Update(replay_session_id)),
    Check::agent("load.replay-valid", On::Update(replay_valid)),
    Check::agent("load.user-chunks", On::Response(user_chunks)).only(&[LOAD]),
    Check::agent("load.message-ids-unique", On::Update(message_ids_unique)).only(&[
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
    ]),
    Check::agent("load.no-notice-replay", On::Update(notice_replayed)).only(&["notice"]),
    Check::agent("load.no-notice-replay", On::Response(notices_left_out)).only(&[LOAD]),
    Check::agent("load.result-shape", On::Response(result_shape)).alone().only(&[LOAD]),
    Check::agent("load.continues", On::Response(continues)).only(&["session/prompt"]),
];

const LOAD: &str = "session/load";
const USER: &str = "user_message_chunk";
const AGENT: &str = "agent_message_chunk";

/// The shortest line that decides alone; shorter ones occur by chance.
const SHORTEST: usize = 24;

/// "Agents that support the `loadSession` capability allow Clients to resume previous conversations."
///
/// Correct but unusual: the agent does not find the session, or requires a login first. Only -32601 fails; any other
/// error is inconclusive.
fn implemented(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if ctx.conversation.agent_has(Feature::Method(LOAD)) {
        decide_implemented(answer, LOAD, ruling);
    }
}

/// The session whose successful load this answers, when its whole history happened in this trace, without a turn that
/// was cut short and without one that is running. "Behavior for `session/load` on a deleted session is
/// implementation-defined."
fn reloaded<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<&'m Session> {
    let session = ctx.conversation.session(proper(answer, LOAD)?.session()?)?;
    answer.result_of(LOAD)?;
    let whole = session.opening == Opening::New && !session.uneven && !session.deleted && session.turn.is_none();
    Some(session).filter(|_| whole).filter(|session| session.spoken.iter().any(|(variant, _)| variant == AGENT))
}

/// As [`reloaded`], for a session that has had no turn since it was reopened.
fn loaded<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<&'m Session> {
    reloaded(ctx, answer).filter(|session| !spoke_since(session))
}

/// Whether the session has had a turn since it was reopened. The agent may have reported its own texts in it twice.
const fn spoke_since(session: &Session) -> bool {
    session.was_reopened && session.reopened.is_none()
}

/// Whether a piece of history appears in a piece of the replay: one of its lines is enough, since agents wrap and trim
/// texts.
fn shows(spoken: &str, replayed: &str) -> bool {
    let replayed = plain(replayed);
    spoken.lines().map(plain).any(|line| !line.is_empty() && replayed.contains(&line))
}

/// Whether a store may have changed each line of a text, by normalising letters or by joining an emoji that two chunks
/// had split.
fn may_be_spelt_otherwise(text: &str) -> bool {
    text.lines().filter(|line| !line.trim().is_empty()).all(|line| !line.is_ascii())
}

/// Returns the beginning of a text, as findings quote it.
fn beginning(text: &str) -> String {
    plain(text).chars().take(80).collect()
}

fn is_command(text: &str) -> bool {
    text.trim_start().starts_with('/')
}

/// Returns the text of the user and the agent, without slash commands and the replies to them, which need not be part
/// of the conversation.
fn history(session: &Session) -> impl Iterator<Item = (&str, &str)> {
    let mut to_command = false;
    session.spoken.iter().filter_map(move |(variant, text)| {
        to_command = if variant == USER { is_command(text) } else { to_command };
        (!to_command && !text.trim().is_empty()).then_some((variant.as_str(), text.as_str()))
    })
}

/// Whether the user sent a slash command, which may have changed the history, as `/clear` and `/compact` do.
fn has_commands(session: &Session) -> bool {
    session.spoken.iter().any(|(variant, text)| variant == USER && is_command(text))
}

/// "The Agent MUST replay the entire conversation to the Client in the form of `session/update` notifications."
///
/// Correct but unusual: the agent cuts texts into other chunks, joins them or trims them; one line of each message is
/// enough. It leaves out slash commands and their replies. A gap is inconclusive after a slash command, and if each
/// line of the message contains characters that a store may normalise. After a turn since the last load, only prompts
/// count. Parallel loads, a prompt in one, a turn without `end_turn` and a compaction make this not exercised.
fn replay_complete(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = reloaded(ctx, answer) else { return };
    let text_of = |variant: &str| {
        let texts = session.replay.iter().filter(|(other, _)| other == variant || variant == USER && other == AGENT);
        texts.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n")
    };
    let is_certain = |variant: &str| variant == USER || !spoke_since(session);
    let missing: Vec<(&str, &str)> =
        history(session).filter(|(variant, text)| is_certain(variant) && !shows(text, &text_of(variant))).collect();
    match missing.as_slice() {
        [] if history(session).next().is_none() => {}
        [] => ruling.pass(),
        missing if has_commands(session) => {
            let fact = fact!(
                "gap-after-command",
                "the agent did not replay {missing} messages; a slash command of the user may have removed them",
                missing = missing.len()
            );
            ruling.inconclusive(fact, &[]);
        }
        missing if missing.iter().all(|(_, text)| may_be_spelt_otherwise(text)) => {
            let fact = fact!(
                "gap-or-other-characters",
                "the agent did not replay {missing} messages, or replayed them in other characters",
                missing = missing.len()
            );
            ruling.inconclusive(fact, &[]);
        }
        missing if session.replay.is_empty() => {
            let fact = fact!(
                "no-replay",
                "the agent answered {method} without a replay; expected the whole history before the response",
                method = LOAD; missing = missing.len()
            );
            ruling.fail(fact, &[]);
        }
        [(variant, text), ..] => {
            let fact = fact!(
                "message-not-replayed",
                "the agent answered {method} without a replay of the {kind} `{text}`; expected the whole history",
                method = LOAD, kind = variant, text = beginning(text); missing = missing.len()
            );
            ruling.fail(fact, &[]);
        }
    }
}

/// As in [`replay_complete`]: the same prompt comes as often as it was sent.
///
/// Correct but unusual: an agent that wraps a prompt in other words, joins several or replaces them by a summary. So
/// only a long line that the replay has counts, wherever it is, and only in a case: clients repeat prompts that failed.
fn equal_prompts(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = loaded(ctx, answer).filter(|session| ctx.conversation.whole && !has_commands(session)) else {
        return;
    };
    let replayed = replayed(session, USER);
    let prompts: Vec<&str> = history(session).filter(|(variant, _)| *variant == USER).map(|(_, text)| text).collect();
    for prompt in &prompts {
        let lines = prompt.lines().map(plain).filter(|line| line.len() >= SHORTEST && line.is_ascii());
        let Some(line) = lines.max_by_key(String::len) else { continue };
        let sent = prompts.iter().filter(|other| *other == prompt).count();
        let shown = replayed.matches(&line).count();
        if sent > shown && shown > 0 {
            let fact = fact!(
                "equal-prompts-joined",
                "the agent replayed the prompt `{text}` {shown} times; the user sent it {sent} times",
                text = beginning(prompt),
                shown,
                sent
            );
            return ruling.fail(fact, &[]);
        }
    }
}

/// The replay keeps the order of the conversation.
///
/// Correct but unusual: the same short message comes several times, or is a part of a longer one. Each message takes
/// the first place where it fits, and one that the replay leaves out ends the comparison, also one of equal ones.
fn replay_order(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = loaded(ctx, answer) else { return };
    let (mut from, mut matched) = (0, 0);
    for (variant, text) in history(session) {
        let here = |(_, (other, replayed)): &(usize, &(String, String))| other == variant && shows(text, replayed);
        let is_equal = |other: &(&str, &str)| other.0 == variant && plain(other.1) == plain(text);
        let places: Vec<usize> = session.replay.iter().enumerate().filter(here).map(|(place, _)| place).collect();
        match places.iter().find(|place| **place >= from) {
            Some(place) => (from, matched) = (*place, matched + 1),
            None if places.len() < history(session).filter(|other| is_equal(other)).count() => return,
            None => {
                let fact = fact!(
                    "replay-out-of-order",
                    "the agent replayed `{text}` too early; expected the order of the conversation",
                    text = beginning(text); kind = variant
                );
                return ruling.fail(fact, &[]);
            }
        }
    }
    if matched > 1 {
        ruling.pass();
    }
}

/// As above: each message of the conversation comes once.
///
/// Correct but unusual: a message that came several times in the conversation, or is a part of another one; the agent
/// replays a short line as the heading of something else. So only a message fails of which each longer line that the
/// other party never wrote comes more often than it was sent.
fn replayed_once(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = loaded(ctx, answer).filter(|session| !has_commands(session)) else { return };
    let of = |pieces: &[(String, String)], variant: &str| {
        let texts = pieces.iter().filter(|(other, _)| other == variant).map(|(_, text)| plain(text));
        texts.collect::<Vec<_>>().join("\n")
    };
    for variant in [USER, AGENT] {
        let (spoken, replayed) = (of(&session.spoken, variant), of(&session.replay, variant));
        let elsewhere = of(&session.spoken, if variant == USER { AGENT } else { USER });
        let is_repeated =
            |line: &String| replayed.matches(line.as_str()).count() > spoken.matches(line.as_str()).count();
        for (_, text) in history(session).filter(|(other, _)| *other == variant) {
            let lines = text.lines().map(plain);
            let lines: Vec<String> =
                lines.filter(|line| line.len() >= SHORTEST && !elsewhere.contains(line.as_str())).collect();
            if !lines.is_empty() && lines.iter().all(is_repeated) {
                let fact = fact!(
                    "message-replayed-twice",
                    "the agent replayed `{text}` more often than it was sent; expected each message once",
                    text = beginning(text); kind = variant
                );
                return ruling.fail(fact, &[]);
            }
        }
    }
}

/// As in [`replay_complete`]: a message comes with all of its lines.
///
/// Correct but unusual: an agent that renders or wraps its text, stores only the last part of a turn with tools, or
/// replaces its history by a summary. So this fails only in a session without tools and slash commands, for a message
/// of several long lines in plain letters whose first line the replay has, and of which it lacks most others and the
/// last one. Of a prompt in a case, two lines are enough; in a recording, a part of it may be for the model alone.
fn message_cut_off(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    const FEWEST: [(&str, usize); 2] = [(USER, 2), (AGENT, 4)];
    let Some(session) = loaded(ctx, answer).filter(|session| !has_commands(session)) else { return };
    if !session.earlier_tools.is_empty() || !session.tools.is_empty() {
        return;
    }
    for (kind, fewest) in FEWEST.into_iter().filter(|(kind, _)| *kind == AGENT || ctx.conversation.whole) {
        let replayed = replayed(session, kind);
        for (_, text) in history(session).filter(|(variant, _)| *variant == kind) {
            let is_usual = |c: char| c.is_ascii_alphanumeric() || " ,.'".contains(c);
            let lines: Vec<String> =
                text.lines().map(plain).filter(|line| line.len() >= SHORTEST && line.chars().all(is_usual)).collect();
            let is_shown: Vec<bool> = lines.iter().map(|line| replayed.contains(line.as_str())).collect();
            let shown = is_shown.iter().filter(|shown| **shown).count();
            // Of a prompt that is cut off, a line that is repeated may be most of what is left.
            let is_cut = kind == USER || shown * 2 <= lines.len();
            if let ([true, .., false], [_, .., last]) = (is_shown.as_slice(), lines.as_slice())
                && lines.len() >= fewest
                && is_cut
            {
                let fact = fact!(
                    "message-cut-off",
                    "the agent replayed {shown} of {all} lines of a message, without the last one, `{last}`; expected \
                    the whole message",
                    shown,
                    all = lines.len(),
                    last
                );
                return ruling.fail(fact, &[]);
            }
        }
    }
}

/// Returns what a party said in the replay, in one line.
fn replayed(session: &Session, kind: &str) -> String {
    let said = session.replay.iter().filter(|(variant, _)| variant == kind).map(|(_, text)| text.as_str());
    plain(&said.collect::<Vec<_>>().join("\n"))
}

/// As in [`replay_order`]: a tool call comes after the prompt of its turn, and before the next prompt.
///
/// Correct but unusual: an agent that reports the texts and the tools of one turn in another order, leaves out tools,
/// gives them new ids, uses an id again in a later turn, or repeats a prompt. A session that was opened again before
/// decides nothing, since its tools may have come in a replay.
fn tools_in_their_turns(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let session = loaded(ctx, answer).filter(|session| !session.was_reopened && !has_commands(session));
    let Some(session) = session else { return };
    let prompts: Vec<&str> =
        session.spoken.iter().filter(|(variant, _)| variant == USER).map(|(_, text)| text.as_str()).collect();
    let place_of = |prompt: &&str| {
        let here = |(_, (variant, text)): &(usize, &(String, String))| variant == USER && shows(prompt, text);
        let mut places = session.replay.iter().enumerate().filter(here).map(|(place, _)| place);
        places.next().filter(|_| places.next().is_none())
    };
    let places: Option<Vec<usize>> = prompts.iter().map(place_of).collect();
    let Some(places) = places.filter(|places| places.len() == session.prompts && places.is_sorted_by(|a, b| a < b))
    else {
        return;
    };
    for (id, place) in &session.replayed_tools {
        let turn = session.earlier_tools.get(id).and_then(|(_, turn)| turn.checked_sub(1));
        let Some((turn, begin)) = turn.and_then(|turn| Some((turn, *places.get(turn)?))) else { continue };
        let is_early = *place <= begin;
        let is_late = places.get(turn + 1).is_some_and(|next| next < place);
        if is_early || is_late {
            let fact = fact!(
                "tool-call-in-other-turn",
                "the agent replayed the tool call `{tool_call_id}` {when}; expected it in the turn of that prompt",
                tool_call_id = id,
                when = if is_early { "before the prompt of its turn" } else { "after the prompt of the next turn" }
            );
            return ruling.fail(fact, session.tools.get(id).map_or(&[][..], |tool| std::slice::from_ref(&tool.n)));
        }
    }
}

/// As in [`replayed_once`]: a tool call of the conversation comes once, since its id is "unique within the session".
///
/// Correct but unusual: an agent that creates a call again to update it, repeats one that has just ended, uses an id
/// again in a later turn, or reports a call of the background twice. So only a call fails that the agent created once
/// in the conversation, which ended in its turn, and which the replay creates again after it had ended and other
/// messages had followed. A session that was opened again before decides nothing.
fn tools_once(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let session = loaded(ctx, answer).filter(|session| !session.was_reopened && !has_commands(session));
    let load = session.zip(proper(answer, LOAD)).and_then(|(_, exchange)| Some((exchange.session()?, exchange.n)));
    let again = load.and_then(|(session, n)| ctx.areas.load.replayed_again(session, n).first());
    if let Some(again) = again {
        let fact = fact!(
            "tool-call-replayed-twice",
            "the agent replayed the tool call `{tool_call_id}` twice; expected each tool call once",
            tool_call_id = again.id
        );
        ruling.fail(fact, &again.events);
    }
}

/// As in [`replay_complete`]: a prompt comes with all of its images and sounds.
///
/// Correct but unusual: an agent that replays no images, writes a placeholder for them, scales them down, leaves out
/// large ones or those of earlier turns, or shows one that came twice once. So this fails only if the replay has
/// another image of the same MIME type and prompt, and has none that the user did not send.
fn media_of_one_prompt(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    // Redacted data are alike.
    let session = loaded(ctx, answer).filter(|session| !has_commands(session) && !ctx.conversation.is_redacted);
    let load = session.zip(proper(answer, LOAD)).and_then(|(_, exchange)| Some((exchange.session()?, exchange.n)));
    if let Some((mime, _)) = load.and_then(|(session, n)| ctx.areas.load.lost_medium(session, n)) {
        let fact = fact!(
            "medium-not-replayed",
            "the agent replayed one block of {mime_type} of a prompt and left out another; expected the whole prompt",
            mime_type = mime
        );
        ruling.fail(fact, &[]);
    }
}

/// As in [`replay_complete`]: a tool call ends in the replay as it ended in the conversation.
///
/// Correct but unusual: the replay leaves out tool calls, their content, or their status; a call that the user refused
/// has another status; a call that the agent still runs. So only `completed` for `failed`, or the reverse, fails.
fn tools_as_they_ended(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = loaded(ctx, answer).filter(|session| !session.has_denied) else { return };
    for (id, (before, _)) in session.earlier_tools.iter().filter(|(_, (status, _))| is_final(status)) {
        let Some(tool) = session.tools.get(id).filter(|tool| tool.is_final() && tool.status != *before) else {
            continue;
        };
        let fact = fact!(
            "tool-call-ended-otherwise",
            "the agent replayed the tool call `{tool_call_id}` as {actual}; expected {expected}, as it ended",
            tool_call_id = id,
            actual = tool.status,
            expected = before
        );
        ruling.fail(fact, &[tool.n]);
    }
}

/// "When all the conversation entries have been streamed to the Client, the Agent MUST respond": no history follows.
///
/// Correct but unusual: a live greeting follows, in pieces as short as a word, or another client of the same session
/// writes something new. Only text of the known history that was not replayed before fails, and a user's message if
/// nothing was replayed. While a second load of the session is open, its replay may follow.
fn replay_before_response(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|_| is_history(update.variant)) else { return };
    let Some((Opening::Load, response)) = session.reopened else { return };
    if session.turn.is_some() || session.loading.is_some() || session.deleted {
        return;
    }
    let text = plain(update.text().unwrap_or_default());
    let replayed =
        session.replay.iter().any(|(variant, shown)| variant == update.variant && plain(shown).contains(&text));
    let whole = !ctx.conversation.holes.anywhere;
    let unknown = whole && session.opening != Opening::New && session.replay.is_empty() && update.variant == USER;
    if unknown || repeats_history(ctx, session, update) && !replayed {
        let fact = fact!(
            "replay-after-response",
            "the agent replayed {update} after its response to {method}; expected it before the response",
            update = update.variant, method = LOAD; session_id = update.session, pointer = "/params/update"
        );
        ruling.fail(fact, &[response]);
    } else {
        let fact = fact!(
            "update-after-response",
            "the agent sent {update} after its response to {method} and before any prompt",
            update = update.variant, method = LOAD; session_id = update.session, pointer = "/params/update"
        );
        ruling.inconclusive(fact, &[response]);
    }
}

/// Passes when a response comes after history.
fn replay_then_response(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let session = answer.result_of(LOAD).and_then(|(exchange, _)| ctx.conversation.session(exchange.session()?));
    if session.is_some_and(|session| !session.replay.is_empty()) {
        ruling.pass();
    }
}

/// The replay names the session that is being loaded.
///
/// Correct but unusual: another session has a turn, is created, or is opened at the same time by a method that this
/// edition does not define. History for a session that is known or may be known then decides nothing.
fn replay_session_id(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let mut open = conversation.open_of(ctx.from.other());
    let Some(load) = open.find(|open| open.method == LOAD && !open.deliberate) else { return };
    match update.known {
        _ if !is_history(update.variant) => {}
        Some(session) if session.loading.is_some() => ruling.pass(),
        Some(_) => {}
        None if conversation.open_of(ctx.from.other()).any(|open| open.method == "session/new") => {}
        // Children that the replay announced have ids of their own.
        None if conversation.children.contains_key(update.session) => {}
        None if conversation.may_open_otherwise() || conversation.announced_sessions.contains(update.session) => {}
        None => {
            let fact = fact!(
                "wrong-session",
                "the agent replayed {update} for the unknown session `{session_id}`; expected `{expected}`",
                update = update.variant, session_id = update.session, expected = load.session();
                pointer = "/params/sessionId"
            );
            ruling.fail(fact, &[load.n]);
        }
    }
}

/// The replay consists of ordinary updates; a tool call is created before it is updated.
///
/// Correct but unusual: a live report on an earlier call crosses the request, before the replay begins, or comes in the
/// middle of the replay since the call still runs. Both are inconclusive.
fn replay_valid(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = update.known.filter(|session| session.turn.is_none());
    let loading = |session: &&Session| session.loading.is_some() && !session.deleted;
    let Some(session) = session.filter(|session| loading(session) && is_history(update.variant)) else {
        return;
    };
    let id = update.body.member("toolCallId").and_then(Value::as_str);
    match id.filter(|_| update.variant == "tool_call_update") {
        Some(id) if !session.tools.contains_key(id) => {
            let fact = fact!(
                "unknown-tool-call",
                "the agent replayed an update of the unknown tool call `{tool_call_id}`; expected its tool_call first",
                tool_call_id = id; pointer = "/params/update/toolCallId"
            );
            let begun = !session.replay.is_empty() || !session.tools.is_empty();
            match session.earlier_tools.get(id) {
                Some((status, _)) if !begun || !is_final(status) => ruling.inconclusive(fact, &[]),
                _ => ruling.fail(fact, &[]),
            }
        }
        _ => ruling.pass(),
    }
}

/// "A user message from the conversation history" is a `user_message_chunk`, the agent's an `agent_message_chunk`.
///
/// Correct but unusual: the agent quotes the user, answers with a single word, or replaces its history by a summary
/// that quotes both. Lines of both parties, lines below eight bytes, and all lines after a slash command never fail.
fn user_chunks(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    /// Shorter texts occur by chance in others.
    const SHORTEST: usize = 8;
    let Some(session) = loaded(ctx, answer) else { return };
    let of = |pieces: &[(String, String)], variant: &str| {
        let texts = pieces.iter().filter(|(other, _)| other == variant).map(|(_, text)| plain(text));
        texts.collect::<Vec<_>>().join("\n")
    };
    for (mine, other) in [(USER, AGENT), (AGENT, USER)] {
        let (right, wrong) = (of(&session.replay, mine), of(&session.replay, other));
        let elsewhere = of(&session.spoken, other);
        let lines =
            history(session).filter(|(variant, _)| *variant == mine).flat_map(|(_, text)| text.lines().map(plain));
        for line in lines.filter(|line| line.len() >= SHORTEST && !elsewhere.contains(line.as_str())) {
            if right.contains(&line) {
                ruling.pass();
            } else if wrong.contains(&line) {
                let fact = fact!(
                    "replayed-as-other-kind",
                    "the agent replayed `{line}` as {actual}; expected {expected}",
                    line,
                    actual = other,
                    expected = mine
                );
                if has_commands(session) { ruling.inconclusive(fact, &[]) } else { ruling.fail(fact, &[]) }
            }
        }
    }
}

/// "each `messageId` is an opaque, unique identifier for the replayed message": a user's and an agent's message never
/// share one.
///
/// Correct but unusual: the replay uses the ids of the live turns again, gives a thought the id of its message, or
/// gives no ids. Only an id that a user's and an agent's message of one replay share fails.
fn message_ids_unique(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = update.known.filter(|session| session.loading.is_some() && session.turn.is_none());
    let Some(session) = session.filter(|_| update.variant.ends_with("_chunk") && is_history(update.variant)) else {
        return;
    };
    let Some(id) = update.body.member("messageId").and_then(Value::as_str) else { return };
    match session.message_ids.get(id) {
        Some((variant, _)) if (variant == USER) != (update.variant == USER) => {
            let fact = fact!(
                "id-of-two-kinds",
                "the agent replayed the messageId `{message_id}` in {actual} after {first}; expected one message per \
                id",
                message_id = id, actual = update.variant, first = variant;
                pointer = "/params/update/messageId"
            );
            ruling.fail(fact, &[]);
        }
        Some(_) => {}
        None if session.message_ids.is_empty() => {}
        None => ruling.pass(),
    }
}

/// "Notices are live events rather than session history": a notice of an earlier turn is no longer live.
fn notice_replayed(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = update.known.filter(|_| update.variant == "notice");
    if session.is_none_or(|session| session.loading.is_none() || session.turn.is_some()) {
        return;
    }
    let title = update.body.member("title").and_then(Value::as_str).unwrap_or_default();
    if ctx.areas.load.notices(update.session).any(|notice| notice == title) {
        let fact = fact!(
            "notice-replayed",
            "the agent sent the notice `{title}` of an earlier turn during {method}; expected no notices in a replay",
            title, method = LOAD; pointer = "/params/update/title"
        );
        ruling.fail(fact, &[]);
    }
}

/// Exercised by loading a session that had a notice.
fn notices_left_out(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let session = answer.result_of(LOAD).and_then(|(exchange, _)| exchange.session());
    if session.is_some_and(|session| ctx.areas.load.notices(session).next().is_some()) {
        ruling.pass();
    }
}

/// The schema requires an object here, the page null.
///
/// Correct but unusual: `null`, or an object whose members are all null. Both pass.
fn result_shape(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    note_null(answer, LOAD, ruling);
}

/// "The Client can then continue sending prompts as if the session was never interrupted."
///
/// See [`decide_continues`] and [`decide_remembers`] for the unusual cases.
fn continues(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    decide_continues(ctx, answer, Opening::Load, ruling);
    decide_remembers(ctx, answer, Opening::Load, ruling);
}
