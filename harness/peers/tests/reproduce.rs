//! The line that reproduces a failure: in another shell and an empty folder it shows the same failure, and after the fix it
//! exits with 0.
//!
//! This program is also the command line.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};

use acp_conformance::cli::{Args, ProgramExit, report_error, run};
use acp_conformance::edition::Editions;
use acp_conformance::requirement::Party;
use acp_conformance::transport::relay;
use acp_conformance_mutants::fault::Fault;
use clap::Parser;
use libtest_mimic::{Arguments, Failed, Trial};

mod reference;

use reference::{AGENT, CLIENT, Mutant};

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

fn main() -> ExitCode {
    if let Some(code) = relay::run_if_asked().or_else(acp_conformance_mutants::program::run_if_asked) {
        return code;
    }
    // Alone, these words select tests.
    let command = std::env::args().nth(1);
    if matches!(command.as_deref(), Some("agent" | "client")) && std::env::args().len() > 2 {
        return run(Args::parse(), Editions::built_in())
            .unwrap_or_else(|error| {
                report_error(&error);
                ProgramExit::Usage
            })
            .into();
    }
    let faults = |party: &'static str, faults: &'static [&'static str]| {
        faults.iter().map(move |fault| Trial::test(format!("{party}/{fault}"), move || reproduces(party, fault)))
    };
    let options = Trial::test("options-and-paths", || {
        options_and_paths();
        Ok(())
    });
    let project = Trial::test("project-file", || {
        project_file();
        Ok(())
    });
    let faults = faults("agent", &AGENT_FAULTS).chain(faults("client", &CLIENT_FAULTS));
    let trials = faults.chain([options, project]).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
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
    command.env("PATH", path_from(mutant.folder()));
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
    let output = program(here).args(args).args(["--timeout-turn", "9s", "--", "sh", "start.sh", AGENT]).output();
    let text = said(&output.expect("it runs"));
    let line = reproduce_line(&text).unwrap_or_else(|| panic!("no line reproduces it:\n{text}"));
    assert!(line.contains("MY_TOKEN=\"$MY_TOKEN\"") && !line.contains("hunter2"), "{line}");
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

/// Returns this program, in this folder, with the reference client on its PATH.
fn program(here: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .current_dir(here)
        .stdin(Stdio::null())
        .env("PATH", path_from(programs()))
        .env("XDG_CACHE_HOME", here.join("cache"));
    command
}

fn shell(here: &Path, programs: &Path, line: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(here).stdin(Stdio::null());
    command.env("PATH", path_from(programs)).env("XDG_CACHE_HOME", here.join("cache")).output().expect("a shell")
}

/// Returns the folder of the reference programs.
fn programs() -> &'static Path {
    Path::new(CLIENT).parent().expect("a folder")
}

/// Returns a PATH that begins with this folder.
fn path_from(programs: &Path) -> std::ffi::OsString {
    let before = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(programs.to_path_buf()).chain(std::env::split_paths(&before));
    std::env::join_paths(folders).expect("folders")
}

fn reproduce_line(text: &str) -> Option<String> {
    text.lines().find_map(|line| line.trim_start().strip_prefix("reproduce: ")).map(str::to_owned)
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
