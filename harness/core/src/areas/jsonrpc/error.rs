//! Area `jsonrpc`: error objects, and the meaning of their codes.

use serde_json::Value;

use super::response::is_read_in_garbage;
use super::state::GarbledKind;
use crate::areas::common::{LOGIN, NO_METHOD};
use crate::areas::support::is_withdrawn;
use crate::areas::{Check, CheckContext, On, of_both, with};
use crate::conversation::{Answer, Exchange, Outcome};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::wire::{Members, RpcId};

pub(in crate::areas) const CHECKS: &[Check] = &[
    Check::agent("jsonrpc.error-code-meaning.agent", On::Response(error_code_meaning)),
    Check::agent("jsonrpc.error-code-meaning.agent", On::End(login_code_between_sessions)),
    Check::client("jsonrpc.error-code-meaning.client", On::Response(service_code_meaning)),
    Check::client("jsonrpc.error-code-meaning.client", On::End(login_code_between_services)),
];

pub(in crate::areas) const BOTH: &[[Check; 2]] = &[
    Check::both_alone(of_both!("jsonrpc.error-shape"), On::Response(error_shape)),
    Check::both(of_both!("jsonrpc.error-null-id"), On::Response(error_null_id)),
    Check::both_alone(of_both!("jsonrpc.error-message-concise"), On::Response(error_message_concise)),
    Check::both_alone(of_both!("jsonrpc.error-code-range"), On::Response(error_code_range)),
    Check::both(of_both!("jsonrpc.method-not-found"), On::Response(method_not_found)),
    Check::both(of_both!("jsonrpc.parse-error"), On::Response(with!(bad_line_answered, &NOT_JSON))),
    Check::both(of_both!("jsonrpc.parse-error"), On::End(|ctx, ruling| bad_line_unanswered(ctx, &NOT_JSON, ruling))),
    Check::both(of_both!("jsonrpc.invalid-request"), On::Response(with!(bad_line_answered, &NOT_MESSAGE))),
    Check::both(
        of_both!("jsonrpc.invalid-request"),
        On::End(|ctx, ruling| bad_line_unanswered(ctx, &NOT_MESSAGE, ruling)),
    ),
];

/// "code: … MUST be an integer"; "message: A String".
///
/// Correct but unusual: `-32601.0`, an empty message, `data` of any kind, and a custom code.
fn error_shape(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Outcome::Error(error) = answer.outcome else { return };
    let code = error.member("code").is_some_and(|code| code.is_i64() || code.is_u64());
    let message = error.member("message").is_some_and(Value::is_string);
    ruling.decide(code && message, || {
        fact!(
            "malformed-error",
            "the {party} sent the error object {error}; expected an integer `code` and a string `message`",
            party = ctx.from, error;
            pointer = "/error"
        )
    });
}

/// "If there was an error in detecting the id in the Request object …, it MUST be Null."
///
/// Correct but unusual: silence, and an answer with the id of a line that is JSON but not a request: that id could be
/// read.
fn error_null_id(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(&unread) = ctx.conversation.unreadable.get(&ctx.from.other()) else { return };
    let code = answer.outcome.error_code();
    let missing_id = || {
        fact!(
            "missing-id",
            "the {party} answered an unreadable line without the member `id`; expected null",
            party = ctx.from;
            pointer = "/id"
        )
    };
    match answer.id {
        _ if answer.exchange.is_some() => {}
        Some(RpcId::Null) => ruling.pass(),
        // Some clients leave the member out; an agent cannot mistake that for another answer.
        None if ctx.from == Party::Client => ruling.note(missing_id()),
        None => ruling.proved_by(&[unread]).fail(missing_id()),
        Some(id) if code == Some(-32700) && !is_read_in_garbage(ctx, id) => ruling.proved_by(&[unread]).fail(fact!(
            "id-not-null",
            "the {party} answered an unreadable line with the id {id}; expected null",
            party = ctx.from, id = id.to_string();
            pointer = "/id"
        )),
        Some(_) => {}
    }
}

/// "The message SHOULD be limited to a concise single sentence."
fn error_message_concise(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    const LONGEST: usize = 300;
    let Outcome::Error(error) = answer.outcome else { return };
    if let Some(text) = error.text("message") {
        let length = text.chars().count();
        let problem = match text.trim() {
            "" => Some("that is empty".to_owned()),
            one if one.contains('\n') => Some("with line breaks".to_owned()),
            _ => (length > LONGEST).then(|| format!("of {length} characters")),
        };
        ruling.decide(problem.is_none(), || {
            fact!(
                "error-message-not-concise",
                "the {party} sent an error message {problem}; expected a single sentence of at most {limit} characters",
                party = ctx.from, problem = problem.unwrap_or_default(), limit = LONGEST;
                pointer = "/error/message", actual = text
            )
        });
    }
}

/// "The error codes from and including -32768 to -32000 are reserved."
fn error_code_range(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let Some(code) = answer.outcome.error_code() {
        let reserved = (-32768..=-32000).contains(&code);
        let defined = matches!(code, -32700 | -32603..=-32600 | -32099..=-32000);
        ruling.decide(!reserved || defined, || {
            fact!(
                "undefined-reserved-code",
                "the {party} sent the error code {code}, which JSON-RPC reserves and does not define",
                party = ctx.from, code;
                pointer = "/error/code"
            )
        });
    }
}

/// -32000 is "Authentication required", and has nothing to do with a mode or an option.
fn error_code_meaning(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate) else { return };
    match answer.outcome.error_code() {
        Some(-32002) if exchange.method == "initialize" => ruling.proved_by(&[exchange.n]).fail(fact!(
            "not-found-for-initialize",
            "the {party} answered initialize with error -32002; expected another code, since the request names \
            no resource",
            party = ctx.from;
            code = -32002, method = "initialize", pointer = "/error/code"
        )),
        Some(LOGIN) if is_without_login(&exchange.method) => {}
        Some(LOGIN | -32002 | -32800) => ruling.pass(),
        _ => {}
    }
}

/// Whether a request needs no login of its own where sessions can be created.
fn is_without_login(method: &str) -> bool {
    matches!(
        method,
        "session/set_mode" | "session/set_config_option" | "session/close" | "session/list" | "session/delete"
    )
}

/// As above: the agent created sessions before and after the error, without a login between them, so none is missing.
fn login_code_between_sessions(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let is_meant = |exchange: &Exchange| is_without_login(&exchange.method);
    let shows = |exchange: &Exchange| exchange.method == "session/new";
    decide_login_code(ctx, is_meant, shows, ruling);
}

/// As above, for a client: -32000 has nothing to do with files and terminals.
fn service_code_meaning(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate) else { return };
    match answer.outcome.error_code() {
        Some(LOGIN) if is_service(exchange) => {}
        Some(LOGIN | -32002 | -32800) => ruling.pass(),
        _ => {}
    }
}

fn is_service(exchange: &Exchange) -> bool {
    ["fs/", "terminal/"].iter().any(|area| exchange.method.starts_with(area))
}

/// As above: the client served files or terminals before and after the error, so no login is missing.
fn login_code_between_services(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    decide_login_code(ctx, is_service, is_service, ruling);
}

/// Fails an answer with -32000 to a request that `is_meant`, if requests that show that the party needs no login were
/// answered with results before and after it.
///
/// Correct but unusual: a login that expired or is missing for this request only until the user logs in. The words of
/// the error decide nothing.
fn decide_login_code(
    ctx: &CheckContext<'_>,
    is_meant: impl Fn(&Exchange) -> bool,
    shows: impl Fn(&Exchange) -> bool,
    ruling: &mut Ruling<'_>,
) {
    let trials = || ctx.conversation.trials.of(ctx.from.other());
    let served = || trials().filter(|trial| trial.error.is_none() && shows(&trial.exchange));
    let logs_in = |exchange: &Exchange| {
        matches!(exchange.method.as_str(), "authenticate" | "logout" | "auth/login" | "auth/logout")
    };
    for trial in trials().filter(|trial| trial.error == Some(LOGIN) && is_meant(&trial.exchange)) {
        let before = served().rfind(|other| other.n < trial.n);
        let after = served().find(|other| other.exchange.n > trial.n);
        let Some((before, after)) = before.zip(after) else { continue };
        if trials().any(|other| logs_in(&other.exchange) && (before.n..after.n).contains(&other.n)) {
            continue;
        }
        ruling.proved_by(&[before.n, trial.n, after.n]).fail(fact!(
            "login-code-for-other-error",
            "the {party} answered {method} with error -32000, which asks for a login, and needed none before and \
            after; expected another code",
            party = ctx.from, method = trial.exchange.method;
            code = LOGIN, pointer = "/error/code"
        ));
    }
}

/// -32601: "The method does not exist / is not available."
fn method_not_found(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let edition = ctx.conversation.edition;
    let known = |exchange: &Exchange| {
        let method = exchange.method.as_str();
        edition.methods.knows(exchange.from, method)
            || edition.draft_methods.knows(exchange.from, method)
            || edition.other_revision_has_method(exchange.from, method)
            || method.starts_with(['_', '$'])
            || is_withdrawn(method)
    };
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate && !known(exchange)) else { return };
    if let Some(code) = answer.outcome.error_code() {
        ruling.decide(code == -32601, || {
            fact!(
                "wrong-code",
                "the {party} answered the unknown method {method} with error {code}; expected -32601",
                party = ctx.from, method = exchange.method, code;
                expected = NO_METHOD, pointer = "/error/code"
            )
        });
    }
}

/// A line that is not a message, with the error code for it.
struct BadLine {
    kind: GarbledKind,
    code: i64,
    /// The description of it.
    content: &'static str,
}

/// -32700: "Invalid JSON was received by the server."
const NOT_JSON: BadLine = BadLine { kind: GarbledKind::NotJson, code: -32700, content: "not JSON" };

/// -32600: "The JSON sent is not a valid Request object."
const NOT_MESSAGE: BadLine = BadLine { kind: GarbledKind::NotMessage, code: -32600, content: "JSON but not a message" };

/// The answer has the code that JSON-RPC defines for such a line. An answer without an id belongs to any bad line that
/// is unanswered. So another code fails only where all of them are of this kind.
fn bad_line_answered(ctx: &CheckContext<'_>, answer: &Answer<'_>, bad: &BadLine, ruling: &mut Ruling<'_>) {
    let meant = ctx.areas.jsonrpc.meant_by(ctx.from, answer);
    let Some(line) = meant.iter().find(|line| line.kind == bad.kind) else { return };
    let found = answer.outcome.error_code();
    let broken_request = || ctx.conversation.open_of(ctx.from.other()).find(|open| open.deliberate).map(|open| open.n);
    let other = meant.iter().find(|line| line.kind != bad.kind).map(|line| line.n).or_else(broken_request);
    match other {
        _ if found == Some(bad.code) => ruling.pass(),
        None => ruling.proved_by(&[line.n]).fail(fact!(
            "wrong-code",
            "the {party} answered a line that is {line} with {answer}; expected error {expected}",
            party = ctx.from,
            line = bad.content,
            answer = answer.outcome.describe(),
            expected = bad.code;
            code = found,
            pointer = "/error/code"
        )),
        Some(_) if meant.iter().any(|line| line.code().is_some() && line.code() == found) => {}
        Some(other) => ruling.proved_by(&[line.n, other]).inconclusive(fact!(
            "ambiguous-answer",
            "the {party} sent {answer}, which may answer any of several bad lines",
            party = ctx.from,
            answer = answer.outcome.describe();
            code = found
        )),
    }
}

/// A missing answer decides nothing: JSON-RPC defines the code of an answer, but does not require an answer to a line
/// that may not be a request. Most programs send none.
fn bad_line_unanswered(ctx: &CheckContext<'_>, bad: &BadLine, ruling: &mut Ruling<'_>) {
    let lines = ctx.areas.jsonrpc.garbled_by(ctx.from.other());
    let Some(line) = lines.rev().find(|line| line.kind == bad.kind && line.answer.is_none()) else { return };
    if let Some(fence) = ctx.conversation.fence.filter(|&fence| fence > line.n) {
        ruling.proved_by(&[line.n, fence]).inconclusive(fact!(
            "unanswered",
            "the {party} did not answer a line that is {line}",
            party = ctx.from,
            line = bad.content
        ));
    }
}
