//! Area `auth`: the login methods of version 2.

use std::collections::BTreeSet;

use serde_json::Value;

use super::agent::{advertised, methods_in};
use crate::areas::common::{LOGIN as LOGIN_NEEDED, decide_implemented, is_probe, proper};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::{Answer, CallSeen, Conversation};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("auth.login-implemented", On::Response(with!(implemented, LOGIN))).only(&[LOGIN]),
    Check::agent("auth.logout-implemented", On::Response(with!(implemented, LOGOUT))).only(&[LOGOUT]),
    Check::agent("auth.login-unlocks", On::Response(login_unlocks)).only(&["session/new"]),
    Check::agent("auth.terminal-env-unique", On::Response(env_unique)).alone().only(&["initialize"]),
    Check::client("auth.no-login-without-methods", On::Call(no_login_without_methods)).only(&[LOGIN, LOGOUT]),
];

const LOGIN: &str = "auth/login";
const LOGOUT: &str = "auth/logout";

/// Whether the agent advertised a login method; false before its answer to `initialize`.
fn advertises_methods(conversation: &Conversation) -> bool {
    advertised(conversation).next().is_some()
}

/// "Supplying one or more methods means the agent MUST support both `auth/login` and `auth/logout`."
///
/// Correct but unusual: a login that fails, and a logout of an agent without a login. Only -32601 fails.
fn implemented(ctx: &CheckContext<'_>, answer: &Answer<'_>, method: &str, ruling: &mut Ruling<'_>) {
    if advertises_methods(ctx.conversation) {
        decide_implemented(answer, method, ruling);
    }
}

/// After a successful `auth/login` sessions can be created.
///
/// Correct but unusual: a login that expired after a session was created.
fn login_unlocks(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, "session/new") else { return };
    let login = &ctx.conversation.login;
    let Some(done) = login.done.filter(|&done| done < exchange.n) else { return };
    let fact = || {
        fact!(
            "login-needed-after-login",
            "the agent answered session/new with error {code} after {method} succeeded; expected a session",
            code = LOGIN_NEEDED, method = LOGIN; method_id = login.method
        )
    };
    match answer.outcome.error_code() {
        Some(LOGIN_NEEDED) => ruling.proved_by(&[done, exchange.n]).fail_unless(login.unlocked, fact()),
        None => ruling.pass(),
        Some(_) => {}
    }
}

/// "Names SHOULD be unique, and otherwise the last entry wins." In earlier revisions this is a probe, since they must
/// not fail what a later one allows.
///
/// Correct but unusual: names that differ in case only, which are different on most systems.
fn env_unique(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("initialize") else { return };
    for method in methods_in(result) {
        let Some(env) = method.member("env").and_then(Value::as_array).filter(|env| !env.is_empty()) else { continue };
        let mut seen = BTreeSet::new();
        let names = env.iter().filter_map(|variable| variable.text("name"));
        let Some(name) = names.into_iter().find(|name| !seen.insert(*name)) else {
            ruling.pass();
            continue;
        };
        let fact = fact!(
            "duplicate-variable",
            "the agent advertised a terminal login with two variables `{name}`; expected unique names",
            name; pointer = "/result/authMethods"
        );
        match is_probe(ctx, "auth.terminal-env-unique") {
            true => ruling.note(fact),
            false => ruling.fail(fact),
        }
    }
}

/// "Omitted or empty means the agent does not advertise the `auth/login` and `auth/logout` methods."
///
/// Correct but unusual: a recording that does not show the answer to `initialize`.
fn no_login_without_methods(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let is_login = matches!(call.method, LOGIN | LOGOUT);
    let offer =
        ctx.conversation.initialized.as_ref().filter(|(n, _)| is_login && !ctx.conversation.deliberate.contains(n));
    let Some((n, _)) = offer else { return };
    if advertises_methods(ctx.conversation) {
        ruling.pass();
    } else {
        ruling.proved_by(&[*n]).fail(fact!(
            "login-without-methods",
            "the client sent {method} to an agent that advertises no login method",
            method = call.method; pointer = "/method"
        ));
    }
}
