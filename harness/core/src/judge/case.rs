//! The verdict on a whole case, from its steps and findings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cause::Cause;
use super::judgement::Judgement;
use super::own_tool::replaced_method;
use super::refusal::refusal;
use super::step::{EndCause, observed_text, step_text};
use super::unasked_exit::{UnaskedExit, unasked_exit};
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

    /// Returns the verdict on a case that shows the mistake for which another case fails.
    pub fn same_mistake(requirement: &str, failed: String) -> Self {
        let cause = Cause::SameMistake { requirement: requirement.to_owned(), case: failed.clone() };
        Self::new(Verdict::Inconclusive, format!("same mistake as {failed}")).because(cause)
    }

    fn because(self, cause: Cause) -> Self {
        Self { cause: Some(cause), ..self }
    }
}

/// Joins the steps with the findings: only a violated MUST fails a case, and only the requirements of the case let it
/// pass.
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
        && let Some(other) = judgement.not_covered.iter().find(|other| other.is_of(subject))
    {
        let reason = format!("not covered: protocol version {}", other.version);
        return CaseVerdict::new(Verdict::NotApplicable, reason)
            .because(Cause::ProtocolVersion { version: other.version });
    }
    if let Some(step) = steps().find(|step| step.outcome == Outcome::NotApplicable) {
        let verdict = CaseVerdict::new(Verdict::NotApplicable, observed_text(step, subject));
        return verdict.because(Cause::of_step(step, subject));
    }
    if let Some((reason, cause)) = undecided(trace, subject) {
        if let Some(asked) = judgement.turned_down.filter(|_| subject == Party::Client) {
            let reason = format!(
                "the client asked for protocol version {asked}, and left when the agent answered with an older one"
            );
            return CaseVerdict::new(Verdict::NotApplicable, reason).because(Cause::ProtocolVersion { version: asked });
        }
        return CaseVerdict::new(Verdict::Inconclusive, reason).because(cause);
    }
    own_requirements(trace, judgement, catalogue)
}

fn undecided(trace: &Trace, subject: Party) -> Option<(String, Cause)> {
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
    let step = trace.events.iter().find_map(|event| match &event.what {
        What::Step(step) if step.outcome != Outcome::Done && !decided(step) && !weak(step) => Some((event.n, step)),
        _ => None,
    });
    not_spawned.or_else(|| step.map(|step| why_unmet(trace, step, subject)))
}

/// Returns why a step did not go as expected. An agent that exits by itself does nothing afterwards, whatever the step
/// waited for.
fn why_unmet(trace: &Trace, (n, step): (usize, &StepEvent), subject: Party) -> (String, Cause) {
    let (reason, cause) = (describe(step, subject), Cause::of_step(step, subject));
    let may_hide_exit =
        matches!(cause, Cause::PromptNotFollowed { .. } | Cause::MessageMissing { .. } | Cause::StepUnmet { .. });
    let exit = unasked_exit(&trace.events).filter(|exit| exit.since < n && may_hide_exit && subject == Party::Agent);
    match exit {
        Some(UnaskedExit { exit, .. }) => (
            match step.outcome {
                Outcome::Ended => reason,
                _ => format!("the agent exited without being asked to ({exit}); {reason}"),
            },
            Cause::SubjectEnded { end: EndCause::Unexplained },
        ),
        None if !may_hide_exit => (reason, cause),
        None => {
            let refused = refusal(&trace.events, (n, step), subject);
            let own_tool = || {
                let is_asked = matches!(cause, Cause::PromptNotFollowed { .. });
                let method = replaced_method(&trace.events, (n, step)).filter(|_| is_asked);
                method.map(|method| Cause::OwnTool { method })
            };
            let known = refused.or_else(own_tool);
            (reason, known.unwrap_or(cause))
        }
    }
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
    let has_notes = |id: &String| judgement.tallies.get(id).is_some_and(|tally| !tally.notes.is_empty());
    // A probe is never decided; observations of it are enough for the case.
    let own = trace.header.requirements.iter().filter(|id| !(catalogue.is_probe(id) && has_notes(id)));
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
        return CaseVerdict::new(Verdict::Inconclusive, "it exercises no requirement");
    }
    CaseVerdict { verdict: Verdict::Pass, reason: None, cause: None }
}

/// Whether any requirement of the party was exercised.
fn shows_something(judgement: &Judgement, catalogue: &Catalogue, subject: Option<Party>) -> bool {
    let of_subject = |id: &str| catalogue.find(id).is_some_and(|r| subject.is_none_or(|subject| r.party == subject));
    judgement.tallies.iter().any(|(id, tally)| tally.verdict() == Verdict::Pass && of_subject(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::judge;
    use crate::testing::v1;

    /// Returns the cause of a case whose optional step was missed after these process events.
    fn cause(process: &[&str]) -> Option<Cause> {
        let head = r#"{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent","case":"v1/agent/x/y"}"#;
        let step = r#""step":{"kind":"optional","line":8,"text":"","outcome":"missed","expected":{"message":{"notification":"session/update"}},"observed":"nothing","intent":"read-file"}"#;
        let events = process.iter().map(|event| format!(r#""process":{event}"#)).chain([step.to_owned()]);
        let events = events.enumerate().map(|(n, event)| format!("{{\"n\":{n},\"us\":{n},{event}}}\n"));
        let file = format!("{head}\n{}", events.collect::<String>());
        let trace = Trace::read(file.as_bytes()).expect("a trace");
        judge_case(&trace, &judge(&trace, v1()), &v1().catalogue).cause
    }

    #[test]
    fn agent_that_exits_by_itself_is_not_one_that_ignores_the_prompt() {
        let exited = r#"{"exited":{"code":1,"signal":null}}"#;
        let by_itself = Some(Cause::SubjectEnded { end: EndCause::Unexplained });
        let not_followed = Some(Cause::PromptNotFollowed { intent: "read-file".to_owned() });
        assert_eq!(cause(&[r#""stdout-ended""#, exited]), by_itself);
        assert_eq!(cause(&[]), not_followed);
        assert_eq!(cause(&[r#""stdin-closed""#, r#""stdout-ended""#, exited]), not_followed);
        assert_eq!(cause(&[exited, r#"{"spawned":{"pid":2}}"#]), by_itself);
    }
}
