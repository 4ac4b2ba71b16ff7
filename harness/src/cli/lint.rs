//! `lint`: every mistake in case files and profiles, at once.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::args::LintArgs;
use super::exit::Exit;
use super::output::{show, stdout};
use crate::case::{Includes, Vocabulary, embedded, load_bytes, load_dir};
use crate::diagnostic::Diagnostic;
use crate::profile;

/// Runs the command.
pub(super) fn run(args: &LintArgs) -> anyhow::Result<Exit> {
    let vocabulary = Vocabulary::v1();
    let mut problems = Vec::new();
    let mut sound = 0;
    if args.files.is_empty() {
        let (cases, found) = embedded(&vocabulary);
        sound += cases.len();
        problems.extend(found);
    }
    for path in &args.files {
        let (good, found) = lint(path, &vocabulary)?;
        sound += good;
        problems.extend(found);
    }
    show(&problems);
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    writeln!(stdout(), "{sound} sound, {errors} mistake(s)")?;
    Ok(if errors == 0 { Exit::Good } else { Exit::Usage })
}

fn lint(path: &Path, vocabulary: &Vocabulary<'_>) -> anyhow::Result<(usize, Vec<Diagnostic>)> {
    if path.is_dir() {
        let (cases, mut problems) = load_dir(path, vocabulary);
        let mut sound = cases.len();
        for file in profiles_in(path)? {
            let (profile, found) = profile::load_file(&file).with_context(|| format!("cannot read {}", file.display()))?;
            sound += usize::from(profile.is_some());
            problems.extend(found);
        }
        return Ok((sound, problems));
    }
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let shown = path.display().to_string();
    Ok(match path.extension().and_then(|extension| extension.to_str()) {
        Some("yaml" | "yml") => {
            let (case, problems) = load_bytes(&shown, &bytes, vocabulary, &Includes::embedded());
            (usize::from(case.is_some()), problems)
        }
        Some("toml") => {
            let (profile, problems) = profile::load_bytes(&shown, &bytes);
            (usize::from(profile.is_some()), problems)
        }
        _ => bail!("{shown}: a case ends in .yaml, and a profile in .toml"),
    })
}

fn profiles_in(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    files.sort();
    Ok(files)
}
