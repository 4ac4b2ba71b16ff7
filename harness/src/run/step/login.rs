//! Logins in a terminal: the wait for one, and the orders to it.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::case::model::AgentProcess;
use crate::protocol::TerminalLogin;
use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::{Channel, LoginStart, Order};
use crate::trace::{Expected, Observed, Outcome, StepKind};

/// Waits for the next start of the agent's program for a login; from then on it gets the orders of the case.
pub(super) async fn expect<C: Channel>(running: &mut RunningCase<'_, C>, within: Option<Duration>) -> StepResult {
    let deadline = Instant::now() + running.after_act(within.unwrap_or(running.limits.answer));
    let awaited = running.logins;
    let started = |running: &RunningCase<'_, C>| {
        let state = running.channel.state();
        state.logins.len() > awaited || state.over
    };
    running.until(deadline, started).await;
    let Some(&start) = running.channel.state().logins.get(awaited) else { return instead(running) };
    running.logins += 1;
    running.login = Some(start);
    if start.on_terminal {
        return StepResult { events: vec![start.n], ..StepResult::new(StepKind::Login, Outcome::Done) };
    }
    missed(vec![start.n], Observed::LoginOutsideTerminal)
}

/// Returns the result when no login came. A client that called `authenticate` for it has shown what it does instead.
fn instead<C: Channel>(running: &RunningCase<'_, C>) -> StepResult {
    let logins: Vec<TerminalLogin> = running.case.tester.auth_methods.iter().filter_map(TerminalLogin::of).collect();
    let called = running.inbox.messages.iter().find(|seen| {
        let method = seen.value.pointer("/params/methodId").and_then(Value::as_str);
        seen.value.get("method").is_some_and(|name| name == "authenticate")
            && logins.iter().any(|login| method == Some(&login.id))
    });
    match called {
        Some(seen) if running.logins == 0 => {
            let report = missed(vec![seen.n], Observed::AuthenticateInstead);
            StepResult { outcome: Outcome::Contradicted, ..report }
        }
        _ => missed(Vec::new(), Observed::Nothing),
    }
}

fn missed(events: Vec<usize>, observed: Observed) -> StepResult {
    let (expected, observed) = (Some(Expected::TerminalLogin), Some(observed));
    StepResult { events, expected, observed, ..StepResult::new(StepKind::Login, Outcome::Missed) }
}

/// Gives an order to a running login.
pub(super) fn order<C: Channel>(
    running: &mut RunningCase<'_, C>,
    login: LoginStart,
    order: &AgentProcess,
) -> StepResult {
    let connection = login.connection;
    match order {
        AgentProcess::Stdout(text) | AgentProcess::Stderr(text) => {
            let text = text.render(&running.bindings).into_bytes();
            running.channel.send(Order::LoginPrint(connection, text));
        }
        AgentProcess::Exit(code) => end(running, connection, Some(*code)),
        AgentProcess::Kill => end(running, connection, None),
        // A login lingers anyway, and its output is the terminal.
        AgentProcess::Linger | AgentProcess::CloseStdout => {}
    }
    StepResult::new(StepKind::Act, Outcome::Done)
}

fn end<C: Channel>(running: &mut RunningCase<'_, C>, connection: usize, code: Option<i32>) {
    running.channel.send(Order::LoginEnd(connection, code));
    running.login = None;
}
