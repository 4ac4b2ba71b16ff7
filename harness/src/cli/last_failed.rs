//! `--last-failed`: the cases that failed in the last run of a subject from a directory.
//!
//! Each subject has a small file for each directory in the user's cache:
//! `$XDG_CACHE_HOME/acp-conformance/last-failed/`, or `~/.cache` instead of the variable. It holds the ids of the
//! failed cases, one per line. The command line, the profile, the address and the editor identify a subject.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::case::model::Case;
use crate::options::{RunOptions, StartOptions};
use crate::protocol::sha256;
use crate::requirement::Party;
use crate::results::RunReport;
use crate::verdict::Verdict;

/// Keeps the cases that failed in the last run.
///
/// # Errors
///
/// No earlier run exists, or these cases did not fail in it.
pub(super) fn keep(cases: &mut Vec<Case>, party: Party, options: &RunOptions) -> anyhow::Result<()> {
    let failed = file(party, options).and_then(|file| std::fs::read_to_string(file).ok());
    let failed = failed.with_context(|| {
        format!("--last-failed: this {party} was not tested from this directory, with this command line or profile")
    })?;
    let failed: BTreeSet<&str> = failed.lines().collect();
    cases.retain(|case| failed.contains(case.id.as_str()));
    if cases.is_empty() {
        bail!("--last-failed: no selected case failed in the last run of this {party} from this directory");
    }
    Ok(())
}

/// Stores which cases failed. The entries of cases that did not run stay unchanged. An unwritable cache does not affect
/// the run.
pub(super) fn note(report: &RunReport, options: &RunOptions) {
    let Some(file) = file(report.subject.kind, options) else { return };
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

fn file(party: Party, options: &RunOptions) -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")))?;
    Some(cache.join("acp-conformance/last-failed").join(name(&std::env::current_dir().ok()?, party, options)))
}

fn name(here: &Path, party: Party, options: &RunOptions) -> String {
    let RunOptions { start: StartOptions { command, profile, url, .. }, editor, .. } = options;
    format!("{}-{party}", &sha256(format!("{:?}", (here, command, profile, url, editor)))[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subject_has_a_file_of_its_own() {
        let options = |command: &str, profile: Option<&str>, env: &[(String, String)]| {
            let (command, profile) = (vec![command.to_owned()], profile.map(str::to_owned));
            RunOptions {
                start: StartOptions { command, profile, env: env.to_vec(), ..Default::default() },
                ..Default::default()
            }
        };
        let name = |options| name(Path::new("/work"), Party::Agent, &options);
        let one = name(options("one", None, &[]));
        assert_eq!(one, name(options("one", None, &[("A".to_owned(), "B".to_owned())])));
        assert_ne!(one, name(options("other", None, &[])));
        assert_ne!(one, name(options("one", Some("opencode"), &[])));
    }
}
