//! The line that reproduces a failure: in another shell and an empty folder it shows the same failure, and after the
//! fix it exits with 0.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use acp_conformance::requirement::Party;
use acp_conformance_mutants::fault::Fault;
use libtest_mimic::{Failed, Trial};

use crate::panicking;
use crate::program::{self, said};
use crate::reference::{AGENT, CLIENT, Mutant};

/// Faults of the reference agent.
const AGENT_FAULTS: [&str; 15] = [
    "cancelled-as-end-turn",
    "cancel-answered",
    "agent-info-without-version",
    "annotation-priority",
    "audio-refused",
    "auth-method-ids-equal",
    "method-number",
    "banner",
    "batch",
    "camel-case-variant",
    "cancel-idle-spoils-prompt",
    "capabilities-required",
    "cancel-request-answered",
    "cancelled-unasked",
    "tool-kind-unknown",
];

/// Faults of the reference client.
const CLIENT_FAULTS: [&str; 5] = [
    "client-annotation-priority",
    "client-terminal-cwd-ignored",
    "client-authenticate-unlisted",
    "client-boolean-regardless",
    "client-banner",
];

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let faults = |party: &'static str, faults: &'static [&'static str]| {
        faults
            .iter()
            .map(move |fault| Trial::test(format!("reproduce/{party}/{fault}"), move || reproduces(party, fault)))
    };
    let others = panicking("reproduce", &[("options-and-paths", options_and_paths), ("project-file", project_file)]);
    faults("agent", &AGENT_FAULTS).chain(faults("client", &CLIENT_FAULTS)).chain(others).collect()
}

/// The line reproduces the failure of a subject with a fault, and exits with 0 without the fault.
fn reproduces(party: &str, fault: &str) -> Result<(), Failed> {
    let of = if party == "agent" { Party::Agent } else { Party::Client };
    let mutant = Mutant::new(of, &["--fault", fault]);
    let path = mutant.path();
    let subject: &[&str] = if party == "agent" { &["--", &path] } else { &["--profile", "acp-reference-client"] };
    let cases = Fault::find(fault, of)?.file.case.items;
    let cases = cases.iter().flat_map(|(_, case)| ["--case", case]);
    let folder = tempfile::tempdir()?;
    let mut command = program(folder.path());
    command.env("PATH", program::path_from(mutant.folder()));
    let failed = said(&command.arg(party).arg("--isolate").args(cases).args(subject).output()?);
    let failure = |text: &str| text.lines().find(|line| line.starts_with("failed  ")).map(str::to_owned);
    let line = reproduce_line(&failed).ok_or_else(|| format!("no line reproduces it:\n{failed}"))?;
    let empty = tempfile::tempdir()?;
    let again = shell(empty.path(), mutant.folder(), &line);
    let text = said(&again);
    if failure(&text) != failure(&failed) || again.status.success() {
        return Err(format!("{line}\n{failed}\nbecame\n{text}").into());
    }
    mutant.turn_into(&[]);
    let fixed = shell(empty.path(), mutant.folder(), &line);
    if !fixed.status.success() {
        return Err(format!("{line}\nwithout the fault: {:?}\n{}", fixed.status, said(&fixed)).into());
    }
    Ok(())
}

/// Paths, quotes, user's own cases and variables also work from another folder.
fn options_and_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let cases = here.join("my cases/v1/agent/own");
    fs::create_dir_all(&cases).expect("a folder");
    let case = "title: The agent has a name\n\
        subject: agent\n\
        requirements: [init.respond]\n\
        transcript:\n  \
        - client: { id: hello, method: initialize, params: { protocolVersion: 1 } }\n  \
        - agent: { id: hello, result: { agentInfo: { name: \"it's\" } }, decides: init.respond }\n";
    fs::write(cases.join("name.yaml"), case).expect("a case");
    fs::write(here.join("start.sh"), "test \"$WORDS\" = 'a \"b\" $c' && exec \"$1\"").expect("a script");
    let words = "WORDS=a \"b\" $c";
    let args = ["agent", "--cases", "my cases", "--case", "own/*", "--env", words, "--env", "MY_TOKEN=hunter2"];
    let more = ["--protocol", "v1@2026-11-02", "--timeout-turn", "9s", "--", "sh", "start.sh", AGENT];
    let output = program(here).args(args).args(more).output();
    let text = said(&output.expect("it runs"));
    let line = reproduce_line(&text).unwrap_or_else(|| panic!("no line reproduces it:\n{text}"));
    assert!(line.contains("MY_TOKEN=\"$MY_TOKEN\"") && !line.contains("hunter2"), "{line}");
    assert!(line.contains(" --protocol v1@2026-11-02"), "the option as in the help: {line}");
    let empty = tempfile::tempdir().expect("a folder");
    let again = shell(empty.path(), programs(), &line);
    assert!(said(&again).contains("failed  init.respond"), "{line}\n{}", said(&again));
    let fixed = case.replace("it's", "acp-reference-agent");
    fs::write(cases.join("name.yaml"), fixed).expect("a case");
    let fixed = shell(empty.path(), programs(), &line);
    assert!(fixed.status.success() && said(&fixed).contains("passed"), "{line}\n{}", said(&fixed));
}

/// The file of a project is found from subfolders, its paths are relative to it, and options override it.
fn project_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (here, below) = (folder.path(), folder.path().join("src/deep"));
    fs::create_dir_all(&below).expect("a folder");
    symlink(AGENT, here.join("my agent")).expect("a link");
    let project = "kind = \"agent\"\ncommand = [\"./my agent\"]\njobs = 1\nstrict = true\n\
        formats = [\"json=report.json\"]\n[env]\nA = \"b\"\n";
    fs::write(here.join("acp-conformance.toml"), project).expect("a file");
    let args = ["agent", "--case", "v1/agent/init/handshake"];
    let output = program(&below).args(args).output().expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
    let report = fs::read_to_string(here.join("report.json")).expect("a report");
    assert!(report.contains("\"strict\": true") && report.contains("my agent"), "{report}");
    let output = program(&below).args(args).args(["--", "no-such-program"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    fs::write(here.join("acp-conformance.toml"), "kind = \"agent\"\n").expect("a file");
    let output = program(&below).args(args).output().expect("it runs");
    assert!(said(&output).contains("nothing says which program to start"), "{}", said(&output));
}

/// Returns the program, in this folder, with the reference client on its PATH.
fn program(here: &Path) -> Command {
    let mut command = program::command();
    command
        .current_dir(here)
        .stdin(Stdio::null())
        .env("PATH", program::path())
        .env("XDG_CACHE_HOME", here.join("cache"));
    command
}

fn shell(here: &Path, programs: &Path, line: &str) -> Output {
    let mut command = Command::new("sh");
    program::mark(&mut command);
    command.args(["-c", line]).current_dir(here).stdin(Stdio::null());
    let path = program::path_from(programs);
    command.env("PATH", path).env("XDG_CACHE_HOME", here.join("cache")).output().expect("a shell")
}

/// Returns the folder of the reference programs.
fn programs() -> &'static Path {
    Path::new(CLIENT).parent().expect("a folder")
}

fn reproduce_line(text: &str) -> Option<String> {
    text.lines().find_map(|line| line.trim_start().strip_prefix("reproduce: ")).map(str::to_owned)
}
