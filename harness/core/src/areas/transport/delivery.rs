//! Area `transport`: messages are read and written completely and at once.

use crate::areas::common::NO_METHOD;
use crate::areas::support::{is_usually_answered, waits_for_others};
use crate::areas::{Check, CheckContext, On, of_both};
use crate::conversation::timing::{ANSWER_AFTER_END, NOT_FLUSHED, between};
use crate::conversation::{Answer, Exchange, Outcome};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::RpcId;

pub(in crate::areas) const BOTH: &[[Check; 2]] = &[
    Check::both(of_both!("transport.flush"), On::Response(flush)),
    Check::both(of_both!("transport.only-lf-delimits"), On::Response(only_lf)),
    Check::both(of_both!("transport.only-lf-delimits"), On::End(only_lf_unanswered)),
];

/// A message is delivered without more input. An answer that is missing until its limit proves the contrary, if it
/// comes when the party's input is closed or the party is asked to exit, which flushes its buffers. The first answer
/// proves nothing: a slow party may have just started.
///
/// Correct but unusual: a party that stops its work at its exit, and answers open requests with an error. Only a result
/// and the error -32601 fail, which must have been ready before.
fn flush(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let quick = |exchange: &&Exchange| !exchange.deliberate && !waits_for_others(&exchange.method);
    let Some(exchange) = answer.exchange.filter(quick) else { return };
    let last_sent = conversation.last_line.get(&ctx.from.other()).map(|(n, _)| *n);
    let has_sent = conversation.last_line.contains_key(&ctx.from);
    let was_ready = match answer.outcome {
        Outcome::Result(_) => true,
        Outcome::Error(_) => answer.outcome.error_code() == Some(NO_METHOD),
    };
    match (conversation.closed_us, conversation.timed_out.get(&exchange.n)) {
        (None, None) if last_sent == Some(exchange.n) => ruling.pass(),
        (Some(closed), Some(&verdict))
            if has_sent
                && was_ready
                && between(closed, ctx.us) < ANSWER_AFTER_END
                && between(exchange.us, closed) > NOT_FLUSHED =>
        {
            ruling.proved_by(&[exchange.n, verdict]).fail(fact!(
                "answered-at-shutdown",
                "the {party} answered {method} only when it was being stopped; expected the answer without further \
                input",
                party = ctx.from,
                method = exchange.method
            ));
        }
        (_, Some(&verdict)) => ruling.proved_by(&[exchange.n, verdict]).inconclusive(fact!(
            "answered-late",
            "the {party} answered {method} after the time limit",
            party = ctx.from,
            method = exchange.method
        )),
        _ => {}
    }
}

/// "Messages are delimited by newlines (\n)"and not by other line separators of Unicode.
///
/// Correct but unusual: an agent that answers -32700 because it cannot parse the content of the message, or because it
/// could not read another line. Only an answer without an id fails, right after the message and without another
/// unreadable line.
fn only_lf(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let separated = ctx.areas.transport.separated.get(&ctx.from.other());
    let Some(&separated) = separated.filter(|&n| !conversation.deliberate.contains(n)) else { return };
    let unreadable = answer.outcome.error_code() == Some(-32700);
    let after = conversation.last_line.get(&ctx.from.other()).is_some_and(|(n, _)| *n == separated);
    match answer.exchange {
        Some(exchange) if exchange.n == separated && unreadable => {
            // Its id was read, so probably the whole message was.
            ruling.proved_by(&[separated]).inconclusive(fact!(
                "parse-error-with-id",
                "the {party} answered a message with a line separator in a string with error -32700 and its id",
                party = ctx.from;
                code = -32700
            ));
        }
        Some(exchange) if exchange.n == separated => ruling.pass(),
        None if conversation.unreadable.contains_key(&ctx.from.other()) => {}
        None if unreadable
            && after
            && answer.id.is_none_or(|id| *id == RpcId::Null)
            && conversation.deliberate.is_empty() =>
        {
            ruling.proved_by(&[separated]).fail(fact!(
                "parse-error",
                "the {party} answered a message with a line separator in a string with error -32700; expected it to \
                read the message",
                party = ctx.from;
                code = -32700
            ));
        }
        _ => {}
    }
}

/// As above: the answer did not come within its limit, and a later request was answered meanwhile.
///
/// Correct but unusual: a party that never answers custom requests, or that waits for its user or a model.
fn only_lf_unanswered(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let last = ctx.areas.transport.separated.get(&ctx.from.other());
    let separated = |open: &&Exchange| last == Some(&open.n) && !open.deliberate && !waits_for_others(&open.method);
    let usual = |open: &&Exchange| is_usually_answered(conversation, ctx.from, &open.method);
    for open in conversation.open_of(ctx.from.other()).filter(separated).filter(usual) {
        if conversation.timed_out.contains_key(&open.n) && conversation.fence.is_some_and(|fence| fence > open.n) {
            ruling.proved_by(&[open.n]).fail(fact!(
                "unanswered",
                "the {party} did not answer {method} with a line separator in a string",
                party = ctx.from,
                method = open.method
            ));
        }
    }
}
