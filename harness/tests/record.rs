//! Trace → case: each file under `harness/tests/record/` is a trace, and its snapshot is the case recorded from it, or `no case`.

mod kept;
mod orphans;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use acp_conformance::case::{Includes, Vocabulary, load_text};
use acp_conformance::diagnostic::{Look, render_all};
use acp_conformance::edition::V1;
use acp_conformance::record::record;
use acp_conformance::trace::Trace;
use libtest_mimic::{Arguments, Failed, Trial};

const FOLDER: &str = "harness/tests/record";

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(root.join(FOLDER)).expect("the folder of recordings");
    let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let known: Vec<String> = files.iter().map(|path| snapshot(path)).collect();
    let orphans = Trial::test("every-snapshot-has-a-recording", move || Ok(orphans::no_orphans(&snapshots(), &known)?));
    let recordings =
        files.into_iter().map(|path| Trial::test(name(&path), move || check(&path)).with_kind("recording"));
    let mut trials: Vec<Trial> = recordings.chain([orphans.with_kind("snapshots")]).collect();
    trials.sort_by(|a, b| a.name().cmp(b.name()));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn snapshots() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots/record")
}

/// Returns the file name of the snapshot of a recording.
fn snapshot(path: &Path) -> String {
    name(path) + ".txt"
}

fn check(path: &PathBuf) -> Result<(), Failed> {
    let trace = Trace::read(BufReader::new(File::open(path)?))?;
    let text = record(&trace, &format!("{}.jsonl", name(path)), V1.edition()).map(sound);
    let text = text.unwrap_or_else(|| Ok("no case\n".to_owned()))?;
    Ok(kept::kept(&snapshots().join(snapshot(path)), &text)?)
}

/// Checks that a case has no mistake, and returns it.
fn sound(text: String) -> Result<String, Failed> {
    let (_, problems) = load_text("recorded.yaml", &text, &Vocabulary::of(V1.edition()), &Includes::of(&V1));
    match problems.as_slice() {
        [] => Ok(text),
        _ => Err(format!("{text}\n{}", render_all(&problems, Look::Plain)).into()),
    }
}
