//! Runs cases on a subject with the program itself, like a user, and checks that nothing remains after its exit.

use std::path::Path;
use std::process::Command;

use acp_conformance::requirement::Party;
use libtest_mimic::Failed;

use super::trial::output_of;
use super::{program, table};
use crate::left;

/// A leftover that a single case cannot find, since others run at the same time.
const HIDES: &str = "leaves a daemon without the identifying environment";

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
    // All of its sessions have the same id, so each needs a process of its own.
    run.args(["agent", "--isolate"]).args(OPTIONS).arg("--").args(subject).env("TMPDIR", temporary.path());
    let output = output_of(run)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        return Err(format!("it ended with {}: {said}", output.status).into());
    }
    let left = left::below(temporary.path());
    if left.is_empty() { Ok(()) } else { Err(left.join("\n").into()) }
}

/// Writes its folders, one line for each start, leaves a file in each, and answers the handshake.
const NOTES_ITS_FOLDERS: &str = r#"
    for folder in "$TMPDIR" "$TMUX_TMPDIR" "$XDG_RUNTIME_DIR"; do touch "$folder/left"; done
    echo "$TMPDIR|$TMUX_TMPDIR|$XDG_RUNTIME_DIR|$(ls -ld "$XDG_RUNTIME_DIR" | cut -c 1-10)|$TMUX" >> "$NOTES"
    read a; printf '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\n'
    read b; printf '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}\n'; read c"#;

/// The folders of a shared daemon of the user, such as tmux, differ in each case, and are removed with the case.
pub fn shares_no_temporary_folder() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (temporary, notes) = (folder.path().join("t"), folder.path().join("notes"));
    std::fs::create_dir(&temporary)?;
    let mut run = Command::new(env!("CARGO_BIN_EXE_acp-conformance"));
    run.args(["agent", "--quiet", "--allow-incomplete", "--jobs", "2"]);
    run.args(["--case", "init/handshake", "--case", "init/agent-info", "--", "sh", "-c", NOTES_ITS_FOLDERS]);
    run.env("TMPDIR", &temporary).env("TMUX_TMPDIR", &temporary).env("XDG_RUNTIME_DIR", &temporary);
    run.env("NOTES", &notes).env("TMUX", "/somewhere/default,1,0");
    output_of(run)?;
    let noted = std::fs::read_to_string(&notes)?;
    let starts: Vec<Vec<&str>> = noted.lines().map(|line| line.split('|').collect()).collect();
    let [first, second, ..] = starts.as_slice() else {
        return Err(format!("it was started less than twice: {noted}").into());
    };
    let root = temporary.canonicalize()?;
    let apart = |start: &Vec<&str>| {
        let inside =
            start[..3].iter().all(|path| Path::new(path).parent().is_some_and(|case| case.parent() == Some(&root)));
        inside && start[3..] == ["drwx------", ""]
    };
    let left = left::below(&temporary);
    let good = first != second && starts.iter().all(apart) && left.is_empty();
    if good { Ok(()) } else { Err(format!("{noted}{}", left.join("\n")).into()) }
}
