//! The reason why a case is undecided or does not apply, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::step::EndCause;
use crate::requirement::Party;
use crate::trace::{Expected, ExpectedMessage, Observed, Outcome, StepEvent, StepKind};

/// The reason why a case is undecided or does not apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Cause {
    /// The agent did something other than the prompt asked, such as calling no tool.
    PromptNotFollowed {
        /// The intent of the prompt.
        intent: String,
    },
    /// The agent did with a tool of its own what the prompt asked for, where the case needs a request to the client.
    OwnTool {
        /// The method of the request that did not come.
        method: String,
    },
    /// The subject answered a request with an error, and the case needs its result, or the turn that it should begin.
    Refused {
        /// The method of the request.
        method: String,
        /// The code of the error, if it is an integer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i64>,
        /// The first line of the message of the error, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The agent requires a login.
    LoginRequired {
        /// The method of the request that was refused because of it, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        method: Option<String>,
    },
    /// The subject does not advertise what the case needs, or advertises what the case excludes.
    Capability {
        /// The need as written in the case.
        need: String,
        /// Whether the subject advertises it.
        advertised: bool,
    },
    /// No requirement of the case applies to the subject.
    NoneApplies,
    /// The parties did not agree on the protocol version of the edition.
    ProtocolVersion {
        /// The version that the subject requested or answered.
        version: u64,
    },
    /// No option and no profile describes how the user of the client does an act.
    UnknownAct {
        /// The act.
        act: String,
    },
    /// No option and no profile describes how the client is started with a setting.
    UnknownSetting {
        /// The setting.
        setting: String,
    },
    /// The subject exited before the end of the case.
    SubjectEnded {
        /// The situation at its exit.
        end: EndCause,
    },
    /// The subject could not be started.
    NotStarted,
    /// The subject did not send a message.
    MessageMissing {
        /// The method of the message, or of the request that it answers; absent if neither has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        method: Option<String>,
        /// Whether the case waited for it until a time limit.
        timed_out: bool,
    },
    /// A step of the case did not go as expected.
    StepUnmet {
        /// The kind of the step.
        step: StepKind,
    },
    /// Requirements of the case could not be decided.
    Undecided {
        /// Their ids.
        requirements: Vec<String>,
    },
    /// Requirements failed in a process that ran other cases before, and no second process showed it.
    Unconfirmed {
        /// Their ids.
        requirements: Vec<String>,
    },
    /// The subject did nothing that requirements of the case apply to.
    NotExercised {
        /// Their ids.
        requirements: Vec<String>,
    },
    /// The run ended during the case.
    RunEnded,
    /// The case did not run: in its first use or in another shape of its file, the subject did nothing that the
    /// requirements apply to.
    Skipped {
        /// That case.
        after: String,
    },
    /// The case shows a mistake for which another case fails, or could not decide it.
    SameMistake {
        /// The violated requirement, which the case names.
        requirement: String,
        /// The case that fails for it.
        case: String,
    },
    /// A kind from a later version.
    #[serde(other)]
    Other,
}

impl Cause {
    /// Returns the name of the kind, as it is serialized.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::PromptNotFollowed { .. } => "prompt-not-followed",
            Self::OwnTool { .. } => "own-tool",
            Self::Refused { .. } => "refused",
            Self::LoginRequired { .. } => "login-required",
            Self::Capability { .. } => "capability",
            Self::NoneApplies => "none-applies",
            Self::ProtocolVersion { .. } => "protocol-version",
            Self::UnknownAct { .. } => "unknown-act",
            Self::UnknownSetting { .. } => "unknown-setting",
            Self::SubjectEnded { .. } => "subject-ended",
            Self::NotStarted => "not-started",
            Self::MessageMissing { .. } => "message-missing",
            Self::StepUnmet { .. } => "step-unmet",
            Self::Undecided { .. } => "undecided",
            Self::Unconfirmed { .. } => "unconfirmed",
            Self::NotExercised { .. } => "not-exercised",
            Self::RunEnded => "run-ended",
            Self::Skipped { .. } => "skipped",
            Self::SameMistake { .. } => "same-mistake",
            Self::Other => "other",
        }
    }

    /// Classifies the first step of a case that did not go as expected.
    pub(super) fn of_step(step: &StepEvent, subject: Party) -> Self {
        match &step.observed {
            _ if step.outcome == Outcome::LoginNeeded => {
                Self::LoginRequired { method: method(step.expected.as_ref()).map(str::to_owned) }
            }
            Some(Observed::Capability { need, advertised }) => {
                Self::Capability { need: need.clone(), advertised: *advertised }
            }
            Some(Observed::ActUnknown { act }) => Self::UnknownAct { act: act.clone() },
            Some(Observed::SettingUnknown { setting }) => Self::UnknownSetting { setting: setting.clone() },
            Some(Observed::RunEnded) => Self::RunEnded,
            Some(Observed::Ended(end)) => Self::SubjectEnded { end: EndCause::of(end, subject) },
            _ => match &step.intent {
                Some(intent) if depends_on_prompt(step) => Self::PromptNotFollowed { intent: intent.clone() },
                _ if message_is_missing(step) => Self::MessageMissing {
                    method: method(step.expected.as_ref()).map(str::to_owned),
                    timed_out: step.outcome == Outcome::TimedOut,
                },
                _ => Self::StepUnmet { step: step.kind },
            },
        }
    }
}

fn message_is_missing(step: &StepEvent) -> bool {
    let waits = matches!(step.expected, Some(Expected::Message(_) | Expected::McpMessage { .. }));
    waits
        && matches!(
            step.observed,
            Some(Observed::TimedOut { .. } | Observed::Nothing | Observed::Passed | Observed::McpMessages(_))
        )
}

/// Whether an agent does the expected thing only because the prompt asks for it.
fn depends_on_prompt(step: &StepEvent) -> bool {
    let of_its_own = !matches!(
        step.expected,
        Some(Expected::Message(ExpectedMessage::Result(_) | ExpectedMessage::Error(_) | ExpectedMessage::Answer(_)))
    );
    match step.kind {
        StepKind::Reply | StepKind::File | StepKind::Mcp | StepKind::Process => true,
        StepKind::Must | StepKind::Optional => of_its_own && message_is_missing(step),
        StepKind::Send => {
            matches!(step.observed, Some(Observed::RequestMissing { .. } | Observed::NameUnbound { .. }))
        }
        _ => false,
    }
}

/// Returns the method of an expected message, or of the request that it answers.
fn method(expected: Option<&Expected>) -> Option<&str> {
    match expected? {
        Expected::Message(ExpectedMessage::Request(method) | ExpectedMessage::Notification(method)) => Some(method),
        Expected::Message(
            ExpectedMessage::Result(answer) | ExpectedMessage::Error(answer) | ExpectedMessage::Answer(answer),
        ) => answer.method.as_deref(),
        Expected::McpMessage { methods, .. } => methods.first().map(String::as_str),
        _ => None,
    }
}
