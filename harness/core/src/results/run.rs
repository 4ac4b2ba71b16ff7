//! One run of a case: what it shows, and how much of that counts.

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::quote;
use super::gaps;
use super::known::{KnownSymptoms, Place};
use super::model::CaseReport;
use super::requirement::{Proof, RequirementRuns, SeenIn};
use super::symptom::{Failure, Symptom, met, symptoms};
use crate::judge::{CaseVerdict, Cause, Doubt, Fact, Finding, JudgedTrace, Tally};
use crate::requirement::{Catalogue, Level, Party};
use crate::trace::{Event, Observed};
use crate::verdict::Verdict;

/// The lines that prove a finding, with the line of the current step.
type LinesAndStep = (Vec<String>, Option<usize>);

/// One run of a case.
pub(super) struct CaseRun {
    pub(super) id: String,
    pub(super) judged: JudgedTrace,
    pub(super) symptoms: BTreeSet<Symptom>,
    /// Whether it was the only case of its process.
    pub(super) is_alone: bool,
    /// The cases before it in its process.
    pub(super) before: Vec<String>,
    /// What proves each finding, by requirement.
    proofs: BTreeMap<String, Vec<LinesAndStep>>,
    /// The file with the trace.
    file: Option<String>,
}

/// The circumstances of a run.
pub(super) struct RunPlace<'r> {
    pub(super) id: &'r str,
    /// Whether it was the only case of its process.
    pub(super) is_alone: bool,
    /// The cases before it in its process.
    pub(super) before: &'r [String],
    /// The file with the trace.
    pub(super) file: Option<&'r str>,
}

impl CaseRun {
    pub(super) fn new<'t>(
        judged: JudgedTrace,
        place: &RunPlace<'_>,
        (party, catalogue): (Party, &Catalogue),
        event: &dyn Fn(usize) -> Option<&'t Event>,
    ) -> Self {
        let proof = |finding: &Finding| (quote(event, &finding.events, &finding.fact), judged.line_of(&finding.events));
        let tallies = judged.judgement.tallies.iter();
        let proofs = tallies.map(|(id, tally)| (id.clone(), tally.findings.iter().map(proof).collect())).collect();
        Self {
            id: place.id.to_owned(),
            symptoms: symptoms(&judged, party, catalogue),
            is_alone: place.is_alone,
            before: place.before.to_vec(),
            proofs,
            file: place.file.map(str::to_owned),
            judged,
        }
    }

    pub(super) const fn place(&self) -> Place {
        match (self.is_alone, self.before.is_empty()) {
            (true, _) => Place::Alone,
            (false, true) => Place::First,
            (false, false) => Place::Later,
        }
    }

    /// Whether the run of all cases ended during this one.
    pub(super) fn is_cut_short(&self) -> bool {
        self.judged.steps().any(|step| step.observed == Some(Observed::RunEnded))
    }

    /// Returns the optional expectations that were met.
    pub(super) fn met(&self) -> impl Iterator<Item = String> {
        met(&self.judged)
    }

    /// Returns the requirements that passed or failed.
    pub(super) fn decided(&self) -> impl Iterator<Item = &String> {
        let tallies = self.judged.judgement.tallies.iter();
        tallies.filter(|(_, tally)| matches!(tally.verdict(), Verdict::Pass | Verdict::Fail)).map(|(id, _)| id)
    }

    /// Returns the requirements that passed.
    pub(super) fn passed(&self) -> impl Iterator<Item = &String> {
        self.decided().filter(|id| self.judged.judgement.verdict(id) == Verdict::Pass)
    }

    /// Returns the failures, each with its requirement.
    pub(super) fn failures(&self) -> impl Iterator<Item = (&str, &Fact)> {
        self.judged.judgement.tallies.iter().flat_map(|(id, tally)| {
            let failed = tally.findings.iter().filter(|finding| finding.verdict == Verdict::Fail);
            failed.map(move |finding| (id.as_str(), &finding.fact))
        })
    }

    pub(super) fn verdict_on(&self, requirement: &str) -> Verdict {
        self.judged.judgement.verdict(requirement)
    }

    /// Returns the MUSTs of the subject with failures that do not count yet, each with the sentence about one of them.
    /// What the other party of a recording did softens no case of the subject.
    pub(super) fn unconfirmed<'r>(
        &'r self,
        known: &'r KnownSymptoms,
        (party, catalogue): (Party, &'r Catalogue),
    ) -> impl Iterator<Item = (&'r str, String)> {
        let is_own_must =
            move |id: &str| catalogue.find(id).is_some_and(|known| known.party == party && known.level == Level::Must);
        let tallies = self.judged.judgement.tallies.iter().filter(move |(id, _)| is_own_must(id));
        tallies.flat_map(move |(id, tally)| {
            let settled = tally.findings.iter().map(move |finding| self.settled(id, finding, known));
            settled.filter(|finding| finding.is_unconfirmed()).map(move |finding| (id.as_str(), finding.text()))
        })
    }

    /// Returns the failures that count.
    fn confirmed<'r>(&'r self, known: &'r KnownSymptoms) -> impl Iterator<Item = (&'r str, Finding)> {
        self.judged.judgement.tallies.iter().flat_map(move |(id, tally)| {
            let settled = tally.findings.iter().map(move |finding| self.settled(id, finding, known));
            settled.filter(|finding| finding.verdict == Verdict::Fail).map(move |finding| (id.as_str(), finding))
        })
    }

    /// Returns the report on the case if this run counts. What fails in other runs of the case fails it too;
    /// `unconfirmed` are the MUSTs with failures, in any run, that do not count yet.
    pub(super) fn report(
        &self,
        runs: &[Self],
        known: &KnownSymptoms,
        unconfirmed: &BTreeMap<&str, String>,
        (party, catalogue): (Party, &Catalogue),
    ) -> CaseReport {
        let mut judged = self.judged.with_findings(|id, finding| self.settled(id, finding, known));
        for (id, finding) in runs.iter().flat_map(|run| run.confirmed(known)) {
            judged.add_finding(id, finding);
        }
        let verdict = softened(judged.verdict(party, catalogue), unconfirmed);
        let header = judged.header();
        let names_any = !header.requirements.is_empty();
        let otherwise = (verdict.verdict == Verdict::Fail && names_any)
            .then(|| softened(judged.own_verdict(party, catalogue), unconfirmed));
        CaseReport {
            id: self.id.clone(),
            title: header.title.clone(),
            verdict: verdict.verdict,
            duration_ms: u64::try_from(judged.took().as_millis()).unwrap_or(u64::MAX),
            file: header.file.clone(),
            trace: self.file.clone(),
            otherwise,
            reason: verdict.reason,
            cause: verdict.cause,
            requirements: header.requirements.clone(),
            also: Vec::new(),
            notes: gaps::notes(&judged),
            stderr: judged.last_stderr(party),
        }
    }

    /// Adds the findings by requirement. Of a run that does not count, only failures and passes are kept. `shown` are
    /// the failures that better runs of the case showed already.
    pub(super) fn add_to<'r>(
        &'r self,
        by_requirement: &mut BTreeMap<&'r str, RequirementRuns>,
        known: &KnownSymptoms,
        counts: bool,
        shown: &mut BTreeSet<Failure>,
    ) {
        for (id, tally) in &self.judged.judgement.tallies {
            let proofs = self.proofs.get(id).into_iter().flatten();
            let mut kept = Tally { findings: Vec::new(), ..tally.clone() };
            if !counts {
                let passes = if tally.verdict() == Verdict::Pass { tally.passes } else { 0 };
                kept = Tally { passes, ..Tally::default() };
            }
            let mut of_kept = Vec::new();
            for (finding, (lines, line)) in tally.findings.iter().zip(proofs) {
                let may_count = matches!(finding.doubt, Some(Doubt::Once | Doubt::Older));
                let is_failure = finding.verdict == Verdict::Fail || may_count;
                let failure = Failure::new(id, finding);
                if !counts && (!is_failure || shown.contains(&failure)) {
                    continue;
                }
                let needs_others = is_failure && !self.is_alone && !known.is_proved_alone(&failure);
                let after = if needs_others { self.before.clone() } else { Vec::new() };
                of_kept.push(Proof { lines: lines.clone(), line: *line, is_shared: !self.is_alone, after });
                kept.findings.push(self.settled(id, finding, known));
                if is_failure {
                    shown.insert(failure);
                }
            }
            if kept == Tally::default() {
                continue;
            }
            let title = self.judged.header().title.clone();
            let seen = SeenIn { case: self.id.clone(), title, tally: kept, proofs: of_kept };
            by_requirement.entry(id).or_default().push(seen);
        }
    }

    /// Returns a finding of this run with the verdict that counts.
    fn settled(&self, id: &str, finding: &Finding, known: &KnownSymptoms) -> Finding {
        let mut finding = finding.clone();
        if known.is_new {
            finding.count_if_older();
        }
        let finding = &finding;
        let failure = Failure::new(id, finding);
        match (finding.verdict, finding.doubt) {
            (Verdict::Fail, _) => {
                let is_confirmed = match &finding.same_as {
                    None => known.confirms(&failure),
                    // A mistake is confirmed by its owner.
                    Some(owner) => self.confirms_any(owner, known),
                };
                match is_confirmed {
                    true => finding.clone(),
                    false => {
                        Finding { verdict: Verdict::Inconclusive, doubt: Some(Doubt::Unconfirmed), ..finding.clone() }
                    }
                }
            }
            (_, Some(Doubt::Once)) if known.confirms_once(&failure) => {
                Finding { verdict: Verdict::Fail, doubt: None, ..finding.clone() }
            }
            _ => finding.clone(),
        }
    }

    fn confirms_any(&self, requirement: &str, known: &KnownSymptoms) -> bool {
        let findings = self.judged.judgement.tallies.get(requirement).map_or(&[][..], |tally| &tally.findings);
        let mut failed = findings.iter().filter(|finding| finding.verdict == Verdict::Fail);
        failed.any(|finding| known.confirms(&Failure::new(requirement, finding)))
    }
}

/// Returns the verdict on a case with these failures that do not count yet: it cannot pass.
fn softened(verdict: CaseVerdict, unconfirmed: &BTreeMap<&str, String>) -> CaseVerdict {
    let Some(first) = unconfirmed.values().next() else { return verdict };
    if matches!(verdict.verdict, Verdict::Fail | Verdict::HarnessError) {
        return verdict;
    }
    let reason = match unconfirmed.len() - 1 {
        0 => first.clone(),
        others => format!("{first}; and {others} more"),
    };
    let requirements = unconfirmed.keys().map(|id| (*id).to_owned()).collect();
    CaseVerdict {
        verdict: Verdict::Inconclusive,
        reason: Some(reason),
        cause: Some(Cause::Unconfirmed { requirements }),
    }
}
