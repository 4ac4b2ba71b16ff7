//! Area `proxy`: the connection between a conductor, which stands where a client does, and a proxy, which stands where
//! an agent does. It is a draft, so what they do is noted, and never decided.

mod state;

use serde_json::Value;

use self::state::SUCCESSOR;
pub(super) use self::state::State;
use crate::areas::{Check, CheckContext, On, of_both};
use crate::conversation::{Answer, CallSeen, PROXY_INITIALIZE};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("proxy.initialize-forwarded", On::Response(forwards)).only(&[PROXY_INITIALIZE]),
    Check::agent("proxy.version-kept", On::Response(keeps_version)).only(&[PROXY_INITIALIZE]),
];

pub(super) const BOTH: &[[Check; 2]] = &[Check::both_alone(of_both!("proxy.wrapped-params"), On::Call(wrapped_params))];

/// "Before answering successfully, the proxy MUST forward an `initialize` request to its successor."
fn forwards(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.result_of(PROXY_INITIALIZE).is_some() {
        ruling.note_whether(ctx.areas.proxy.forwarded, || {
            fact!("not-forwarded", "the proxy answered proxy/initialize and forwarded no initialize to its successor")
        });
    }
}

/// "It MUST NOT change `protocolVersion`."
fn keeps_version(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of(PROXY_INITIALIZE) else { return };
    let actual = result.member("protocolVersion").unwrap_or(&Value::Null);
    if let Some(expected) = &ctx.areas.proxy.version {
        ruling.note_whether(actual == expected, || {
            fact!(
                "version-changed",
                "the proxy answered proxy/initialize with the version {actual}; its successor answered {expected}",
                actual,
                expected
            )
        });
    }
}

/// "When present, it MUST be a JSON object or array"; null is the same as none.
fn wrapped_params(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(envelope) = call.params.filter(|_| call.method == SUCCESSOR) else { return };
    let params = envelope.member("params").unwrap_or(&Value::Null);
    ruling.note_whether(params.is_object() || params.is_array() || params.is_null(), || {
        fact!(
            "wrapped-params",
            "the {party} wrapped {method} with the params {actual}; expected an object or a list",
            party = ctx.from,
            method = envelope.text("method").unwrap_or("a message"),
            actual = params
        )
    });
}
