//! Subjects that hang, flood, send wrong messages, damage files and leave children running. Each must get the right verdict, in
//! bounded time and memory, and nothing of it may remain.
//!
//! `subjects.toml` lists them. This program is the test, every subject, and the process that runs a subject. That process is
//! observed from outside, so that its memory and leftovers are its own.

mod deeds;
#[path = "../left.rs"]
mod left;
mod meeting;
mod own;
mod page;
mod program;
mod table;
mod whole;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use acp_conformance::transport::relay;
use libtest_mimic::{Arguments, Trial};

use crate::meeting::Met;

/// They mostly wait.
const TESTS_AT_ONCE: usize = 8;

fn main() -> ExitCode {
    // Clients start this program as their agent, and agents as their MCP server.
    if let Some(code) = relay::run_if_asked() {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [program::WORD, rest @ ..] => program::play(rest),
        [meeting::WORD, party, name] => meeting::hold(table::find(party, name)),
        _ => test(),
    }
}

/// Returns the path of this program.
fn this_program() -> PathBuf {
    std::env::current_exe().expect("a program has a path")
}

fn test() -> ExitCode {
    let met: Arc<Mutex<BTreeMap<usize, Met>>> = Arc::default();
    let on_linux = |trial: Trial| trial.with_ignored_flag(!cfg!(target_os = "linux"));
    let mut trials = vec![
        Trial::test("the page lists them", page::lists_them),
        on_linux(Trial::test("a run leaves nothing", whole::leaves_nothing)),
        on_linux(Trial::test("cases share no temporary folder", whole::shares_no_temporary_folder)),
    ];
    trials.extend(table::all().into_iter().enumerate().map(|(place, row)| {
        let met = Arc::clone(&met);
        on_linux(Trial::test(row.title(), move || {
            let found = meeting::arrange(&row)?;
            met.lock().unwrap_or_else(PoisonError::into_inner).insert(place, found);
            Ok(())
        }))
    }));
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(TESTS_AT_ONCE);
    let conclusion = libtest_mimic::run(&arguments, trials);
    page::write_if_asked(&met.lock().unwrap_or_else(PoisonError::into_inner));
    conclusion.exit_code()
}
