//! Area `load`: the tool calls of a replay.

use super::history::{has_commands, loaded, shows};
use super::{LOAD, USER};
use crate::areas::common::proper;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, is_final};
use crate::fact;
use crate::finding::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("load.replay-complete", On::Response(tools_as_they_ended)).only(&[LOAD]),
    Check::agent("load.replay-complete", On::Response(tools_left_out)).only(&[LOAD]),
    Check::agent("load.replay-order", On::Response(tools_in_their_turns)).only(&[LOAD]),
    Check::agent("load.replay-order", On::Response(tools_once)).only(&[LOAD]),
];

/// As for messages: a tool call ends in the replay as it ended in the conversation.
///
/// Correct but unusual: the replay leaves out tool calls, their content, or their status; a call that the user refused
/// has another status; a call that the agent still runs. So `completed` for `failed`, or the reverse, fails, and in a
/// case an explicit status with which a call that has ended never ends in the replay.
fn tools_as_they_ended(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = loaded(ctx, answer).filter(|session| !session.has_denied) else { return };
    for (id, (before, _)) in session.earlier_tools.iter().filter(|(_, (status, _))| is_final(status)) {
        let Some(tool) = session.tools.get(id).filter(|tool| tool.has_status && tool.status != *before) else {
            continue;
        };
        let fact = fact!(
            "tool-call-ended-otherwise",
            "the agent replayed the tool call `{tool_call_id}` as {actual}; expected {expected}, as it ended",
            tool_call_id = id,
            actual = tool.status,
            expected = before
        );
        match tool.is_final() {
            true => ruling.proved_by(&[tool.n]).fail(fact),
            false => ruling.proved_by(&[tool.n]).fail_in_case(fact),
        }
    }
}

/// As for messages: "the entire conversation" has its tool calls.
///
/// Correct but unusual: an agent that keeps no plans and questions, joins several calls, gives them new ids, or
/// replaces its history by a summary. So only a replay without any call fails, of a session whose user asked to use a
/// file or to run a command, and only in a case.
fn tools_left_out(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    const KEPT: [&str; 4] = ["read-file", "write-file", "edit-file", "run-command"];
    let Some(session) = loaded(ctx, answer).filter(|session| !session.has_denied && !has_commands(session)) else {
        return;
    };
    let asked = session.model.prompts.iter().any(|prompt| KEPT.iter().any(|intent| prompt.intent.contains(intent)));
    let completed = session.earlier_tools.values().filter(|(status, _)| status == "completed").count();
    if asked && completed > 0 && session.tools.is_empty() && !session.replay.is_empty() {
        ruling.fail_in_case(fact!(
            "tool-calls-not-replayed",
            "the agent had replayed messages and no tool call when it answered {method}; expected the {missing} that it \
            had completed, too",
            method = LOAD, missing = completed
        ));
    }
}

/// As for messages: a tool call comes after the prompt of its turn, and before the next prompt.
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
            let report = session.tools.get(id).map_or(&[][..], |tool| std::slice::from_ref(&tool.n));
            return ruling.proved_by(report).fail(fact!(
                "tool-call-in-other-turn",
                "the agent replayed the tool call `{tool_call_id}` {when}; expected it in the turn of that prompt",
                tool_call_id = id,
                when = if is_early { "before the prompt of its turn" } else { "after the prompt of the next turn" }
            ));
        }
    }
}

/// As for messages: a tool call of the conversation comes once, since its id is "unique within the session".
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
        ruling.proved_by(&again.events).fail(fact!(
            "tool-call-replayed-twice",
            "the agent replayed the tool call `{tool_call_id}` twice; expected each tool call once",
            tool_call_id = again.id
        ));
    }
}
