//! The board in Markdown: the newest run of each subject in a table, then its violations.

use std::io::{self, Write};

use super::{BoardRun, ListedAgent, broken, date, subjects, title, version};
use crate::report::markdown::{broken_table, linked};
use crate::report::visible::in_markdown;
use crate::report::words::{count, is_draft, partial, protocol_of, protocol_version};
use crate::requirement::Level;
use crate::results::{Driven, RunReport};
use crate::trace::SCRATCH;
use crate::verdict::Verdict;

const INTRODUCTION: &str = "\
One run per subject; other versions and settings may differ. A requirement was *exercised* when \
something happened that could have broken it; what is left open was exercised and could not be decided. A mistake \
that violates several requirements counts only for the most specific one, which names the others. In what was seen, \
`CASE` stands for the folder that a case has for itself. A subject that sent a part that only the newest schema of its \
version has follows this schema, as its section says; the messages of the others do not show which one they follow.

| subject | kind | version | protocol | run on | verdict | exercised | kept | MUST broken | SHOULD broken | left open |
|---|---|---|---|---|---|--:|--:|--:|--:|--:|";

const LISTED: &str = "\
## Entries of the registry

| agent | version | from | result | login rule |
|---|---|---|---|---|";

/// Writes the page: first agents and then clients, each sorted by title; at the end the listed agents.
pub fn write_board_markdown(runs: &[BoardRun], listed: &[ListedAgent], out: &mut dyn Write) -> io::Result<()> {
    let mut reports: Vec<RunReport> = subjects(runs).iter().map(|subject| subject.newest.report.clone()).collect();
    let requirements = reports.iter_mut().flat_map(|report| &mut report.requirements);
    for finding in requirements.flat_map(|requirement| &mut requirement.findings) {
        finding.text = without_scratch(&finding.text);
    }
    writeln!(out, "# Subjects\n\n{INTRODUCTION}")?;
    reports.iter().try_for_each(|report| row(report, out))?;
    reports.iter().try_for_each(|report| section(report, out))?;
    if !listed.is_empty() {
        writeln!(out, "\n{LISTED}")?;
        listed.iter().try_for_each(|agent| listed_row(agent, out))?;
    }
    out.flush()
}

fn listed_row(agent: &ListedAgent, out: &mut dyn Write) -> io::Result<()> {
    let ListedAgent { name, version, origin, result, login, stderr } = agent;
    let lines = stderr.iter().map(|line| format!("<br>{}", in_markdown(line))).collect::<String>();
    let cells = [name, version, origin].map(|text| in_markdown(text)).join(" | ");
    writeln!(out, "| {cells} | {}{lines} | {} |", in_markdown(result), in_markdown(login))
}

fn row(report: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let count = |verdict| report.requirements.iter().filter(|r| r.verdict == verdict).count();
    let (kept, open) = (count(Verdict::Pass), count(Verdict::Inconclusive));
    let same = report.requirements.iter().filter(|r| !r.same_as.is_empty()).count();
    let [musts, shoulds] = [Level::Must, Level::Should].map(|level| broken(report, level).count());
    let texts = [
        named(report),
        report.subject.kind.to_string(),
        in_markdown(version(report)),
        protocol_version(&report.suite.edition).unwrap_or_else(|| in_markdown(&report.suite.edition)),
        in_markdown(date(report)),
        format!("{}{}", report.verdict.name(), if report.partial.is_some() { " (partial)" } else { "" }),
    ];
    let numbers = [kept + musts + shoulds + same + open, kept, musts, shoulds, open].map(|n| n.to_string());
    writeln!(out, "| {} |", texts.into_iter().chain(numbers).collect::<Vec<_>>().join(" | "))
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
        in_markdown(&protocol_of(suite))
    )?;
    if subject.shows_edition {
        writeln!(out, "It sent parts that only this schema has.")?;
    }
    if let Some(cut) = report.partial {
        writeln!(out, "**Partial:** {}.", partial(cut))?;
    }
    if let Some(install) = subject.profile.as_ref().and_then(|profile| profile.install.as_deref()) {
        writeln!(out, "Installed by: {}.", in_markdown(install.trim_end_matches('.')))?;
    }
    let failed: Vec<_> = [Level::Must, Level::Should].into_iter().flat_map(|level| broken(report, level)).collect();
    if !failed.is_empty() {
        writeln!(out)?;
        broken_table(&failed, out)?;
    }
    let open = report.requirements.iter().filter(|r| r.verdict == Verdict::Inconclusive);
    let open: Vec<String> = open.map(linked).collect();
    if open.is_empty() { Ok(()) } else { writeln!(out, "\nLeft open: {}.", open.join(", ")) }
}

/// Returns the name for people, and the subject's own name if it differs.
fn named(report: &RunReport) -> String {
    let title = &*title(report);
    match report.subject.name.as_deref() {
        Some(name) if !name.eq_ignore_ascii_case(title) => format!("{} ({})", in_markdown(title), in_markdown(name)),
        _ => in_markdown(title),
    }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::edition::{V1, V2};
    use crate::requirement::Party;
    use crate::results::{Collector, Partial, PartialReason};

    fn page(report: &RunReport) -> String {
        let mut page = Vec::new();
        let run = BoardRun { report: report.clone(), page: String::new() };
        write_board_markdown(&[run], &[], &mut page).expect("a vector takes everything");
        String::from_utf8(page).expect("a page is UTF-8")
    }

    #[test]
    fn a_draft_is_named() {
        let mut report = Collector::new(V2.edition(), Party::Agent, Vec::new()).finish(Duration::ZERO, false);
        let requirement = report.requirements.iter_mut().find(|requirement| requirement.id == "config.shape");
        requirement.expect("a requirement of version 2").verdict = Verdict::Fail;
        let page = page(&report);
        assert!(page.contains("| unnamed agent | agent | unknown | 2 (preview) |"), "{page}");
        assert!(page.contains("## unnamed agent unknown, protocol version 2 (preview)"), "{page}");
        assert!(page.contains("config.shape"), "{page}");
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
    fn the_folder_of_a_case_is_left_out() {
        let path = format!("/var/tmp/{SCRATCH}R8w9Z9");
        let cleaned = without_scratch(&format!("no file {path}/work/a b; started with \"{path}/home `id`\" in {path}"));
        assert_eq!(cleaned, "no file CASE/work/a b; started with \"CASE/home `id`\" in CASE");
        assert_eq!(without_scratch("expected no file notes.txt"), "expected no file notes.txt");
    }
}
