//! Area `auth`: login methods, logging in and logging out.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::judge::check::{Check, On};
use crate::judge::conversation::{Conversation, Exchange};
use crate::judge::moment::{Answer, CallSeen, Moment, Outcome};
use crate::judge::ruling::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("auth.methods.shape", On::End(no_methods)),
    Check::agent("auth.methods.unique-ids", On::Response(unique_ids)),
    Check::agent("auth.methods.unique-ids", On::End(no_methods)),
    Check::agent("auth.methods.known-type", On::Response(known_type)),
    Check::agent("auth.methods.known-type", On::End(no_methods)),
    Check::agent("auth.terminal.gate", On::Response(terminal_gate)),
    Check::agent("auth.terminal.gate", On::End(no_methods)),
    Check::agent("auth.terminal.no-command", On::Response(terminal_no_command)),
    Check::agent("auth.terminal.no-command", On::End(no_terminal_method)),
    Check::agent("auth.terminal.args-env-shape", On::Response(terminal_args_env)),
    Check::agent("auth.terminal.args-env-shape", On::End(no_terminal_method)),
    Check::agent("auth.authenticate.implemented", On::Response(authenticate_implemented)),
    Check::agent("auth.authenticate.implemented", On::End(no_agent_method)),
    Check::agent("auth.authenticate.empty-result", On::Response(authenticate_result)),
    Check::agent("auth.authenticate.empty-result", On::End(no_agent_method)),
    Check::agent("auth.authenticate.unlocks", On::Response(authenticate_unlocks)),
    Check::agent("auth.authenticate.unlocks", On::End(no_agent_method)),
    Check::agent("auth.authenticate.unknown-method", On::Response(unknown_method)),
    Check::agent("auth.authenticate.unknown-method", On::End(no_methods)),
    Check::agent("auth.required-code", On::Response(required_code)),
    Check::agent("auth.logout.implemented", On::Response(logout_implemented)),
    Check::agent("auth.logout.implemented", On::End(no_logout)),
    Check::agent("auth.logout.requires-login-again", On::Response(login_again)),
    Check::agent("auth.logout.requires-login-again", On::End(no_logout)),
    Check::client("auth.method-id-advertised", On::Call(method_id_advertised)),
    Check::client("auth.terminal.no-authenticate", On::Call(no_terminal_authenticate)),
    Check::client("auth.logout.gate", On::Call(logout_gate)),
    Check::client("auth.logout.gate", On::End(logout_advertised)),
];

/// The login methods in a result of `initialize`.
fn methods_in(result: &Value) -> impl Iterator<Item = &Value> {
    result.get("authMethods").and_then(Value::as_array).into_iter().flatten()
}

/// The login methods that the agent advertised.
fn advertised(talk: &Conversation) -> impl Iterator<Item = &Value> {
    talk.initialized.iter().flat_map(|(_, result)| methods_in(result))
}

fn is_terminal(method: &Value) -> bool {
    method.get("type").and_then(Value::as_str) == Some("terminal")
}

fn is_agents_own(method: &Value) -> bool {
    method.get("type").is_none_or(|kind| kind == "agent")
}

fn name(method: &Value) -> &str {
    method.get("id").and_then(Value::as_str).unwrap_or("without an id")
}

/// Ids tell the methods apart in `authenticate`.
///
/// Correct but unusual: ids that differ in case or in blanks only. They are compared as they are written.
fn unique_ids(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("initialize") else { return };
    let mut seen = BTreeSet::new();
    for id in methods_in(result).filter_map(|method| method.get("id")?.as_str()) {
        ruling.decide(seen.insert(id), || format!("two login methods have the id `{id}`"));
    }
}

/// "The default authentication method type is agent"; beside it there is `terminal`.
fn known_type(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("initialize") else { return };
    for method in methods_in(result) {
        let good = is_agents_own(method) || is_terminal(method);
        let kind = method.get("type").unwrap_or(&Value::Null);
        ruling.decide(good, || {
            format!("the login method `{}` has the type {kind}, which v1 does not know", name(method))
        });
    }
}

/// "An Agent may advertise a terminal method only when this capability is true."
///
/// Correct but unusual: an agent that leads to its terminal login in words, in the description of a method of another type.
fn terminal_gate(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of("initialize") else { return };
    if moment.talk.client_has(&["auth", "terminal"]) {
        return ruling.not_applicable("the client advertised auth.terminal");
    }
    for method in methods_in(result) {
        match is_terminal(method) {
            true => {
                let message = format!(
                    "the login method `{}` is for a terminal, and the client has no auth.terminal",
                    name(method)
                );
                ruling.fail(message, &[exchange.n]);
            }
            false => ruling.pass(),
        }
    }
}

/// "The descriptor cannot provide a command."
///
/// Correct but unusual: an agent whose serializer writes `"command": null`. Null provides nothing.
fn terminal_no_command(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("initialize") else { return };
    for method in methods_in(result).filter(|method| is_terminal(method)) {
        let given = |member: &&str| method.get(member).is_some_and(|value| !value.is_null());
        let own = ["command", "cwd"].into_iter().find(given);
        ruling.decide(own.is_none(), || {
            format!("the terminal method `{}` has a `{}`", name(method), own.unwrap_or_default())
        });
    }
}

/// `args` is a list of strings, and `env` maps strings to strings. The open union of the schema lets others through.
///
/// Correct but unusual: null or empty members, and names in `env` that no shell would accept.
fn terminal_args_env(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("initialize") else { return };
    for method in methods_in(result).filter(|method| is_terminal(method)) {
        let member = |name: &str| method.get(name).filter(|value| !value.is_null());
        let args =
            member("args").is_none_or(|args| args.as_array().is_some_and(|args| args.iter().all(Value::is_string)));
        let env = member("env").is_none_or(|env| env.as_object().is_some_and(|env| env.values().all(Value::is_string)));
        if member("args").is_some() || member("env").is_some() {
            ruling.decide(args, || format!("args of the terminal method `{}` is no list of strings", name(method)));
            ruling.decide(env, || format!("env of the terminal method `{}` is no object of strings", name(method)));
        }
    }
}

/// The request `authenticate` that is answered, when its method is one that the agent advertised for it.
fn authenticate<'m>(moment: &Moment<'m>, answer: &Answer<'m>) -> Option<&'m Exchange> {
    let exchange = answer.exchange.filter(|exchange| exchange.method == "authenticate" && !exchange.deliberate)?;
    let mut own = advertised(moment.talk).filter(|method| is_agents_own(method));
    own.any(|method| method.get("id") == exchange.params.get("methodId")).then_some(exchange)
}

/// "The Client calls authenticate with the advertised authentication method ID."
///
/// Correct but unusual: an agent that refuses a login because it is offline, or because the user closed its page. Only
/// -32601 shows that the method is missing.
fn authenticate_implemented(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = authenticate(moment, answer) else { return };
    match answer.outcome.error_code() {
        Some(-32601) => ruling.fail("a login method is advertised, and authenticate is not implemented", &[exchange.n]),
        Some(_) => {
            ruling.inconclusive(format!("authenticate was answered with {}", answer.outcome.describe()), &[exchange.n])
        }
        None => ruling.pass(),
    }
}

/// "On success, the Agent returns an empty result"; null is the older form of it. Other values are in `judge::shapes`.
fn authenticate_result(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let (Some(_), Outcome::Result(Value::Null)) = (authenticate(moment, answer), answer.outcome) {
        ruling.note("the result of authenticate is null, and not an empty object");
        ruling.pass();
    }
}

/// "After successful authentication, the Client can create new sessions without receiving an auth_required error."
///
/// Correct but unusual: an agent that accepts `authenticate` for anything because it advertises no method, and an agent
/// whose login expires. So only a login by an advertised method counts, and only until a session could be created with it.
fn authenticate_unlocks(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| exchange.method == "session/new") else { return };
    let login = &moment.talk.course.login;
    let Some(done) = login.done.filter(|&done| done < exchange.n) else { return };
    let mut own = advertised(moment.talk).filter(|method| is_agents_own(method));
    if !own.any(|method| method.get("id").and_then(Value::as_str) == login.method.as_deref()) {
        return;
    }
    match answer.outcome.error_code() {
        Some(-32000) if login.unlocked => {
            ruling.inconclusive("session/new asks for a login again; the last login may have expired", &[exchange.n]);
        }
        Some(-32000) => ruling.fail("session/new asks for a login after authenticate succeeded", &[done, exchange.n]),
        None => ruling.pass(),
        Some(_) => {}
    }
}

/// `methodId` is "the ID of an advertised authentication method".
fn unknown_method(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let exchange = answer.exchange.filter(|exchange| exchange.method == "authenticate" && !exchange.deliberate);
    let Some((exchange, id)) = exchange.and_then(|exchange| Some((exchange, exchange.text("methodId")?))) else {
        return;
    };
    let mut known = advertised(moment.talk).peekable();
    let any = known.peek().is_some();
    if !any || known.any(|method| method.get("id").and_then(Value::as_str) == Some(id)) {
        return;
    }
    match answer.outcome.error_code() {
        None => ruling.fail(format!("authenticate succeeded with `{id}`, which no login method has"), &[exchange.n]),
        Some(code) => {
            if code != -32602 {
                ruling.note(format!("an unknown login method is refused with error {code}, and not -32602"));
            }
            ruling.pass();
        }
    }
}

/// -32000 is "Authentication required"; an error that says so in words has to say so by its code.
///
/// Correct but unusual: an agent that is logged in, and passes on that an MCP server of the session refused it. Where the
/// request names servers, the words may be about one of them.
fn required_code(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    const WORDS: &[&str] = &[
        "authentication required",
        "authentication is required",
        "requires authentication",
        "not authenticated",
        "unauthenticated",
        "not logged in",
        "login required",
        "log in first",
        "login first",
        "please log in",
        "please login",
        "must log in",
        "please sign in",
        "not signed in",
        "please authenticate",
    ];
    let Some(exchange) = answer.exchange.filter(|exchange| exchange.method == "session/new" && !exchange.deliberate)
    else {
        return;
    };
    let Outcome::Error(error) = answer.outcome else { return };
    let text = error.to_string().to_lowercase();
    match answer.outcome.error_code() {
        Some(-32000) => ruling.pass(),
        _ if WORDS.iter().any(|words| text.contains(words)) => {
            let message = format!("session/new asks for a login by {}; expected -32000", answer.outcome.describe());
            let servers = exchange.params.get("mcpServers").and_then(Value::as_array);
            match servers.is_some_and(|servers| !servers.is_empty()) {
                true => ruling.inconclusive(message, &[exchange.n]),
                false => ruling.fail(message, &[exchange.n]),
            }
        }
        _ => {}
    }
}

/// "Supplying {} means the Agent supports the method" `logout`; "On success, the Agent returns an empty result".
///
/// Correct but unusual: an agent that refuses to log out because no user is logged in.
fn logout_implemented(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| exchange.method == "logout" && !exchange.deliberate) else {
        return;
    };
    if !moment.talk.agent_has(&["auth", "logout"]) {
        return;
    }
    match answer.outcome {
        Outcome::Result(Value::Null) => {
            ruling.note("the result of logout is null, and not an empty object");
            ruling.pass();
        }
        Outcome::Result(_) => {}
        Outcome::Error(_) if answer.outcome.error_code() == Some(-32601) => {
            ruling.fail("auth.logout is advertised, and logout is not implemented", &[exchange.n]);
        }
        Outcome::Error(_) => {
            ruling.inconclusive(format!("logout was answered with {}", answer.outcome.describe()), &[exchange.n]);
        }
    }
}

/// "After a successful logout, new sessions that require authentication will require the user to complete one of the
/// advertised authentication flows again."
///
/// Correct but unusual: an agent that requires a login for some projects only, for example because others use a local model.
/// So a session has to be in the directory in which a login was required before.
fn login_again(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| exchange.method == "session/new") else { return };
    let login = &moment.talk.course.login;
    let undone = login.undone.filter(|&undone| undone < exchange.n);
    let (Some((wanted, cwd)), Some(undone)) = (&login.wanted, undone) else { return };
    match answer.outcome.error_code() {
        Some(-32000) => ruling.pass(),
        None if *wanted < undone && cwd.as_deref() != exchange.text("cwd") => {
            ruling.inconclusive("session/new wants no login after logout, in another directory", &[*wanted, undone]);
        }
        None if *wanted < undone => {
            let message = "session/new wanted a login before, and wants none after logout";
            ruling.fail(message, &[*wanted, undone, exchange.n]);
        }
        _ => {}
    }
}

/// "The Client calls authenticate with the advertised authentication method ID." Where the agent advertised none, the call
/// is an open question.
///
/// Correct but unusual: a client that logs in again with a method of an earlier connection. The agent may have changed its
/// list, and the one in force is that of this connection.
fn method_id_advertised(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(id), "authenticate") = (call.text("methodId"), call.method) else { return };
    if moment.talk.initialized.is_some() && advertised(moment.talk).next().is_some() {
        let known = advertised(moment.talk).any(|method| method.get("id").is_some_and(|known| known == id));
        ruling.decide(known, || format!("the client logs in with `{id}`, which no login method has"));
    }
}

/// "Clients MUST NOT pass a `terminal` method": it is run by the client itself.
///
/// Correct but unusual: a client that uses the agent's own method next to it, even one of the same name or id.
fn no_terminal_authenticate(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(id), "authenticate") = (call.text("methodId"), call.method) else { return };
    let (terminal, own): (Vec<_>, Vec<_>) = advertised(moment.talk).partition(|method| is_terminal(method));
    let among = |methods: &[&Value]| methods.iter().any(|method| method.get("id").is_some_and(|known| known == id));
    match among(&own) {
        true if !terminal.is_empty() => ruling.pass(),
        false if among(&terminal) => {
            ruling.fail(format!("the client calls authenticate for `{id}`, a login in a terminal"), &[]);
        }
        _ => {}
    }
}

/// Where `logout` is not advertised, "Clients MUST NOT call it".
///
/// Correct but unusual: a client that forgets its own credentials, or ends the agent, when its user logs out.
fn logout_gate(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let proof = moment.talk.initialized.as_ref().map(|(n, _)| *n);
    if call.method == "logout" && moment.talk.agent_lacks(&["auth", "logout"]) {
        ruling.fail("the client calls logout, and the agent does not advertise auth.logout", proof.as_slice());
    }
}

/// As above: an agent that advertises it may be asked. That a client ended without it shows nothing, since it may have no
/// way to log out; the cases that have its user log out decide.
fn logout_advertised(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    if moment.talk.agent_has(&["auth", "logout"]) {
        ruling.not_applicable("the agent advertises auth.logout");
    }
}

fn no_methods(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    if moment.talk.initialized.is_some() && advertised(moment.talk).next().is_none() {
        ruling.not_applicable("the agent advertises no login method");
    }
}

fn no_terminal_method(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    if moment.talk.initialized.is_some() && !advertised(moment.talk).any(is_terminal) {
        ruling.not_applicable("the agent advertises no terminal login");
    }
}

fn no_agent_method(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    if moment.talk.initialized.is_some() && !advertised(moment.talk).any(is_agents_own) {
        ruling.not_applicable("the agent advertises no login method of its own");
    }
}

fn no_logout(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    if moment.talk.initialized.is_some() && !moment.talk.agent_has(&["auth", "logout"]) {
        ruling.not_applicable("the agent does not advertise auth.logout");
    }
}
