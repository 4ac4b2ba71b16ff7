//! The step that checks whether a process that the subject started is running.

use std::path::Path;
use std::time::Duration;

use crate::case::model::ProcessCheck;
use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::Channel;
use crate::trace::{Expected, Observed, Outcome, StepKind};
use crate::transport::folder::read_file;
use crate::transport::process::is_running;

/// Checks whether a process runs; repeats that until the result is as expected or the time is up.
pub(super) async fn check<C: Channel>(
    running: &mut RunningCase<'_, C>,
    check: &ProcessCheck,
    within: Option<Duration>,
) -> StepResult {
    let limit = running.for_check(within.unwrap_or(running.limits.answer));
    super::file::repeat(running, limit, |running| check_now(running, check)).await
}

fn check_now<C: Channel>(running: &RunningCase<'_, C>, check: &ProcessCheck) -> StepResult {
    let path = check.pid_file.render(&running.bindings);
    let text = read_file(Path::new(&path)).unwrap_or_default();
    let Ok(pid) = String::from_utf8_lossy(&text).trim().parse::<u32>() else {
        let observed = Some(Observed::NoProcessId { path });
        return StepResult { observed, ..StepResult::new(StepKind::Process, Outcome::Missed) };
    };
    let runs = is_running(pid);
    if runs == check.running {
        return StepResult::new(StepKind::Process, Outcome::Done);
    }
    StepResult {
        expected: Some(Expected::Process { pid, running: check.running }),
        observed: Some(Observed::Process { running: runs }),
        ..StepResult::new(StepKind::Process, Outcome::Contradicted)
    }
}
