//! Agents whose processes serve case after case: the verdicts are those of fresh processes, and nobody is accused of what an
//! earlier case left behind.

#[allow(dead_code, reason = "each test target wants another part of it")]
mod reference;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use acp_conformance::case::{Case, Includes, Vocabulary, embedded, load_text};
use acp_conformance::edition::V1;
use acp_conformance::judge::{KnownFailures, judge};
use acp_conformance::report::Collector;
use acp_conformance::report::model::RunReport;
use acp_conformance::requirement::Party;
use acp_conformance::run::{Progress, Subject, run_all};
use acp_conformance::trace::{FENCE, Trace, What};
use acp_conformance::transport::relay;
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    // Agents start this program in place of their MCP servers.
    if let Some(code) = relay::run_if_asked() {
        return code;
    }
    let trials = vec![
        Trial::test("the-verdicts-are-those-of-fresh-processes", same_verdicts),
        Trial::test("late-words-of-an-earlier-case-accuse-nobody", late_words),
        Trial::test("one-that-dies-gets-a-fresh-process", dies),
        Trial::test("one-that-breaks-a-rule-when-it-is-used-again-is-played-again", breaks_later),
        Trial::test("one-that-breaks-the-same-rule-everywhere-is-used-again", breaks_always),
        Trial::test("one-that-leaves-fences-open-is-not-used-again", silent),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// What a run came to.
struct Run {
    report: RunReport,
    traces: Vec<Trace>,
}

/// Runs the cases one after the other, with reuse, so that no accident of the machine decides which process serves which.
fn run(cases: &[Case], subject: &Subject) -> Run {
    run_jobs(cases, subject, 1, Some(&KnownFailures::default()))
}

fn run_jobs(cases: &[Case], subject: &Subject, jobs: usize, reuse: Option<&KnownFailures>) -> Run {
    let mut collector = Collector::new(V1.edition(), Party::Agent, subject.command.clone());
    let mut traces = Vec::new();
    let verdict = |trace: &Trace| reuse.map_or(Verdict::Fail, |known| known.verdict(trace, V1.edition()));
    run_all(cases, subject, jobs, reuse.is_some().then_some(&verdict), |event| {
        if let Progress::Ended { trace, again, .. } = event {
            if again {
                collector.played_again();
            }
            collector.add(&trace, Duration::ZERO, None);
            if let Some(known) = reuse {
                known.learn(&trace, collector.failures(trace.header.case.as_deref().unwrap_or_default()));
            }
            traces.push(*trace);
        }
        true
    });
    Run { report: collector.finish(Duration::ZERO, false), traces }
}

fn same_verdicts() -> Result<(), Failed> {
    let (cases, _) = embedded(&V1);
    let cases: Vec<Case> = cases.into_iter().filter(|case| case.subject == Party::Agent).collect();
    let subject = reference::subject(Party::Agent, &[]);
    let alone = run_jobs(&cases, &subject, 2, None);
    let shared = run_jobs(&cases, &subject, 2, Some(&KnownFailures::default()));
    let verdicts = |run: &Run| -> BTreeMap<String, Verdict> {
        let requirements = run.report.requirements.iter().map(|found| (found.id.clone(), found.verdict));
        requirements.chain(run.report.cases.iter().map(|case| (case.id.clone(), case.verdict))).collect()
    };
    let (before, now) = (verdicts(&alone), verdicts(&shared));
    let other: Vec<_> = before.iter().filter(|(id, verdict)| now[*id] != **verdict).collect();
    ensure(other.is_empty(), || format!("on processes that were used before, these are judged otherwise: {other:?}"))?;
    ensure(alone.report.summary.reused.is_none(), || "nothing was to be used again".to_owned())?;
    let reused = shared.report.summary.reused.ok_or("no process was used again")?;
    ensure(reused.cases > 100 && reused.again == 0, || format!("{reused:?}"))
}

/// What the agent below breaks in each case: its answer to initialize says no name.
const NAMELESS: &str = "init.agent-info";

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
            # As nobody should: an unknown request has a result.
            *'"method":"_'*) [ -n "$2" ] || say "\"id\":$id,\"result\":null" ;;
        esac
    done
"#;

fn agent(before_session: &str, is_silent: bool) -> Subject {
    let here = std::env::current_dir().expect("a current directory");
    let silence = if is_silent { "silent" } else { "" };
    Subject::agent(["sh", "-c", AGENT, "sh", before_session, silence].map(str::to_owned).to_vec(), here)
}

/// So many cases that open a session and have a turn in it.
fn turns(count: usize) -> Vec<Case> {
    let text =
        "title: A turn\nsubject: agent\nrequirements: [session.new.returns-id]\ntranscript:\n  - include: turn\n";
    let case = |n| {
        let path = format!("cases/v1/agent/turn/number-{n}.yaml");
        let (mut cases, problems) = load_text(&path, text, &Vocabulary::of(V1.edition()), &Includes::of(&V1));
        cases.pop().unwrap_or_else(|| panic!("{problems:?}"))
    };
    (0..count).map(case).collect()
}

fn late_words() -> Result<(), Failed> {
    // Each session but the first begins with a word about the one before, and an answer to a request that had one.
    let late = r#"[ $n = 1 ] || { update "$$-$((n-1))"; say '"id":1,"result":{}'; }"#;
    let run = run(&turns(8), &agent(late, false));
    all_pass(&run, 7, 0)?;
    let told = run.traces.iter().filter(|trace| text_of(trace, Party::Agent).contains("late")).count();
    ensure(told == 7, || format!("{told} traces hold what came late"))?;
    let again = run.traces.iter().map(|trace| {
        let mut file = Vec::new();
        trace.write(&mut file).expect("a vector takes everything");
        Trace::read(&file[..]).expect("our own file")
    });
    let failed: Vec<String> = again.flat_map(|trace| failed(&trace)).collect();
    ensure(failed.is_empty(), || format!("judged again, these fail: {failed:?}"))
}

fn dies() -> Result<(), Failed> {
    let run = run(&turns(6), &agent("[ $n -lt 3 ] || exit 1", false));
    let reused = run.report.summary.reused.ok_or("no process was used again")?;
    ensure(reused.again > 0, || format!("{reused:?}"))?;
    all_pass(&run, reused.cases, reused.again)
}

fn breaks_later() -> Result<(), Failed> {
    let run = run(&turns(6), &agent(r#"[ $n = 1 ] || update "of nobody""#, false));
    let reused = run.report.summary.reused.ok_or("no process was used again")?;
    ensure(reused.cases == 0 && reused.again > 0, || format!("{reused:?}"))?;
    all_pass(&run, 0, reused.again)
}

fn breaks_always() -> Result<(), Failed> {
    let (agent, known) = (agent(r#"update "of nobody""#, false), KnownFailures::default());
    // The first run shows it on a fresh process.
    let alone = run_jobs(&turns(1), &agent, 1, Some(&known));
    ensure(failed(&alone.traces[0]) == ["update.session-known"], || format!("{:?}", failed(&alone.traces[0])))?;
    let run = run_jobs(&turns(4), &agent, 1, Some(&known));
    let reused = run.report.summary.reused.ok_or("no process was used again")?;
    ensure((reused.cases, reused.again) == (3, 0), || format!("{reused:?}"))?;
    let accused = run.traces.iter().filter(|trace| failed(trace) == ["update.session-known"]).count();
    ensure(accused == run.traces.len(), || format!("{accused} of {} cases show it", run.traces.len()))
}

fn silent() -> Result<(), Failed> {
    let run = run(&turns(3), &agent("", true));
    let reused = run.report.summary.reused;
    ensure(reused.is_none(), || format!("{reused:?}"))?;
    // What was played behind the fence does not count.
    let fenced = run.traces.iter().filter(|trace| text_of(trace, Party::Client).contains(FENCE)).count();
    ensure(fenced == 0, || format!("{fenced} traces hold a fence"))?;
    all_pass(&run, 0, 0)
}

/// Every case passes, and so many went on with a process of earlier ones, or were played again.
fn all_pass(run: &Run, cases: usize, again: usize) -> Result<(), Failed> {
    let not: Vec<_> = run.report.cases.iter().filter(|case| case.verdict != Verdict::Pass).collect();
    ensure(not.is_empty(), || format!("{not:#?}"))?;
    let failed: Vec<String> = run.traces.iter().flat_map(failed).collect();
    ensure(failed.is_empty(), || format!("{failed:?}"))?;
    let reused = run.report.summary.reused.unwrap_or_default();
    ensure((reused.cases, reused.again) == (cases, again), || format!("{reused:?}"))
}

fn failed(trace: &Trace) -> Vec<String> {
    let tallies = judge(trace, V1.edition()).tallies.into_iter();
    tallies.filter(|(id, tally)| tally.verdict() == Verdict::Fail && id != NAMELESS).map(|(id, _)| id).collect()
}

/// What a party said.
fn text_of(trace: &Trace, party: Party) -> String {
    let lines = trace.events.iter().filter_map(|event| match &event.what {
        What::Line { from, bytes, .. } if *from == party => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    });
    lines.collect()
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(why().into()) }
}
