//! Area `jsonrpc`: requests with an id that version 2 does not allow.

use crate::areas::{Check, CheckContext, On, of_both};
use crate::conversation::{Answer, CallSeen, Outcome};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Kind;
use crate::requirement::Party;
use crate::wire::RpcId;

pub(in crate::areas) const CHECKS: &[Check] =
    &[Check::agent("jsonrpc.unusable-id-refused.agent", On::Response(unusable_id))];

pub(in crate::areas) const BOTH: &[[Check; 2]] =
    &[Check::both_alone(of_both!("jsonrpc.kind-matches"), On::Call(kind_matches))];

/// "Unlike base JSON-RPC, it MUST NOT be `null`", and the id of a result is a string or an integer.
///
/// Correct but unusual: another error code, silence, and an error that repeats the id. Only a result fails, which shows
/// that the agent carried the request out.
fn unusable_id(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let is_unusable = |id: &RpcId| matches!(id, RpcId::Null | RpcId::Number(_));
    let mut open = ctx.conversation.open_of(Party::Client).filter(|open| is_unusable(&open.id));
    match (answer.exchange.filter(|exchange| is_unusable(&exchange.id)), answer.outcome) {
        (Some(exchange), Outcome::Result(_)) => ruling.proved_by(&[exchange.n]).fail(fact!(
            "unusable-id-accepted",
            "the agent answered a request with the id {id} with a result; expected an error with the id null",
            id = exchange.id.to_string(); pointer = "/id"
        )),
        (Some(_), Outcome::Error(_)) => ruling.pass(),
        (None, Outcome::Error(_)) if answer.id == Some(&RpcId::Null) && open.next().is_some() => ruling.pass(),
        _ => {}
    }
}

/// A method is either a request or a notification.
///
/// Correct but unusual: a method that the party does not have, and `$/cancel_request` of either party.
fn kind_matches(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(expected) = ctx.conversation.edition.methods.kind_of(ctx.from, call.method) else { return };
    let name = |kind: Kind| if kind == Kind::Request { "request" } else { "notification" };
    ruling.decide(expected == call.kind, || {
        fact!(
            "wrong-form",
            "the {party} sent {method} as a {actual}; expected a {expected}",
            party = ctx.from, method = call.method, actual = name(call.kind), expected = name(expected);
            pointer = "/id"
        )
    });
}
