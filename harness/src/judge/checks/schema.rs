//! Area `schema`: what holds for members of one kind wherever they stand; shapes are in the table of `judge::shapes`.

use serde_json::{Value, json};

use super::common::decide_absolute;
use super::init::{NULLS, accepted};
use crate::judge::check::{Check, On};
use crate::judge::moment::{CallSeen, Moment, Payload};
use crate::judge::ruling::Ruling;
use crate::requirement::Party;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("schema.paths-absolute.agent", On::Payload(paths_absolute)),
    Check::agent("schema.line-numbers-one-based.agent", On::Payload(line_numbers)),
    Check::agent("schema.nullable-accepted.agent", On::Response(accepted::<NULLS>)),
    Check::agent("schema.valid.agent", On::Call(params_there)),
    Check::client("schema.paths-absolute.client", On::Payload(paths_absolute)),
    Check::client("schema.valid.client", On::Call(params_there)),
];

/// Absent params are no payload that the table of shapes could look at; those of `initialize` have a rule of their own.
fn params_there(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let edition = moment.talk.edition;
    let method = edition.methods.find(moment.from, call.kind, call.method);
    let Some(method) = method.filter(|_| call.params.is_none() && call.method != "initialize") else { return };
    if let Some(problem) = edition.stable.problems(&method.params, &json!({})).first() {
        ruling.fail(format!("{} has no params: {}", call.method, problem.message), &[]);
    }
}

/// Every member that is documented as a path.
const PATHS: &[(&str, &str)] = &[
    ("ReadTextFileRequest", "path"),
    ("WriteTextFileRequest", "path"),
    ("CreateTerminalRequest", "cwd"),
    ("Diff", "path"),
    ("ToolCallLocation", "path"),
    ("SessionInfo", "cwd"),
    ("SessionInfo", "additionalDirectories"),
    ("NewSessionRequest", "cwd"),
    ("NewSessionRequest", "additionalDirectories"),
    ("LoadSessionRequest", "cwd"),
    ("LoadSessionRequest", "additionalDirectories"),
    ("ResumeSessionRequest", "cwd"),
    ("ResumeSessionRequest", "additionalDirectories"),
    ("ListSessionsRequest", "cwd"),
    ("McpServerStdio", "command"),
];

/// "All file paths in the protocol MUST be absolute."
fn paths_absolute(moment: &Moment<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for member in payload.members(PATHS) {
        let list = member.value.as_array().map_or(std::slice::from_ref(member.value), Vec::as_slice);
        for path in list.iter().filter_map(Value::as_str) {
            // Only an agent may have a relative path from the other party.
            let session = payload.value.get("sessionId").filter(|_| moment.from == Party::Agent);
            let session = session.and_then(Value::as_str);
            decide_absolute(moment, session, &format!("in {}, {}", payload.method, member.at), path, ruling);
        }
    }
}

/// "Line numbers are 1-based."
fn line_numbers(_: &Moment<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for member in payload.members(&[("ReadTextFileRequest", "line"), ("ToolCallLocation", "line")]) {
        if let Some(line) = member.value.as_u64() {
            ruling.decide(line > 0, || {
                format!("{}, {}: the line is 0, and lines count from 1", payload.method, member.at)
            });
        }
    }
}
