//! `docs/hostile.md`: the table of the subjects, with time and memory on the machine that wrote it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use acp_conformance::requirement::Party;
use libtest_mimic::Failed;

use super::table::{self, Row};
use super::trial::TrialResult;

/// If this is set, the page is written when all subjects got the expected verdict.
const ASKED: &str = "ACP_HOSTILE_PAGE";

const HEAD: &str = include_str!("head.md");

/// Whether the page should be written.
fn is_asked_for() -> bool {
    std::env::var_os(ASKED).is_some()
}

/// Checks that the page lists these subjects; times and memory are those of one machine.
pub fn lists_them() -> Result<(), Failed> {
    if is_asked_for() {
        return Ok(());
    }
    let rows = table::all();
    let page = fs::read_to_string(path()).unwrap_or_default();
    let same = |text: &str| text.lines().map(|line| without_figures(line).to_owned()).collect::<Vec<_>>();
    let wanted = whole(&rows, &BTreeMap::new());
    if same(&page) == same(&wanted) {
        Ok(())
    } else {
        Err("docs/hostile.md is out of date; run scripts/hostile".into())
    }
}

/// Writes the page if it was requested and every subject ran.
pub fn write_if_asked(result: &BTreeMap<usize, TrialResult>) {
    let rows = table::all();
    if is_asked_for() && result.len() == rows.len() {
        fs::write(path(), whole(&rows, result)).expect("the page can be written");
    }
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/hostile.md")
}

/// The figures are the last two cells of a row.
fn without_figures(line: &str) -> &str {
    let Some(row) = line.strip_suffix(" |") else { return line };
    let cut = row.rsplitn(3, " | ").nth(2);
    cut.unwrap_or(line)
}

fn whole(rows: &[Row], result: &BTreeMap<usize, TrialResult>) -> String {
    let mut text = HEAD.to_owned();
    for (party, title) in [(Party::Agent, "An agent that …"), (Party::Client, "A client that …")] {
        text.push_str(&format!("\n| {title} | verdict | message | time | memory |\n|---|---|---|---|---|\n"));
        let of_party = rows.iter().enumerate().filter(|(_, row)| row.party() == party);
        of_party.for_each(|(place, row)| text.push_str(&line(row, result.get(&place))));
    }
    text
}

fn line(row: &Row, result: Option<&TrialResult>) -> String {
    let failed = row.failed.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
    let message = match (row.says.as_str(), failed.as_str()) {
        (says, "") => says.to_owned(),
        ("", failed) => failed.to_owned(),
        (says, failed) if row.failed.contains(says) => failed.to_owned(),
        (says, failed) => format!("{says}; {failed}"),
    };
    let time = result.map_or_else(String::new, |result| format!("{:.1} s", result.took.as_secs_f64()));
    let memory = result.map_or_else(String::new, |result| format!("{} MiB", result.memory));
    format!("| {} | {} | {message} | {time} | {memory} |\n", row.that, row.verdict)
}
