//! The step that awaits a message to an MCP server of the tester.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::{Heard, protocol};
use crate::case::Bindings;
use crate::case::model::{McpLook, Presence};
use crate::run::driver::Seen;
use crate::run::script::{Report, Script};
use crate::trace::{CALL_MCP_TOOL, Expected, Observed, Outcome, StepKind, What};
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

/// Takes the first message that fits and that no step before has taken. Where several methods will do, it stays for the
/// steps below.
fn take(script: &mut Script<'_>, look: &McpLook) -> Option<usize> {
    let bindings = &mut script.bindings;
    let heard = script.driver.mcp.heard.iter_mut().find(|heard| !heard.taken && fits(heard, look, bindings))?;
    heard.taken = look.methods.len() == 1;
    Some(heard.n)
}

fn fits(heard: &Heard, look: &McpLook, bindings: &mut Bindings) -> bool {
    let Envelope::Call(call) = Envelope::of(&heard.value) else { return false };
    let params = call.params.unwrap_or(&Value::Null);
    heard.server == look.server
        && look.methods.iter().any(|method| method == call.method)
        && look.params.as_ref().is_none_or(|wanted| wanted.matches(params, bindings, false).is_ok())
}

/// What to say when nothing came: a sign of life tells an agent that leaves it out from one that is stuck.
async fn never_came(script: &mut Script<'_>, look: &McpLook) -> Report {
    let expected = Some(Expected::McpMessage { server: look.server.clone(), methods: look.methods.clone() });
    let observed = Some(Observed::McpMessages(methods_of(&script.driver.mcp.heard, look)));
    let report = |outcome| Report { expected, observed, ..Report::new(StepKind::Mcp, outcome) };
    if look.presence == Presence::Hope || script.missed.is_some() {
        return report(Outcome::Missed);
    }
    if script.driver.mcp.lost {
        // The message may be among those that the trace has no room for.
        return Report { observed: Some(Observed::McpMessagesLost), ..report(Outcome::Missed) };
    }
    let fence = script.fence(script.limits.turn).await;
    let events = naming(script).into_iter().chain(attempts(script, &look.server)).chain(fence.events).collect();
    match fence.outcome {
        Outcome::Done => Report { events, ..report(Outcome::Contradicted) },
        outcome => Report { observed: fence.observed, ..report(outcome) },
    }
}

/// The event of the last request that named MCP servers.
fn naming(script: &Script<'_>) -> Option<usize> {
    let names = |params: &Value| params.get("mcpServers").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    script.driver.asked.values().filter(|asked| names(&asked.params)).map(|asked| asked.n).max()
}

/// The events since the last prompt in which the agent's model called a tool, or the agent reported a call of the server's
/// tool or asked permission for it.
fn attempts(script: &Script<'_>, server: &str) -> Vec<usize> {
    let driver = &script.driver;
    let prompts = driver.asked.values().filter(|asked| asked.method == "session/prompt");
    let Some(prompt) = prompts.max_by_key(|asked| asked.n) else { return Vec::new() };
    let called = |what: &What| matches!(what, What::Model(model) if model.has_called(CALL_MCP_TOOL));
    let of_model = driver.recorder.events()[prompt.n..].iter().filter(|event| called(&event.what)).map(|event| event.n);
    of_model.chain(reports(&driver.inbox[prompt.from..], &protocol::tool_name(server))).collect()
}

/// The messages that report a call of this tool, or ask permission for it. A call that reads or searches, or that runs a
/// command, may mention the tool without calling it.
fn reports(inbox: &[Seen], tool: &str) -> Vec<usize> {
    let mut others = BTreeSet::new();
    let mut found = Vec::new();
    for seen in inbox {
        let Some(call) = tool_call(&seen.value) else { continue };
        let id = call.get("toolCallId").and_then(Value::as_str).unwrap_or_default();
        if call.get("kind").and_then(Value::as_str).is_some_and(|kind| kind != "other") {
            others.insert(id);
        }
        if !others.contains(id) && names(call, tool) {
            found.push(seen.n);
        }
    }
    found
}

/// The tool call that a message is about.
fn tool_call(message: &Value) -> Option<&Value> {
    let update = message.pointer("/params/update");
    let reports = |update: &&Value| {
        let variant = update.get("sessionUpdate").and_then(Value::as_str);
        variant.is_some_and(|variant| matches!(variant, "tool_call" | "tool_call_update"))
    };
    update.filter(reports).or_else(|| message.pointer("/params/toolCall"))
}

/// Whether the title of a tool call holds the name of the tool, in whatever spelling, or a member of its input is the name.
fn names(call: &Value, tool: &str) -> bool {
    let plain =
        |text: &str| -> String { text.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect() };
    let tool = plain(tool);
    let input = call.get("rawInput").and_then(Value::as_object).into_iter().flatten();
    call.get("title").and_then(Value::as_str).is_some_and(|title| plain(title).contains(&tool))
        || input.filter_map(|(_, value)| value.as_str()).any(|text| plain(text) == tool)
}

/// The methods of the messages that the server got, each once.
fn methods_of(heard: &[Heard], look: &McpLook) -> Vec<String> {
    let mut methods: Vec<String> = Vec::new();
    for heard in heard.iter().filter(|heard| heard.server == look.server) {
        if let Envelope::Call(call) = Envelope::of(&heard.value)
            && !methods.iter().any(|method| method == call.method)
        {
            methods.push(call.method.to_owned());
        }
    }
    methods
}
