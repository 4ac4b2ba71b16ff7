//! The gaps of a recording, and the requirements that it therefore cannot decide: they neither fail nor pass.

use crate::conversation::Holes;
use crate::trace::Lack;

/// Whether a recording with this gap can decide the requirement.
pub(super) fn tells(requirement: &str, lack: Lack) -> bool {
    let of = |area: &str| requirement.strip_prefix(area).is_some_and(|rest| rest.starts_with('.'));
    match lack {
        Lack::Bytes => !of("transport") && !of("jsonrpc"),
        Lack::Ends => !of("transport.newline-terminated") && !of("transport.no-embedded-newline"),
        Lack::Times => !TIMED.contains(&requirement),
        Lack::Processes => !ENDED.contains(&requirement),
        Lack::Replays => !of("load"),
        Lack::Order => true,
    }
}

/// Returns the kinds of messages that must be complete for checking the requirement.
pub(super) fn needs(requirement: &str) -> Holes {
    Holes {
        anywhere: LATE.contains(&requirement),
        requests: REQUESTS.contains(&requirement),
        sessions: SESSIONS.contains(&requirement),
        terminals: TERMINALS.contains(&requirement),
        tools: TOOLS.contains(&requirement),
        order: false,
    }
}

/// Decided by durations, or by the time between two events.
const TIMED: &[&str] = &[
    "cancel.prompt",
    "cancelreq.scope.agent",
    "cancelreq.scope.client",
    "close.cancels-turn",
    "list.cursor-accepted",
    "modes.set-effective",
    "permission.other-session",
    "prompt.one-at-a-time",
];

/// Decided by whether a party was asked to exit, or lost its input.
const ENDED: &[&str] =
    &["cancel.scope", "cancelreq.internal.client", "cancelreq.scope.client", "prompt.cancelled-only-on-cancel"];

/// Decided by messages that may be missing: they came before the recording, or were left out.
const LATE: &[&str] = &[
    "cancel.known-session",
    "cancel.no-reply",
    "cancelreq.internal.client",
    "cancelreq.no-reply.agent",
    "cancelreq.no-reply.client",
    "cancelreq.own-requests.agent",
    "cancelreq.own-requests.client",
    "cancelreq.scope.agent",
    "cancelreq.scope.client",
    "cancelreq.unknown-id.agent",
    "cancelreq.unknown-id.client",
    "config.set-effective",
    "config.set-known",
    "config.unknown-id",
    "config.unlisted-value",
    "elicit.request-known",
    "elicit.session-known",
    "ext.unknown-notification.agent",
    "ext.unknown-notification.client",
    "fs.session-known",
    "jsonrpc.full-duplex.agent",
    "jsonrpc.full-duplex.client",
    "jsonrpc.invalid-request.agent",
    "jsonrpc.invalid-request.client",
    "jsonrpc.notification-no-response.agent",
    "jsonrpc.notification-no-response.client",
    "jsonrpc.parse-error.agent",
    "jsonrpc.parse-error.client",
    "jsonrpc.response-id-known.agent",
    "jsonrpc.response-id-known.client",
    "jsonrpc.response-once.agent",
    "jsonrpc.response-once.client",
    "list.cursor-opaque",
    "list.load-before-use",
    "load.continues",
    "load.replay-before-response",
    "load.replay-session-id",
    "load.replay-valid",
    "modes.set-listed",
    "modes.set-only-if-offered",
    "modes.unknown-refused",
    "permission.session-known",
    "prompt.one-at-a-time",
    "schema.paths-absolute.agent",
    "session.id-verbatim",
    "session.known-id-only",
    "session.unknown-id",
    "terminal.known-id",
    "terminal.no-use-after-release",
    "terminal.release.invalidates",
    "terminal.unknown-id",
    "tool.created-before-update",
    "tool.location-absolute",
    "tool.terminal-before-release",
    "tool.terminal-known",
    "transport.only-lf-delimits.agent",
    "transport.only-lf-delimits.client",
    "update.session-known",
];

/// Decided by answered requests.
const REQUESTS: &[&str] = &[
    "cancelreq.own-requests.agent",
    "cancelreq.own-requests.client",
    "cancelreq.unknown-id.agent",
    "cancelreq.unknown-id.client",
    "jsonrpc.response-id-known.agent",
    "jsonrpc.response-id-known.client",
];

/// Decided by which sessions exist, or were listed.
const SESSIONS: &[&str] = &[
    "cancel.known-session",
    "cancel.no-reply",
    "cancelreq.scope.agent",
    "cancelreq.scope.client",
    "elicit.session-known",
    "fs.session-known",
    "list.cursor-opaque",
    "list.load-before-use",
    "load.replay-session-id",
    "permission.session-known",
    "prompt.session-first",
    "schema.paths-absolute.agent",
    "session.await-new",
    "session.id-verbatim",
    "session.known-id-only",
    "session.unknown-id",
    "terminal.create.unique-id",
    "terminal.known-id",
    "terminal.unknown-id",
    "tool.location-absolute",
    "tool.terminal-before-release",
    "tool.terminal-known",
    "update.session-known",
];

/// Decided by which terminals exist.
const TERMINALS: &[&str] = &[
    "terminal.known-id",
    "terminal.no-use-after-release",
    "terminal.release.invalidates",
    "terminal.unknown-id",
    "tool.terminal-before-release",
    "tool.terminal-known",
];

/// Decided by which tool calls and messages there were.
const TOOLS: &[&str] = &[
    "elicit.session-known",
    "load.replay-valid",
    "permission.tool-call-linked",
    "prompt.no-early-response",
    "tool.created-before-update",
    "tool.final-status",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Registry;

    #[test]
    fn every_requirement_that_is_named_is_judged() {
        let judged = Registry::all().requirements();
        for requirement in [TIMED, ENDED, LATE, REQUESTS, SESSIONS, TERMINALS, TOOLS].into_iter().flatten() {
            assert!(judged.contains(requirement), "nothing judges {requirement}");
        }
    }
}
