//! The next steps after a run that could not decide much, in at most three sentences.

use std::cmp::Reverse;
use std::path::Path;

use super::built_in_profiles;
use crate::edition::{Bundle, Editions};
use crate::profile::Profile;
use crate::protocol::edition_stage;
use crate::report::{count, worst_first};
use crate::requirement::Party;
use crate::results::{CaseReport, ReasonReport, RunReport, SubjectInfo, calls_tools};
use crate::run::Subject;

/// The most sentences.
const MOST: usize = 3;

/// Returns the steps with which the next run decides more; `profile` is the one of this run, which is `one_of_several`
/// if others test the other versions of the protocol.
pub fn next_steps(
    report: &RunReport,
    subject: &Subject,
    profile: Option<&str>,
    bundle: &'static Bundle,
    one_of_several: bool,
) -> Vec<String> {
    let reason = |kind: &str| report.reasons.iter().find(|reason| reason.kind == kind);
    let mut steps: Vec<String> = Vec::new();
    let is_most = |reason: &&ReasonReport| 2 * reason.cases.len() > report.cases.len();
    steps.extend(reason("protocol-version").filter(is_most).and_then(|reason| in_its_version(reason, subject.party)));
    match subject.party {
        Party::Agent => {
            let exits: Vec<&CaseReport> = report.exits().collect();
            steps.extend((!exits.is_empty()).then(|| after_exit(&exits)));
            let silent = without_session(report);
            let is_common = 2 * silent > report.cases.len();
            steps.extend(is_common.then(|| {
                let cases = count(silent, "case", "cases");
                format!("{cases} got no answer to session/new, or were skipped because of that: fix that first")
            }));
            let login = reason("login-required");
            // A model for an agent that exits at each prompt would never be asked. An agent without one may call the
            // same tool at each prompt.
            let is_common = |reason: &&ReasonReport| 4 * reason.cases.len() > report.cases.len();
            let idle = reason("prompt-not-followed").filter(|_| exits.is_empty());
            let idle = idle.filter(|reason| is_common(reason) || !calls_tools(&report.requirements));
            let fitting = if profile.is_none() && (login.is_some() || idle.is_some()) {
                let SubjectInfo { command, name, .. } = &report.subject;
                fitting_profile(Party::Agent, command, name.as_deref(), bundle)
            } else {
                None
            };
            steps.extend(login.map(|reason| after_login(reason, fitting.as_deref())));
            steps.extend(idle.filter(|_| login.is_none()).map(|reason| {
                without_tools(reason, subject.mentions_model(), !report.model.is_empty(), fitting.as_deref())
            }));
        }
        Party::Client => steps.extend(missing_controls(reason("unknown-act"), reason("unknown-setting"))),
    }
    let failed = worst_first(&report.requirements).into_iter().next();
    steps.extend(failed.map(|requirement| {
        let id = &requirement.id;
        format!("`acp-conformance explain {id}` shows a correct exchange, and often how to fix the failure with an SDK")
    }));
    let other = report.subject.other_versions.iter().filter(|_| !one_of_several);
    steps.extend(other.filter_map(|version| in_other_version(*version, subject.party)));
    steps.truncate(MOST);
    steps
}

/// Returns the number of cases that the agent left without an answer to `session/new`.
fn without_session(report: &RunReport) -> usize {
    let missing = report.reasons.iter().filter(|reason| reason.kind == "message-missing");
    missing.filter_map(|reason| reason.about.get("session/new")).sum()
}

/// Names the option for the version that the subject speaks, if this suite has it.
fn in_its_version(reason: &ReasonReport, party: Party) -> Option<String> {
    let version = reason.about.keys().next()?;
    Editions::built_in().of_major(version.parse().ok()?)?;
    Some(format!("the {party} speaks version {version} of the protocol; --protocol v{version} tests it"))
}

/// Names the option for all versions, if the subject also speaks one that this suite has.
fn in_other_version(version: u64, party: Party) -> Option<String> {
    let stage = edition_stage(Editions::built_in().of_major(version)?.name());
    let stage = stage.map_or_else(String::new, |stage| format!(" ({stage})"));
    Some(format!("the {party} also speaks version {version}{stage} of the protocol; --protocol all tests each version"))
}

/// Names the last words of an agent that exits by itself, which hides everything after that.
fn after_exit(exits: &[&CaseReport]) -> String {
    let cases = count(exits.len(), "case", "cases");
    match exits.iter().find_map(|case| case.stderr.last()) {
        Some(last) => {
            format!("the agent exits by itself in {cases}; its standard error ends with `{last}`: fix that first")
        }
        None => format!("the agent exits by itself in {cases} and writes nothing to standard error: fix that first"),
    }
}

fn after_login(reason: &ReasonReport, fitting: Option<&str>) -> String {
    let cases = count(reason.cases.len(), "case needs", "cases need");
    match fitting {
        Some(name) => format!("{cases} a login; the built-in profile works without one: --profile {name}"),
        None => format!(
            "{cases} a login: give the agent its key (--env NAME=VALUE), let it use your own login (--keep-home), point it to \
             the scripted model (--env OPENAI_BASE_URL={{model}}/v1 --env OPENAI_API_KEY=none), or let the harness log in \
             (--login METHOD)"
        ),
    }
}

fn without_tools(reason: &ReasonReport, wants_model: bool, asked_model: bool, fitting: Option<&str>) -> String {
    let cases = count(reason.cases.len(), "case needs", "cases need");
    match fitting {
        Some(name) => {
            format!("{cases} an agent that calls tools; a built-in profile has a model for it: --profile {name}")
        }
        None if asked_model => {
            format!(
                "{cases} an agent that does what the scripted model answers, mostly by calls of tools; -v lists what \
                 the model was asked"
            )
        }
        None if wants_model => {
            format!("{cases} an agent that calls tools; it never asked the scripted model at {{model}}")
        }
        None => format!(
            "{cases} an agent that calls tools. Point its model to the scripted one, for example --env OPENAI_BASE_URL={{model}}/v1 \
             --env OPENAI_API_KEY=none (Anthropic: ANTHROPIC_BASE_URL={{model}}); see `acp-conformance model --help`"
        ),
    }
}

/// Names the acts and settings whose description would decide most cases.
fn missing_controls(acts: Option<&ReasonReport>, settings: Option<&ReasonReport>) -> Option<String> {
    const SHOWN: usize = 4;
    let named = |option: &'static str, reason: Option<&ReasonReport>| {
        let about = reason.into_iter().flat_map(|reason| reason.about.clone());
        let shown = |name: &str| match name.split_once(" with ") {
            Some((act, place)) => format!("{option} {act}=… with {place}"),
            None => format!("{option} {name}=…"),
        };
        about.map(|(name, cases)| (cases, shown(&name))).collect::<Vec<_>>()
    };
    let mut all = [named("--act", acts), named("--setting", settings)].concat();
    all.sort_by_key(|(cases, _)| Reverse(*cases));
    if all.is_empty() {
        return None;
    }
    let shown: Vec<String> =
        all.iter().take(SHOWN).map(|(cases, name)| format!("{name} ({})", count(*cases, "case", "cases"))).collect();
    Some(format!(
        "most cases would be decided by {}; a profile can hold them, see `acp-conformance client --help`",
        shown.join(", ")
    ))
}

/// Returns the name of the built-in profile of a subject: the one with its name or its program.
pub fn fitting_profile(
    party: Party,
    command: &[String],
    name: Option<&str>,
    bundle: &'static Bundle,
) -> Option<String> {
    let program = command.first().and_then(|word| Some(Path::new(word).file_name()?.to_string_lossy().into_owned()));
    // Several profiles start an interpreter.
    let program = program.filter(|program| !["python3", "node", "sh"].contains(&program.as_str()));
    let fits = |profile: &Profile| {
        let same_program = program.is_some() && profile.command.first() == program.as_ref();
        let same_name = name
            .is_some_and(|name| name.eq_ignore_ascii_case(&profile.name) || name.eq_ignore_ascii_case(&profile.title));
        profile.kind == party && (same_program || same_name)
    };
    let (profiles, _) = built_in_profiles(bundle).ok()?;
    profiles.into_iter().find(fits).map(|profile| profile.name)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::edition::V1;
    use crate::results::Collector;

    fn advice_for(party: Party, command: &str, reasons: serde_json::Value) -> Vec<String> {
        let collector = Collector::new(V1.edition(), party, vec![command.to_owned()]);
        let mut report = collector.finish(Duration::ZERO, false);
        report.reasons = serde_json::from_value(reasons).expect("reasons");
        let subject = Subject { party, ..Subject::agent(vec![command.to_owned()], PathBuf::new()) };
        next_steps(&report, &subject, None, &V1, false)
    }

    #[test]
    fn agent_without_tools_or_login_is_led_to_a_model_or_profile() {
        let reason = |kind: &str| json!([{ "verdict": "inconclusive", "kind": kind, "text": "", "cases": ["a", "b"] }]);
        let steps = advice_for(Party::Agent, "mine", reason("prompt-not-followed"));
        assert!(
            steps[0].starts_with("2 cases need an agent that calls tools") && steps[0].contains("{model}/v1"),
            "{steps:?}"
        );
        let steps = advice_for(Party::Agent, "/usr/bin/opencode", reason("prompt-not-followed"));
        assert!(steps[0].ends_with("--profile opencode"), "{steps:?}");
        let steps = advice_for(Party::Agent, "mine", reason("login-required"));
        assert!(steps[0].contains("--keep-home"), "{steps:?}");
        assert!(advice_for(Party::Agent, "mine", reason("subject-ended")).is_empty());
    }

    #[test]
    fn agent_that_exits_at_prompts_is_not_led_to_a_model() {
        let mut report = Collector::new(V1.edition(), Party::Agent, Vec::new()).finish(Duration::ZERO, false);
        let reason = json!([{ "verdict": "inconclusive", "kind": "prompt-not-followed", "text": "", "cases": ["a"] }]);
        report.reasons = serde_json::from_value(reason).expect("reasons");
        let case =
            json!({ "id": "b", "verdict": "fail", "durationMs": 1, "stderr": ["Traceback", "RuntimeError: no key"] });
        report.cases = vec![serde_json::from_value(case).expect("a case")];
        let finding = json!({
            "case": "b", "verdict": "fail", "kind": "exited-before-response", "text": "", "party": "agent", "events": [], "lines": [],
        });
        let failed =
            report.requirements.iter_mut().find(|requirement| requirement.id == "jsonrpc.response-always.agent");
        failed.expect("the requirement").findings.push(serde_json::from_value(finding).expect("a finding"));
        let subject = Subject::agent(vec!["mine".to_owned()], PathBuf::new());
        let steps = next_steps(&report, &subject, None, &V1, false);
        assert_eq!(
            steps,
            [
                "the agent exits by itself in 1 case; its standard error ends with `RuntimeError: no key`: fix that first"
            ]
        );
    }

    #[test]
    fn subject_of_another_version_is_tested_in_it() {
        let reason = |version: &str| json!([{ "verdict": "not-applicable", "kind": "protocol-version", "about": { version: 2 }, "text": "", "cases": ["a", "b"] }]);
        let steps = advice_for(Party::Agent, "mine", reason("2"));
        assert_eq!(steps, ["the agent speaks version 2 of the protocol; --protocol v2 tests it"]);
        assert!(advice_for(Party::Agent, "mine", reason("3")).is_empty());
    }

    #[test]
    fn subject_of_several_versions_is_tested_in_each() {
        let mut report = Collector::new(V1.edition(), Party::Agent, Vec::new()).finish(Duration::ZERO, false);
        report.subject.other_versions = vec![2, 3];
        let subject = Subject::agent(vec!["mine".to_owned()], PathBuf::new());
        let steps = |one_of_several| next_steps(&report, &subject, None, &V1, one_of_several);
        assert_eq!(
            steps(false),
            ["the agent also speaks version 2 (preview) of the protocol; --protocol all tests each version"]
        );
        assert!(steps(true).is_empty());
    }

    #[test]
    fn client_is_told_the_acts_that_unlock_most_cases() {
        let reason = json!([
            { "verdict": "inconclusive", "kind": "unknown-act", "about": { "cancel": 9, "list": 2, "prompt with {attach}": 7 }, "text": "", "cases": [] },
            { "verdict": "inconclusive", "kind": "unknown-setting", "about": { "mcp-servers": 5 }, "text": "", "cases": [] },
        ]);
        let steps = advice_for(Party::Client, "mine", reason);
        let order = "--act cancel=… (9 cases), --act prompt=… with {attach} (7 cases), --setting mcp-servers=… (5 cases), \
                     --act list=… (2 cases)";
        assert!(steps[0].contains(order), "{steps:?}");
    }
}
