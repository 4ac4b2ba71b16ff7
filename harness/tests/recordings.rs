//! The output of `check` for recordings: each `.txt` in `recordings/` begins with a command on files of that folder, followed
//! by its exit code and output.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::{Failed, Trial};

use crate::kept;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("harness/tests/recordings");
    let files = fs::read_dir(&folder).expect("the folder of recordings").flatten().map(|entry| entry.path());
    let mut trials = Vec::new();
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "txt")) {
        let name = format!("recordings/{}", path.file_stem().unwrap_or_default().display());
        trials.push(Trial::test(name, move || said_as_written(&path)).with_kind("recording"));
    }
    trials.sort_by(|a, b| a.name().cmp(b.name()));
    trials
}

fn said_as_written(path: &Path) -> Result<(), Failed> {
    let wanted = fs::read_to_string(path)?;
    let command = wanted.lines().next().and_then(|line| line.strip_prefix("$ ")).ok_or("no line `$ check …`")?;
    let said = format!("$ {command}\n{}", run(command, path.parent().ok_or("no folder")?)?);
    Ok(kept::kept(path, &said)?)
}

fn run(command: &str, folder: &Path) -> Result<String, Failed> {
    let (words, input) = command.split_once(" < ").map_or((command, None), |(words, file)| (words, Some(file)));
    let stdin = match input {
        Some(file) => Stdio::from(File::open(folder.join(file))?),
        None => Stdio::null(),
    };
    let output = Command::new(env!("CARGO_BIN_EXE_acp-conformance"))
        .args(words.split_whitespace())
        .current_dir(folder)
        .stdin(stdin)
        .output()?;
    let said = String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?;
    let timeless = |line: &&str| !line.starts_with("  time ");
    let lines: Vec<&str> = said.lines().filter(timeless).map(str::trim_end).collect();
    Ok(format!("exit {}\n{}\n", output.status.code().unwrap_or(-1), lines.join("\n").trim_start_matches('\n')))
}
