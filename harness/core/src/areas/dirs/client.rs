//! The client's half of the area `dirs`: the additional directories in requests that open a session.

use serde_json::Value;

use crate::areas::common::OPENING;
use crate::areas::session::client::{opening, reopening};
use crate::areas::support::{last_part, same_path};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::CallSeen;
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::{Feature, is_absolute};
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("dirs.gate", On::Call(empty_list)).alone().only(OPENING),
    Check::client("dirs.absolute", On::Call(dirs_absolute)).alone().only(OPENING),
    Check::client("dirs.cwd-matches", On::Call(cwd_matches)).only(&["session/load", "session/resume"]),
];

const ROOTS: Feature<'static> = Feature::Member("additionalDirectories");

/// Notes an empty list, which is the same as none, if the agent does not advertise the member.
fn empty_list(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(list) = opening(call).and_then(|params| params.member("additionalDirectories")) else { return };
    if list.as_array().is_none_or(Vec::is_empty) && ctx.conversation.agent_lacks(ROOTS) {
        ruling.note(fact!(
            "empty-list-not-advertised",
            "the client sent an empty list of additionalDirectories, which the agent does not advertise";
            pointer = "/params/additionalDirectories"
        ));
    }
}

/// "each `additionalDirectories` entry MUST be an absolute path".
///
/// Correct but unusual: one directory twice, the `cwd` itself, a path of Windows.
fn dirs_absolute(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = opening(call).filter(|_| ctx.conversation.agent_has(ROOTS)) else { return };
    for root in params.list("additionalDirectories").iter().filter_map(Value::as_str) {
        ruling.decide(is_absolute(root), || {
            fact!(
                "relative-path",
                "the client sent {method} with the relative additional directory `{path}`; expected an absolute path",
                method = call.method, path = root;
                pointer = "/params/additionalDirectories"
            )
        });
    }
}

/// The list of further roots is taken "as long as the request `cwd` matches the session's `cwd`".
///
/// Correct but unusual: the client names the directory by a link, or in another case. So a directory of another name
/// fails only in a case, whose directories are not links.
fn cwd_matches(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = reopening(call).filter(|_| ctx.conversation.agent_has(ROOTS)) else { return };
    let (Some(id), Some(cwd)) = (call.text("sessionId"), call.text("cwd")) else { return };
    let given = ctx.conversation.session(id).filter(|session| session.is_introduced() && !session.cwd.is_empty());
    let listed = ctx.areas.list.cwds.get(id);
    let known: Vec<&str> =
        given.map(|session| session.cwd.as_str()).into_iter().chain(listed.map(String::as_str)).collect();
    let other = || {
        fact!(
            "other-cwd",
            "the client sent {method} with the cwd `{actual}`; expected `{expected}`, the cwd of the session",
            method = call.method,
            actual = cwd,
            expected = known;
            session_id = id,
            pointer = "/params/cwd"
        )
    };
    if known.is_empty() {
    } else if params.list("additionalDirectories").is_empty() {
        if !known.iter().any(|known| same_path(known, cwd)) {
            ruling.note(other());
        }
    } else if known.iter().any(|known| same_path(known, cwd)) {
        ruling.pass();
    } else if let Some(session) =
        given.filter(|session| ctx.conversation.whole && last_part(&session.cwd) != last_part(cwd))
    {
        ruling.proved_by(&[session.known]).fail(other());
    } else {
        // With links, one directory has several names, and agents may list another one than they got.
        ruling.inconclusive(other());
    }
}
