//! Area `jsonrpc`, third part: what a party says to a line that is no message.

use crate::judge::check::{Check, On};
use crate::judge::conversation::GarbledKind;
use crate::judge::moment::{Answer, Moment};
use crate::judge::ruling::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("jsonrpc.parse-error.agent", On::Response(answered::<TEXT>)),
    Check::agent("jsonrpc.parse-error.agent", On::End(passed_over::<TEXT>)),
    Check::agent("jsonrpc.invalid-request.agent", On::Response(answered::<JSON>)),
    Check::agent("jsonrpc.invalid-request.agent", On::End(passed_over::<JSON>)),
    Check::client("jsonrpc.parse-error.client", On::Response(answered::<TEXT>)),
    Check::client("jsonrpc.parse-error.client", On::End(passed_over::<TEXT>)),
    Check::client("jsonrpc.invalid-request.client", On::Response(answered::<JSON>)),
    Check::client("jsonrpc.invalid-request.client", On::End(passed_over::<JSON>)),
];

/// The line is not JSON: -32700, "Invalid JSON was received by the server."
const TEXT: bool = false;
/// The line is JSON, and not a message: -32600, "The JSON sent is not a valid Request object."
const JSON: bool = true;

const fn kind(of: bool) -> GarbledKind {
    if of == JSON { GarbledKind::NotMessage } else { GarbledKind::NotJson }
}

const fn code(of: bool) -> (i64, &'static str) {
    if of == JSON { (-32600, "JSON but not a message") } else { (-32700, "not JSON") }
}

/// The answer has the code that JSON-RPC defines for such a line. An answer without an id belongs to any bad line that is
/// unanswered, so only where all of them are of this kind another code fails.
fn answered<const KIND: bool>(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let meant = moment.talk.course.meant_by(moment.from, answer);
    let Some(line) = meant.iter().find(|line| line.kind == kind(KIND)) else { return };
    let (wanted, what) = code(KIND);
    let found = answer.outcome.error_code();
    let broken_request = || moment.talk.open_of(moment.from.other()).find(|open| open.deliberate).map(|open| open.n);
    let other = meant.iter().find(|line| line.kind != kind(KIND)).map(|line| line.n).or_else(broken_request);
    let seen = || format!("a line that is {what} was answered with {}, and not {wanted}", answer.outcome.describe());
    match other {
        _ if found == Some(wanted) => ruling.pass(),
        None => ruling.fail(seen(), &[line.n]),
        Some(_) if meant.iter().any(|line| line.code().is_some() && line.code() == found) => {}
        Some(other) => {
            let text = format!("a response with {} may be to any of several bad lines", answer.outcome.describe());
            ruling.inconclusive(text, &[line.n, other]);
        }
    }
}

/// Silence decides nothing: JSON-RPC gives such an answer a code, and nobody the duty to send one to a line that may be
/// no request at all. Most programs say nothing.
fn passed_over<const KIND: bool>(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    let lines = moment.talk.course.garbled.get(&moment.from.other()).into_iter().flatten();
    let Some(line) = lines.rev().find(|line| line.kind == kind(KIND) && line.answer.is_none()) else { return };
    if let Some(fence) = moment.talk.fence.filter(|&fence| fence > line.n) {
        let (_, what) = code(KIND);
        ruling.inconclusive(format!("a line that is {what} had no answer"), &[line.n, fence]);
    }
}
