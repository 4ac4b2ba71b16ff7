//! What `registry` prints: its progress, the list of entries, and the summary.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::cli::output::say;
use crate::registry::{ChosenEntry, EntryOutcome, EntryResult, EntryStep, LoginRule, RegistryReport, change_text};
use crate::report::visible::visible;
use crate::report::{ListedAgent, count};

/// The progress: a line on standard error for each step of an entry.
#[derive(Debug, Default)]
pub(super) struct Progress {
    all: AtomicUsize,
}

impl Progress {
    pub(super) fn show(&self, step: EntryStep<'_>) {
        match step {
            EntryStep::Begin { due, known } => {
                self.all.store(due, Ordering::Relaxed);
                if known > 0 {
                    say(&format!("{} with results; --again tests them again", count(known, "entry", "entries")));
                }
            }
            EntryStep::Installs(number, entry) => {
                if let Some(first) = entry.distributions.as_ref().ok().and_then(|found| found.first()) {
                    let (kind, package) = (first.kind(), first.package());
                    self.line(number, &format!("{} {}: installing {kind} {package}", entry.id, entry.version));
                }
            }
            EntryStep::Tests(number, entry, cases) => {
                self.line(number, &format!("{} {}: testing {cases}", entry.id, entry.version));
            }
            EntryStep::Ended(number, result) => {
                let [install, test] = [result.install_ms, result.test_ms].map(Duration::from_millis);
                let times =
                    format!("installed in {:.1} s, tested in {:.1} s", install.as_secs_f64(), test.as_secs_f64());
                self.line(number, &format!("{} {}: {} ({times})", result.id, result.version, result.summary()));
            }
        }
    }

    fn line(&self, number: usize, text: &str) {
        say(&format!("[{number}/{}] {}", self.all.load(Ordering::Relaxed), visible(text)));
    }
}

/// Lists the entries and how each would be installed and tested.
pub(super) fn list(selected: &[&ChosenEntry]) -> String {
    let row = |chosen: &&ChosenEntry| {
        let ChosenEntry { entry, choice, .. } = chosen;
        let how = match &entry.distributions {
            Ok(found) => {
                found.iter().map(|one| format!("{} {}", one.kind(), one.package())).collect::<Vec<_>>().join(", or ")
            }
            Err(reason) => format!("not installable: {reason}"),
        };
        [entry.id.clone(), entry.version.clone(), choice.profile.clone().unwrap_or_else(|| "-".to_owned()), how]
    };
    let rows = selected.iter().map(row).collect::<Vec<_>>();
    table(["entry", "version", "profile", "installed from"], &rows)
}

/// Writes the results of these entries, and what changed since the run before.
pub(super) fn summary(report: &RegistryReport, selected: &[&str]) -> String {
    let shown = report.entries.iter().filter(|entry| selected.contains(&entry.id.as_str()));
    let row = |entry: &EntryResult| {
        [entry.id.clone(), entry.version.clone(), entry.login.verdict.name().to_owned(), entry.summary()]
    };
    let rows: Vec<[String; 4]> = shown.map(row).collect();
    let mut text = table(["entry", "version", "login rule", "result"], &rows);
    if let Some(changes) = report.changes.first() {
        let since = &changes.since;
        let _ = match changes.changes.len() {
            0 => writeln!(text, "\nNo changes since {since}."),
            _ => write!(text, "\nChanges since {since}:\n\n{}", change_text(changes)),
        };
    }
    // The texts quote agents and package managers.
    text.lines().map(|line| visible(line) + "\n").collect()
}

fn table(head: [&str; 4], rows: &[[String; 4]]) -> String {
    let mut widths = head.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; 4]| {
        let [a, b, c, d] = cells;
        format!("{a:<0$}  {b:<1$}  {c:<2$}  {d}", widths[0], widths[1], widths[2]).trim_end().to_owned() + "\n"
    };
    let rows = rows.iter().map(|[a, b, c, d]| line([a, b, c, d]));
    std::iter::once(line(head)).chain(rows).collect()
}

/// Returns the entries for the board.
pub(super) fn listed(report: &RegistryReport) -> Vec<ListedAgent> {
    let origin = |entry: &EntryResult| match (&entry.distribution, &entry.package) {
        (Some(kind), Some(package)) => format!("{kind} {package}"),
        _ => "-".to_owned(),
    };
    let result = |entry: &EntryResult| match entry.outcome {
        EntryOutcome::Tested => format!("{}; ran {}", entry.summary(), entry.cases),
        _ => entry.summary(),
    };
    let agent = |entry: &EntryResult| ListedAgent {
        name: entry.name.clone(),
        version: entry.version.clone(),
        origin: origin(entry),
        result: result(entry),
        login: login(&entry.login),
        stderr: entry.stderr.clone(),
    };
    report.entries.iter().map(agent).collect()
}

fn login(rule: &LoginRule) -> String {
    match &rule.reason {
        Some(reason) => format!("{}: {reason}", rule.verdict.name()),
        None => {
            let types: BTreeSet<&str> = rule.types.iter().map(String::as_str).collect();
            format!("{} ({})", rule.verdict.name(), types.into_iter().collect::<Vec<_>>().join(", "))
        }
    }
}
