//! Reads the step events of format 1, which contain sentences instead of facts.

use serde::Deserialize;

use super::step::{Expected, Observed, Outcome, StepEvent, StepKind};

/// The words of format 1 for a subject that ended without a reason.
const UNEXPLAINED: &str = "without being asked to";

/// A step event of format 1.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OldStep {
    kind: StepKind,
    line: usize,
    #[serde(default)]
    include: Option<String>,
    text: String,
    outcome: Outcome,
    #[serde(default)]
    decides: Vec<String>,
    #[serde(default)]
    events: Vec<usize>,
    #[serde(default)]
    expected: String,
    #[serde(default)]
    seen: String,
}

impl From<OldStep> for StepEvent {
    fn from(old: OldStep) -> Self {
        let OldStep { kind, line, include, text, outcome, decides, events, expected, seen } = old;
        let expected = (!expected.is_empty()).then_some(Expected::Words(expected));
        let unexplained = outcome == Outcome::Ended && seen.ends_with(UNEXPLAINED);
        let observed = (!seen.is_empty()).then_some(Observed::Words { text: seen, unexplained });
        Self { kind, line, include, text, outcome, decides, events, expected, observed, intent: None }
    }
}
