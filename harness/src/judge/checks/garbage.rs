//! Area `jsonrpc`, third part: what a party says to a line that is no message.

use crate::judge::check::{Check, On};
use crate::judge::conversation::Garbled;
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

/// The line is no JSON: -32700, "Invalid JSON was received by the server."
const TEXT: bool = false;
/// The line is JSON, and no message: -32600, "The JSON sent is not a valid Request object."
const JSON: bool = true;

/// The last line of the other party that is no message, when it is of this kind.
fn garbled<'m, const KIND: bool>(moment: &Moment<'m>) -> Option<&'m Garbled> {
    let garbled = moment.talk.course.garbled.get(&moment.from.other());
    garbled.filter(|garbled| garbled.is_json == KIND && garbled.answer.is_none())
}

fn code<const KIND: bool>() -> (i64, &'static str) {
    if KIND == JSON { (-32600, "JSON, and no message") } else { (-32700, "no JSON") }
}

/// The answer has the code that JSON-RPC defines for such a line.
fn answered<const KIND: bool>(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(garbled) = garbled::<KIND>(moment).filter(|garbled| garbled.is_meant(answer)) else { return };
    let (wanted, what) = code::<KIND>();
    match answer.outcome.error_code() {
        Some(found) if found == wanted => ruling.pass(),
        _ => {
            let found = answer.outcome.describe();
            ruling.fail(format!("a line that is {what} was answered with {found}, and not {wanted}"), &[garbled.n]);
        }
    }
}

/// Silence decides nothing: JSON-RPC gives such an answer a code, and nobody the duty to send one to a line that may be
/// no request at all. Most programs say nothing.
fn passed_over<const KIND: bool>(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    let Some(garbled) = garbled::<KIND>(moment) else { return };
    if let Some(fence) = moment.talk.fence.filter(|&fence| fence > garbled.n) {
        let (_, what) = code::<KIND>();
        ruling.inconclusive(format!("a line that is {what} had no answer"), &[garbled.n, fence]);
    }
}
