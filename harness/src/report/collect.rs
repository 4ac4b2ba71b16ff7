//! From traces to the report: checks each case when it ends, and joins the results of all cases.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

mod shared;

use super::conformance::conformance;
use super::event::Begin;
use super::gaps;
use super::mistakes;
use super::model::{
    CaseReport, Driven, FORMAT, FindingReport, OnlyShared, ProbeReport, RequirementReport, RunReport, STDIO,
    SubjectInfo, SuiteInfo, Summary,
};
use super::reasons::reasons;

use self::shared::Shared;
pub use self::shared::{Again, Suspect};
use crate::judge::{Fact, Finding, JudgedTrace, JudgingSession, Tally};
use crate::protocol::Edition;
use crate::requirement::{Party, Requirement, Status};
use crate::trace::{Event, McpEvent, McpWhat, ProcessEvent, Trace, What};
use crate::verdict::Verdict;

/// Collects the cases of a run.
pub struct Collector {
    edition: &'static Edition,
    kind: Party,
    command: Vec<String>,
    name: Option<String>,
    version: Option<String>,
    /// The other versions of the protocol that it agreed to.
    other_versions: BTreeSet<u64>,
    driven: Option<Driven>,
    cases: Vec<CaseReport>,
    model: BTreeMap<String, usize>,
    by_requirement: BTreeMap<String, Vec<SeenIn>>,
    /// The shapes of cases that ended undecided before they exercised one of their requirements, by requirement.
    undecided: BTreeMap<String, BTreeSet<String>>,
    fences: BTreeMap<String, usize>,
    /// The number of starts of the subject.
    starts: usize,
    /// The number of cases of shared conversations that ran again alone.
    again: usize,
    shared: Shared,
    only_shared: Vec<OnlyShared>,
}

/// The result of one case for one requirement.
struct SeenIn {
    case: String,
    title: Option<String>,
    tally: Tally,
    /// The proof of each finding.
    proofs: Vec<Proof>,
}

impl SeenIn {
    fn is_decided(&self) -> bool {
        matches!(self.tally.verdict(), Verdict::Pass | Verdict::Fail)
    }
}

/// The proof of a finding.
struct Proof {
    /// The lines of the events.
    lines: Vec<String>,
    /// The line of the current step.
    line: Option<usize>,
}

/// The longest line that is quoted whole.
const LONGEST_QUOTE: usize = 600;

impl Collector {
    /// Creates a collector for one run against one subject.
    #[must_use]
    pub fn new(edition: &'static Edition, kind: Party, command: Vec<String>) -> Self {
        Self {
            edition,
            kind,
            command,
            name: None,
            version: None,
            other_versions: BTreeSet::new(),
            driven: None,
            cases: Vec::new(),
            model: BTreeMap::new(),
            by_requirement: BTreeMap::new(),
            undecided: BTreeMap::new(),
            fences: BTreeMap::new(),
            starts: 0,
            again: 0,
            shared: Shared::default(),
            only_shared: Vec::new(),
        }
    }

    /// Returns the edition by which the traces are checked.
    #[must_use]
    pub const fn edition(&self) -> &'static Edition {
        self.edition
    }

    /// Marks the subject as operated by a person.
    #[must_use]
    pub const fn driven_by_hand(mut self) -> Self {
        self.driven = Some(Driven::Manual);
        self
    }

    /// Returns the facts that are known before the first case of a run; `reproduce` is the command that runs a case again.
    #[must_use]
    pub fn begin(&self, cases: usize, whole: bool, reproduce: String) -> Begin {
        Begin { suite: self.suite(), subject: self.subject(), cases, whole, reproduce, cut_short: false }
    }

    fn suite(&self) -> SuiteInfo {
        SuiteInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            edition: self.edition.name.clone(),
            transport: STDIO.to_owned(),
            schema_sha256: self.edition.schema_sha256.clone(),
        }
    }

    fn subject(&self) -> SubjectInfo {
        SubjectInfo {
            kind: self.kind,
            command: self.command.clone(),
            name: self.name.clone(),
            version: self.version.clone(),
            other_versions: self.other_versions.iter().copied().collect(),
            driven: self.driven,
            profile: None,
        }
    }

    /// Checks the trace of a case and keeps the result.
    pub fn add(&mut self, trace: &Trace, took: Duration, file: Option<String>) -> CaseReport {
        let mut session = JudgingSession::new(&trace.header, self.edition);
        trace.events.iter().for_each(|event| session.event(event));
        self.count(trace);
        let judged = session.close();
        let id = trace.header.case.clone().unwrap_or_else(|| "recording".to_owned());
        self.compare_alone(&id, &judged, file.as_deref());
        self.keep(&id, &judged, &|n| trace.events.get(n));
        self.report(id, &judged, took, file)
    }

    /// Counts the starts of the subject and the actions of the scripted model.
    fn count(&mut self, trace: &Trace) {
        for event in &trace.events {
            match &event.what {
                What::Model(model) => *self.model.entry(model.did.clone()).or_default() += 1,
                What::Process(ProcessEvent::Spawned { .. }) => self.starts += 1,
                _ => {}
            }
        }
    }

    /// Counts the starts of the subject in a recording.
    pub const fn count_starts(&mut self, starts: usize) {
        self.starts += starts;
    }

    /// Keeps the result of a recording; `evidence` holds the events that [`JudgedTrace::evidence`] asks for.
    pub fn add_recording(
        &mut self,
        id: String,
        judged: &JudgedTrace,
        evidence: &BTreeMap<usize, Event>,
        took: Duration,
        file: Option<String>,
    ) -> CaseReport {
        self.keep(&id, judged, &|n| evidence.get(&n));
        self.report(id, judged, took, file)
    }

    /// Returns the events of a trace that findings name, if it is the trace of its case that was added last.
    #[must_use]
    pub fn evidence(&self, case: &str) -> BTreeSet<usize> {
        let last = self.by_requirement.values().filter_map(|seen| seen.last()).filter(|seen| seen.case == case);
        last.flat_map(|seen| &seen.tally.findings).flat_map(|finding| finding.events.iter().copied()).collect()
    }

    /// Returns the ids of the cases that passed.
    #[must_use]
    pub fn passed(&self) -> BTreeSet<String> {
        self.cases.iter().filter(|case| case.verdict == Verdict::Pass).map(|case| case.id.clone()).collect()
    }

    /// Returns the ids of the requirements that failed in a case.
    #[must_use]
    pub fn failed(&self) -> BTreeSet<String> {
        let failed = self.by_requirement.iter();
        let failed = failed.filter(|(_, seen)| seen.iter().any(|seen| seen.tally.verdict() == Verdict::Fail));
        failed.map(|(id, _)| id.clone()).collect()
    }

    /// Returns the failures in a trace, each with its requirement, if it is the trace of its case that was added last.
    pub fn failures<'c>(&'c self, case: &'c str) -> impl Iterator<Item = (&'c str, &'c Fact)> {
        let last = self.by_requirement.iter().filter_map(|(id, seen)| Some((id, seen.last()?)));
        let last = last.filter(move |(_, seen)| seen.case == case);
        last.flat_map(|(id, seen)| {
            let failed = seen.tally.findings.iter().filter(|finding| finding.verdict == Verdict::Fail);
            failed.map(|finding| (id.as_str(), &finding.fact))
        })
    }

    fn report(&mut self, id: String, judged: &JudgedTrace, took: Duration, file: Option<String>) -> CaseReport {
        let verdict = judged.verdict(self.kind, &self.edition.catalogue);
        if let Some(said) = judged.judgement.introductions.get(&self.kind).filter(|_| self.name.is_none()) {
            (self.name, self.version) = (said.name.clone(), said.version.clone());
        }
        self.other_versions.extend(judged.other_versions());
        for (means, times) in judged.fences() {
            *self.fences.entry(means.clone()).or_default() += times;
        }
        let report = CaseReport {
            id,
            title: judged.header().title.clone(),
            verdict: verdict.verdict,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            file: judged.header().file.clone(),
            trace: file,
            otherwise: (verdict.verdict == Verdict::Fail && !judged.header().requirements.is_empty())
                .then(|| judged.own_verdict(self.kind, &self.edition.catalogue)),
            reason: verdict.reason,
            cause: verdict.cause,
            requirements: judged.header().requirements.clone(),
            also: Vec::new(),
            notes: gaps::notes(judged),
        };
        if report.own_verdict().verdict == Verdict::Inconclusive && report.id.contains('@') {
            let missed = report.requirements.iter().filter(|id| judged.judgement.verdict(id) == Verdict::NotExercised);
            for requirement in missed {
                self.undecided.entry(requirement.clone()).or_default().insert(report.id.clone());
            }
        }
        self.cases.push(report.clone());
        report
    }

    fn keep<'t>(&mut self, case: &str, judged: &JudgedTrace, event: &dyn Fn(usize) -> Option<&'t Event>) {
        for (requirement, tally) in &judged.judgement.tallies {
            let proof = |finding: &Finding| Proof {
                lines: quote(event, &finding.events, focus(&finding.fact)),
                line: judged.line_of(&finding.events),
            };
            let proofs = tally.findings.iter().map(proof).collect();
            let title = judged.header().title.clone();
            let seen = SeenIn { case: case.to_owned(), title, tally: tally.clone(), proofs };
            self.by_requirement.entry(requirement.clone()).or_default().push(seen);
        }
    }

    /// Joins everything into the report. With `strict`, a violated SHOULD counts like a violated MUST.
    #[must_use]
    pub fn finish(mut self, took: Duration, strict: bool) -> RunReport {
        self.cases.sort_by(|a, b| a.id.cmp(&b.id));
        self.by_requirement.values_mut().for_each(|seen| seen.sort_by(|a, b| a.case.cmp(&b.case)));
        let (edition, kind) = (self.edition, self.kind);
        let catalogue = &edition.catalogue;
        let fit = self.cases.iter().filter(|case| case.verdict != Verdict::NotApplicable);
        let fit: BTreeSet<String> = fit.map(|case| case.id.clone()).collect();
        let judged = |r: &&Requirement| r.party == kind && matches!(r.status, Status::Checked | Status::Planned);
        let mut requirements: Vec<RequirementReport> = catalogue
            .iter()
            .filter(judged)
            .map(|requirement| {
                let seen = self.by_requirement.remove(&requirement.id).unwrap_or_default();
                join(edition, requirement, seen, self.undecided.remove(&requirement.id).unwrap_or_default(), &fit)
            })
            .collect();
        mistakes::settle(&mut requirements, &mut self.cases);
        let probes = catalogue.iter().filter(|r| r.party == kind && r.status == Status::Probe);
        let mut probes: Vec<_> =
            probes.filter_map(|probe| told(edition, probe, self.by_requirement.get(&probe.id)?)).collect();
        probes.sort_by(|a, b| a.id.cmp(&b.id));
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let fences = std::mem::take(&mut self.fences);
        let (starts, again) = (self.starts, self.again);
        let summary = Summary { starts, again, fences, ..summary(&requirements, &self.cases, duration_ms) };
        self.only_shared.sort_by(|a, b| (&a.case, &a.requirement).cmp(&(&b.case, &b.requirement)));
        RunReport {
            format: FORMAT.to_owned(),
            suite: self.suite(),
            subject: self.subject(),
            began: None,
            verdict: conformance(&requirements, &self.cases, strict),
            strict,
            reasons: reasons(self.kind, &requirements, &self.cases),
            requirements,
            probes,
            cases: self.cases,
            only_shared: self.only_shared,
            explored: None,
            model: self.model,
            summary,
            expected: None,
            timings: None,
            shard: None,
            partial: None,
            obstacle: None,
            next_steps: Vec::new(),
        }
    }
}

/// Returns one finding of a recording as a report on its requirement, for callers that report before the end.
#[must_use]
pub fn alone<'t>(
    edition: &Edition,
    requirement: &str,
    finding: Finding,
    recording: &str,
    event: &dyn Fn(usize) -> Option<&'t Event>,
) -> Option<RequirementReport> {
    let requirement = edition.catalogue.find(requirement)?;
    let proofs = vec![Proof { lines: quote(event, &finding.events, focus(&finding.fact)), line: None }];
    let tally = Tally { findings: vec![finding], ..Tally::default() };
    Some(join(
        edition,
        requirement,
        vec![SeenIn { case: recording.to_owned(), title: None, tally, proofs }],
        BTreeSet::new(),
        &BTreeSet::new(),
    ))
}

/// Joins the results of all cases for one requirement; `fit` are the ids of the cases that apply to the subject.
fn join(
    edition: &Edition,
    requirement: &Requirement,
    seen: Vec<SeenIn>,
    undecided: BTreeSet<String>,
    fit: &BTreeSet<String>,
) -> RequirementReport {
    let undecided: Vec<String> = undecided.into_iter().collect();
    let exercised = |seen: &&SeenIn| !matches!(seen.tally.verdict(), Verdict::NotExercised | Verdict::NotApplicable);
    let unfit = |seen: &SeenIn| seen.tally.verdict() == Verdict::NotApplicable;
    // The requirement applies if the case does in its first use. That a context of it does not apply means nothing here.
    let in_context =
        |seen: &SeenIn| seen.case.rsplit_once(['@', ',']).is_some_and(|(first_use, _)| fit.contains(first_use));
    let counted: Vec<&SeenIn> = seen.iter().filter(|seen| !(unfit(seen) && in_context(seen))).collect();
    let inapplicable = counted.iter().filter(|seen| unfit(seen) && seen.case.contains('@'));
    let inapplicable: Vec<String> = inapplicable.map(|seen| seen.case.clone()).collect();
    let verdict = RequirementReport::joined(counted.iter().map(|seen| seen.tally.verdict()), &undecided, &inapplicable);
    let cases = seen.iter().filter(exercised).map(|seen| seen.case.clone()).collect();
    let notes = notes(&seen);
    let findings: Vec<_> = seen.into_iter().flat_map(|seen| findings(requirement.party, seen)).collect();
    let hints = requirement.sdk.iter().map(|(sdk, hint)| (sdk.name().to_owned(), hint.clone()));
    RequirementReport {
        hints: if verdict == Verdict::Fail { hints.collect() } else { BTreeMap::new() },
        id: requirement.id.clone(),
        party: requirement.party,
        level: requirement.level,
        verdict: unless_stalled(verdict, &findings),
        text: requirement.text.clone(),
        applies_when: requirement.applies_when.clone(),
        status: requirement.status,
        source: requirement.source.clone(),
        link: requirement.link(edition.major),
        cases,
        notes,
        undecided,
        inapplicable,
        findings,
        same_as: Vec::new(),
        also_violates: Vec::new(),
    }
}

/// Returns the verdict over all cases: no pass if the subject stopped answering in one of them.
pub(super) fn unless_stalled(verdict: Verdict, findings: &[FindingReport]) -> Verdict {
    let stalled = findings.iter().any(|finding| finding.stalled);
    if verdict == Verdict::Pass && stalled { Verdict::Inconclusive } else { verdict }
}

/// Joins the observations of all cases for a probe; `None` without any.
fn told(edition: &Edition, probe: &Requirement, seen: &[SeenIn]) -> Option<ProbeReport> {
    let notes = notes(seen);
    let telling = seen.iter().filter(|seen| !seen.tally.notes.is_empty());
    let cases = telling.map(|seen| seen.case.clone()).collect();
    let link = probe.link(edition.major);
    (!notes.is_empty()).then(|| ProbeReport { id: probe.id.clone(), text: probe.text.clone(), link, notes, cases })
}

fn notes(seen: &[SeenIn]) -> Vec<String> {
    let mut notes: Vec<String> = seen.iter().flat_map(|seen| seen.tally.notes.iter().map(Fact::text)).collect();
    notes.sort();
    notes.dedup();
    notes
}

fn findings(party: Party, seen: SeenIn) -> Vec<FindingReport> {
    let SeenIn { case, title, tally, proofs } = seen;
    let pairs = tally.findings.into_iter().zip(proofs);
    pairs
        .map(|(finding, Proof { lines, line })| FindingReport {
            case: case.clone(),
            case_title: title.clone(),
            verdict: finding.verdict,
            kind: finding.fact.kind.to_owned(),
            fields: finding.fact.fields(),
            text: finding.text(),
            party,
            events: finding.events,
            lines,
            line,
            stalled: finding.stalled,
            same_as: finding.same_as,
            counted_in: None,
        })
        .collect()
}

/// Returns the counts of a run with this duration.
pub(super) fn summary(requirements: &[RequirementReport], cases: &[CaseReport], duration_ms: u64) -> Summary {
    Summary {
        requirements: count(requirements.iter().filter(|it| it.same_as.is_empty()).map(|it| it.verdict)),
        same_as: requirements.iter().filter(|it| !it.same_as.is_empty()).count(),
        cases: count(cases.iter().map(|case| case.verdict)),
        duration_ms,
        starts: 0,
        again: 0,
        fences: BTreeMap::new(),
    }
}

fn count(verdicts: impl Iterator<Item = Verdict>) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<String, usize> = Verdict::ALL.iter().map(|v| (v.name().to_owned(), 0)).collect();
    for verdict in verdicts {
        *counts.entry(verdict.name().to_owned()).or_default() += 1;
    }
    counts
}

/// Returns the member around which a long line is shown: the last part of the JSON pointer of a finding.
fn focus(fact: &Fact) -> &str {
    let pointer = fact.field("pointer").and_then(Value::as_str).unwrap_or_default();
    pointer.rsplit('/').next().unwrap_or(pointer)
}

/// Returns the lines of the events that prove a finding, in the order of the trace.
fn quote<'t>(event: &dyn Fn(usize) -> Option<&'t Event>, events: &[usize], focus: &str) -> Vec<String> {
    let events: BTreeSet<usize> = events.iter().copied().collect();
    let seen = events.into_iter().filter_map(event);
    seen.map(|event| format!("#{} {}", event.n, describe(&event.what, focus))).collect()
}

fn describe(what: &What, focus: &str) -> String {
    match what {
        What::Line { from, bytes, .. } => {
            let arrow = if *from == Party::Agent { "agent → client" } else { "client → agent" };
            format!("{arrow}  {}", cut(&String::from_utf8_lossy(bytes), focus))
        }
        What::Unattributed(bytes) => format!("either party  {}", cut(&String::from_utf8_lossy(bytes), focus)),
        What::Stderr(bytes) => format!("standard error  {}", cut(&String::from_utf8_lossy(bytes), focus)),
        What::Stdout(bytes) => format!("standard output  {}", cut(&String::from_utf8_lossy(bytes), focus)),
        What::Fence(method) => format!("fence  {method}"),
        What::Process(process) => format!("process  {}", serde_json::to_string(process).unwrap_or_default()),
        What::Mcp(McpEvent { server, what, .. }) => match what {
            McpWhat::FromAgent(text) => format!("agent → MCP server {server}  {}", cut(text, focus)),
            McpWhat::ToAgent(text) => format!("MCP server {server} → agent  {}", cut(text, focus)),
            other => format!("MCP server {server}  {}", cut(&serde_json::to_string(other).unwrap_or_default(), focus)),
        },
        What::Model(model) => format!("model {}", model.did),
        What::Visit(visit) => format!("HTTP  {}", cut(&serde_json::to_string(visit).unwrap_or_default(), focus)),
        What::Case(mark) => format!("case  {}", serde_json::to_string(mark).unwrap_or_default()),
        What::Step(step) => format!(
            "case {}  {} ({})",
            step.place().unwrap_or_default(),
            cut(&step.text, focus),
            serde_json::to_value(step.outcome).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
        ),
    }
}

/// Shortens a long text around the part that the finding is about.
fn cut(text: &str, focus: &str) -> String {
    let characters = text.chars().count();
    if characters <= LONGEST_QUOTE {
        return text.to_owned();
    }
    let found = Some(focus).filter(|focus| !focus.is_empty()).and_then(|focus| text.find(focus));
    let at = found.map_or(0, |byte| text[..byte].chars().count());
    let start = at.saturating_sub(LONGEST_QUOTE / 2);
    let shown: String = text.chars().skip(start).take(LONGEST_QUOTE).collect();
    let before = if start > 0 { "… " } else { "" };
    let after = if start + LONGEST_QUOTE < characters { " …" } else { "" };
    format!("{before}{shown}{after} ({} bytes)", text.len())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Collector;
    use crate::edition::V1;
    use crate::requirement::Party;
    use crate::trace::Trace;
    use crate::verdict::Verdict;

    const SURVIVES: &str = "jsonrpc.survives-bad-input.agent";

    /// Builds the trace of one shape of a case: an answered fence, a bad line, and the deciding fence.
    fn shape(name: &str, calm: &str, last: &str) -> Trace {
        let fence = |kind: &str, n: usize, outcome: &str, decides: &str| {
            format!(
                r#"{{"n":{n},"us":{n},"step":{{"kind":"fence","line":{kind},"text":"","outcome":"{outcome}","decides":[{decides}],"events":[{}],"expected":"","seen":""}}}}"#,
                n - 2
            )
        };
        let request = |n: usize| {
            let line =
                format!(r#"{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"_acp-conformance/fence\",\"params\":{{}}}}"#);
            format!(r#"{{"n":{n},"us":{n},"from":"client","line":"{line}"}}"#)
        };
        let response = |n: usize, answered: bool| {
            let line =
                format!(r#"{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{{\"code\":-32601,\"message\":\"no\"}}}}"#, n - 1);
            let stderr = format!(r#"{{"n":{n},"us":{n},"stderr":"silent"}}"#);
            if answered { format!(r#"{{"n":{n},"us":{n},"from":"agent","line":"{line}"}}"#) } else { stderr }
        };
        let header = format!(
            r#"{{"format":"acp-conformance-trace/1","suite":"0","edition":"v1@2026-11","subject":"agent","case":"{name}","requirements":["{SURVIVES}"]}}"#
        );
        let lines = [
            header,
            request(0),
            response(1, calm == "done"),
            fence("1", 2, calm, ""),
            r#"{"n":3,"us":3,"from":"client","line":"42","deliberate":true}"#.to_owned(),
            request(4),
            response(5, last == "done"),
            fence("2", 6, last, &format!(r#""{SURVIVES}""#)),
        ];
        Trace::read(lines.join("\n").as_bytes()).expect("a trace")
    }

    /// Builds the trace of one shape of a case in which one step ends like this.
    fn stepped(name: &str, step: &str) -> Trace {
        let header = format!(
            r#"{{"format":"acp-conformance-trace/1","suite":"0","edition":"v1@2026-11","subject":"agent","case":"{name}","requirements":["{SURVIVES}"]}}"#
        );
        let step = format!(r#"{{"n":0,"us":0,"step":{{{step},"line":1,"text":"","expected":"","seen":"s"}}}}"#);
        Trace::read(format!("{header}\n{step}").as_bytes()).expect("a trace")
    }

    fn verdict(shapes: &[Trace]) -> Verdict {
        let mut collector = Collector::new(V1.edition(), Party::Agent, Vec::new());
        for trace in shapes {
            collector.add(trace, Duration::ZERO, None);
        }
        let report = collector.finish(Duration::ZERO, false);
        report.requirements.iter().find(|one| one.id == SURVIVES).expect("it is judged").verdict
    }

    #[test]
    fn undecided_and_inapplicable_shapes_are_inconclusive() {
        let inapplicable = || stepped("c@inapplicable", r#""kind":"needs","outcome":"not-applicable""#);
        let undecided = || stepped("c@undecided", r#""kind":"optional","outcome":"missed""#);
        assert_eq!(verdict(&[inapplicable()]), Verdict::NotApplicable);
        assert_eq!(verdict(&[undecided()]), Verdict::NotExercised);
        assert_eq!(verdict(&[inapplicable(), undecided()]), Verdict::Inconclusive);
    }

    #[test]
    fn inapplicable_contexts_do_not_count() {
        let context = || stepped("c@after-load", r#""kind":"needs","outcome":"not-applicable""#);
        let undecided = |case| stepped(case, r#""kind":"optional","outcome":"missed""#);
        assert_eq!(verdict(&[undecided("c"), context(), undecided("c@again")]), Verdict::NotExercised);
        let inapplicable = stepped("c", r#""kind":"needs","outcome":"not-applicable""#);
        assert_eq!(verdict(&[inapplicable, context()]), Verdict::NotApplicable);
    }

    #[test]
    fn stalled_shape_keeps_another_from_passing() {
        let fine = || shape("c@fine", "done", "done");
        assert_eq!(verdict(&[fine()]), Verdict::Pass);
        assert_eq!(verdict(&[fine(), shape("c@stalled", "done", "timed-out")]), Verdict::Inconclusive);
        assert_eq!(verdict(&[shape("c@stalled", "done", "timed-out"), fine()]), Verdict::Inconclusive);
    }

    #[test]
    fn agent_that_never_answers_fences_has_not_stalled() {
        let habit = shape("c@habit", "timed-out", "timed-out");
        assert_eq!(verdict(&[shape("c@fine", "done", "done"), habit]), Verdict::Pass);
    }
}
