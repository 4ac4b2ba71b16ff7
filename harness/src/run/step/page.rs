//! The step that checks whether the page of the case was visited.

use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::{Channel, Order};
use crate::trace::{Expected, Observed, Outcome, StepKind};

/// Checks whether a request for the page has come so far.
pub(super) fn check<C: Channel>(running: &mut RunningCase<'_, C>, visited: bool) -> StepResult {
    running.channel.send(Order::RecordVisits);
    let events = running.channel.state().visits.clone();
    if events.is_empty() != visited {
        return StepResult::new(StepKind::Page, Outcome::Done);
    }
    StepResult {
        events,
        expected: Some(Expected::PageVisit(visited)),
        observed: Some(Observed::PageVisit(!visited)),
        ..StepResult::new(StepKind::Page, Outcome::Contradicted)
    }
}
