//! The agent's half of the area `auth`: login methods, logging in and logging out.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::common::{LOGIN, proper};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Conversation, Exchange, Outcome, Trial};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("auth.methods.unique-ids", On::Response(unique_ids)).alone().only(&["initialize"]),
    Check::agent("auth.methods.known-type", On::Response(known_type)).alone().only(&["initialize"]),
    Check::agent("auth.terminal.gate", On::Response(terminal_gate)).alone().only(&["initialize"]),
    Check::agent("auth.terminal.no-command", On::Response(terminal_no_command)).alone().only(&["initialize"]),
    Check::agent("auth.terminal.args-env-shape", On::Response(terminal_args_env)).alone().only(&["initialize"]),
    Check::agent("auth.authenticate.implemented", On::Response(authenticate_implemented)).only(&["authenticate"]),
    Check::agent("auth.authenticate.empty-result", On::Response(authenticate_result)).only(&["authenticate"]),
    Check::agent("auth.authenticate.unlocks", On::Response(authenticate_unlocks)).only(&["session/new"]),
    Check::agent("auth.authenticate.unknown-method", On::Response(unknown_method)).only(&["authenticate"]),
    Check::agent("auth.required-code", On::Response(required_code)),
    Check::agent("auth.required-code", On::End(required_by_other_code)),
    Check::agent("auth.logout.implemented", On::Response(logout_implemented)).only(&["logout"]),
    Check::agent("auth.logout.requires-login-again", On::Response(login_again)).only(&["session/new"]),
    Check::agent("auth.logout-relocks", On::Response(login_again)).only(&["session/new"]),
];

/// Returns the login methods in a result of `initialize`.
pub(super) fn methods_in(result: &Value) -> impl Iterator<Item = &Value> {
    result.list("authMethods").iter()
}

/// Returns the login methods that the agent advertised.
pub(super) fn advertised(conversation: &Conversation) -> impl Iterator<Item = &Value> {
    conversation.initialized.iter().flat_map(|(_, result)| methods_in(result))
}

pub(super) fn is_terminal(method: &Value) -> bool {
    method.text("type") == Some("terminal")
}

fn is_agents_own(method: &Value) -> bool {
    method.member("type").is_none_or(|kind| kind == "agent")
}

/// The id of a login method, which version 2 calls `methodId`.
pub(super) fn id_of(method: &Value) -> Option<&Value> {
    method.member("id").or(method.member("methodId"))
}

fn name(method: &Value) -> &str {
    id_of(method).and_then(Value::as_str).unwrap_or("without an id")
}

/// Ids distinguish the methods in `authenticate`.
///
/// Correct but unusual: ids that differ in case or in blanks only. They are compared exactly.
fn unique_ids(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("initialize") else { return };
    let mut seen = BTreeSet::new();
    for id in methods_in(result).filter_map(|method| id_of(method)?.as_str()) {
        ruling.decide(seen.insert(id), || {
            fact!(
                "duplicate-id",
                "the agent advertised two login methods with the id `{id}`; expected unique ids",
                id;
                pointer = "/result/authMethods"
            )
        });
    }
}

/// "The default authentication method type is agent"; the other one is `terminal`.
fn known_type(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("initialize") else { return };
    for method in methods_in(result) {
        let good = is_agents_own(method) || is_terminal(method);
        let kind = method.member("type").unwrap_or(&Value::Null);
        if !good && kind.as_str().is_some_and(|kind| ctx.conversation.edition.has_value_elsewhere("AuthMethod", kind)) {
            ruling.note(fact!(
                "newer-type",
                "the agent advertised the login method `{id}` with the type {actual}, which a draft or another \
                revision defines",
                id = name(method), actual = kind;
                pointer = "/result/authMethods"
            ));
            continue;
        }
        ruling.decide(good, || {
            fact!(
                "unknown-type",
                "the agent advertised the login method `{id}` with the type {actual}; expected agent or terminal",
                id = name(method), actual = kind;
                pointer = "/result/authMethods"
            )
        });
    }
}

/// "An Agent may advertise a terminal method only when this capability is true."
///
/// Correct but unusual: an agent that explains its terminal login in the description of a method of another type.
fn terminal_gate(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of("initialize") else { return };
    if ctx.conversation.client_has(Feature::Login("terminal")) {
        return;
    }
    for method in methods_in(result) {
        match is_terminal(method) {
            true => ruling.proved_by(&[exchange.n]).fail(fact!(
                "terminal-method-without-capability",
                "the agent advertised the terminal login `{id}` to a client that does not advertise {capability}",
                id = name(method),
                capability = "auth.terminal";
                pointer = "/result/authMethods"
            )),
            false => ruling.pass(),
        }
    }
}

/// "The descriptor cannot provide a command."
///
/// Correct but unusual: an agent whose serializer writes `"command": null`. Null provides nothing.
fn terminal_no_command(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("initialize") else { return };
    for method in methods_in(result).filter(|method| is_terminal(method)) {
        let own = ["command", "cwd"].into_iter().find(|member| method.given(member).is_some());
        ruling.decide(own.is_none(), || {
            fact!(
                "forbidden-member",
                "the agent advertised the terminal login `{id}` with the member `{member}`; expected only args and env",
                id = name(method), member = own;
                pointer = "/result/authMethods"
            )
        });
    }
}

/// `args` is a list of strings, and `env` maps strings to strings. The open union of the schema lets others through.
///
/// Correct but unusual: null or empty members, and names in `env` that no shell would accept.
fn terminal_args_env(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("initialize") else { return };
    for method in methods_in(result).filter(|method| is_terminal(method)) {
        let (args, env) = (method.given("args"), method.given("env"));
        if args.is_some() || env.is_some() {
            let args = args.is_none_or(|args| args.as_array().is_some_and(|args| args.iter().all(Value::is_string)));
            let env = env.is_none_or(|env| env.as_object().is_some_and(|env| env.values().all(Value::is_string)));
            ruling.decide(args, || {
                fact!(
                    "wrong-args",
                    "the agent advertised the terminal login `{id}` with wrong `args`; expected a list of strings",
                    id = name(method);
                    actual = method.member("args")
                )
            });
            ruling.decide(env, || {
                fact!(
                    "wrong-env",
                    "the agent advertised the terminal login `{id}` with wrong `env`; expected an object of strings",
                    id = name(method);
                    actual = method.member("env")
                )
            });
        }
    }
}

/// Returns the answered `authenticate` request, if the agent advertised its method for it.
fn authenticate<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<&'m Exchange> {
    let exchange = answer.exchange.filter(|exchange| exchange.method == "authenticate" && !exchange.deliberate)?;
    let mut own = advertised(ctx.conversation).filter(|method| is_agents_own(method));
    own.any(|method| method.member("id") == exchange.params.member("methodId")).then_some(exchange)
}

/// "The Client calls authenticate with the advertised authentication method ID."
///
/// Correct but unusual: an agent that refuses a login because it is offline, or because the user closed its page. Only
/// -32601 proves that the method is missing.
fn authenticate_implemented(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = authenticate(ctx, answer) else { return };
    match answer.outcome.error_code() {
        Some(-32601) => ruling.proved_by(&[exchange.n]).fail(fact!(
            "not-implemented",
            "the agent answered {method} with error -32601; expected it to implement what it advertises",
            method = exchange.method;
            code = -32601
        )),
        Some(_) => ruling.proved_by(&[exchange.n]).inconclusive(fact!(
            "refused",
            "the agent answered {method} with {answer}",
            method = exchange.method, answer = answer.outcome.describe();
            code = answer.outcome.error_code()
        )),
        None => ruling.pass(),
    }
}

/// "On success, the Agent returns an empty result"; null is the older form of it. Other values are in `judge::shapes`.
fn authenticate_result(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let (Some(_), Outcome::Result(Value::Null)) = (authenticate(ctx, answer), answer.outcome) {
        ruling.note(fact!(
            "null-result",
            "the agent answered {method} with null; expected an empty object",
            method = "authenticate"
        ));
        ruling.pass();
    }
}

/// "After successful authentication, the Client can create new sessions without receiving an auth_required error."
///
/// Correct but unusual: an agent that accepts any `authenticate` because it advertises no method, and an agent whose
/// login expires. So only a login by an advertised method counts, and only until a session could be created with it.
fn authenticate_unlocks(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| exchange.method == "session/new") else { return };
    let login = &ctx.conversation.login;
    let Some(done) = login.done.filter(|&done| done < exchange.n) else { return };
    let mut own = advertised(ctx.conversation).filter(|method| is_agents_own(method));
    if !own.any(|method| method.text("id") == login.method.as_deref()) {
        return;
    }
    match answer.outcome.error_code() {
        Some(-32000) if login.unlocked => ruling.proved_by(&[exchange.n]).inconclusive(fact!(
            "login-needed-again",
            "the agent answered session/new with error -32000 again; the login may have expired";
            code = -32000
        )),
        Some(-32000) => ruling.proved_by(&[done, exchange.n]).fail(fact!(
            "login-needed-after-login",
            "the agent answered session/new with error -32000 after authenticate succeeded";
            code = -32000, method_id = login.method
        )),
        None => ruling.pass(),
        Some(_) => {}
    }
}

/// `methodId` is "the ID of an advertised authentication method".
fn unknown_method(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let exchange = answer.exchange.filter(|exchange| exchange.method == "authenticate" && !exchange.deliberate);
    let Some((exchange, id)) = exchange.and_then(|exchange| Some((exchange, exchange.text("methodId")?))) else {
        return;
    };
    let mut known = advertised(ctx.conversation).peekable();
    let any = known.peek().is_some();
    if !any || known.any(|method| method.text("id") == Some(id)) {
        return;
    }
    match answer.outcome.error_code() {
        None => ruling.proved_by(&[exchange.n]).fail(fact!(
            "unknown-method-accepted",
            "the agent accepted authenticate with the unknown login method `{method_id}`; expected error -32602",
            method_id = id
        )),
        Some(code) => {
            if code != -32602 {
                ruling.note(fact!(
                    "other-code",
                    "the agent refused an unknown login method with error {code}; expected {expected}",
                    code,
                    expected = -32602
                ));
            }
            ruling.pass();
        }
    }
}

/// -32000 is "Authentication required", the code with which an agent asks for a login.
fn required_code(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if proper(answer, "session/new").is_some() && answer.outcome.error_code() == Some(LOGIN) {
        ruling.pass();
    }
}

/// As above: a request is refused for a missing login if the agent refuses it each time after a logout, and accepts it
/// each time after a login.
///
/// Correct but unusual: an agent that refuses a session for another reason before the login, such as its MCP servers.
/// The words of an error decide nothing.
fn required_by_other_code(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let is_refused = |trial: &Trial| trial.exchange.method == "session/new" && trial.error.is_some();
    let is_out = |trial: &Trial| trial.logged_in == Some(false);
    let alike = |one: &Trial, other: &Trial| other.logged_in.is_some() && one.is_like(other, "");
    let trials = &ctx.conversation.trials;
    let Some((first, events)) = trials.contrast(is_out, is_refused, alike) else { return };
    let mut refused = trials.of(Party::Client).filter(|trial| alike(first, trial) && is_out(trial));
    if let Some(trial) = refused.find(|trial| trial.error != Some(LOGIN)) {
        ruling.proved_by(&[[trial.n].as_slice(), &events].concat()).fail(fact!(
            "login-by-other-code",
            "the agent refused session/new without a login with error {actual}; expected error {expected}",
            actual = trial.error, expected = LOGIN; code = trial.error
        ));
    }
}

/// "Supplying {} means the Agent supports the method" `logout`; "On success, the Agent returns an empty result".
///
/// Correct but unusual: an agent that refuses to log out because no user is logged in.
fn logout_implemented(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| exchange.method == "logout" && !exchange.deliberate) else {
        return;
    };
    if !ctx.conversation.agent_has(Feature::Method("logout")) {
        return;
    }
    match answer.outcome {
        Outcome::Result(Value::Null) => {
            ruling.note(fact!(
                "null-result",
                "the agent answered {method} with null; expected an empty object",
                method = "logout"
            ));
            ruling.pass();
        }
        Outcome::Result(_) => {}
        Outcome::Error(_) if answer.outcome.error_code() == Some(-32601) => {
            ruling.proved_by(&[exchange.n]).fail(fact!(
                "not-implemented",
                "the agent answered {method} with error -32601; expected it to implement what it advertises",
                method = exchange.method;
                code = -32601
            ))
        }
        Outcome::Error(_) => ruling.proved_by(&[exchange.n]).inconclusive(fact!(
            "refused",
            "the agent answered {method} with {answer}",
            method = exchange.method, answer = answer.outcome.describe();
            code = answer.outcome.error_code()
        )),
    }
}

/// "After a successful logout, new sessions that require authentication will require the user to complete one of the
/// advertised authentication flows again."
///
/// Correct but unusual: an agent that requires a login for some projects only, for example because others use a local
/// model. So a session must be in the directory that required a login before.
fn login_again(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| exchange.method == "session/new") else { return };
    let login = &ctx.conversation.login;
    let undone = login.undone.filter(|&undone| undone < exchange.n);
    let (Some((wanted, cwd)), Some(undone)) = (&login.wanted, undone) else { return };
    match answer.outcome.error_code() {
        Some(-32000) => ruling.pass(),
        None if *wanted < undone && cwd.as_deref() != exchange.text("cwd") => {
            ruling.proved_by(&[*wanted, undone]).inconclusive(fact!(
                "no-login-in-other-directory",
                "the agent created a session in another directory after logout without a login"
            ));
        }
        None if *wanted < undone => ruling.proved_by(&[*wanted, undone, exchange.n]).fail(fact!(
            "no-login-after-logout",
            "the agent created a session after logout; expected error -32000, as before the login"
        )),
        _ => {}
    }
}
