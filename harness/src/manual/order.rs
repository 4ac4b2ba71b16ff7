//! The order of cases for a person who operates the client.

use serde_json::Value;

use crate::case::model::{Action, Body, Case, FixedAnswer};

/// Puts the case with this id first. Cases that may end the client, so that the person must restart it, come last.
pub fn order_for_a_person(cases: &mut [Case], first: &str) {
    cases.sort_by_key(|case| (is_harsh(case), case.id != first));
}

/// Whether the case does something that may end a client, or has its user end it.
fn is_harsh(case: &Case) -> bool {
    let greeting = case.tester.answers.get("initialize").is_some_and(|answer| match answer {
        FixedAnswer::Result(result) => is_odd_greeting(result),
        FixedAnswer::Error(_) => true,
    });
    greeting || case.steps.iter().any(|step| is_harsh_step(&step.action))
}

fn is_harsh_step(action: &Action) -> bool {
    match action {
        Action::Raw(_) | Action::AgentProcess(_) | Action::CloseStdin | Action::End | Action::Exit { .. } => true,
        Action::Act(act) => act.name == "quit",
        Action::Send(lines) => lines
            .iter()
            .any(|line| line.illegal || matches!(&line.body, Body::Result { result, .. } if is_odd_greeting(result))),
        _ => false,
    }
}

/// Whether it is an answer to `initialize` with a version that no client expects.
fn is_odd_greeting(result: &Value) -> bool {
    result.get("protocolVersion").is_some_and(|version| *version != 1)
}
