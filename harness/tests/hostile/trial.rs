//! Runs one subject in a separate process, and then looks for leftovers of both.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use acp_conformance::case::{Case, embedded_case, load_text};
use acp_conformance::edition::V1;
use acp_conformance::judge::{judge, judge_case};
use acp_conformance::report::diagnose;
use acp_conformance::requirement::Party;
use acp_conformance::run::{Subject, run_case};
use acp_conformance::transport::process::Orphans;
use acp_conformance::verdict::Verdict;
use libtest_mimic::Failed;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use serde::{Deserialize, Serialize};

use super::table::Row;
use super::{own, program, this_program};
use crate::left;

/// The first argument of this program if it runs a subject.
pub const WORD: &str = "--meet";

/// The case for clients: the agent asks for permission in the middle of a turn.
const ASKS: &str = "v1/client/permission/allowed";

/// Generous, since only the existence of a limit matters.
const LONGEST: Duration = Duration::from_secs(300);

/// The most address space of the process, so that a mistake ends the test and not the machine.
const ADDRESS_SPACE: u64 = 6 << 30;

/// The variable with the folder that the subject must not touch.
pub const OUTSIDE: &str = "HOSTILE_OUTSIDE";

/// The result for a subject.
#[derive(Debug, Serialize, Deserialize)]
pub struct TrialResult {
    verdict: Verdict,
    /// The message to the user.
    pub says: String,
    failed: BTreeSet<String>,
    /// The duration of the case and its check.
    pub took: Duration,
    /// The most memory of the process, in MiB.
    pub memory: u64,
    /// Children and open files of the case that remained in the process.
    left: Vec<String>,
}

/// Runs a subject, and writes the result to standard output.
#[expect(clippy::print_stdout, reason = "that is for the one who arranged the meeting")]
pub fn hold(row: Row) -> ExitCode {
    setrlimit(Resource::As, Rlimit { current: Some(ADDRESS_SPACE), maximum: Some(ADDRESS_SPACE) }).expect("a limit");
    let case = case(&row);
    let subject = subject(&row);
    // From now on, everything that is opened once for the whole program is open.
    let _ = run_case(&case, &Subject::agent(vec!["true".to_owned()], "/".into()));
    let before = own::open_files();
    let started = Instant::now();
    let orphans = Orphans::adopt();
    let trace = run_case(&case, &subject);
    // Leftovers must be found with their case and not only at the end of the run, except for those that hide.
    let kept = (!row.hides).then_some(orphans);
    let left = own::left(&before);
    drop(kept);
    let judgement = judge(&trace, V1.edition());
    let decided = judge_case(&trace, &judgement, V1.catalogue());
    let took = started.elapsed();
    let failed = judgement.tallies.iter().filter(|(_, tally)| tally.verdict() == Verdict::Fail);
    let result = TrialResult {
        verdict: decided.verdict,
        says: diagnose(&trace).map(|found| found.text).or(decided.reason).unwrap_or_default(),
        failed: failed.map(|(id, _)| id.clone()).collect(),
        took,
        memory: own::most_memory(),
        left,
    };
    println!("{}", serde_json::to_string(&result).expect("plain data"));
    ExitCode::SUCCESS
}

fn case(row: &Row) -> Case {
    let asks = || (row.party() == Party::Client).then_some(ASKS);
    if let Some(id) = row.case.as_deref().or_else(asks) {
        return embedded_case(id, &V1).expect("the case is embedded");
    }
    let text = include_str!("agent.yaml");
    let (mut cases, problems) = load_text("cases/v1/agent/hostile.yaml", text, &V1);
    cases.pop().unwrap_or_else(|| panic!("{problems:?}"))
}

fn subject(row: &Row) -> Subject {
    let command = program::command(row);
    let mut subject = match row.party() {
        Party::Agent => Subject::agent(command, "/".into()),
        Party::Client => Subject::client(command, "/".into()),
    };
    subject.limits = row.limits();
    subject
}

/// Runs a subject in a separate process, and checks the verdict, the time, the memory and the leftovers.
pub fn arrange(row: &Row) -> Result<TrialResult, Failed> {
    let folder = tempfile::tempdir()?;
    let outside = Outside::make(folder.path())?;
    let temporary = folder.path().join("t");
    fs::create_dir(&temporary)?;
    let result = in_a_process(row, &temporary, &outside);
    let mut wrong = left::below(&temporary);
    wrong.extend(outside.harm());
    match result {
        Ok(result) => {
            wrong.extend(result.left.iter().cloned());
            wrong.extend(misjudged(row, &result));
            if wrong.is_empty() { Ok(result) } else { Err(wrong.join("\n").into()) }
        }
        Err(why) => Err(format!("{why}\n{}", wrong.join("\n")).into()),
    }
}

fn in_a_process(row: &Row, temporary: &Path, outside: &Outside) -> Result<TrialResult, String> {
    let mut command = Command::new(this_program());
    command.args([WORD, &row.party().to_string(), &row.that]);
    command.env("TMPDIR", temporary).env(OUTSIDE, &outside.folder);
    let output = output_of(command)?;
    let said = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&said).map_err(|_| format!("the process of the meeting ended with {}: {said}", output.status))
}

/// Waits for a program to exit in bounded time; its standard error is that of the test.
pub fn output_of(mut command: Command) -> Result<Output, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let child = command.spawn().map_err(|error| error.to_string())?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait_with_output()));
    let Ok(output) = end.recv_timeout(LONGEST) else {
        let _ = kill_process(pid, Signal::KILL);
        return Err(format!("it took more than {LONGEST:?}"));
    };
    output.map_err(|error| error.to_string())
}

/// Lists the differences from the expected verdict.
fn misjudged(row: &Row, result: &TrialResult) -> Vec<String> {
    let mut wrong = Vec::new();
    if result.verdict.to_string() != row.verdict || !result.says.contains(&row.says) {
        wrong.push(format!(
            "wanted {} with {:?}, and it is {} with {:?}",
            row.verdict, row.says, result.verdict, result.says
        ));
    }
    if result.failed != row.failed {
        wrong.push(format!("failed {:?} instead of {:?}", result.failed, row.failed));
    }
    if result.memory > row.memory {
        wrong.push(format!("it took {} MiB, and {} are allowed", result.memory, row.memory));
    }
    wrong
}

/// A folder next to the folders of the subject. Links may point there; its content must stay unchanged.
struct Outside {
    folder: std::path::PathBuf,
}

const KEPT: &str = "kept";
const CLOSED: u32 = 0o500;

impl Outside {
    fn make(base: &Path) -> std::io::Result<Self> {
        let folder = base.join("outside");
        fs::create_dir(&folder)?;
        fs::write(folder.join(KEPT), KEPT)?;
        fs::set_permissions(&folder, PermissionsExt::from_mode(CLOSED))?;
        Ok(Self { folder })
    }

    fn harm(&self) -> Option<String> {
        let kept = fs::read_to_string(self.folder.join(KEPT)).is_ok_and(|text| text == KEPT);
        let mode = fs::metadata(&self.folder).map(|found| found.permissions().mode() & 0o777);
        (!kept || mode.ok() != Some(CLOSED)).then(|| "a folder was changed that only links lead to".to_owned())
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = fs::set_permissions(&self.folder, PermissionsExt::from_mode(0o700));
    }
}
