//! A plan, and its progress from step to step.

use agent_client_protocol::v1::schema::{Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate};

use super::turn::Turn;

const STEPS: [(&str, PlanEntryPriority); 3] = [
    ("Read the task", PlanEntryPriority::High),
    ("Do the task", PlanEntryPriority::Medium),
    ("Check the result", PlanEntryPriority::Low),
];

/// Shows the plan, and each step at its beginning and end.
pub(super) fn follow(turn: &Turn) {
    for n_done in 0..STEPS.len() {
        show(turn, n_done, PlanEntryStatus::Pending);
        show(turn, n_done, PlanEntryStatus::InProgress);
    }
    show(turn, STEPS.len(), PlanEntryStatus::Completed);
    turn.say("The plan is completed.");
}

/// Sends all entries, as every update does; the first ones are completed, and the next one has this status.
fn show(turn: &Turn, n_done: usize, next: PlanEntryStatus) {
    let status = |step: usize| match step {
        step if step < n_done => PlanEntryStatus::Completed,
        step if step == n_done => next.clone(),
        _ => PlanEntryStatus::Pending,
    };
    let entries =
        STEPS.iter().zip(0..).map(|((text, priority), step)| PlanEntry::new(*text, priority.clone(), status(step)));
    turn.update(SessionUpdate::Plan(Plan::new(entries.collect())));
}
