//! Words that several forms of the report share.

use std::collections::BTreeMap;

use super::model::{CaseReport, Partial, PartialReason, RunReport};
use crate::case::model::Case;
use crate::requirement::Level;
use crate::verdict::Verdict;

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

/// Returns a name with the number of its cases, if there are several.
pub(super) fn times(name: &str, cases: usize) -> String {
    if cases == 1 { name.to_owned() } else { format!("{name} ×{cases}") }
}

/// Returns the name of the subject with its version, as far as they are known.
pub(super) fn subject(report: &RunReport) -> String {
    match (&report.subject.name, &report.subject.version) {
        (Some(name), Some(version)) => format!("{name} {version}"),
        (Some(name), None) => name.clone(),
        (None, _) => format!("a program that gives no name ({})", report.subject.kind),
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
    format!("{why}; {} not run", count(partial.not_run, "case was", "cases were"))
}

/// Returns the verdicts with a count above zero.
pub(super) fn counts(counts: &BTreeMap<String, usize>) -> String {
    let known = Verdict::ALL.iter().filter_map(|verdict| Some((verdict, *counts.get(verdict.name())?)));
    let told: Vec<_> = known.filter(|(_, n)| *n > 0).map(|(verdict, n)| format!("{n} {verdict}")).collect();
    if told.is_empty() { "none".to_owned() } else { told.join(" · ") }
}

/// Returns the file of a case: the user's own, or the path of a built-in one below the sources of this program.
pub(super) fn file_of(case: &CaseReport) -> String {
    let own = case.file.as_deref().map(|file| file.strip_prefix("./").unwrap_or(file).to_owned());
    own.unwrap_or_else(|| format!("cases/{}.yaml", Case::file_of(&case.id)))
}

/// The placeholder for the id in the command that runs a case again.
pub const CASE_PLACE: &str = "{case}";

/// Returns the line with the command that runs a case again; `None` if the subject cannot be started. `command` has
/// [`CASE_PLACE`] at the place of the id. The line is quoted safely, since people paste it and the report may come from a
/// stranger.
pub(crate) fn reproduce(case: &str, command: &str) -> Option<String> {
    (!command.is_empty()).then(|| format!("reproduce: {}", command.replacen(CASE_PLACE, &shell_words::quote(case), 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_one_word_of_the_command_that_plays_it_again() {
        let command = |case| reproduce(case, "acp-conformance agent --case {case} -- a").expect("a command");
        assert_eq!(
            command("v1/agent/init/x@read,no-write"),
            "reproduce: acp-conformance agent --case v1/agent/init/x@read,no-write -- a"
        );
        assert_eq!(command("x; rm y"), "reproduce: acp-conformance agent --case 'x; rm y' -- a");
    }
}
