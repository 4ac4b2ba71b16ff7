//! Words that several forms of the report share.

use std::collections::BTreeMap;

use crate::case::model::Case;
use crate::protocol::{edition_label, edition_stage};
use crate::requirement::{Level, Transport};
use crate::results::{CaseReport, Partial, PartialReason, ReasonReport, Repeated, RunReport, SubjectInfo, SuiteInfo};
use crate::verdict::{Conformance, Verdict};

/// Returns the name of a level in lists of requirements.
pub(super) const fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::MayProbe => "MAY",
    }
}

/// Returns a number with its noun.
pub(crate) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Returns the name of the subject with its version, as far as they are known.
pub(super) fn subject(report: &RunReport) -> String {
    let name = name(&report.subject);
    report.subject.known_version().map_or_else(|| name.clone(), |version| format!("{name} {version}"))
}

/// Returns the subject's own name, or that in its profile, or else its party with the name of its program.
pub(crate) fn name(subject: &SubjectInfo) -> String {
    if let Some(name) = subject.known_name() {
        return name.to_owned();
    }
    let program = subject.command.iter().take_while(|word| !word.starts_with('-') && !word.contains('{'));
    let words: Vec<&str> = program.map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
    let program = if words.is_empty() { String::new() } else { format!(" ({})", words.join(" ")) };
    format!("unnamed {}{program}", subject.kind)
}

/// Describes the edition of the protocol, such as `ACP version 1, schema of 2026-11-20`.
pub(crate) fn protocol(edition: &str) -> String {
    match edition.split_once('@').zip(protocol_version(edition)) {
        Some(((_, schema), version)) => format!("ACP version {version}, schema of {schema}"),
        None => format!("ACP edition {}", edition_label(edition)),
    }
}

/// Describes the edition of the protocol, and its transport if that is not the usual one.
pub(crate) fn protocol_of(suite: &SuiteInfo) -> String {
    let text = protocol(&suite.edition);
    match Transport::named(&suite.transport).filter(|transport| !transport.is_stdio()) {
        Some(transport) => format!("{text}, over {}", transport.title()),
        None => text,
    }
}

/// Returns the version of the protocol of an edition, such as `2 (preview)`.
pub(super) fn protocol_version(edition: &str) -> Option<String> {
    let (major, _) = edition.strip_prefix('v')?.split_once('@')?;
    Some(match edition_stage(edition) {
        Some(stage) => format!("{major} ({stage})"),
        None => major.to_owned(),
    })
}

/// Whether an edition is not stable: a draft or a preview of the protocol.
pub(super) fn is_draft(edition: &str) -> bool {
    edition_stage(edition).is_some()
}

/// Returns the number of MUSTs that failed in one process, which no second one confirmed.
fn unconfirmed(report: &RunReport) -> usize {
    report.requirements.iter().filter(|one| one.level == Level::Must && one.seems_to_fail()).count()
}

/// Returns the refusal or the missing session that left at least a third of the cases undecided, and their number.
fn refused(report: &RunReport) -> Option<(&str, usize)> {
    let no_session =
        |reason: &ReasonReport| reason.kind == "message-missing" && reason.about.contains_key("session/new");
    let reasons = report.reasons.iter().filter(|reason| reason.kind == "refused" || no_session(reason));
    let most = reasons.max_by_key(|reason| reason.cases.len())?;
    let text = if no_session(most) { "the agent does not answer session/new" } else { &most.text };
    (3 * most.cases.len() >= report.cases.len()).then_some((text, most.cases.len()))
}

/// Whether no case of the run applies to the subject.
pub(super) fn all_inapplicable(report: &RunReport) -> bool {
    report.cases.iter().all(|case| case.verdict == Verdict::NotApplicable)
}

/// Explains the verdict, without a full stop.
pub(super) fn outcome(report: &RunReport) -> String {
    let failed = |level| report.requirements.iter().filter(|one| one.level == level && one.fails()).count();
    match report.verdict {
        Conformance::Conformant => {
            "Every MUST that applies and that a program can decide was exercised and satisfied".to_owned()
        }
        Conformance::Passed if !report.all_passed(|_| false) => {
            "The selected cases exercised every MUST that applies and that a program can decide, and none failed"
                .to_owned()
        }
        Conformance::Passed if all_inapplicable(report) => "No selected case applies".to_owned(),
        Conformance::Passed if report.cases.iter().any(|case| case.verdict == Verdict::Inconclusive) => {
            "No selected case failed, and each exercised some of its requirements".to_owned()
        }
        Conformance::Passed => "Every selected case passed".to_owned(),
        Conformance::Incomplete if report.is_of_other_version() => {
            "No selected case applies, since the subject speaks another version of the protocol".to_owned()
        }
        Conformance::Incomplete => match unconfirmed(report) {
            0 => match refused(report) {
                Some((reason, cases)) => {
                    format!("No MUST failed, but {cases} of {} cases say nothing: {reason}", report.cases.len())
                }
                None => "No MUST failed, but some that apply were not exercised or not decided".to_owned(),
            },
            seen => {
                let musts = count(seen, "MUST seems to fail: it was", "MUSTs seem to fail: they were");
                format!("{musts} seen to fail in one process, and no second one confirmed it")
            }
        },
        Conformance::NotConformant => {
            let musts = count(failed(Level::Must), "MUST", "MUSTs");
            let shoulds = failed(Level::Should);
            let failed = match (report.strict, shoulds) {
                (false, _) | (_, 0) => format!("{musts} failed"),
                _ => format!("{musts} and {} failed", count(shoulds, "SHOULD", "SHOULDs")),
            };
            match unconfirmed(report) {
                0 => failed,
                seen => format!("{failed}, and {} to fail, not confirmed", count(seen, "more seems", "more seem")),
            }
        }
        Conformance::HarnessError => {
            "acp-conformance itself failed, so this run says nothing about the subject".to_owned()
        }
    }
}

/// Explains why a report is partial, and how many cases it lacks.
pub(crate) fn partial(partial: Partial) -> String {
    let why = match partial.reason {
        PartialReason::Interrupted => "the run was interrupted",
        PartialReason::TimeLimit => "the run reached its time limit",
        PartialReason::FailFast => "the run stopped after a failed case",
        PartialReason::Quit => "the person ended the run",
    };
    if partial.not_run == 0 {
        return format!("{why} before every failure was confirmed");
    }
    format!("{why}; {} not run", count(partial.not_run, "case was", "cases were"))
}

/// Returns the verdicts with a count above zero.
pub(super) fn counts(counts: &BTreeMap<String, usize>) -> String {
    let known = Verdict::ALL.iter().filter_map(|verdict| Some((verdict, *counts.get(verdict.name())?)));
    let parts: Vec<_> = known.filter(|(_, n)| *n > 0).map(|(verdict, n)| format!("{n} {verdict}")).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(" · ") }
}

/// Returns how often each verdict came in the runs of a case, such as `2 pass · 1 fail`.
pub(super) fn times(verdicts: &BTreeMap<Verdict, usize>) -> String {
    let parts: Vec<String> = verdicts.iter().map(|(verdict, times)| format!("{times} {verdict}")).collect();
    parts.join(" · ")
}

/// Returns a line for each case whose verdict differs from run to run.
pub(super) fn unstable_cases(report: &RunReport) -> Vec<String> {
    let unstable = report.repeated.iter().flat_map(Repeated::unstable_cases);
    unstable.map(|(case, verdicts)| format!("{case}: {}", times(verdicts))).collect()
}

/// Returns the file of a case: the user's own, or the path of a built-in one below the sources of this program.
pub(super) fn file_of(case: &CaseReport) -> String {
    let own = case.file.as_deref().map(|file| file.strip_prefix("./").unwrap_or(file).to_owned());
    own.unwrap_or_else(|| format!("cases/{}.yaml", Case::file_of(&case.id)))
}

/// The placeholder for the id in the command that runs a case again.
pub const CASE_PLACE: &str = "{case}";

/// Returns the line with the command that runs a case again, after these in the same process; `None` if the subject
/// cannot be started. `command` has [`CASE_PLACE`] after `--case`. The line is quoted safely, since people paste it and
/// the report may come from a stranger.
pub(crate) fn reproduce(case: &str, after: &[String], command: &str) -> Option<String> {
    let cases = after.iter().map(String::as_str).chain([case]).map(|case| shell_words::quote(case).into_owned());
    let in_order = if after.is_empty() { "" } else { " --in-order" };
    let cases = cases.collect::<Vec<_>>().join(" --case ") + in_order;
    (!command.is_empty()).then(|| format!("reproduce: {}", command.replacen(CASE_PLACE, &cases, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(case: &str, after: &[&str]) -> String {
        let after: Vec<String> = after.iter().map(|case| (*case).to_owned()).collect();
        reproduce(case, &after, "acp-conformance agent --case {case} -- a").expect("a command")
    }

    #[test]
    fn a_subject_without_a_name_has_that_of_its_profile() {
        let of = |profile: serde_json::Value| -> SubjectInfo {
            let subject = serde_json::json!({ "kind": "agent", "command": ["/usr/bin/python3"], "name": null,
                "version": null, "profile": profile });
            serde_json::from_value(subject).expect("a subject")
        };
        assert_eq!(name(&of(serde_json::json!(null))), "unnamed agent (python3)");
        assert_eq!(name(&of(serde_json::json!({ "name": "crow", "title": "Crow" }))), "Crow");
    }

    #[test]
    fn reproduce_quotes_each_case_as_one_word() {
        assert_eq!(
            command("v1/agent/init/x@read,no-write", &[]),
            "reproduce: acp-conformance agent --case v1/agent/init/x@read,no-write -- a"
        );
        assert_eq!(command("x; rm y", &[]), "reproduce: acp-conformance agent --case 'x; rm y' -- a");
    }

    #[test]
    fn reproduce_names_the_cases_that_must_come_before() {
        assert_eq!(
            command("c", &["a", "b"]),
            "reproduce: acp-conformance agent --case a --case b --case c --in-order -- a"
        );
    }
}
