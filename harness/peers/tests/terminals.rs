//! The commands that the tester runs for an agent: they get the HOME of the case, and all end with the case.

use std::path::Path;

use acp_conformance::requirement::Party;
use acp_conformance::run::{Subject, run_case};
use acp_conformance::trace::{Outcome, Trace, What};
use acp_conformance::wire::{Content, read_line};
use libtest_mimic::Trial;

use crate::{left, panicking_on_linux, reference};

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

const TURN: &str = r#"
title: A turn ends
subject: agent
requirements: [terminal.capability]
transcript:
  - include: session
  - client: { id: turn, method: session/prompt, params: { sessionId: <session>, prompt: { intent: say } } }
  - agent: { id: turn, result: { stopReason: end_turn } }
"#;

/// An agent that cancels its wait for an exit, and ends its turn only after the error about that.
const CANCELS_WAIT: &str = r#"
read line; printf '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\n'
read line; printf '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}\n'
read line; printf '{"jsonrpc":"2.0","id":"new","method":"terminal/create","params":{"sessionId":"s","command":"sleep","args":["300"]}}\n'
read line; line=${line#*terminalId\":\"}
printf '{"jsonrpc":"2.0","id":"wait","method":"terminal/wait_for_exit","params":{"sessionId":"s","terminalId":"%s"}}\n' "${line%%\"*}"
printf '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"wait"}}\n'
read line
case $line in *-32800*) printf '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}\n' ;; esac
exec cat >/dev/null
"#;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let tests: [(&str, fn()); 2] = [
        (
            "a_command_sees_the_home_of_the_case_and_leaves_nothing_behind",
            a_command_sees_the_home_of_the_case_and_leaves_nothing_behind,
        ),
        ("a_cancelled_wait_for_an_exit_is_answered", a_cancelled_wait_for_an_exit_is_answered),
    ];
    panicking_on_linux("terminals", &tests)
}

fn a_command_sees_the_home_of_the_case_and_leaves_nothing_behind() {
    let case = reference::written("cases/v1/agent/terminal/daemon.yaml", CASE);
    let trace = run_case(&case, &reference::subject(Party::Agent, &[]));
    every_step_is_done(&trace);
    let folder = Path::new(&cwd(&trace)).parent().expect("the working directory is in a folder").to_owned();
    assert_eq!(left::below(&folder), Vec::<String>::new());
}

fn a_cancelled_wait_for_an_exit_is_answered() {
    let case = reference::written("cases/v1/agent/terminal/cancelled-wait.yaml", TURN);
    let command = ["sh", "-c", CANCELS_WAIT].map(str::to_owned).to_vec();
    let here = std::env::current_dir().expect("a current directory");
    every_step_is_done(&run_case(&case, &Subject::agent(command, here)));
}

fn every_step_is_done(trace: &Trace) {
    for event in &trace.events {
        if let What::Step(step) = &event.what {
            assert_eq!(step.outcome, Outcome::Done, "{}: {:?}", step.text, step.observed);
        }
    }
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
