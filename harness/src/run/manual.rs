//! A run in which a person operates the client: one case after the other, at the pace of the person.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::interrupt::interrupted;
use super::play::run_case;
use super::script::Script;
use super::subject::Subject;
use crate::case::model::{Action, Body, Case, FixedAnswer};
use crate::profile::{person, places};
use crate::trace::Trace;

/// Puts the case with this id first, and those last after which a person may have to help the client up again.
pub fn order_for_a_person(cases: &mut [Case], first: &str) {
    cases.sort_by_key(|case| (is_harsh(case), case.id != first));
}

/// Runs the cases one by one; the person of the subject is told which, and may end the run.
///
/// `report` is given each trace; once it says no, no further case is begun.
pub fn run_by_hand(cases: &[Case], subject: &Subject, mut report: impl FnMut(&Trace, Duration) -> bool) {
    for (index, case) in cases.iter().enumerate() {
        if let Some(person) = &subject.person {
            person.tell(&format!("\n{} of {}  {}", index + 1, cases.len(), case.title));
        }
        let started = Instant::now();
        let trace = run_case(case, subject);
        let left = subject.person.as_ref().is_some_and(super::Person::has_left);
        if !report(&trace, started.elapsed()) || left || interrupted() {
            return;
        }
    }
}

/// Tells the person how to begin the case.
pub(super) fn begin(script: &mut Script<'_>) {
    let user = &script.case.user;
    let mut texts = Vec::new();
    if !user.mcp_servers.is_empty() {
        let servers: Vec<Value> = user.mcp_servers.iter().map(|entry| script.bindings.interpolate(entry)).collect();
        texts.push(filled(person::MCP_SERVERS, "mcp_servers", Value::from(servers).to_string()));
    }
    if !user.directories.is_empty() {
        let directories: Vec<String> = user.directories.iter().map(|dir| dir.render(&script.bindings)).collect();
        texts.push(filled(person::DIRECTORIES, "directories", Value::from(directories).to_string()));
    }
    texts.extend(person::permission(user.permission).map(str::to_owned));
    texts.push(filled(person::START, "prompt", user.prompt.clone()));
    for text in &texts {
        script.instruct(text);
    }
}

fn filled(text: &str, place: &str, value: String) -> String {
    places::fill(text, &[(place.to_owned(), value)].into())
}

/// Whether the case does something that a client may not survive, or has its user end it.
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

/// Whether it is the answer to initialize, with a version that no client expects.
fn is_odd_greeting(result: &Value) -> bool {
    result.get("protocolVersion").is_some_and(|version| *version != 1)
}
