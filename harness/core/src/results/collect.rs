//! From traces to the report: checks each trace, and joins the results of all cases.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::conformance::conformance;
use super::known::KnownSymptoms;
use super::mistakes;
use super::model::{
    CaseReport, Driven, FORMAT, InterimResults, RequirementReport, RunReport, SubjectInfo, SuiteInfo, Summary,
};
use super::reasons::reasons;
use super::requirement::{RequirementRuns, join, probe};
use super::run::{CaseRun, RunPlace};
use super::symptom::{Failure, Symptom};
use crate::judge::{Fact, JudgedTrace, JudgingSession};
use crate::protocol::Edition;
use crate::requirement::{Area, Level, Party, Requirement, Status, Transport};
use crate::trace::{Event, ProcessEvent, Trace, What};
use crate::verdict::Verdict;

/// Collects the runs of cases against one subject.
pub struct Collector {
    edition: &'static Edition,
    kind: Party,
    suite_version: &'static str,
    command: Vec<String>,
    name: Option<String>,
    version: Option<String>,
    /// The other versions of the protocol that it agreed to.
    other_versions: BTreeSet<u64>,
    driven: Option<Driven>,
    /// What carried the messages of its traces.
    transport: Transport,
    /// The runs of each case, in the order in which they were added.
    runs: BTreeMap<String, Vec<CaseRun>>,
    /// The cases that did not run.
    skipped: BTreeMap<String, CaseReport>,
    known: KnownSymptoms,
    model: BTreeMap<String, usize>,
    /// The number of starts of the subject.
    starts: usize,
}

/// A failure that only a conversation of several cases showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnconfirmedFailure {
    /// The failure.
    pub symptom: Symptom,
    /// The id of the requirement.
    pub requirement: String,
    /// The id of the case.
    pub case: String,
    /// The ids of the cases before it in its process, in their order.
    pub before: Vec<String>,
    /// Whether a case that showed it did not show it alone.
    pub is_refuted_alone: bool,
}

impl Collector {
    /// Creates a collector for one subject.
    pub fn new(edition: &'static Edition, kind: Party, command: Vec<String>) -> Self {
        Self {
            edition,
            kind,
            suite_version: env!("CARGO_PKG_VERSION"),
            command,
            name: None,
            version: None,
            other_versions: BTreeSet::new(),
            driven: None,
            transport: Transport::Stdio,
            runs: BTreeMap::new(),
            skipped: BTreeMap::new(),
            known: KnownSymptoms::default(),
            model: BTreeMap::new(),
            starts: 0,
        }
    }

    /// Returns the edition by which the traces are checked.
    pub const fn edition(&self) -> &'static Edition {
        self.edition
    }

    /// Marks the subject as operated by a person.
    pub const fn driven_by_hand(mut self) -> Self {
        self.driven = Some(Driven::Manual);
        self
    }

    /// Returns the description of this suite.
    pub fn suite(&self) -> SuiteInfo {
        SuiteInfo {
            version: self.suite_version.to_owned(),
            edition: self.edition.name.clone(),
            transport: self.transport.word().to_owned(),
            schema_sha256: self.edition.schema_sha256.clone(),
            content_sha256: None,
        }
    }

    /// Returns what is known of the subject.
    pub fn subject(&self) -> SubjectInfo {
        SubjectInfo {
            kind: self.kind,
            command: self.command.clone(),
            name: self.name.clone(),
            version: self.version.clone(),
            other_versions: self.other_versions.iter().copied().collect(),
            shows_edition: self.known.is_new,
            driven: self.driven,
            profile: None,
        }
    }

    /// Checks the trace of a case or of a conversation, which was saved to the file. Returns the ids of its cases, in
    /// their order.
    pub fn add(&mut self, trace: &Trace, file: Option<&str>) -> Vec<String> {
        self.add_rest(JudgingSession::new(&trace.header, self.edition), 0, trace, file)
    }

    /// The same with a session that was started with the header of the trace and has processed this many of its events.
    pub fn add_rest(
        &mut self,
        mut session: JudgingSession,
        processed: usize,
        trace: &Trace,
        file: Option<&str>,
    ) -> Vec<String> {
        trace.events.iter().skip(processed).for_each(|event| session.event(event));
        for event in &trace.events {
            match &event.what {
                What::Model(model) => *self.model.entry(model.did.clone()).or_default() += 1,
                What::Process(ProcessEvent::Spawned { .. }) => self.starts += 1,
                _ => {}
            }
        }
        self.add_judged(session.close_by_case(), "recording", &|n| trace.event(n), file)
    }

    /// Counts the starts of the subject in a recording.
    pub const fn count_starts(&mut self, starts: usize) {
        self.starts += starts;
    }

    /// Adds the cases of a trace that was checked. A recording has the name, and `event` returns the events that
    /// [`JudgedTrace::evidence`] asks for.
    pub fn add_judged<'t>(
        &mut self,
        judged: Vec<JudgedTrace>,
        name: &str,
        event: &dyn Fn(usize) -> Option<&'t Event>,
        file: Option<&str>,
    ) -> Vec<String> {
        let mut before = Vec::new();
        for judged in judged {
            self.transport = judged.header().transports().of(self.kind);
            let id = judged.header().case.clone().unwrap_or_else(|| name.to_owned());
            if let Some(said) = judged.judgement.introductions.get(&self.kind).filter(|_| self.name.is_none()) {
                (self.name, self.version) = (said.name.clone(), said.version.clone());
            }
            self.known.is_new |= judged.judgement.shown.contains(&self.kind);
            let spoken = judged.judgement.not_covered.iter().filter(|other| other.is_of(self.kind));
            self.other_versions.extend(spoken.map(|other| other.version));
            let is_alone = judged.header().conversation.is_none() && !judged.header().walk;
            let place = RunPlace { id: &id, is_alone, before: &before, file };
            let run = CaseRun::new(judged, &place, (self.kind, &self.edition.catalogue), event);
            self.known.add(&id, run.place(), &run.symptoms, run.met(), run.decided());
            let runs = self.runs.entry(id.clone()).or_default();
            if let Some(shared) = runs.last().filter(|last| run.is_alone && !last.is_alone) {
                self.known.compare(&shared.symptoms, &run.symptoms);
            }
            runs.push(run);
            before.push(id);
        }
        before
    }

    /// Reports a case that does not run.
    pub fn skip(&mut self, report: CaseReport) {
        self.skipped.insert(report.id.clone(), report);
    }

    /// Returns what the runs prove together.
    pub const fn known(&self) -> &KnownSymptoms {
        &self.known
    }

    /// Returns the symptoms of the last run of a case.
    pub fn symptoms(&self, case: &str) -> Option<&BTreeSet<Symptom>> {
        Some(&self.runs.get(case)?.last()?.symptoms)
    }

    /// Whether the last run of a case shows the symptom.
    pub fn shows(&self, case: &str, symptom: &Symptom) -> bool {
        self.symptoms(case).is_some_and(|symptoms| symptoms.contains(symptom))
    }

    /// Whether the case alone does not decide a failure that it showed: a second process must show it too.
    pub fn needs_second_run(&self, case: &str) -> bool {
        let mut symptoms = self.symptoms(case).into_iter().flatten();
        symptoms.any(|symptom| matches!(symptom, Symptom::FailedOnce(_)) && !self.known.counts(symptom))
    }

    /// Whether a case ran or was skipped.
    pub fn has(&self, case: &str) -> bool {
        self.runs.contains_key(case) || self.skipped.contains_key(case)
    }

    /// Returns the report on a case, by all runs so far; at the end, mistakes are also shared out among the cases.
    pub fn case(&self, case: &str) -> Option<CaseReport> {
        // A case that ran and whose repetition was skipped has that run.
        let run = self.runs.get(case).map(|runs| self.report(runs));
        run.or_else(|| self.skipped.get(case).cloned())
    }

    /// Returns the reports on the cases with these ids.
    pub fn cases<'c>(&'c self, is_wanted: impl Fn(&str) -> bool + 'c) -> impl Iterator<Item = CaseReport> + 'c {
        let ids: BTreeSet<&String> = self.runs.keys().chain(self.skipped.keys()).collect();
        ids.into_iter().filter(move |id| is_wanted(id)).filter_map(|id| self.case(id))
    }

    /// Returns the failures of the last run of a case, each with its requirement.
    pub fn failures<'c>(&'c self, case: &str) -> impl Iterator<Item = (&'c str, &'c Fact)> {
        let last = self.runs.get(case).and_then(|runs| runs.last());
        last.into_iter().flat_map(CaseRun::failures)
    }

    /// Returns the events of the last run of a case that findings name.
    pub fn evidence(&self, case: &str) -> BTreeSet<usize> {
        let last = self.runs.get(case).and_then(|runs| runs.last());
        last.map(|run| run.judged.evidence()).unwrap_or_default()
    }

    /// Returns the ids of the cases that passed.
    pub fn passed(&self) -> BTreeSet<String> {
        self.cases(|_| true).filter(|case| case.verdict == Verdict::Pass).map(|case| case.id).collect()
    }

    /// Returns the ids of the requirements with failures that count.
    pub fn failed(&self) -> BTreeSet<String> {
        let counted = self.all_failures().filter(|(_, symptom, _)| self.known.counts(symptom));
        counted.map(|(_, _, failure)| failure.requirement.clone()).collect()
    }

    /// Returns the failures that no process has confirmed, one of each kind: those of MUSTs first, and of each the one
    /// with the fewest cases before it.
    pub fn unconfirmed(&self) -> Vec<UnconfirmedFailure> {
        let mut found: BTreeMap<(Option<Level>, &str, &str), UnconfirmedFailure> = BTreeMap::new();
        for (run, symptom, failure) in self.all_failures().filter(|(_, symptom, _)| !self.known.counts(symptom)) {
            let mut others = self.runs.get(&run.id).into_iter().flatten();
            let mut new = UnconfirmedFailure {
                symptom: symptom.clone(),
                requirement: failure.requirement.clone(),
                case: run.id.clone(),
                before: run.before.clone(),
                is_refuted_alone: others.any(|other| other.is_alone && !other.symptoms.contains(symptom)),
            };
            let key = (self.level(&failure.requirement), failure.requirement.as_str(), failure.kind.as_str());
            if let Some(known) = found.get_mut(&key) {
                known.is_refuted_alone |= new.is_refuted_alone;
                if known.before.len() <= new.before.len() {
                    continue;
                }
                new.is_refuted_alone = known.is_refuted_alone;
            }
            found.insert(key, new);
        }
        found.into_values().collect()
    }

    /// Returns what the cases show so far.
    pub fn interim(&self) -> InterimResults {
        let failed: BTreeSet<String> = self.all_failures().map(|(_, _, failure)| failure.requirement.clone()).collect();
        let passed: BTreeSet<&String> = self.runs.values().flatten().flat_map(CaseRun::passed).collect();
        InterimResults {
            cases: self.runs.len() + self.skipped.keys().filter(|id| !self.runs.contains_key(*id)).count(),
            passed: passed.iter().filter(|id| !failed.contains(**id)).count(),
            failed: failed.into_iter().filter(|id| self.level(id) == Some(Level::Must)).collect(),
        }
    }

    /// Whether the agent called a tool.
    pub fn calls_tools(&self) -> bool {
        let mut decided = self.runs.values().flatten().flat_map(CaseRun::decided);
        decided.any(|id| Area::of(id).is_about_tools())
    }

    fn all_failures(&self) -> impl Iterator<Item = (&CaseRun, &Symptom, &Failure)> {
        let runs = self.runs.values().flatten();
        let counts = |symptom: &&Symptom| self.known.is_new || !matches!(symptom, Symptom::FailedIfNew(_));
        runs.flat_map(move |run| {
            let counting = run.symptoms.iter().filter(counts);
            counting.filter_map(move |symptom| Some((run, symptom, symptom.failure()?)))
        })
    }

    fn level(&self, requirement: &str) -> Option<Level> {
        self.edition.catalogue.find(requirement).map(|known| known.level)
    }

    fn report(&self, runs: &[CaseRun]) -> CaseReport {
        let catalogue = &self.edition.catalogue;
        let unconfirmed = runs.iter().flat_map(|run| run.unconfirmed(&self.known, (self.kind, catalogue))).collect();
        counting(runs).report(runs, &self.known, &unconfirmed, (self.kind, catalogue))
    }

    /// Joins everything so far into the report. With `strict`, a violated SHOULD counts like a violated MUST.
    pub fn finish(&self, took: Duration, strict: bool) -> RunReport {
        let (edition, kind) = (self.edition, self.kind);
        let catalogue = &edition.catalogue;
        let mut cases: Vec<CaseReport> = self.cases(|_| true).collect();
        let fit = cases.iter().filter(|case| case.verdict != Verdict::NotApplicable);
        let fit: BTreeSet<String> = fit.map(|case| case.id.clone()).collect();
        let mut by_requirement: BTreeMap<&str, RequirementRuns> = BTreeMap::new();
        for runs in self.runs.values() {
            let (counting, mut shown) = (counting(runs), BTreeSet::new());
            let mut best_first: Vec<&CaseRun> = runs.iter().collect();
            best_first.sort_by_key(|run| (!run.is_alone, run.before.len()));
            for run in best_first {
                run.add_to(&mut by_requirement, &self.known, std::ptr::eq(run, counting), &mut shown);
            }
        }
        let mut applies: BTreeMap<&str, bool> = BTreeMap::new();
        for (id, value) in self.runs.values().flatten().flat_map(|run| run.judged.judgement.applies.iter()) {
            *applies.entry(id).or_default() |= value;
        }
        let of_kind = |requirement: &&Requirement| requirement.party == kind;
        // A requirement of another transport says nothing about this run.
        let is_judged = |r: &&Requirement| {
            matches!(r.status, Status::Checked | Status::Planned)
                && r.applies_when.condition.is_possible_over(self.transport)
        };
        let mut requirements: Vec<RequirementReport> = catalogue
            .iter()
            .filter(of_kind)
            .filter(is_judged)
            .map(|requirement| {
                let seen = by_requirement.remove(requirement.id.as_str()).unwrap_or_default();
                let applies = applies.get(requirement.id.as_str()).copied();
                join(edition, requirement, seen, self.undecided(&requirement.id, &cases), (&fit, applies))
            })
            .collect();
        mistakes::settle(&mut requirements, &mut cases);
        let probes = catalogue.iter().filter(of_kind).filter(|r| r.status == Status::Probe);
        let mut probes: Vec<_> =
            probes.filter_map(|one| probe(edition, one, by_requirement.get(one.id.as_str())?)).collect();
        probes.sort_by(|a, b| a.id.cmp(&b.id));
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let mut fences: BTreeMap<String, usize> = BTreeMap::new();
        for (means, times) in self.runs.values().map(|runs| counting(runs)).flat_map(|run| run.judged.fences()) {
            *fences.entry(means.clone()).or_default() += times;
        }
        let again = self.runs.values().filter(|runs| runs.len() > 1 && runs.iter().any(|run| run.is_alone)).count();
        let summary = Summary { starts: self.starts, again, fences, ..Summary::of(&requirements, &cases, duration_ms) };
        RunReport {
            format: FORMAT.to_owned(),
            suite: self.suite(),
            subject: self.subject(),
            began: None,
            verdict: conformance(&requirements, &cases, strict),
            strict,
            selection: false,
            reasons: reasons(kind, &requirements, &cases),
            requirements,
            probes,
            cases,
            explored: None,
            repeated: None,
            model: self.model.clone(),
            summary,
            expected: None,
            shard: None,
            partial: None,
            obstacle: None,
            is_wrong_program: false,
            next_steps: Vec::new(),
        }
    }

    /// Returns the shapes of cases that ended undecided before they exercised the requirement.
    fn undecided(&self, requirement: &str, cases: &[CaseReport]) -> Vec<String> {
        let names_it = |case: &&CaseReport| case.requirements.iter().any(|id| id == requirement);
        let is_open = |case: &&CaseReport| {
            super::case_id::has_shape(&case.id)
                && case.own_verdict().verdict == Verdict::Inconclusive
                && self
                    .runs
                    .get(&case.id)
                    .is_some_and(|runs| counting(runs).verdict_on(requirement) == Verdict::NotExercised)
        };
        cases.iter().filter(names_it).filter(is_open).map(|case| case.id.clone()).collect()
    }
}

/// Returns the run of a case that counts: the last one alone, or else the last one. One that was cut short counts only
/// if there is no other.
fn counting(runs: &[CaseRun]) -> &CaseRun {
    let whole = |run: &&CaseRun| !run.is_cut_short();
    let alone = runs.iter().filter(whole).rfind(|run| run.is_alone).or_else(|| runs.iter().rfind(whole));
    alone.or(runs.last()).unwrap_or_else(|| unreachable!("a case has a run"))
}
