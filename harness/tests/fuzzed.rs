//! Runs each input of `fuzz/corpus/` through its target, so that earlier findings of the fuzzer stay fixed without a
//! fuzzer or a nightly compiler. `ACP_FUZZED` names another folder with the same layout, such as `fuzz/artifacts`.

#[path = "../../fuzz/src/targets/mod.rs"]
mod targets;

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};

/// The most kept inputs of a target, so that they run in seconds.
const MOST_FILES: usize = 200;
const MOST_BYTES: u64 = 1 << 20;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let other = std::env::var_os("ACP_FUZZED").map(PathBuf::from);
    let mut trials = Vec::new();
    for (name, holds) in targets::TARGETS {
        let folder = other.as_ref().unwrap_or(&kept).join(name);
        // Another folder may have inputs for only some targets; the kept inputs cover all.
        let is_optional = other.is_some() && !folder.exists();
        let trial = Trial::test(format!("fuzzed/{name}"), move || play(&folder, holds)).with_kind("inputs");
        trials.push(trial.with_ignored_flag(is_optional));
    }
    if other.is_none() {
        trials.push(Trial::test("fuzzed/every-folder-is-small-and-has-a-target", move || is_in_order(&kept)));
    }
    trials
}

fn play(folder: &Path, holds: targets::Holds) -> Result<(), Failed> {
    let inputs = files(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if inputs.is_empty() {
        return Err(format!("{} has no inputs", folder.display()).into());
    }
    let mut broken = Vec::new();
    for file in inputs {
        let input = fs::read(&file)?;
        if std::panic::catch_unwind(|| holds(&input)).is_err() {
            broken.push(file.display().to_string());
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(format!("broken by\n{}", broken.join("\n")).into()) }
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

fn is_in_order(corpus: &Path) -> Result<(), Failed> {
    let mut wrong = Vec::new();
    for folder in files(corpus)? {
        if !targets::TARGETS.iter().any(|(name, _)| folder.ends_with(name)) {
            wrong.push(format!("{}: no target is called like that", folder.display()));
        }
        let inputs = files(&folder)?;
        let bytes = inputs.iter().map(|file| Ok(fs::metadata(file)?.len())).sum::<std::io::Result<u64>>()?;
        if inputs.len() > MOST_FILES || bytes > MOST_BYTES {
            wrong.push(format!("{}: {} files with {bytes} bytes are too many", folder.display(), inputs.len()));
        }
    }
    for (name, _) in targets::TARGETS.iter().filter(|(name, _)| !corpus.join(name).is_dir()) {
        wrong.push(format!("nothing is tried on {name}"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}
