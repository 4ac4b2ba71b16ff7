//! What a conversation and a report look like, as snapshots: the normalised transcripts of representative cases on the
//! reference agent, and both reports of a small run with a failure in it.
//!
//! The cases are those whose messages come in one order, see `acp_conformance::trace::normalised`: no two requests of
//! one side run at once, and everything that the agent says is waited for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use acp_conformance::case::{Case, Vocabulary, embedded};
use acp_conformance::report::model::{FindingReport, RunReport};
use acp_conformance::report::{Collector, SuiteEvent, TextReport};
use acp_conformance::requirement::Party;
use acp_conformance::run::{Subject, run_case};
use acp_conformance::trace::{Redactor, Trace, normalised};
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Arguments, Failed, Trial};

/// The cases whose transcripts are kept, one or two an area.
const CASES: [&str; 12] = [
    "cancel/while-asking",
    "cancelreq/unknown-id",
    "config/set",
    "fs/read",
    "fs/read-refused",
    "init/handshake",
    "list/all",
    "load/replay",
    "modes/set",
    "permission/rejected-write",
    "terminal/run",
    "tool/failure",
];

/// The cases whose transcripts begin with the answers to initialize and session/new as they are.
const WHOLE: [&str; 2] = ["init/handshake", "modes/set"];

/// The run whose reports are kept: these cases, with an agent that has this fault.
const REPORTED: (&str, [&str; 2]) = ("cancel-as-end-turn", ["cancel/while-asking", "init/handshake"]);

type Render = fn(&RunReport) -> Result<String, Failed>;

fn main() -> ExitCode {
    let transcripts = CASES.map(|id| Trial::test(id, move || transcript(id)).with_kind("transcript"));
    let reports = [("text", text as Render), ("json", json)]
        .map(|(name, render)| Trial::test(name, move || report(name, render)).with_kind("report"));
    let orphans = Trial::test("every-snapshot-is-wanted", no_orphans).with_kind("snapshots");
    libtest_mimic::run(&Arguments::from_args(), transcripts.into_iter().chain(reports).chain([orphans]).collect())
        .exit_code()
}

fn transcript(id: &str) -> Result<(), Failed> {
    let text = normalised(&play(id, &[])?.events);
    let text = if WHOLE.contains(&id) { text } else { text.lines().map(brief).collect::<Vec<_>>().join("\n") };
    kept("transcripts", id, &format!("cases/v1/agent/{id}.yaml"), &text);
    Ok(())
}

/// Leaves out what the agent says at every beginning, so that a change of it changes few snapshots.
fn brief(line: &str) -> &str {
    let beginnings = ["← <client-request-1> result ", "← <client-request-2> result "];
    beginnings.into_iter().find(|beginning| line.starts_with(beginning)).map_or(line, |beginning| beginning.trim_end())
}

fn report(name: &str, render: Render) -> Result<(), Failed> {
    let (fault, ids) = REPORTED;
    let mut collector = Collector::new(Party::Agent, agent(&["--fault", fault]));
    let mut redactor = Redactor::new();
    redactor.path(env!("CARGO_BIN_EXE_acp-reference-agent"), "acp-reference-agent");
    let mut wanted = Vec::new();
    for id in ids {
        let trace = play(id, &["--fault", fault])?;
        redactor.learn(&trace.events);
        wanted.extend(trace.header.requirements.clone());
        collector.add(&trace, Duration::ZERO, Some(format!("traces/{}.jsonl", id.replace('/', "-"))));
    }
    let mut report = collector.finish(Duration::ZERO, false);
    // Versions change with every release, and what else is exercised with every new check.
    report.suite.version = "<version>".to_owned();
    report.subject.version = Some("<version>".to_owned());
    report.requirements.retain(|r| r.verdict == Verdict::Fail || wanted.contains(&r.id));
    report.summary.requirements = BTreeMap::new();
    for requirement in &mut report.requirements {
        requirement.findings.iter_mut().for_each(renumber);
        *report.summary.requirements.entry(requirement.verdict.name().to_owned()).or_default() += 1;
    }
    kept("reports", name, "harness/peers/tests/snapshots.rs", &redactor.text(&render(&report)?));
    Ok(())
}

/// Gives the events of a finding numbers of their own: how many others came between them is an accident.
fn renumber(finding: &mut FindingReport) {
    let mut order = finding.events.clone();
    order.sort_unstable();
    let rank = |n: usize| order.iter().position(|known| *known == n).unwrap_or_default();
    for (line, n) in finding.lines.iter_mut().zip(&order) {
        *line = line.replacen(&format!("#{n} "), &format!("#{} ", rank(*n)), 1);
    }
    finding.events = finding.events.iter().map(|&n| rank(n)).collect();
}

fn text(report: &RunReport) -> Result<String, Failed> {
    let mut plain = anstream::StripStream::new(Vec::new());
    let command = format!("-- {}", report.subject.command.join(" "));
    let mut text = TextReport::new(&mut plain, command, false).of_a_selection(true);
    for case in &report.cases {
        text.event(&SuiteEvent::Case(case))?;
    }
    text.event(&SuiteEvent::Run(report))?;
    Ok(String::from_utf8(plain.into_inner())?)
}

fn json(report: &RunReport) -> Result<String, Failed> {
    Ok(serde_json::to_string_pretty(report)?)
}

/// Plays a case with the reference agent.
fn play(id: &str, options: &[&str]) -> Result<Trace, Failed> {
    let (cases, _) = embedded(&Vocabulary::v1());
    let id = format!("v1/agent/{id}");
    let case: &Case = cases.iter().find(|case| case.id == id).ok_or_else(|| format!("there is no case {id}"))?;
    Ok(run_case(case, &Subject::agent(agent(options), std::env::current_dir()?)))
}

fn agent(options: &[&str]) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_acp-reference-agent");
    std::iter::once(program).chain(options.iter().copied()).map(str::to_owned).collect()
}

/// Compares a text with its snapshot. The folders mirror those of the cases; the file that it was made from stands in it.
fn kept(folder: &str, name: &str, input: &str, text: &str) {
    let (area, name) = name.rsplit_once('/').unwrap_or(("", name));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots").join(folder).join(area));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_input_file(root().join(input));
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root of the workspace")
}

fn no_orphans() -> Result<(), Failed> {
    let mut wanted: Vec<String> = CASES.iter().map(|id| format!("transcripts/{id}.snap")).collect();
    wanted.extend(["reports/json.snap".to_owned(), "reports/text.snap".to_owned()]);
    let mut orphans = Vec::new();
    let mut folders = vec![root().join("snapshots/transcripts"), root().join("snapshots/reports")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()) {
            let name = path.strip_prefix(root().join("snapshots"))?.display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".snap") && !wanted.contains(&name) {
                orphans.push(name);
            }
        }
    }
    if orphans.is_empty() { Ok(()) } else { Err(format!("nothing makes these snapshots: {orphans:?}").into()) }
}
