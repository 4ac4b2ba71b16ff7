//! The reasons for the exit of a subject, and the sentences on the results of steps.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pattern_words::member_words;
use crate::fact;
use crate::finding::Fact;
use crate::requirement::Party;
use crate::trace::{
    Difference, Exit, Expected, ExpectedAnswer, ExpectedMessage, ExpectedText, Observed, Outcome, StepEvent, SubjectEnd,
};

/// The reason why the stream of a subject ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndCause {
    /// The tester stopped it because it sent too much.
    Flooded,
    /// The case had closed its input.
    InputClosed,
    /// A client exited before it started its agent.
    NeverConnected,
    /// A client exited when it waited for nothing.
    Idle,
    /// A client exited while it waited for an answer, with an exit code that may be deliberate.
    Waiting,
    /// The same during a turn.
    InTurn,
    /// No event of the case explains it.
    Unexplained,
}

impl EndCause {
    /// Classifies the end from the facts. An agent should exit only when its input ends. A client may have reasons to
    /// exit while it waits for an answer, and reports that by its exit code: 0, or one that its profile lists.
    pub fn of(end: &SubjectEnd, subject: Party) -> Self {
        let crashed = match &end.exit {
            Some(Exit::Code(code)) => *code != 0 && end.meaning.is_none(),
            Some(Exit::Signal(_)) => true,
            None => false,
        };
        match subject {
            _ if end.flooded => Self::Flooded,
            _ if end.input_closed => Self::InputClosed,
            Party::Agent => Self::Unexplained,
            Party::Client if !end.connected => Self::NeverConnected,
            Party::Client if end.unanswered.is_empty() => Self::Idle,
            Party::Client if crashed => Self::Unexplained,
            Party::Client if end.unanswered.iter().any(|method| method == "session/prompt") => Self::InTurn,
            Party::Client => Self::Waiting,
        }
    }
}

/// Whether the subject exited in the step without a reason in the case.
pub(super) fn ended_unexplained(step: &StepEvent, subject: Party) -> bool {
    step.outcome == Outcome::Ended
        && match &step.observed {
            Some(Observed::Ended(end)) => EndCause::of(end, subject) == EndCause::Unexplained,
            _ => false,
        }
}

/// Returns what the subject did in a step and what was expected instead, as one sentence fragment.
pub fn step_text(step: &StepEvent, subject: Party) -> String {
    if let Some(sentence) = sentence(step, subject) {
        return sentence;
    }
    let observed = observed_text(step, subject);
    match expected_text(step, subject) {
        None => observed,
        Some(expected) => format!("expected {expected}; {observed}"),
    }
}

/// Returns the sentence on a step for the usual expectations: first what the subject did.
fn sentence(step: &StepEvent, subject: Party) -> Option<String> {
    let (expected, observed) = (step.expected.as_ref()?, step.observed.as_ref()?);
    let seconds = |ms: u64| Duration::from_millis(ms).as_secs_f64();
    Some(match (expected, observed) {
        (Expected::Message(message), Observed::Mismatch(Difference { pointer, expected, actual })) => {
            format!("the {subject} {} with {actual}{}; expected {expected}", sent_text(message), place_text(pointer))
        }
        (Expected::Message(ExpectedMessage::Result(answer)), Observed::Error(error)) => {
            format!(
                "{} the error {error}; expected {}",
                answered_with(answer, subject),
                pattern_text("a result", answer)
            )
        }
        (Expected::Message(ExpectedMessage::Error(answer)), Observed::Result(result)) => {
            format!("{} the result {result}; expected {}", answered_with(answer, subject), error_text(answer))
        }
        (Expected::NoMessage(message), Observed::Message) => {
            format!("the {subject} {}{}; expected none here", sent_text(message), answer_words(message))
        }
        (Expected::NoMessageWith { message, params }, Observed::Message) => {
            let with = member_words(params).unwrap_or_else(|| params.to_string());
            let (sent, kind) = (sent_text(message), kind_text(message));
            format!("the {subject} {sent} with {with}; expected no {kind} with that here")
        }
        (Expected::Message(message), Observed::TimedOut { differing: Some(other), after_ms, .. }) => {
            let Difference { pointer, expected, actual } = other;
            let (sent, limit) = (sent_text(message), seconds(*after_ms));
            let place = place_text(pointer);
            format!("the {subject} {sent} with {actual}{place}; the case waited {limit} s for {expected}")
        }
        (Expected::Message(message), Observed::TimedOut { connected: true, after_ms, .. }) => {
            format!("the {subject} {} within {} s", unsent_text(message), seconds(*after_ms))
        }
        (Expected::Message(message), Observed::Nothing) => format!("the {subject} {}", unsent_text(message)),
        (Expected::Message(message), Observed::Refused { status }) => {
            format!("the {subject} refused the POST with the status {status}, and {}", unsent_text(message))
        }
        (Expected::Message(message), Observed::Passed) => {
            format!("the turn continued, and the {subject} {}", unsent_text(message))
        }
        (Expected::Message(message), Observed::Ended(end)) => {
            format!("{}; expected {}", end_text(end, subject), message_text(message))
        }
        (Expected::FenceAnswer, Observed::Ended(end)) => {
            format!("{}; expected it to keep the connection open", end_text(end, subject))
        }
        (Expected::Reply(_) | Expected::AnyReply(_), Observed::Reply { text, repeats_prompt }) => {
            let repeats = if *repeats_prompt { ", apart from the prompt, which it repeats" } else { "" };
            format!("the {subject} replied {text}{repeats}; expected {}", expected_text(step, subject)?)
        }
        (Expected::ConnectionEnd, Observed::StillConnected { answers: true }) => {
            format!("the {subject} kept the connection open and answered a later request; expected it to close it")
        }
        (Expected::ConnectionEnd, Observed::StillConnected { answers: false }) => {
            format!("the {subject} kept the connection open until the time limit; expected it to close it")
        }
        _ => return None,
    })
}

/// Returns the fact that a step did not go as expected: in words and as recorded.
pub(super) fn step_fact(step: &StepEvent, subject: Party) -> Fact {
    let mut fact = fact!(
        "unmet",
        "{sentence}",
        sentence = step_text(step, subject);
        step = step.kind,
        expectation = step.expected,
        observation = step.observed
    );
    fact.kind = match step.outcome {
        Outcome::Done => "done",
        Outcome::Contradicted => "contradicted",
        Outcome::TimedOut => "timed-out",
        Outcome::Quiet => "weak-fence",
        Outcome::Ended => "ended",
        Outcome::Missed => "missed",
        Outcome::NotApplicable => "not-advertised",
        Outcome::LoginNeeded => "login-needed",
        Outcome::HarnessError => "harness-error",
    };
    fact
}

/// Returns the expectation of a step, in words.
pub fn expected_text(step: &StepEvent, subject: Party) -> Option<String> {
    Some(match step.expected.as_ref()? {
        Expected::Message(message) => message_text(message),
        Expected::NoMessage(message) => format!("{} not to come", message_text(message)),
        Expected::NoMessageWith { message, params } => {
            let with = member_words(params).unwrap_or_else(|| params.to_string());
            format!("{} with {with} not to come", message_text(message))
        }
        Expected::FenceAnswer => format!("an answer, as proof that the {subject} has read everything before"),
        Expected::Reply(ExpectedText::Equals(text)) => format!("the reply {text}"),
        Expected::Reply(ExpectedText::Contains(text)) => format!("a reply that contains {text}"),
        Expected::Reply(ExpectedText::Lacks(text)) => format!("a reply without {text}"),
        Expected::AnyReply(any) => format!("{} reply", if *any { "some" } else { "no" }),
        Expected::ConnectionEnd => format!("the {subject} ends the connection"),
        Expected::Exit(None) => "the process ends".to_owned(),
        Expected::Exit(Some(code)) => format!("the process ends with code {code}"),
        Expected::TerminalLogin => "a start of the agent's program for a login in a terminal".to_owned(),
        Expected::Process { pid, running } => format!("the process {pid} of the command {}", state_text(*running)),
        Expected::PageVisit(true) => "a visit to the page up to here".to_owned(),
        Expected::PageVisit(false) => "no visit to the page up to here".to_owned(),
        Expected::NoFile(path) => format!("no file {path}"),
        Expected::File { path, content: ExpectedText::Equals(text) } => {
            format!("the file {path} with the content {text}")
        }
        Expected::File { path, content: ExpectedText::Contains(text) } => format!("the file {path} with {text} in it"),
        Expected::File { path, content: ExpectedText::Lacks(text) } => format!("the file {path} without {text} in it"),
        Expected::McpMessage { server, methods } => {
            format!("the MCP message {} to the server `{server}`", methods.join(" or "))
        }
    })
}

/// Returns the observation of the runner, in words; empty if the step went as expected.
pub fn observed_text(step: &StepEvent, subject: Party) -> String {
    let Some(observed) = &step.observed else { return String::new() };
    match observed {
        Observed::Mismatch(Difference { pointer, expected, actual }) => {
            let place = if pointer.is_empty() { "the value" } else { pointer };
            format!("{place}: expected {expected}, found {actual}")
        }
        Observed::Error(error) => format!("it was answered with the error {error}"),
        Observed::Result(result) => format!("it was answered with the result {result}"),
        Observed::Message => "it came".to_owned(),
        Observed::NoMessageSoFar => "it did not come, and no request could show that it will not".to_owned(),
        Observed::Ended(end) => end_text(end, subject),
        Observed::TimedOut { connected: true, after_ms, .. } => {
            format!("it did not come within {} s", Duration::from_millis(*after_ms).as_secs_f64())
        }
        Observed::TimedOut { by_person: true, .. } => "no agent was started within the time of the person".to_owned(),
        Observed::TimedOut { .. } => "the client did not start its agent before the time limit".to_owned(),
        Observed::Nothing => "it did not come".to_owned(),
        Observed::Refused { status } => format!("the POST was refused with the status {status}"),
        Observed::Passed => "the turn continued without it".to_owned(),
        Observed::UnknownRequestUnanswered => {
            format!("the {subject} did not answer this unknown request, nor the fence by another one")
        }
        Observed::FenceUnanswered(methods) if step.outcome == Outcome::Quiet => {
            format!("no answer to {} came, and no other request could serve as a fence here", methods.join(", "))
        }
        Observed::FenceUnanswered(methods) => {
            format!("no answer to {} came before the time limit", methods.join(", "))
        }
        Observed::StillConnected { answers: true } => {
            "it stays open, and the subject answers a later request".to_owned()
        }
        Observed::StillConnected { answers: false } => "it had not done so at the time limit".to_owned(),
        Observed::Exited(exit) => format!("it ended with {exit}"),
        Observed::StillRunning => "it was still running at the time limit".to_owned(),
        Observed::ProcessNotVisible => "the process of a client that a person started is unknown".to_owned(),
        Observed::Reply { text, repeats_prompt } => {
            let repeats = if *repeats_prompt { ", apart from the prompt, which it repeats" } else { "" };
            format!("the reply was {text}{repeats}")
        }
        Observed::NoProcessId { path } => format!("no process has written its id to {path}"),
        Observed::Process { running } => format!("it is {}", state_text(*running)),
        Observed::PageVisit(true) => "one came".to_owned(),
        Observed::PageVisit(false) => "none came".to_owned(),
        Observed::File(text) => format!("it holds {text}"),
        Observed::FileUnreadable(error) => format!("it could not be read: {error}"),
        Observed::LoginOutsideTerminal => "the login does not run in a terminal".to_owned(),
        Observed::AuthenticateInstead => {
            "it called authenticate for that login, and did not start the agent".to_owned()
        }
        Observed::McpMessages(methods) if methods.is_empty() => "it got none before the time limit".to_owned(),
        Observed::McpMessages(methods) => format!("before the time limit it got only {}", methods.join(", ")),
        Observed::McpMessagesLost => "its MCP servers got more messages than fit into the trace".to_owned(),
        Observed::Capability { need, advertised } => {
            format!("the {subject} {} {need}", if *advertised { "advertises" } else { "does not advertise" })
        }
        Observed::RequestMissing { label } => {
            format!("the {subject} did not make the request `{label}`, which the case would answer now")
        }
        Observed::NameUnbound { name } => {
            format!("`<{name}>` has no value, since the message that should bind it did not come")
        }
        Observed::ActUnknown { act } => {
            format!("no option or profile describes how the user of this client does `{act}` (see --act)")
        }
        Observed::SettingUnknown { setting } => {
            format!(
                "no option or profile describes how to start this client with the setting `{setting}` (see --setting)"
            )
        }
        Observed::NotConnected => {
            "the client has not started its agent, so it has no connection for messages".to_owned()
        }
        Observed::RunEnded => "the run ended during this case".to_owned(),
        Observed::Problem(words) => words.clone(),
    }
}

fn message_text(message: &ExpectedMessage) -> String {
    match message {
        ExpectedMessage::Request(method) => format!("a request {method}"),
        ExpectedMessage::Notification(method) => format!("a {method}"),
        ExpectedMessage::Result(answer) => {
            format!("{} answered with {}", request_text(answer), pattern_text("a result", answer))
        }
        ExpectedMessage::Error(answer) => {
            format!("{} answered with {}", request_text(answer), error_text(answer))
        }
        ExpectedMessage::Answer(answer) => format!("an answer to {}", request_text(answer)),
    }
}

/// Returns what a subject does that sends this message: `answered session/new`.
fn sent_text(message: &ExpectedMessage) -> String {
    match message {
        ExpectedMessage::Request(method) | ExpectedMessage::Notification(method) => format!("sent {method}"),
        ExpectedMessage::Result(answer) | ExpectedMessage::Error(answer) | ExpectedMessage::Answer(answer) => {
            format!("answered {}", request_text(answer))
        }
    }
}

/// Returns what a message of this kind is called: `session/update`.
fn kind_text(message: &ExpectedMessage) -> String {
    match message {
        ExpectedMessage::Request(method) | ExpectedMessage::Notification(method) => method.clone(),
        ExpectedMessage::Result(answer) | ExpectedMessage::Error(answer) | ExpectedMessage::Answer(answer) => {
            format!("answer to {}", request_text(answer))
        }
    }
}

/// Returns where a difference is: ` at /cwd`; empty for the whole.
fn place_text(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" at {pointer}") }
}

/// Returns what a subject does that does not send this message: `did not answer session/new`.
fn unsent_text(message: &ExpectedMessage) -> String {
    match message {
        ExpectedMessage::Request(method) | ExpectedMessage::Notification(method) => format!("did not send {method}"),
        ExpectedMessage::Result(answer) | ExpectedMessage::Error(answer) | ExpectedMessage::Answer(answer) => {
            format!("did not answer {}", request_text(answer))
        }
    }
}

fn answered_with(answer: &ExpectedAnswer, subject: Party) -> String {
    format!("the {subject} answered {} with", request_text(answer))
}

/// Returns what an answer has that a subject must not send; nothing for calls, and if no such answer may come.
fn answer_words(message: &ExpectedMessage) -> String {
    match message {
        ExpectedMessage::Result(answer) => format!(" with {}", pattern_text("a result", answer)),
        ExpectedMessage::Error(answer) => format!(" with {}", error_text(answer)),
        ExpectedMessage::Request(_) | ExpectedMessage::Notification(_) | ExpectedMessage::Answer(_) => String::new(),
    }
}

fn request_text(answer: &ExpectedAnswer) -> String {
    answer.method.clone().unwrap_or_else(|| "a request".to_owned())
}

/// Describes an expected error: by its code alone if the case wants only that.
fn error_text(answer: &ExpectedAnswer) -> String {
    let code = answer.pattern.as_ref().and_then(|pattern| pattern.as_object()).filter(|members| members.len() == 1);
    match code.and_then(|members| members.get("code")).filter(|code| code.is_i64()) {
        Some(code) => format!("the error {code}"),
        None => pattern_text("an error", answer),
    }
}

/// Describes an expected answer. A pattern may hold the text of a large file.
fn pattern_text(kind: &str, answer: &ExpectedAnswer) -> String {
    const LONGEST: usize = 2000;
    let Some(pattern) = &answer.pattern else { return kind.to_owned() };
    if let Some(words) = member_words(pattern) {
        return format!("{kind} with {words}");
    }
    match pattern.to_string() {
        text if text.len() > LONGEST => format!("{kind} like {} …", text.chars().take(LONGEST).collect::<String>()),
        text => format!("{kind} like {text}"),
    }
}

fn end_text(end: &SubjectEnd, subject: Party) -> String {
    let meaning = end.meaning.as_ref().map_or_else(String::new, |meaning| format!(" ({meaning})"));
    let how = match &end.exit {
        Some(Exit::Code(code)) => format!("exited with code {code}{meaning}"),
        Some(Exit::Signal(name)) => format!("was ended by {name}{meaning}"),
        None if subject == Party::Agent => "closed its output".to_owned(),
        None => "left its agent".to_owned(),
    };
    let why = match EndCause::of(end, subject) {
        EndCause::Flooded => return format!("the {subject} sent more than a case has room for, and was stopped"),
        EndCause::InputClosed => " after its input was closed",
        EndCause::NeverConnected => " and never started its agent",
        EndCause::Idle => " when no turn was running",
        EndCause::Waiting => " while it waited for an answer",
        EndCause::InTurn => " in the middle of a turn",
        EndCause::Unexplained => "",
    };
    format!("the {subject} {how}{why}")
}

const fn state_text(running: bool) -> &'static str {
    if running { "running" } else { "gone" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sentence on a step with this expectation and observation, as in a trace.
    fn text(expected: &str, observed: &str, subject: Party) -> String {
        let step = format!(
            r#"{{"kind":"must","line":9,"text":"","outcome":"contradicted","expected":{expected},"observed":{observed}}}"#
        );
        step_text(&serde_json::from_str(&step).expect("a step"), subject)
    }

    #[test]
    fn a_sentence_begins_with_what_the_subject_did() {
        let error = r#"{"message":{"error":{"method":"session/new","pattern":{"code":-32602}}}}"#;
        assert_eq!(
            text(error, r#"{"result":{"sessionId":"a"}}"#, Party::Agent),
            r#"the agent answered session/new with the result {"sessionId":"a"}; expected the error -32602"#
        );
        let result = r#"{"message":{"result":{"method":"fs/read_text_file"}}}"#;
        let mismatch = r#"{"mismatch":{"pointer":"/content","expected":"\"gamma\"","actual":"\"delta\""}}"#;
        assert_eq!(
            text(result, mismatch, Party::Client),
            r#"the client answered fs/read_text_file with "delta" at /content; expected "gamma""#
        );
        let request = r#"{"message":{"request":"session/request_permission"}}"#;
        assert_eq!(text(request, r#""nothing""#, Party::Agent), "the agent did not send session/request_permission");
        let differing = r#"{"pointer":"/protocolVersion","expected":"2","actual":"3"}"#;
        let timed_out = r#"{"timed-out":{"afterMs":20000,"connected":true,"byPerson":false,"differing":DIFFERING}}"#;
        assert_eq!(
            text(r#"{"message":{"request":"initialize"}}"#, &timed_out.replace("DIFFERING", differing), Party::Client),
            "the client sent initialize with 3 at /protocolVersion; the case waited 20 s for 2"
        );
        assert_eq!(
            text(r#""connection-end""#, r#"{"still-connected":{"answers":true}}"#, Party::Client),
            "the client kept the connection open and answered a later request; expected it to close it"
        );
    }

    #[test]
    fn a_sentence_says_what_is_wrong_with_a_forbidden_message() {
        let params = r#"{"update":{"content":["<...>",{"oldText":"<non-empty>","type":"diff"},"<...>"]}}"#;
        let with =
            format!(r#"{{"no-message-with":{{"message":{{"notification":"session/update"}},"params":{params}}}}}"#);
        assert_eq!(
            text(&with, r#""message""#, Party::Agent),
            "the agent sent session/update with an item in `update.content` with `oldText` that is not empty and `type` \
            \"diff\"; expected no session/update with that here"
        );
        let error = r#"{"error":{"method":"session/load","pattern":{"code":"<not <one-of -32000>>"}}}"#;
        assert_eq!(
            text(&format!(r#"{{"message":{error}}}"#), r#"{"result":{}}"#, Party::Agent),
            "the agent answered session/load with the result {}; expected an error with `code` other than -32000"
        );
        assert_eq!(
            text(&format!(r#"{{"no-message":{error}}}"#), r#""message""#, Party::Agent),
            "the agent answered session/load with an error with `code` other than -32000; expected none here"
        );
    }

    fn end(code: i32, unanswered: &[&str]) -> SubjectEnd {
        let unanswered = unanswered.iter().map(|&method| method.to_owned()).collect();
        SubjectEnd { exit: Some(Exit::Code(code)), connected: true, unanswered, ..SubjectEnd::default() }
    }

    #[test]
    fn end_of_an_agent_is_unexplained_unless_its_input_was_closed_or_it_was_stopped() {
        let cause = |end: &SubjectEnd| EndCause::of(end, Party::Agent);
        assert_eq!(cause(&end(0, &[])), EndCause::Unexplained);
        assert_eq!(cause(&SubjectEnd { input_closed: true, ..end(1, &[]) }), EndCause::InputClosed);
        assert_eq!(cause(&SubjectEnd { input_closed: true, flooded: true, ..end(1, &[]) }), EndCause::Flooded);
    }

    #[test]
    fn end_of_a_client_is_unexplained_only_after_a_crash_while_it_waits() {
        let cause = |end: &SubjectEnd| EndCause::of(end, Party::Client);
        let prompt = ["initialize", "session/prompt"];
        assert_eq!(cause(&SubjectEnd::default()), EndCause::NeverConnected);
        assert_eq!(cause(&end(1, &[])), EndCause::Idle);
        assert_eq!(cause(&end(1, &prompt)), EndCause::Unexplained);
        assert_eq!(cause(&end(0, &prompt)), EndCause::InTurn);
        assert_eq!(cause(&end(0, &prompt[..1])), EndCause::Waiting);
        assert_eq!(cause(&SubjectEnd { meaning: Some("gives up".to_owned()), ..end(1, &prompt) }), EndCause::InTurn);
        let killed = Some(Exit::Signal("SIGSEGV".to_owned()));
        assert_eq!(cause(&SubjectEnd { exit: killed, ..end(0, &prompt) }), EndCause::Unexplained);
    }
}
