//! The runs of many subjects, sorted: the newest run of each subject, and its earlier runs.

mod markdown;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub use self::markdown::write_board_markdown;
use crate::requirement::{Level, Party};
use crate::results::{RequirementReport, RunReport};

/// The text for unknown values.
const UNKNOWN: &str = "unknown";

/// The longest name of a file that [`file_name`] makes, without its extension.
const LONGEST: usize = 100;

/// A run on a board.
#[derive(Debug)]
pub struct BoardRun {
    /// Its report.
    pub report: RunReport,
    /// The address of its page, from the board.
    pub page: String,
}

/// An agent that the board lists whether it has a run or not, such as the entry of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedAgent {
    /// The name for people.
    pub name: String,
    /// The version.
    pub version: String,
    /// How it was installed.
    pub origin: String,
    /// Its result, or the reason why it has none.
    pub result: String,
    /// Whether it satisfies the registry's own rule, and why not.
    pub login: String,
    /// The last lines of its standard error, if it has no result.
    pub stderr: Vec<String>,
}

/// A subject of a board: one program, as one party, in one edition and over one transport.
#[derive(Debug)]
pub(super) struct BoardSubject<'r> {
    pub(super) newest: &'r BoardRun,
    /// Its earlier runs, the newest first.
    pub(super) earlier: Vec<&'r BoardRun>,
}

/// What runs of the same subject have in common: the party, the name in lower case, the edition and the transport.
type Identity<'r> = (Party, String, &'r str, &'r str);

/// Returns the name of the profile, which people choose, or else the subject's own name or its command.
fn identity(report: &RunReport) -> Identity<'_> {
    let profile = report.subject.profile.as_ref().map(|profile| profile.name.to_lowercase());
    let name = profile.unwrap_or_else(|| super::name(&report.subject).to_lowercase());
    (report.subject.kind, name, &report.suite.edition, &report.suite.transport)
}

/// Groups runs by their subject: first agents and then clients, by title. A run without a date is older than the
/// others; of two runs with the same date, the later one of the list is newer. Equal reports count once.
pub(super) fn subjects(runs: &[BoardRun]) -> Vec<BoardSubject<'_>> {
    let mut groups: BTreeMap<Identity<'_>, Vec<&BoardRun>> = BTreeMap::new();
    for run in runs {
        let group = groups.entry(identity(&run.report)).or_default();
        if !group.iter().any(|known| known.report == run.report) {
            group.push(run);
        }
    }
    let mut subjects: Vec<BoardSubject<'_>> = Vec::new();
    for mut group in groups.into_values() {
        group.reverse();
        group.sort_by_key(|run| Reverse(run.report.began.as_deref()));
        let mut group = group.into_iter();
        subjects.extend(group.next().map(|newest| BoardSubject { newest, earlier: group.collect() }));
    }
    subjects.sort_by_cached_key(|subject| {
        let report = &subject.newest.report;
        (report.subject.kind, title(report).to_lowercase())
    });
    subjects
}

/// Returns the requirements of a level that a subject violates.
pub(super) fn broken(report: &RunReport, level: Level) -> impl Iterator<Item = &RequirementReport> {
    report.requirements.iter().filter(move |r| r.level == level && r.fails())
}

/// Returns the name for people: that of the profile, or else the subject's own, or else that of its program.
pub(super) fn title(report: &RunReport) -> Cow<'_, str> {
    let subject = &report.subject;
    let of_profile = subject.profile.as_ref().map(|profile| profile.title.as_str());
    of_profile.or(subject.name.as_deref()).map_or_else(|| Cow::Owned(super::name(subject)), Cow::Borrowed)
}

/// Returns the version that the subject reported, or else the installed one.
pub(super) fn version(report: &RunReport) -> &str {
    let subject = &report.subject;
    let installed = subject.profile.as_ref().and_then(|profile| profile.version.as_deref());
    subject.version.as_deref().or(installed).unwrap_or(UNKNOWN)
}

/// Returns the day on which the run began.
pub(super) fn date(report: &RunReport) -> &str {
    report.began.as_deref().map_or(UNKNOWN, |began| began.split('T').next().unwrap_or(began))
}

/// Returns the major of the protocol, such as `v1`.
pub(super) fn major(report: &RunReport) -> &str {
    report.suite.edition.split('@').next().unwrap_or_default()
}

/// Returns a name for the file of a run, without its extension: lower-case ASCII letters, digits, dots and dashes.
pub fn file_name(report: &RunReport) -> String {
    let party = report.subject.kind.name();
    let title = title(report);
    let parts = [party, &title, version(report), major(report), &report.suite.transport, date(report)];
    let mut name = String::new();
    for c in parts.join("-").to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            '.' if name.ends_with(|last: char| last.is_ascii_digit()) => name.push(c),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    // The date at the end distinguishes runs; a long title does not.
    let cut = name.len().saturating_sub(LONGEST);
    name[cut..].trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::edition::{V1, V2};
    use crate::results::Collector;
    use crate::results::ProfileInfo;

    fn run(kind: Party, name: &str, began: Option<&str>) -> BoardRun {
        let mut report = Collector::new(V1.edition(), kind, Vec::new()).finish(Duration::ZERO, false);
        report.subject.name = Some(name.to_owned());
        report.subject.version = Some("1.0".to_owned());
        report.began = began.map(str::to_owned);
        BoardRun { page: format!("{name}-{}.html", began.unwrap_or("undated")), report }
    }

    fn shown(runs: &[BoardRun]) -> Vec<String> {
        let subject = |subject: BoardSubject<'_>| {
            let earlier: Vec<&str> = subject.earlier.iter().map(|run| run.page.as_str()).collect();
            format!("{} [{}]", subject.newest.page, earlier.join(" "))
        };
        subjects(runs).into_iter().map(subject).collect()
    }

    #[test]
    fn newest_run_of_a_subject_comes_first() {
        let (old, new) = (Some("2026-11-01T00:00:00Z"), Some("2026-11-02T00:00:00Z"));
        let runs = [
            run(Party::Client, "a", new),
            run(Party::Agent, "b", None),
            run(Party::Agent, "B", new),
            run(Party::Agent, "b", old),
            run(Party::Agent, "a", new),
        ];
        let [newest, dated] = ["B-2026-11-02T00:00:00Z.html", "b-2026-11-01T00:00:00Z.html"];
        assert_eq!(
            shown(&runs),
            [
                "a-2026-11-02T00:00:00Z.html []".to_owned(),
                format!("{newest} [{dated} b-undated.html]"),
                "a-2026-11-02T00:00:00Z.html []".to_owned(),
            ]
        );
    }

    #[test]
    fn equal_reports_count_once() {
        let runs = [run(Party::Agent, "a", None), run(Party::Agent, "a", None)];
        assert_eq!(shown(&runs), ["a-undated.html []"]);
    }

    #[test]
    fn editions_and_transports_are_separate_subjects() {
        let mut runs: Vec<BoardRun> = (0..3).map(|_| run(Party::Agent, "a", None)).collect();
        V2.name().clone_into(&mut runs[1].report.suite.edition);
        "ws".clone_into(&mut runs[2].report.suite.transport);
        assert_eq!(shown(&runs).len(), 3);
    }

    #[test]
    fn profile_names_the_subject() {
        let mut runs = [run(Party::Agent, "a", None), run(Party::Agent, "A new name", None)];
        for run in &mut runs {
            let profile = ProfileInfo {
                name: "p".to_owned(),
                title: "P".to_owned(),
                homepage: None,
                install: None,
                version: None,
            };
            run.report.subject.profile = Some(Box::new(profile));
        }
        assert_eq!(shown(&runs), ["A new name-undated.html [a-undated.html]"]);
    }

    #[test]
    fn a_subject_without_a_name_has_that_of_its_program() {
        let mut report = run(Party::Agent, "a", None).report;
        report.subject.name = None;
        report.subject.command = vec!["/usr/bin/python3".to_owned(), "agent.py".to_owned()];
        assert_eq!(title(&report), "unnamed agent (python3 agent.py)");
    }

    #[test]
    fn file_names_contain_only_harmless_characters() {
        let mut hostile = run(Party::Agent, "../../<b>É..x", Some("2026-11-01T00:00:00Z")).report;
        assert_eq!(file_name(&hostile), "agent-b-x-1.0-v1-stdio-2026-11-01");
        hostile.subject.name = Some("a".repeat(500));
        let name = file_name(&hostile);
        assert!(name.len() <= LONGEST && name.ends_with("a-1.0-v1-stdio-2026-11-01"), "{name}");
    }
}
