//! Writes the results of a baseline for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::visible::{in_one_line, visible};
use super::words::count;
use crate::results::{EntryReport, ExpectedReport, Standing};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();

/// Writes the result of each entry. Missing observations are reported only in a `whole` run.
pub(super) fn write(out: &mut dyn Write, expected: &ExpectedReport, whole: bool) -> io::Result<()> {
    let of = |standing| expected.entries.iter().filter(move |entry| entry.standing == standing).collect::<Vec<_>>();
    let holding = of(Standing::Holds);
    if !holding.is_empty() {
        writeln!(out, "\n{BOLD}{} expected to fail, and did{BOLD:#}", count(holding.len(), "entry", "entries"))?;
        holding.into_iter().try_for_each(|entry| line(out, entry, &entry.reason))?;
    }
    let wrong: Vec<_> = expected.entries.iter().filter(|entry| entry.standing.is_wrong()).collect();
    if !wrong.is_empty() {
        let entries = count(wrong.len(), "expected failure needs", "expected failures need");
        writeln!(out, "\n{RED}{entries} a change{RED:#}")?;
        wrong.iter().try_for_each(|entry| line(out, entry, entry.remedy.as_deref().unwrap_or_default()))?;
        if wrong.iter().any(|entry| entry.standing == Standing::Stale) {
            writeln!(out, "  --update-expected removes the entries of --expected that no longer fail")?;
        }
    }
    let open = of(Standing::Open);
    if whole && !open.is_empty() {
        writeln!(out, "\n{BOLD}{} that this run does not decide{BOLD:#}", count(open.len(), "entry", "entries"))?;
        open.into_iter().try_for_each(|entry| line(out, entry, entry.verdict.name()))?;
    }
    Ok(())
}

fn line(out: &mut dyn Write, entry: &EntryReport, text: &str) -> io::Result<()> {
    let link = entry.link.iter().map(|link| format!("  {link}"));
    let until = entry.expires.iter().filter(|_| entry.remedy.is_none()).map(|day| format!("  until {day}"));
    let rest: String = link.chain(until).collect();
    writeln!(out, "  {}: {}{DIM}{}{DIM:#}", in_one_line(&entry.name()), visible(text), visible(&rest))
}

/// Returns the part of the summary on known failures, which do not change the verdict.
pub(super) fn summary(expected: &ExpectedReport) -> String {
    let mut parts = Vec::new();
    let known: usize = expected.entries.iter().map(|entry| entry.failures.len()).sum();
    if !expected.new.is_empty() {
        parts.push(format!("{} new, {known} known", count(expected.new.len(), "failure", "failures")));
    } else if known > 0 {
        parts.push(format!("all failures that count are listed as expected; otherwise {}", expected.otherwise.name()));
    }
    let of = |standing| expected.entries.iter().filter(|entry| entry.standing == standing).count();
    for (standing, what) in
        [(Standing::Stale, "stale"), (Standing::Expired, "expired"), (Standing::Open, "not decided by this run")]
    {
        let many = of(standing);
        parts.extend((many > 0).then(|| format!("{} {what}", count(many, "entry", "entries"))));
    }
    if parts.is_empty() { "nothing failed, and nothing is expected to".to_owned() } else { parts.join(" · ") }
}
