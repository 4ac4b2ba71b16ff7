//! Subjects that hang, flood, send wrong messages, damage files and leave children running. Each must get the right
//! verdict, in bounded time and memory, and nothing of it may remain.
//!
//! `subjects.toml` lists them. This program is the test, every subject, and the process that runs a subject. That
//! process is observed from outside, so that its memory and leftovers are its own.

mod actions;
mod own;
mod page;
mod program;
mod table;
mod trial;
mod whole;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use acp_conformance::transport::relay;
use libtest_mimic::Trial;

use self::trial::TrialResult;

/// The results so far, by the place of the subject in the table.
static RESULTS: Mutex<BTreeMap<usize, TrialResult>> = Mutex::new(BTreeMap::new());

/// Runs a subject, the process that runs one, or the relay that one starts, if the arguments ask for it.
pub fn run_if_asked() -> Option<ExitCode> {
    // Clients start this program as their agent, and agents as their MCP server.
    if let Some(code) = relay::run_if_asked() {
        return Some(code);
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [program::WORD, rest @ ..] => Some(program::play(rest)),
        [trial::WORD, party, name] => Some(trial::hold(table::find(party, name))),
        _ => None,
    }
}

fn this_program() -> PathBuf {
    std::env::current_exe().expect("a program has a path")
}

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let on_linux = |trial: Trial| trial.with_ignored_flag(!cfg!(target_os = "linux"));
    let mut trials = vec![
        Trial::test("hostile/the page lists them", page::lists_them),
        on_linux(Trial::test("hostile/a run leaves nothing", whole::leaves_nothing)),
        on_linux(Trial::test("hostile/cases share no temporary folder", whole::shares_no_temporary_folder)),
    ];
    trials.extend(table::all().into_iter().enumerate().map(|(place, row)| {
        on_linux(Trial::test(format!("hostile/{}", row.title()), move || {
            let found = trial::arrange(&row)?;
            results().insert(place, found);
            Ok(())
        }))
    }));
    trials
}

/// Writes the page of the results, if the environment asks for it.
pub fn write_page_if_asked() {
    page::write_if_asked(&results());
}

fn results() -> MutexGuard<'static, BTreeMap<usize, TrialResult>> {
    RESULTS.lock().unwrap_or_else(PoisonError::into_inner)
}
