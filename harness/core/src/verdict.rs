//! The six verdicts, how several are joined, and the conformance of a subject.

use serde::{Deserialize, Serialize};

/// The result of checking one requirement or one case in a trace.
///
/// The order decides which verdict wins when the findings of one case are joined: the greater one, so that a verdict
/// only gets worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing happened that could have violated the requirement.
    NotExercised,
    /// The subject did not advertise the capability that the requirement needs.
    NotApplicable,
    /// Observed and satisfied.
    Pass,
    /// Observed but not decided: a race, a login, or a stimulus that did not arrive.
    Inconclusive,
    /// Observed and violated, with evidence.
    Fail,
    /// An error of the harness or of the case, never of the subject.
    HarnessError,
}

impl Verdict {
    /// Every verdict, in the order in which summaries print them.
    pub const ALL: [Self; 6] =
        [Self::Pass, Self::Fail, Self::Inconclusive, Self::NotApplicable, Self::NotExercised, Self::HarnessError];

    /// Returns the name in every output and file format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::NotApplicable => "not-applicable",
            Self::NotExercised => "not-exercised",
            Self::HarnessError => "harness-error",
        }
    }

    /// Joins the verdicts of one requirement over all of its cases.
    ///
    /// One failure decides. Otherwise one pass is enough: an undecided case, because of a race or of a model that did
    /// something else, does not change that.
    pub fn over_cases(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().max_by_key(|v| v.rank_over_cases()).unwrap_or(Self::NotExercised)
    }

    const fn rank_over_cases(self) -> u8 {
        match self {
            Self::NotExercised => 0,
            Self::NotApplicable => 1,
            Self::Inconclusive => 2,
            Self::Pass => 3,
            Self::HarnessError => 4,
            Self::Fail => 5,
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The conformance of a subject, without grades; reports show the coverage next to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Conformance {
    /// No MUST failed, and every applicable one that a program can decide was exercised.
    Conformant,
    /// The run was a selection of cases. Each of them passed, or every MUST was exercised and satisfied all the same.
    Passed,
    /// No MUST failed, and some were not exercised or not decided.
    Incomplete,
    /// A MUST failed.
    NotConformant,
    /// The harness itself failed, so it has not decided about the subject.
    HarnessError,
}

impl Conformance {
    /// Joins the verdicts on all requirements that count.
    pub fn over_requirements(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let mut conformance = Self::Conformant;
        for verdict in verdicts {
            match verdict {
                Verdict::Fail => return Self::NotConformant,
                Verdict::Inconclusive | Verdict::NotExercised | Verdict::HarnessError => conformance = Self::Incomplete,
                Verdict::Pass | Verdict::NotApplicable => {}
            }
        }
        conformance
    }

    /// Returns the name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conformant => "conformant",
            Self::Passed => "passed",
            Self::Incomplete => "incomplete",
            Self::NotConformant => "not-conformant",
            Self::HarnessError => "harness-error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Fail, HarnessError, Inconclusive, NotApplicable, NotExercised, Pass};
    use super::*;

    #[test]
    fn a_violation_decides_and_a_pass_overrides_an_undecided_case() {
        assert_eq!(Verdict::over_cases([]), NotExercised);
        assert_eq!(Verdict::over_cases([NotApplicable, NotExercised]), NotApplicable);
        assert_eq!(Verdict::over_cases([Inconclusive, Pass]), Pass);
        assert_eq!(Verdict::over_cases([Pass, HarnessError, Fail]), Fail);
    }

    #[test]
    fn names_are_those_of_the_serialised_form() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_value(verdict).ok(), Some(serde_json::json!(verdict.name())));
        }
    }
}
