//! Area `schema`: requirements on members of one kind in any place; shapes are in the table of `judge::shapes`.

use serde_json::{Value, json};

use super::common::decide_absolute;
use crate::areas::init::agent::{Trait, accepted};
use crate::areas::{Check, CheckContext, On, of_both, with};
use crate::conversation::{Answer, CallSeen, Conversation, Exchange, Outcome, Payload};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::protocol::{Kind, Member, is_absolute};
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("schema.line-numbers-one-based.agent", On::Payload(line_numbers)).only(&[
        "fs/read_text_file",
        "tool_call",
        "tool_call_update",
        "session/request_permission",
    ]),
    Check::agent("schema.nullable-accepted.agent", On::Response(with!(accepted, Trait::Nulls))).only(&["initialize"]),
];

pub(super) const BOTH: &[[Check; 2]] = &[
    Check::both(of_both!("schema.paths-absolute"), On::Payload(paths_absolute)),
    Check::both_alone(of_both!("schema.valid"), On::Call(params_there)),
    Check::both(of_both!("schema.valid"), On::Response(result_without_owner)),
];

/// The table of shapes cannot check absent params; a separate requirement covers those of `initialize`.
///
/// Correct but unusual: absent params of a method that requires no member, such as `session/list`.
fn params_there(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.params.is_some() || call.method == "initialize" {
        return;
    }
    let edition = ctx.conversation.edition;
    let Some(method) = edition.methods.find(ctx.from, call.kind, call.method) else { return };
    if let Some(problem) = edition.stable.problems(&method.params, &json!({})).first() {
        ruling.fail(fact!(
            "missing-params",
            "the {party} sent {method} without params: {problem}",
            party = ctx.from,
            method = call.method,
            problem = problem.message;
            pointer = "/params"
        ));
    }
}

/// Results of an agent for which null is the older form of an empty object.
const NULL_IS_EMPTY: [&str; 6] =
    ["authenticate", "logout", "session/close", "session/delete", "session/load", "session/set_mode"];

/// Validates a result whose specific requirements do not apply: the agent did not announce the method, or whether a
/// party announced it is unknown. The table of shapes and the requirements of the area ignore such a result.
///
/// Correct but unusual: null as the older form of an empty object, members of drafts, and an agent that answers every
/// method that it does not know with null. A client must not call a method that is not announced, so null is
/// inconclusive; an object proves that the agent has the method. If the capabilities are unknown, a problem is
/// inconclusive too.
fn result_without_owner(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let (conversation, edition) = (ctx.conversation, ctx.conversation.edition);
    let (Some(exchange), Outcome::Result(result)) = (answer.exchange, answer.outcome) else { return };
    let (unowned, known) = match ctx.from {
        Party::Agent if is_unlisted(conversation, exchange, result) => (true, conversation.whole),
        Party::Agent => {
            let known = conversation.initialized.is_some() && !result.is_null();
            (conversation.unannounced_area(&exchange.method).is_some(), known)
        }
        // A separate requirement covers a result of a client that lacks the capability.
        Party::Client => (conversation.is_unoffered(&exchange.method) && conversation.initialize.is_none(), false),
    };
    let tolerated = result.is_null() && NULL_IS_EMPTY.contains(&exchange.method.as_str());
    if !unowned || tolerated || exchange.deliberate {
        return;
    }
    let method = edition.methods.find(ctx.from.other(), Kind::Request, &exchange.method);
    let Some(definition) = method.and_then(|method| method.result.as_deref()) else { return };
    let problems = edition.differences(definition, result).problems;
    let Some(problem) = problems.first() else { return };
    if known {
        ruling.proved_by(&[exchange.n]).fail(Fact::of_problem(ctx.from, &exchange.method, true, problem));
    } else {
        ruling.proved_by(&[exchange.n]).inconclusive(fact!(
            "invalid-result-of-unconfirmed-method",
            "the {party} sent an invalid result of {method}, which it may not have advertised: {problem}",
            party = ctx.from,
            method = exchange.method,
            problem = problem.message;
            pointer = problem.at
        ));
    }
}

/// Whether null answers a change of options in a session whose options are unknown: `config.set-complete` compares
/// lists.
fn is_unlisted(conversation: &Conversation, exchange: &Exchange, result: &Value) -> bool {
    let session = exchange.session().and_then(|id| conversation.session(id));
    let listed = session.is_some_and(|session| session.options.is_some());
    exchange.method == "session/set_config_option" && result.is_null() && !listed
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
    // Only version 2 has these.
    ("DiffPathChange", "path"),
    ("DiffPathPairChange", "oldPath"),
    ("DiffPathPairChange", "path"),
    ("CommandPermissionSubject", "cwd"),
    ("TerminalUpdate", "cwd"),
];

/// The names in [`PATHS`].
const PATH_NAMES: [&str; 5] = ["path", "oldPath", "cwd", "additionalDirectories", "command"];

/// "All file paths in the protocol MUST be absolute."
///
/// Correct but unusual: paths of Windows, and an agent that accepts a relative path of the client, and lists the
/// session with it. If the client gave the session a relative `cwd`, or gave the listed path itself, the path proves
/// nothing.
fn paths_absolute(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    // Most payloads have no path, and a comparison of each member with all places is slow.
    let named = |member: &Member<'_>| PATH_NAMES.contains(&member.name);
    if !payload.parts.members.iter().any(named) {
        return;
    }
    for member in payload.members(PATHS) {
        let list = member.value.as_array().map_or(std::slice::from_ref(member.value), Vec::as_slice);
        for path in list.iter().filter_map(Value::as_str) {
            // Only an agent may have got a relative path from the other party.
            let session = session_of(payload, &member.at()).filter(|_| ctx.from == Party::Agent);
            let as_given = || {
                fact!(
                    "relative-path-as-given",
                    "the {party} sent the relative path `{path}` in {method}, as the client had given it",
                    party = ctx.from,
                    path,
                    method = payload.method;
                    pointer = member.at()
                )
            };
            if is_given(ctx, session, path) {
                ruling.inconclusive(as_given());
            } else {
                let pointer = payload.pointer(&member.at());
                decide_absolute(ctx, session, (payload.method, &pointer), path, ruling);
            }
        }
    }
}

/// Returns the session of a member: that of its entry in a list of sessions, or else that of the message.
fn session_of<'p>(payload: &'p Payload<'_>, at: &str) -> Option<&'p str> {
    let entry = at.strip_prefix("/sessions/").and_then(|rest| rest.split('/').next());
    let object = entry.map_or(Some(payload.value), |index| payload.value.pointer(&format!("/sessions/{index}")));
    object?.member("sessionId")?.as_str()
}

/// Whether the client gave the session this relative path as one of its roots.
fn is_given(ctx: &CheckContext<'_>, session: Option<&str>, path: &str) -> bool {
    let session = session.and_then(|id| ctx.conversation.session(id));
    !is_absolute(path) && session.is_some_and(|session| session.roots.iter().any(|root| root == path))
}

/// "Line numbers are 1-based."
///
/// Correct but unusual: an absent or null line, a line after the end of the file, and line 1 of an empty file.
fn line_numbers(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for member in payload.members(&[("ReadTextFileRequest", "line"), ("ToolCallLocation", "line")]) {
        if let Some(line) = member.value.as_u64() {
            ruling.decide(line > 0, || {
                fact!(
                    "line-zero",
                    "the {party} sent line 0 in {method}; expected a line number from 1",
                    party = ctx.from, method = payload.method;
                    pointer = member.at()
                )
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_names_cover_all_paths() {
        assert!(PATHS.iter().all(|(_, name)| PATH_NAMES.contains(name)));
    }
}
