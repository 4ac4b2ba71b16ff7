//! Logins in a terminal: the wait for one, and the orders to it.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::driver::LoginStart;
use super::script::{Report, Script};
use crate::case::model::AgentProcess;
use crate::protocol::TerminalLogin;
use crate::trace::{Expected, Observed, Outcome, StepKind};

/// Waits for the next start of the agent's program for a login; the orders of the case go there from then on.
pub(super) async fn wait_for(script: &mut Script<'_>, within: Option<Duration>) -> Report {
    let deadline = Instant::now() + script.after_an_act(within.unwrap_or(script.limits.answer));
    let awaited = script.logins;
    script.driver.until(deadline, |driver| driver.logins.len() > awaited || driver.over()).await;
    let Some(&start) = script.driver.logins.get(awaited) else { return instead(script) };
    script.logins += 1;
    script.login = Some(start);
    if start.on_terminal {
        return Report { events: vec![start.n], ..Report::new(StepKind::Login, Outcome::Done) };
    }
    missed(vec![start.n], Observed::LoginOutsideTerminal)
}

/// What to say when no login came: a client that called authenticate for it has shown what it does instead.
fn instead(script: &Script<'_>) -> Report {
    let logins: Vec<TerminalLogin> = script.case.tester.auth_methods.iter().filter_map(TerminalLogin::of).collect();
    let called = script.driver.inbox.iter().find(|seen| {
        let method = seen.value.pointer("/params/methodId").and_then(Value::as_str);
        seen.value.get("method").is_some_and(|name| name == "authenticate")
            && logins.iter().any(|login| method == Some(&login.id))
    });
    match called {
        Some(seen) if script.logins == 0 => {
            let report = missed(vec![seen.n], Observed::AuthenticateInstead);
            Report { outcome: Outcome::Contradicted, ..report }
        }
        _ => missed(Vec::new(), Observed::Nothing),
    }
}

fn missed(events: Vec<usize>, observed: Observed) -> Report {
    let (expected, observed) = (Some(Expected::TerminalLogin), Some(observed));
    Report { events, expected, observed, ..Report::new(StepKind::Login, Outcome::Missed) }
}

/// Gives an order to a login that runs.
pub(super) fn order(script: &mut Script<'_>, login: LoginStart, order: &AgentProcess) -> Report {
    let connection = login.connection;
    match order {
        AgentProcess::Stdout(text) | AgentProcess::Stderr(text) => {
            let text = text.render(&script.bindings).into_bytes();
            script.driver.print_in_login(connection, text);
        }
        AgentProcess::Exit(code) => end(script, connection, Some(*code)),
        AgentProcess::Kill => end(script, connection, None),
        // It stays anyway, and its output is the terminal.
        AgentProcess::Linger | AgentProcess::CloseStdout => {}
    }
    Report::new(StepKind::Act, Outcome::Done)
}

fn end(script: &mut Script<'_>, connection: usize, code: Option<i32>) {
    script.driver.end_login(connection, code);
    script.login = None;
}
