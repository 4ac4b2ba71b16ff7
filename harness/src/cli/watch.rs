//! `--watch`: runs this program again for each change of the watched files.
//!
//! Each run is a process of its own, so nothing of an earlier run remains.

mod files;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::Context;

use self::files::{Changes, Watched};
use super::args::RunArgs;
use super::exit::ProgramExit;
use super::last_failed;
use super::output::say;
use crate::plan::project_file;
use crate::requirement::Party;
use crate::run::signals;
use crate::transport::process::interrupt;

/// The pause between two looks at the files.
const PAUSE: Duration = Duration::from_millis(250);
/// The pause between two looks at a run.
const SHORT_PAUSE: Duration = Duration::from_millis(20);
/// The option that starts this command.
const OPTION: &str = "--watch";

/// Runs the command.
pub(super) fn run(party: Party, args: &RunArgs) -> anyhow::Result<ProgramExit> {
    // Listen from the beginning, so that Ctrl-C never ends this program without its exit code.
    let _ = signals();
    let watched = Watched::of(args, project_file());
    let mut before = watched.look();
    // Files that changed during the last run; perhaps the run writes them each time.
    let mut noise = Changes::default();
    let mut exit = play(false)?;
    loop {
        if exit == ProgramExit::Interrupted || signals() > 0 {
            return Ok(exit);
        }
        let after = watched.look();
        let during = after.since(&before);
        let changes = if during.is_within(&noise) {
            say(&format!("\nwatching {watched}; Ctrl-C ends with exit code {}", exit as i32));
            let Some(changes) = wait(&watched, after) else { return Ok(exit) };
            changes
        } else {
            noise = during.clone();
            during
        };
        let rerun = exit == ProgramExit::NotConformant && args.fault.is_none() && last_failed::any(party);
        let what = if rerun && !args.last_failed { "the cases that failed" } else { "all selected cases" };
        say(&format!("\n──────── {changes} changed: running {what} ────────\n"));
        before = watched.look();
        exit = play(rerun && !args.last_failed)?;
    }
}

/// Waits until files change and then stay the same for a moment. Returns `None` after a signal to stop.
fn wait(watched: &Watched, mut seen: files::Snapshot) -> Option<Changes> {
    let mut changes = Changes::default();
    loop {
        std::thread::sleep(PAUSE);
        if signals() > 0 {
            return None;
        }
        let now = watched.look();
        let more = now.since(&seen);
        if more.is_empty() && !changes.is_empty() {
            return Some(changes);
        }
        changes.add(more);
        seen = now;
    }
}

/// Runs this program once and returns its exit code.
fn play(only_failed: bool) -> anyhow::Result<ProgramExit> {
    let program = std::env::current_exe().context("cannot find this program")?;
    // In a group of its own, the run gets each signal from here, once.
    let words = words(std::env::args_os().skip(1), only_failed);
    let mut child = Command::new(program).args(words).process_group(0).spawn().context("cannot start a run")?;
    let status = attend(&mut child)?;
    Ok(ProgramExit::of_code(status))
}

fn attend(child: &mut Child) -> anyhow::Result<Option<i32>> {
    let mut sent = 0;
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for a run")? {
            return Ok(status.code());
        }
        let asked = signals();
        (sent..asked).for_each(|_| interrupt(child.id()));
        sent = asked;
        std::thread::sleep(SHORT_PAUSE);
    }
}

/// Returns the arguments of a run: those of this program without `--watch`, or with `--last-failed` instead.
fn words(all: impl Iterator<Item = OsString>, only_failed: bool) -> Vec<OsString> {
    let mut is_option = true;
    let mut words = Vec::new();
    for word in all {
        is_option &= word != "--";
        match is_option && word == OPTION {
            true if only_failed => words.push("--last-failed".into()),
            true => {}
            false => words.push(word),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_option_of_this_program_is_replaced() {
        let given = ["agent", "--watch", "--case", "x", "--", "my-agent", "--watch"].map(OsString::from);
        let all = words(given.clone().into_iter(), false);
        assert_eq!(all, ["agent", "--case", "x", "--", "my-agent", "--watch"]);
        let failed = words(given.into_iter(), true);
        assert_eq!(failed, ["agent", "--last-failed", "--case", "x", "--", "my-agent", "--watch"]);
    }
}
