//! The list of all layers of the client.

use acp_conformance_peers::client::DialRules;

use super::{
    cancel, content, elicitation, fs, initialize, jsonrpc, permission, session,
    terminal::{self, Cut, Outputs},
};
use crate::{
    framing,
    jsonrpc::{Blocking, FifoResponses, OneIdSpace},
    layer::{EditInward, Refuse},
    layered::{Kind, Launch, Layered, bytes, messages},
};

const fn launch(name: &'static str, launch: Launch) -> Layered {
    Layered { name, kind: Kind::Launch(launch) }
}

const fn dial(name: &'static str, break_rule: fn(&mut DialRules)) -> Layered {
    Layered { name, kind: Kind::Dial(break_rule) }
}

pub(crate) const LAYERS: &[Layered] = &[
    // JSON-RPC and the transport
    bytes("read-chunk-per-message", framing::chunk_per_message),
    bytes("split-decoding", framing::split_decoding),
    bytes("splitlines", framing::splitlines),
    launch("stderr-merged", Launch::StderrMerged),
    Layered { name: "end-on-bad-input", kind: Kind::EndAtBadInput },
    launch("lingers", Launch::Lingers),
    messages("batch", || Box::new(jsonrpc::Batch::default())),
    messages("counted-response-ids", || Box::new(jsonrpc::CountedIds::default())),
    messages("fifo-responses", || Box::new(FifoResponses::default())),
    messages("one-id-space", || Box::new(OneIdSpace)),
    messages("blocking", || Box::new(Blocking::default())),
    messages("serial-requests", || Box::new(jsonrpc::Serial::default())),
    messages("reject-null", || Box::new(Refuse(jsonrpc::has_null))),
    messages("reject-meta", || Box::new(Refuse(jsonrpc::has_meta))),
    // initialize
    messages("null-is-support", || Box::new(EditInward(initialize::null_is_support))),
    // Logins
    launch("login-bare", Launch::LoginBare),
    launch("login-args-replaced", Launch::LoginArgsReplaced),
    launch("login-env-loses", Launch::LoginEnvLoses),
    launch("login-piped", Launch::LoginPiped),
    launch("login-addressed", Launch::LoginAddressed),
    launch("login-always-succeeds", Launch::LoginAlwaysSucceeds),
    launch("login-killed-succeeds", Launch::LoginKilledSucceeds),
    launch("login-words-succeed", Launch::LoginWordsSucceed),
    launch("login-keeps-connection", Launch::LoginKeepsConnection),
    // Sessions
    messages("merge-directories", || Box::new(session::MergeDirectories::default())),
    // Turns and their cancellation
    messages("late-cancel-answered", || Box::new(cancel::AnswerLateCancel)),
    messages("cancel-request-aborts-all", || Box::new(cancel::AbortAll)),
    // Content
    messages("icon-loaded", || Box::new(content::LoadIcons)),
    // Permission
    messages("permission-clears-all", || Box::new(permission::ClearAll)),
    messages("permission-late-asked", || Box::new(permission::AnswerLate::default())),
    messages("close-answers-one", || Box::new(permission::CloseAnswersOne::default())),
    // Files
    messages("read-once", || Box::new(fs::ReadOnce::default())),
    messages("write-no-create", || Box::new(Refuse(fs::creates_file))),
    messages("write-no-truncate", || Box::new(EditInward(fs::leave_rest))),
    messages("write-answers-first", || Box::new(fs::WriteLater)),
    // Terminals
    messages("create-waits", || Box::new(terminal::CreateWaits::default())),
    messages("args-composed", || Box::new(EditInward(terminal::compose_args))),
    messages("args-joined", || Box::new(EditInward(terminal::join_args))),
    messages("output-waits", || Box::new(terminal::OutputWaits::default())),
    messages("output-forgotten", || Box::new(Outputs::new(terminal::remove_sent))),
    messages("last-chunk-lost", || Box::new(Outputs::new(terminal::lose_last_line))),
    messages("cut-inside-character", || Box::new(Cut::new(terminal::cut_anywhere))),
    messages("limit-counts-characters", || Box::new(Cut::new(terminal::count_characters))),
    messages("output-head-kept", || Box::new(Cut::new(terminal::keep_head))),
    messages("wait-after-exit-hangs", || Box::new(terminal::WaitHangs::default())),
    // Elicitation
    messages("url-fetched", || Box::new(elicitation::VisitFirst)),
    messages("url-opened-anyway", || Box::new(elicitation::VisitAnyway)),
    // Streamable HTTP and WebSocket
    dial("http-no-connection-header", |rules| rules.names_connection = false),
    dial("http-no-session-header", |rules| rules.names_session = false),
    dial("http-no-session-header-in-answers", |rules| rules.names_session_in_answers = false),
    dial("http-no-session-stream", |rules| rules.opens_sessions = false),
    dial("http-accepts-anything", |rules| rules.accepts_events = false),
    dial("http-posts-text", |rules| rules.posts_json = false),
    dial("http-cookies-dropped", |rules| rules.returns_cookies = false),
    dial("ws-initialize-second", |rules| rules.initializes_first = false),
];
