//! The client's half of the area `auth`: logins in a terminal, which the client starts itself.

use super::LoginProcess;
use crate::areas::{Check, CheckContext, On};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::CONFIGURED;

pub(super) const CHECKS: &[Check] = &[
    Check::client("auth.terminal.same-program", On::Login(same_program)),
    Check::client("auth.terminal.args-appended", On::Login(args_appended)),
    Check::client("auth.terminal.env-override", On::Login(env_override)),
    Check::client("auth.terminal.env-last-wins", On::Login(env_last_wins)),
    Check::client("auth.terminal.interactive", On::Login(interactive)),
    Check::client("auth.terminal.separate-process", On::Login(separate_process)),
    Check::client("auth.terminal.exit-zero-success", On::Login(exit_status)),
    Check::client("auth.terminal.no-output-sniffing", On::Login(output_sniffed)),
    Check::client("auth.terminal.reconnect", On::Login(reconnects)),
];

/// "The same configured Agent program and base launch configuration": the program is the agent's, since otherwise the
/// trace has no login. Only the settings of the profile are known to belong to the configuration. Version 2 has one
/// requirement for the program, its arguments and its variables.
///
/// Correct but unusual: a client that adds variables and arguments of its terminal, or runs the program through a
/// shell.
fn same_program(ctx: &CheckContext<'_>, login: &LoginProcess, ruling: &mut Ruling<'_>) {
    let has = |names: &[String]| names.iter().any(|name| name == CONFIGURED);
    let kept = !has(&login.base.environment) || has(&login.start.environment);
    ruling.decide(kept, || {
        fact!(
            "configuration-lost",
            "the client started the login without the variable {name}, which is configured for the agent",
            name = CONFIGURED
        )
    });
    if ctx.conversation.edition.catalogue.find("auth.terminal.args-appended").is_none() {
        args_appended(ctx, login, ruling);
        env_override(ctx, login, ruling);
    }
}

/// Quotes texts to make blanks visible.
fn in_quotes(texts: &(impl std::fmt::Debug + ?Sized)) -> String {
    format!("{texts:?}")
}

/// "Appends the method's `args`". The requirement does not forbid other arguments before them.
///
/// Correct but unusual: a client whose base arguments end with the same words as the method's.
fn args_appended(_: &CheckContext<'_>, login: &LoginProcess, ruling: &mut Ruling<'_>) {
    let (found, base, adds) = (&login.start.args, &login.base.args, &login.adds.args);
    let before = found.strip_suffix(adds.as_slice());
    match before {
        None => ruling.fail(fact!(
            "args-not-appended",
            "the client started the login with the arguments {actual}; expected them to end with {expected}",
            actual = in_quotes(found), expected = in_quotes(adds);
            args = found
        )),
        Some(before) if before == base.as_slice() => ruling.pass(),
        Some(before) if base.iter().any(|arg| !before.contains(arg)) => ruling.fail(fact!(
            "base-args-lost",
            "the client started the login with the arguments {actual}; expected the agent's arguments {expected} \
            first",
            actual = in_quotes(found), expected = in_quotes(base);
            args = found
        )),
        Some(_) => ruling.inconclusive(fact!(
            "further-args",
            "the client started the login with further arguments: {actual}",
            actual = in_quotes(found);
            args = found
        )),
    }
}

/// "Applies its `env`, overriding any same-named variables in the base launch configuration".
///
/// Correct but unusual: an empty value, which must be set like any other.
fn env_override(_: &CheckContext<'_>, login: &LoginProcess, ruling: &mut Ruling<'_>) {
    // A name with several entries belongs to `env_last_wins`.
    for (name, wanted) in login.adds.env.iter().filter(|(name, _)| !login.adds.repeated.contains(*name)) {
        let there = login.start.environment.iter().any(|known| known == name);
        match login.start.values.get(name) {
            Some(found) => ruling.decide(found == wanted, || {
                fact!(
                    "env-not-overridden",
                    "the client started the login with {name} set to {actual}; expected {expected}",
                    name,
                    actual = in_quotes(found),
                    expected = in_quotes(wanted)
                )
            }),
            None if !there => ruling.fail(fact!(
                "env-missing",
                "the client started the login without the variable {name}; expected the value of its login method",
                name;
                expected = wanted
            )),
            // The trace does not contain the value.
            None => {}
        }
    }
}

/// "Names SHOULD be unique, and otherwise the last entry wins."
///
/// Correct but unusual: several entries of one name and value. Where the variable is missing, `env_override` decides.
fn env_last_wins(_: &CheckContext<'_>, login: &LoginProcess, ruling: &mut Ruling<'_>) {
    for name in &login.adds.repeated {
        let (Some(found), Some(wanted)) = (login.start.values.get(name), login.adds.env.get(name)) else { continue };
        ruling.decide(found == wanted, || {
            fact!(
                "earlier-entry-won",
                "the client started the login with {name} set to {actual}; expected {expected}, its last entry",
                name,
                actual = in_quotes(found),
                expected = in_quotes(wanted)
            )
        });
    }
}

/// "Launches a separate interactive process".
///
/// Correct but unusual: a terminal inside a multiplexer or an editor. Only the process's own view counts.
fn interactive(_: &CheckContext<'_>, login: &LoginProcess, ruling: &mut Ruling<'_>) {
    if let Some(terminal) = login.start.terminal {
        ruling.decide(terminal, || {
            fact!("not-a-terminal", "the client started the login without a terminal at its standard input and output")
        });
    }
}

/// "The terminal process is not the ACP connection".
///
/// Correct but unusual: a user who types JSON into the terminal. Only messages of the protocol count.
fn separate_process(_: &CheckContext<'_>, login: &LoginProcess, ruling: &mut Ruling<'_>) {
    match login.addressed {
        Some(n) => ruling.proved_by(&[n]).fail(fact!(
            "message-to-login",
            "the client sent a protocol message to the login process; expected messages only on the connection"
        )),
        None if login.ended.is_some() => ruling.pass(),
        None => {}
    }
}

/// "Exit status zero signals success; a non-zero status, termination without an exit status, or cancellation signals
/// failure."
///
/// Correct but unusual: a client that reconnects after a failed login, to test whether it may create a session.
fn exit_status(_: &CheckContext<'_>, login: &LoginProcess, ruling: &mut Ruling<'_>) {
    match (login.taken_for_done(), login.ended) {
        (Some(proof), _) if !was_sniffed(login) => ruling.proved_by(&proof).fail(fact!(
            "failure-taken-for-success",
            "the client continued after a failed login as after a success; expected it to use the exit status"
        )),
        (_, Some((_, true))) if login.reconnected.is_some() => ruling.pass(),
        _ if login.taken_for_failed() => ruling.pass(),
        _ => {}
    }
}

/// "ACP does not define an output pattern or other in-band success signal". A client depends on the output only if it
/// treated a failure without output as a success or the reverse.
fn output_sniffed(_: &CheckContext<'_>, login: &LoginProcess, ruling: &mut Ruling<'_>) {
    match login.taken_for_done() {
        Some(proof) if was_sniffed(login) => ruling.proved_by(&proof).fail(fact!(
            "output-taken-for-success",
            "the client continued after a failed login because of its output; expected it to use the exit status"
        )),
        _ if login.printed.is_some() && login.taken_for_failed() => ruling.pass(),
        _ => {}
    }
}

fn was_sniffed(login: &LoginProcess) -> bool {
    login.printed.is_some() && login.knows_failure
}

/// "Reconnects and reinitializes the ACP Agent."
///
/// Correct but unusual: a client that reconnects when its user next needs the agent, and not at once.
fn reconnects(_: &CheckContext<'_>, login: &LoginProcess, ruling: &mut Ruling<'_>) {
    let Some((end, true)) = login.ended else { return };
    match (login.reconnected, login.kept_on) {
        (Some(_), _) => ruling.pass(),
        (None, Some(n)) => ruling.proved_by(&[end, n]).fail(fact!(
            "not-reconnected",
            "the client used the old connection after the login; expected a new connection"
        )),
        (None, None) => {}
    }
}
