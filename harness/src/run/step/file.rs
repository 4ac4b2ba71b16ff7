//! The step that compares a file on disk.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use crate::case::model::{FileCheck, FileWant};
use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::Channel;
use crate::run::timing::CHECK_AGAIN;
use crate::trace::{Excerpt, Expected, ExpectedText, Observed, Outcome, StepKind};
use crate::transport::folder::read_file;

/// Compares a file on disk; repeats that until the file matches or the time is up.
pub(super) async fn compare<C: Channel>(
    running: &mut RunningCase<'_, C>,
    check: &FileCheck,
    within: Option<Duration>,
) -> StepResult {
    let deadline = Instant::now() + running.for_check(within.unwrap_or_default());
    loop {
        let result = compare_now(running, check);
        if result.outcome == Outcome::Done || !pause(running, deadline).await {
            return result;
        }
    }
}

/// Processes events until it is time to check again; false when no time is left.
pub(super) async fn pause<C: Channel>(running: &mut RunningCase<'_, C>, deadline: Instant) -> bool {
    let now = Instant::now();
    let until = (now + CHECK_AGAIN).min(deadline);
    running.pass_time(until).await;
    now < deadline
}

fn is_absent(path: &Path) -> bool {
    let gone = |error: io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    path.symlink_metadata().is_err_and(gone)
}

fn compare_now<C: Channel>(running: &RunningCase<'_, C>, check: &FileCheck) -> StepResult {
    let path = check.path.render(&running.bindings);
    let found = read_file(Path::new(&path));
    let bindings = &running.bindings;
    let (good, expected) = match &check.want {
        FileWant::Absent => (is_absent(Path::new(&path)), Expected::NoFile(path)),
        FileWant::Content(text) => {
            let text = text.render(bindings);
            let good = found.as_ref().is_ok_and(|bytes| bytes == text.as_bytes());
            (good, Expected::File { path, content: ExpectedText::Equals(Excerpt::of(&text)) })
        }
        FileWant::Contains(text) => {
            let text = text.render(bindings);
            let good = found.as_ref().is_ok_and(|bytes| String::from_utf8_lossy(bytes).contains(&text));
            (good, Expected::File { path, content: ExpectedText::Contains(Excerpt::of(&text)) })
        }
    };
    if good {
        return StepResult::new(StepKind::File, Outcome::Done);
    }
    let observed = match found {
        Ok(bytes) => Observed::File(Excerpt::of(&String::from_utf8_lossy(&bytes))),
        Err(error) => Observed::FileUnreadable(error.to_string()),
    };
    let (expected, observed) = (Some(expected), Some(observed));
    StepResult { expected, observed, ..StepResult::new(StepKind::File, Outcome::Contradicted) }
}
