//! The steps that expect the end of a connection, or the exit of the subject.

use std::time::Duration;

use tokio::time::Instant;

use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::Channel;
use crate::run::timing::FENCE_AFTER_TIMEOUT;
use crate::trace::{Exit, Expected, Observed, Outcome, StepKind};

/// Waits for the subject to end the connection. If that decides something, a subject that still answers has not ended
/// it. Otherwise its answer proves as well as the end that no other message comes.
pub(super) async fn end<C: Channel>(running: &mut RunningCase<'_, C>, decides: bool, limit: Duration) -> StepResult {
    let connection = running.connection;
    let ended = running.until(Instant::now() + limit, |running| running.channel.state().ended(connection)).await;
    let expected = Some(Expected::ConnectionEnd);
    if ended {
        return StepResult { expected, ..StepResult::new(StepKind::Exit, Outcome::Done) };
    }
    let fence = running.fence(FENCE_AFTER_TIMEOUT).await;
    if fence.outcome == Outcome::Done && !decides {
        return fence;
    }
    let (outcome, observed) = match fence.outcome {
        Outcome::Done => (Outcome::Contradicted, Some(Observed::StillConnected { answers: true })),
        Outcome::Ended => (Outcome::Done, None),
        _ => (Outcome::TimedOut, Some(Observed::StillConnected { answers: false })),
    };
    StepResult { events: fence.events, expected, observed, ..StepResult::new(StepKind::Exit, outcome) }
}

/// Waits for the exit of the subject, with this code if one is expected.
pub(super) async fn exit<C: Channel>(
    running: &mut RunningCase<'_, C>,
    code: Option<i32>,
    limit: Duration,
) -> StepResult {
    running.until(Instant::now() + limit, |running| running.channel.state().exit.is_some()).await;
    let (outcome, observed) = match &running.channel.state().exit {
        Some(Exit::Code(found)) if code.is_none_or(|code| code == *found) => (Outcome::Done, None),
        Some(exit) => (Outcome::Contradicted, Some(Observed::Exited(exit.clone()))),
        None => (Outcome::TimedOut, Some(Observed::StillRunning)),
    };
    let expected = Some(Expected::Exit(code));
    StepResult { expected, observed, ..StepResult::new(StepKind::Exit, outcome) }
}

/// Returns the result for the exit of a client that a person started, whose process is unknown.
pub(super) fn not_visible() -> StepResult {
    StepResult { observed: Some(Observed::ProcessNotVisible), ..StepResult::new(StepKind::Exit, Outcome::Missed) }
}
