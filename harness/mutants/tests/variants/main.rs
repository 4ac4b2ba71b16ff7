//! Legal variants of the reference programs' messages: no requirement may fail for them.
//!
//! A transformation changes a conforming conversation into another one that the specification also allows ([`kinds`]).
//! Each is applied to the recorded trace of every case ([`offline`]), and most also to the messages of a reference
//! program while a sample of the cases runs ([`live`]); `--ignored` adds further samples. The tests of version 2 have
//! `v2/` in their names.
//!
//! ```text
//! ACP_SEED=7 cargo test -p acp-conformance-mutants --test variants -- agent/chunks-split   # one transformation
//! ACP_CASE=v1/agent/cancel …          # only cases with that in their id
//! ACP_ROUNDS=10 …                     # ten times as many variants
//! ACP_VARIANTS_TABLE=variants.md …    # variants per requirement, as Markdown, and variants-v2.md
//! ```

mod apply;
mod choices;
mod conversation;
mod kinds;
mod live;
mod offline;
#[path = "../reference/mod.rs"]
mod reference;
mod rewrite;
mod survey;
mod table;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::{env, fs};

use acp_conformance::edition::{Bundle, V1, V2};
use acp_conformance::requirement::Party;
use acp_conformance::transport::relay;
use libtest_mimic::{Arguments, Failed, Trial};

use self::kinds::ILLEGAL;
use self::live::Delivery;
use self::survey::Survey;

/// The variable with the seed.
const SEED_VARIABLE: &str = "ACP_SEED";

/// The variable with the number of variants for each transformation and case.
const ROUNDS_VARIABLE: &str = "ACP_ROUNDS";

/// The variable with the path of the table of version 1. That of version 2 is next to it.
const TABLE_VARIABLE: &str = "ACP_VARIANTS_TABLE";

fn main() -> ExitCode {
    // The reference client starts this program as its agent.
    if let Some(code) = relay::run_if_asked() {
        return code;
    }
    if let Some(code) = rewrite::run_if_asked() {
        return code;
    }
    let mut arguments = Arguments::from_args();
    // Live programs often wait, so more tests run than there are cores.
    arguments.test_threads.get_or_insert(2 * available_parallelism().map_or(2, usize::from));
    let number = |name| env::var(name).map_or(1, |number| number.parse().expect("the variable is a whole number"));
    let seeds = Range { start: number(SEED_VARIABLE), end: number(SEED_VARIABLE) + number(ROUNDS_VARIABLE) };
    let surveys = [&V1, &V2].map(|bundle| Arc::new(Survey::new(bundle)));
    let trials = surveys.iter().flat_map(|survey| trials_of(survey, &seeds)).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let (Ok(path), false) = (env::var(TABLE_VARIABLE), arguments.list) {
        surveys.iter().for_each(|survey| write_table(survey, Path::new(&path), &seeds));
    }
    conclusion.exit_code()
}

/// Returns the tests of an edition.
fn trials_of(survey: &Arc<Survey>, seeds: &Range<u64>) -> Vec<Trial> {
    let (edition, prefix) = (survey.edition(), prefix(survey.bundle));
    let mut trials = Vec::new();
    for party in Party::ALL {
        for kind in kinds::all(edition) {
            let tried = move |survey: &Survey, seeds| offline::check(kind, party, survey, seeds).map(drop);
            trials.push(trial(format!("{prefix}{party}/{}", kind.name), survey, seeds, tried));
        }
        let deliveries = Delivery::NAMED.into_iter().map(|(name, _)| name);
        for name in kinds::all(edition)
            .into_iter()
            .filter(|kind| live::is_possible(kind, edition, party))
            .map(|kind| kind.name)
            .chain(deliveries)
        {
            let tried = move |survey: &Survey, seeds: Range<u64>| live::check(name, party, survey, seeds.start);
            let trial = trial(format!("live/{prefix}{party}/{name}"), survey, seeds, tried);
            trials.push(trial.with_ignored_flag(!live::is_usual(name)));
        }
    }
    let (planted, seeds) = (Arc::clone(survey), seeds.clone());
    let reported = move || reports_illegal(&planted, seeds);
    trials.push(Trial::test(format!("{prefix}reports-an-illegal-transformation"), reported));
    trials
}

/// Returns the first part of the names of an edition's tests.
fn prefix(bundle: &Bundle) -> String {
    if bundle.is_draft() { format!("{}/", bundle.case_folder()) } else { String::new() }
}

/// Writes the table of an edition, if a test of it ran.
fn write_table(survey: &Survey, path: &Path, seeds: &Range<u64>) {
    let counts = survey.counts.lock().expect("the counts");
    if counts.variants == [0, 0] {
        return;
    }
    let path = if survey.bundle.is_draft() { path_of_draft(path, survey.bundle) } else { path.to_owned() };
    let table = counts.markdown(survey.bundle, seeds);
    fs::write(&path, table).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

/// Returns the path of a draft's table: `variants-v2.md` next to `variants.md`.
fn path_of_draft(path: &Path, bundle: &Bundle) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{}", bundle.case_folder())).with_extension("md")
}

fn trial(
    name: String,
    survey: &Arc<Survey>,
    seeds: &Range<u64>,
    tried: impl FnOnce(&Survey, Range<u64>) -> Result<(), String> + Send + 'static,
) -> Trial {
    let (survey, seeds) = (Arc::clone(survey), seeds.clone());
    Trial::test(name.clone(), move || {
        let (seed, rounds) = (seeds.start, seeds.end - seeds.start);
        let variables = format!("{SEED_VARIABLE}={seed} {ROUNDS_VARIABLE}={rounds}");
        let rerun = format!("{variables} cargo test -p acp-conformance-mutants --test variants -- --exact {name}");
        tried(&survey, seeds).map_err(|story| Failed::from(format!("{story}\n\nrerun: {rerun}")))
    })
}

/// A transformation that the protocol forbids is reported, shrunk to one site.
fn reports_illegal(survey: &Survey, seeds: Range<u64>) -> Result<(), Failed> {
    let story = match offline::check(ILLEGAL, Party::Agent, survey, seeds) {
        Ok(tried) => return Err(format!("{tried} illegal variants passed").into()),
        Err(story) => story,
    };
    let sites = story.split_once("at the sites [").and_then(|(_, rest)| rest.split_once(']')).map(|(sites, _)| sites);
    let single = sites.is_some_and(|sites| sites.parse::<usize>().is_ok());
    // The message itself may be too long to be shown whole.
    if single && story.contains("ext.no-custom-root-fields.agent") && story.contains("/vendor in the") {
        Ok(())
    } else {
        Err(format!("told otherwise: {story}").into())
    }
}
