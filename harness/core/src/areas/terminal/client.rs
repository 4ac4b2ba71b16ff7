//! Area `terminal`, the client's half: its answers about its terminals.
//!
//! Only cases show the output and effects of commands. The checks here compare one answer with another.

use serde_json::Value;

use super::state::TerminalEnds;
use crate::areas::common::{NO_METHOD, NOT_FOUND, decide_refused, is_passed_over, proper};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Exchange, Outcome, Terminal, TerminalExit};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("terminal.all-methods", On::Response(no_method)),
    Check::client("terminal.all-methods", On::End(all_methods)),
    Check::client("terminal.unadvertised", On::Response(unadvertised)),
    Check::client("terminal.create.unique-id", On::Response(unique_id)).only(&[CREATE]),
    Check::client("terminal.output.exit-status-present", On::Response(exit_status_present)).only(&[OUTPUT]),
    Check::client("terminal.output.limit", On::Response(limit)).only(&[OUTPUT]),
    Check::client("terminal.output.cumulative", On::Response(cumulative)).only(&[OUTPUT]),
    Check::client("terminal.wait.after-exit", On::Response(wait_after_exit)).only(&[WAIT]),
    Check::client("terminal.wait.after-exit", On::End(wait_after_exit_open)),
    Check::client("terminal.wait.flat-result", On::Response(flat_result)).alone().only(&[WAIT]),
    Check::client("terminal.kill.keeps-terminal", On::Response(kept_after_kill)).only(&[OUTPUT, WAIT]),
    Check::client("terminal.kill.resolves-wait", On::Response(kill_resolves_wait)).only(&[WAIT]),
    Check::client("terminal.kill.resolves-wait", On::End(wait_after_kill_open)),
    Check::client("terminal.release.invalidates", On::Response(invalid_after_release)).only(&[OUTPUT, WAIT, KILL]),
    Check::client("terminal.release.pending-wait", On::Response(wait_at_release)).only(&[WAIT]),
    Check::client("terminal.release.pending-wait", On::End(wait_at_release_open)),
    Check::client("terminal.unknown-id", On::Response(unknown_id)).only(&[OUTPUT, WAIT, KILL]),
];

const CREATE: &str = "terminal/create";
const OUTPUT: &str = "terminal/output";
const WAIT: &str = "terminal/wait_for_exit";
const KILL: &str = "terminal/kill";
const RELEASE: &str = "terminal/release";
const ALL: [&str; 5] = [CREATE, OUTPUT, WAIT, KILL, RELEASE];
const CAPABILITY: Feature<'static> = Feature::Method("terminal/create");

/// Returns the terminal of a request.
fn named<'m>(ctx: &CheckContext<'m>, request: &Exchange) -> Option<&'m Terminal> {
    ctx.conversation.terminals.get(request.text("terminalId")?).filter(|terminal| terminal.is_meant(request))
}

/// Returns what happened to the terminal of a request.
fn ends_of(ctx: &CheckContext<'_>, request: &Exchange) -> TerminalEnds {
    ctx.areas.terminal.of(request.text("terminalId"))
}

/// Returns a request to one of the methods, with its terminal.
fn about<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>, methods: &[&str]) -> Option<(&'m Exchange, &'m Terminal)> {
    let request = answer.exchange.filter(|exchange| !exchange.deliberate)?;
    methods.contains(&request.method.as_str()).then_some(())?;
    Some((request, named(ctx, request)?))
}

/// As [`about`], for a terminal that still exists: neither released nor in an ended session.
fn alive<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>, methods: &[&str]) -> Option<(&'m Exchange, &'m Terminal)> {
    about(ctx, answer, methods).filter(|(_, terminal)| is_alive(ctx, terminal))
}

fn is_alive(ctx: &CheckContext<'_>, terminal: &Terminal) -> bool {
    terminal.released.is_none() && has_session(ctx, &terminal.session)
}

/// Whether the session is known, and neither closed nor deleted nor about to be.
fn has_session(ctx: &CheckContext<'_>, id: &str) -> bool {
    let closing = |open: &Exchange| open.method == "session/close" && open.session() == Some(id);
    ctx.conversation.session(id).is_some_and(|session| session.closed.is_none())
        && !ctx.conversation.deleted.contains_key(id)
        && !ctx.conversation.open_of(Party::Client).any(closing)
}

/// Returns the open waits for the exit of a command, with their terminals.
fn open_waits<'m>(ctx: &CheckContext<'m>) -> impl Iterator<Item = (&'m Exchange, &'m Terminal)> {
    let open = ctx.conversation.open_of(Party::Agent).filter(|open| open.method == WAIT);
    open.filter_map(move |open| Some((open, named(ctx, open)?)))
}

/// "These methods" exist together; any error is allowed for a terminal that was never created or is released.
///
/// Correct but unusual: a client that answers -32601 for an id that it does not know, or for a session that is closed
/// or that it never opened. These do not fail.
fn no_method(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(request) = answer.exchange.filter(|request| !request.deliberate && ALL.contains(&request.method.as_str()))
    else {
        return;
    };
    if answer.outcome.error_code() != Some(NO_METHOD) || !ctx.conversation.client_has(CAPABILITY) {
        return;
    }
    if !request.session().is_some_and(|id| has_session(ctx, id)) {
        return;
    }
    let meant = |terminal: &Terminal| terminal.released.is_none_or(|released| released == request.n);
    if request.method == CREATE || named(ctx, request).is_some_and(meant) {
        ruling.proved_by(&[request.n]).fail(fact!(
            "method-not-found",
            "the client answered {method} with error -32601; expected it to implement terminal, which it advertises",
            method = request.method; code = NO_METHOD
        ));
    }
}

/// Exercised when each method was called and answered as an existing one.
fn all_methods(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let called = |method: &&str| conversation.has_sent(Party::Agent, method);
    let mut errors = conversation.errors.values();
    let missing = errors.any(|(method, code)| *code == NO_METHOD && ALL.contains(&method.as_str()));
    let open = conversation.open_of(Party::Agent).any(|open| ALL.contains(&open.method.as_str()));
    if conversation.client_has(CAPABILITY) && ALL.iter().all(called) && !missing && !open {
        ruling.pass();
    }
}

/// A method that is not advertised is "not available". Only the environment shows whether the command ran nevertheless.
fn unadvertised(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.exchange.is_some_and(|request| ALL.contains(&request.method.as_str()))
        && ctx.conversation.client_lacks(CAPABILITY)
    {
        let fact = |method: &str| {
            fact!(
                "served-unadvertised",
                "the client answered {method} with a result, although it does not advertise terminal; expected an \
                error",
                method
            )
        };
        decide_refused(answer, NO_METHOD, fact, ruling);
    }
}

/// An id identifies one terminal of its session, at least until its release.
///
/// Correct but unusual: a client that counts from 1 in each session, which is noted; and one that restarts its count
/// after the session was closed or loaded, which is inconclusive.
fn unique_id(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, result)) = answer.result_of(CREATE) else { return };
    let (Some(id), Some(session)) = (result.text("terminalId"), request.session()) else {
        return;
    };
    let living = |terminal: &Terminal| terminal.released.is_none() && terminal.session == session;
    let is_new = ctx.conversation.session(session).is_some_and(|session| session.was_ended || session.was_reopened);
    match ctx.conversation.terminals.get(id) {
        Some(other) if living(other) && is_new => ruling.proved_by(&[other.created]).inconclusive(fact!(
            "id-after-reopening",
            "the client created a terminal with the used id `{terminal_id}` after the session was closed or \
            reopened",
            terminal_id = id;
            pointer = "/result/terminalId"
        )),
        Some(other) if living(other) => ruling.proved_by(&[other.created]).fail(fact!(
            "id-in-use",
            "the client created a terminal with the id `{terminal_id}` of one in use; expected a unique id",
            terminal_id = id; pointer = "/result/terminalId"
        )),
        Some(_) => ruling.note(fact!(
            "id-used-before",
            "the client created a terminal with the id `{terminal_id}` of a released one or of another session",
            terminal_id = id; pointer = "/result/terminalId"
        )),
        None if ctx.conversation.live_terminals().any(living) => ruling.pass(),
        None => {}
    }
}

/// "Present only if the command has exited": and the client had reported the exit status before.
///
/// Correct but unusual: the request was sent before the client reported the exit; the exit is once a signal and once
/// another code than 0, as a shell reports it; or the exit is unknown, with both members null. These do not fail.
fn exit_status_present(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, terminal)) = alive(ctx, answer, &[OUTPUT]) else { return };
    let (Outcome::Result(result), Some((n, exit))) = (answer.outcome, &terminal.exit) else { return };
    if *n > request.n {
        return;
    }
    match result.member("exitStatus") {
        None | Some(Value::Null) => ruling.proved_by(&[*n]).fail(fact!(
            "exit-status-missing",
            "the client returned the output without an exitStatus; expected {expected}, as it had reported before",
            expected = exit.to_string(); pointer = "/result/exitStatus", method = OUTPUT
        )),
        Some(status) if status.is_object() => decide_same(exit, *n, status, ruling),
        // The table of shapes handles other types.
        Some(_) => {}
    }
}

/// Compares the exit of a command in an answer with that in an earlier one.
fn decide_same(before: &TerminalExit, n: usize, status: &Value, ruling: &mut Ruling<'_>) {
    let bare = |signal: &str| signal.to_ascii_uppercase().trim_start_matches("SIG").to_owned();
    let Some(now) = TerminalExit::of(status) else {
        return ruling.proved_by(&[n]).fail(fact!(
            "exit-lost",
            "the client returned no exit code or signal; expected {expected}, as it had reported before",
            expected = before.to_string()
        ));
    };
    let codes = before.code.zip(now.code).map(|(before, now)| before == now);
    let signals = before.signal.as_deref().zip(now.signal.as_deref()).map(|(before, now)| bare(before) == bare(now));
    // A command that a signal ended has no exit code, or that of a shell.
    let is_success_by_signal = [(before, &now), (&now, before)]
        .iter()
        .any(|(one, other)| one.code == Some(0) && one.signal.is_none() && other.code.is_none());
    match (codes, signals) {
        (codes, _) if codes == Some(false) || is_success_by_signal => ruling.proved_by(&[n]).fail(fact!(
            "exit-changed",
            "the client returned {actual} for an exited command; expected {expected}, as it had reported before",
            actual = now.to_string(),
            expected = before.to_string()
        )),
        (None, None | Some(false)) | (Some(true), Some(false)) => ruling.note(fact!(
            "exit-in-two-forms",
            "the client reported one exit as {before} and as {actual}",
            before = before.to_string(),
            actual = now.to_string()
        )),
        _ => ruling.pass(),
    }
}

/// "Maximum number of output bytes to retain." Invalid bytes become longer as text, so they count as one each.
///
/// Correct but unusual: a command whose output has an encoding with one byte for each character, so that the same text
/// is longer in UTF-8. That is inconclusive in a recording; the commands of a case print UTF-8.
fn limit(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, terminal)) = about(ctx, answer, &[OUTPUT]) else { return };
    let Outcome::Result(result) = answer.outcome else { return };
    let limit = terminal.limit.filter(|&limit| limit > 0);
    let (Some(limit), Some(output)) = (limit, result.text("output")) else { return };
    let widened = output.chars().filter(|&c| c == char::REPLACEMENT_CHARACTER).count();
    let bytes = (output.len() - widened * (char::REPLACEMENT_CHARACTER.len_utf8() - 1)) as u64;
    if bytes > limit && !ctx.conversation.whole && output.chars().count() as u64 <= limit {
        ruling.proved_by(&[request.n, terminal.created]).inconclusive(fact!(
            "limit-in-other-encoding",
            "the client returned {actual_bytes} bytes of output in UTF-8; expected at most {expected_bytes}, perhaps \
            encoded",
            actual_bytes = bytes, expected_bytes = limit;
            pointer = "/result/output"
        ));
    } else if bytes > limit {
        ruling.proved_by(&[request.n, terminal.created]).fail(fact!(
            "output-over-limit",
            "the client returned {actual_bytes} bytes of output; expected at most {expected_bytes}",
            actual_bytes = bytes, expected_bytes = limit; pointer = "/result/output"
        ));
    } else if result.member("truncated") == Some(&Value::Bool(true)) {
        ruling.pass();
    }
}

/// "The terminal output captured so far." A running command may clear its screen; after its exit the output stays.
///
/// Correct but unusual: the user clears the terminal in the client. That is inconclusive in a recording, which does not
/// show it.
fn cumulative(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, _)) = alive(ctx, answer, &[OUTPUT]) else { return };
    let Some(before) = ends_of(ctx, request).last_words.filter(|&n| n < request.n) else { return };
    let Outcome::Result(result) = answer.outcome else { return };
    let truncated = result.member("truncated") != Some(&Value::Bool(false));
    match result.text("output") {
        Some("") if !truncated => {
            let fact = fact!(
                "output-lost",
                "the client returned no output of an exited command; expected the output that it had returned before";
                pointer = "/result/output", terminal_id = request.text("terminalId")
            );
            ruling.proved_by(&[before]).fail_if(ctx.conversation.whole, fact);
        }
        Some(output) if !output.is_empty() => ruling.pass(),
        _ => {}
    }
}

/// "Returns once the command completes": it has, and the client had reported the exit status.
///
/// Correct but unusual: the agent cancelled the request with `$/cancel_request`, released the terminal or closed the
/// session meanwhile, or the client reports the same exit by a signal and by a code. These do not fail.
fn wait_after_exit(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, terminal)) = alive(ctx, answer, &[WAIT]) else { return };
    let Some((n, exit)) = terminal.exit.as_ref().filter(|_| terminal.ended_before(request)) else { return };
    match answer.outcome {
        // A separate requirement covers a nested status.
        Outcome::Result(result) if result.member("exitStatus").is_some_and(Value::is_object) => {}
        Outcome::Result(result) => decide_same(exit, *n, result, ruling),
        Outcome::Error(_) if is_excused(request, answer) => {}
        Outcome::Error(_) => ruling.proved_by(&[*n]).fail(fact!(
            "wait-refused-after-exit",
            "the client answered {method} for an exited command with {answer}; expected {expected}",
            method = WAIT, answer = answer.outcome.describe(), expected = exit.to_string();
            code = answer.outcome.error_code()
        )),
    }
}

/// Whether the error has another reason than the state of the terminal: the method is unknown, which a separate
/// requirement covers, or the agent cancelled the request.
fn is_excused(request: &Exchange, answer: &Answer<'_>) -> bool {
    answer.outcome.error_code() == Some(NO_METHOD) || request.cancel_requested.is_some()
}

/// As above, for a missing answer.
fn wait_after_exit_open(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    for (request, terminal) in open_waits(ctx).filter(|(_, terminal)| is_alive(ctx, terminal)) {
        if terminal.ended_before(request) && is_passed_over(ctx.conversation, request, request.n) {
            ruling.proved_by(&[request.n]).fail(fact!(
                "wait-unanswered-after-exit",
                "the client did not answer {method} for an exited command, but answered a later request",
                method = WAIT; terminal_id = request.text("terminalId")
            ));
        }
    }
}

/// exitCode and signal are members of the result itself, where terminal/output has them in exitStatus.
///
/// Correct but unusual: both members are null or absent, as in an empty object, since the exit is unknown; or there is
/// an exitStatus next to them. Only a nested status fails; other requirements cover the exit itself.
fn flat_result(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(result) = proper(answer, WAIT).and_then(|_| answer.result_of(WAIT)).map(|(_, result)| result) else {
        return;
    };
    if TerminalExit::of(result).is_none() && result.member("exitStatus").and_then(TerminalExit::of).is_some() {
        ruling.fail(fact!(
            "nested-exit-status",
            "the client nested the exit of {method} in exitStatus; expected exitCode and signal in the result itself",
            method = WAIT; pointer = "/result/exitStatus"
        ));
    } else if result.is_object() {
        ruling.pass();
    }
}

/// "After killing a command, the terminal remains valid."
///
/// Correct but unusual: the kill itself was refused, or the agent cancelled the request, released the terminal or
/// closed the session meanwhile. These do not fail.
fn kept_after_kill(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, _)) = alive(ctx, answer, &[OUTPUT, WAIT]) else { return };
    let Some(killed) = ends_of(ctx, request).kill_done.filter(|&n| n < request.n) else { return };
    match answer.outcome {
        Outcome::Result(_) => ruling.pass(),
        Outcome::Error(_) if is_excused(request, answer) => {}
        Outcome::Error(_) => ruling.proved_by(&[request.n, killed]).fail(fact!(
            "terminal-gone-after-kill",
            "the client answered {method} for a killed command with {answer}; expected the terminal to stay valid",
            method = request.method, answer = answer.outcome.describe(); code = answer.outcome.error_code()
        )),
    }
}

/// A killed command has exited, so the client also answers the pending waits for its exit.
///
/// Correct but unusual: a client that first asks the command to exit and kills it seconds later. Only a case fails,
/// after the time limit of its step and a fence.
fn kill_resolves_wait(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, _)) = alive(ctx, answer, &[WAIT]) else { return };
    let killed = ends_of(ctx, request).killed;
    if killed.is_some_and(|killed| killed > request.n) && matches!(answer.outcome, Outcome::Result(_)) {
        ruling.pass();
    }
}

/// As above, for a missing answer.
fn wait_after_kill_open(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    for (request, _) in open_waits(ctx).filter(|(_, terminal)| is_alive(ctx, terminal)) {
        let ends = ends_of(ctx, request);
        let killed = ends.kill_done.filter(|_| ends.killed.is_some_and(|killed| killed > request.n));
        if let Some(killed) = killed.filter(|&killed| is_passed_over(ctx.conversation, request, killed)) {
            ruling.proved_by(&[request.n, killed]).fail(fact!(
                "wait-unanswered-after-kill",
                "the client did not answer a pending {method} after it killed the command, but answered a later \
                request",
                method = WAIT;
                terminal_id = request.text("terminalId")
            ));
        }
    }
}

/// "After release the terminal ID becomes invalid for all other `terminal/*` methods."
///
/// Correct but unusual: a request that crosses the release, and an id that the client gave to a new terminal or to one
/// of another session. Neither fails.
fn invalid_after_release(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, _)) = about(ctx, answer, &[OUTPUT, WAIT, KILL]) else { return };
    if ends_of(ctx, request).release_done.is_some_and(|released| released < request.n) {
        let fact = |method: &str| {
            fact!(
                "released-terminal-served",
                "the client answered {method} for the released terminal `{terminal_id}` with a result; expected an \
                error",
                method,
                terminal_id = request.text("terminalId")
            )
        };
        decide_refused(answer, NOT_FOUND, fact, ruling);
    }
}

/// Every request gets an answer, including a wait for the exit of a command whose terminal is released meanwhile.
///
/// Correct but unusual: the answer is an error, or comes seconds later when the command has exited. Only a case fails,
/// after the time limit of its step and a fence.
fn wait_at_release(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, terminal)) = about(ctx, answer, &[WAIT]) else { return };
    if terminal.released.is_some_and(|released| released > request.n) {
        ruling.pass();
    }
}

/// As above, for a missing answer.
fn wait_at_release_open(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    for (request, terminal) in open_waits(ctx) {
        let released = ends_of(ctx, request)
            .release_done
            .filter(|_| terminal.released.is_some_and(|released| released > request.n));
        if let Some(released) = released.filter(|&released| is_passed_over(ctx.conversation, request, released)) {
            ruling.proved_by(&[request.n, released]).fail(fact!(
                "wait-unanswered-after-release",
                "the client did not answer a pending {method} after the release, but answered a later request",
                method = WAIT; terminal_id = request.text("terminalId")
            ));
        }
    }
}

/// The client refuses requests about an unknown terminal.
fn unknown_id(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(request) = answer.exchange.filter(|request| !request.deliberate) else { return };
    let Some(id) = request.text("terminalId") else { return };
    let asks = [OUTPUT, WAIT, KILL].contains(&request.method.as_str()) && ctx.conversation.client_has(CAPABILITY);
    if asks && !ctx.conversation.terminals.contains_key(id) {
        let fact = |method: &str| {
            fact!(
                "unknown-terminal-served",
                "the client answered {method} for the unknown terminal `{terminal_id}` with a result; expected an \
                error",
                method,
                terminal_id = id
            )
        };
        decide_refused(answer, NOT_FOUND, fact, ruling);
    }
}
