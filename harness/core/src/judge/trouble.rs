//! The reasons why a case does not pass, as data, so that two runs of a case can be compared, and repeated behaviour of the
//! subject recognized.

use std::collections::BTreeSet;

use super::judging::JudgedTrace;
use super::ruling::Finding;
use crate::requirement::{Catalogue, Party};
use crate::trace::{Outcome, StepEvent, StepKind};
use crate::verdict::Verdict;

/// A reason why a case does not pass, or why a requirement that it does not name fails.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// A requirement failed.
    Failed {
        /// The requirement.
        requirement: String,
        /// The kind of the finding.
        kind: String,
        /// The JSON pointer to the wrong member, if the finding has one.
        pointer: Option<String>,
    },
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

impl JudgedTrace {
    /// Returns all reasons why the case does not pass, for one party.
    #[must_use]
    pub fn troubles(&self, party: Party, catalogue: &Catalogue) -> BTreeSet<Trouble> {
        let of_party = |id: &str| catalogue.find(id).is_some_and(|requirement| requirement.party == party);
        let tallies = self.judgement.tallies.iter().filter(|(id, _)| of_party(id));
        let failed = tallies.flat_map(|(id, tally)| {
            // A mistake is the trouble of its owner, which is in the same case.
            let fails = |finding: &&Finding| finding.verdict == Verdict::Fail && finding.same_as.is_none();
            tally.findings.iter().filter(fails).map(|finding| failure(id, finding))
        });
        let mut troubles: BTreeSet<Trouble> = failed.collect();
        let verdict = self.verdict(party, catalogue);
        if matches!(verdict.verdict, Verdict::Inconclusive | Verdict::HarnessError) {
            troubles.extend(self.unmet());
            if !troubles.iter().any(|trouble| matches!(trouble, Trouble::Unmet { .. })) {
                troubles.extend(self.undecided());
            }
            if troubles.is_empty() {
                troubles.insert(Trouble::Other(verdict.reason.unwrap_or_default()));
            }
        }
        troubles
    }

    /// Returns the expectations of optional steps that were met, as in [`Trouble::Unmet`].
    pub fn met(&self) -> impl Iterator<Item = String> {
        self.steps().filter(|step| may_be_optional(step.kind) && step.outcome == Outcome::Done).map(expectation)
    }

    /// Returns the first unmet expectation; the later steps depend on it.
    fn unmet(&self) -> Option<Trouble> {
        let decides = |step: &StepEvent| step.outcome == Outcome::Contradicted && !step.decides.is_empty();
        let is_unmet = |step: &&StepEvent| !matches!(step.outcome, Outcome::Done | Outcome::Quiet) && !decides(step);
        self.steps().find(is_unmet).map(|step| Trouble::Unmet {
            is_optional: may_be_optional(step.kind) && step.outcome == Outcome::Missed,
            expected: expectation(step),
            outcome: step.outcome,
        })
    }

    fn undecided(&self) -> impl Iterator<Item = Trouble> {
        let own = self.header().requirements.iter();
        let is_open =
            |id: &&String| matches!(self.judgement.verdict(id), Verdict::Inconclusive | Verdict::NotExercised);
        own.filter(is_open).map(|id| Trouble::Undecided(id.clone()))
    }
}

/// Whether a step of this kind that is `Missed` was optional.
const fn may_be_optional(kind: StepKind) -> bool {
    matches!(kind, StepKind::Optional | StepKind::Reply | StepKind::Mcp)
}

fn failure(requirement: &str, finding: &Finding) -> Trouble {
    let pointer = finding.fact.field("pointer").and_then(|pointer| pointer.as_str().map(str::to_owned));
    Trouble::Failed { requirement: requirement.to_owned(), kind: finding.fact.kind.to_owned(), pointer }
}

/// Returns the expectation of a step; equal expectations of different cases are equal. Texts and files differ from case to
/// case.
fn expectation(step: &StepEvent) -> String {
    match step.kind {
        StepKind::Reply | StepKind::File | StepKind::Process | StepKind::Mcp => format!("{:?}", step.kind),
        _ if step.expected.is_some() => serde_json::to_string(&step.expected).unwrap_or_default(),
        kind => format!("{kind:?} {}", step.text),
    }
}
