//! The conversation that a replay is compared with.

use super::{AGENT, LOAD, USER};
use crate::areas::CheckContext;
use crate::areas::common::{plain, proper};
use crate::conversation::{Answer, Opening, Session};

/// The session whose successful load this answers, when its whole history happened in this trace, without a turn that
/// was cut short and without one that is running. "Behavior for `session/load` on a deleted session is
/// implementation-defined."
pub(super) fn reloaded<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<&'m Session> {
    let session = ctx.conversation.session(proper(answer, LOAD)?.session()?)?;
    answer.result_of(LOAD)?;
    let whole = session.opening == Opening::New && !session.uneven && !session.deleted && session.turn.is_none();
    Some(session).filter(|_| whole).filter(|session| session.spoken.iter().any(|(variant, _)| variant == AGENT))
}

/// As [`reloaded`], for a session that had no turn after it was first reopened: an agent may report its own texts in
/// such a turn twice.
pub(super) fn loaded<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<&'m Session> {
    reloaded(ctx, answer).filter(|session| !session.had_turn_since)
}

/// Whether a piece of history appears in a piece of the replay: one of its lines is enough, since agents wrap and trim
/// texts.
pub(super) fn shows(spoken: &str, replayed: &str) -> bool {
    let replayed = plain(replayed);
    spoken.lines().map(plain).any(|line| !line.is_empty() && replayed.contains(&line))
}

fn is_command(text: &str) -> bool {
    text.trim_start().starts_with('/')
}

/// Returns the text of the user and the agent, without slash commands and the replies to them, which need not be part
/// of the conversation.
pub(super) fn history(session: &Session) -> impl Iterator<Item = (&str, &str)> {
    let mut to_command = false;
    session.spoken.iter().filter_map(move |(variant, text)| {
        to_command = if variant == USER { is_command(text) } else { to_command };
        (!to_command && !text.trim().is_empty()).then_some((variant.as_str(), text.as_str()))
    })
}

/// Whether the user sent a slash command, which may have changed the history, as `/clear` and `/compact` do.
pub(super) fn has_commands(session: &Session) -> bool {
    session.spoken.iter().any(|(variant, text)| variant == USER && is_command(text))
}
