//! Area `load`: the texts and attachments of a replay.

use super::history::{has_commands, history, loaded, reloaded, shows};
use super::state::RESOURCE;
use super::{AGENT, LOAD, USER};
use crate::areas::common::{plain, proper};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Session};
use crate::fact;
use crate::finding::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("load.replay-complete", On::Response(replay_complete)).only(&[LOAD]),
    Check::agent("load.replay-order", On::Response(replay_order)).only(&[LOAD]),
    Check::agent("load.replay-complete", On::Response(message_cut_off)).only(&[LOAD]),
    Check::agent("load.replay-complete", On::Response(equal_prompts)).only(&[LOAD]),
    Check::agent("load.replay-order", On::Response(replayed_once)).only(&[LOAD]),
    Check::agent("load.replay-complete", On::Response(attachments_of_one_prompt)).only(&[LOAD]),
    Check::agent("load.user-chunks", On::Response(user_chunks)).only(&[LOAD]),
];

/// The shortest line that decides alone; shorter ones occur by chance.
const SHORTEST: usize = 24;

/// Whether a store may have changed each line of a text, by normalising letters or by joining an emoji that two chunks
/// had split.
fn may_be_spelt_otherwise(text: &str) -> bool {
    text.lines().filter(|line| !line.trim().is_empty()).all(|line| !line.is_ascii())
}

/// Returns the beginning of a text, as findings quote it.
fn beginning(text: &str) -> String {
    plain(text).chars().take(80).collect()
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
    let is_certain = |variant: &str| variant == USER || !session.had_turn_since;
    let missing: Vec<(&str, &str)> =
        history(session).filter(|(variant, text)| is_certain(variant) && !shows(text, &text_of(variant))).collect();
    match missing.as_slice() {
        [] if history(session).next().is_none() => {}
        [] => ruling.pass(),
        missing if has_commands(session) => ruling.inconclusive(fact!(
            "gap-after-command",
            "the agent did not replay {missing} messages; a slash command of the user may have removed them",
            missing = missing.len()
        )),
        missing if missing.iter().all(|(_, text)| may_be_spelt_otherwise(text)) => ruling.inconclusive(fact!(
            "gap-or-other-characters",
            "the agent did not replay {missing} messages, or replayed them in other characters",
            missing = missing.len()
        )),
        missing if session.replay.is_empty() => ruling.fail(fact!(
            "no-replay",
            "the agent had replayed nothing when it answered {method}; expected the whole history before the response",
            method = LOAD; missing = missing.len()
        )),
        [(variant, text), ..] => ruling.fail(fact!(
            "message-not-replayed",
            "the agent had not replayed the {kind} `{text}` when it answered {method}; expected the whole history \
            before the response",
            method = LOAD, kind = variant, text = beginning(text); missing = missing.len()
        )),
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
            return ruling.fail(fact!(
                "equal-prompts-joined",
                "the agent replayed the prompt `{text}` {shown} times; the user sent it {sent} times",
                text = beginning(prompt),
                shown,
                sent
            ));
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
                return ruling.fail(fact!(
                    "replay-out-of-order",
                    "the agent replayed `{text}` too early; expected the order of the conversation",
                    text = beginning(text); kind = variant
                ));
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
                return ruling.fail(fact!(
                    "message-replayed-twice",
                    "the agent replayed `{text}` more often than it was sent; expected each message once",
                    text = beginning(text); kind = variant
                ));
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
                return ruling.fail(fact!(
                    "message-cut-off",
                    "the agent replayed {shown} of {all} lines of a message, without the last one, `{last}`; expected \
                    the whole message",
                    shown,
                    all = lines.len(),
                    last
                ));
            }
        }
    }
}

/// Returns what a party said in these pieces, a line each.
fn of(pieces: &[(String, String)], variant: &str) -> String {
    pieces.iter().filter(|(other, _)| other == variant).map(|(_, text)| plain(text)).collect::<Vec<_>>().join("\n")
}

/// Returns what a party said in the replay, in one line.
fn replayed(session: &Session, kind: &str) -> String {
    let said = session.replay.iter().filter(|(variant, _)| variant == kind).map(|(_, text)| text.as_str());
    plain(&said.collect::<Vec<_>>().join("\n"))
}

/// As in [`replay_complete`]: a prompt comes with all of its images, sounds and resources.
///
/// Correct but unusual: an agent that replays no attachments, writes a placeholder for them, scales images down, leaves
/// out large ones or those of earlier turns, shows one that came twice once, or embeds a file that it found and keeps
/// another link. So this fails only if the replay has another one of the same kind and prompt, and has none that the
/// user did not send.
fn attachments_of_one_prompt(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    // Redacted data are alike.
    let session = loaded(ctx, answer).filter(|session| !has_commands(session) && !ctx.conversation.is_redacted);
    let Some((session, exchange)) = session.zip(proper(answer, LOAD)) else { return };
    let text = replayed(session, USER);
    let id = exchange.session().unwrap_or_default();
    if let Some(lost) = ctx.areas.load.lost_attachment(id, exchange.n, &text) {
        let fact = fact!(
            "attachment-not-replayed",
            "the agent replayed one block of {kind} of a prompt and left out another; expected the whole prompt",
            kind = lost.kind
        );
        match lost.kind.as_str() {
            RESOURCE => ruling.fail_in_case(fact),
            _ => ruling.fail(fact),
        }
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
                ruling.fail_unless(has_commands(session), fact);
            }
        }
    }
}
