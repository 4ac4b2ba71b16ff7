//! The program: reads the arguments, runs the command, and exits with its code.

use std::process::ExitCode;

use acp_conformance::cli::{Args, ProgramExit, report_error, run};
use acp_conformance::edition::Editions;
use acp_conformance::transport::{between, relay};

fn main() -> ExitCode {
    // A client under test starts this program as its agent.
    if let Some(code) = relay::run_if_asked() {
        return code;
    }
    // The monitor also starts this program.
    if let Some(code) = between::detach_if_asked() {
        return code;
    }
    match run(Args::of_command_line(), Editions::built_in()) {
        Ok(exit) => exit.into(),
        Err(error) => {
            report_error(&error);
            ProgramExit::Usage.into()
        }
    }
}
