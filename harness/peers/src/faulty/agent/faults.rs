//! The list of all faults of the agent.

use std::io::Write as _;

use super::{cancel, initialize, jsonrpc, mcp, permission, prompt, session, terminal};
use crate::faulty::{
    fault::{Fault, Kind},
    framing,
    jsonrpc::{FifoResponses, OneIdSpace},
    layer::{EditInward, EditOutward, EndAt, Layer, Refuse},
};

const fn messages(name: &'static str, about: &'static str, layer: fn() -> Box<dyn Layer>) -> Fault {
    Fault { name, about, kind: Kind::Messages(layer) }
}

const fn bytes(name: &'static str, about: &'static str, read: fn(Vec<u8>) -> Vec<u8>) -> Fault {
    Fault { name, about, kind: Kind::Bytes(read) }
}

#[rustfmt::skip]
pub(super) const FAULTS: &[Fault] = &[
    // initialize
    messages("null-is-support", "Takes a client capability that is null for an advertised one.",
        || Box::new(EditInward(initialize::believe_null))),
    messages("omitted-is-support", "Takes a client capability that is missing for an advertised one.",
        || Box::new(EditInward(initialize::believe_omitted))),

    // JSON-RPC and the transport
    Fault { name: "binary-log", about: "Writes bytes to stderr that are not UTF-8.", kind: Kind::Start(log_bytes) },
    Fault { name: "end-on-bad-input", about: "Ends at a line that is not a JSON object.", kind: Kind::EndAtBadInput },
    bytes("read-chunk-per-message", "Takes what one read() returned for one message.", framing::chunk_per_message),
    bytes("split-decoding", "Decodes what each read() returned as UTF-8 on its own.", framing::split_decoding),
    bytes("splitlines", "Ends a line also at U+2028, U+2029, U+0085, VT and FF.", framing::splitlines),
    messages("reject-null", "Refuses requests in which an optional member is null.",
        || Box::new(Refuse(jsonrpc::has_null))),
    messages("reject-meta", "Refuses requests that carry _meta.",
        || Box::new(Refuse(jsonrpc::has_meta))),
    messages("drop-unknown-requests", "Never answers a request whose method it does not know.",
        || Box::new(jsonrpc::DropUnknownRequests)),
    messages("fifo-responses", "Gives each client response to its oldest open request, whatever the id.",
        || Box::new(FifoResponses::default())),
    messages("one-id-space", "Takes a request with the id of an own open request for its answer.",
        || Box::new(OneIdSpace)),
    messages("blocking", "Handles nothing but responses while a turn runs.",
        || Box::new(prompt::Blocking::default())),
    messages("die-on-cancel-request", "Ends at $/cancel_request.",
        || Box::new(EndAt(jsonrpc::is_cancel_request))),

    // Sessions
    messages("same-session-id", "Gives every session the same sessionId.",
        || Box::new(session::SameId::default())),
    messages("process-cwd", "Works in the directory of the process instead of the session's cwd.",
        || Box::new(EditInward(session::take_process_cwd))),
    messages("roots-restored", "Takes up the earlier additional directories when a session is loaded or resumed without any.",
        || Box::new(session::RootsRestored::default())),
    messages("global-mode", "Applies session/set_mode to all sessions.",
        || Box::new(session::GlobalMode::default())),
    messages("latest-session-updates", "Sends all updates with the id of the latest session.",
        || Box::new(session::LatestUpdates::default())),
    messages("history-lost-at-exit", "Opens the sessions of its earlier processes without their messages.",
        || Box::new(session::Forgetful::of(session::Lost::History))),
    messages("message-ids-lost-at-exit", "Replays the messages of its earlier processes under new ids.",
        || Box::new(session::Forgetful::of(session::Lost::Ids))),
    messages("replay-after-load-response", "Answers session/load before it replays the history.",
        || Box::new(session::LateReplay::default())),

    // MCP servers
    messages("mcp-args-joined", "Gives a shell the command and the arguments of an MCP server as one text.",
        || Box::new(EditInward(mcp::join_args))),
    messages("mcp-tools-not-listed", "Never asks an MCP server for its tools.", || Box::new(EditInward(mcp::only_greet))),
    messages("mcp-headers-once", "Sends the headers of an MCP server only with the first request.",
        || Box::new(EditInward(mcp::send_headers_once))),

    // Prompts and their cancellation
    messages("cancel-as-end-turn", "Answers a cancelled prompt with stop reason `end_turn`.",
        || Box::new(EditOutward(cancel::call_it_end_turn))),
    messages("cancel-sticky", "Lets a cancel that arrives between turns end the next turn.",
        || Box::new(cancel::Sticky::default())),
    messages("cancel-all-sessions", "Lets a cancel end the turns of all sessions.",
        || Box::new(cancel::AllSessions)),
    messages("command-outlives-cancel", "Leaves its own command running when the turn is cancelled.",
        || Box::new(cancel::TurnAbandoned::default())),
    messages("die-on-stray-cancel", "Ends at session/cancel for a session that does not exist.",
        || Box::new(EndAt(cancel::is_stray))),

    // Permission
    messages("act-before-permission", "Writes or runs first and asks for permission afterwards.",
        || Box::new(permission::AskedAfterwards::default())),
    messages("report-afterwards", "Reports tool calls only when they have ended, and does not ask before them.",
        || Box::new(permission::ReportedAfterwards::default())),
    messages("write-outside", "Writes outside of the session's directories, and does not ask.",
        || Box::new(permission::WriteOutside::default())),

    // Terminals
    messages("kill-without-release", "Does not release a terminal that it killed.",
        || Box::new(terminal::KilledUnreleased::default())),
    messages("use-after-release", "Asks for terminal/output after terminal/release.",
        || Box::new(terminal::UsedAfterRelease)),

    // Elicitation
    messages("die-on-decline", "Ends when an elicitation is declined or cancelled.",
        || Box::new(prompt::EndAtElicited(prompt::is_declined))),
    messages("die-on-failed-elicitation", "Ends when an elicitation is answered with an error.",
        || Box::new(prompt::EndAtElicited(prompt::has_failed))),
    messages("die-on-null-content", "Ends when an elicitation is accepted with a content that is null.",
        || Box::new(prompt::EndAtElicited(prompt::has_null_content))),
    messages("visited-at-consent", "Takes a visit for completed when the user agrees to it.",
        || Box::new(prompt::VisitedAtConsent)),
];

fn log_bytes() {
    // The agent works without its log.
    let _ = std::io::stderr().write_all(&[0x7F, b'E', b'L', b'F', 0xFF, b'\n']);
}
