//! Area `jsonrpc`: a program that exits although it owes a response.

use crate::areas::{Check, CheckContext, On, of_both};
use crate::conversation::Exchange;
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::trace::ProcessEvent;

pub(in crate::areas) const BOTH: &[[Check; 2]] = &[
    Check::both(of_both!("jsonrpc.response-always"), On::Process(exited_before_response)),
    Check::both(of_both!("jsonrpc.survives-bad-input"), On::Process(exited_after_bad_input)),
];

/// The signals of a program that crashed; a user or a system sends others to end it.
const CRASHES: [&str; 7] = ["SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP"];

/// "the Server MUST reply with a Response": an exit on its own takes the response away. One process may have an outside
/// cause, such as too little memory, so this counts only if a second process exits after the same request.
///
/// Correct but unusual: an agent whose input was closed, or that was stopped; a client whose user quits while its agent
/// waits, which may have any exit code; a program that exits after a line that broke the protocol on purpose, which
/// other requirements cover. A recording of another tool does not contain who ended a program.
fn exited_before_response(ctx: &CheckContext<'_>, process: &ProcessEvent, ruling: &mut Ruling<'_>) {
    let Some(exit) = unasked_exit(ctx, process) else { return };
    if !ctx.conversation.deliberate.is_empty() {
        return;
    }
    // Of several requests, it exited after the last one; an invented one that came meanwhile is seldom the cause, and
    // one that came after the last words on standard error never is.
    let last_words = ctx.conversation.stderr.back().copied().unwrap_or(usize::MAX);
    let owed = ctx.conversation.open_of(ctx.from.other()).filter(|open| Exchange::is_sound(open));
    let cause = owed.max_by_key(|open| (open.n < last_words, !open.method.starts_with('_'), open.n));
    let Some(open) = cause else { return };
    ruling.proved_by(&with_stderr(ctx, open.n)).fail_if_repeated(fact!(
        "exited-before-response",
        "the {party} exited with {exit} before it answered {method}; expected a response",
        party = ctx.from,
        exit,
        method = open.method
    ));
}

/// An agent or a client should go on after a line that it cannot read. Some programs crash a moment after they answered
/// the request that proves that they read it; then another case is running.
///
/// Correct but unusual: as above. One process may also exit for another reason, so a second one must do the same.
fn exited_after_bad_input(ctx: &CheckContext<'_>, process: &ProcessEvent, ruling: &mut Ruling<'_>) {
    let Some(exit) = unasked_exit(ctx, process) else { return };
    let Some(&bad) = ctx.conversation.deliberate.last() else { return };
    ruling.proved_by(&with_stderr(ctx, bad)).fail_if_repeated(fact!(
        "exited-after-bad-input",
        "the {party} exited with {exit} after a line that breaks the protocol; expected it to go on",
        party = ctx.from,
        exit
    ));
}

/// Returns how the party exited, if it did so without being asked to.
fn unasked_exit(ctx: &CheckContext<'_>, process: &ProcessEvent) -> Option<String> {
    let ProcessEvent::Exited { code, signal } = process else { return None };
    let is_crash = signal.as_ref().is_some_and(|signal| CRASHES.contains(&signal.as_str()));
    if ctx.conversation.shutting_down.is_some() || ctx.from == Party::Client && !is_crash {
        return None;
    }
    Some(match (code, signal) {
        (_, Some(signal)) => signal.clone(),
        (Some(code), None) => format!("exit code {code}"),
        (None, None) => "an unknown exit code".to_owned(),
    })
}

/// Returns the event with the last lines on standard error, which may explain an exit.
fn with_stderr(ctx: &CheckContext<'_>, n: usize) -> Vec<usize> {
    [n].into_iter().chain(ctx.conversation.stderr.iter().copied()).collect()
}
