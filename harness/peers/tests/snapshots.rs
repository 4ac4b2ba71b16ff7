//! Conversations and reports as snapshots: the normalised transcripts of representative cases with the reference
//! programs, and the reports of small runs with a failure.
//!
//! The messages of these cases have one order, see `acp_conformance::snapshot::normalised`: each side has at most one
//! open request, and every message of the subject is awaited.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{reference, snap};
use acp_conformance::case::{Case, embedded};
use acp_conformance::edition::V1;
use acp_conformance::report::{Begin, Detail, GithubReport, JunitReport, MarkdownReport, Renderer, TextReport};
use acp_conformance::requirement::Party;
use acp_conformance::results::{Collector, FindingReport, RunReport};
use acp_conformance::run::{Subject, run_case};
use acp_conformance::snapshot;
use acp_conformance::trace::Trace;
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Failed, Trial};
use reference::Mutant;

/// The cases whose transcripts are kept, one or two for each area.
const CASES: [&str; 19] = [
    "agent/cancel/while-asking",
    "agent/cancelreq/unknown-id",
    "agent/config/set",
    "agent/fs/read",
    "agent/fs/read-refused",
    "agent/init/handshake",
    "agent/list/all",
    "agent/load/replay",
    "agent/mcp/http",
    "agent/mcp/stdio",
    "agent/modes/set",
    "agent/permission/rejected-write",
    "agent/terminal/run",
    "agent/tool/failure",
    "client/init/handshake",
    "client/fs/read-line-and-limit",
    "client/permission/rejected",
    "client/session/second-session",
    "client/terminal/truncated-above",
];

/// A run whose report is kept: these cases, with a subject that has this fault, if any.
struct Run {
    party: Party,
    fault: Option<&'static str>,
    cases: [&'static str; 2],
}

const OF_AN_AGENT: Run = Run {
    party: Party::Agent,
    fault: Some("cancelled-as-end-turn"),
    cases: ["agent/cancel/while-asking", "agent/init/handshake"],
};

const OF_A_CLIENT: Run = Run {
    party: Party::Client,
    fault: Some("client-permission-needs-title"),
    cases: ["client/init/handshake", "client/permission/tool-call-by-id"],
};

const OF_A_GOOD_AGENT: Run = Run { fault: None, ..OF_AN_AGENT };

/// The reports that are kept.
const REPORTS: [(&str, Run, Render); 8] = [
    ("text", OF_AN_AGENT, text),
    ("json", OF_AN_AGENT, json),
    ("client", OF_A_CLIENT, text),
    ("junit", OF_AN_AGENT, |report| form(report, |out| Box::new(JunitReport::new(out)))),
    ("junit-good", OF_A_GOOD_AGENT, |report| form(report, |out| Box::new(JunitReport::new(out)))),
    ("github", OF_A_CLIENT, |report| form(report, |out| Box::new(GithubReport(out)))),
    ("markdown", OF_AN_AGENT, |report| form(report, |out| Box::new(MarkdownReport::new(out)))),
    ("markdown-good", OF_A_GOOD_AGENT, |report| form(report, |out| Box::new(MarkdownReport::new(out)))),
];

type Render = fn(&RunReport) -> Result<String, Failed>;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let transcripts =
        CASES.map(|id| Trial::test(format!("snapshots/{id}"), move || transcript(id)).with_kind("transcript"));
    let reports = REPORTS.map(|(name, run, render)| {
        Trial::test(format!("snapshots/{name}"), move || report(name, &run, render)).with_kind("report")
    });
    let used = [
        snap::all_used("snapshots", "transcripts", CASES.map(str::to_owned).into()),
        snap::all_used("snapshots", "reports", REPORTS.map(|(name, ..)| name.to_owned()).into()),
    ];
    transcripts.into_iter().chain(reports).chain(used).collect()
}

fn transcript(id: &str) -> Result<(), Failed> {
    let party = if id.starts_with("agent/") { Party::Agent } else { Party::Client };
    let trace = play(id, &reference::subject(party, &[]))?;
    snap::compare("transcripts", id, &snapshot::text(&trace));
    Ok(())
}

fn report(name: &str, run: &Run, render: Render) -> Result<(), Failed> {
    let options: Vec<&str> = run.fault.into_iter().flat_map(|fault| ["--fault", fault]).collect();
    let mutant = Mutant::new(run.party, &options);
    let mut collector = Collector::new(V1.edition(), run.party, mutant.subject().command);
    let mut renamer = snapshot::Renamer::new();
    renamer.path(&mutant.path(), &format!("acp-reference-{}", run.party));
    let mut wanted = Vec::new();
    for id in run.cases {
        let trace = play(id, &mutant.subject())?;
        renamer.learn(&trace.events);
        wanted.extend(trace.header.requirements.clone());
        collector.add(&trace, Some(&format!("traces/{}.jsonl", id.replace('/', "-"))));
    }
    let mut report = collector.finish(Duration::ZERO, false);
    report.cases.iter_mut().for_each(|case| case.duration_ms = 0);
    // Versions change with every release, and the other exercised requirements with every new check.
    report.suite.version = "<version>".to_owned();
    report.subject.version = Some("<version>".to_owned());
    report.requirements.retain(|r| r.verdict == Verdict::Fail || wanted.contains(&r.id));
    report.probes.retain(|probe| wanted.contains(&probe.id));
    report.summary.requirements = BTreeMap::new();
    for requirement in &mut report.requirements {
        requirement.findings.iter_mut().for_each(renumber);
        *report.summary.requirements.entry(requirement.verdict.name().to_owned()).or_default() += 1;
    }
    snap::compare("reports", name, &renamer.text(&render(&report)?));
    Ok(())
}

/// Renumbers the events of a finding, since the number of other events between them is random.
fn renumber(finding: &mut FindingReport) {
    let number = |line: &String| line.strip_prefix('#')?.split(' ').next()?.parse().ok();
    let mut order = finding.events.clone();
    // The lines also show the messages between the events.
    order.extend(finding.lines.iter().filter_map(number));
    order.sort_unstable();
    order.dedup();
    let rank = |n: usize| order.iter().position(|known| *known == n).unwrap_or_default();
    for line in &mut finding.lines {
        if let Some(n) = number(line) {
            *line = line.replacen(&format!("#{n} "), &format!("#{} ", rank(n)), 1);
        }
    }
    finding.events = finding.events.iter().map(|&n| rank(n)).collect();
}

fn text(report: &RunReport) -> Result<String, Failed> {
    form(report, |out| Box::new(TextReport::new(anstream::StripStream::new(out), Detail::Areas)))
}

/// Returns the output of a renderer for the events of a run.
fn form(
    report: &RunReport,
    renderer: impl for<'o> FnOnce(&'o mut Vec<u8>) -> Box<dyn Renderer + 'o>,
) -> Result<String, Failed> {
    let (kind, command) = (report.subject.kind, report.subject.command.join(" "));
    let begin = Begin::of(report, false, format!("acp-conformance {kind} --case {{case}} -- {command}"));
    let mut out = Vec::new();
    renderer(&mut out).finished(&begin, report)?;
    Ok(String::from_utf8(out)?)
}

fn json(report: &RunReport) -> Result<String, Failed> {
    Ok(serde_json::to_string_pretty(report)?)
}

/// Runs a case with the reference program.
fn play(id: &str, subject: &Subject) -> Result<Trace, Failed> {
    let (cases, _) = embedded(&V1);
    let id = format!("v1/{id}");
    let case: &Case = cases.iter().find(|case| case.id == id).ok_or_else(|| format!("unknown case {id}"))?;
    Ok(run_case(case, subject))
}
