//! The output of commands on files of a folder: of `check` for recordings, for known failures and for changes in
//! `regressions/`, and for wrong command lines and files in `usage/`. Each `commands.txt` names the snapshots and their
//! commands.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use libtest_mimic::{Failed, Trial};

use crate::snap;

/// The folder of the tests.
pub const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/harness/tests");

const FOLDERS: [&str; 3] = ["recordings", "regressions", "usage"];

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for folder in FOLDERS {
        let text = fs::read_to_string(folder_of(folder).join("commands.txt")).expect("the commands of a folder");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let commands = lines.map(|line| line.split_once(": ").expect("a name and a command"));
        let mut names = Vec::new();
        for (name, command) in commands.map(|(name, command)| (name.to_owned(), command.to_owned())) {
            names.push(name.clone());
            let trial = Trial::test(format!("{folder}/{name}"), move || prints_snapshot(folder, &name, &command));
            trials.push(trial.with_kind("output"));
        }
        trials.push(snap::all_used(folder, folder, names));
    }
    trials
}

fn folder_of(name: &str) -> PathBuf {
    Path::new(TESTS).join(name)
}

fn prints_snapshot(folder: &str, name: &str, command: &str) -> Result<(), Failed> {
    let (words, input) = command.split_once(" < ").map_or((command, None), |(words, file)| (words, Some(file)));
    let words = shell_words::split(words)?;
    let mut run = program(&words.iter().map(String::as_str).collect::<Vec<_>>(), &folder_of(folder));
    match input {
        Some(file) => run.stdin(File::open(folder_of(folder).join(file))?),
        None => run.stdin(Stdio::null()),
    };
    let output = run.output()?;
    snap::compare(folder, name, &format!("$ {command}\nexit {}\n{}\n", code(&output), stable(&output)?));
    Ok(())
}

/// Returns the output without the version, the path of the tests and the durations.
fn stable(output: &Output) -> Result<String, Failed> {
    let said = String::from_utf8(output.stdout.clone())? + &String::from_utf8(output.stderr.clone())?;
    let lines = said.lines().map(|line| if line.starts_with("  time ") { "  time <time>" } else { line.trim_end() });
    let said = lines.collect::<Vec<_>>().join("\n");
    // Those of JUnit are attributes.
    let mut parts = said.split(" time=\"");
    let first = parts.next().unwrap_or_default().to_owned();
    let said = parts.fold(first, |said, part| {
        said + " time=\"<time>" + part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
    });
    Ok(said.trim_matches('\n').replace(env!("CARGO_PKG_VERSION"), "<version>").replace(TESTS, "<tests>"))
}

/// Returns the program with these arguments, in this folder.
pub fn program(words: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acp-conformance"));
    command.args(words).current_dir(folder).env_remove("CI");
    command
}

/// Returns the exit code; -1 after a signal.
pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}
