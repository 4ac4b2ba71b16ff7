//! Many subjects in one Markdown page: a table of results, then the violations of each subject. It contains only verdicts and
//! the first finding of each; links lead into `requirements/` next to the page, which is `docs/requirements/`.

use std::cmp::Reverse;
use std::io::{self, Write};

use super::markdown::broken_table;
use super::visible::in_markdown;
use super::words::{count, is_draft, partial, protocol, protocol_version, requirement_folder};
use crate::edition::Editions;
use crate::requirement::{Area, Flag, Level, Party, Requirement, page};
use crate::results::{Driven, RequirementReport, RunReport};
use crate::trace::SCRATCH;
use crate::verdict::Verdict;

/// The text for unknown values.
const UNKNOWN: &str = "unknown";

const INTRODUCTION: &str = "\
One run of each subject, which says nothing about other versions or settings of it. A requirement was *exercised* when \
something happened that could have broken it; what is left open was exercised and could not be decided. A mistake \
that violates several requirements counts only for the most specific one, which names the others. In what was seen, `CASE` stands for the folder that a case has for itself. The last columns count the requirements of a group that were \
kept and broken, MUST and SHOULD together, with `–` where none was decided:";

/// A group of requirements with its own column.
struct Group {
    name: &'static str,
    what: &'static str,
    holds: fn(&Requirement) -> bool,
}

const GROUPS: [Group; 5] = [
    Group { name: "files", what: "`fs/read_text_file` and `fs/write_text_file`", holds: |r| r.area() == Area::FS },
    Group {
        name: "tools",
        what: "tool calls and terminals",
        holds: |r| [Area::TOOL, Area::TERMINAL].contains(&r.area()),
    },
    Group { name: "permission", what: "requests for permission", holds: |r| r.area() == Area::PERMISSION },
    Group { name: "cancel", what: "a turn that is cancelled midway", holds: |r| r.area() == Area::CANCEL },
    Group {
        name: "gates",
        what: "nothing is used that the other side did not offer; some of these stand in other groups too",
        holds: |r| r.flags.contains(&Flag::Capability),
    },
];

/// Returns the requirements of a report that the catalogue of its edition describes, each with its entry there.
fn described(report: &RunReport) -> impl Iterator<Item = (&RequirementReport, &'static Requirement)> {
    let bundle = Editions::built_in().named(&report.suite.edition).ok();
    report.requirements.iter().filter_map(move |found| Some((found, bundle?.catalogue().find(&found.id)?)))
}

/// Writes the page, first agents and then clients, each sorted by name.
///
/// # Errors
///
/// Errors of the stream.
pub fn write_subjects(mut reports: Vec<RunReport>, out: &mut dyn Write) -> io::Result<()> {
    reports.sort_by(|a, b| order(a).cmp(&order(b)));
    let requirements = reports.iter_mut().flat_map(|report| &mut report.requirements);
    for finding in requirements.flat_map(|requirement| &mut requirement.findings) {
        finding.text = without_scratch(&finding.text);
    }
    writeln!(out, "# Subjects\n\n{INTRODUCTION}\n")?;
    for Group { name, what, .. } in GROUPS {
        writeln!(out, "- **{name}**: {what}")?;
    }
    table(&reports, out)?;
    reports.iter().try_for_each(|report| section(report, out))?;
    out.flush()
}

/// Returns the message without the folder of the case, which differs in each run.
fn without_scratch(message: &str) -> String {
    let (mut cleaned, mut rest) = (String::new(), message);
    while let Some(at) = rest.find(SCRATCH) {
        let begin = rest[..at].rfind([' ', '"', '`', '=', ':', '(']).map_or(0, |before| before + 1);
        let end = rest[at..].find(['/', ' ', '"', '`', ')']).map_or(rest.len(), |length| at + length);
        cleaned = cleaned + &rest[..begin] + "CASE";
        rest = &rest[end..];
    }
    cleaned + rest
}

fn order(report: &RunReport) -> (Party, String, Reverse<&str>) {
    (report.subject.kind, title(report).to_lowercase(), Reverse(date(report)))
}

fn table(reports: &[RunReport], out: &mut dyn Write) -> io::Result<()> {
    let groups = GROUPS.map(|group| group.name).join(" | ");
    writeln!(
        out,
        "\n| subject | kind | version | protocol | from | run on | verdict | exercised | kept | MUST broken | SHOULD broken | left open | {groups} |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|--:|--:|--:|--:|--:{}|", "|:-:".repeat(GROUPS.len()))?;
    for report in reports {
        let count = |verdict| report.requirements.iter().filter(|r| r.verdict == verdict).count();
        let (kept, open) = (count(Verdict::Pass), count(Verdict::Inconclusive));
        let same = report.requirements.iter().filter(|r| !r.same_as.is_empty()).count();
        let (musts, shoulds) = (broken(report, Level::Must).count(), broken(report, Level::Should).count());
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {kept} | {musts} | {shoulds} | {open} | {} |",
            named(report),
            report.subject.kind,
            in_markdown(version(report)),
            protocol_version(&report.suite.edition).unwrap_or_else(|| in_markdown(&report.suite.edition)),
            origin(report),
            in_markdown(date(report)),
            verdict(report),
            kept + musts + shoulds + same + open,
            GROUPS.map(|group| cell(report, &group)).join(" | "),
        )?;
    }
    Ok(())
}

/// Returns the verdict, with a mark for a run that ended early.
fn verdict(report: &RunReport) -> String {
    format!("{}{}", report.verdict.name(), if report.partial.is_some() { " (partial)" } else { "" })
}

/// Returns the numbers of satisfied and violated requirements of a group.
fn cell(report: &RunReport, group: &Group) -> String {
    let of_group = || described(report).filter(|(_, known)| (group.holds)(known)).map(|(found, _)| found);
    let kept = of_group().filter(|r| r.verdict == Verdict::Pass).count();
    match (kept, of_group().filter(|r| r.fails()).count()) {
        (0, 0) => "–".to_owned(),
        (kept, broken) => format!("{kept} / {broken}"),
    }
}

fn section(report: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let subject = &report.subject;
    // A subject may have a section for each version of the protocol.
    let draft = protocol_version(&report.suite.edition).filter(|_| is_draft(&report.suite.edition));
    let draft = draft.map(|draft| format!(", protocol version {draft}")).unwrap_or_default();
    writeln!(out, "\n## {} {}{draft}\n", named(report), in_markdown(version(report)))?;
    let driven = if subject.driven == Some(Driven::Manual) { ", driven by hand" } else { "" };
    let suite = &report.suite;
    let cases = count(report.cases.len(), "case was", "cases were");
    writeln!(
        out,
        "{cases} run{driven} by acp-conformance {} against {}.",
        in_markdown(&suite.version),
        in_markdown(&protocol(&suite.edition))
    )?;
    if let Some(cut) = report.partial {
        writeln!(out, "**Partial:** {}.", partial(cut))?;
    }
    if let Some(install) = subject.profile.as_ref().and_then(|profile| profile.install.as_deref()) {
        writeln!(out, "Installed by: {}.", in_markdown(install.trim_end_matches('.')))?;
    }
    let folder = requirement_folder(&report.suite.edition);
    let linked =
        |requirement: &RequirementReport| format!("[{0}]({folder}/{1})", requirement.id, page(&requirement.id));
    let [musts, shoulds] = [Level::Must, Level::Should].map(|level| broken(report, level).collect::<Vec<_>>());
    let failed = [musts, shoulds].concat();
    if !failed.is_empty() {
        writeln!(out)?;
        broken_table(&failed, &linked, out)?;
    }
    let open = report.requirements.iter().filter(|r| r.verdict == Verdict::Inconclusive);
    let open: Vec<String> = open.map(&linked).collect();
    if !open.is_empty() {
        writeln!(out, "\nLeft open: {}.", open.join(", "))?;
    }
    Ok(())
}

/// Returns the requirements of a level that a subject violates.
pub(super) fn broken(report: &RunReport, level: Level) -> impl Iterator<Item = &RequirementReport> {
    report.requirements.iter().filter(move |r| r.level == level && r.fails())
}

/// Returns the name for people: that of the profile, or else the subject's own.
pub(super) fn title(report: &RunReport) -> &str {
    let subject = &report.subject;
    let of_profile = subject.profile.as_ref().map(|profile| profile.title.as_str());
    of_profile.or(subject.name.as_deref()).unwrap_or(UNKNOWN)
}

/// Returns the name for people, and the subject's own name if it differs.
fn named(report: &RunReport) -> String {
    let title = title(report);
    match report.subject.name.as_deref() {
        Some(name) if !name.eq_ignore_ascii_case(title) => format!("{} ({})", in_markdown(title), in_markdown(name)),
        _ => in_markdown(title),
    }
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

/// Returns the link to the page of the subject, named by its host.
fn origin(report: &RunReport) -> String {
    let Some(page) = report.subject.profile.as_ref().and_then(|profile| profile.homepage.as_deref()) else {
        return UNKNOWN.to_owned();
    };
    let Some(rest) = page.strip_prefix("https://").filter(|rest| rest.chars().all(is_plain)) else {
        return in_markdown(page);
    };
    let host = rest.split('/').next().unwrap_or(rest);
    format!("[{}]({page})", host.trim_start_matches("www."))
}

/// Whether a character of an address has no meaning in Markdown.
const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-' | '@' | '%' | '+')
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::edition::{V1, V2};
    use crate::results::Collector;
    use crate::results::{Partial, PartialReason};

    fn page(report: &RunReport) -> String {
        let mut page = Vec::new();
        write_subjects(vec![report.clone()], &mut page).expect("a vector takes everything");
        String::from_utf8(page).expect("a page is UTF-8")
    }

    #[test]
    fn a_draft_is_named_and_has_its_own_pages() {
        let mut report = Collector::new(V2.edition(), Party::Agent, Vec::new()).finish(Duration::ZERO, false);
        let requirement = report.requirements.iter_mut().find(|requirement| requirement.id == "config.shape");
        requirement.expect("a requirement of version 2").verdict = Verdict::Fail;
        let page = page(&report);
        assert!(page.contains("| unknown | agent | unknown | 2 (draft) |"), "{page}");
        assert!(page.contains("## unknown unknown, protocol version 2 (draft)"), "{page}");
        assert!(page.contains("](requirements-v2/config.md#configshape)"), "{page}");
    }

    #[test]
    fn a_partial_report_is_marked() {
        let mut report = Collector::new(V1.edition(), Party::Agent, Vec::new()).finish(Duration::ZERO, false);
        assert!(!page(&report).to_lowercase().contains("partial"));
        report.partial = Some(Partial { reason: PartialReason::TimeLimit, not_run: 3 });
        let page = page(&report);
        assert!(page.contains("| incomplete (partial) |"), "{page}");
        assert!(page.contains("**Partial:** the run reached its time limit; 3 cases were not run."), "{page}");
    }

    #[test]
    fn every_group_has_requirements() {
        for group in GROUPS {
            assert!(V1.catalogue().iter().any(|requirement| (group.holds)(requirement)), "{}", group.name);
        }
    }

    #[test]
    fn the_folder_of_a_case_is_left_out() {
        let path = format!("/var/tmp/{SCRATCH}R8w9Z9");
        let cleaned = without_scratch(&format!("no file {path}/work/a b; started with \"{path}/home `id`\" in {path}"));
        assert_eq!(cleaned, "no file CASE/work/a b; started with \"CASE/home `id`\" in CASE");
        assert_eq!(without_scratch("expected no file notes.txt"), "expected no file notes.txt");
    }
}
