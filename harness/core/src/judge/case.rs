//! The verdict on a whole case, from its steps and findings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cause::Cause;
use super::judgement::Judgement;
use super::step::{observed_text, step_text};
use crate::requirement::{Catalogue, Level, Party};
use crate::trace::{Outcome, ProcessEvent, StepEvent, Trace, What};
use crate::verdict::Verdict;

/// A verdict with its reason, if it needs one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason why it is not a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same reason as data, for a case that is undecided or does not apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

impl CaseVerdict {
    fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: Some(reason.into()), cause: None }
    }

    fn because(self, cause: Cause) -> Self {
        Self { cause: Some(cause), ..self }
    }
}

/// Joins the steps with the findings: only a violated MUST fails a case, and only the requirements of the case let it pass.
#[must_use]
pub fn judge_case(trace: &Trace, judgement: &Judgement, catalogue: &Catalogue) -> CaseVerdict {
    let subject = trace.header.subject.unwrap_or(Party::Agent);
    let steps =
        || trace.events.iter().filter_map(|event| if let What::Step(step) = &event.what { Some(step) } else { None });
    if let Some(step) = steps().find(|step| step.outcome == Outcome::HarnessError) {
        return CaseVerdict::new(Verdict::HarnessError, observed_text(step, subject));
    }
    let broken = judgement.tallies.iter().find(|(id, tally)| {
        let requirement = catalogue.find(id);
        tally.verdict() == Verdict::Fail && requirement.is_some_and(|r| r.level == Level::Must && r.party == subject)
    });
    if let Some((id, _)) = broken {
        return CaseVerdict::new(Verdict::Fail, id.clone());
    }
    // The version in the answer may be the subject of the case.
    let decided = trace.header.requirements.iter().any(|id| judgement.verdict(id) == Verdict::Pass);
    if judgement.covered == 0
        && !decided
        && let Some(other) = judgement.not_covered.first()
    {
        let reason = format!("not covered: protocol version {}", other.version);
        return CaseVerdict::new(Verdict::NotApplicable, reason)
            .because(Cause::ProtocolVersion { version: other.version });
    }
    if let Some(step) = steps().find(|step| step.outcome == Outcome::NotApplicable) {
        let verdict = CaseVerdict::new(Verdict::NotApplicable, observed_text(step, subject));
        return verdict.because(Cause::of_step(step, subject));
    }
    if let Some((reason, cause)) = undecided(trace, steps(), subject) {
        if let Some(asked) = judgement.turned_down.filter(|_| subject == Party::Client) {
            let reason = format!("the client asked for protocol version {asked}, and left when the agent answered 1");
            return CaseVerdict::new(Verdict::NotApplicable, reason).because(Cause::ProtocolVersion { version: asked });
        }
        return CaseVerdict::new(Verdict::Inconclusive, reason).because(cause);
    }
    own_requirements(trace, judgement, catalogue)
}

fn undecided<'t>(
    trace: &Trace,
    mut steps: impl Iterator<Item = &'t StepEvent>,
    subject: Party,
) -> Option<(String, Cause)> {
    let not_spawned = trace.events.iter().find_map(|event| match &event.what {
        What::Process(ProcessEvent::NotSpawned(reason)) => {
            Some((format!("the subject could not be started: {reason}"), Cause::NotStarted))
        }
        _ => None,
    });
    // A violated SHOULD is a contradiction that decided its requirement; it does not affect the case itself.
    let decided = |step: &StepEvent| step.outcome == Outcome::Contradicted && !step.decides.is_empty();
    // A requirement that a weak fence should decide is undecided; the rest of the case does not depend on it.
    let weak = |step: &StepEvent| step.outcome == Outcome::Quiet && step.decides.is_empty();
    let step = steps.find(|step| step.outcome != Outcome::Done && !decided(step) && !weak(step));
    not_spawned.or_else(|| step.map(|step| (describe(step, subject), Cause::of_step(step, subject))))
}

fn describe(step: &StepEvent, subject: Party) -> String {
    let place = step.place().map_or_else(String::new, |place| format!("{place}: "));
    match step.outcome {
        Outcome::LoginNeeded => format!("{place}the agent asks for a login (-32000)"),
        _ => format!("{place}{}", step_text(step, subject)),
    }
}

/// Decides whether a case passes by its own requirements; if the case reached no requirement, gives a reason.
fn own_requirements(trace: &Trace, judgement: &Judgement, catalogue: &Catalogue) -> CaseVerdict {
    let told = |id: &String| judgement.tallies.get(id).is_some_and(|tally| !tally.notes.is_empty());
    // A probe is never decided; observations of it are enough for the case.
    let own = trace.header.requirements.iter().filter(|id| !(catalogue.is_probe(id) && told(id)));
    let own: Vec<(&String, Verdict)> = own.map(|id| (id, judgement.verdict(id))).collect();
    let of = |wanted: Verdict| {
        own.iter().filter(|(_, v)| *v == wanted).map(|(id, _)| (*id).clone()).collect::<Vec<String>>()
    };
    let requirements = of(Verdict::Inconclusive);
    if !requirements.is_empty() {
        return CaseVerdict::new(Verdict::Inconclusive, format!("undecided: {}", requirements.join(", ")))
            .because(Cause::Undecided { requirements });
    }
    let requirements = of(Verdict::NotExercised);
    if !requirements.is_empty() {
        return CaseVerdict::new(Verdict::Inconclusive, format!("not exercised: {}", requirements.join(", ")))
            .because(Cause::NotExercised { requirements });
    }
    if !own.is_empty() && own.iter().all(|(_, verdict)| *verdict == Verdict::NotApplicable) {
        let subject = trace.header.subject.unwrap_or(Party::Agent);
        return CaseVerdict::new(
            Verdict::NotApplicable,
            format!("the {subject} does not advertise what the case is about"),
        )
        .because(Cause::NoneApplies);
    }
    if trace.header.case.is_none() && !shows_something(judgement, catalogue, trace.header.subject) {
        return CaseVerdict::new(Verdict::Inconclusive, "nothing in it decides anything");
    }
    CaseVerdict { verdict: Verdict::Pass, reason: None, cause: None }
}

/// Whether any requirement of the party was exercised.
fn shows_something(judgement: &Judgement, catalogue: &Catalogue, subject: Option<Party>) -> bool {
    let of_subject = |id: &str| catalogue.find(id).is_some_and(|r| subject.is_none_or(|subject| r.party == subject));
    judgement.tallies.iter().any(|(id, tally)| tally.verdict() == Verdict::Pass && of_subject(id))
}
