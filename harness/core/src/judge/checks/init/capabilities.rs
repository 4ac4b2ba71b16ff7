//! Area `init`: a capability that the other party did not advertise counts as unsupported.

use serde_json::Value;

use crate::fact;
use crate::judge::check::{Check, On};
use crate::judge::checks::support::Finish;
use crate::judge::conversation::Conversation;
use crate::judge::moment::Moment;
use crate::judge::ruling::Ruling;
use crate::judge::seen::{Answer, CallSeen, UpdateSeen};
use crate::wire::Members;

pub(in crate::judge::checks) const CHECKS: &[Check] = &[
    Check::agent(
        "init.omitted-is-unsupported.agent",
        On::Call(|moment, call, ruling| agent_call(moment, call, Omission::Omitted, ruling)),
    )
    .only(&["fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create"]),
    Check::agent(
        "init.omitted-is-unsupported.agent",
        On::Update(|moment, update, ruling| agent_update(moment, update, Omission::Omitted, ruling)),
    )
    .only(&["notice", "compaction_update", "compaction_summary_chunk"]),
    Check::agent(
        "init.omitted-is-unsupported.agent",
        On::Response(|moment, answer, ruling| respected(moment, answer, Omission::Omitted, ruling)),
    )
    .only(&["session/prompt"]),
    Check::agent(
        "init.null-is-unsupported.agent",
        On::Call(|moment, call, ruling| agent_call(moment, call, Omission::Null, ruling)),
    )
    .only(&["fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create"]),
    Check::agent(
        "init.null-is-unsupported.agent",
        On::Update(|moment, update, ruling| agent_update(moment, update, Omission::Null, ruling)),
    )
    .only(&["notice", "compaction_update", "compaction_summary_chunk"]),
    Check::agent(
        "init.null-is-unsupported.agent",
        On::Response(|moment, answer, ruling| respected(moment, answer, Omission::Null, ruling)),
    )
    .only(&["session/prompt"]),
    Check::client(
        "init.omitted-is-unsupported.client",
        On::Call(|moment, call, ruling| client_call(moment, call, Omission::Omitted, ruling)),
    ),
    Check::client(
        "init.omitted-is-unsupported.client",
        On::ReceivedResponse(|moment, answer, ruling| client_respected(moment, answer, Omission::Omitted, ruling)),
    )
    .only(&["session/prompt"]),
    Check::client(
        "init.null-is-unsupported.client",
        On::Call(|moment, call, ruling| client_call(moment, call, Omission::Null, ruling)),
    ),
    Check::client(
        "init.null-is-unsupported.client",
        On::ReceivedResponse(|moment, answer, ruling| client_respected(moment, answer, Omission::Null, ruling)),
    )
    .only(&["session/prompt"]),
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
fn agent_update(moment: &Moment<'_>, update: &UpdateSeen<'_>, how: Omission, ruling: &mut Ruling<'_>) {
    uses(moment, UPDATES, update.variant, how, ruling);
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
    needs.extend(talk.edition.adapter.capability_of(call.method).map(|path| (call.method.to_owned(), path)));
    needs
}

/// "All capabilities omitted … as UNSUPPORTED" also applies to the agent's capabilities: the schema's defaults are off.
///
/// Correct but unusual: empty lists of servers and directories, which need no capability, and kinds that no schema contains.
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

/// Exercised by a turn although the agent had left out a capability for the content of prompts or sessions.
fn client_respected(moment: &Moment<'_>, answer: &Answer<'_>, how: Omission, ruling: &mut Ruling<'_>) {
    let left_out = KINDS.iter().any(|(_, path)| left_out_by_agent(moment.talk, path) == Some(how));
    if left_out && answer.result_of("session/prompt").is_some() {
        ruling.pass();
    }
}
