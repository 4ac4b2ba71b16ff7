//! `--last-failed`: the cases that failed in the last run from a directory.
//!
//! Each directory has a small file for agents and one for clients in the user's cache:
//! `$XDG_CACHE_HOME/acp-conformance/last-failed/`, or `~/.cache` instead of the variable. It holds the ids of the
//! failed cases, one per line.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::case::model::Case;
use crate::protocol::sha256;
use crate::requirement::Party;
use crate::results::RunReport;
use crate::verdict::Verdict;

/// Keeps the cases that failed in the last run.
///
/// # Errors
///
/// No earlier run exists, or these cases did not fail in it.
pub(super) fn keep(cases: &mut Vec<Case>, party: Party) -> anyhow::Result<()> {
    let failed = file(party).and_then(|file| std::fs::read_to_string(file).ok());
    let failed = failed.with_context(|| format!("--last-failed: no {party} was tested from this directory"))?;
    let failed: BTreeSet<&str> = failed.lines().collect();
    cases.retain(|case| failed.contains(case.id.as_str()));
    if cases.is_empty() {
        bail!("--last-failed: no selected case failed in the last run from this directory");
    }
    Ok(())
}

/// Stores which cases failed. The entries of cases that did not run stay unchanged. An unwritable cache does not affect
/// the run.
pub(super) fn note(report: &RunReport) {
    let Some(file) = file(report.subject.kind) else { return };
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let ran: BTreeSet<&str> = report.cases.iter().map(|case| case.id.as_str()).collect();
    let mut failed: BTreeSet<&str> = before.lines().filter(|id| !ran.contains(id)).collect();
    let bad = |verdict| matches!(verdict, Verdict::Fail | Verdict::HarnessError);
    failed.extend(report.cases.iter().filter(|case| bad(case.verdict)).map(|case| case.id.as_str()));
    let lines: String = failed.into_iter().map(|id| format!("{id}\n")).collect();
    if lines != before || !file.exists() {
        let _ = file.parent().map(std::fs::create_dir_all);
        let _ = std::fs::write(file, lines);
    }
}

fn file(party: Party) -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")))?;
    let here = std::env::current_dir().ok()?;
    let name = format!("{}-{party}", &sha256(here.as_os_str().as_encoded_bytes())[..16]);
    Some(cache.join("acp-conformance/last-failed").join(name))
}
