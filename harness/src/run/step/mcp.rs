//! The step that awaits a message to an MCP server of the tester.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::case::Bindings;
use crate::case::model::{McpCheck, Presence};
use crate::run::case::inbox::Received;
use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::Channel;
use crate::run::tester::{McpMessage, tool_name};
use crate::run::timing::{FIRST_OF_SERVER, SILENT_SERVERS, WANTED_SERVER};
use crate::trace::{CALL_MCP_TOOL, Expected, Observed, Outcome, StepKind, What};
use crate::wire::Envelope;

/// Waits for a message to a server.
pub(super) async fn expect<C: Channel>(
    running: &mut RunningCase<'_, C>,
    check: &McpCheck,
    within: Option<Duration>,
) -> StepResult {
    // After an unmet step it decides nothing, so it does not wait.
    let limit = if running.unmet.is_some() { Duration::ZERO } else { within.unwrap_or(running.limits.answer) };
    let deadline = Instant::now() + limit;
    let patience = if running.subject.servers.are_silent() {
        SILENT_SERVERS
    } else {
        // A program starts its servers about as fast as itself; the rest of the time is for a loaded machine.
        let start = running.channel.state().recorder.first_answer().unwrap_or(limit);
        let least = if check.presence == Presence::Optional { SILENT_SERVERS } else { WANTED_SERVER };
        (FIRST_OF_SERVER * start).max(least)
    };
    let soon = Instant::now() + patience;
    loop {
        if let Some(n) = take(running, check) {
            running.subject.servers.note(true);
            return StepResult { events: vec![n], ..StepResult::new(StepKind::Mcp, Outcome::Done) };
        }
        // Without an attempt to call a tool the rest of the time decides nothing.
        let until = if attempts(running, &check.server).is_empty() { soon.min(deadline) } else { deadline };
        if running.channel.state().over || !running.next(until).await {
            let is_whole = Instant::now() >= until && !limit.is_zero();
            let is_heard = !running.channel.state().mcp.messages.is_empty();
            if is_whole || is_heard {
                running.subject.servers.note(is_heard);
            }
            return never_came(running, check).await;
        }
    }
}

/// Takes the first message that fits and that no earlier step has taken. If several methods fit, the message stays for
/// later steps.
fn take<C: Channel>(running: &mut RunningCase<'_, C>, check: &McpCheck) -> Option<usize> {
    let messages = &running.channel.state().mcp.messages;
    let fresh = |message: &&McpMessage| !running.mcp_taken.contains(&message.n);
    let bindings = &mut running.bindings;
    let n = messages.iter().filter(fresh).find(|message| fits(message, check, bindings))?.n;
    if check.methods.len() == 1 {
        running.mcp_taken.insert(n);
    }
    Some(n)
}

fn fits(message: &McpMessage, check: &McpCheck, bindings: &mut Bindings) -> bool {
    let Envelope::Call(call) = Envelope::of(&message.value) else { return false };
    let params = call.params.unwrap_or(&Value::Null);
    message.server == check.server
        && check.methods.iter().any(|method| method == call.method)
        && check.params.as_ref().is_none_or(|wanted| wanted.matches(params, bindings, false).is_ok())
}

/// Returns the result when no message came. A fence distinguishes an agent that omits the message from one that hangs.
async fn never_came<C: Channel>(running: &mut RunningCase<'_, C>, check: &McpCheck) -> StepResult {
    let expected = Some(Expected::McpMessage { server: check.server.clone(), methods: check.methods.clone() });
    let observed = Some(Observed::McpMessages(methods_of(&running.channel.state().mcp.messages, check)));
    let report = |outcome| StepResult { expected, observed, ..StepResult::new(StepKind::Mcp, outcome) };
    if check.presence == Presence::Optional || running.unmet.is_some() {
        return report(Outcome::Missed);
    }
    if running.channel.state().mcp.lost {
        // The message may be among those that did not fit into the trace.
        return StepResult { observed: Some(Observed::McpMessagesLost), ..report(Outcome::Missed) };
    }
    let fence = running.fence(running.limits.turn).await;
    let events = naming(running).into_iter().chain(attempts(running, &check.server)).chain(fence.events).collect();
    match fence.outcome {
        Outcome::Done => StepResult { events, ..report(Outcome::Contradicted) },
        outcome => StepResult { observed: fence.observed, ..report(outcome) },
    }
}

/// Returns the event of the last request that named MCP servers.
fn naming<C: Channel>(running: &RunningCase<'_, C>) -> Option<usize> {
    let names = |params: &Value| params.get("mcpServers").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    running.inbox.requests.values().filter(|asked| names(&asked.params)).map(|asked| asked.n).max()
}

/// Returns the events since the last prompt in which the agent's model called a tool, or the agent reported a call of
/// the server's tool or asked permission for it.
fn attempts<C: Channel>(running: &RunningCase<'_, C>, server: &str) -> Vec<usize> {
    let prompts = running.inbox.requests.values().filter(|asked| asked.method == "session/prompt");
    let Some(prompt) = prompts.max_by_key(|asked| asked.n) else { return Vec::new() };
    let called = |what: &What| matches!(what, What::Model(model) if model.has_called(CALL_MCP_TOOL));
    let of_model = running.channel.state().recorder.events()[prompt.n..]
        .iter()
        .filter(|event| called(&event.what))
        .map(|event| event.n);
    of_model.chain(reports(&running.inbox.messages[prompt.from..], &tool_name(server))).collect()
}

/// Returns the messages that report a call of this tool, or ask permission for it. A call that reads, searches or runs
/// a command may mention the tool without calling it.
fn reports(inbox: &[Received], tool: &str) -> Vec<usize> {
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

/// Returns the tool call that a message is about.
fn tool_call(message: &Value) -> Option<&Value> {
    let update = message.pointer("/params/update");
    let reports = |update: &&Value| {
        let variant = update.get("sessionUpdate").and_then(Value::as_str);
        variant.is_some_and(|variant| matches!(variant, "tool_call" | "tool_call_update"))
    };
    update.filter(reports).or_else(|| message.pointer("/params/toolCall"))
}

/// Whether the title of a tool call contains the name of the tool, in any spelling, or a member of its input is the
/// name.
fn names(call: &Value, tool: &str) -> bool {
    let plain =
        |text: &str| -> String { text.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect() };
    let tool = plain(tool);
    let input = call.get("rawInput").and_then(Value::as_object).into_iter().flatten();
    call.get("title").and_then(Value::as_str).is_some_and(|title| plain(title).contains(&tool))
        || input.filter_map(|(_, value)| value.as_str()).any(|text| plain(text) == tool)
}

/// Returns the methods of the messages that the server got, each once.
fn methods_of(messages: &[McpMessage], check: &McpCheck) -> Vec<String> {
    let mut methods: Vec<String> = Vec::new();
    for message in messages.iter().filter(|message| message.server == check.server) {
        if let Envelope::Call(call) = Envelope::of(&message.value)
            && !methods.iter().any(|method| method == call.method)
        {
            methods.push(call.method.to_owned());
        }
    }
    methods
}
