//! Reads case files: from text, from a directory, and those embedded in the program.
//!
//! Loading never stops at the first problem: it returns a list of cases and a list of diagnostics. A case with an error
//! is only in the second list.
//!
//! ```
//! use acp_conformance::case::load_text;
//! use acp_conformance::edition::V1;
//!
//! let text = "title: t\nsubject: agent\nrequirements: [init.respond]\ntranscript: [{include: sesion}]\n";
//! let (cases, problems) = load_text("cases/v1/agent/x.yaml", text, &V1);
//! assert!(cases.is_empty());
//! assert!(problems[0].to_string().contains("did you mean `session`?"));
//! ```

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use crate::case::check;
use crate::case::file::CaseFile;
use crate::case::files::{document, joined, on_all_cores};
use crate::case::includes::{self, Includes};
use crate::case::matrix::{self, Filled};
use crate::case::model::Case;
use crate::case::repeat;
use crate::case::vocabulary::Vocabulary;
use crate::diagnostic::{self, Diagnostic};
use crate::document::shape::Shape;
use crate::document::{Document, Spot};
use crate::edition::Bundle;
use crate::requirement::{Party, Transport};
use crate::source::{SourceFile, Span};

static CASE: LazyLock<Shape> = LazyLock::new(Shape::of::<CaseFile>);

/// Returns whether this is the case that only connects, to test whether the subject supports the protocol.
pub fn is_handshake(id: &str) -> bool {
    id.ends_with("/init/handshake")
}

/// Reads one file, which has a case for each shape of its matrix; the id is the part of the path after `cases/`,
/// without extension, and with `@` and the shape at its end if there is a matrix.
pub fn load_text(path: &str, text: &str, bundle: &'static Bundle) -> (Vec<Case>, Vec<Diagnostic>) {
    load_bytes(path, text.as_bytes(), &Vocabulary::of(bundle.edition()), &Includes::of(bundle))
}

/// Reads one file that may not be text, with other includes than the embedded ones.
pub fn load_bytes(
    path: &str,
    bytes: &[u8],
    vocabulary: &Vocabulary,
    includes: &Includes,
) -> (Vec<Case>, Vec<Diagnostic>) {
    let below = path.rsplit_once("cases/").map_or(path, |(_, below)| below);
    load(below.strip_suffix(".yaml").unwrap_or(below), path, bytes, vocabulary, includes)
}

/// Reads every case below a directory with the layout of `cases/`, with ids relative to it.
///
/// Its includes are added to the embedded ones, or replace those with the same party and name. Folders of other major
/// versions, such as `v2`, are skipped: their cases need the vocabulary of their edition.
pub fn load_dir(dir: &Path, bundle: &'static Bundle) -> (Vec<Case>, Vec<Diagnostic>) {
    load_some(dir, bundle, |path| !is_of_another_version(path, bundle.case_folder()))
}

/// Does the same as [`load_dir`] for the folder of this version only, such as `v2`.
pub fn load_version(dir: &Path, bundle: &'static Bundle) -> (Vec<Case>, Vec<Diagnostic>) {
    load_some(dir, bundle, |path| path.starts_with(bundle.case_folder()))
}

fn load_some(dir: &Path, bundle: &'static Bundle, is_wanted: impl Fn(&Path) -> bool) -> (Vec<Case>, Vec<Diagnostic>) {
    let mut problems = Vec::new();
    let mut files = Vec::new();
    walk(dir, &mut PathBuf::new(), &["requirements"], &mut files, &mut problems);
    files.retain(|path| is_wanted(path));
    files.sort();
    let mut includes = Includes::of(bundle);
    let mut sources = Vec::new();
    for relative in files {
        let full = dir.join(&relative);
        let shown = full.display().to_string();
        let below = relative.to_string_lossy().replace('\\', "/");
        match std::fs::read(&full) {
            Err(error) => problems.push(unreadable(&shown, &error)),
            Ok(bytes) if includes::is_include(&below) => includes.add(&below, &shown, &bytes),
            Ok(bytes) => sources.push((below, shown, bytes)),
        }
    }
    problems.extend(includes.problems());
    let sources: Vec<_> =
        sources.iter().map(|(below, shown, bytes)| (below.as_str(), shown.as_str(), bytes.as_slice())).collect();
    let (mut cases, more) = load_all(&sources, &Vocabulary::of(bundle.edition()), &includes);
    cases.iter_mut().for_each(|case| case.is_own = true);
    problems.extend(more);
    diagnostic::sort(&mut problems);
    (cases, problems)
}

/// Whether a relative path begins with the folder of a major version that is not this one.
fn is_of_another_version(path: &Path, folder: &str) -> bool {
    let first = path.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
    let is_version = first.strip_prefix('v').is_some_and(|number| number.parse::<u16>().is_ok());
    is_version && first != folder
}

/// Reads the cases that are embedded in the program.
pub fn embedded(bundle: &'static Bundle) -> (Vec<Case>, Vec<Diagnostic>) {
    embedded_of(None, bundle)
}

/// Reads the embedded cases for a party that can run over this transport.
pub fn embedded_for(party: Party, transport: Transport, bundle: &'static Bundle) -> Vec<Case> {
    let (mut cases, _) = embedded_of(Some(party), bundle);
    cases.retain(|case| case.subject == party && case.fits(transport, bundle.catalogue()));
    cases
}

/// Reads the embedded cases in the folder of one party, or all.
fn embedded_of(side: Option<Party>, bundle: &'static Bundle) -> (Vec<Case>, Vec<Diagnostic>) {
    let includes = Includes::of(bundle);
    let mut files = bundle.case_files();
    files.retain(|(path, _)| side.is_none_or(|side| path.split('/').nth(1) == Some(side.name())));
    let shown: Vec<_> = files.iter().map(|(path, _)| format!("cases/{path}")).collect();
    let sources = files.iter().zip(&shown).filter(|((path, _), _)| !includes::is_include(path));
    let sources: Vec<_> = sources.map(|((path, bytes), shown)| (path.as_str(), shown.as_str(), *bytes)).collect();
    let vocabulary = Vocabulary::of(bundle.edition());
    // `lint` and a test read the cases of both parties.
    let vocabulary = if side.is_some() { vocabulary.without_schemas() } else { vocabulary };
    let (cases, mut problems) = load_all(&sources, &vocabulary, &includes);
    problems.extend(includes.problems());
    diagnostic::sort(&mut problems);
    (cases, problems)
}

/// Reads one of the embedded cases alone, by its id.
pub fn embedded_case(id: &str, bundle: &'static Bundle) -> Option<Case> {
    let file = Case::file_of(id);
    let path = format!("{file}.yaml");
    let (_, bytes) = bundle.case_files().into_iter().find(|(known, _)| *known == path)?;
    let vocabulary = Vocabulary::of(bundle.edition()).without_schemas();
    let (cases, _) = load(file, &format!("cases/{path}"), bytes, &vocabulary, &Includes::of(bundle));
    cases.into_iter().find(|case| case.id == id)
}

/// Reads the embedded cases and those of a directory, whose files add to them or replace those with the same path;
/// sorted by id, and the shapes of one file in the order of its matrix. With `side`, the embedded cases for the other
/// party are left out.
pub fn embedded_and(dir: Option<&Path>, side: Option<Party>, bundle: &'static Bundle) -> (Vec<Case>, Vec<Diagnostic>) {
    let (mut cases, mut problems) = embedded_of(side, bundle);
    if let Some(dir) = dir {
        let (own, more) = load_dir(dir, bundle);
        let replaced: BTreeSet<&str> = own.iter().map(|case| Case::file_of(&case.id)).collect();
        cases.retain(|case| !replaced.contains(Case::file_of(&case.id)));
        cases.extend(own);
        problems.extend(more);
    }
    cases.sort_by(|a, b| Case::file_of(&a.id).cmp(Case::file_of(&b.id)));
    (cases, problems)
}

fn load_all(
    sources: &[(&str, &str, &[u8])],
    vocabulary: &Vocabulary,
    includes: &Includes,
) -> (Vec<Case>, Vec<Diagnostic>) {
    let (mut cases, mut problems) = (Vec::new(), Vec::new());
    let load = |&(below, shown, bytes): &(&str, &str, &[u8])| {
        load(below.strip_suffix(".yaml").unwrap_or(below), shown, bytes, vocabulary, includes)
    };
    for (more_cases, more) in on_all_cores(sources, load) {
        cases.extend(more_cases);
        problems.extend(more);
    }
    (cases, problems)
}

fn load(
    id: &str,
    path: &str,
    bytes: &[u8],
    vocabulary: &Vocabulary,
    includes: &Includes,
) -> (Vec<Case>, Vec<Diagnostic>) {
    let (document, mut problems) = match document(path, bytes) {
        Ok(read) => read,
        Err(problems) => return (Vec::new(), problems),
    };
    let (cases, more) = match matrix::shapes(document) {
        Err(more) => (Vec::new(), more),
        Ok(shapes) => lower_all(id, shapes, vocabulary, includes),
    };
    // Text that is not valid YAML leads only to misleading further problems.
    let unclear: Vec<_> = problems.iter().map(|problem| problem.primary.clone()).collect();
    problems.extend(more.into_iter().filter(|problem| !unclear.contains(&problem.primary)));
    diagnostic::sort(&mut problems);
    let sound = !problems.iter().any(Diagnostic::is_error);
    (if sound { cases } else { Vec::new() }, problems)
}

/// Lowers a case in all of its shapes.
fn lower_all(
    id: &str,
    mut shapes: Vec<Filled>,
    vocabulary: &Vocabulary,
    includes: &Includes,
) -> (Vec<Case>, Vec<Diagnostic>) {
    let (mut cases, mut found) = (Vec::new(), Vec::new());
    for filled in &mut shapes {
        let (case, problems) = lower(id, filled, vocabulary, includes);
        cases.extend(case);
        found.push((&*filled, problems));
    }
    (cases, matrix::join(found))
}

/// Lowers a case in one of its shapes; a case of another edition gives neither a case nor a problem.
fn lower(
    id: &str,
    filled: &mut Filled,
    vocabulary: &Vocabulary,
    includes: &Includes,
) -> (Option<Case>, Vec<Diagnostic>) {
    let mut problems = repeat::expand(&mut filled.document);
    let document = &filled.document;
    let file = match CASE.read::<CaseFile>(document) {
        Ok(file) => file,
        Err(more) => return (None, joined(problems, more)),
    };
    if vocabulary.is_of_other_edition(&file.requirements) {
        return (None, Vec::new());
    }
    problems.extend(misplaced(id, &file, document));
    let (case, more) = check::lower(id.to_owned(), file, document, filled.context, vocabulary, includes);
    (case.map(|case| case.in_shape(&filled.shape)), joined(problems, more))
}

/// Reports a case that is in the folder of the other party.
fn misplaced(id: &str, file: &CaseFile, document: &Document) -> Option<Diagnostic> {
    let foreign = file.subject.other();
    let inside = id.split('/').any(|folder| folder == foreign.name());
    inside.then(|| {
        let message = format!("a case that judges the {} stands in the folder of the {foreign}", file.subject);
        let help = format!("move the file to `{}/`, or write `subject: {foreign}`", file.subject);
        Spot::root(document).down("subject").error("case::wrong-folder", message).help(help)
    })
}

/// Lists the YAML files below a directory, relative to it, outside of folders with the names in `skipped`.
fn walk(root: &Path, below: &mut PathBuf, skipped: &[&str], files: &mut Vec<PathBuf>, problems: &mut Vec<Diagnostic>) {
    let dir = root.join(&*below);
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) => return problems.push(unreadable(&dir.display().to_string(), &error)),
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let hidden = name.to_string_lossy().starts_with('.');
        below.push(&name);
        if entry.path().is_dir() && !hidden {
            if !skipped.iter().any(|folder| name == *folder) {
                walk(root, below, skipped, files, problems);
            }
        } else if !hidden && below.extension().is_some_and(|e| e == "yaml") {
            files.push(below.clone());
        } else if !hidden && below.extension().is_some_and(|e| e == "yml") {
            let shown = entry.path().display().to_string();
            let source = Arc::new(SourceFile::new(shown, ""));
            let message = "a case file ends with `.yaml`";
            problems
                .push(Diagnostic::error("case::extension", &source, Span::default(), message).help("rename the file"));
        }
        below.pop();
    }
}

fn unreadable(path: &str, error: &std::io::Error) -> Diagnostic {
    let source = Arc::new(SourceFile::new(path, ""));
    Diagnostic::error("file::unreadable", &source, Span::default(), format!("cannot read the file: {error}"))
}

#[cfg(test)]
mod tests;
