//! Area `jsonrpc`: two parties that send requests at the same time.

use crate::areas::jsonrpc::late::is_instant;
use crate::areas::support::{Finish, waits_for_others};
use crate::areas::{Check, CheckContext, On, of_both};
use crate::conversation::{Answer, Exchange, TurnLog};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;

pub(in crate::areas) const BOTH: &[[Check; 2]] = &[
    Check::both(of_both!("jsonrpc.independent-id-spaces"), On::Response(twin_answered)),
    Check::both(of_both!("jsonrpc.independent-id-spaces"), On::End(twin_passed_over)),
    Check::both(of_both!("jsonrpc.full-duplex"), On::Response(full_duplex)),
    Check::both(of_both!("jsonrpc.full-duplex"), On::Response(held_back)),
    Check::both(of_both!("jsonrpc.full-duplex"), On::End(held_back_at_last)),
];

/// How many times faster the party answers without a turn, at least.
const QUICKER: u32 = 8;

/// A request may have the id of a request of the other party; it must still be answered. This check only counts
/// answers.
fn twin_answered(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.exchange.is_some_and(|exchange| ctx.areas.jsonrpc.twins.contains_key(&exchange.n)) {
        ruling.pass();
    }
}

/// As above: the answer did not come within its limit, and a later request was answered meanwhile.
///
/// Correct but unusual: a party that never answers such requests, or that waits for its user or a model first. Only a
/// party that has answered a request of the same kind at once before fails.
fn twin_passed_over(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let quick = |open: &&Exchange| open.is_sound() && !waits_for_others(&open.method);
    // A party that answers no request of this kind does not confuse the ids.
    let usual = |open: &&Exchange| conversation.has_replied_before(ctx.from, &open.method, open.n);
    for open in conversation.open_of(ctx.from.other()).filter(quick).filter(usual) {
        let Some(&twin) = ctx.areas.jsonrpc.twins.get(&open.n) else { continue };
        if conversation.timed_out.contains_key(&open.n) && conversation.fence.is_some_and(|fence| fence > open.n) {
            ruling.proved_by(&[open.n, twin]).fail(fact!(
                "shared-id-unanswered",
                "the {party} did not answer {method} with the id {id}, which a request of the {party} had as well",
                party = ctx.from,
                method = open.method,
                id = open.id.to_string()
            ));
        }
    }
}

/// Both parties continue to read and to act while a turn runs: they answer during the turn.
fn full_duplex(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate) else { return };
    let mut turns = ctx.conversation.turn_logs().map(|(_, turn)| turn).filter(|turn| turn.n < exchange.n);
    let cancelled = Finish::of(ctx, answer)
        .is_some_and(|finish| finish.turn.cancelled.is_some() && finish.reason() == Some("cancelled"));
    // A turn that waits for no other party may end at any time, so an answer at its end proves nothing.
    let held = |turn: &TurnLog| {
        ctx.from == Party::Client || ctx.conversation.open_of(Party::Agent).any(|open| open.turn == Some(turn.n))
    };
    if turns.any(|turn| turn.ended.is_none() && held(turn)) || cancelled {
        ruling.pass();
    }
}

/// As above: an answer that needs no work proves the contrary if it comes long after its request, just when the turn
/// ends. The first such answer after it shows how fast the party and the machine are.
///
/// Correct but unusual: a party that is always slow with such requests, or never answers them; a busy machine; in a
/// recording, an extension method that waits for the end of the turn by design, so that only the error -32601 proves
/// that the answer needed no wait.
fn held_back(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let late = ctx.areas.jsonrpc.late.get(&ctx.from);
    let Some((late, exchange)) = late.zip(answer.exchange.filter(|exchange| is_instant(&exchange.method))) else {
        return;
    };
    if exchange.n < late.turn_ended {
        return;
    }
    let took = ctx.conversation.in_between((exchange.us, exchange.heard), ctx.us);
    let is_quick = took < late.waited / QUICKER;
    // No program knows the tester's own methods; the methods in a recording may depend on the turn.
    let is_certain = is_quick && (ctx.conversation.whole || late.is_unknown);
    ruling.proved_by(&[late.answered, late.asked, late.turn_ended]).fail_if(is_certain, late.fact(ctx.from));
}

/// As above, if no such answer followed.
fn held_back_at_last(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    if let Some(late) = ctx.areas.jsonrpc.late.get(&ctx.from) {
        ruling.proved_by(&[late.answered, late.asked, late.turn_ended]).inconclusive(late.fact(ctx.from));
    }
}
