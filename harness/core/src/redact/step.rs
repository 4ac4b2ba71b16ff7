//! Removes quotes from step results: values of messages, texts, paths, and the words of a harness problem.

use serde_json::json;

use crate::trace::{Excerpt, Expected, ExpectedText, Observed, StepEvent};

/// The mark for removed text.
const REMOVED: &str = "…";

/// Removes everything from a step result that may quote a message, a file or a user, and returns the number of quotes.
pub(super) fn remove_quotes(step: &mut StepEvent) -> usize {
    let expected = step.expected.as_mut().map_or(0, remove_expected);
    expected + step.observed.as_mut().map_or(0, remove_observed)
}

fn remove_expected(expected: &mut Expected) -> usize {
    match expected {
        Expected::Reply(text) => remove_expected_text(text),
        Expected::NoFile(path) => remove_text(path),
        Expected::File { path, content } => remove_text(path) + remove_expected_text(content),
        Expected::Words(words) => remove_text(words),
        // A pattern is text of the case file, which stays.
        Expected::Message(_)
        | Expected::NoMessage(_)
        | Expected::FenceAnswer
        | Expected::AnyReply(_)
        | Expected::ConnectionEnd
        | Expected::Exit(_)
        | Expected::TerminalLogin
        | Expected::Process { .. }
        | Expected::PageVisit(_)
        | Expected::McpMessage { .. } => 0,
    }
}

fn remove_observed(observed: &mut Observed) -> usize {
    match observed {
        Observed::Mismatch { expected, actual, .. } => remove_text(expected) + remove_text(actual),
        Observed::Error(error) => {
            *error = json!({ "code": error["code"], "message": REMOVED });
            1
        }
        Observed::Result(result) => {
            *result = REMOVED.into();
            1
        }
        Observed::Reply { text, .. } | Observed::File(text) => remove_excerpt(text),
        Observed::NoProcessId { path } => remove_text(path),
        Observed::FileUnreadable(words) | Observed::Problem(words) | Observed::Words { text: words, .. } => {
            remove_text(words)
        }
        Observed::Message
        | Observed::NoMessageSoFar
        | Observed::Ended(_)
        | Observed::TimedOut { .. }
        | Observed::Nothing
        | Observed::Passed
        | Observed::UnknownRequestUnanswered
        | Observed::FenceUnanswered(_)
        | Observed::StillConnected { .. }
        | Observed::Exited(_)
        | Observed::StillRunning
        | Observed::ProcessNotVisible
        | Observed::Process { .. }
        | Observed::PageVisit(_)
        | Observed::LoginOutsideTerminal
        | Observed::AuthenticateInstead
        | Observed::McpMessages(_)
        | Observed::McpMessagesLost
        | Observed::Capability { .. }
        | Observed::RunEnded
        | Observed::RequestMissing { .. }
        | Observed::NameUnbound { .. }
        | Observed::ActUnknown { .. }
        | Observed::SettingUnknown { .. }
        | Observed::NotConnected => 0,
    }
}

fn remove_expected_text(text: &mut ExpectedText) -> usize {
    match text {
        ExpectedText::Equals(text) | ExpectedText::Contains(text) | ExpectedText::Lacks(text) => remove_excerpt(text),
    }
}

fn remove_excerpt(excerpt: &mut Excerpt) -> usize {
    excerpt.of_bytes = None;
    remove_text(&mut excerpt.text)
}

fn remove_text(text: &mut String) -> usize {
    REMOVED.clone_into(text);
    1
}
