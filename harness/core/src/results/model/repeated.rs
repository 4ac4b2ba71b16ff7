//! Several runs of the same cases, in the report.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::Verdict;

/// How often each verdict came in the runs of `--repeat`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Repeated {
    /// The number of runs.
    pub runs: usize,
    /// The verdicts on each requirement, with the number of runs, by its id.
    pub requirements: BTreeMap<String, BTreeMap<Verdict, usize>>,
    /// The same for each case.
    pub cases: BTreeMap<String, BTreeMap<Verdict, usize>>,
}

impl Repeated {
    /// Describes a requirement that failed in some runs only.
    pub fn sometimes_fails(&self, requirement: &str) -> Option<String> {
        let failed = *self.requirements.get(requirement)?.get(&Verdict::Fail)?;
        (failed < self.runs).then(|| format!("failed in {failed} of {} runs", self.runs))
    }

    /// Returns how often each verdict of a case came, if they differ.
    pub fn of_unstable_case(&self, case: &str) -> Option<&BTreeMap<Verdict, usize>> {
        self.cases.get(case).filter(|verdicts| verdicts.len() > 1)
    }

    /// Returns the cases with different verdicts, and how often each came.
    pub fn unstable_cases(&self) -> impl Iterator<Item = (&str, &BTreeMap<Verdict, usize>)> {
        self.cases.iter().filter(|(_, verdicts)| verdicts.len() > 1).map(|(id, verdicts)| (id.as_str(), verdicts))
    }
}
