//! The tools for authors of cases: `new case` in an empty folder, and `--watch`.
//!
//! This program is also the command line.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use acp_conformance::cli::{Args, ProgramExit, report_error, run};
use acp_conformance::edition::Editions;
use acp_conformance::transport::process::interrupt;
use acp_conformance::transport::relay;
use libtest_mimic::{Arguments, Failed, Trial};
use tempfile::TempDir;

mod reference;

use reference::{AGENT, CLIENT};

/// Longer than any step takes, so that only a mistake times out.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    if let Some(code) = relay::run_if_asked() {
        return code;
    }
    // Alone, these words select tests.
    let command = std::env::args().nth(1);
    if matches!(command.as_deref(), Some("agent" | "client" | "lint" | "new")) && std::env::args().len() > 2 {
        return run(Args::of_command_line(), Editions::built_in())
            .unwrap_or_else(|error| {
                report_error(&error);
                ProgramExit::Usage
            })
            .into();
    }
    let trials: [(&str, fn()); 7] = [
        ("a-new-case-of-an-agent-passes", new_agent_case),
        ("a-new-case-of-a-client-passes", new_client_case),
        ("a-new-case-uses-the-folder-of-the-project", new_case_of_project),
        ("a-new-case-replaces-nothing", new_case_twice),
        ("watch-repeats-what-failed", watch),
        ("watch-does-not-repeat-for-its-own-output", watch_own_output),
        ("watch-ends-during-a-run", watch_interrupted),
    ];
    let trials = trials.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

fn program(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(words).current_dir(folder).env("XDG_CACHE_HOME", folder.join(".cache"));
    command
}

fn output(folder: &Path, words: &[&str]) -> Output {
    program(folder, words).output().expect("this program runs")
}

fn succeeds(folder: &Path, words: &[&str]) -> String {
    let output = output(folder, words);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{words:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn new_agent_case() {
    let folder = folder();
    let shown = succeeds(
        folder.path(),
        &["new", "case", "--requirement", "cancel.stop-reason", "--name", "quick", "--cases", "mine"],
    );
    assert!(shown.contains("acp-conformance agent --watch --cases mine --case v1/agent/cancel/quick -- "), "{shown}");
    let text = std::fs::read_to_string(folder.path().join("mine/v1/agent/cancel/quick.yaml")).expect("the case");
    assert!(text.starts_with("# yaml-language-server: $schema=../../../case.schema.json\n"), "{text}");
    let schema = folder.path().join("mine/v1/agent/cancel/../../../case.schema.json");
    assert!(std::fs::read_to_string(schema).expect("the schema").contains("cancel.stop-reason"));
    assert_eq!(succeeds(folder.path(), &["lint", "mine"]), "1 file is correct\n");
    // A case for the default requirement passes.
    succeeds(folder.path(), &["new", "case", "--cases", "mine", "--area", "fs"]);
    succeeds(folder.path(), &["agent", "--cases", "mine", "--case", "v1/agent/fs/my-case", "--", AGENT]);
}

fn new_client_case() {
    let folder = folder();
    succeeds(folder.path(), &["new", "case", "--party", "client", "--title", "It's: a \"title\""]);
    assert_eq!(succeeds(folder.path(), &["lint", "cases"]), "1 file is correct\n");
    // A folder can also have cases of another version.
    let version_2 = folder.path().join("cases/v2/client/prompt");
    std::fs::create_dir_all(&version_2).expect("a folder");
    std::fs::write(version_2.join("broken.yaml"), "title: [\n").expect("a case");
    let lint = output(folder.path(), &["lint", "cases"]);
    assert_eq!(String::from_utf8_lossy(&lint.stdout), "1 file is correct, 1 mistake\n");
    assert_eq!(lint.status.code(), Some(2));
    let words = ["client", "--cases", "cases", "--case", "prompt/my-case", "--", CLIENT];
    let client = ["--cwd", "{cwd}", "--prompt", "{prompt}", "--", "{agent}"];
    succeeds(folder.path(), &[&words[..], &client].concat());
}

fn new_case_of_project() {
    let folder = folder();
    let project = format!("kind = \"agent\"\ncommand = [{AGENT:?}]\ncases = \"own\"\n");
    std::fs::write(folder.path().join("acp-conformance.toml"), project).expect("the file of the project");
    let shown = succeeds(folder.path(), &["new", "case", "--name", "x"]);
    assert!(shown.contains("  acp-conformance --watch --case v1/agent/prompt/x\n"), "{shown}");
    assert!(folder.path().join("own/v1/agent/prompt/x.yaml").is_file(), "{shown}");
    succeeds(folder.path(), &["agent", "--case", "prompt/x"]);
}

fn new_case_twice() {
    let folder = folder();
    succeeds(folder.path(), &["new", "case"]);
    for (words, wanted) in [
        (&["new", "case"][..], "exists; --force replaces it"),
        (&["new", "case", "--area", "cancle"], "did you mean `cancel`?"),
        (&["new", "case", "--name", "../x"], "use lower-case letters"),
        (&["new", "case", "--name", "y", "--requirement", "prompt.stop"], "no file was written"),
        (
            &["new", "case", "--name", "y", "--party", "client", "--requirement", "prompt.stop-reason"],
            "no file was written",
        ),
    ] {
        let output = output(folder.path(), words);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
        assert!(told.contains(wanted), "{words:?}: {told}");
    }
    assert!(!folder.path().join("cases/v1/agent/prompt/y.yaml").exists());
    succeeds(folder.path(), &["new", "case", "--force"]);
}

/// A run with `--watch`, and all that it prints.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn begin(folder: &Path, words: &[&str]) -> Self {
        // One pipe, so that the lines of both streams stay in their order.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut command = program(folder, words);
        command.stdin(Stdio::null()).stdout(writer.try_clone().expect("a pipe")).stderr(writer);
        let child = command.spawn().expect("it starts");
        drop(command);
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(reader).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
        Self { child, lines }
    }

    /// Returns everything up to a line with this text.
    fn until(&self, text: &str) -> String {
        let mut all = String::new();
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("`{text}` does not come: {all}"));
            all.push_str(&format!("{line}\n"));
            if line.contains(text) {
                return all;
            }
        }
    }

    /// Interrupts it, and returns its exit code.
    fn end(mut self) -> Option<i32> {
        interrupt(self.child.id());
        self.child.wait().expect("it ends").code()
    }
}

fn watch() {
    let folder = folder();
    let write = |options: &str| {
        // A new length: the times of some file systems are coarse.
        let text = format!("#!/bin/sh\nexec {AGENT} {options}\n");
        std::fs::write(folder.path().join("agent.sh"), text).expect("the agent");
    };
    write("--fault cancel-as-end-turn");
    let report = folder.path().join("report.json").display().to_string();
    let form = format!("json={report}");
    let words = [
        "agent",
        "--watch",
        "cancel/while-asking",
        "init/handshake",
        "--isolate",
        "--format",
        "text",
        "--format",
        &form,
    ];
    let watching = Watching::begin(folder.path(), &[&words[..], &["--", "sh", "agent.sh"]].concat());
    let first = watching.until("Ctrl-C ends with exit code 1");
    assert!(first.contains("failed  cancel.stop-reason"), "{first}");
    write("--fault cancel-as-end-turn # the same");
    let second = watching.until("Ctrl-C ends with exit code");
    assert!(second.contains("──────── agent.sh changed: running the cases that failed ────────"), "{second}");
    write("");
    let third = watching.until("Ctrl-C ends with exit code 0");
    assert!(third.contains("running the cases that failed"), "{third}");
    let cases = |folder: &Path| {
        let report = std::fs::read_to_string(folder.join("report.json")).expect("the report");
        report.matches("\"durationMs\"").count()
    };
    let failed = cases(folder.path());
    std::fs::write(folder.path().join("more.py"), "x").expect("another file");
    let fourth = watching.until("Ctrl-C ends with exit code 0");
    assert!(fourth.contains("──────── more.py changed: running all selected cases ────────"), "{fourth}");
    assert!(cases(folder.path()) > failed, "all cases run again");
    assert_eq!(watching.end(), Some(0));
}

/// A run whose output goes to a file in the watched folder does not repeat for its own output.
fn watch_own_output() {
    let folder = folder();
    let file = std::fs::File::create(folder.path().join("log.txt")).expect("a file");
    let mut command = program(folder.path(), &["agent", "--watch", "init/handshake", "--", AGENT]);
    command.stdin(Stdio::null()).stdout(file.try_clone().expect("a file")).stderr(file);
    let mut child = command.spawn().expect("it starts");
    let begun = std::time::Instant::now();
    let text = || std::fs::read_to_string(folder.path().join("log.txt")).unwrap_or_default();
    while !text().contains("Ctrl-C ends") {
        assert!(begun.elapsed() < PATIENCE, "{}", text());
        std::thread::sleep(Duration::from_millis(20));
    }
    // Another file starts the second run; its message names what changed.
    std::fs::write(folder.path().join("more.py"), "x").expect("a file");
    while text().matches("Ctrl-C ends").count() < 2 {
        assert!(begun.elapsed() < PATIENCE, "{}", text());
        std::thread::sleep(Duration::from_millis(20));
    }
    interrupt(child.id());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(text().matches("────────").count(), 2, "{}", text());
    assert!(text().contains("──────── more.py changed: running all selected cases ────────"), "{}", text());
}

fn watch_interrupted() {
    let folder = folder();
    let watching = Watching::begin(folder.path(), &["agent", "--watch", "--", "sh", "-c", "sleep 100"]);
    watching.until("waiting for the response to initialize");
    assert_eq!(watching.end(), Some(130));
}
