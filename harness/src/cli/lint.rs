//! `lint`: every mistake in cases, profiles and lists of expected failures, at once.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, anyhow, bail};

use super::args::LintArgs;
use super::check::files_that;
use super::exit::ProgramExit;
use super::output::{report_error, show, stdout};
use crate::case::model::Case;
use crate::case::{Includes, Vocabulary, embedded, load_bytes, load_dir, load_version};
use crate::diagnostic::Diagnostic;
use crate::edition::Bundle;
use crate::report::count;
use crate::{expected, profile};

/// Runs the command. The first edition is that of files and folders whose path names no version.
pub(super) fn run(args: &LintArgs, bundles: &[&'static Bundle]) -> anyhow::Result<ProgramExit> {
    let mut problems = Vec::new();
    let mut good_files = 0;
    for bundle in bundles.iter().filter(|_| args.files.is_empty()) {
        let (cases, found) = embedded(bundle);
        good_files += files(&cases);
        problems.extend(found);
    }
    let mut unusable = Vec::new();
    for path in &args.files {
        match lint(path, bundles) {
            Ok((0, found)) if found.is_empty() => {
                let what = "no case files found; a case is a file such as v1/agent/AREA/NAME.yaml below it";
                unusable.push(anyhow!("{}: {what}", path.display()));
            }
            Ok((good, found)) => {
                good_files += good;
                problems.extend(found);
            }
            Err(error) => unusable.push(error),
        }
    }
    show(&problems);
    unusable.iter().for_each(report_error);
    let errors = unusable.len() + problems.iter().filter(|problem| problem.is_error()).count();
    let correct = count(good_files, "file is", "files are");
    let mistakes = if errors == 0 { String::new() } else { format!(", {}", count(errors, "mistake", "mistakes")) };
    writeln!(stdout(), "{correct} correct{mistakes}")?;
    Ok(if errors == 0 { ProgramExit::Good } else { ProgramExit::Usage })
}

/// Checks a file or a folder. The files of a folder can belong to several editions.
fn lint(path: &Path, bundles: &[&'static Bundle]) -> anyhow::Result<(usize, Vec<Diagnostic>)> {
    let is_inside = |bundle: &&&Bundle| path.iter().any(|part| part == bundle.case_folder());
    let own = bundles.iter().find(is_inside);
    let first = own.or(bundles.first()).context("no edition is built in")?;
    if own.is_some() || !path.is_dir() {
        return lint_file_or_folder(path, first);
    }
    let (mut good_files, mut problems) = lint_file_or_folder(path, first)?;
    for bundle in bundles.iter().filter(|bundle| !std::ptr::eq(**bundle, *first)) {
        let (cases, found) = load_version(path, bundle);
        problems.extend(found);
        good_files += files(&cases);
    }
    Ok((good_files, problems))
}

fn lint_file_or_folder(path: &Path, bundle: &'static Bundle) -> anyhow::Result<(usize, Vec<Diagnostic>)> {
    if path.is_dir() {
        let (cases, mut problems) = load_dir(path, bundle);
        let mut good_files = files(&cases);
        for file in files_that(&[path.to_owned()], |path| path.extension().is_some_and(|e| e == "toml"))? {
            let (good, found) = lint_toml(&file, &read(&file)?, bundle);
            good_files += good;
            problems.extend(found);
        }
        return Ok((good_files, problems));
    }
    let bytes = read(path)?;
    let shown = path.display().to_string();
    Ok(match path.extension().and_then(|extension| extension.to_str()) {
        Some("yaml" | "yml") => {
            let (cases, problems) =
                load_bytes(&shown, &bytes, &Vocabulary::of(bundle.edition()), &Includes::of(bundle));
            (files(&cases), problems)
        }
        Some("toml") => lint_toml(path, &bytes, bundle),
        _ => bail!("{shown}: unknown file type; cases end in .yaml, profiles and expected failures in .toml"),
    })
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn lint_toml(path: &Path, bytes: &[u8], bundle: &'static Bundle) -> (usize, Vec<Diagnostic>) {
    let shown = path.display().to_string();
    if !is_expected_list(bytes) {
        let (profile, problems) = profile::load_bytes(&shown, bytes, bundle.catalogue());
        return (usize::from(profile.is_some()), problems);
    }
    let (entries, mut problems) = expected::load_bytes(&shown, bytes, None, bundle.catalogue());
    let (cases, _) = embedded(bundle);
    let unknown = expected::unknown_cases(entries.as_deref().unwrap_or_default(), &ids(&cases));
    // A run may have additional cases, those of --cases.
    problems.extend(unknown.into_iter().map(Diagnostic::warning));
    (usize::from(entries.is_some()), problems)
}

/// Whether a file is a list of expected failures. A profile may have such entries too, but also has a `kind`.
fn is_expected_list(bytes: &[u8]) -> bool {
    let has = |key: &[u8]| bytes.split(|&byte| byte == b'\n').any(|line| line.starts_with(key));
    has(b"[[expected]]") && !has(b"kind")
}

/// Returns the number of files of these cases, which may have several shapes and contexts.
fn files(cases: &[Case]) -> usize {
    cases.iter().map(|case| Case::file_of(&case.id)).collect::<BTreeSet<_>>().len()
}

fn ids(cases: &[Case]) -> Vec<&str> {
    cases.iter().map(|case| case.id.as_str()).collect()
}
