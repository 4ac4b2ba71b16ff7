//! The list of all layers of the agent.

use std::io::Write as _;

use acp_conformance_peers::agent::ListenRules;
use hyper::StatusCode;

use super::model::{AsksModel, Lapse};
use super::{cancel, initialize, jsonrpc, mcp, permission, prompt, session};
use crate::{
    framing,
    jsonrpc::{Blocking, FifoResponses, OneIdSpace},
    layer::{EditInward, Refuse},
    layered::{Kind, Layered, bytes, messages},
};

const fn listen(name: &'static str, break_rule: fn(&mut ListenRules)) -> Layered {
    Layered { name, kind: Kind::Listen(break_rule) }
}

pub(crate) const LAYERS: &[Layered] = &[
    // initialize
    messages("null-is-support", || Box::new(EditInward(initialize::believe_null))),
    messages("omitted-is-support", || Box::new(EditInward(initialize::believe_omitted))),
    // JSON-RPC and the transport
    Layered { name: "binary-log", kind: Kind::Start(log_bytes) },
    Layered { name: "end-on-bad-input", kind: Kind::EndAtBadInput },
    bytes("read-chunk-per-message", framing::chunk_per_message),
    bytes("split-decoding", framing::split_decoding),
    bytes("splitlines", framing::splitlines),
    messages("reject-null", || Box::new(Refuse(jsonrpc::has_null))),
    messages("reject-meta", || Box::new(Refuse(jsonrpc::has_meta))),
    messages("fifo-responses", || Box::new(FifoResponses::default())),
    messages("one-id-space", || Box::new(OneIdSpace)),
    messages("blocking", || Box::new(Blocking::default())),
    // Sessions
    messages("process-cwd", || Box::new(EditInward(session::take_process_cwd))),
    messages("roots-restored", || Box::new(session::RootsRestored::default())),
    messages("global-mode", || Box::new(session::GlobalMode::default())),
    messages("history-lost-at-exit", || Box::new(session::Forgetful::of(session::Lost::History))),
    messages("message-ids-lost-at-exit", || Box::new(session::Forgetful::of(session::Lost::Ids))),
    // MCP servers
    messages("mcp-args-joined", || Box::new(EditInward(mcp::join_args))),
    messages("mcp-tools-not-listed", || Box::new(EditInward(mcp::only_greet))),
    messages("mcp-headers-once", || Box::new(EditInward(mcp::send_headers_once))),
    // Prompts and their cancellation
    messages("cancel-sticky", || Box::new(cancel::Sticky::default())),
    messages("cancel-all-sessions", || Box::new(cancel::AllSessions)),
    messages("command-outlives-cancel", || Box::new(cancel::TurnAbandoned::default())),
    // The model
    messages("asks-model", || AsksModel::with(Lapse::Nothing)),
    messages("asks-model-without-other-texts", || AsksModel::with(Lapse::OtherTexts)),
    messages("asks-model-without-links", || AsksModel::with(Lapse::Links)),
    messages("asks-model-without-other-attachments", || AsksModel::with(Lapse::OtherAttachments)),
    messages("asks-model-newest-first-after-load", || AsksModel::with(Lapse::NewestFirstAfter("session/load"))),
    messages("asks-model-without-newest-before-load", || AsksModel::with(Lapse::NewestBefore("session/load"))),
    messages("asks-model-without-newest-before-resume", || AsksModel::with(Lapse::NewestBefore("session/resume"))),
    messages("asks-model-without-history-after-cancel", || AsksModel::with(Lapse::HistoryAfter("session/cancel"))),
    messages("asks-model-without-history-after-load", || AsksModel::with(Lapse::HistoryAfter("session/load"))),
    messages("asks-model-without-history-after-resume", || AsksModel::with(Lapse::HistoryAfter("session/resume"))),
    messages("asks-model-with-one-history", || AsksModel::with(Lapse::OneHistory)),
    messages("asks-model-with-one-system-prompt", || AsksModel::with(Lapse::OneSystemPrompt)),
    // Permission
    messages("act-before-permission", || Box::new(permission::AskedAfterwards::default())),
    messages("report-afterwards", || Box::new(permission::ReportedAfterwards::default())),
    messages("close-allows", || Box::new(permission::CloseAllows::default())),
    messages("write-outside", || Box::new(permission::WriteOutside::default())),
    // Elicitation
    messages("visited-at-consent", || Box::new(prompt::VisitedAtConsent)),
    // Streamable HTTP and WebSocket
    listen("http-initialize-accepted", |rules| rules.initialized = StatusCode::ACCEPTED),
    listen("http-no-connection-id", |rules| rules.names_connection = false),
    listen("http-post-ok", |rules| rules.accepted = StatusCode::OK),
    listen("http-answers-on-session-stream", |rules| rules.separates_connection = false),
    listen("http-one-stream", |rules| rules.separates_sessions = false),
    listen("http-any-content-type", |rules| rules.checks_content_type = false),
    listen("http-any-accept", |rules| rules.checks_accept = false),
    listen("http-connection-optional", |rules| rules.requires_connection = false),
    listen("http-unknown-connection-400", |rules| rules.unknown_connection = StatusCode::BAD_REQUEST),
    listen("http-session-optional", |rules| rules.requires_session = false),
    listen("http-session-unchecked", |rules| rules.checks_session = false),
    listen("http-post-held", |rules| rules.accepts_at_once = false),
    listen("http-list-events", |rules| rules.one_message_each = false),
    listen("http-delete-ignored", |rules| rules.ends_deleted = false),
    listen("ws-no-connection-id", |rules| rules.names_connection = false),
    listen("ws-binary-served", |rules| rules.ignores_binary = false),
    listen("ws-close-ignored", |rules| rules.ends_closed = false),
    listen("ws-initialize-optional", |rules| rules.requires_initialize = false),
];

fn log_bytes() {
    // The agent works without its log.
    let _ = std::io::stderr().write_all(&[0x7F, b'E', b'L', b'F', 0xFF, b'\n']);
}
