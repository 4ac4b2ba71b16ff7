//! Area `init`: a capability that the other party did not advertise counts as unsupported.

use serde_json::Value;

use crate::areas::support::Finish;
use crate::areas::{Check, Moment, On};
use crate::conversation::{Answer, CallSeen, Conversation, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent(
        "init.omitted-is-unsupported.agent",
        On::Call(|moment, call, ruling| agent_call(moment, call, Omission::Omitted, ruling)),
    )
    .alone()
    .only(&["fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create"]),
    Check::agent(
        "init.omitted-is-unsupported.agent",
        On::Update(|moment, update, ruling| agent_update(moment, update, Omission::Omitted, ruling)),
    )
    .alone()
    .only(GATED_UPDATES),
    Check::agent(
        "init.omitted-is-unsupported.agent",
        On::Response(|moment, answer, ruling| respected(moment, answer, Omission::Omitted, ruling)),
    )
    .only(&["session/prompt"]),
    Check::agent(
        "init.null-is-unsupported.agent",
        On::Call(|moment, call, ruling| agent_call(moment, call, Omission::Null, ruling)),
    )
    .alone()
    .only(&["fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create"]),
    Check::agent(
        "init.null-is-unsupported.agent",
        On::Update(|moment, update, ruling| agent_update(moment, update, Omission::Null, ruling)),
    )
    .alone()
    .only(GATED_UPDATES),
    Check::agent(
        "init.null-is-unsupported.agent",
        On::Response(|moment, answer, ruling| respected(moment, answer, Omission::Null, ruling)),
    )
    .only(&["session/prompt"]),
    Check::client(
        "init.omitted-is-unsupported.client",
        On::Call(|moment, call, ruling| client_call(moment, call, Omission::Omitted, ruling)),
    )
    .alone(),
    Check::client(
        "init.null-is-unsupported.client",
        On::Call(|moment, call, ruling| client_call(moment, call, Omission::Null, ruling)),
    )
    .alone(),
];

/// The kinds of [`UPDATES`] and [`NEWER_UPDATES`].
const GATED_UPDATES: &[&str] = &[
    "notice",
    "compaction_update",
    "compaction_summary_chunk",
    "plan_update",
    "plan_removed",
    "subagent_update",
    "session_message",
    "session_message_chunk",
];

/// The way in which a party left a capability out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Omission {
    /// The member, or one above it, is missing.
    Omitted,
    /// The member, or one above it, is null.
    Null,
}

impl Omission {
    /// Returns the words for a sentence: the capability is …
    const fn words(self) -> &'static str {
        match self {
            Self::Omitted => "missing",
            Self::Null => "null",
        }
    }
}

/// The methods that need a capability of the client.
const CALLS: &[(&str, &[&str])] = &[
    ("fs/read_text_file", &["fs", "readTextFile"]),
    ("fs/write_text_file", &["fs", "writeTextFile"]),
    ("terminal/create", &["terminal"]),
    ("elicitation/create", &["elicitation"]),
];

/// The updates that need a capability of the client.
const UPDATES: &[(&str, &[&str])] = &[
    ("notice", &["session", "notices"]),
    ("compaction_update", &["session", "compaction"]),
    ("compaction_summary_chunk", &["session", "compaction"]),
];

/// Updates that only newer revisions and drafts define, and that those bind to a capability of the client: "Agents MUST NOT send this
/// update unless the Client advertised `plan`", "Agents MUST only send this update when the Client advertised the `subagents` Client
/// capability".
const NEWER_UPDATES: &[(&str, &[&str])] = &[
    ("plan_update", &["plan"]),
    ("plan_removed", &["plan"]),
    ("subagent_update", &["subagents"]),
    ("session_message", &["subagents"]),
    ("session_message_chunk", &["subagents"]),
];

/// Whether a party names something like the capability anywhere among its capabilities: drafts had other names and places.
fn has_like(capabilities: Option<&Value>, path: &[&str]) -> bool {
    fn names(value: &Value, word: &str) -> bool {
        let members = value.as_object().into_iter().flatten();
        members.into_iter().any(|(name, value)| name.to_lowercase().contains(word) || names(value, word))
    }
    let word = path.last().map_or("", |name| name.trim_end_matches('s')).to_lowercase();
    capabilities.is_some_and(|all| names(all, &word))
}

/// Returns how the client left the capability out: `None` if it sent a value for it.
fn left_out(talk: &Conversation, path: &[&str]) -> Option<Omission> {
    let said = talk.initialize.as_ref().filter(|(n, _)| !talk.deliberate.contains(n) && !talk.is_foreign());
    omission(&said?.1, "clientCapabilities", path)
}

/// As above, for the agent.
fn left_out_by_agent(talk: &Conversation, path: &[&str]) -> Option<Omission> {
    let said = talk.initialized.as_ref().filter(|(n, _)| !talk.deliberate.contains(n) && !talk.is_foreign());
    omission(&said?.1, "agentCapabilities", path)
}

fn omission(said: &Value, root: &str, path: &[&str]) -> Option<Omission> {
    let mut value = said;
    for key in [&[root], path].concat() {
        match value.member(key) {
            None => return Some(Omission::Omitted),
            Some(Value::Null) => return Some(Omission::Null),
            Some(inner) => value = inner,
        }
    }
    None
}

fn uses(moment: &Moment<'_>, table: &[(&str, &[&str])], name: &str, how: Omission, ruling: &mut Ruling<'_>) {
    let needed = table.iter().find(|(known, _)| *known == name);
    if let Some((_, path)) = needed.filter(|(_, path)| left_out(moment.talk, path) == Some(how)) {
        let proof = moment.talk.initialize.as_ref().map(|(n, _)| *n);
        let fact = fact!(
            "unsupported-by-client",
            "the agent sent {used}, and the capability `{capability}` is {omission} in the client's initialize",
            used = name,
            capability = path.join("."),
            omission = how.words()
        );
        ruling.fail(fact, proof.as_slice());
    }
}

/// "Clients and Agents MUST treat all capabilities omitted in the initialize request as UNSUPPORTED"; null counts as absent.
///
/// Correct but unusual: an agent that accesses files and commands directly; and a client of another version, whose capabilities
/// have other names.
fn agent_call(moment: &Moment<'_>, call: &CallSeen<'_>, how: Omission, ruling: &mut Ruling<'_>) {
    uses(moment, CALLS, call.method, how, ruling);
}

/// As above, for updates.
///
/// Correct but unusual: a client with the capability of an earlier draft, or one in `_meta`.
fn agent_update(moment: &Moment<'_>, update: &UpdateSeen<'_>, how: Omission, ruling: &mut Ruling<'_>) {
    uses(moment, UPDATES, update.variant, how, ruling);
    let newer = NEWER_UPDATES.iter().find(|(kind, _)| *kind == update.variant);
    let params = moment.talk.initialize.as_ref().map(|(_, params)| params);
    let capabilities = params.and_then(|params| moment.talk.edition.adapter.client_capabilities(params));
    if newer.is_some_and(|(_, path)| how == Omission::Null || !has_like(capabilities, path)) {
        uses(moment, NEWER_UPDATES, update.variant, how, ruling);
    }
}

/// Exercised by a turn that used tools although the client had left a capability out.
fn respected(moment: &Moment<'_>, answer: &Answer<'_>, how: Omission, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(moment, answer) else { return };
    // Nearly every client leaves elicitation out, so that proves nothing; a null is deliberate.
    let telling = if how == Omission::Null { CALLS } else { &CALLS[..3] };
    let left_out = telling.iter().any(|(_, path)| left_out(moment.talk, path) == Some(how));
    if left_out && finish.reason().is_some() && !finish.turn.tools.is_empty() {
        ruling.pass();
    }
}

/// The capabilities of the agent for the content of prompts and sessions: name of the kind, and path.
const KINDS: &[(&str, &[&str])] = &[
    ("image", &["promptCapabilities", "image"]),
    ("audio", &["promptCapabilities", "audio"]),
    ("resource", &["promptCapabilities", "embeddedContext"]),
    ("http", &["mcpCapabilities", "http"]),
    ("sse", &["mcpCapabilities", "sse"]),
];

/// The capability for the member `systemPrompt`, which only newer revisions and drafts define: "Clients MUST only send this when the
/// Agent advertises `sessionCapabilities.systemPrompt`".
const SYSTEM_PROMPT: &[&str] = &["sessionCapabilities", "systemPrompt"];

/// Returns the capabilities that a call of the client needs: the words for each, and its path.
fn needs(talk: &Conversation, call: &CallSeen<'_>) -> Vec<(String, &'static [&'static str])> {
    let list = |name: &str| call.params.and_then(|params| params.member(name)?.as_array()).into_iter().flatten();
    let parts = match call.method {
        "session/prompt" => "prompt",
        _ => "mcpServers",
    };
    let kinds = list(parts).filter_map(|part| part.member("type")?.as_str());
    let known = kinds.filter_map(|kind| KINDS.iter().find(|(known, _)| *known == kind));
    let mut needs: Vec<_> = known.map(|(kind, path)| (format!("{kind} in {parts}"), *path)).collect();
    if list("additionalDirectories").next().is_some() {
        needs.push(("additionalDirectories".to_owned(), &["sessionCapabilities", "additionalDirectories"]));
    }
    let result = talk.initialized.as_ref().map(|(_, result)| result);
    let capabilities = result.and_then(|result| talk.edition.adapter.agent_capabilities(result));
    let has_system_prompt =
        call.params.and_then(|params| params.member("systemPrompt")).is_some_and(|it| !it.is_null());
    if has_system_prompt && !has_like(capabilities, SYSTEM_PROMPT) {
        needs.push(("systemPrompt".to_owned(), SYSTEM_PROMPT));
    }
    needs.extend(talk.edition.adapter.capability_of(call.method).map(|path| (call.method.to_owned(), path)));
    needs
}

/// "All capabilities omitted … as UNSUPPORTED" also applies to the agent's capabilities: the schema's defaults are off. A case whose
/// user wants what is missing passes it.
///
/// Correct but unusual: empty lists of servers and directories, which need no capability, and kinds that no schema contains; and an
/// agent with the capability of an earlier draft, or one in `_meta`.
fn client_call(moment: &Moment<'_>, call: &CallSeen<'_>, how: Omission, ruling: &mut Ruling<'_>) {
    let proof = moment.talk.initialized.as_ref().map(|(n, _)| *n);
    for (what, path) in needs(moment.talk, call) {
        if left_out_by_agent(moment.talk, path) == Some(how) {
            let fact = fact!(
                "unsupported-by-agent",
                "the client sent {used}, and the capability `{capability}` is {omission} in the agent's answer to initialize",
                used = what,
                capability = path.join("."),
                omission = how.words();
                method = call.method
            );
            ruling.fail(fact, proof.as_slice());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gated_updates_are_those_of_the_tables() {
        let kinds: Vec<&str> = UPDATES.iter().chain(NEWER_UPDATES).map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, GATED_UPDATES);
    }
}
