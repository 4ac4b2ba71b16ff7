//! Area `init`, second half: what the other party did not advertise counts as unsupported.

use serde_json::Value;

use super::support::Finish;
use crate::judge::check::{Check, On};
use crate::judge::conversation::Conversation;
use crate::judge::moment::{Answer, CallSeen, Moment, UpdateSeen};
use crate::judge::ruling::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("init.omitted-is-unsupported.agent", On::Call(call::<OMITTED>)),
    Check::agent("init.omitted-is-unsupported.agent", On::Update(update::<OMITTED>)),
    Check::agent("init.omitted-is-unsupported.agent", On::Response(respected::<OMITTED>)),
    Check::agent("init.null-is-unsupported.agent", On::Call(call::<NULL>)),
    Check::agent("init.null-is-unsupported.agent", On::Update(update::<NULL>)),
    Check::agent("init.null-is-unsupported.agent", On::Response(respected::<NULL>)),
    Check::client("init.omitted-is-unsupported.client", On::Call(client_call::<OMITTED>)),
    Check::client("init.omitted-is-unsupported.client", On::Received(client_respected::<OMITTED>)),
    Check::client("init.null-is-unsupported.client", On::Call(client_call::<NULL>)),
    Check::client("init.null-is-unsupported.client", On::Received(client_respected::<NULL>)),
];

/// The member, or one above it, is missing.
const OMITTED: bool = false;
/// The member, or one above it, is null.
const NULL: bool = true;

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

/// How the client left the capability out: `Some(NULL)` or `Some(OMITTED)`; none when it said something about it.
fn left_out(talk: &Conversation, path: &[&str]) -> Option<bool> {
    let said = talk.initialize.as_ref().filter(|(n, _)| !talk.deliberate.contains(n) && !talk.is_foreign());
    omission(&said?.1, "clientCapabilities", path)
}

/// As above, for the agent.
fn left_out_by_agent(talk: &Conversation, path: &[&str]) -> Option<bool> {
    let said = talk.initialized.as_ref().filter(|(n, _)| !talk.deliberate.contains(n) && !talk.is_foreign());
    omission(&said?.1, "agentCapabilities", path)
}

fn omission(said: &Value, root: &str, path: &[&str]) -> Option<bool> {
    let mut value = said;
    for key in [&[root], path].concat() {
        match value.get(key) {
            None => return Some(OMITTED),
            Some(Value::Null) => return Some(NULL),
            Some(inner) => value = inner,
        }
    }
    None
}

fn uses<const HOW: bool>(moment: &Moment<'_>, table: &[(&str, &[&str])], name: &str, ruling: &mut Ruling<'_>) {
    let needed = table.iter().find(|(known, _)| *known == name);
    if let Some((_, path)) = needed.filter(|(_, path)| left_out(moment.talk, path) == Some(HOW)) {
        let how = if HOW == NULL { "was null" } else { "was not in the request" };
        let proof = moment.talk.initialize.as_ref().map(|(n, _)| *n);
        ruling.fail(format!("the agent sent {name}, and the capability `{}` {how}", path.join(".")), proof.as_slice());
    }
}

/// "Clients and Agents MUST treat all capabilities omitted in the initialize request as UNSUPPORTED"; null is as absent.
///
/// Correct but unusual: an agent that touches files and commands by itself; and a client that speaks another version, whose
/// capabilities have other names.
fn call<const HOW: bool>(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    uses::<HOW>(moment, CALLS, call.method, ruling);
}

/// As above, for updates.
fn update<const HOW: bool>(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    uses::<HOW>(moment, UPDATES, update.variant, ruling);
}

/// Exercised by a turn that used tools while the client had left something out.
fn respected<const HOW: bool>(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(moment, answer) else { return };
    // Nearly every client leaves elicitation out, and that alone shows nothing; a null is said on purpose.
    let telling = if HOW == NULL { CALLS } else { &CALLS[..3] };
    let left_out = telling.iter().any(|(_, path)| left_out(moment.talk, path) == Some(HOW));
    if left_out && finish.reason().is_some() && !finish.turn.tools.is_empty() {
        ruling.pass();
    }
}

/// The capabilities of the agent for what a prompt or a session may hold: name of the kind, and path.
const KINDS: &[(&str, &[&str])] = &[
    ("image", &["promptCapabilities", "image"]),
    ("audio", &["promptCapabilities", "audio"]),
    ("resource", &["promptCapabilities", "embeddedContext"]),
    ("http", &["mcpCapabilities", "http"]),
    ("sse", &["mcpCapabilities", "sse"]),
];

/// What a call of the client needs the agent to support: the words for it, and the path of the capability.
fn needs(talk: &Conversation, call: &CallSeen<'_>) -> Vec<(String, &'static [&'static str])> {
    let list = |name: &str| call.params.and_then(|params| params.get(name)?.as_array()).into_iter().flatten();
    let parts = match call.method {
        "session/prompt" => "prompt",
        _ => "mcpServers",
    };
    let kinds = list(parts).filter_map(|part| part.get("type")?.as_str());
    let known = kinds.filter_map(|kind| KINDS.iter().find(|(known, _)| *known == kind));
    let mut needs: Vec<_> = known.map(|(kind, path)| (format!("{kind} in {parts}"), *path)).collect();
    if list("additionalDirectories").next().is_some() {
        needs.push(("additionalDirectories".to_owned(), &["sessionCapabilities", "additionalDirectories"]));
    }
    needs.extend(talk.edition.adapter.capability_of(call.method).map(|path| (call.method.to_owned(), path)));
    needs
}

/// "All capabilities omitted … as UNSUPPORTED" holds for what the agent advertises as well: the schema's defaults are off.
///
/// Correct but unusual: empty lists of servers and directories, which need no capability, and kinds that no schema knows.
fn client_call<const HOW: bool>(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let proof = moment.talk.initialized.as_ref().map(|(n, _)| *n);
    let how = if HOW == NULL { "was null" } else { "was not in the answer to initialize" };
    for (what, path) in needs(moment.talk, call) {
        if left_out_by_agent(moment.talk, path) == Some(HOW) {
            let message = format!("the client sent {what}, and the capability `{}` {how}", path.join("."));
            ruling.fail(message, proof.as_slice());
        }
    }
}

/// Exercised by a turn while the agent had left something out that prompts and sessions could have held.
fn client_respected<const HOW: bool>(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let left_out = KINDS.iter().any(|(_, path)| left_out_by_agent(moment.talk, path) == Some(HOW));
    if left_out && answer.result_of("session/prompt").is_some() {
        ruling.pass();
    }
}
