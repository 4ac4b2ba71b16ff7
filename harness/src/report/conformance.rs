//! The conformance that a run shows.

use super::model::{CaseReport, RequirementReport};
use crate::requirement::{Level, Status};
use crate::verdict::{Conformance, Verdict};

/// Joins the verdicts on these requirements; with `strict`, a SHOULD counts like a MUST.
pub(super) fn conformance<'r>(
    requirements: impl IntoIterator<Item = &'r RequirementReport>,
    cases: &[CaseReport],
    strict: bool,
) -> Conformance {
    // Requirements that this version does not judge are in the report and say nothing about the subject.
    let binding = |r: &&RequirementReport| {
        (r.level == Level::Must || (strict && r.level == Level::Should)) && r.status == Status::Checked
    };
    let verdicts = requirements.into_iter().filter(binding).map(|requirement| requirement.verdict);
    match Conformance::over_requirements(verdicts) {
        Conformance::NotConformant => Conformance::NotConformant,
        _ if cases.iter().any(|case| case.verdict == Verdict::HarnessError) => Conformance::HarnessError,
        conformance => conformance,
    }
}
