//! Joins what the runs show about one requirement.

use std::collections::{BTreeMap, BTreeSet};

use super::case_id;
use super::evidence::quote;
use super::model::{FindingReport, ProbeReport, RequirementReport};
use crate::judge::{Doubt, Fact, Finding, Tally};
use crate::protocol::Edition;
use crate::requirement::{Party, Requirement};
use crate::trace::Event;
use crate::verdict::Verdict;

/// What the runs of all cases show about one requirement.
pub(super) type RequirementRuns = Vec<SeenIn>;

/// The result of one run for one requirement.
pub(super) struct SeenIn {
    pub(super) case: String,
    pub(super) title: Option<String>,
    pub(super) tally: Tally,
    /// The proof of each finding.
    pub(super) proofs: Vec<Proof>,
}

/// The proof of a finding.
pub(super) struct Proof {
    /// The lines of the events.
    pub(super) lines: Vec<String>,
    /// The line of the current step.
    pub(super) line: Option<usize>,
    /// Whether other cases ran in the same process.
    pub(super) is_shared: bool,
    /// The cases that ran before, if only runs after others show the failure.
    pub(super) after: Vec<String>,
}

/// Returns one finding of a recording as a report on its requirement, for callers that report before the end.
pub fn alone<'t>(
    edition: &Edition,
    requirement: &str,
    finding: Finding,
    recording: &str,
    event: &dyn Fn(usize) -> Option<&'t Event>,
) -> Option<RequirementReport> {
    let requirement = edition.catalogue.find(requirement)?;
    let lines = quote(event, &finding.events, &finding.fact);
    let proofs = vec![Proof { lines, line: None, is_shared: false, after: Vec::new() }];
    let tally = Tally { findings: vec![finding], ..Tally::default() };
    let seen = SeenIn { case: recording.to_owned(), title: None, tally, proofs };
    Some(join(edition, requirement, vec![seen], Vec::new(), (&BTreeSet::new(), None)))
}

/// Joins the results of all runs for one requirement. `fit` are the ids of the cases that apply to the subject;
/// `applies` says whether the precondition was true in a conversation, or false in all that show it.
pub(super) fn join(
    edition: &Edition,
    requirement: &Requirement,
    seen: Vec<SeenIn>,
    undecided: Vec<String>,
    (fit, applies): (&BTreeSet<String>, Option<bool>),
) -> RequirementReport {
    let is_exercised = |seen: &&SeenIn| !matches!(seen.tally.verdict(), Verdict::NotExercised | Verdict::NotApplicable);
    let is_unfit = |seen: &SeenIn| seen.tally.verdict() == Verdict::NotApplicable;
    // The requirement applies if the case does in its first use. That a context of it does not apply means nothing
    // here.
    let is_context = |seen: &SeenIn| case_id::without_last(&seen.case).is_some_and(|first_use| fit.contains(first_use));
    let counted: Vec<&SeenIn> = seen.iter().filter(|seen| !(is_unfit(seen) && is_context(seen))).collect();
    let inapplicable: BTreeSet<String> =
        counted.iter().filter(|seen| is_unfit(seen)).map(|seen| seen.case.clone()).collect();
    let inapplicable: Vec<String> = inapplicable.into_iter().collect();
    let verdicts = counted.iter().map(|seen| seen.tally.verdict());
    let verdict = RequirementReport::joined(verdicts, &undecided, &inapplicable, applies);
    let cases: BTreeSet<String> = seen.iter().filter(is_exercised).map(|seen| seen.case.clone()).collect();
    let notes = notes(&seen);
    let findings: Vec<_> = seen.into_iter().flat_map(|seen| findings(requirement.party, seen)).collect();
    let hints = requirement.sdk.iter().map(|(sdk, hint)| (sdk.name().to_owned(), hint.clone()));
    let verdict = unless_open(verdict, &findings);
    RequirementReport {
        hints: if verdict == Verdict::Fail { hints.collect() } else { BTreeMap::new() },
        id: requirement.id.clone(),
        party: requirement.party,
        level: requirement.level,
        verdict,
        text: requirement.text.clone(),
        applies_when: requirement.applies_when.text().to_owned(),
        status: requirement.status,
        source: requirement.source.clone(),
        link: requirement.link(edition.major),
        cases: cases.into_iter().collect(),
        notes,
        undecided,
        inapplicable,
        applies,
        findings,
        same_as: Vec::new(),
        also_violates: Vec::new(),
    }
}

/// Returns the verdict over all cases: no pass if the subject stopped answering in one of them, or if a failure was
/// seen and not confirmed.
pub(super) fn unless_open(verdict: Verdict, findings: &[FindingReport]) -> Verdict {
    let is_open = findings.iter().any(|finding| finding.stalled || finding.unconfirmed);
    if verdict == Verdict::Pass && is_open { Verdict::Inconclusive } else { verdict }
}

/// Joins the observations of all cases for a probe; `None` without any.
pub(super) fn probe(edition: &Edition, probe: &Requirement, seen: &[SeenIn]) -> Option<ProbeReport> {
    let notes = notes(seen);
    let with_notes = seen.iter().filter(|seen| !seen.tally.notes.is_empty());
    let cases = with_notes.map(|seen| seen.case.clone()).collect();
    let link = probe.link(edition.major);
    (!notes.is_empty()).then(|| ProbeReport { id: probe.id.clone(), text: probe.text.clone(), link, notes, cases })
}

fn notes(seen: &[SeenIn]) -> Vec<String> {
    let notes: BTreeSet<String> = seen.iter().flat_map(|seen| seen.tally.notes.iter().map(Fact::text)).collect();
    notes.into_iter().collect()
}

fn findings(party: Party, seen: SeenIn) -> Vec<FindingReport> {
    let SeenIn { case, title, tally, proofs } = seen;
    let pairs = tally.findings.into_iter().zip(proofs);
    pairs
        .map(|(finding, Proof { lines, line, is_shared, after })| FindingReport {
            case: case.clone(),
            case_title: title.clone(),
            verdict: finding.verdict,
            kind: finding.fact.kind.to_owned(),
            fields: finding.fact.fields(),
            text: finding.text(),
            party,
            lines,
            line,
            stalled: finding.stalled || finding.doubt == Some(Doubt::Older),
            unconfirmed: finding.is_unconfirmed(),
            shared: is_shared,
            after,
            same_as: finding.same_as,
            counted_in: None,
            events: finding.events,
        })
        .collect()
}
