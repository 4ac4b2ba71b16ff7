//! Computes the conformance of the subject of a run.

use super::model::{CaseReport, RequirementReport};
use crate::requirement::{Level, Status};
use crate::verdict::{Conformance, Verdict};

/// Joins the verdicts on these requirements; with `strict`, a SHOULD counts like a MUST.
pub fn conformance<'r>(
    requirements: impl IntoIterator<Item = &'r RequirementReport>,
    cases: &[CaseReport],
    strict: bool,
) -> Conformance {
    // The report contains requirements that this version does not check; they prove nothing about the subject.
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
