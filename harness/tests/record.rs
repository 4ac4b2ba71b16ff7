//! Trace → case: each file under `harness/tests/record/` is a trace, and its snapshot is the case recorded from it, or
//! `no case`.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use acp_conformance::case::load_text;
use acp_conformance::diagnostic::{RenderStyle, render_all};
use acp_conformance::edition::V1;
use acp_conformance::record::record;
use acp_conformance::trace::Trace;
use libtest_mimic::{Failed, Trial};

use crate::snap;

const FOLDER: &str = "harness/tests/record";

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(root.join(FOLDER)).expect("the folder of recordings");
    let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let known: Vec<String> = files.iter().map(|path| name(path)).collect();
    let snapshots = snap::all_used("record", "record", known);
    let recordings = files
        .into_iter()
        .map(|path| Trial::test(format!("record/{}", name(&path)), move || check(&path)).with_kind("recording"));
    recordings.chain([snapshots]).collect()
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn check(path: &PathBuf) -> Result<(), Failed> {
    let trace = Trace::read(BufReader::new(File::open(path)?))?;
    let text = record(&trace, &format!("{}.jsonl", name(path)), V1.edition()).map(sound);
    let text = text.unwrap_or_else(|| Ok("no case\n".to_owned()))?;
    snap::compare("record", &name(path), &text);
    Ok(())
}

/// Checks that a case has no mistake, and returns it.
fn sound(text: String) -> Result<String, Failed> {
    let (_, problems) = load_text("recorded.yaml", &text, &V1);
    match problems.as_slice() {
        [] => Ok(text),
        _ => Err(format!("{text}\n{}", render_all(&problems, RenderStyle::Plain)).into()),
    }
}
