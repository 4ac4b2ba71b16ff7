//! Area `terminal`, the agent's half: how the agent uses the client's terminals.

use crate::areas::common::decide_absolute;
use crate::areas::fs::agent::{decide_survived, left_after_refusal};
use crate::areas::tool::{may_have_other_terminals, was_reopened};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::{Answer, CallSeen, Conversation, Terminal};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("terminal.create.cwd-absolute", On::Call(cwd_absolute)).alone().only(&["terminal/create"]),
    Check::agent("terminal.release", On::Call(released)).only(&["terminal/release"]),
    Check::agent("terminal.release", On::End(release)),
    Check::agent("terminal.release-after-kill", On::Call(released_after_kill)).only(&["terminal/release"]),
    Check::agent("terminal.release-after-kill", On::End(release_after_kill)),
    Check::agent("terminal.no-use-after-release", On::Call(use_after_release)),
    Check::agent("terminal.no-use-after-release", On::Response(no_use_after_release)).only(&["session/prompt"]),
    Check::agent("terminal.known-id", On::Call(known_id)),
    Check::agent("terminal.error-survived", On::Response(with!(decide_survived, "terminal/")))
        .only(&["session/prompt"]),
    Check::agent("terminal.error-survived", On::End(|ctx, ruling| left_after_refusal(ctx, "terminal/", ruling))),
];

/// "cwd: Working directory for the command. Must be an absolute path."
///
/// Correct but unusual: no cwd or null, which is not checked; and a cwd below a relative one of the client, which is
/// inconclusive.
fn cwd_absolute(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(cwd) = call.text_of("terminal/create", "cwd") {
        decide_absolute(ctx, call.text("sessionId"), (call.method, "/params/cwd"), cwd, ruling);
    }
}

/// The member with the id of a terminal.
const POINTER: &str = "/params/terminalId";

/// Returns the terminal of a call.
fn named<'m>(ctx: &CheckContext<'m>, call: &CallSeen<'m>) -> Option<(&'m str, &'m Terminal)> {
    let id = call.method.starts_with("terminal/").then(|| call.text("terminalId"))??;
    Some((id, ctx.conversation.terminals.get(id)?))
}

fn is_killed(ctx: &CheckContext<'_>, id: &str) -> bool {
    ctx.areas.terminal.of(Some(id)).killed.is_some()
}

/// "The Agent MUST release the terminal … when it's no longer needed."
fn released(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let terminal = named(ctx, call).filter(|_| call.method == "terminal/release");
    if terminal.is_some_and(|(id, terminal)| !is_killed(ctx, id) && terminal.released.is_none()) {
        ruling.pass();
    }
}

/// A command may run on in the background, so a terminal counts only if its command has exited and its output was read
/// after that. Separate requirements cover killed ones and those of closed sessions.
///
/// Correct but unusual: an agent that releases up to five seconds after its response, that keeps the terminal for the
/// next turn, or that still has a request about it open. All of these are inconclusive, and so is every recording.
fn release(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let unreleased = conversation.terminals.iter().filter(|(_, terminal)| terminal.released.is_none());
    for (id, terminal) in unreleased.filter(|(id, _)| !is_killed(ctx, id)) {
        match (is_ended(conversation, terminal), terminal.spent(), time_to_release(conversation, id, terminal)) {
            (true, ..) => {}
            (_, Some(exited), Some(proof)) => ruling.proved_by(&[terminal.created, exited, proof]).fail(fact!(
                "not-released",
                "the agent did not release the terminal `{terminal_id}` after its command and a later turn had \
                ended",
                terminal_id = id;
                session_id = terminal.session
            )),
            _ => ruling.proved_by(&[terminal.created]).inconclusive(fact!(
                "open-at-end",
                "the agent had not released the terminal `{terminal_id}` when the trace ended; it may still be \
                in use",
                terminal_id = id;
                session_id = terminal.session
            )),
        }
    }
}

/// "The Agent MUST still call `terminal/release` when it's done using it", after a kill.
fn released_after_kill(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let terminal = named(ctx, call).filter(|_| call.method == "terminal/release");
    if terminal.is_some_and(|(id, terminal)| is_killed(ctx, id) && terminal.released.is_none()) {
        ruling.pass();
    }
}

/// A killed command does nothing any more, but an agent may still read its output.
///
/// Correct but unusual: an agent that reads the output some time after the kill, and one whose kill the client refused,
/// so that the command continues. Both are inconclusive until the terminal has no more use.
fn release_after_kill(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    for (id, terminal) in conversation.terminals.iter().filter(|(_, terminal)| terminal.released.is_none()) {
        let ends = ctx.areas.terminal.of(Some(id));
        let Some(killed) = ends.killed else { continue };
        match time_to_release(conversation, id, terminal).filter(|_| ends.kill_done.is_some()) {
            _ if is_ended(conversation, terminal) => {}
            Some(proof) => ruling.proved_by(&[terminal.created, killed, proof]).fail(fact!(
                "not-released",
                "the agent did not release the terminal `{terminal_id}`, which it had killed",
                terminal_id = id; session_id = terminal.session
            )),
            None => ruling.proved_by(&[terminal.created, killed]).inconclusive(fact!(
                "open-at-end",
                "the agent had not released the killed terminal `{terminal_id}` when the trace ended",
                terminal_id = id; session_id = terminal.session
            )),
        }
    }
}

/// Returns the event that proves that the agent no longer needs the terminal and has had the time to release it.
///
/// An agent may keep a terminal for the next turn, and may clean up after its response. So a later turn must be over,
/// and a fence must be answered some time after that. An id that terminals of two sessions share proves nothing.
fn time_to_release(conversation: &Conversation, id: &str, terminal: &Terminal) -> Option<usize> {
    let in_use = conversation.open_of(Party::Agent).any(|open| open.text("terminalId") == Some(id));
    if in_use || terminal.shares_id {
        return None;
    }
    let session = conversation.session(&terminal.session)?;
    let last = session.ended.as_ref().filter(|ended| ended.cancelled.is_none() && ended.reason.is_some())?;
    let (_, us) = conversation.session(&terminal.session)?.log.as_ref()?.ended.filter(|(n, _)| *n == last.n)?;
    conversation.settled_since(us).filter(|_| terminal.turn.is_some_and(|turn| turn < last.prompt))
}

/// Whether the session of the terminal was closed or deleted, perhaps before it was opened again.
fn is_ended(conversation: &Conversation, terminal: &Terminal) -> bool {
    conversation.session(&terminal.session).is_some_and(|session| session.was_ended)
        || conversation.deleted.contains_key(&terminal.session)
}

/// "After release the terminal ID becomes invalid for all other `terminal/*` methods."
///
/// Correct but unusual: requests that were sent before the release and are answered later; a second release; a client
/// that gives the id to a new terminal, or to one of another session. These do not fail.
fn use_after_release(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((id, terminal)) = named(ctx, call) else { return };
    let Some(released) = terminal.released else { return };
    match call.method {
        "terminal/release" => ruling.note(fact!(
            "released-twice",
            "the agent released the terminal `{terminal_id}` twice",
            terminal_id = id; pointer = POINTER
        )),
        _ if terminal.shares_id => ruling.proved_by(&[released]).inconclusive(fact!(
            "id-of-several-terminals",
            "the agent sent {method} for `{terminal_id}`; the client gave that id to terminals of several sessions",
            method = call.method, terminal_id = id; pointer = POINTER
        )),
        _ if terminal.release_refused => ruling.proved_by(&[released]).inconclusive(fact!(
            "release-refused",
            "the agent sent {method} for `{terminal_id}`, whose release the client had refused",
            method = call.method, terminal_id = id; pointer = POINTER
        )),
        _ => ruling.proved_by(&[released]).fail(fact!(
            "released-terminal",
            "the agent sent {method} for the released terminal `{terminal_id}`; expected no use after the release",
            method = call.method, terminal_id = id; pointer = POINTER
        )),
    }
}

/// Exercised by a turn in which a terminal was released.
fn no_use_after_release(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let prompt = answer.exchange.filter(|exchange| exchange.method == "session/prompt");
    let mut terminals = ctx.conversation.terminals.values();
    if prompt.is_some_and(|prompt| terminals.any(|t| t.turn == Some(prompt.n) && t.released.is_some())) {
        ruling.pass();
    }
}

/// A terminal id comes from the client, and belongs to the session of its request.
///
/// Correct but unusual: a client that counts its terminals in each session by itself; an agent that continues to use a
/// terminal from before a load or a resume, or with one of an extension. All of these are inconclusive.
fn known_id(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if !call.method.starts_with("terminal/") {
        return;
    }
    let Some(id) = call.text("terminalId") else { return };
    match (ctx.conversation.terminals.get(id), call.text("sessionId")) {
        (Some(terminal), Some(session)) if terminal.session != session && terminal.shares_id => {
            ruling.proved_by(&[terminal.created]).inconclusive(fact!(
                "id-of-several-terminals",
                "the agent sent {method} for `{terminal_id}`; the client gave that id to terminals of several sessions",
                method = call.method, terminal_id = id; pointer = POINTER
            ));
        }
        (Some(terminal), Some(session)) if terminal.session != session => {
            ruling.proved_by(&[terminal.created]).fail(fact!(
                "terminal-of-other-session",
                "the agent sent {method} for `{terminal_id}` with the session `{actual}`; expected `{expected}`",
                method = call.method, terminal_id = id, actual = session, expected = terminal.session;
                pointer = "/params/sessionId"
            ));
        }
        (Some(_), _) => ruling.pass(),
        (None, _) if ctx.conversation.initialize.is_none() => {}
        (None, session) if was_reopened(ctx, session) || may_have_other_terminals(ctx) => ruling.inconclusive(fact!(
            "terminal-of-other-origin",
            "the agent sent {method} for `{terminal_id}`, which may come from an earlier connection or an \
            extension",
            method = call.method, terminal_id = id;
            pointer = POINTER
        )),
        (None, _) => ruling.fail(fact!(
            "unknown-terminal",
            "the agent sent {method} for the unknown terminal `{terminal_id}`; expected one that the client \
            created",
            method = call.method, terminal_id = id;
            pointer = POINTER
        )),
    }
}

impl Terminal {
    /// Returns the event with the command's exit, if the agent also has all output until then.
    fn spent(&self) -> Option<usize> {
        self.exited.filter(|exited| self.read.is_some_and(|read| read >= *exited))
    }
}
