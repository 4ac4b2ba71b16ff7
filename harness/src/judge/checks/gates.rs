//! Area `init`, second half: what the client did not advertise counts as unsupported.

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
    let (_, params) = talk.initialize.as_ref().filter(|(n, _)| !talk.deliberate.contains(n))?;
    let mut value = params;
    for key in [&["clientCapabilities"], path].concat() {
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
