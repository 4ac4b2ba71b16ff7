//! Writes the distribution of the time of a run, for people.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::Style;

use super::model::{Floor, Spent, Timings};
use super::words::count;
use crate::requirement::Party;
use crate::trace::StepKind;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// The number of slowest cases that are listed.
const SLOWEST: usize = 10;

/// Writes the distribution of the time of a run.
///
/// # Errors
///
/// Errors of the stream.
pub(super) fn write(out: &mut dyn Write, timings: &Timings, starts: usize, subject: Party) -> io::Result<()> {
    let Timings { total, cases, .. } = timings;
    writeln!(out, "\n{BOLD}Where the time went{BOLD:#}")?;
    row(out, "wall time", timings.wall_us, &format!("{} at a time", timings.jobs))?;
    row(out, "  start-up", timings.start_up_us, "reading cases, faults and the profile")?;
    row(out, "all cases together", total.total_us, &count(cases.len(), "case", "cases"))?;
    let note = format!("until its first line, in {}", count(starts, "start", "starts"));
    row(out, &format!("  start of the {subject}"), total.start_us, &note)?;
    for (name, us) in by_name(total) {
        row(out, &format!("  {name}"), us, "")?;
    }
    row(out, &format!("  exit of the {subject}"), total.exit_us, "")?;
    row(out, "  the tester", total.tester_us, "folders, starting processes, messages, clearing up")?;
    row(out, "  judging", total.judging_us, "")?;
    floor(out, timings, starts, subject)?;
    slowest(out, timings)
}

fn row(out: &mut dyn Write, name: &str, us: u64, note: &str) -> io::Result<()> {
    let gap = if note.is_empty() { "" } else { "  " };
    writeln!(out, "  {name:<28} {:>10}{gap}{DIM}{note}{DIM:#}", readable(us))
}

/// Writes the least time for so many cases with processes of their own, and the rest.
fn floor(out: &mut dyn Write, timings: &Timings, own: usize, subject: Party) -> io::Result<()> {
    let Timings { floor, total, cases, jobs, .. } = timings;
    let (starts, median) = match floor {
        Floor::Unknown { reason } => return writeln!(out, "  floor not known: {reason}"),
        Floor::Measured { starts, median_us } => (starts, *median_us),
    };
    let [count, own] = [cases.len(), own].map(|n| u64::try_from(n).unwrap_or(u64::MAX));
    let bare = match subject {
        Party::Agent => "a bare start and exit of the same command",
        Party::Client => "a start of the same command with an agent that exits at once",
    };
    let note = format!("{own} × {}, {bare} (median of {starts}, {jobs} at a time)", readable(median));
    let whole = median.saturating_mul(own);
    row(out, "floor", whole, &note)?;
    let above = total.total_us.saturating_sub(whole).checked_div(count).unwrap_or_default();
    row(out, "above the floor", above, "a case")
}

/// Returns the waits of a case, by their purpose.
fn by_name(spent: &Spent) -> BTreeMap<&'static str, u64> {
    let mut waits = BTreeMap::new();
    for (kind, us) in &spent.waits_us {
        *waits.entry(awaited(*kind)).or_default() += us;
    }
    waits
}

fn slowest(out: &mut dyn Write, timings: &Timings) -> io::Result<()> {
    let mut cases: Vec<(&String, &Spent)> = timings.cases.iter().collect();
    cases.sort_by_key(|(_, spent)| std::cmp::Reverse(spent.total_us));
    writeln!(out, "\n{BOLD}The slowest cases{BOLD:#}")?;
    for (id, spent) in cases.into_iter().take(SLOWEST) {
        let parts = [
            ("start", spent.start_us),
            ("answers", spent.answers_us()),
            ("exit", spent.exit_us),
            ("tester", spent.tester_us),
            ("judging", spent.judging_us),
        ];
        let parts = parts.map(|(name, us)| format!("{name} {}", readable(us))).join(" · ");
        writeln!(out, "  {:>10}  {id:<44}  {DIM}{parts}{DIM:#}", readable(spent.total_us))?;
    }
    Ok(())
}

/// Describes the wait in a step of this kind.
const fn awaited(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Must => "lines that must come",
        StepKind::Optional => "optional lines",
        StepKind::Fence => "fences",
        StepKind::Reply => "texts of turns",
        StepKind::File => "files",
        StepKind::Process => "processes",
        StepKind::Page => "pages",
        StepKind::Mcp => "messages to MCP servers",
        StepKind::Act => "acts of the user",
        StepKind::Login => "logins in a terminal",
        StepKind::Needs | StepKind::Send | StepKind::Never | StepKind::Exit | StepKind::End => "other steps",
    }
}

#[expect(clippy::cast_precision_loss, reason = "times for people")]
fn readable(us: u64) -> String {
    match us {
        0..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}
