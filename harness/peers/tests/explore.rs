//! `--explore`: random walks find deviations that need a history, and nothing in a program that deviates from nothing.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use acp_conformance::explore::Walk;
use acp_conformance::requirement::Party;
use acp_conformance::results::{FindingReport, RunReport};
use acp_conformance::verdict::{Conformance, Verdict};
use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;

use crate::program;
use crate::reference::Mutant;

/// A version of a clean program.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Program {
    /// The version of the protocol, as in `--protocol`.
    version: &'static str,
    party: &'static str,
}

impl Program {
    /// Returns the program with this fault; with an empty text, the clean program.
    fn mutant(&self, fault: &str) -> Mutant {
        let party = if self.party == "agent" { Party::Agent } else { Party::Client };
        let fault = format!("{}/{fault}", self.version);
        let options = ["--fault", &fault];
        Mutant::new(party, if fault.ends_with('/') { &[] } else { &options })
    }
}

const OF_AGENT: Program = Program { version: "v1", party: "agent" };
const OF_CLIENT: Program = Program { version: "v1", party: "client" };
const V2_OF_AGENT: Program = Program { version: "v2", ..OF_AGENT };
const V2_OF_CLIENT: Program = Program { version: "v2", ..OF_CLIENT };

/// The name of a fault, and the requirements that it breaks, with blanks between them.
type Planted = (&'static str, &'static str);

/// Faults that show only after something else, each with the requirements that it breaks. Which one shows depends on
/// the walk that ends first: a turn is cancelled by the user or by the end of its session.
const FAULTS: [Planted; 10] = [
    ("cancel-answered-in-second-session", "cancel.no-reply"),
    ("cancel-late-update-after-resume", "cancel.updates-before-response"),
    ("cancelled-as-error-after-load", "close.cancels-turn cancel.no-error"),
    ("close-unknown-after-load", "close.implemented"),
    ("load-replays-user-as-agent-after-error", "load.user-chunks"),
    ("message-ids-constant-after-load", "message-id.unique"),
    ("terminal-cwd-relative-after-load", "terminal.create.cwd-absolute"),
    ("tool-content-bare-after-error", "tool.content-wrapped"),
    ("tool-kind-unknown-after-close", "tool.kind"),
    ("write-without-content-after-cancel", "fs.write.params"),
];

/// The same for the client.
const FAULTS_OF_CLIENT: [Planted; 2] = [
    ("client-limit-ignored-in-second-turn", "fs.read.limit"),
    ("client-permission-missing-after-load", "permission.implemented"),
];

/// The same for the agent in version 2.
const V2_FAULTS: [Planted; 5] = [
    ("tool-kind-unknown-after-cancel", "tool.kind-values"),
    ("chunk-without-id-after-error", "message.id-present"),
    ("receipt-id-again-after-replay", "prompt.distinct-ids"),
    ("set-option-unknown-after-close", "config.set-implemented"),
    ("tool-content-unwrapped-after-close", "tool.content-values"),
];

/// The same for the client in version 2.
const V2_FAULTS_OF_CLIENT: [Planted; 2] = [
    ("client-action-unknown-after-cancel", "elicit.action"),
    ("client-permission-unoffered-after-cancel", "permission.option-offered"),
];

/// The number of walks after which a search gives up. Most faults show in the first 400; a run ends with the first
/// failure.
const MOST_WALKS: &str = "2000";

/// The most moves of a shortest walk.
const MOST_MOVES: usize = 4;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    // The first of these waits the longest.
    let lists: [(Program, &[Planted]); 4] = [
        (V2_OF_AGENT, &V2_FAULTS),
        (V2_OF_CLIENT, &V2_FAULTS_OF_CLIENT),
        (OF_AGENT, &FAULTS),
        (OF_CLIENT, &FAULTS_OF_CLIENT),
    ];
    for (program, faults) in lists {
        let prefix = if program.version == "v1" { "" } else { "v2/" };
        let test = |&(fault, requirements)| {
            Trial::test(format!("explore/{prefix}{fault}"), move || found(program, fault, requirements))
        };
        trials.extend(faults.iter().map(test));
    }
    trials.extend([
        Trial::test("explore/clean-agent-passes", || clean(OF_AGENT)),
        Trial::test("explore/clean-client-passes", || clean(OF_CLIENT)),
        Trial::test("explore/v2/clean-agent-passes", || clean(V2_OF_AGENT)),
        Trial::test("explore/v2/clean-client-passes", || clean(V2_OF_CLIENT)),
        Trial::test("explore/impossible-walk-is-explained", impossible),
        Trial::test("explore/time-limit-ends-the-walks", limited),
        Trial::test("explore/walks-begin-before-the-last-case", begins_early),
        Trial::test("explore/sequence-that-fails-each-time-is-a-failure", sequence),
        Trial::test("explore/sequence-that-fails-once-fails-nothing", sequence_once),
    ]);
    trials
}

fn clean(program: Program) -> Result<(), Failed> {
    let folder = TempDir::new()?;
    let output = explore(folder.path(), program, &["--explore", "60", "--seed", "3"])?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.code() != Some(0) || !text.contains("walks         60 random, with seed 3") {
        return Err(failure("a clean program", &output));
    }
    Ok(())
}

fn found(program: Program, fault: &str, requirements: &str) -> Result<(), Failed> {
    let folder = TempDir::new()?;
    let mutant = program.mutant(fault);
    // The fault must not show after the cases of a shared conversation.
    let mut args = vec!["--explore", MOST_WALKS, "--seed", "1", "--fail-fast", "--trace-dir", "traces", "--isolate"];
    if fault == "cancelled-as-error-after-load" {
        // It cancels a turn in a session that it loaded, and only the whole walk shows the fault again.
        args.extend(["--skip", "v1/agent/tool/ids"]);
    }
    if fault == "write-without-content-after-cancel" {
        // It writes after a cancel, so it finds the fault alone.
        args.extend(["--skip", "v1/agent/cancel/while-saving"]);
    }
    if program == V2_OF_AGENT {
        // These prompt after a refused prompt, a replay or a close, or replay a tool call, so each may find one of the
        // faults alone.
        let alone = [
            "v2/agent/prompt/key-after-refusal",
            "v2/agent/dirs/not-restored",
            "v2/agent/close/other-session",
            "v2/agent/resume/tools",
            "v2/agent/resume/new-process",
            "v2/agent/cancel/idle-then-resume",
            "v2/agent/resume/cancelled-tool",
            "v2/agent/prompt/retry-after-plain-resume",
        ];
        args.extend(alone.iter().flat_map(|case| ["--skip", *case]));
    }
    if program == V2_OF_CLIENT {
        // It asks after a cancel, so it finds what the client answers wrongly then.
        args.extend(["--skip", "v2/client/permission/after-stopped-work"]);
    }
    let output = explore_mutant(folder.path(), program, &mutant, &args)?;
    let report: RunReport = serde_json::from_slice(&fs::read(folder.path().join("report.json"))?)?;
    let failed = report.cases.iter().find(|case| case.verdict == Verdict::Fail);
    let walk = failed.ok_or_else(|| failure("no case failed", &output))?;
    let moves = Walk::in_id(&walk.id).ok_or_else(|| format!("{} is not a walk", walk.id))?.0.len();
    let mut failures = report.requirements.iter().filter(|one| one.verdict == Verdict::Fail);
    let is_planted = failures.any(|one| requirements.split(' ').any(|id| id == one.id));
    if !is_planted || moves > MOST_MOVES {
        return Err(failure(&format!("{moves} moves"), &output));
    }
    for (planted, code) in [(true, 1), (false, 0)] {
        if !planted {
            mutant.turn_into(&[]);
        }
        let again = explore_mutant(folder.path(), program, &mutant, &["--case", &walk.id])?;
        if again.status.code() != Some(code) {
            return Err(failure(&walk.id, &again));
        }
    }
    is_a_case(folder.path(), program)
}

/// Whether the walk was also written as a case without mistakes.
fn is_a_case(folder: &Path, Program { version, party, .. }: Program) -> Result<(), Failed> {
    let files =
        fs::read_dir(folder.join("traces"))?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    let case = files.iter().find(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    let case = case.ok_or("the walk was not written as a case")?;
    let place = folder.join(format!("mine/{version}/{party}/walk"));
    fs::create_dir_all(&place)?;
    fs::copy(case, place.join("mine.yaml"))?;
    let lint = program::command().args(["lint", "mine"]).current_dir(folder).output()?;
    if lint.status.success() { Ok(()) } else { Err(failure("lint", &lint)) }
}

fn impossible() -> Result<(), Failed> {
    let folder = TempDir::new()?;
    let output = explore(folder.path(), OF_AGENT, &["--case", "walk/fs/raed"])?;
    let printed = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(2) || !printed.contains("no case has the id `fs/raed`") {
        return Err(failure("a case that does not exist", &output));
    }
    Ok(())
}

fn limited() -> Result<(), Failed> {
    let folder = TempDir::new()?;
    let args = ["--explore", "1000000", "--seed", "1", "--case", "prompt/text", "--time-limit", "5s"];
    let output = explore(folder.path(), OF_AGENT, &args)?;
    let report: RunReport = serde_json::from_slice(&fs::read(folder.path().join("report.json"))?)?;
    if report.explored.is_none_or(|explored| explored.walks >= 1_000_000) {
        return Err(failure("a limited run", &output));
    }
    Ok(())
}

/// A run of all cases that ends after its first failure plays walks although most cases have not run: the fault shows
/// in none alone.
fn begins_early() -> Result<(), Failed> {
    let folder = TempDir::new()?;
    let mutant = OF_AGENT.mutant("tool-kind-unknown-after-close");
    let args = ["--explore", "400", "--seed", "1", "--fail-fast", "--isolate"];
    let output = explore_mutant(folder.path(), OF_AGENT, &mutant, &args)?;
    let report: RunReport = serde_json::from_slice(&fs::read(folder.path().join("report.json"))?)?;
    let left = report.partial.map_or(0, |partial| partial.not_run);
    if report.explored.is_none_or(|explored| explored.walks == 0) || left == 0 {
        return Err(failure(&format!("{left} cases were left"), &output));
    }
    Ok(())
}

/// An agent that opens sessions and ends turns at once. `$1` runs before each session is opened; then `$n` counts it.
const TINY: &str = r#"
    say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
    late() { say '"method":"session/update","params":{"sessionId":"unknown","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"late"}}}'; }
    n=0
    while read -r line; do
        id=${line#*'"id":'}; id=${id%%[,\}]*}
        case $line in
            *'"method":"initialize"'*) say "\"id\":$id,\"result\":{\"protocolVersion\":1,\"agentInfo\":{\"name\":\"tiny\",\"version\":\"1\"}}" ;;
            *'"method":"session/new"'*) n=$((n+1)); eval "$1"; say "\"id\":$id,\"result\":{\"sessionId\":\"$$-$n\"}" ;;
            *'"method":"session/prompt"'*) say "\"id\":$id,\"result\":{\"stopReason\":\"end_turn\"}" ;;
            *'"method":"_'*) say "\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"unknown\"}" ;;
        esac
    done
"#;

/// Runs some cases against [`TINY`] in one conversation.
fn tiny(folder: &Path, before_session: &str, cases: &[&str]) -> std::io::Result<(Output, RunReport)> {
    let mut command = program::command();
    command.args(["agent", "--format", "text", "--format", "json=report.json", "--jobs", "1"]).args(cases);
    command.args(["--", "sh", "-c", TINY, "sh", before_session]).current_dir(folder).stdin(Stdio::null());
    let output = command.output()?;
    Ok((output, serde_json::from_slice(&fs::read(folder.join("report.json"))?)?))
}

/// The requirement that an update for an unknown session violates.
const KNOWN_SESSION: &str = "update.session-known";

/// Cases that share a conversation, with one session each.
const IN_ONE_CONVERSATION: [&str; 4] = ["prompt/text", "prompt/resource-link", "prompt/meta", "prompt/many-blocks"];

fn sequence() -> Result<(), Failed> {
    let folder = TempDir::new()?;
    // The third session of a process breaks the requirement.
    let (output, report) = tiny(folder.path(), "[ $n -lt 3 ] || late", &IN_ONE_CONVERSATION)?;
    let findings = findings(&report);
    let shown =
        findings.iter().min_by_key(|finding| finding.after.len()).ok_or_else(|| failure("nothing failed", &output))?;
    if (shown.verdict, shown.after.len(), output.status.code()) != (Verdict::Fail, 2, Some(1)) {
        return Err(failure(&format!("{shown:#?}"), &output));
    }
    let in_order: Vec<&str> = shown.after.iter().chain([&shown.case]).flat_map(|case| ["--case", case]).collect();
    for (before_session, code) in [("[ $n -lt 3 ] || late", 1), ("", 0)] {
        let (again, _) = tiny(folder.path(), before_session, &[&in_order[..], &["--in-order"]].concat())?;
        if again.status.code() != Some(code) {
            return Err(failure(&in_order.join(" "), &again));
        }
    }
    Ok(())
}

/// Returns the findings on the requirement that the agent violates.
fn findings(report: &RunReport) -> Vec<&FindingReport> {
    report.requirements.iter().filter(|one| one.id == KNOWN_SESSION).flat_map(|one| &one.findings).collect()
}

fn sequence_once() -> Result<(), Failed> {
    let folder = TempDir::new()?;
    let mark = folder.path().join("mark");
    // Only one process ever breaks the requirement.
    let once = format!("[ $n -lt 3 ] || [ -e {0} ] || {{ touch {0}; late; }}", mark.display());
    let (output, report) = tiny(folder.path(), &once, &IN_ONE_CONVERSATION)?;
    let verdict = report.requirements.iter().find(|one| one.id == KNOWN_SESSION).map(|one| one.verdict);
    let is_open = verdict == Some(Verdict::Inconclusive) && findings(&report).iter().all(|finding| finding.unconfirmed);
    let text = String::from_utf8_lossy(&output.stdout);
    if !is_open
        || report.verdict != Conformance::Incomplete
        || !text.contains("seen, not confirmed  update.session-known")
    {
        return Err(failure("a violation that shows once", &output));
    }
    Ok(())
}

fn explore(folder: &Path, program: Program, args: &[&str]) -> std::io::Result<Output> {
    explore_mutant(folder, program, &program.mutant(""), args)
}

fn explore_mutant(folder: &Path, program: Program, mutant: &Mutant, args: &[&str]) -> std::io::Result<Output> {
    let Program { version, party } = program;
    let path = mutant.path();
    let words = if party == "agent" { ["--", &path] } else { ["--profile", "acp-reference-client"] };
    let mut command = program::command();
    command.args([party, "--protocol", version, "--format", "text", "--format", "json=report.json"]);
    command.args(args).args(words);
    // The profile of the client names its program without a path.
    command.env("PATH", program::path_from(mutant.folder()));
    command.current_dir(folder).stdin(Stdio::null()).output()
}

fn failure(what: &str, output: &Output) -> Failed {
    let (printed, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{what}: {}\n{printed}\n{said}", output.status).into()
}
