//! Separates known failures from new ones.

use super::{BaselineChanges, Date, Expectation, PLACEHOLDER};
use crate::requirement::{Catalogue, Level};
use crate::results::{
    EntryReport, ExpectedReport, FailureReport, RequirementReport, RunReport, Standing, conformance, failed,
};
use crate::verdict::Verdict;

/// The comparison of a run with the expectations about it.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'c> {
    /// The report on the run, without the result of the comparison.
    pub report: &'c RunReport,
    /// Whether all cases for the subject ran.
    pub whole: bool,
    /// Today's date in UTC.
    pub today: Date,
    /// The requirements of the edition.
    pub catalogue: &'c Catalogue,
}

impl Comparison<'_> {
    /// Returns the result of each expectation, and the failures without one.
    pub fn apply(&self, expectations: &[Expectation]) -> ExpectedReport {
        let run = self.report;
        let concerned = expectations.iter().filter(|entry| entry.concerns(run.subject.kind, self.catalogue));
        let entries: Vec<EntryReport> = concerned.map(|entry| self.apply_one(entry)).collect();
        let mut report = ExpectedReport { otherwise: run.verdict, entries, new: Vec::new() };
        let counted = run.requirements.iter().filter(|it| run.counts(it.level));
        let findings = counted.flat_map(|it| failed(it).map(move |finding| (it, finding)));
        let own = findings.filter(|(_, finding)| finding.same_as.is_none() && finding.counted_in.is_none());
        let surprises = own.filter(|(requirement, finding)| report.entry_of(&requirement.id, finding).is_none());
        report.new = surprises.map(|(requirement, finding)| FailureReport::new(requirement, finding)).collect();
        report.new.sort();
        report.new.dedup();
        let rest = run.requirements.iter().filter(|requirement| !report.covers_all(requirement));
        // With an unexpected failure, the rest is not conformant whatever its cases are.
        report.otherwise = run.outcome(conformance(rest, &run.cases, run.strict), |verdict| verdict == Verdict::Fail);
        report
    }

    /// Returns the changes that make a baseline match these runs: the positions of the stale entries, and a new entry
    /// for each requirement that fails. The first `n_own` of the entries are those of the baseline.
    ///
    /// A failure with an expired entry gets no new entry, since a person set its last day. If there are entries for
    /// single cases of a requirement, the new entry is also for a single case.
    pub fn changes(runs: &[Self], entries: &[Expectation], n_own: usize) -> BaselineChanges {
        let is_stale = |entry: &Expectation| {
            let concerned = runs.iter().filter(|run| entry.concerns(run.report.subject.kind, run.catalogue));
            let standings: Vec<Standing> = concerned.map(|run| run.apply_one(entry).standing).collect();
            standings.contains(&Standing::Stale) && !standings.contains(&Standing::Holds)
        };
        let removed = entries
            .iter()
            .take(n_own)
            .enumerate()
            .filter(|(_, entry)| is_stale(entry))
            .map(|(index, _)| index)
            .collect();
        let mut added: Vec<Expectation> = Vec::new();
        let new = runs.iter().flat_map(|run| run.apply(entries).new.into_iter().map(|failure| (run.today, failure)));
        for (today, FailureReport { requirement, case }) in new {
            let has_expired = |entry: &Expectation| entry.is_expired(today) && entry.covers(&requirement, &case);
            if entries.iter().any(has_expired) || added.iter().any(|entry| entry.covers(&requirement, &case)) {
                continue;
            }
            let is_narrow =
                |entry: &Expectation| entry.requirement.as_ref() == Some(&requirement) && entry.case.is_some();
            let case = entries.iter().any(is_narrow).then_some(case);
            added.push(Expectation { case, ..Expectation::new(requirement, PLACEHOLDER) });
        }
        BaselineChanges { removed, added }
    }

    fn apply_one(&self, entry: &Expectation) -> EntryReport {
        let verdict = self.verdict_on(entry);
        let standing = entry.standing(verdict, self.whole, self.today);
        // An expected case depends only on failures that decide it; an expected requirement also on others.
        let all = self.report.strict || entry.requirement.is_some();
        let mut failures: Vec<FailureReport> = match standing {
            Standing::Holds => self.failures(all).filter(|it| entry.covers(&it.requirement, &it.case)).collect(),
            _ => Vec::new(),
        };
        failures.sort();
        failures.dedup();
        EntryReport {
            requirement: entry.requirement.clone(),
            case: entry.case.clone(),
            reason: entry.reason.clone(),
            link: entry.link.clone(),
            expires: entry.expires.map(|day| day.to_string()),
            standing,
            verdict,
            remedy: entry.remedy(standing, verdict),
            failures,
        }
    }

    /// Returns the verdict on the requirement or case that an entry names.
    fn verdict_on(&self, entry: &Expectation) -> Verdict {
        let requirement =
            entry.requirement.as_ref().and_then(|id| self.report.requirements.iter().find(|known| known.id == *id));
        let was_run = |case: &String| self.report.cases.iter().any(|known| known.id == *case);
        match (requirement, &entry.case) {
            (Some(requirement), Some(case)) if was_run(case) => verdict_in(requirement, case),
            (Some(_), Some(_)) => Verdict::NotExercised,
            (Some(requirement), None) => requirement.verdict,
            (None, Some(case)) if entry.requirement.is_none() => {
                let found = self.report.cases.iter().find(|known| known.id == *case);
                found.map_or(Verdict::NotExercised, |found| found.verdict)
            }
            (None, _) => Verdict::NotExercised,
        }
    }

    /// Returns the failures of MUSTs, or with `all` of all requirements; one for each finding.
    fn failures(&self, all: bool) -> impl Iterator<Item = FailureReport> {
        let counted = self.report.requirements.iter().filter(move |it| all || it.level == Level::Must);
        counted.flat_map(|requirement| failed(requirement).map(|finding| FailureReport::new(requirement, finding)))
    }
}

fn verdict_in(requirement: &RequirementReport, case: &str) -> Verdict {
    let found = requirement.findings.iter().filter(|finding| finding.case == case).map(|finding| finding.verdict);
    match found.max() {
        Some(verdict) => verdict,
        None if requirement.cases.iter().any(|known| known == case) => Verdict::Pass,
        None if requirement.verdict == Verdict::NotApplicable => Verdict::NotApplicable,
        None => Verdict::NotExercised,
    }
}
