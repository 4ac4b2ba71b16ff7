//! The step that awaits a message to an MCP server of the tester.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::Heard;
use crate::case::Bindings;
use crate::case::model::{McpLook, Presence};
use crate::run::script::{Report, Script};
use crate::trace::{Outcome, StepKind};
use crate::wire::Envelope;

/// Waits for a message to a server.
pub(in crate::run) async fn message(script: &mut Script<'_>, look: &McpLook, within: Option<Duration>) -> Report {
    // Behind something that was hoped for in vain it decides nothing, and is not worth a wait.
    let limit = if script.missed.is_some() { Duration::ZERO } else { within.unwrap_or(script.limits.answer) };
    let deadline = Instant::now() + limit;
    loop {
        if let Some(n) = take(script, look) {
            return Report { events: vec![n], ..Report::new(StepKind::Mcp, Outcome::Done) };
        }
        if script.driver.over() || !script.driver.step(deadline).await {
            return never_came(script, look).await;
        }
    }
}

/// Takes the first message that fits and that no step before has taken.
fn take(script: &mut Script<'_>, look: &McpLook) -> Option<usize> {
    let bindings = &mut script.bindings;
    let heard = script.driver.mcp.heard.iter_mut().find(|heard| !heard.taken && fits(heard, look, bindings))?;
    heard.taken = true;
    Some(heard.n)
}

fn fits(heard: &Heard, look: &McpLook, bindings: &mut Bindings) -> bool {
    let Envelope::Call(call) = Envelope::of(&heard.value) else { return false };
    let params = call.params.unwrap_or(&Value::Null);
    heard.server == look.server
        && call.method == look.method
        && look.params.as_ref().is_none_or(|wanted| wanted.matches(params, bindings, false).is_ok())
}

/// What to say when nothing came: a sign of life tells an agent that leaves it out from one that is stuck.
async fn never_came(script: &mut Script<'_>, look: &McpLook) -> Report {
    let expected = format!("the MCP message {} to the server `{}`", look.method, look.server);
    let seen = what_came(&script.driver.mcp.heard, look);
    let report = |outcome| Report { expected, seen, ..Report::new(StepKind::Mcp, outcome) };
    if look.presence == Presence::Hope || script.missed.is_some() {
        return report(Outcome::Missed);
    }
    if script.driver.mcp.lost {
        // The message may be among those that the trace has no room for.
        let seen = "its MCP servers got more messages than the trace has room for".to_owned();
        return Report { seen, ..report(Outcome::Missed) };
    }
    let fence = script.fence(script.limits.turn).await;
    let events = naming(script).into_iter().chain(fence.events).collect();
    match fence.outcome {
        Outcome::Done => Report { events, ..report(Outcome::Contradicted) },
        outcome => Report { seen: fence.seen, ..report(outcome) },
    }
}

/// The event of the last request that named MCP servers.
fn naming(script: &Script<'_>) -> Option<usize> {
    let names = |params: &Value| params.get("mcpServers").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    script.driver.asked.values().filter(|asked| names(&asked.params)).map(|asked| asked.n).max()
}

/// What a server was told instead.
fn what_came(heard: &[Heard], look: &McpLook) -> String {
    let mut methods: Vec<&str> = Vec::new();
    for heard in heard.iter().filter(|heard| heard.server == look.server) {
        if let Envelope::Call(call) = Envelope::of(&heard.value)
            && !methods.contains(&call.method)
        {
            methods.push(call.method);
        }
    }
    match methods.as_slice() {
        [] => "it got none at all before the time limit".to_owned(),
        methods => format!("before the time limit it got only {}", methods.join(", ")),
    }
}
