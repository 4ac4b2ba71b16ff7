//! All tests of the package that use only its public interface, in one program: each program links the whole tree,
//! which takes longer than to run most of its tests.
//!
//! The name of a test begins with that of its file, so `cargo test -p acp-conformance --test it traces/` runs those of
//! `traces.rs`.

/// Makes a trial of each function of a file. A function without arguments passes if it does not panic.
macro_rules! trials {
    ($file:literal: $($test:ident),* $(,)?) => {
        vec![$(libtest_mimic::Trial::test(concat!($file, "/", stringify!($test)), || {
            $test();
            Ok(())
        })),*]
    };
}

mod commands;
mod diagnostics;
mod editions;
mod examples;
mod forms;
mod fuzzed;
mod hostile;
mod joined;
mod kept;
mod left;
mod model;
mod record;
mod recorded;
mod redacted;
mod registry;
mod regressions;
mod snap;
mod stopped;
mod tidy;
mod traces;

use std::process::ExitCode;
use std::thread::available_parallelism;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    if let Some(code) = hostile::run_if_asked() {
        return code;
    }
    let mut arguments = Arguments::from_args();
    let cores = available_parallelism().map_or(2, usize::from);
    let wanted = arguments.test_threads;
    // Most of the tests that start programs wait, so more tests run than there are cores.
    arguments.test_threads = wanted.or(Some(4 * cores));
    let trials = [
        // These take the longest, so they begin first.
        hostile::trials(),
        commands::trials(),
        diagnostics::trials(),
        forms::trials(),
        fuzzed::trials(),
        model::trials(),
        record::trials(),
        registry::trials(),
        regressions::trials(),
        tidy::trials(),
        traces::trials(),
    ];
    let together = libtest_mimic::run(&arguments, trials.into_iter().flatten().collect());
    hostile::write_page_if_asked();
    // These stop a run at a certain moment, so the hostile subjects must not load the machine.
    arguments.test_threads = wanted.or(Some(cores));
    let apart = libtest_mimic::run(&arguments, stopped::trials());
    if together.has_failed() { together.exit_code() } else { apart.exit_code() }
}
