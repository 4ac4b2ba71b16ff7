//! The list of all faults of the client.

use serde_json::json;

use super::{
    cancel::{self, EndWhenIdle},
    elicitation, fs,
    initialize::{self, EndInTurn},
    jsonrpc::{self, Ignore, Reject},
    launch::Launch,
    permission::{self, LeaveOpen},
    session,
    terminal::{self, Cut, Forget, LoseWaits, Outputs, Pretend},
    work::{self, EndAtUpdate},
};
use crate::faulty::{
    fault::{Fault, Kind},
    framing,
    jsonrpc::{FifoResponses, OneIdSpace},
    layer::{EditInward, EndAt, Layer, Refuse},
};

const fn messages(name: &'static str, about: &'static str, layer: fn() -> Box<dyn Layer>) -> Fault {
    Fault { name, about, kind: Kind::Messages(layer) }
}

const fn bytes(name: &'static str, about: &'static str, read: fn(Vec<u8>) -> Vec<u8>) -> Fault {
    Fault { name, about, kind: Kind::Bytes(read) }
}

const fn launch(name: &'static str, about: &'static str, launch: Launch) -> Fault {
    Fault { name, about, kind: Kind::Launch(launch) }
}

#[rustfmt::skip]
pub(super) const FAULTS: &[Fault] = &[
    // JSON-RPC and the transport
    bytes("read-chunk-per-message", "Takes what one read() returned for one message.", framing::chunk_per_message),
    bytes("split-decoding", "Decodes what each read() returned as UTF-8 on its own.", framing::split_decoding),
    bytes("splitlines", "Ends a line also at U+2028, U+2029, U+0085, VT and FF.", framing::splitlines),
    launch("stderr-merged", "Reads the agent's stderr as if it were its stdout.", Launch::StderrMerged),
    Fault { name: "end-on-bad-input", about: "Ends at a line that is not a JSON object.", kind: Kind::EndAtBadInput },
    launch("lingers", "Does not exit when all acts are done, but only by a signal.", Launch::Lingers),
    messages("batch", "Collects answers while requests are open, and sends several as one JSON array.",
        || Box::new(jsonrpc::Batch::default())),
    messages("answer-notifications", "Answers every notification except $/cancel_request with a result, id null.",
        || Box::new(jsonrpc::AnswerNotifications)),
    messages("drop-unknown-requests", "Never answers a request whose method it does not know.",
        || Box::new(Ignore(jsonrpc::is_unknown_request))),
    messages("counted-response-ids", "Uses a counter of its own as the id of responses.",
        || Box::new(jsonrpc::CountedIds::default())),
    messages("fifo-responses", "Gives each response to its oldest open request, whatever the id.",
        || Box::new(FifoResponses::default())),
    messages("one-id-space", "Takes a request with the id of an own open request for its answer.",
        || Box::new(OneIdSpace)),
    messages("blocking", "Handles nothing but responses while a turn runs.", || Box::new(jsonrpc::Blocking::default())),
    messages("serial-requests", "Handles requests one after the other.", || Box::new(jsonrpc::Serial::default())),
    messages("reject-null", "Refuses requests and results in which a member is null.",
        || Box::new(Reject(jsonrpc::has_null))),
    messages("reject-meta", "Refuses requests that carry _meta.", || Box::new(Reject(jsonrpc::has_meta))),
    messages("reject-result-meta", "Refuses results that carry _meta.", || Box::new(Reject(jsonrpc::has_result_meta))),
    messages("die-on-unknown-notification", "Ends at a notification whose method it does not know.",
        || Box::new(EndAt(jsonrpc::is_unknown_notification))),

    // initialize
    messages("null-is-support", "Takes an agent capability that is null for an advertised one.",
        || Box::new(EditInward(initialize::null_is_support))),
    messages("die-on-minimal-initialize", "Ends in its turn if the answer to initialize has no promptCapabilities.",
        || Box::new(EndInTurn::new(initialize::is_minimal))),
    messages("die-on-unknown-capability", "Ends in its turn if the agent advertises a capability that it does not know.",
        || Box::new(EndInTurn::new(initialize::has_unknown_capability))),
    messages("die-without-options", "Ends in its turn if the session has no config options.",
        || Box::new(EndInTurn::new(initialize::lacks_options))),
    messages("die-without-extension", "Calls a method of its own at the start and ends if it is unknown.",
        || Box::new(initialize::EndWithoutExtension::default())),

    // Logins
    messages("die-on-logout", "Ends if an open session answers -32000.", || Box::new(cancel::EndAtLogout)),
    launch("login-bare", "Starts logins in a terminal without the environment that is configured for the agent.", Launch::LoginBare),
    launch("login-args-replaced", "Starts logins in a terminal without the agent's own arguments.", Launch::LoginArgsReplaced),
    launch("login-env-loses", "Prefers the agent's own environment to that of a login in a terminal.", Launch::LoginEnvLoses),
    launch("login-piped", "Starts logins in a terminal with pipes.", Launch::LoginPiped),
    launch("login-addressed", "Sends initialize to a login in a terminal.", Launch::LoginAddressed),
    launch("login-always-succeeds", "Takes every end of a login in a terminal for a success.", Launch::LoginAlwaysSucceeds),
    launch("login-killed-succeeds", "Takes a login in a terminal that a signal ended for a success.", Launch::LoginKilledSucceeds),
    launch("login-words-succeed", "Takes a login in a terminal that printed `Login successful` for a success.", Launch::LoginWordsSucceed),
    launch("login-keeps-connection", "Continues its connection after a login in a terminal.", Launch::LoginKeepsConnection),

    // Sessions
    messages("reattach-in-own-cwd", "Loads and resumes with its own cwd instead of the session's.",
        || Box::new(session::OwnCwd::default())),
    messages("merge-directories", "Adds up the directories of a session in several lists.",
        || Box::new(session::MergeDirectories::default())),
    messages("config-response-ignored", "Does not take over the options in the answer to session/set_config_option.",
        || Box::new(session::KeepOptions::default())),

    // Turns and their cancellation
    messages("die-on-idle-update", "Ends at a usage, mode, config, info or commands update outside of a turn of its session.",
        || Box::new(EndWhenIdle(|update| !cancel::is_of_turn(update)))),
    messages("die-on-replay", "Ends at a message, tool call or plan outside of a turn, so also in a replay.",
        || Box::new(EndWhenIdle(cancel::is_of_turn))),
    messages("die-on-missing-message-id", "Ends at a message chunk without a messageId.",
        || Box::new(EndAt(cancel::lacks_message_id))),
    messages("die-on-sparse-tool-call", "Ends at a tool call without kind or status.",
        || Box::new(EndAt(cancel::is_sparse_tool_call))),
    messages("die-on-stop-reason", "Ends when a turn ends with anything but `end_turn` and `cancelled`.",
        || Box::new(EndAt(cancel::ends_early))),
    messages("cancelled-is-failure", "Ends when a turn ends with `cancelled`.", || Box::new(EndAt(cancel::ends_cancelled))),
    messages("deaf-after-cancel", "Reads nothing but responses between session/cancel and the end of the turn.",
        || Box::new(cancel::DeafAfterCancel::default())),
    messages("die-on-cancel-request", "Ends at $/cancel_request.", || Box::new(EndAt(cancel::is_cancel_request))),
    messages("cancel-request-answered", "Answers $/cancel_request with an error response, id null.",
        || Box::new(cancel::AnswerCancelRequest)),
    messages("late-cancel-answered", "Answers -32800 for a $/cancel_request that comes too late or names an unknown id.",
        || Box::new(cancel::AnswerLateCancel)),
    messages("cancel-request-aborts-all", "Gives up all questions when the agent cancels one.",
        || Box::new(cancel::AbortAll)),

    // Permission
    messages("permission-needs-title", "Refuses permission requests whose tool call has no title.",
        || Box::new(Refuse(permission::lacks_title))),
    messages("permission-left-open", "Leaves permission requests open when the turn is cancelled.",
        || Box::new(LeaveOpen::when_cancelled())),
    messages("close-leaves-permissions", "Closes a session and leaves its permission requests open.",
        || Box::new(LeaveOpen::when_closed())),
    messages("permission-clears-all", "Answers the permission requests of all sessions when one turn is cancelled.",
        || Box::new(permission::ClearAll)),
    messages("permission-late-asked", "Answers a permission request that comes after session/cancel with an option.",
        || Box::new(permission::AnswerLate::default())),

    // Files
    messages("read-appends-newline", "Appends a newline to what it read.", || Box::new(fs::AppendToRead)),
    messages("write-no-create", "Does not create missing files.", || Box::new(Refuse(fs::creates_file))),
    messages("write-no-truncate", "Overwrites from the start and leaves the rest of the old content.",
        || Box::new(EditInward(fs::leave_rest))),
    messages("write-appends-newline", "Adds a final newline to what it writes.",
        || Box::new(EditInward(fs::append_to_written))),
    messages("write-answers-first", "Answers a write half a second before it writes.", || Box::new(fs::WriteLater)),

    // Terminals
    messages("create-waits", "Answers terminal/create when the command has ended.",
        || Box::new(terminal::CreateWaits::default())),
    messages("constant-terminal-id", "Gives every terminal the same id.", || Box::new(terminal::OneId::default())),
    messages("args-required", "Refuses terminal/create without args.", || Box::new(Refuse(terminal::lacks_args))),
    messages("args-joined", "Joins the command and its args with spaces and runs a shell.",
        || Box::new(EditInward(terminal::join_args))),
    messages("output-waits", "Answers terminal/output when the command has ended.",
        || Box::new(terminal::OutputWaits::default())),
    messages("output-forgotten", "Forgets the output with each terminal/output.",
        || Box::new(Outputs::new(terminal::remove_sent))),
    messages("last-chunk-lost", "Loses the last line of a command that has ended.",
        || Box::new(Outputs::new(terminal::lose_last_line))),
    messages("cut-inside-character", "Cuts the output at the byte limit, inside of a character too.",
        || Box::new(Cut::new(terminal::cut_anywhere))),
    messages("limit-counts-characters", "Takes the byte limit for a number of characters.",
        || Box::new(Cut::new(terminal::count_characters))),
    messages("output-head-kept", "Keeps the beginning of the output and drops the end.",
        || Box::new(Cut::new(terminal::keep_head))),
    messages("wait-answers-at-once", "Answers terminal/wait_for_exit at once, with null values.",
        || Box::new(Pretend { method: "terminal/wait_for_exit", result: || json!({"exitCode": null, "signal": null}) })),
    messages("wait-after-exit-hangs", "Never answers terminal/wait_for_exit for a command that has ended.",
        || Box::new(terminal::WaitHangs::default())),
    messages("kill-ignored", "Answers terminal/kill and sends no signal.",
        || Box::new(Pretend { method: "terminal/kill", result: || json!({}) })),
    messages("kill-removes", "Forgets a terminal when it is killed.", || Box::new(Forget::killed())),
    messages("kill-leaves-wait", "Never answers terminal/wait_for_exit for a command that was killed.",
        || Box::new(LoseWaits::at("terminal/kill"))),
    messages("release-leaves-process", "Forgets a released terminal and lets its command run.",
        || Box::new(Forget::released())),
    messages("release-drops-waiter", "Never answers terminal/wait_for_exit for a terminal that was released.",
        || Box::new(LoseWaits::at("terminal/release"))),

    // Elicitation
    messages("elicitation-id-parsed", "Declines URL elicitations whose id is not a UUID.", || Box::new(elicitation::ParseId)),
    messages("url-fetched", "Fetches the URL of an elicitation before the user is asked.",
        || Box::new(elicitation::VisitFirst)),
    messages("url-opened-anyway", "Opens the URL of an elicitation also when the user declines.",
        || Box::new(elicitation::VisitAnyway)),
    // Version 2
    messages("die-while-idle", "Ends at an update of an idle session.",
        || Box::new(EndAtUpdate::new(work::is_update_while_idle))),
    messages("die-on-own-work", "Ends when the agent begins to work without a prompt.",
        || Box::new(EndAtUpdate::new(work::is_work_of_its_own))),
    messages("die-without-stop-reason", "Ends when the work ends without a stop reason.",
        || Box::new(EndAtUpdate::new(work::is_end_without_reason))),
    messages("die-on-late-update", "Ends at an update between session/cancel and the end of the work.",
        || Box::new(EndAtUpdate::new(work::is_late))),
    messages("die-on-unknown-terminal", "Ends at output of a terminal that it does not know yet.",
        || Box::new(EndAtUpdate::new(work::is_of_unknown_terminal))),
    messages("die-on-untitled-tool", "Ends at an update of a tool call without a title.",
        || Box::new(EndAtUpdate::new(work::is_untitled_tool))),
    messages("die-without-patch", "Ends at a diff without a patch.",
        || Box::new(EndAtUpdate::new(work::is_diff_without_patch))),
    messages("die-on-unknown-type", "Ends at an update, content or command of a type with an underscore.",
        || Box::new(EndAtUpdate::new(work::is_unknown))),
    messages("die-at-receipt", "Ends when the agent accepts its prompt.", || Box::new(EndAtUpdate::new(work::is_receipt))),
    messages("die-on-late-prompt", "Ends when its prompt is reported after the response to it.",
        || Box::new(EndAtUpdate::new(work::is_prompt_after_receipt))),
    messages("die-on-missing-session", "Ends at the error that a session does not exist.",
        || Box::new(EndAtUpdate::new(work::is_missing_session))),
    messages("die-on-completion", "Ends at elicitation/complete.", || Box::new(EndAt(cancel::is_completion))),
];
