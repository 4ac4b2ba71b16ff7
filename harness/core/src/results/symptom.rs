//! The reasons why a case does not pass, as data, so that two runs of a case can be compared, and repeated behaviour of
//! the subject recognized.

use std::collections::BTreeSet;

use crate::judge::{Doubt, Finding, JudgedTrace};
use crate::requirement::{Catalogue, Party};
use crate::trace::{Outcome, StepEvent, StepKind};
use crate::verdict::Verdict;

/// A reason why a case does not pass, or why a requirement that it does not name fails.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Symptom {
    /// A requirement failed.
    Failed(Failure),
    /// A requirement failed in a way that counts only if a second process shows it too, such as an exit.
    FailedOnce(Failure),
    /// A requirement failed that the subject may be too old for. It counts if a run shows that it is not.
    FailedIfNew(Failure),
    /// An expectation of the case was not met.
    Unmet {
        /// Whether the expectation is optional, so that the subject need not meet it.
        is_optional: bool,
        /// The expectation, as in the trace.
        expected: String,
        /// The result of the step.
        outcome: Outcome,
    },
    /// Nothing happened that could decide a requirement of the case.
    Undecided(String),
    /// The case could not be run, or ended for another reason.
    Other(String),
}

/// The failure of a requirement; equal in two processes if the subject makes the same mistake in both.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failure {
    /// The id of the requirement.
    pub requirement: String,
    /// The kind of the finding.
    pub kind: String,
    /// The JSON pointer to the wrong member, or the method, if the finding has one.
    pub place: Option<String>,
}

impl Symptom {
    /// Returns the failure, if it is one.
    pub const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) | Self::FailedOnce(failure) | Self::FailedIfNew(failure) => Some(failure),
            _ => None,
        }
    }
}

impl Failure {
    /// Describes a finding on this requirement.
    pub fn new(requirement: &str, finding: &Finding) -> Self {
        let text = |name: &str| finding.fact.field(name).and_then(|value| value.as_str().map(str::to_owned));
        // The kinds of findings that need a second process have a method and no pointer.
        let place = if finding.doubt == Some(Doubt::Once) { text("method") } else { text("pointer") };
        Self { requirement: requirement.to_owned(), kind: finding.fact.kind.to_owned(), place }
    }
}

/// Returns all reasons why the case does not pass, for one party.
pub(super) fn symptoms(judged: &JudgedTrace, party: Party, catalogue: &Catalogue) -> BTreeSet<Symptom> {
    let of_party = |id: &str| catalogue.find(id).is_some_and(|requirement| requirement.party == party);
    let tallies = judged.judgement.tallies.iter().filter(|(id, _)| of_party(id));
    let failed = tallies.flat_map(|(id, tally)| {
        // A mistake is the symptom of its owner, which is in the same case.
        let own = tally.findings.iter().filter(|finding| finding.same_as.is_none());
        own.filter_map(|finding| match (finding.verdict, finding.doubt) {
            (Verdict::Fail, _) => Some(Symptom::Failed(Failure::new(id, finding))),
            (_, Some(Doubt::Once)) => Some(Symptom::FailedOnce(Failure::new(id, finding))),
            (_, Some(Doubt::Older)) => Some(Symptom::FailedIfNew(Failure::new(id, finding))),
            _ => None,
        })
    });
    let mut symptoms: BTreeSet<Symptom> = failed.collect();
    let verdict = judged.verdict(party, catalogue);
    if matches!(verdict.verdict, Verdict::Inconclusive | Verdict::HarnessError) {
        symptoms.extend(unmet(judged));
        if !symptoms.iter().any(|symptom| matches!(symptom, Symptom::Unmet { .. })) {
            symptoms.extend(undecided(judged));
        }
        if symptoms.is_empty() {
            symptoms.insert(Symptom::Other(verdict.reason.unwrap_or_default()));
        }
    }
    symptoms
}

/// Returns the expectations of optional steps that were met, as in [`Symptom::Unmet`].
pub(super) fn met(judged: &JudgedTrace) -> impl Iterator<Item = String> {
    judged.steps().filter(|step| may_be_optional(step.kind) && step.outcome == Outcome::Done).map(expectation)
}

/// Returns the first unmet expectation; the later steps depend on it.
fn unmet(judged: &JudgedTrace) -> Option<Symptom> {
    let decides = |step: &StepEvent| step.outcome == Outcome::Contradicted && !step.decides.is_empty();
    let is_unmet = |step: &&StepEvent| !matches!(step.outcome, Outcome::Done | Outcome::Quiet) && !decides(step);
    judged.steps().find(is_unmet).map(|step| Symptom::Unmet {
        is_optional: may_be_optional(step.kind) && step.outcome == Outcome::Missed,
        expected: expectation(step),
        outcome: step.outcome,
    })
}

fn undecided(judged: &JudgedTrace) -> impl Iterator<Item = Symptom> {
    let own = judged.header().requirements.iter();
    let is_open = |id: &&String| matches!(judged.judgement.verdict(id), Verdict::Inconclusive | Verdict::NotExercised);
    own.filter(is_open).map(|id| Symptom::Undecided(id.clone()))
}

/// Whether a step of this kind that is `Missed` was optional.
const fn may_be_optional(kind: StepKind) -> bool {
    matches!(kind, StepKind::Optional | StepKind::Reply | StepKind::Mcp)
}

/// Returns the expectation of a step; equal expectations of different cases are equal. Texts and files differ from case
/// to case.
fn expectation(step: &StepEvent) -> String {
    match step.kind {
        StepKind::Reply | StepKind::File | StepKind::Process | StepKind::Mcp => format!("{:?}", step.kind),
        _ if step.expected.is_some() => serde_json::to_string(&step.expected).unwrap_or_default(),
        kind => format!("{kind:?} {}", step.text),
    }
}
