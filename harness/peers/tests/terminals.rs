//! The commands that the tester runs for an agent: they get the HOME of the case, and all end with the case.

use std::path::Path;

use acp_conformance::requirement::Party;
use acp_conformance::run::run_case;
use acp_conformance::trace::{Outcome, Trace, What};
use acp_conformance::wire::{Content, read_line};
use libtest_mimic::Trial;

use crate::{left, panicking, reference};

/// A command that starts a process outside its group.
const CASE: &str = r#"
title: A command prints HOME and leaves a process running
subject: agent
requirements: [terminal.capability]
transcript:
  - include: session
  - client: { id: turn, method: session/prompt, params: { sessionId: <session>, prompt: { intent: run-command, command: sh, args: ["-c", 'setsid sleep 300 & echo "HOME is $HOME."'] } } }
  - agent: { id: turn, result: { stopReason: end_turn } }
  - reply: { id: turn, contains: "HOME is <home>." }
"#;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let name = "a_command_sees_the_home_of_the_case_and_leaves_nothing_behind";
    let trials = panicking("terminals", &[(name, a_command_sees_the_home_of_the_case_and_leaves_nothing_behind)]);
    // It reads /proc.
    trials.into_iter().map(|trial| trial.with_ignored_flag(!cfg!(target_os = "linux"))).collect()
}

fn a_command_sees_the_home_of_the_case_and_leaves_nothing_behind() {
    let case = reference::written("cases/v1/agent/terminal/daemon.yaml", CASE);
    let trace = run_case(&case, &reference::subject(Party::Agent, &[]));
    for event in &trace.events {
        if let What::Step(step) = &event.what {
            assert_eq!(step.outcome, Outcome::Done, "{}: {:?}", step.text, step.observed);
        }
    }
    let folder = Path::new(&cwd(&trace)).parent().expect("the working directory is in a folder").to_owned();
    assert_eq!(left::below(&folder), Vec::<String>::new());
}

/// Returns the working directory of the first session.
fn cwd(trace: &Trace) -> String {
    let opened = trace.events.iter().find_map(|event| match &event.what {
        What::Line { from: Party::Client, bytes, .. } => match read_line(bytes) {
            Content::One { value, .. } => value.pointer("/params/cwd")?.as_str().map(str::to_owned),
            _ => None,
        },
        _ => None,
    });
    opened.expect("a session is opened")
}
