//! This test program as the command line `acp-conformance`, which is a program of another package.

use std::process::{Command, ExitCode};

use acp_conformance::cli::{Args, ProgramExit, report_error, run};
use acp_conformance::edition::Editions;
use clap::Parser;

use crate::editions::TINY;

/// If this is set, the program is the command line; the value [`WITH_TINY`] adds an edition.
const VARIABLE: &str = "ACP_TEST_AS_PROGRAM";

const WITH_TINY: &str = "tiny";

/// Returns the command line.
pub fn command() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    mark(&mut command);
    command
}

/// Returns the words that start the command line from another program.
pub fn words() -> [String; 3] {
    let program = std::env::current_exe().expect("this program has a path").display().to_string();
    ["env".to_owned(), format!("{VARIABLE}=1"), program]
}

/// Returns the command line with the edition [`TINY`] in addition to its own.
pub fn command_with_tiny() -> Command {
    let mut command = command();
    command.env(VARIABLE, WITH_TINY);
    command
}

/// Makes this program the command line wherever a command starts it.
pub fn mark(command: &mut Command) {
    command.env(VARIABLE, "1");
}

/// Runs the command line, if the environment asks for it.
pub fn run_if_asked() -> Option<ExitCode> {
    let asked = std::env::var_os(VARIABLE)?;
    let editions = Editions::built_in();
    let editions = if asked == WITH_TINY { editions.with(&TINY) } else { editions };
    let ended = run(Args::parse(), editions).unwrap_or_else(|error| {
        report_error(&error);
        ProgramExit::Usage
    });
    Some(ended.into())
}
