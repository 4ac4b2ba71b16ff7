//! The behavioural faults: each makes the agent break one rule on purpose.
//!
//! A fault that only changes the spelling of a message is not here; the harness edits messages on
//! the wire itself.

/// Declares the faults together with their command line names and one-line explanations.
macro_rules! faults {
    ($($fault:ident $name:literal $line:literal)*) => {
        /// One deliberate violation, named after what the agent does wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Fault {
            $(#[doc = $line] $fault,)*
        }

        impl Fault {
            /// Lists every fault.
            pub const ALL: &'static [Self] = &[$(Self::$fault,)*];

            /// Returns the name used on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$fault => $name,)* }
            }

            /// Returns one line that says what the agent does wrong.
            #[must_use]
            pub const fn line(self) -> &'static str {
                match self { $(Self::$fault => $line,)* }
            }
        }
    };
}

faults! {
    ReadWithoutCapability "read-without-capability" "Sends fs/read_text_file to a client that did not advertise it."
    WriteWithoutCapability "write-without-capability" "Sends fs/write_text_file to a client that did not advertise it."
    TerminalWithoutCapability "terminal-without-capability" "Sends terminal/create to a client that did not advertise it."
    IgnoreRejection "ignore-rejection" "Executes the tool after a reject option was chosen."
    IgnorePermissionCancelled "ignore-permission-cancelled" "Executes the tool after the permission outcome `cancelled`."
    ActBeforePermission "act-before-permission" "Writes or runs first and asks for permission afterwards."
    CancelAsError "cancel-as-error" "Answers a cancelled prompt with error -32603."
    CancelAsEndTurn "cancel-as-end-turn" "Answers a cancelled prompt with stop reason `end_turn`."
    CancelFlushesLate "cancel-flushes-late" "Sends one more update after the response of a cancelled prompt."
    CancelSticky "cancel-sticky" "Lets a cancel that arrives between turns end the next turn."
    CancelAllSessions "cancel-all-sessions" "Lets a cancel end the turns of all sessions."
    BusyAfterCancel "busy-after-cancel" "Refuses every prompt after a cancelled turn as if that turn still ran."
    CancelAnswered "cancel-answered" "Sends a response for the session/cancel notification."
    CancelIgnored "cancel-ignored" "Does not react to session/cancel at all."
    OneTurnOnly "one-turn-only" "Refuses the second prompt of a session with -32603."
    LeakTerminal "leak-terminal" "Never sends terminal/release."
    KillWithoutRelease "kill-without-release" "Does not release a terminal that it killed."
    UseAfterRelease "use-after-release" "Asks for terminal/output after terminal/release."
    ReuseToolIds "reuse-tool-ids" "Gives every tool call the same toolCallId."
    SameSessionId "same-session-id" "Gives every session the same sessionId."
    ProcessCwd "process-cwd" "Works in the directory of the process instead of the session's cwd."
    RootsReplaceCwd "roots-replace-cwd" "Takes additional directories for a replacement of the session's cwd."
    WriteOutside "write-outside" "Writes outside of the session's directories, and does not ask."
    GlobalMode "global-mode" "Applies session/set_mode to all sessions."
    DropUnknownRequests "drop-unknown-requests" "Never answers a request whose method it does not know."
    AnswerNotifications "answer-notifications" "Answers every notification except session/cancel with an error response, id null."
    EndOnBadInput "end-on-bad-input" "Ends at a line that is no JSON object."
    ReadChunkPerMessage "read-chunk-per-message" "Takes what one read() returned for one message."
    SplitDecoding "split-decoding" "Decodes what each read() returned as UTF-8 on its own."
    Splitlines "splitlines" "Ends a line also at U+2028, U+2029, U+0085, VT and FF."
    EchoVersion "echo-version" "Answers initialize with whatever protocol version was requested."
    VersionError "version-error" "Answers initialize with -32602 when the version is not 1."
    RequireCapabilities "require-capabilities" "Refuses an initialize without clientCapabilities."
    NullIsSupport "null-is-support" "Takes a client capability that is null for an advertised one."
    StrictCapabilities "strict-capabilities" "Refuses an initialize with a capability key it does not know."
    RejectNull "reject-null" "Refuses requests in which an optional member is null."
    RejectMeta "reject-meta" "Refuses requests that carry _meta."
    RejectResourceLink "reject-resource-link" "Refuses prompts with a resource_link."
    ImageRejected "image-rejected" "Advertises image prompts and refuses them."
    FifoResponses "fifo-responses" "Gives each client response to its oldest open request, whatever the id."
    Blocking "blocking" "Handles nothing but responses while a turn runs."
    ReplayAfterLoadResponse "replay-after-load-response" "Answers session/load before it replays the history."
    ReplayIncomplete "replay-incomplete" "Leaves the last message out of the replay of session/load."
    ResumeReplays "resume-replays" "Replays the history on session/resume."
    TextNotReported "text-not-reported" "Ends turns without ever sending an agent message."
    NeverAnswersPrompt "never-answers-prompt" "Plays the turn and never sends its response."
}

impl Fault {
    /// Returns the fault with a command line name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|fault| fault.name() == name)
    }
}
