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
    let limit = running.for_check(within.unwrap_or_default());
    repeat(running, limit, |running| compare_now(running, check)).await
}

/// Repeats a check until the result is as expected or the time is up; between two checks, processes events.
pub(super) async fn repeat<'c, C: Channel>(
    running: &mut RunningCase<'c, C>,
    limit: Duration,
    check: impl Fn(&RunningCase<'c, C>) -> StepResult,
) -> StepResult {
    let deadline = Instant::now() + limit;
    loop {
        let result = check(running);
        if result.outcome == Outcome::Done {
            return result;
        }
        let now = Instant::now();
        running.pass_time((now + CHECK_AGAIN).min(deadline)).await;
        if now >= deadline {
            return result;
        }
    }
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
