//! The result for one requirement or probe.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{link, word};
use crate::requirement::{Level, Party, Status};
use crate::results::case_id;
use crate::results::evidence::STDERR;
use crate::verdict::Verdict;

/// The result for one requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequirementReport {
    /// Its id.
    #[serde(deserialize_with = "word")]
    pub id: String,
    /// The accountable party.
    pub party: Party,
    /// Its level.
    pub level: Level,
    /// The verdict over all cases.
    pub verdict: Verdict,
    /// Its text, in a sentence.
    pub text: String,
    /// The precondition, in words; `always` for a requirement without one.
    pub applies_when: String,
    /// Whether this program checks it.
    pub status: Status,
    /// The place in the specification.
    pub source: String,
    /// The address of the page that the source names.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "link")]
    pub link: Option<String>,
    /// The cases that exercised it, by id.
    pub cases: Vec<String>,
    /// The shapes of its cases that ended undecided before they exercised it, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<String>,
    /// The cases in which it does not apply, since the subject lacks what they need; by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inapplicable: Vec<String>,
    /// Whether its precondition was true in a conversation; false if it was false in all that show it, and absent if
    /// none does or it always applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applies: Option<bool>,
    /// All findings except passes.
    pub findings: Vec<FindingReport>,
    /// How to satisfy it with official SDKs: a sentence each, by the name of the language. Only if it fails.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hints: BTreeMap<String, String>,
    /// The requirements that own its mistakes, if others own all of them: then it does not count as failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same_as: Vec<String>,
    /// The more general requirements that the same mistakes violate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_violates: Vec<String>,
    /// Departures that the specification tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl RequirementReport {
    /// Whether it fails by a mistake of its own, which a more specific requirement does not own.
    pub fn fails(&self) -> bool {
        self.verdict == Verdict::Fail && self.same_as.is_empty()
    }

    /// Whether it failed in a process, and no second process confirmed that.
    pub fn seems_to_fail(&self) -> bool {
        self.verdict == Verdict::Inconclusive && self.findings.iter().any(|finding| finding.unconfirmed)
    }

    /// Lists in a line the more general requirements that the same mistakes violate.
    pub fn also(&self) -> Option<String> {
        (!self.also_violates.is_empty()).then(|| format!("also violates {}", self.also_violates.join(", ")))
    }

    /// Joins the verdicts on one requirement, of cases or of reports. If one shape of a case is undecided, the others
    /// do not make the requirement inapplicable. Without cases that do not apply, the precondition decides about
    /// that.
    pub(in crate::results) fn joined(
        verdicts: impl IntoIterator<Item = Verdict>,
        undecided: &[String],
        inapplicable: &[String],
        applies: Option<bool>,
    ) -> Verdict {
        let case = |shape: &String| case_id::file(shape).to_owned();
        let shapes = inapplicable.iter().filter(|id| case_id::has_shape(id));
        let cases: BTreeSet<String> = shapes.map(case).collect();
        let joined = match Verdict::over_cases(verdicts) {
            Verdict::NotApplicable if inapplicable.is_empty() => Verdict::NotExercised,
            verdict => verdict,
        };
        match joined {
            Verdict::NotExercised if applies == Some(false) => Verdict::NotApplicable,
            Verdict::NotApplicable if undecided.iter().any(|shape| cases.contains(&case(shape))) => {
                Verdict::Inconclusive
            }
            verdict => verdict,
        }
    }
}

/// The observations on something that the specification leaves open; they decide nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeReport {
    /// Its id.
    #[serde(deserialize_with = "word")]
    pub id: String,
    /// The usual expectation, in a sentence.
    pub text: String,
    /// The address of the page that the source names.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "link")]
    pub link: Option<String>,
    /// The observations.
    pub notes: Vec<String>,
    /// The cases with these observations, by id.
    pub cases: Vec<String>,
}

/// One finding, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingReport {
    /// The case with this finding.
    pub case: String,
    /// The title of that case; absent for a recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_title: Option<String>,
    /// The verdict on the requirement.
    pub verdict: Verdict,
    /// The stable name of the observation; together with the requirement it keeps its meaning from version to version.
    pub kind: String,
    /// The facts of the finding, by name: a `method`, a JSON `pointer`, what was `expected` and what was `actual`, an
    /// id, or a duration with its unit in the name. The kind decides which of them there are.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    /// The sentence rendered from kind and fields, for people; other versions may word it differently.
    pub text: String,
    /// The responsible party.
    pub party: Party,
    /// The events of the case's trace that prove it; the deciding one first.
    pub events: Vec<usize>,
    /// The lines of those events as sent on the wire, shortened if they are long.
    pub lines: Vec<String>,
    /// The 1-based line in the case file of the step at the time of the deciding event; absent if that step is in an
    /// include, or no step was running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Whether it is undecided because the subject stopped answering, or may be older than the requirement: then the
    /// requirement does not pass, whatever other cases show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stalled: bool,
    /// Whether it is a failure that only one process showed, so that it may have an outside cause. It fails nothing,
    /// and the requirement does not pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
    /// Whether other cases ran in the same process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// The cases that ran before in the same process, in their order, if no run without them shows the failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// The more specific requirement that owns the mistake, if another one also fails by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// The case that fails for this violation, if another case shows it too and fails for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_in: Option<String>,
}

impl FindingReport {
    /// Returns the title and the id of its case.
    pub fn case_name(&self) -> String {
        match &self.case_title {
            Some(title) => format!("{title} ({})", self.case),
            None => self.case.clone(),
        }
    }

    /// Returns its lines for people: standard error first, which often says why the subject exited.
    pub fn stderr_first(&self) -> impl Iterator<Item = &String> {
        let is_stderr = |line: &&String| line.split_once(' ').is_some_and(|(_, rest)| rest.starts_with(STDERR));
        self.lines.iter().filter(is_stderr).chain(self.lines.iter().filter(move |line| !is_stderr(line)))
    }
}
