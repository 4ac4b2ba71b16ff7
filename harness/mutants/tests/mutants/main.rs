//! Proves that the checks can fail, and tests redaction and recording on the traces of the reference programs.

mod afterwards;
mod files;
mod killed;
#[path = "../reference/mod.rs"]
mod reference;

use std::process::ExitCode;
use std::thread::available_parallelism;

use acp_conformance::transport::relay;
use libtest_mimic::Arguments;

fn main() -> ExitCode {
    // The reference client starts this program as its agent.
    if let Some(code) = relay::run_if_asked() {
        return code;
    }
    let mut arguments = Arguments::from_args();
    // Programs with a fault mostly wait, so more tests run than there are cores.
    let threads = *arguments.test_threads.get_or_insert(8 * available_parallelism().map_or(2, usize::from));
    let mut trials = afterwards::trials();
    trials.extend(files::trials());
    trials.extend(killed::trials(threads, arguments.list));
    libtest_mimic::run(&arguments, trials).exit_code()
}
