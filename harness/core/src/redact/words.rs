//! The words that stay: the members with words of the protocol or ids, and the words of errors that checks need.

use std::ops::Range;

use crate::protocol::Edition;

/// Members whose texts are words of the protocol, or name a kind of thing.
pub(super) const OF_THE_PROTOCOL: [&str; 20] = [
    "action",
    "category",
    "currency",
    "fileType",
    "format",
    "jsonrpc",
    "kind",
    "method",
    "mode",
    "operation",
    "outcome",
    "priority",
    "protocolVersion",
    "role",
    "sessionUpdate",
    "severity",
    "signal",
    "state",
    "status",
    "stopReason",
];

/// A member with words of the protocol that occurs in many places.
pub(super) const TYPE: &str = "type";

/// Members that hold an id.
pub(super) const IDS: [&str; 15] = [
    "compactionId",
    "configId",
    "currentModeId",
    "elicitationId",
    "id",
    "messageId",
    "methodId",
    "modeId",
    "optionId",
    "planId",
    "requestId",
    "sessionId",
    "terminalId",
    "toolCallId",
    "turnId",
];

/// Members that contain the value of an option, which is an id, if they are in an option.
pub(super) const VALUES: [&str; 2] = ["currentValue", "value"];

/// Members with free content: only the two programs know its names and values.
pub(super) const FREE: [&str; 3] = ["_meta", "rawInput", "rawOutput"];

/// Members of `_meta` with a standard meaning.
pub(super) const TRACE_CONTEXT: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// Names in the query of a URL that mark a secret.
pub(super) const OF_A_QUERY: [&str; 5] = ["token", "access_token", "password", "email", "api_key"];

/// The words that checks search in errors at any place, so they stay.
const OF_AN_ERROR: [&str; 46] = [
    "abort",
    "account",
    "additional_directories",
    "agent",
    "auth",
    "authentication is required",
    "authentication required",
    "busy",
    "cancel",
    "choose a model",
    "credential",
    "during a prompt",
    "during a turn",
    "generating",
    "in progress",
    "info",
    "is not set",
    "key",
    "log",
    "log in first",
    "login first",
    "login required",
    "mcp_servers",
    "model",
    "must log in",
    "no model selected",
    "no model was chosen",
    "not authenticated",
    "not logged in",
    "not signed in",
    "outside",
    "please authenticate",
    "please log in",
    "please login",
    "please sign in",
    "requires authentication",
    "running",
    "select a model",
    "session expired",
    "sign",
    "subscri",
    "token",
    "turn",
    "unauthenticated",
    "while a turn",
    "_meta",
];

/// Words of errors that reveal nothing about their subject; they stay as separate words.
const OF_EVERY_ERROR: [&str; 20] = [
    "denied",
    "does",
    "error",
    "exist",
    "expected",
    "failed",
    "found",
    "internal",
    "invalid",
    "is",
    "missing",
    "no",
    "not",
    "parse",
    "permission",
    "request",
    "required",
    "support",
    "unknown",
    "unsupported",
];

/// The same for a tool's report.
const OF_A_TOOL: [&str; 4] = ["outside", "not inside", "not within", "not in the workspace"];

/// The words that begin the lines of a patch in Git's format; the last one stands for a missing file.
const OF_A_PATCH: [&str; 9] =
    ["diff --git ", "--- ", "+++ ", "@@ ", "rename from ", "rename to ", "copy from ", "copy to ", "/dev/null"];

/// The parts that make a text a link, which some texts must not contain.
const OF_A_LINK: [&str; 3] = ["http://", "https://", "<a href"];

/// The prefix of the environment variables that the harness sets for an agent.
pub(super) const OWN_VARIABLES: &str = "ACP_CONFORMANCE";

/// Finds the words of an error that stay: those above, and the methods and members of the protocol.
pub(super) fn in_an_error(text: &str, edition: &Edition) -> Vec<Range<usize>> {
    let mut found = spans(text, &OF_AN_ERROR);
    let ends_word = |c: char| !c.is_ascii_alphanumeric() && !"_/$".contains(c);
    let mut start = 0;
    for piece in text.split_inclusive(ends_word) {
        let word = piece.trim_end_matches(ends_word);
        let is_usual = OF_EVERY_ERROR.contains(&word.to_ascii_lowercase().as_str());
        if is_usual || edition.member_names.contains(word) || edition.knows_method(word) {
            found.push(start..start + word.len());
        }
        start += piece.len();
    }
    found
}

/// Finds the words of a tool's report that stay.
pub(super) fn in_a_report(text: &str) -> Vec<Range<usize>> {
    spans(text, &OF_A_TOOL)
}

/// Finds the words of a patch that stay.
pub(super) fn in_a_patch(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let words = OF_A_PATCH.iter().filter_map(|word| line.find(word).map(|at| (at, word)));
        let here = words.filter(|(at, word)| *at == 0 || word.starts_with('/'));
        found.extend(here.map(|(at, word)| start + at..start + at + word.len()));
        start += line.len();
    }
    found
}

/// Finds the parts of a text that make it a link.
pub(super) fn in_any_text(text: &str) -> Vec<Range<usize>> {
    spans(text, &OF_A_LINK)
}

fn spans(text: &str, words: &[&str]) -> Vec<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let found = words.iter().flat_map(|word| lower.match_indices(word).map(|(at, _)| at..at + word.len()));
    found.collect()
}
