//! Area `jsonrpc`: requests with an id that version 2 does not allow.

use crate::areas::{Check, Moment, On};
use crate::conversation::{Answer, Outcome};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::wire::RpcId;

pub(in crate::areas) const CHECKS: &[Check] =
    &[Check::agent("jsonrpc.unusable-id-refused.agent", On::Response(unusable_id))];

/// "Unlike base JSON-RPC, it MUST NOT be `null`", and the id of a result is a string or an integer.
///
/// Correct but unusual: another error code, silence, and an error that repeats the id. Only a result fails, which shows that the
/// agent carried the request out.
fn unusable_id(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let is_unusable = |id: &RpcId| matches!(id, RpcId::Null | RpcId::Number(_));
    let mut open = moment.talk.open_of(Party::Client).filter(|open| is_unusable(&open.id));
    match (answer.exchange.filter(|exchange| is_unusable(&exchange.id)), answer.outcome) {
        (Some(exchange), Outcome::Result(_)) => {
            let fact = fact!(
                "unusable-id-accepted",
                "the agent answered a request with the id {id} with a result; expected an error with the id null",
                id = exchange.id.to_string(); pointer = "/id"
            );
            ruling.fail(fact, &[exchange.n]);
        }
        (Some(_), Outcome::Error(_)) => ruling.pass(),
        (None, Outcome::Error(_)) if answer.id == Some(&RpcId::Null) && open.next().is_some() => ruling.pass(),
        _ => {}
    }
}
