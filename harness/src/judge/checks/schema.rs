//! Area `schema`: what holds for members of one kind wherever they stand; shapes are in the table of `judge::shapes`.

use serde_json::Value;

use super::common::decide_absolute;
use super::init::{NULLS, accepted};
use crate::judge::check::{Check, On};
use crate::judge::moment::{Moment, Payload};
use crate::judge::ruling::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("schema.paths-absolute.agent", On::Payload(paths_absolute)),
    Check::agent("schema.line-numbers-one-based.agent", On::Payload(line_numbers)),
    Check::agent("schema.nullable-accepted.agent", On::Response(accepted::<NULLS>)),
];

/// Every member that is documented as a path.
const PATHS: &[(&str, &str)] = &[
    ("ReadTextFileRequest", "path"),
    ("WriteTextFileRequest", "path"),
    ("CreateTerminalRequest", "cwd"),
    ("Diff", "path"),
    ("ToolCallLocation", "path"),
    ("SessionInfo", "cwd"),
    ("SessionInfo", "additionalDirectories"),
];

/// "All file paths in the protocol MUST be absolute."
fn paths_absolute(moment: &Moment<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for member in payload.members(PATHS) {
        let list = member.value.as_array().map_or(std::slice::from_ref(member.value), Vec::as_slice);
        for path in list.iter().filter_map(Value::as_str) {
            let session = payload.value.get("sessionId").and_then(Value::as_str);
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
