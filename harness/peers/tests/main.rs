//! All tests with the reference programs, in one program: each program links the whole tree, which takes longer than to
//! run most of its tests.
//!
//! The name of a test begins with that of its file, so `cargo test -p acp-conformance-peers --test it monitor/` runs
//! those of `monitor.rs`. The cases on the reference programs keep their own names, such as `v1/agent/init/handshake`.

mod agent;
mod busy;
mod certificate;
mod client;
mod conversations;
mod editions;
mod explore;
#[path = "../../tests/left.rs"]
mod left;
mod manual;
mod means;
mod monitor;
mod network;
mod page;
mod program;
mod reference;
mod remote;
mod reproduce;
mod selections;
mod servers;
mod shards;
mod silent;
#[path = "../../tests/snap.rs"]
mod snap;
mod snapshots;
mod terminals;
mod unusual;

use std::process::ExitCode;
use std::thread::available_parallelism;

use acp_conformance::transport::{between, relay};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    // Agents start this program as their MCP servers, clients as their agent, `monitor` as the process in between, and
    // cases as a mutant.
    // A mutant inherits the environment of the command line that starts it, so it comes first.
    let other = relay::run_if_asked()
        .or_else(acp_conformance_mutants::program::run_if_asked)
        .or_else(between::detach_if_asked)
        .or_else(program::run_if_asked);
    if let Some(code) = other {
        return code;
    }
    let mut arguments = Arguments::from_args();
    // Programs with a fault mostly wait, so more tests run than there are cores.
    arguments.test_threads.get_or_insert(4 * available_parallelism().map_or(2, usize::from));
    let trials = [
        // These take the longest, so they begin first.
        conversations::trials(),
        explore::trials(),
        agent::trials(),
        certificate::trials(),
        client::trials(),
        editions::trials(),
        manual::trials(),
        means::trials(),
        monitor::trials(),
        network::trials(),
        servers::trials(),
        page::trials(),
        remote::trials(),
        reproduce::trials(),
        selections::trials(),
        shards::trials(),
        silent::trials(),
        snapshots::trials(),
        terminals::trials(),
        unusual::trials(),
    ];
    let together = libtest_mimic::run(&arguments, trials.into_iter().flatten().collect());
    // These need an idle machine, and make it busy themselves.
    arguments.test_threads = Some(1);
    let alone = libtest_mimic::run(&arguments, busy::trials());
    if together.has_failed() { together.exit_code() } else { alone.exit_code() }
}

/// Makes trials of functions that panic if they fail. `file` is the prefix of their names.
fn panicking(file: &str, tests: &[(&str, fn())]) -> Vec<Trial> {
    let trial = |&(name, test): &(&str, fn())| {
        Trial::test(format!("{file}/{name}"), move || {
            test();
            Ok(())
        })
    };
    tests.iter().map(trial).collect()
}

/// Makes the same of functions that read `/proc`; elsewhere they run only if they are asked for.
fn panicking_on_linux(file: &str, tests: &[(&str, fn())]) -> Vec<Trial> {
    panicking(file, tests).into_iter().map(|trial| trial.with_ignored_flag(!cfg!(target_os = "linux"))).collect()
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(why().into()) }
}
