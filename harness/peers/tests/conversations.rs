//! Agents and clients whose conversations hold many cases: the verdicts are those of runs alone, and a failure never
//! rests on sharing alone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use acp_conformance::case::{Action, Case};
use acp_conformance::edition::{V1, V2};
use acp_conformance::judge::judge;
use acp_conformance::requirement::Party;
use acp_conformance::results::{CaseReport, FindingReport, RunReport};
use acp_conformance::run::{Limits, Subject};
use acp_conformance::trace::{Event, ProcessEvent, Trace, What};
use acp_conformance::verdict::Verdict;
use acp_conformance_mutants::fault::{EditFile, Fault};
use libtest_mimic::{Failed, Trial};
use reference::Mutant;
use tempfile::TempDir;

use crate::ensure;
use crate::reference::{self, Run, cases_of, run, run_with};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let trials: Vec<Trial> = vec![
        Trial::test("conversations/reference_agent_has_the_verdicts_of_isolated_cases", || {
            same_verdicts(Party::Agent, MOST_STARTS)
        }),
        Trial::test("conversations/reference_client_has_the_verdicts_of_isolated_cases", || {
            same_verdicts(Party::Client, MOST_CLIENT_STARTS)
        }),
        Trial::test("conversations/client_that_exits_gets_a_new_process", client_exits),
        Trial::test("conversations/client_of_a_profile_without_sharing_starts_for_each_case", client_does_not_share),
        Trial::test("conversations/agent_of_version_2_starts_seldom", few_starts_in_version_2),
        Trial::test("conversations/trace_of_a_conversation_is_judged_alike_from_its_file", from_file),
        Trial::test("conversations/agent_that_exits_gets_a_new_process", exits),
        Trial::test("conversations/case_after_a_restart_goes_on_with_the_new_process", goes_on_after_restart),
        Trial::test("conversations/failure_only_after_other_cases_counts_if_it_shows_twice", fails_later),
        Trial::test("conversations/failure_that_a_case_shows_alone_counts_for_all", fails_always),
        Trial::test("conversations/failure_runs_again_while_other_conversations_go_on", fails_early),
        Trial::test("conversations/failure_is_confirmed_before_its_conversation_ends", fails_meanwhile),
        Trial::test("conversations/agent_that_ignores_unknown_requests_goes_on", ignores_unknown),
        Trial::test("conversations/agent_that_leaves_a_turn_open_gets_a_new_process", leaves_turn_open),
        Trial::test(
            "conversations/agent_that_refuses_to_initialize_is_not_started_for_each_case",
            refuses_to_initialize,
        ),
        Trial::test(
            "conversations/agent_that_leaves_initialize_unanswered_is_not_started_for_each_case",
            ignores_initialize,
        ),
        Trial::test("conversations/shapes_run_only_if_one_exercises_something", skips_repeated_shapes),
        Trial::test("conversations/contexts_run_only_if_the_first_use_exercises_something", skips_contexts),
    ];
    let faults = [Party::Agent, Party::Client].into_iter().flat_map(killed_faults);
    let faults = faults.enumerate().map(|(number, (fault, cases))| {
        let trial =
            Trial::test(format!("conversations/{}", fault.id), move || killed(&fault, &cases)).with_kind("fault");
        trial.with_ignored_flag(number % SAMPLE != 0)
    });
    trials.into_iter().chain(faults).collect()
}

fn agent_cases() -> Vec<Case> {
    cases_of(Party::Agent, &V1)
}

fn same_verdicts(party: Party, most_starts: usize) -> Result<(), Failed> {
    let cases = cases_of(party, &V1);
    let subject = reference::subject(party, &[]);
    let alone = run_with(&cases, &subject, 2, true);
    // One job needs the same number of starts on every machine; several share their cases by how fast they are.
    let shared = run_with(&cases, &subject, 1, false);
    let (before, now) = (alone.verdicts(), shared.verdicts());
    let other: Vec<_> = before.iter().filter(|(id, verdict)| now[*id] != **verdict).collect();
    ensure(other.is_empty(), || format!("these verdicts differ in shared conversations: {other:?}"))?;
    let restarts =
        cases.iter().flat_map(|case| &case.steps).filter(|step| matches!(step.action, Action::Restart)).count();
    let starts = alone.report.summary.starts;
    ensure(starts == cases.len() + restarts, || format!("{starts} starts alone"))?;
    let shared = &shared.report;
    ensure(unconfirmed(shared).is_empty(), || format!("{:?}", unconfirmed(shared)))?;
    ensure(shared.summary.starts <= most_starts + restarts, || format!("{} starts", shared.summary.starts))
}

/// Two cases start the agent again, and one comes after them.
fn goes_on_after_restart() -> Result<(), Failed> {
    const CASES: [&str; 3] =
        ["v1/agent/load/new-process", "v1/agent/resume/new-process", "v1/agent/transport/end-of-input"];
    let mut cases = agent_cases();
    cases.retain(|case| CASES.contains(&case.id.as_str()));
    let Run { report, .. } = run(&cases, &reference::subject(Party::Agent, &[]));
    let verdicts: Vec<_> = report.cases.iter().map(|case| (&case.id, case.verdict)).collect();
    ensure(verdicts.len() == 3 && verdicts.iter().all(|(_, verdict)| *verdict == Verdict::Pass), || {
        format!("{verdicts:?}")
    })?;
    let summary = &report.summary;
    ensure(summary.starts == 3 && summary.again == 0, || format!("{} starts, {} again", summary.starts, summary.again))
}

/// The cases of version 2 have contexts too, and share conversations. One after the other: with more jobs, the speed of
/// the machine decides how many cases another process takes over.
fn few_starts_in_version_2() -> Result<(), Failed> {
    let subject = reference::subject(Party::Agent, &[]);
    let Run { report, .. } = run_with(&cases_of(Party::Agent, &V2), &subject, 1, false);
    ensure(unconfirmed(&report).is_empty(), || format!("{:?}", unconfirmed(&report)))?;
    let undecided = report.cases.iter().filter(|case| matches!(case.verdict, Verdict::Fail | Verdict::Inconclusive));
    let undecided: Vec<_> = undecided.map(|case| &case.id).collect();
    ensure(undecided.is_empty(), || format!("these cases do not pass: {undecided:?}"))?;
    ensure(report.summary.starts <= MOST_STARTS_IN_VERSION_2, || format!("{} starts", report.summary.starts))
}

/// The same as [`MOST_STARTS`], for version 2.
const MOST_STARTS_IN_VERSION_2: usize = 20;

/// The most starts of an agent that follows all requests of the cases, without those in the middle of a case.
const MOST_STARTS: usize = 38;

/// The same for a client. Cases of which something stays unanswered need a process each.
const MOST_CLIENT_STARTS: usize = 125;

/// One of this many faults is tested in every run. `-- --include-ignored` tests all, which takes minutes.
const SAMPLE: usize = 10;

/// Cases that share the conversation of each fault with those that show it, so that the agent has a history.
const COMPANY: [&str; 10] = [
    "v1/agent/cancel/after-turn",
    "v1/agent/fs/read",
    "v1/agent/modes/set",
    "v1/agent/permission/request",
    "v1/agent/session/independent",
    "v1/client/cancel/next-prompt",
    "v1/client/fs/read",
    "v1/client/modes/set",
    "v1/client/permission/allowed",
    "v1/client/message-id/null",
];

/// Faults that change one id, of a request or a session, which is another one in a shared conversation.
const NAMES_AN_ID: [&str; 4] =
    ["client-response-id-as-text", "client-session-id-composed", "client-session-id-cut", "client-session-id-lowered"];

/// Returns the faults of a party, each with the cases that show it and their company.
fn killed_faults(party: Party) -> Vec<(Fault, Vec<Case>)> {
    let cases = cases_of(party, &V1);
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let company = COMPANY.iter().filter(|id| ids.contains(id)).count();
    assert!(company == COMPANY.len() / 2, "{company} of {COMPANY:?} are cases of {party:?}");
    let with_cases = |fault: Fault| {
        let is_chosen = |case: &&Case| COMPANY.contains(&case.id.as_str()) || fault.names(case);
        let with_limits = |case: &Case| Case { limits: case.limits.with(&fault.limits()), ..case.clone() };
        let chosen = cases.iter().filter(is_chosen).map(with_limits).collect();
        (fault, chosen)
    };
    let is_usual = |fault: &Fault| fault.party == party && fault.file.transport.is_none();
    let faults = Fault::all("v1").expect("faults").into_iter().filter(is_usual);
    faults.filter(|fault| !NAMES_AN_ID.contains(&fault.id.as_str()) && !has_a_history(fault)).map(with_cases).collect()
}

/// Whether the fault depends on what came before in its process, which is more in a shared conversation.
fn has_a_history(fault: &Fault) -> bool {
    fault.file.edits.iter().any(|EditFile { on, .. }| on.nth.is_some() || on.session.is_some() || on.after.is_some())
}

/// A fault violates the same requirements in shared conversations as in a process for each case.
fn killed(fault: &Fault, cases: &[Case]) -> Result<(), Failed> {
    let mutant = Mutant::new(fault.party, &["--fault", &fault.path.display().to_string()]);
    let mut subject = mutant.subject();
    subject.env.extend(fault.environment());
    let failed = |isolate: bool| -> BTreeSet<String> {
        let report = run_with(cases, &subject, 1, isolate).report;
        report.requirements.into_iter().filter(|found| found.verdict == Verdict::Fail).map(|found| found.id).collect()
    };
    let together = failed(false);
    ensure(together.contains(&fault.file.kills), || format!("{} does not fail", fault.file.kills))?;
    if together.iter().all(|id| fault.may_break(id)) {
        return Ok(());
    }
    // The company shows more effects of some faults.
    let alone = failed(true);
    let extra: Vec<_> = together.iter().filter(|id| !fault.may_break(id) && !alone.contains(*id)).collect();
    ensure(extra.is_empty(), || format!("these fail only in shared conversations: {extra:?}"))
}

fn from_file() -> Result<(), Failed> {
    let run = run(&turns(4), &agent("", false));
    let shared = run.traces.iter().find(|trace| trace.header.conversation.is_some());
    let trace = shared.ok_or("no conversation held several cases")?;
    let mut file = Vec::new();
    trace.write(&mut file)?;
    let again = Trace::read(&file[..])?;
    ensure(again == *trace, || "the file says something else".to_owned())?;
    ensure(judge(&again, V1.edition()) == judge(trace, V1.edition()), || "another judgement".to_owned())?;
    ensure(trace.by_case().len() == 4, || format!("{} cases", trace.by_case().len()))
}

/// The violations of the agent below in each case: its answer to `initialize` has no name, and it answers unknown
/// requests with null.
const ALWAYS: [&str; 2] = ["init.agent-info", "ext.unknown-custom-request.agent"];

/// An agent that opens sessions and ends turns at once. `$1` runs before each session is opened; then `$n` counts it.
const AGENT: &str = r#"
    say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
    update() { say "\"method\":\"session/update\",\"params\":{\"sessionId\":\"$1\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"late\"}}}"; }
    n=0
    while read -r line; do
        id=${line#*'"id":'}; id=${id%%[,\}]*}
        case $line in
            *'"method":"initialize"'*) say "\"id\":$id,\"result\":{\"protocolVersion\":1}" ;;
            *'"method":"session/new"'*) n=$((n+1)); eval "$1"; say "\"id\":$id,\"result\":{\"sessionId\":\"$$-$n\"}" ;;
            *'"method":"session/prompt"'*) say "\"id\":$id,\"result\":{\"stopReason\":\"end_turn\"}" ;;
            # An unknown request should have an error.
            *'"method":"_'*) [ -n "$2" ] || say "\"id\":$id,\"result\":null" ;;
        esac
    done
"#;

fn agent(before_session: &str, is_silent: bool) -> Subject {
    let here = std::env::current_dir().expect("a current directory");
    let silence = if is_silent { "silent" } else { "" };
    Subject::agent(["sh", "-c", AGENT, "sh", before_session, silence].map(str::to_owned).to_vec(), here)
}

/// Builds cases that open a session and have a turn in it.
fn turns(count: usize) -> Vec<Case> {
    let text = "title: A turn\nsubject: agent\nrequirements: [prompt.stop-reason]\ntranscript:\n  - include: turn\n";
    (0..count).map(|n| case(text, n)).collect()
}

fn case(text: &str, number: usize) -> Case {
    reference::written(&format!("cases/v1/agent/turn/number-{number}.yaml"), text)
}

fn refuses_to_initialize() -> Result<(), Failed> {
    let script = r#"while read -r line; do
        id=${line#*'"id":'}; id=${id%%[,\}]*}
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}\n' "$id"
    done"#;
    is_given_up(script, Limits::default(), "refused")
}

fn ignores_initialize() -> Result<(), Failed> {
    let limits = Limits { start: Duration::from_secs(1), ..Limits::default() };
    is_given_up("while read -r line; do :; done", limits, "did not answer")
}

/// Checks that the agent of this script is not started for each case, and that the reason for that contains `what`.
fn is_given_up(script: &str, limits: Limits, what: &str) -> Result<(), Failed> {
    let here = std::env::current_dir().expect("a current directory");
    let agent = Subject::agent(["sh", "-c", script].map(str::to_owned).to_vec(), here);
    let agent = Subject { limits, ..agent };
    let first = run(&turns(9), &agent).report;
    ensure(first.cases.len() == 9, || format!("{:#?}", first.cases))?;
    let skipped: Vec<_> = first.cases.iter().filter(|case| case.verdict == Verdict::NotExercised).collect();
    let has_reason = |case: &CaseReport| case.reason.as_ref().is_some_and(|reason| reason.contains(what));
    ensure(!skipped.is_empty() && skipped.iter().all(|case| has_reason(case)), || format!("{:#?}", first.cases))?;
    let starts = first.summary.starts;
    ensure(starts <= 4, || format!("{starts} starts"))?;
    // A round in which no process starts does not end the run: the contexts come in the next one.
    let cases: Vec<Case> =
        agent_cases().into_iter().filter(|case| Case::file_of(&case.id) == "v1/agent/fs/read").collect();
    let next = run(&cases, &agent).report;
    let all_skipped = next.cases.iter().all(|case| case.verdict == Verdict::NotExercised);
    ensure(next.cases.len() == cases.len() && all_skipped, || format!("{:#?}", next.cases))?;
    ensure(next.summary.starts == 0, || format!("{} starts", next.summary.starts))
}

/// Returns the failures that no second process confirmed.
fn unconfirmed(report: &RunReport) -> Vec<&FindingReport> {
    report.requirements.iter().flat_map(|one| &one.findings).filter(|finding| finding.unconfirmed).collect()
}

fn findings<'r>(report: &'r RunReport, requirement: &str) -> Vec<&'r FindingReport> {
    report.requirements.iter().filter(|one| one.id == requirement).flat_map(|one| &one.findings).collect()
}

fn exits() -> Result<(), Failed> {
    // Its input ends with the third session of each process.
    let run = run(&turns(6), &agent("[ $n -lt 3 ] || exit 0", false));
    let verdicts: Vec<Verdict> = run.report.cases.iter().map(|case| case.verdict).collect();
    let passed = verdicts.iter().filter(|verdict| **verdict == Verdict::Pass).count();
    ensure(passed >= 4, || format!("{:#?}", run.report.cases))?;
    let starts = run.report.summary.starts;
    ensure((3..=8).contains(&starts), || format!("{starts} starts"))
}

fn fails_later() -> Result<(), Failed> {
    let run = run(&turns(6), &agent(r#"[ $n = 1 ] || update "unknown session""#, false));
    let found = findings(&run.report, "update.session-known");
    let shortest = found.iter().map(|finding| finding.after.len()).min();
    ensure(found.iter().all(|finding| finding.verdict == Verdict::Fail) && shortest == Some(1), || {
        format!("{found:#?}")
    })?;
    let failed = run.report.cases.iter().filter(|case| case.verdict == Verdict::Fail).count();
    ensure(failed == 1, || format!("{:#?}", run.report.cases))
}

fn fails_always() -> Result<(), Failed> {
    let run = run(&turns(6), &agent(r#"update "unknown-$n""#, false));
    let failed: Vec<&str> =
        run.report.cases.iter().filter(|case| case.verdict == Verdict::Fail).map(|c| c.id.as_str()).collect();
    let also = run.report.cases.iter().filter(|case| !case.also.is_empty()).count();
    // The first case fails for all, and the others list the violation.
    ensure((failed.len(), also) == (1, 5), || format!("{failed:?}, {also} others"))?;
    let (starts, again) = (run.report.summary.starts, run.report.summary.again);
    ensure((starts, again) == (2, 1), || format!("{starts} starts, {again} again"))?;
    ensure(unconfirmed(&run.report).is_empty(), || format!("{:?}", unconfirmed(&run.report)))
}

fn fails_early() -> Result<(), Failed> {
    let folder = TempDir::new()?;
    // The second process opens no session before the third one has started.
    let wait = format!(
        r#"[ $n != 1 ] || mkdir {0}/first 2>&- || {{ mkdir {0}/second 2>&- && until [ -e {0}/third ]; do sleep 0.05; done; }} || mkdir {0}/third 2>&-
        update "unknown-$n""#,
        folder.path().display()
    );
    let run = run_with(&turns(24), &agent(&wait, false), 2, false);
    let (starts, again) = (run.report.summary.starts, run.report.summary.again);
    ensure((starts, again) == (3, 1), || format!("{starts} starts, {again} again"))
}

fn fails_meanwhile() -> Result<(), Failed> {
    let folder = TempDir::new()?;
    // The last session of the first process opens once a second process has opened one.
    let script = format!(
        r"[ $n != 1 ] || mkdir {0}/first 2>&- || mkdir {0}/second
        [ $n != 4 ] || until [ -e {0}/second ]; do sleep 0.05; done
        echo welcome",
        folder.path().display()
    );
    let run = run_with(&turns(4), &agent(&script, false), 2, false);
    let (starts, again) = (run.report.summary.starts, run.report.summary.again);
    ensure((starts, again) == (2, 1), || format!("{starts} starts, {again} again"))?;
    let open: Vec<_> = run.report.cases.iter().filter(|case| case.verdict == Verdict::Inconclusive).collect();
    ensure(open.is_empty(), || format!("{open:#?}"))
}

fn ignores_unknown() -> Result<(), Failed> {
    let run = run(&turns(3), &agent("", true));
    all_pass(&run)?;
    let cases = run.traces[0].by_case().len();
    ensure(cases == 3, || format!("the first conversation holds {cases} cases"))
}

fn leaves_turn_open() -> Result<(), Failed> {
    let open = "title: A turn\nsubject: agent\nrequirements: [session.new.returns-id]\ntranscript:\n  - include: session\n  \
                - client: { id: turn, method: session/prompt, params: { sessionId: <session>, prompt: { intent: say, text: a } } }\n";
    let cases: Vec<Case> = (0..3).map(|n| case(open, n)).collect();
    // It answers no prompts.
    let silent = AGENT.replace(r#"say "\"id\":$id,\"result\":{\"stopReason\":\"end_turn\"}""#, ":");
    ensure(silent != AGENT, || "the agent still answers".to_owned())?;
    let here = std::env::current_dir()?;
    let run = run(&cases, &Subject::agent(["sh", "-c", &silent, "sh", "", ""].map(str::to_owned).to_vec(), here));
    let spawned = |event: &&Event| matches!(event.what, What::Process(ProcessEvent::Spawned { .. }));
    let starts = run.traces.iter().flat_map(|trace| &trace.events).filter(spawned).count();
    // What the first case violates may run again alone before the last case shows it alone too.
    ensure((3..=4).contains(&starts), || format!("{starts} starts"))
}

/// Turns in which the client reads a file.
fn reads() -> Vec<Case> {
    cases_of(Party::Client, &V1).into_iter().filter(|case| Case::file_of(&case.id) == "v1/client/fs/read").collect()
}

fn client_exits() -> Result<(), Failed> {
    let mut subject = reference::subject(Party::Client, &[]);
    // Its input ends after the acts of one further case.
    let words = ["sh", "-c", r#"head -n 2 | "$0" "$@""#].map(str::to_owned);
    subject.command.splice(0..0, words);
    let cases: Vec<Case> = reads().into_iter().filter(|case| case.context.is_none()).collect();
    let cases: Vec<Case> = (0..6).map(|n| Case { id: format!("v1/client/fs/read-{n}"), ..cases[0].clone() }).collect();
    let run = run(&cases, &subject);
    let verdicts: Vec<Verdict> = run.report.cases.iter().map(|case| case.verdict).collect();
    ensure(verdicts == [Verdict::Pass; 6], || format!("{:#?}", run.report.cases))?;
    let starts = run.report.summary.starts;
    ensure((3..6).contains(&starts), || format!("{starts} starts"))
}

fn client_does_not_share() -> Result<(), Failed> {
    let cases = reads();
    let mut subject = reference::subject(Party::Client, &[]);
    let starts = |subject: &Subject| run(&cases, subject).report.summary.starts;
    let shared = starts(&subject);
    ensure(shared < cases.len() / 2, || format!("{shared} starts"))?;
    subject.controls.share = Some(false);
    let alone = starts(&subject);
    ensure(alone == cases.len(), || format!("{alone} starts for {} cases", cases.len()))
}

fn skips_repeated_shapes() -> Result<(), Failed> {
    let is_chosen = |case: &Case| Case::file_of(&case.id) == "v1/agent/fs/read-undeclared";
    let cases: Vec<Case> = agent_cases().into_iter().filter(is_chosen).collect();
    let skipped = |run: &Run| {
        let verdicts = run.report.cases.iter().map(|case| case.verdict);
        verdicts.filter(|verdict| *verdict == Verdict::NotExercised).count()
    };
    let idle = run(&cases, &agent("", false));
    ensure(skipped(&idle) == cases.len() - 1, || format!("{:#?}", idle.report.cases))?;
    ensure(idle.report.cases.len() == cases.len(), || "each case is in the report".to_owned())?;
    let reads = run(&cases, &reference::subject(Party::Agent, &[]));
    ensure(skipped(&reads) == 0, || format!("{:#?}", reads.report.cases))
}

fn skips_contexts() -> Result<(), Failed> {
    let ids = ["v1/agent/fs/read", "v1/agent/load/replay", "v1/agent/prompt/stop-refusal"];
    let is_chosen = |case: &Case| ids.contains(&Case::file_of(&case.id));
    let cases: Vec<Case> = agent_cases().into_iter().filter(is_chosen).collect();
    let verdicts = |run: &Run, file: &str| -> BTreeMap<Verdict, usize> {
        let mut counts = BTreeMap::new();
        for case in run.report.cases.iter().filter(|case| case.id.starts_with(&format!("{file}@"))) {
            *counts.entry(case.verdict).or_default() += 1;
        }
        counts
    };
    // It ends each turn at once, and cannot load.
    let poor = run(&cases, &agent("", false));
    let of = |file: &str| cases.iter().filter(|case| case.id.starts_with(&format!("{file}@"))).count();
    let [read, load, refuse] = ids;
    let wanted = [(read, Verdict::NotExercised), (load, Verdict::NotApplicable), (refuse, Verdict::Pass)];
    for (file, verdict) in wanted {
        let found = verdicts(&poor, file);
        ensure(found.get(&verdict).is_some_and(|count| *count > 0), || format!("{file}: {found:?}"))?;
        ensure(found.values().sum::<usize>() == of(file), || format!("{file}: {found:?}"))?;
    }
    let all = run(&cases, &reference::subject(Party::Agent, &[]));
    ensure(all.report.cases.iter().all(|case| case.verdict == Verdict::Pass), || format!("{:#?}", all.report.cases))
}

/// Checks that every case passes and no requirement fails, except for the agent's constant violations.
fn all_pass(run: &Run) -> Result<(), Failed> {
    let not: Vec<_> = run.report.cases.iter().filter(|case| case.verdict != Verdict::Pass).collect();
    ensure(not.is_empty(), || format!("{not:#?}"))?;
    let failed: Vec<_> = run.report.requirements.iter().filter(|found| found.verdict == Verdict::Fail).collect();
    ensure(failed.iter().all(|found| ALWAYS.contains(&found.id.as_str())), || format!("{failed:#?}"))
}
