//! The requirements to use only what the other party advertises: one check over the table of capabilities, with a row
//! for each.
//!
//! The capabilities in `initialize` of the same connection count. Before that, and in a recording without it, they are
//! unknown. What a party advertises proves nothing about its respect for what it lacks: a use passes nothing. A turn
//! that does the same by other means passes, and so does a case whose user asks for what is missing.
//!
//! Correct but unusual: an agent that accesses files and commands directly, or by an extension whose methods have other
//! names; a client that forgets its own credentials when its user logs out; an empty list of servers or directories,
//! and transports of other names.

use serde_json::Value;

use super::common::OPENING;
use super::fs::agent::turn_did;
use super::{Check, CheckContext, On, with};
use crate::conversation::{Answer, CallSeen, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature::{
    self, Content, Elicitation, McpServer, Member, Method, SystemPromptMode, ToolContent, Update,
};
use crate::requirement::Party;
use crate::wire::Members;

const READ: Feature<'_> = Method("fs/read_text_file");
const WRITE: Feature<'_> = Method("fs/write_text_file");
const TERMINAL: Feature<'_> = Method("terminal/");

const COMPACTION: &[Feature<'_>] = &[Update("compaction_update"), Update("compaction_summary_chunk")];

/// "The client must advertise this capability before the agent sends subagent updates or session-directed messages."
const SUBAGENTS: &[Feature<'_>] =
    &[Update("subagent_update"), Update("session_message"), Update("session_message_chunk")];
const PLANS: &[Feature<'_>] = &[Update("plan_update"), Update("plan_removed")];

const CREATE: &str = "elicitation/create";

pub(super) const CHECKS: &[Check] = &[
    // "If `sessionCapabilities.close` is not present, the Agent does not support closing sessions and Clients MUST NOT
    // attempt to call `session/close`", and so for the others.
    Check::client("load.gate", On::Call(with!(call_gate, &[Method("session/load")]))).only(&["session/load"]).alone(),
    Check::client("resume.gate", On::Call(with!(call_gate, &[Method("session/resume")])))
        .only(&["session/resume"])
        .alone(),
    Check::client("close.gate", On::Call(with!(call_gate, &[Method("session/close")])))
        .only(&["session/close"])
        .alone(),
    Check::client("list.gate", On::Call(with!(call_gate, &[Method("session/list")]))).only(&["session/list"]).alone(),
    Check::client("delete.gate", On::Call(with!(call_gate, &[Method("session/delete")])))
        .only(&["session/delete"])
        .alone(),
    Check::client("auth.logout.gate", On::Call(with!(call_gate, &[Method("logout")]))).only(&["logout"]).alone(),
    // "Omitted and `null` are equivalent and mean the agent does not support the `session/*` methods."
    Check::client("session.gate", On::Call(with!(call_gate, &[Method("session/")]))).alone(),
    // "Clients MUST only send `additionalDirectories` when the Agent advertises
    // `sessionCapabilities.additionalDirectories`."
    Check::client("dirs.gate", On::Call(with!(call_gate, &[Member("additionalDirectories")]))).only(OPENING).alone(),
    // "Clients MUST only send this when the Agent advertises `sessionCapabilities.systemPrompt`."
    Check::client("system-prompt.gate", On::Call(with!(call_gate, &[Member("systemPrompt")]))).only(OPENING).alone(),
    Check::client("system-prompt.override-gate", On::Call(override_gate)).only(OPENING).alone(),
    // "Before using HTTP or SSE transports, Clients MUST verify the Agent's capabilities during initialization."
    Check::client("mcp.http.gate", On::Call(with!(call_gate, &[McpServer("http")]))).only(OPENING).alone(),
    Check::client("mcp.sse.gate", On::Call(with!(call_gate, &[McpServer("sse")]))).only(OPENING).alone(),
    Check::client("mcp.gate", On::Call(with!(call_gate, &[McpServer("stdio"), McpServer("http")])))
        .only(OPENING)
        .alone(),
    // "Clients MUST restrict types of content according to the Prompt Capabilities established during initialization."
    Check::client("prompt.image-gate", On::Call(with!(call_gate, &[Content("image")])))
        .only(&["session/prompt"])
        .alone(),
    Check::client("prompt.audio-gate", On::Call(with!(call_gate, &[Content("audio")])))
        .only(&["session/prompt"])
        .alone(),
    Check::client("prompt.embedded-gate", On::Call(with!(call_gate, &[Content("resource")])))
        .only(&["session/prompt"])
        .alone(),
    Check::client(
        "prompt.content-gate",
        On::Call(with!(call_gate, &[Content("image"), Content("audio"), Content("resource")])),
    )
    .only(&["session/prompt"])
    .alone(),
    // "If `readTextFile` or `writeTextFile` is `false` or not present, the Agent MUST NOT attempt to call …"
    Check::agent("fs.read.capability", On::Call(with!(call_gate, &[READ]))).only(&["fs/read_text_file"]).alone(),
    Check::agent("fs.read.capability", On::Response(with!(did_without, READ, "read"))).only(&["session/prompt"]),
    Check::agent("fs.write.capability", On::Call(with!(call_gate, &[WRITE]))).only(&["fs/write_text_file"]).alone(),
    Check::agent("fs.write.capability", On::Response(with!(did_without, WRITE, "edit"))).only(&["session/prompt"]),
    // "If `terminal` is `false` or not present, the Agent MUST NOT attempt to call any terminal methods."
    Check::agent("terminal.capability", On::Call(with!(call_gate, &[TERMINAL]))).alone(),
    Check::agent("terminal.capability", On::Response(with!(did_without, TERMINAL, "execute")))
        .only(&["session/prompt"]),
    Check::agent("elicit.form-gate", On::Call(with!(mode_gate, "form"))).only(&[CREATE]).alone(),
    Check::agent("elicit.url-gate", On::Call(with!(mode_gate, "url"))).only(&[CREATE]).alone(),
    // "Agents MUST only send notices when the Client advertised the `session.notices` Client capability", and so for
    // compactions.
    Check::agent("notice.gate", On::Update(with!(update_gate, &[Update("notice")]))).only(&["notice"]).alone(),
    Check::agent("compaction.gate", On::Update(with!(update_gate, COMPACTION)))
        .only(&["compaction_update", "compaction_summary_chunk"])
        .alone(),
    Check::agent("subagent.gate", On::Update(with!(update_gate, SUBAGENTS)))
        .only(&["subagent_update", "session_message", "session_message_chunk"])
        .alone(),
    Check::agent("subagent.content-gate", On::Update(tool_content_gate))
        .only(&["tool_call", "tool_call_update"])
        .alone(),
    // "Capabilities for receiving `plan_update` and `plan_removed` session updates."
    Check::agent("plan.update-gate", On::Update(with!(update_gate, PLANS)))
        .only(&["plan_update", "plan_removed"])
        .alone(),
];

/// Returns what a call uses that may depend on a capability, each with the place of its use.
pub(super) fn used_by<'m>(call: &CallSeen<'m>) -> Vec<(Feature<'m>, &'static str)> {
    let member = |name: &str| call.params.and_then(|params| params.member(name));
    let list = |name: &str| member(name).and_then(Value::as_array).into_iter().flatten();
    let types = |name: &str| list(name).filter_map(|part| part.text("type"));
    let mut used = vec![(Method(call.method), "/method")];
    match call.method {
        "session/prompt" => used.extend(types("prompt").map(|kind| (Content(kind), "/params/prompt"))),
        CREATE => used.extend(call.text("mode").map(|mode| (Elicitation(mode), "/params/mode"))),
        _ => used.extend(types("mcpServers").map(|transport| (McpServer(transport), "/params/mcpServers"))),
    }
    if list("additionalDirectories").next().is_some() {
        used.push((Member("additionalDirectories"), "/params/additionalDirectories"));
    }
    if let Some(prompt) = member("systemPrompt").filter(|prompt| !prompt.is_null()) {
        used.push((Member("systemPrompt"), "/params/systemPrompt"));
        let mode = prompt.text("mode");
        used.extend(mode.map(|mode| (SystemPromptMode(mode), "/params/systemPrompt/mode")));
    }
    used
}

/// Fails each of these features that a call uses without its capability.
fn call_gate(ctx: &CheckContext<'_>, call: &CallSeen<'_>, gated: &[Feature<'static>], ruling: &mut Ruling<'_>) {
    for (feature, pointer) in used_by(call) {
        // A method that only drafts define may need another capability.
        if call.known || !matches!(feature, Method(_)) {
            decide(ctx, gated, feature, (call.method, pointer), ruling);
        }
    }
}

/// "MUST only use it when the Agent advertises `sessionCapabilities.systemPrompt.mode.override`." Without any support
/// of system prompts, the whole member is the mistake.
fn override_gate(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if ctx.conversation.agent_has(Member("systemPrompt")) {
        call_gate(ctx, call, &[SystemPromptMode("override")], ruling);
    }
}

/// Fails an update without its capability.
fn update_gate(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, gated: &[Feature<'static>], ruling: &mut Ruling<'_>) {
    decide(ctx, gated, Update(update.variant), ("session/update", "/params/update/sessionUpdate"), ruling);
}

/// Fails a reference to a session in the content of a tool call without its capability.
fn tool_content_gate(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let content = update.body.list("content").iter();
    for (at, item) in content.enumerate() {
        if let Some(kind) = item.text("type") {
            let pointer = format!("/params/update/content/{at}/type");
            decide(ctx, &[ToolContent("session")], ToolContent(kind), ("session/update", &pointer), ruling);
        }
    }
}

/// Fails a mode that the client lacks, and passes the choice of another one.
///
/// Correct but unusual: an agent that uses a mode of its own, which begins with `_`, with a client that knows it.
fn mode_gate(ctx: &CheckContext<'_>, call: &CallSeen<'_>, mode: &'static str, ruling: &mut Ruling<'_>) {
    if call.text_of(CREATE, "mode").is_some_and(|used| used != mode) && ctx.conversation.client_lacks(Elicitation(mode))
    {
        ruling.pass();
    }
    call_gate(ctx, call, &[Elicitation(mode)], ruling);
}

/// Passes a turn that did by other means what needs a capability that the client lacks.
fn did_without(ctx: &CheckContext<'_>, answer: &Answer<'_>, feature: Feature<'_>, kind: &str, ruling: &mut Ruling<'_>) {
    if ctx.conversation.client_lacks(feature) && turn_did(ctx, answer, kind) {
        ruling.pass();
    }
}

/// Fails the use of a feature in a message of `method`, if it is one of `gated` and the other party did not advertise
/// the capability for it.
fn decide(
    ctx: &CheckContext<'_>,
    gated: &[Feature<'static>],
    used: Feature<'_>,
    (method, pointer): (&str, &str),
    ruling: &mut Ruling<'_>,
) {
    let (party, other) = (ctx.from, ctx.from.other());
    let needed = ctx.conversation.edition.adapter.capability(other, used);
    let Some(needed) = needed.filter(|needed| gated.contains(&needed.feature)) else { return };
    let is_lacking = match other {
        Party::Agent => ctx.conversation.agent_lacks(used),
        Party::Client => ctx.conversation.client_lacks(used),
    };
    let Some((n, _)) = ctx.conversation.introduced(other).filter(|_| is_lacking) else { return };
    let capability = needed.name();
    let used = match used {
        Method(_) => method.to_owned(),
        _ => format!("{used} in {method}"),
    };
    if ctx.conversation.deliberate.contains(n) {
        ruling.proved_by(&[*n]).inconclusive(fact!(
            "not-in-deliberate-initialize",
            "the {party} sent {used}; the capability {capability} is missing in a deliberately wrong message of the \
            {other}",
            party, used, capability, other;
            method = method, pointer = pointer
        ));
    } else {
        ruling.proved_by(&[*n]).fail(fact!(
            "not-advertised",
            "the {party} sent {used}; expected it only if the {other} advertises {capability}",
            party, used, other, capability;
            method = method, pointer = pointer
        ));
    }
}
