//! Area `fs`, the client's half: its answers to requests for files.

use std::cmp::Ordering;

use serde_json::Value;

use super::agent::{READ, WRITE};
use crate::areas::common::{BAD_PARAMS, NO_METHOD, decide_refused, proper};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::{Answer, Outcome};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("fs.read.implemented", On::Response(with!(served, READ))).only(&[READ]),
    Check::client("fs.read.unadvertised", On::Response(with!(refused, READ))).only(&[READ]),
    Check::client("fs.read.limit", On::Response(read_limit)).only(&[READ]),
    Check::client("fs.write.implemented", On::Response(with!(served, WRITE))).only(&[WRITE]),
    Check::client("fs.write.implemented", On::Response(valid_write_refused)).only(&[WRITE]),
    Check::client("fs.write.unadvertised", On::Response(with!(refused, WRITE))).only(&[WRITE]),
    Check::client("fs.capability-honest", On::Response(with!(served, READ))).only(&[READ]),
    Check::client("fs.capability-honest", On::Response(with!(served, WRITE))).only(&[WRITE]),
];

/// A client that advertises a method serves it: reading returns the content, writing any result.
///
/// Correct but unusual: the client refuses this file with another error, as without the user's consent, or sends an
/// empty text; the result of writing is null or an object. These do not fail: only -32601 proves that the client serves
/// no files; see [`valid_write_refused`].
fn served(ctx: &CheckContext<'_>, answer: &Answer<'_>, method: &str, ruling: &mut Ruling<'_>) {
    if proper(answer, method).is_none() || !ctx.conversation.client_has(Feature::Method(method)) {
        return;
    }
    match answer.outcome {
        Outcome::Result(result) if method == WRITE || result.member("content").is_some_and(Value::is_string) => {
            ruling.pass();
        }
        Outcome::Error(_) if answer.outcome.error_code() == Some(NO_METHOD) => ruling.fail(fact!(
            "method-not-found",
            "the client answered {method} with error -32601; expected it to implement {capability}, which it \
            advertises",
            method, capability = ctx.conversation.capability_name(Feature::Method(method));
            code = NO_METHOD
        )),
        _ => {}
    }
}

/// Params that the schema defines are not invalid: -32602 for a text in a file directly in the working directory of an
/// open session, whose plain name with an extension is hardly that of a directory.
///
/// Correct but unusual: another error, as without the user's consent. A recording does not fail, since its directory
/// may not have been there.
fn valid_write_refused(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, WRITE).filter(|_| ctx.conversation.client_has(Feature::Method(WRITE))) else {
        return;
    };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let Some((folder, name)) = exchange.text("path").and_then(|path| path.rsplit_once('/')) else { return };
    let is_plain_name =
        name.contains('.') && name.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-_".contains(letter));
    let is_plain =
        session.closed.is_none() && folder == session.cwd && exchange.text("content").is_some() && is_plain_name;
    if is_plain && answer.outcome.error_code() == Some(BAD_PARAMS) {
        ruling.proved_by(&[exchange.n]).fail_in_case(fact!(
            "valid-write-refused",
            "the client answered {method} for a file in the session's directory with error -32602 (Invalid params); \
            expected a result",
            method = WRITE; code = BAD_PARAMS
        ));
    }
}

/// A method that the client does not advertise is "not available". Only the disk shows whether a file was written.
fn refused(ctx: &CheckContext<'_>, answer: &Answer<'_>, method: &str, ruling: &mut Ruling<'_>) {
    if answer.exchange.is_some_and(|exchange| exchange.method == method)
        && ctx.conversation.client_lacks(Feature::Method(method))
    {
        let fact = |method: &str| {
            fact!(
                "served-unadvertised",
                "the client answered {method} with a result; expected an error, since it does not advertise \
                {capability}",
                method,
                capability = ctx.conversation.capability_name(Feature::Method(method))
            )
        };
        decide_refused(answer, NO_METHOD, fact, ruling);
    }
}

/// "Optional maximum number of lines to read." Empty lines at the end are not counted, since the
/// specification leaves open whether they belong to the content.
///
/// Correct but unusual: fewer lines than the limit, since the file has no more or the client counts other separators as
/// well; and a limit of 0. These do not fail.
fn read_limit(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of(READ) else { return };
    let limit = exchange.params.member("limit").and_then(Value::as_u64).filter(|&limit| limit > 0);
    let (Some(limit), Some(content)) = (limit, result.text("content")) else { return };
    if exchange.deliberate || ctx.conversation.client_lacks(Feature::Method(READ)) {
        return;
    }
    let lines = content.trim_end_matches(['\n', '\r']).lines().count() as u64;
    match lines.cmp(&limit) {
        Ordering::Greater => ruling.proved_by(&[exchange.n]).fail(fact!(
            "too-many-lines",
            "the client returned {actual} lines; expected at most {expected}",
            actual = lines, expected = limit; method = READ, pointer = "/result/content"
        )),
        Ordering::Equal => ruling.pass(),
        // The file may not have more.
        Ordering::Less => {}
    }
}
