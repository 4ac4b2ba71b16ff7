//! Checks a session while it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;

use super::follow::Follow;
use super::watched::{SessionReports, WatchedSession};
use crate::judge::{Finding, JudgedTrace, JudgingSession, Tally};
use crate::protocol::Edition;
use crate::report::{Chart, Charting};
use crate::requirement::Party;
use crate::results::{Collector, RequirementReport, RunReport, alone};
use crate::trace::{Event, ReadError, TraceReader};
use crate::verdict::Verdict;

/// The most findings of one requirement that are printed during the session; the report has all.
const MOST_SHOWN: usize = 3;

/// Checks a session while it runs, and reports each finding at once.
pub(super) struct LiveJudge<'e> {
    trace: Follow<'e>,
    watched: &'e WatchedSession,
    /// The edition that the session is checked by.
    edition: &'static Edition,
    /// The findings that were printed, by requirement and deciding event.
    shown: BTreeSet<(String, usize)>,
    failures: usize,
}

impl<'e> LiveJudge<'e> {
    pub(super) fn new(trace: Follow<'e>, watched: &'e WatchedSession) -> Self {
        let edition = watched.editions.preferred().edition();
        Self { trace, watched, edition, shown: BTreeSet::new(), failures: 0 }
    }

    /// Checks the session to its end, and returns the reports.
    ///
    /// # Errors
    ///
    /// The trace cannot be read.
    pub(super) fn judge(
        mut self,
        live: Option<&(dyn Fn(&RequirementReport) + Sync)>,
    ) -> Result<SessionReports, ReadError> {
        let reader = TraceReader::new(BufReader::new(self.trace))?;
        let header = reader.header.clone();
        let mut session = JudgingSession::new(&header, self.edition);
        for event in reader {
            let event = event?;
            session.event(&event);
            if let Some(agreed) = self.agreed(&session) {
                self.edition = agreed;
                session = self.judged_again(event.n)?;
                self.failures = 0;
            }
            let (failures, failed) = session.failed();
            if let Some(live) = live.filter(|_| failures > self.failures) {
                self.failures = failures;
                self.show_failures(failed, live)?;
            }
        }
        let judged = session.close();
        if let Some(live) = live {
            let tallies = judged.judgement.tallies.iter();
            self.show_failures(tallies.map(|(requirement, tally)| (requirement.as_str(), tally)), live)?;
        }
        let evidence = self.events(&judged.evidence())?;
        let report = |party| self.report(party, &judged, &evidence, header.command.clone());
        let reports = Party::ALL.into_iter().map(report).collect();
        let chart = if self.watched.chart { Some(self.chart(judged.evidence())?) } else { None };
        Ok(SessionReports { reports, chart })
    }

    /// Returns the edition of the version that the client and the agent have just agreed on, if it is not the preferred
    /// one. There is one change at most, whatever the two agree on later, because each reads the trace again.
    fn agreed(&self, session: &JudgingSession) -> Option<&'static Edition> {
        let editions = &self.watched.editions;
        let may_change = self.edition.name == editions.preferred().name();
        let version = session.other_version().filter(|_| may_change)?;
        Some(editions.of_major(version)?.edition())
    }

    /// Checks the events up to this one by the current edition.
    fn judged_again(&self, last: usize) -> Result<JudgingSession, ReadError> {
        let reader = TraceReader::new(BufReader::new(self.trace))?;
        let mut header = reader.header.clone();
        header.edition.clone_from(&self.edition.name);
        let mut session = JudgingSession::new(&header, self.edition);
        for event in reader.take(last + 1) {
            session.event(&event?);
        }
        Ok(session)
    }

    fn chart(&self, evidence: BTreeSet<usize>) -> Result<Chart, ReadError> {
        let reader = TraceReader::new(BufReader::new(self.trace))?;
        let mut charting = Charting::new(&reader.header, evidence);
        for event in reader {
            charting.event(&event?);
        }
        Ok(charting.close())
    }

    fn report(
        &self,
        party: Party,
        judged: &JudgedTrace,
        evidence: &BTreeMap<usize, Event>,
        command: Vec<String>,
    ) -> RunReport {
        let took = judged.took();
        let command = if party == Party::Agent { command } else { Vec::new() };
        let mut collector = Collector::new(self.edition, party, command);
        collector.add_judged(vec![judged.clone()], &self.watched.name, &|n| evidence.get(&n), None);
        collector.finish(took, false)
    }

    /// Prints the findings that were not printed before.
    fn show_failures<'t>(
        &mut self,
        tallies: impl Iterator<Item = (&'t str, &'t Tally)>,
        live: &(dyn Fn(&RequirementReport) + Sync),
    ) -> Result<(), ReadError> {
        let mut news: Vec<(String, Finding)> = Vec::new();
        for (requirement, tally) in tallies {
            let broken = tally.findings.iter().filter(|finding| finding.verdict == Verdict::Fail).take(MOST_SHOWN);
            news.extend(broken.map(|finding| (requirement.to_owned(), finding.clone())));
        }
        news.retain(|(requirement, finding)| self.shown.insert((requirement.clone(), finding.events[0])));
        let evidence = self.events(&news.iter().flat_map(|(_, finding)| finding.events.iter().copied()).collect())?;
        for (requirement, finding) in news {
            let report = alone(self.edition, &requirement, finding, &self.watched.name, &|n| evidence.get(&n));
            report.iter().for_each(live);
        }
        Ok(())
    }

    /// Reads some of the events written before.
    fn events(&self, wanted: &BTreeSet<usize>) -> Result<BTreeMap<usize, Event>, ReadError> {
        let Some(last) = wanted.last() else { return Ok(BTreeMap::new()) };
        let reader = TraceReader::new(BufReader::new(self.trace))?;
        let events = reader.take(last + 1).filter(|event| event.as_ref().map_or(true, |e| wanted.contains(&e.n)));
        events.map(|event| event.map(|event| (event.n, event))).collect()
    }
}
