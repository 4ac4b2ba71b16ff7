//! The reasons why cases are undecided or do not apply, with the cases of one reason together.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::model::{CaseReport, ReasonReport, RequirementReport};
use crate::judge::{Cause, EndCause};
use crate::requirement::{Area, Party};
use crate::verdict::Verdict;

/// Groups the cases that neither passed nor failed by their reasons. The most frequent reasons come first, and those
/// that leave cases undecided before those for which cases do not apply.
pub(super) fn reasons(party: Party, requirements: &[RequirementReport], cases: &[CaseReport]) -> Vec<ReasonReport> {
    let mut groups: BTreeMap<Key, Vec<(&CaseReport, &Cause)>> = BTreeMap::new();
    let is_explained = |case: &&CaseReport| {
        matches!(case.verdict, Verdict::Inconclusive | Verdict::NotApplicable | Verdict::NotExercised)
    };
    for case in cases.iter().filter(is_explained) {
        if let Some(cause) = &case.cause {
            groups.entry(Key::of(case.verdict, cause)).or_default().push((case, cause));
        }
    }
    let calls_tools = calls_tools(requirements);
    let mut reasons: Vec<ReasonReport> = groups
        .into_values()
        .map(|group| {
            let mut about: BTreeMap<String, usize> = BTreeMap::new();
            group.iter().flat_map(|(_, cause)| subjects(cause)).for_each(|name| *about.entry(name).or_default() += 1);
            let (first, cause) = group[0];
            ReasonReport {
                verdict: first.verdict,
                kind: cause.kind().to_owned(),
                text: sentence(party, cause, calls_tools) + &list(cause, &about),
                about,
                cases: group.iter().map(|(case, _)| case.id.clone()).collect(),
            }
        })
        .collect();
    let applies = |reason: &ReasonReport| reason.verdict != Verdict::NotApplicable;
    reasons.sort_by_key(|reason| (!applies(reason), Reverse(reason.cases.len())));
    reasons
}

/// Decides which cases have the same reason.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    verdict: Verdict,
    kind: &'static str,
    end: Option<EndCause>,
    flag: Option<bool>,
    answer: Option<(String, Option<i64>)>,
}

impl Key {
    fn of(verdict: Verdict, cause: &Cause) -> Self {
        let key = Self { verdict, kind: cause.kind(), end: None, flag: None, answer: None };
        match cause {
            Cause::SubjectEnded { end } => Self { end: Some(*end), ..key },
            Cause::Capability { advertised, .. } => Self { flag: Some(*advertised), ..key },
            Cause::MessageMissing { timed_out, .. } => Self { flag: Some(*timed_out), ..key },
            Cause::Refused { method, code, .. } => Self { answer: Some((method.clone(), *code)), ..key },
            _ => key,
        }
    }
}

/// Whether the agent did anything in the run that requires a tool call of a model.
pub fn calls_tools(requirements: &[RequirementReport]) -> bool {
    requirements.iter().any(|requirement| Area::of(&requirement.id).is_about_tools() && !requirement.cases.is_empty())
}

fn subjects(cause: &Cause) -> Vec<String> {
    match cause {
        Cause::PromptNotFollowed { intent } => vec![intent.clone()],
        Cause::LoginRequired { method } | Cause::MessageMissing { method, .. } => method.iter().cloned().collect(),
        Cause::Capability { need, .. } => vec![need.clone()],
        Cause::Refused { method, .. } | Cause::OwnTool { method } => vec![method.clone()],
        Cause::UnknownAct { act } => vec![act.clone()],
        Cause::UnknownSetting { setting } => vec![setting.clone()],
        Cause::ProtocolVersion { version } => vec![version.to_string()],
        Cause::Undecided { requirements }
        | Cause::Unconfirmed { requirements }
        | Cause::NotExercised { requirements } => requirements.clone(),
        Cause::Skipped { after } => vec![after.clone()],
        Cause::SameMistake { requirement, .. } => vec![requirement.clone()],
        Cause::StepUnmet { .. }
        | Cause::SubjectEnded { .. }
        | Cause::NoneApplies
        | Cause::NotStarted
        | Cause::RunEnded
        | Cause::Other => Vec::new(),
    }
}

fn sentence(party: Party, cause: &Cause, calls_tools: bool) -> String {
    match cause {
        Cause::PromptNotFollowed { .. } if calls_tools => format!("the {party} did not do what the prompt asked for"),
        Cause::PromptNotFollowed { .. } => {
            format!("the {party} did not do what the prompt asked for; it never called a tool")
        }
        Cause::OwnTool { .. } => format!("the {party} used a tool of its own, and did not call the client"),
        Cause::Refused { method, code, message } => {
            let code = code.map_or_else(|| "an error without a code".to_owned(), |code| code.to_string());
            let message = message.as_ref().map_or_else(String::new, |message| format!(" {message:?}"));
            format!("{method} was answered with {code}{message}")
        }
        Cause::LoginRequired { .. } => format!("the {party} requires a login"),
        Cause::Capability { advertised: false, .. } => format!("the {party} does not advertise the capability"),
        Cause::Capability { advertised: true, .. } => format!("the {party} advertises the capability"),
        Cause::NoneApplies => {
            format!("the {party} does not advertise the capabilities that the requirements are about")
        }
        Cause::ProtocolVersion { .. } => "the parties did not agree on the checked protocol version".to_owned(),
        Cause::UnknownAct { .. } => format!("no --act and no profile describes how the {party}'s user does it"),
        Cause::UnknownSetting { .. } => {
            format!("no --setting and no profile describes how the {party} is set up for it")
        }
        Cause::SubjectEnded { end } => match end {
            EndCause::Flooded => format!("the {party} sent too much and was stopped"),
            EndCause::InputClosed => format!("the {party} exited after its input was closed"),
            EndCause::NeverConnected => format!("the {party} exited and never started its agent"),
            EndCause::Idle => format!("the {party} disconnected before the case was over"),
            EndCause::Waiting => format!("the {party} exited while it waited for an answer"),
            EndCause::InTurn => format!("the {party} exited in the middle of a turn"),
            EndCause::Unexplained => format!("the {party} exited on its own"),
        },
        Cause::NotStarted => format!("the {party} could not be started"),
        Cause::MessageMissing { timed_out: true, .. } => {
            format!("the {party} did not send the expected message or answer in time")
        }
        Cause::MessageMissing { timed_out: false, .. } => {
            format!("the {party} did not send the expected message or answer")
        }
        Cause::StepUnmet { .. } => "a step did not go as the case expects".to_owned(),
        Cause::Undecided { .. } => "the observations do not decide the requirement".to_owned(),
        Cause::Unconfirmed { .. } => "a failure was seen after other cases, and no second process showed it".to_owned(),
        Cause::NotExercised { .. } => "nothing happened that the requirement is about".to_owned(),
        Cause::RunEnded => "the run ended during the case".to_owned(),
        Cause::Skipped { .. } => "skipped, because a similar case was not exercised; --thorough runs them".to_owned(),
        Cause::SameMistake { .. } => "another case fails for the same mistake".to_owned(),
        Cause::Other => "another reason".to_owned(),
    }
}

/// Lists the subjects of a reason, the most frequent first, unless its sentence names the only one.
fn list(cause: &Cause, about: &BTreeMap<String, usize>) -> String {
    const SHOWN: usize = 5;
    if matches!(cause, Cause::Refused { .. }) {
        return String::new();
    }
    let mut all: Vec<_> = about.iter().collect();
    all.sort_by_key(|(_, cases)| Reverse(**cases));
    let mut names: Vec<String> = all.iter().take(SHOWN).map(|(name, cases)| times(name, **cases)).collect();
    names.extend((all.len() > SHOWN).then(|| format!("{} more", all.len() - SHOWN)));
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// Returns a name with the number of its cases, if there are several.
fn times(name: &str, cases: usize) -> String {
    if cases == 1 { name.to_owned() } else { format!("{name} ×{cases}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cases_with_one_cause_are_one_reason_with_what_it_is_about() {
        let case = |id: &str, verdict: &str, cause: serde_json::Value| -> CaseReport {
            let case = json!({ "id": id, "verdict": verdict, "durationMs": 1, "cause": cause });
            serde_json::from_value(case).expect("a case")
        };
        let intent = |intent: &str| json!({ "kind": "prompt-not-followed", "intent": intent });
        let ended = |end: &str| json!({ "kind": "subject-ended", "end": end });
        let cases = [
            case(
                "a",
                "not-applicable",
                json!({ "kind": "capability", "need": "agent.loadSession", "advertised": false }),
            ),
            case("b", "inconclusive", ended("idle")),
            case("c", "inconclusive", ended("in-turn")),
            case("d", "inconclusive", intent("write-file")),
            case("e", "inconclusive", intent("read-file")),
            case("k", "inconclusive", json!({ "kind": "own-tool", "method": "terminal/create" })),
            case("f", "inconclusive", intent("read-file")),
            case("g", "inconclusive", json!({ "kind": "of-a-later-version", "member": 1 })),
            case(
                "i",
                "inconclusive",
                json!({ "kind": "refused", "method": "session/load", "code": -32600, "message": "no" }),
            ),
            case("j", "inconclusive", json!({ "kind": "refused", "method": "session/load", "code": -32600 })),
            case("h", "pass", json!(null)),
        ];
        let found = reasons(Party::Agent, &[], &cases);
        let kinds: Vec<_> = found.iter().map(|reason| (reason.kind.as_str(), reason.cases.join(""))).collect();
        let of = |kind, cases: &str| (kind, cases.to_owned());
        assert_eq!(
            kinds,
            [
                of("prompt-not-followed", "def"),
                of("refused", "ij"),
                of("other", "g"),
                of("own-tool", "k"),
                of("subject-ended", "b"),
                of("subject-ended", "c"),
                of("capability", "a"),
            ]
        );
        assert_eq!(
            found[0].text,
            "the agent did not do what the prompt asked for; it never called a tool (read-file ×2, write-file)"
        );
        assert_eq!(found[1].text, "session/load was answered with -32600 \"no\"");
    }
}
