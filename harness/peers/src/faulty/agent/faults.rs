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
    messages("read-without-capability", "Sends fs/read_text_file to a client that did not advertise it.",
        || Box::new(EditInward(initialize::believe_reading))),
    messages("write-without-capability", "Sends fs/write_text_file to a client that did not advertise it.",
        || Box::new(EditInward(initialize::believe_writing))),
    messages("terminal-without-capability", "Sends terminal/create to a client that did not advertise it.",
        || Box::new(EditInward(initialize::believe_terminals))),
    messages("null-is-support", "Takes a client capability that is null for an advertised one.",
        || Box::new(EditInward(initialize::believe_null))),
    messages("omitted-is-support", "Takes a client capability that is missing for an advertised one.",
        || Box::new(EditInward(initialize::believe_omitted))),
    messages("require-capabilities", "Refuses an initialize without clientCapabilities.",
        || Box::new(Refuse(initialize::lacks_capabilities))),
    messages("strict-capabilities", "Refuses an initialize with a capability key it does not know.",
        || Box::new(Refuse(initialize::has_unknown_capability))),

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
    messages("answer-notifications", "Answers every notification except session/cancel with an error response, id null.",
        || Box::new(jsonrpc::AnswerNotifications)),
    messages("fifo-responses", "Gives each client response to its oldest open request, whatever the id.",
        || Box::new(FifoResponses::default())),
    messages("one-id-space", "Takes a request with the id of an own open request for its answer.",
        || Box::new(OneIdSpace::default())),
    messages("blocking", "Handles nothing but responses while a turn runs.",
        || Box::new(prompt::Blocking::default())),
    messages("die-on-cancel-request", "Ends at $/cancel_request.",
        || Box::new(EndAt(jsonrpc::is_cancel_request))),

    // Sessions
    messages("same-session-id", "Gives every session the same sessionId.",
        || Box::new(session::SameId::default())),
    messages("process-cwd", "Works in the directory of the process instead of the session's cwd.",
        || Box::new(EditInward(session::take_process_cwd))),
    messages("roots-replace-cwd", "Takes additional directories for a replacement of the session's cwd.",
        || Box::new(EditInward(session::take_root_for_cwd))),
    messages("roots-ignored", "Accepts additional directories and works only in the session's cwd.",
        || Box::new(EditInward(session::drop_roots))),
    messages("roots-restored", "Takes up the earlier additional directories when a session is loaded or resumed without any.",
        || Box::new(session::RootsRestored::default())),
    messages("global-mode", "Applies session/set_mode to all sessions.",
        || Box::new(session::GlobalMode::default())),
    messages("latest-session-updates", "Sends all updates with the id of the latest session.",
        || Box::new(session::LatestUpdates::default())),
    messages("ignore-list-filter", "Lists all sessions, whatever the filter is.",
        || Box::new(EditInward(session::drop_filter))),
    messages("delete-in-memory", "Deletes sessions from memory only, so that they are listed again.",
        || Box::new(session::DeleteInMemory::default())),
    messages("replay-after-load-response", "Answers session/load before it replays the history.",
        || Box::new(session::Replay::new(|response, history| history.insert(0, response)))),
    messages("replay-incomplete", "Leaves the last message out of the replay of session/load.",
        || Box::new(session::Replay::new(session::lose_last_message))),
    messages("resume-replays", "Replays the history on session/resume.",
        || Box::new(EditInward(session::load_for_resume))),

    // MCP servers
    messages("mcp-ignored", "Reaches no MCP server at all.", || Box::new(EditInward(mcp::drop_all))),
    messages("mcp-first-only", "Reaches only the first MCP server of a session.", || Box::new(EditInward(mcp::keep_first))),
    messages("mcp-only-new", "Reaches the MCP servers of session/new, and not those of session/load and session/resume.",
        || Box::new(EditInward(mcp::drop_when_reopened))),
    messages("mcp-http-dropped", "Advertises MCP over HTTP and leaves such servers out.", || Box::new(EditInward(mcp::drop_http))),
    messages("mcp-sse-as-http", "Takes MCP servers of type sse for those of type http.", || Box::new(EditInward(mcp::sse_as_http))),
    messages("mcp-args-joined", "Gives a shell the command and the arguments of an MCP server as one text.",
        || Box::new(EditInward(mcp::join_args))),
    messages("mcp-env-dropped", "Starts MCP servers without the environment variables that were given for them.",
        || Box::new(EditInward(mcp::drop_env))),
    messages("mcp-tools-not-listed", "Never asks an MCP server for its tools.", || Box::new(EditInward(mcp::only_greet))),
    messages("mcp-headers-once", "Sends the headers of an MCP server only with the first request.",
        || Box::new(EditInward(mcp::send_headers_once))),

    // Prompts and their cancellation
    messages("one-turn-only", "Refuses the second prompt of a session with -32600.",
        || Box::new(prompt::OneTurnOnly::default())),
    messages("reject-lone-text", "Refuses a prompt that is a single block of text.", || Box::new(Refuse(prompt::is_lone_text))),
    messages("reject-resource-link", "Refuses prompts with a resource_link.", || Box::new(Refuse(prompt::has_link))),
    messages("image-rejected", "Advertises image prompts and refuses them.", || Box::new(Refuse(prompt::has_image))),
    messages("cancel-as-end-turn", "Answers a cancelled prompt with stop reason `end_turn`.",
        || Box::new(EditOutward(cancel::call_it_end_turn))),
    messages("cancel-sticky", "Lets a cancel that arrives between turns end the next turn.",
        || Box::new(cancel::Sticky::default())),
    messages("cancel-all-sessions", "Lets a cancel end the turns of all sessions.",
        || Box::new(cancel::AllSessions::default())),
    messages("busy-after-cancel", "Refuses every prompt after a cancelled turn as if that turn still ran.",
        || Box::new(cancel::BusyAfterwards::default())),
    messages("command-outlives-cancel", "Leaves its own command running when the turn is cancelled.",
        || Box::new(cancel::TurnAbandoned::default())),
    messages("die-on-stray-cancel", "Ends at session/cancel for a session that does not exist.",
        || Box::new(EndAt(cancel::is_stray))),

    // Permission
    messages("ignore-rejection", "Executes the tool after a reject option was chosen.",
        || Box::new(permission::RejectionIgnored::default())),
    messages("ignore-permission-cancelled", "Executes the tool after the permission outcome `cancelled`.",
        || Box::new(permission::CancelledIgnored::default())),
    messages("act-before-permission", "Writes or runs first and asks for permission afterwards.",
        || Box::new(permission::AskedAfterwards::default())),
    messages("report-afterwards", "Reports tool calls only when they have ended, and does not ask before them.",
        || Box::new(permission::ReportedAfterwards::default())),
    messages("write-outside", "Writes outside of the session's directories, and does not ask.",
        || Box::new(permission::WriteOutside::default())),

    // Terminals
    messages("leak-terminal", "Never sends terminal/release.", || Box::new(terminal::Leak)),
    messages("kill-without-release", "Does not release a terminal that it killed.",
        || Box::new(terminal::KilledUnreleased::default())),
    messages("use-after-release", "Asks for terminal/output after terminal/release.",
        || Box::new(terminal::UsedAfterRelease::default())),

    // Elicitation
    messages("die-on-decline", "Ends when an elicitation is declined or cancelled.",
        || Box::new(prompt::EndAtElicited::new(prompt::is_declined))),
    messages("die-on-failed-elicitation", "Ends when an elicitation is answered with an error.",
        || Box::new(prompt::EndAtElicited::new(prompt::has_failed))),
    messages("die-on-null-content", "Ends when an elicitation is accepted with a content that is null.",
        || Box::new(prompt::EndAtElicited::new(prompt::has_null_content))),
];

fn log_bytes() {
    // The agent works without its log.
    let _ = std::io::stderr().write_all(&[0x7F, b'E', b'L', b'F', 0xFF, b'\n']);
}
