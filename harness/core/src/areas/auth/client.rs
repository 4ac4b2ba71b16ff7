//! The client's half of the area `auth`: the login methods that it uses, and its logouts.

use serde_json::Value;

use super::agent::{advertised, id_of, is_terminal};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::CallSeen;
use crate::fact;
use crate::finding::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::client("auth.method-id-advertised", On::Call(method_id_advertised)).alone().only(LOGIN),
    Check::client("auth.terminal.no-authenticate", On::Call(no_terminal_authenticate)).alone().only(LOGIN),
];

/// The methods that log in: that of version 1 and that of version 2.
const LOGIN: &[&str] = &["authenticate", "auth/login"];

/// "The Client calls authenticate with the advertised authentication method ID." If the agent advertised none, the
/// specification leaves open whether the call is allowed.
///
/// Correct but unusual: a client that logs in again with a method of an earlier connection. The agent may have changed
/// its list, and the one in force is that of this connection.
fn method_id_advertised(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = call.text("methodId").filter(|_| LOGIN.contains(&call.method)) else { return };
    if ctx.conversation.initialized.is_some() && advertised(ctx.conversation).next().is_some() {
        let known = advertised(ctx.conversation).any(|method| id_of(method).is_some_and(|known| known == id));
        ruling.decide(known, || {
            fact!(
                "unknown-method",
                "the client sent {method} with `{method_id}`; expected the id of an advertised login method",
                method = call.method, method_id = id;
                pointer = "/params/methodId"
            )
        });
    }
}

/// "Clients MUST NOT pass a `terminal` method": the client runs it itself.
///
/// Correct but unusual: a client that uses the agent's own method next to it, even one of the same name or id.
fn no_terminal_authenticate(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = call.text("methodId").filter(|_| LOGIN.contains(&call.method)) else { return };
    let (terminal, own): (Vec<_>, Vec<_>) = advertised(ctx.conversation).partition(|method| is_terminal(method));
    let among = |methods: &[&Value]| methods.iter().any(|method| id_of(method).is_some_and(|known| known == id));
    match among(&own) {
        true if !terminal.is_empty() => ruling.pass(),
        false if among(&terminal) => ruling.fail(fact!(
            "terminal-method",
            "the client sent {method} for the terminal login `{method_id}`; expected it to run the login itself",
            method = call.method, method_id = id;
            pointer = "/params/methodId"
        )),
        _ => {}
    }
}
