//! This test program as the command line `acp-conformance`, which is a program of another package.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};

use acp_conformance::cli::{Args, ProgramExit, report_error, run};
use acp_conformance::edition::Editions;
use acp_conformance::results::RunReport;
use clap::Parser;

use crate::editions::TINY;
use crate::reference::CLIENT;

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

/// Returns PATH with the folder of the reference programs, which profiles name without one.
pub fn path() -> OsString {
    path_from(Path::new(CLIENT).parent().expect("a folder"))
}

/// Returns PATH with this folder before the others.
pub fn path_from(folder: &Path) -> OsString {
    let before = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_path_buf()).chain(std::env::split_paths(&before));
    std::env::join_paths(folders).expect("folders")
}

/// Runs the command line in a folder of its own, and returns its output with its report.
pub fn tested(words: &[&str]) -> (Output, RunReport) {
    tested_in(tempfile::tempdir().expect("a folder").path(), words)
}

/// Runs the command line in this folder, and returns its output with its report.
pub fn tested_in(folder: &Path, words: &[&str]) -> (Output, RunReport) {
    let mut command = command();
    command.arg(words[0]).arg("--format=json=report.json").args(&words[1..]).current_dir(folder).stdin(Stdio::null());
    let output = command.output().expect("this program starts");
    let text = fs::read_to_string(folder.join("report.json")).unwrap_or_else(|_| panic!("{}", said(&output)));
    (output, serde_json::from_str(&text).expect("a report"))
}

/// Returns standard output with standard error after it.
pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
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
