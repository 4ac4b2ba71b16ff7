//! The program itself runs cases on a subject, as a user has it do, and nothing is left when it has ended.

use std::process::Command;

use acp_conformance::requirement::Party;
use libtest_mimic::Failed;

use crate::meeting::output_of;
use crate::{left, program, table};

/// What a case alone cannot find, since others run at the same time.
const HIDES: &str = "leaves a daemon without the environment by which it could be known";

const OPTIONS: [&str; 8] = [
    "--quiet",
    "--allow-incomplete",
    "--jobs",
    "2",
    "--case",
    "cancel/while-writing",
    "--case",
    "cancelreq/new-session",
];

/// Runs several cases, two at a time.
pub fn leaves_nothing() -> Result<(), Failed> {
    let temporary = tempfile::tempdir()?;
    let subject = program::command(&table::find(&Party::Agent.to_string(), HIDES));
    let mut run = Command::new(env!("CARGO_BIN_EXE_acp-conformance"));
    run.arg("agent").args(OPTIONS).arg("--").args(subject).env("TMPDIR", temporary.path());
    let output = output_of(run)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        return Err(format!("it ended with {}: {said}", output.status).into());
    }
    let left = left::below(temporary.path());
    if left.is_empty() { Ok(()) } else { Err(left.join("\n").into()) }
}
