//! Commands that change files: `--update-expected`, the review of transcripts and `init`. Also what depends on the
//! shell.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use libtest_mimic::{Failed, Trial};

use crate::commands::{TESTS, code, program};
use crate::snap;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/harness/tests/regressions");

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("regressions/update", update).with_kind("changed"),
        Trial::test("regressions/update-makes-a-file", update_makes_a_file).with_kind("changed"),
        Trial::test("regressions/review", review).with_kind("changed"),
        Trial::test("regressions/ci", nothing_is_written_in_ci).with_kind("changed"),
        Trial::test("regressions/completions", completions).with_kind("shell"),
        Trial::test("regressions/color", color).with_kind("shell"),
        Trial::test("regressions/closed-output", closed_output).with_kind("shell"),
        Trial::test("regressions/redact-to-standard-output", redact_to_standard_output).with_kind("shell"),
        Trial::test("regressions/workflow", workflow).with_kind("changed"),
    ]
}

fn ends_with(code_wanted: i32, output: &Output) -> Result<(), Failed> {
    let said = String::from_utf8_lossy(&output.stderr);
    if code(output) == code_wanted { Ok(()) } else { Err(format!("exit {}: {said}", code(output)).into()) }
}

fn same(what: &str, found: &str, wanted: &str) -> Result<(), Failed> {
    if found == wanted { Ok(()) } else { Err(format!("{what}: wanted\n{wanted}\nand found\n{found}").into()) }
}

/// Correct entries stay as a person wrote them, stale ones are removed, and the next run has no complaints.
fn update() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("mine.toml");
    let expected = fs::read_to_string(Path::new(FOLDER).join("expected.toml"))?;
    fs::write(&file, &expected)?;
    let traces = Path::new(FOLDER).join("new");
    let words = |more: &[&'static str]| -> Vec<String> {
        let fixed = ["check", &traces.to_string_lossy(), "--allow-incomplete", "--today", "2026-11-21", "--expected"];
        let fixed = fixed.into_iter().chain(["mine.toml"]).chain(more.iter().copied());
        fixed.map(str::to_owned).collect()
    };
    let run = |more: &[&'static str]| {
        let words = words(more);
        program(&words.iter().map(String::as_str).collect::<Vec<_>>(), dir.path()).output()
    };
    ends_with(1, &run(&[])?)?;
    same("untouched", &fs::read_to_string(&file)?, &expected)?;
    let updated = run(&["--update-expected"])?;
    ends_with(0, &updated)?;
    let said = String::from_utf8_lossy(&updated.stderr).into_owned();
    same(
        "said",
        &said,
        "mine.toml: changed\n  removed  v1/agent/init/handshake: it no longer fails\n  \
         removed  cancel.stop-reason in v1/agent/cancel/repeated: it no longer fails\n",
    )?;
    let kept = expected.split("\n[[expected]]\ncase").next().unwrap_or_default();
    same("updated", &fs::read_to_string(&file)?, kept)?;
    ends_with(0, &run(&[])?)
}

/// Creates a baseline of today's failures, with placeholders for the reasons.
fn update_makes_a_file() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let traces = Path::new(FOLDER).join("new").to_string_lossy().into_owned();
    let words = ["check", &traces, "--allow-incomplete", "--expected", "fresh.toml"];
    ends_with(2, &program(&words, dir.path()).output()?)?;
    ends_with(0, &program(&words, dir.path()).arg("--update-expected").output()?)?;
    let written = fs::read_to_string(dir.path().join("fresh.toml"))?;
    let entry = "[[expected]]\nrequirement = \"cancel.stop-reason\"\nreason = \"to be filled in\"\n";
    if !written.ends_with(entry) {
        return Err(written.into());
    }
    let output = program(&words, dir.path()).output()?;
    ends_with(0, &output)?;
    let said = String::from_utf8(output.stderr)?;
    said.contains("warning[expected::placeholder]").then_some(()).ok_or(said)?;
    // Both parties share the file.
    let sides = ["agent", "client"].map(|party| format!("{TESTS}/recordings/sides-faulty-{party}.ndjson"));
    let words = ["check", "--agent", &sides[0], "--client", &sides[1], "--expected", "both.toml", "--update-expected"];
    let said = String::from_utf8(program(&words, dir.path()).output()?.stderr)?;
    same(
        "changes",
        &said.lines().filter(|line| line.starts_with("both.toml")).collect::<String>(),
        "both.toml: changed",
    )
}

/// Runs the handshake with an agent of this name.
fn handshake(name: &str, folder: &Path) -> Command {
    let agent = format!(
        r#"read a; printf '{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":1,"agentInfo":{{"name":"{name}","version":"1"}}}}}}\n'
        read b; printf '{{"jsonrpc":"2.0","id":1,"error":{{"code":-32601,"message":"Method not found"}}}}\n'; read c"#
    );
    let words = ["agent", "--allow-incomplete", "--case", "init/handshake", "--snapshots", "kept", "--", "sh", "-c"];
    let mut command = program(&words, folder);
    command.arg(agent);
    command
}

fn kept(folder: &Path) -> (PathBuf, PathBuf) {
    let kept = folder.join("kept/v1/agent/init/handshake.snap");
    (kept.clone(), kept.with_extension("snap.new"))
}

/// The first transcript is kept, one that differs fails the run until it is accepted or rejected.
fn review() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let (kept, new) = kept(dir.path());
    ends_with(0, &handshake("one", dir.path()).output()?)?;
    ends_with(0, &handshake("one", dir.path()).output()?)?;
    let first = fs::read_to_string(&kept)?;
    // It is a snapshot of insta, too.
    let (_, content) = first.split_once("\n---\n").ok_or("no header")?;
    snap::compare(&kept.with_file_name("").to_string_lossy(), "handshake", content);
    let output = handshake("two", dir.path()).output()?;
    ends_with(1, &output)?;
    let said = String::from_utf8(output.stderr)?;
    for part in [r#"-← <client-request-1> result"#, r#""name": "two""#, "acp-conformance accept kept"] {
        if !said.contains(part) {
            return Err(format!("{part}: {said}").into());
        }
    }
    same("kept", &fs::read_to_string(&kept)?, &first)?;
    ends_with(2, &program(&["reject", "kept", "--case", "cancel"], dir.path()).output()?)?;
    ends_with(0, &program(&["reject", "kept"], dir.path()).output()?)?;
    same("waiting", &new.exists().to_string(), "false")?;
    ends_with(1, &handshake("two", dir.path()).output()?)?;
    ends_with(0, &program(&["accept", "kept", "--case", "handshake"], dir.path()).output()?)?;
    same("accepted", &fs::read_to_string(&kept)?, &first.replace("\"one\"", "\"two\""))?;
    ends_with(0, &handshake("two", dir.path()).output()?)
}

/// In CI, a missing or different transcript fails the run, and nothing is written.
fn nothing_is_written_in_ci() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let (kept, new) = kept(dir.path());
    ends_with(1, &handshake("one", dir.path()).env("CI", "true").output()?)?;
    same("kept", &kept.exists().to_string(), "false")?;
    ends_with(0, &handshake("one", dir.path()).env("CI", "false").output()?)?;
    ends_with(0, &handshake("one", dir.path()).env("CI", "true").output()?)?;
    ends_with(1, &handshake("two", dir.path()).env("CI", "true").output()?)?;
    same("waiting", &new.exists().to_string(), "false")
}

/// The script of each shell knows the commands and their options.
fn completions() -> Result<(), Failed> {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = program(&["completions", shell], Path::new(TESTS)).output()?;
        ends_with(0, &output)?;
        let script = String::from_utf8(output.stdout)?;
        for word in ["certify", "trace-dir"] {
            script.contains(word).then_some(()).ok_or(format!("{shell}: no {word}"))?;
        }
    }
    Ok(())
}

/// Colours are used where `--color` or the environment wants them.
fn color() -> Result<(), Failed> {
    let with = |option: &str, variable: &str| -> Result<bool, Failed> {
        let mut command = program(&["explain", "cancel.stop-reason", "--color", option], Path::new(TESTS));
        ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"].iter().for_each(|name| _ = command.env_remove(name));
        Ok(command.env(variable, "1").output()?.stdout.contains(&0x1b))
    };
    let found = [with("auto", "OTHER")?, with("auto", "CLICOLOR_FORCE")?, with("always", "NO_COLOR")?];
    same("auto, forced, always", &format!("{found:?}"), "[false, true, true]")?;
    same("never", &with("never", "CLICOLOR_FORCE")?.to_string(), "false")
}

/// A reader that closes standard output early changes neither the exit code nor the files, and causes no message.
fn closed_output() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let new = Path::new(FOLDER).join("new").display().to_string();
    let check = ["check", &new, "--allow-incomplete", "--format=text", "--format=json=report.json"];
    let commands: [(&[&str], i32); 5] = [
        (&["list"], 0),
        (&["explain", "cancel.stop-reason"], 0),
        (&["schema", "report"], 0),
        (&["completions", "bash"], 0),
        (&check, 1),
    ];
    for (words, wanted) in commands {
        let mut child = program(words, dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        drop(child.stdout.take());
        let output = child.wait_with_output()?;
        ends_with(wanted, &output)?;
        same(words[0], &String::from_utf8(output.stderr)?, "")?;
    }
    dir.path().join("report.json").is_file().then_some(()).ok_or("the report is missing".into())
}

/// `redact -o -` writes one trace to standard output and no file.
fn redact_to_standard_output() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let new = Path::new(FOLDER).join("new");
    let mut traces: Vec<PathBuf> = fs::read_dir(&new)?.flatten().map(|entry| entry.path()).collect();
    traces.sort();
    let redact = |path: &Path| program(&["redact", &path.to_string_lossy(), "--output=-"], dir.path()).output();
    let output = redact(&traces[0])?;
    ends_with(0, &output)?;
    same(
        "the header",
        String::from_utf8(output.stdout)?.get(..36).unwrap_or_default(),
        r#"{"format":"acp-conformance-trace/2","#,
    )?;
    ends_with(2, &redact(&new)?)?;
    same("files", &fs::read_dir(dir.path())?.count().to_string(), "0")
}

/// `init --ci` writes the workflow next to the file of the project, also from a folder below it, and replaces it only
/// on request.
fn workflow() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let below = dir.path().join("src");
    fs::create_dir(&below)?;
    fs::write(dir.path().join("acp-conformance.toml"), "kind = \"agent\"\ncommand = [\"my-agent\"]\n")?;
    let init = |more: &[&str]| program(&[&["init", "--ci", "github"], more].concat(), &below).output();
    ends_with(0, &init(&[])?)?;
    let file = dir.path().join(".github/workflows/acp-conformance.yml");
    let written = fs::read_to_string(&file)?;
    fs::write(&file, "mine")?;
    ends_with(2, &init(&[])?)?;
    same("mine", &fs::read_to_string(&file)?, "mine")?;
    ends_with(0, &init(&["--force"])?)?;
    same("replaced", &fs::read_to_string(&file)?, &written)
}
