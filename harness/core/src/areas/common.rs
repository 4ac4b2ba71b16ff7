//! Decisions that the checks of several areas share.

use serde_json::Value;

use crate::areas::CheckContext;
use crate::conversation::{Answer, Conversation, Exchange, Opening, Outcome, Session, UpdateSeen};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::protocol::is_absolute;
use crate::requirement::Level;
use crate::wire::Members;

/// The requests that open a session, new or old, in stable editions.
pub(super) const OPENING: &[&str] = &["session/new", "session/load", "session/resume"];

/// The error that requires a login.
pub(crate) const LOGIN: i64 = -32000;

/// The error for a request that was cancelled before it was processed.
pub(super) const WITHDRAWN: i64 = -32800;
/// The error of an unknown method.
pub(crate) const NO_METHOD: i64 = -32601;

/// The error of wrong params.
pub(crate) const BAD_PARAMS: i64 = -32602;

/// The error of a missing resource.
pub(crate) const NOT_FOUND: i64 = -32002;

/// Whether the requirement is only a probe in the edition of the conversation: a later revision made a rule of it.
pub(super) fn is_probe(ctx: &CheckContext<'_>, requirement: &str) -> bool {
    let entry = ctx.conversation.edition.catalogue.find(requirement);
    entry.is_none_or(|entry| entry.level == Level::MayProbe)
}

/// Passes an absolute path and fails a relative one at `pointer` in a message of `method`. It is inconclusive if the
/// client itself gave the session a relative `cwd` or root, since the agent may have joined the path to that.
pub(crate) fn decide_absolute(
    ctx: &CheckContext<'_>,
    session: Option<&str>,
    (method, pointer): (&str, &str),
    path: &str,
    ruling: &mut Ruling<'_>,
) {
    let is_named = session.is_some();
    let session = session.and_then(|id| ctx.conversation.session(id));
    let mut given = session.into_iter().flat_map(|session| session.roots.iter().chain([&session.cwd]));
    let holes = ctx.conversation.holes;
    if is_absolute(path) {
        ruling.pass();
    } else if session.is_none() && (holes.anywhere || holes.sessions || is_named && holes.order) {
        ruling.inconclusive(fact!(
            "relative-path-unknown-cwd",
            "the {party} sent the relative path `{path}` in {method}; the recording does not show the session's cwd",
            party = ctx.from, path, method;
            pointer = pointer
        ));
    } else if let Some(given) = given.find(|given| !given.is_empty() && !is_absolute(given)) {
        ruling.inconclusive(fact!(
            "relative-path-in-relative-directory",
            "the {party} sent the relative path `{path}` in {method}; the client had given the relative directory \
            `{directory}`",
            party = ctx.from, path, method, directory = given;
            pointer = pointer
        ));
    } else {
        ruling.fail(fact!(
            "relative-path",
            "the {party} sent the relative path `{path}` in {method} at {pointer}; expected an absolute path",
            party = ctx.from,
            path,
            method,
            pointer
        ));
    }
}

/// Whether the message or the data of an error names `word`.
pub(crate) fn mentions(outcome: Outcome<'_>, word: &str) -> bool {
    let Outcome::Error(error) = outcome else { return false };
    let message = error.text("message").unwrap_or_default();
    let data = error.member("data").map(Value::to_string).unwrap_or_default();
    !word.is_empty() && [message, &data].iter().any(|text| text.to_lowercase().contains(&word.to_lowercase()))
}

/// Returns the answered request, if its method is `method` and the tester sent it correctly.
pub(crate) fn proper<'m>(answer: &Answer<'m>, method: &str) -> Option<&'m Exchange> {
    answer.exchange.filter(|exchange| exchange.method == method && !exchange.deliberate)
}

/// An agent answers a method that it advertises: -32601 proves that it lacks the method; other errors may have other
/// reasons.
pub(crate) fn decide_implemented(answer: &Answer<'_>, method: &str, ruling: &mut Ruling<'_>) {
    if proper(answer, method).is_none() {
        return;
    }
    match answer.outcome.error_code() {
        None if matches!(answer.outcome, Outcome::Result(_)) => ruling.pass(),
        Some(NO_METHOD) => ruling.fail(fact!(
            "method-not-found",
            "the agent answered {method} with error -32601; expected it to implement the method that it advertises",
            method;
            code = NO_METHOD
        )),
        code => ruling.inconclusive(fact!(
            "error-response",
            "the agent answered {method} with {answer}, which may have another reason",
            method, answer = answer.outcome.describe();
            code = code
        )),
    }
}

/// Passes an error and fails a result with the fact, for a request that cannot be served. A code other than `expected`
/// is only noted.
pub(crate) fn decide_refused(
    answer: &Answer<'_>,
    expected: i64,
    result: impl FnOnce(&str) -> Fact,
    ruling: &mut Ruling<'_>,
) {
    let Some(exchange) = answer.exchange else { return };
    if let Outcome::Result(_) = answer.outcome {
        return ruling.proved_by(&[exchange.n]).fail(result(&exchange.method));
    }
    ruling.pass();
    let code = answer.outcome.error_code();
    if code != Some(expected) {
        ruling.note(fact!(
            "other-error-code",
            "{method} was refused with {answer}; the code for this is {expected}",
            method = exchange.method, answer = answer.outcome.describe(), expected;
            actual = code
        ));
    }
}

/// Whether the case waited for the answer until its limit, and a later request was answered meanwhile.
pub(crate) fn is_passed_over(conversation: &Conversation, open: &Exchange, since: usize) -> bool {
    !open.deliberate
        && conversation.timed_out.contains_key(&open.n)
        && conversation.fence.is_some_and(|fence| fence > since.max(open.n))
}

/// Passes and notes the older form of an empty result.
pub(crate) fn note_null(answer: &Answer<'_>, method: &str, ruling: &mut Ruling<'_>) {
    if let Some((_, Value::Null)) = answer.result_of(method) {
        ruling.pass();
        ruling.note(fact!(
            "null-result",
            "the agent answered {method} with null, the older form of an empty object",
            method; pointer = "/result"
        ));
    }
}

/// Whether a value of an open set is an extension.
pub(crate) fn is_own_value(value: &str) -> bool {
    value.starts_with('_')
}

/// The first turn of a session that was opened again must succeed.
///
/// Correct but unusual: the agent refuses the prompt since the session was closed or deleted meanwhile, the user has
/// not chosen a model or logged in, or the agent takes no empty prompt or not this kind of content; or the agent
/// accepts the prompt, works on it, and then ends the turn with an error. A refusal fails only where the agent did
/// nothing in the turn, an earlier turn on this connection ended with a stop reason without a choice of the client, and
/// no such cause exists.
pub(crate) fn decide_continues(ctx: &CheckContext<'_>, answer: &Answer<'_>, after: Opening, ruling: &mut Ruling<'_>) {
    /// Refusals of the prompt itself: the message is not understood, or the session does not exist.
    const REFUSALS: [i64; 4] = [-32600, NO_METHOD, BAD_PARAMS, -32002];
    let Some(exchange) = proper(answer, "session/prompt") else { return };
    let session = exchange.session().and_then(|id| ctx.conversation.session(id));
    let Some(turn) = session.and_then(|session| session.turn.as_ref()) else { return };
    if turn.n != exchange.n || turn.after != Some(after) || session.is_some_and(|session| session.deleted) {
        return;
    }
    // Content of other kinds may be refused because of the kind, and a prompt without text because it is empty.
    let texts: Option<Vec<&str>> = exchange.params.list("prompt").iter().map(|block| block.text("text")).collect();
    let plain = texts.is_some_and(|texts| texts.iter().any(|text| !text.trim().is_empty()));
    let gone = session.is_some_and(|session| session.closed.is_some())
        || turn.closed.is_some()
        || exchange.session().is_some_and(|id| ctx.conversation.deleted.contains_key(id));
    let log = session.and_then(|session| session.log.as_ref());
    let acted = log.is_some_and(|log| log.n == exchange.n && log.acted);
    let chose = session.is_some_and(|session| session.was_set);
    let able = serves_unset(ctx.conversation) && !chose && !gone && !acted;
    match answer.outcome.error_code() {
        Some(code) if plain && able && REFUSALS.contains(&code) => ruling.proved_by(&[exchange.n]).fail(fact!(
            "prompt-refused",
            "the agent refused the first prompt after {method} with {answer}; expected a turn",
            method = after.method(), answer = answer.outcome.describe();
            code = code
        )),
        None if answer.result_of("session/prompt").is_some_and(|(_, result)| result.member("stopReason").is_some()) => {
            ruling.pass()
        }
        code => ruling.proved_by(&[exchange.n]).inconclusive(fact!(
            "prompt-unserved",
            "the agent answered the first prompt after {method} with {answer}, which may have another reason",
            method = after.method(), answer = answer.outcome.describe();
            code = code
        )),
    }
}

/// Whether a turn ended with a stop reason in a session whose settings the client had not changed. So the agent
/// requires no choice, such as of a model, before a prompt.
pub(crate) fn serves_unset(conversation: &Conversation) -> bool {
    conversation.sessions.values().any(|session| session.served_unset)
}

/// Whether an update of this kind is part of a history: messages and tool calls.
pub(crate) fn is_history(variant: &str) -> bool {
    matches!(
        variant,
        "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" | "tool_call" | "tool_call_update"
    )
}

/// Whether a chunk repeats earlier text of the session: it holds a whole line of at least eight bytes, or three
/// consecutive words, or is the whole text. Shorter repetitions occur by chance in a live message, and all
/// texts of a redacted trace look alike.
pub(crate) fn repeats_history(ctx: &CheckContext<'_>, session: &Session, update: &UpdateSeen<'_>) -> bool {
    const SHORTEST: usize = 8;
    let text = plain(update.text().unwrap_or_default());
    let several = text.split(' ').count() > 2;
    let mut spoken = session.spoken.iter().filter(|(variant, spoken)| variant == update.variant && !spoken.is_empty());
    !ctx.conversation.is_redacted
        && !text.is_empty()
        && spoken.any(|(_, spoken)| {
            let mut lines = spoken.lines().map(plain).filter(|line| line.len() >= SHORTEST);
            plain(spoken) == text || several && plain(spoken).contains(&text) || lines.any(|line| text.contains(&line))
        })
}

/// Returns the rest of a message of the history that begins with the text of this update. An agent that greets its
/// user, or warns of its settings, may have done so in each of its processes; what came in a turn is a part of the
/// message of that turn.
pub(crate) fn rest_of_begun(session: &Session, update: &UpdateSeen<'_>) -> Option<String> {
    const SHORTEST: usize = 8;
    let text = plain(update.text().unwrap_or_default());
    let agent =
        session.spoken.iter().filter(|(variant, _)| variant == update.variant && variant != "user_message_chunk");
    let mut rests = agent.filter_map(|(_, spoken)| Some(plain(spoken).strip_prefix(&text)?.trim().to_owned()));
    rests.find(|rest| !text.is_empty() && rest.len() >= SHORTEST)
}

/// Returns a text without characters that formatting may change.
pub(crate) fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Fails an update of version 1, and passes the one that replaces it in version 2.
pub(super) fn decide_replaced(update: &UpdateSeen<'_>, [withdrawn, present]: [&str; 2], ruling: &mut Ruling<'_>) {
    if update.variant == present {
        ruling.pass();
    } else if update.variant == withdrawn {
        ruling.fail(fact!(
            "update-of-version-1",
            "the agent sent the update `{actual}`, which only version 1 has; expected `{expected}`",
            actual = update.variant, expected = present; pointer = "/params/update/sessionUpdate"
        ));
    }
}
