//! Writes the differences for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::model::{DiffReport, Gain, SideInfo, VerdictChange, VerdictTrend};
use crate::report::visible::{in_one_line, visible};
use crate::report::{count, name as name_of, partial, protocol_of};
use crate::requirement::Level;
use crate::snapshot::Bound;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();

/// The most entries of one kind in the short form.
const MOST: usize = 30;

/// The most message diffs in the short form; the other cases are only listed.
const MOST_DIFFS: usize = 10;

/// Writes the differences; the short form cuts long lists.
pub fn write(out: &mut dyn Write, report: &DiffReport, bound: Bound) -> io::Result<()> {
    side(out, "old", &report.old)?;
    side(out, "new", &report.new)?;
    if !report.same_suite {
        writeln!(out, "\n{BOLD}The suites differ: a verdict may have changed because the requirements did.{BOLD:#}")?;
        suite(out, "old", &report.old)?;
        suite(out, "new", &report.new)?;
    }
    if report.old.traces == 0 || report.new.traces == 0 {
        writeln!(out, "\nMessages and capabilities are compared only if both sides have traces.")?;
    }
    let most = |most| if bound == Bound::Full { usize::MAX } else { most };
    verdicts(out, "requirements", &report.requirements, most(MOST))?;
    verdicts(out, "cases", &report.cases, most(MOST))?;
    capabilities(out, report)?;
    messages(out, report, most(MOST_DIFFS))?;
    for (name, only) in [("old", &report.only_old), ("new", &report.only_new)] {
        list(out, &format!("requirements only in {name}"), &only.requirements, most(MOST))?;
        list(out, &format!("cases only in {name}"), &only.cases, most(MOST))?;
    }
    conclusion(out, report)
}

fn side(out: &mut dyn Write, name: &str, side: &SideInfo) -> io::Result<()> {
    let SideInfo { path, subject, verdict, suite, traces, partial: cut } = side;
    let version = subject.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    let (called, protocol) = (name_of(subject), protocol_of(suite));
    let facts = in_one_line(&format!("{called}{version}  {}, checked against {protocol}", verdict.name()));
    let traces = count(*traces, "trace", "traces");
    writeln!(out, "{BOLD}{name}{BOLD:#}  {facts}  {DIM}{}, {traces}{DIM:#}", in_one_line(path))?;
    cut.map_or(Ok(()), |cut| writeln!(out, "     {BOLD}partial{BOLD:#}: {}", partial(cut)))
}

fn suite(out: &mut dyn Write, name: &str, side: &SideInfo) -> io::Result<()> {
    let suite = &side.suite;
    let schema: String = suite.schema_sha256.chars().take(12).collect();
    let mut facts = format!("acp-conformance {}, edition {}, schema {schema}…", suite.version, suite.edition);
    if let Some(content) = &suite.content_sha256 {
        facts.extend([", cases ", &content.chars().take(12).collect::<String>(), "…"]);
    }
    writeln!(out, "  {name}  {}", in_one_line(&facts))
}

fn verdicts(out: &mut dyn Write, what: &str, changes: &[VerdictChange], most: usize) -> io::Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}{what}{BOLD:#}")?;
    let rank = |change: &VerdictChange| match (change.regression, change.change) {
        (true, _) => 0,
        (false, VerdictTrend::Worse) => 1,
        (false, VerdictTrend::Better) => 2,
        (false, VerdictTrend::Otherwise) => 3,
    };
    let mut changes: Vec<&VerdictChange> = changes.iter().collect();
    changes.sort_by_key(|change| rank(change));
    for change in changes.iter().take(most) {
        let (style, word) = match (change.regression, change.change) {
            (true, _) => (RED, "regression"),
            (false, VerdictTrend::Worse) => (BOLD, "worse"),
            (false, VerdictTrend::Better) => (GREEN, "better"),
            (false, VerdictTrend::Otherwise) => (DIM, "otherwise"),
        };
        let level = if change.level == Some(Level::Should) { "  (SHOULD)" } else { "" };
        let id = in_one_line(&change.id);
        writeln!(out, "  {style}{word:<10}{style:#}  {id:<44}  {} → {}{level}", change.old, change.new)?;
    }
    more(out, changes.len(), most)
}

fn capabilities(out: &mut dyn Write, report: &DiffReport) -> io::Result<()> {
    if report.capabilities.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}what the {} advertises{BOLD:#}", report.new.subject.kind)?;
    for change in &report.capabilities {
        let (style, word) = match change.change {
            Gain::Gained => (GREEN, "gained"),
            Gain::Lost => (RED, "lost"),
        };
        writeln!(out, "  {style}{word:<10}{style:#}  {}", in_one_line(&change.path))?;
    }
    Ok(())
}

fn messages(out: &mut dyn Write, report: &DiffReport, most: usize) -> io::Result<()> {
    if report.messages.is_empty() {
        return Ok(());
    }
    let cases = count(report.messages.len(), "case differs", "cases differ");
    writeln!(out, "\n{BOLD}messages{BOLD:#}  {cases}")?;
    for (index, change) in report.messages.iter().enumerate() {
        let case = in_one_line(&change.case);
        writeln!(out, "  {case}  {DIM}-{} +{}{DIM:#}", change.removed, change.added)?;
        if index >= most {
            continue;
        }
        for line in change.diff.lines() {
            let style = match line.as_bytes().first() {
                Some(b'-') => AnsiColor::Red.on_default(),
                Some(b'+') => AnsiColor::Green.on_default(),
                _ => DIM,
            };
            writeln!(out, "    {style}{}{style:#}", visible(line))?;
        }
        if change.cut {
            writeln!(out, "    {DIM}… the rest was cut; --full shows it{DIM:#}")?;
        }
    }
    if report.messages.len() > most {
        writeln!(out, "  {DIM}--full shows the differences of all of them{DIM:#}")?;
    }
    Ok(())
}

fn list(out: &mut dyn Write, what: &str, ids: &[String], most: usize) -> io::Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}{what}{BOLD:#}")?;
    ids.iter().take(most).try_for_each(|id| writeln!(out, "  {}", in_one_line(id)))?;
    more(out, ids.len(), most)
}

fn more(out: &mut dyn Write, len: usize, most: usize) -> io::Result<()> {
    if len > most { writeln!(out, "  … and {} more; --full shows them", len - most) } else { Ok(()) }
}

fn conclusion(out: &mut dyn Write, report: &DiffReport) -> io::Result<()> {
    let regressed = |changes: &[VerdictChange]| changes.iter().filter(|change| change.regression).count();
    if report.regression {
        let requirements = count(regressed(&report.requirements), "requirement", "requirements");
        let cases = count(regressed(&report.cases), "case", "cases");
        return writeln!(out, "\n{RED}regression{RED:#}  {requirements} and {cases} passed before and fail now");
    }
    let same = report.requirements.is_empty() && report.cases.is_empty();
    let verdicts = if same { "no verdict changed" } else { "nothing that passed fails now" };
    let cut = report.old.partial.or(report.new.partial).map_or("", |_| ", as far as the cases ran");
    writeln!(out, "\n{GREEN}no regression{GREEN:#}  {verdicts}{cut}")
}
