//! Reads case files: from text, from a directory, and those embedded in the program.
//!
//! Loading never stops at the first problem: there is a list of cases and a list of diagnostics, and a case that has an
//! error is in the second only.
//!
//! ```
//! use acp_conformance::case::{Includes, Vocabulary, load_text};
//!
//! let text = "title: t\nsubject: agent\nrequirements: [init.respond]\ntranscript: [{include: sesion}]\n";
//! let (case, problems) = load_text("cases/v1/agent/x.yaml", text, &Vocabulary::v1(), &Includes::embedded());
//! assert!(case.is_none());
//! assert!(problems[0].to_string().contains("did you mean `session`?"));
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use include_dir::{Dir, include_dir};

use crate::case::check;
use crate::case::file::CaseFile;
use crate::case::includes::{self, Includes};
use crate::case::model::Case;
use crate::case::vocabulary::Vocabulary;
use crate::diagnostic::{self, Diagnostic};
use crate::document::shape::Shape;
use crate::document::{Document, Spot, decode, yaml};
use crate::requirement::Party;
use crate::source::{SourceFile, Span};

/// The cases of protocol version 1, as they are embedded in the program.
static V1: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/cases/v1");

static CASE: LazyLock<Shape> = LazyLock::new(Shape::of::<CaseFile>);

/// The case that shows whether there is anybody to talk to.
#[must_use]
pub const fn handshake(subject: Party) -> &'static str {
    match subject {
        Party::Agent => "v1/agent/init/handshake",
        Party::Client => "v1/client/init/handshake",
    }
}

/// Folders of a directory of cases that hold something else.
const NO_CASES: [&str; 2] = ["requirements", "faults"];

/// Reads one case; its id is the part of the path behind `cases/`, without extension.
#[must_use]
pub fn load_text(
    path: &str,
    text: &str,
    vocabulary: &Vocabulary<'_>,
    includes: &Includes,
) -> (Option<Case>, Vec<Diagnostic>) {
    load_bytes(path, text.as_bytes(), vocabulary, includes)
}

/// Reads one case that may not even be text.
#[must_use]
pub fn load_bytes(
    path: &str,
    bytes: &[u8],
    vocabulary: &Vocabulary<'_>,
    includes: &Includes,
) -> (Option<Case>, Vec<Diagnostic>) {
    let below = path.rsplit_once("cases/").map_or(path, |(_, below)| below);
    load(below.strip_suffix(".yaml").unwrap_or(below), path, bytes, vocabulary, includes)
}

/// Reads every case below a directory that is laid out like `cases/`, with ids relative to it.
///
/// Its includes are added to the embedded ones, or replace those of the same side and name.
#[must_use]
pub fn load_dir(dir: &Path, vocabulary: &Vocabulary<'_>) -> (Vec<Case>, Vec<Diagnostic>) {
    let mut problems = Vec::new();
    let mut files = Vec::new();
    walk(dir, &mut PathBuf::new(), &mut files, &mut problems);
    files.sort();
    let mut includes = Includes::embedded();
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
    let sources = sources.iter().map(|(below, shown, bytes)| (below.as_str(), shown.as_str(), bytes.as_slice()));
    let (cases, more) = load_all(sources, vocabulary, &includes);
    problems.extend(more);
    diagnostic::sort(&mut problems);
    (cases, problems)
}

/// Reads the cases that are embedded in the program.
#[must_use]
pub fn embedded(vocabulary: &Vocabulary<'_>) -> (Vec<Case>, Vec<Diagnostic>) {
    let includes = Includes::embedded();
    let files = embedded_files();
    let shown: Vec<_> = files.iter().map(|(path, _)| format!("cases/{path}")).collect();
    let sources = files.iter().zip(&shown).filter(|((path, _), _)| !includes::is_include(path));
    let sources = sources.map(|((path, bytes), shown)| (path.as_str(), shown.as_str(), *bytes));
    let (cases, mut problems) = load_all(sources, vocabulary, &includes);
    problems.extend(includes.problems());
    diagnostic::sort(&mut problems);
    (cases, problems)
}

/// Reads one of the embedded cases alone, by its id.
#[must_use]
pub fn embedded_case(id: &str, vocabulary: &Vocabulary<'_>) -> Option<Case> {
    let path = format!("{id}.yaml");
    let (_, bytes) = embedded_files().into_iter().find(|(known, _)| *known == path)?;
    load(id, &format!("cases/{path}"), bytes, vocabulary, &Includes::embedded()).0
}

/// Reads the embedded cases and those of a directory, which add to them or replace them by id; sorted by id.
#[must_use]
pub fn embedded_and(dir: Option<&Path>, vocabulary: &Vocabulary<'_>) -> (Vec<Case>, Vec<Diagnostic>) {
    let (cases, mut problems) = embedded(vocabulary);
    let mut by_id: BTreeMap<_, _> = cases.into_iter().map(|case| (case.id.clone(), case)).collect();
    if let Some(dir) = dir {
        let (own, more) = load_dir(dir, vocabulary);
        by_id.extend(own.into_iter().map(|case| (case.id.clone(), case)));
        problems.extend(more);
    }
    (by_id.into_values().collect(), problems)
}

fn load_all<'s>(
    sources: impl Iterator<Item = (&'s str, &'s str, &'s [u8])>,
    vocabulary: &Vocabulary<'_>,
    includes: &Includes,
) -> (Vec<Case>, Vec<Diagnostic>) {
    let (mut cases, mut problems) = (Vec::new(), Vec::new());
    for (below, shown, bytes) in sources {
        let (case, more) = load(below.strip_suffix(".yaml").unwrap_or(below), shown, bytes, vocabulary, includes);
        cases.extend(case);
        problems.extend(more);
    }
    (cases, problems)
}

fn load(
    id: &str,
    path: &str,
    bytes: &[u8],
    vocabulary: &Vocabulary<'_>,
    includes: &Includes,
) -> (Option<Case>, Vec<Diagnostic>) {
    let (document, mut problems) = match document(path, bytes) {
        Ok(read) => read,
        Err(problems) => return (None, problems),
    };
    let (case, more) = match CASE.read::<CaseFile>(&document) {
        Err(more) => (None, more),
        Ok(file) => {
            problems.extend(misplaced(id, &file, &document));
            check::lower(id.to_owned(), file, &document, vocabulary, includes)
        }
    };
    // What was not understood as YAML can only be misunderstood further on.
    let unclear: Vec<_> = problems.iter().map(|problem| problem.primary.clone()).collect();
    problems.extend(more.into_iter().filter(|problem| !unclear.contains(&problem.primary)));
    diagnostic::sort(&mut problems);
    let sound = !problems.iter().any(Diagnostic::is_error);
    (case.filter(|_| sound), problems)
}

/// Complains about a case that stands in the folder of the other side.
fn misplaced(id: &str, file: &CaseFile, document: &Document) -> Option<Diagnostic> {
    let foreign = file.subject.other();
    let inside = id.split('/').any(|folder| folder == foreign.name());
    inside.then(|| {
        let message = format!("a case that judges the {} stands in the folder of the {foreign}", file.subject);
        let help = format!("move the file to `{}/`, or write `subject: {foreign}`", file.subject);
        Spot::root(document).down("subject").error("case::wrong-folder", message).help(help)
    })
}

/// The document of a file, with mistakes that leave it readable; or else the mistakes alone.
pub(crate) fn document(path: &str, bytes: &[u8]) -> Result<(Document, Vec<Diagnostic>), Vec<Diagnostic>> {
    let source = decode(path, bytes).map_err(|problem| vec![*problem])?;
    match yaml::read(&source) {
        (Some(document), problems) => Ok((document, problems)),
        (None, problems) => Err(problems),
    }
}

pub(crate) fn joined(mut first: Vec<Diagnostic>, second: Vec<Diagnostic>) -> Vec<Diagnostic> {
    first.extend(second);
    first
}

/// The embedded YAML files with their path below `cases/`, in order.
pub(crate) fn embedded_files() -> Vec<(String, &'static [u8])> {
    let mut files = Vec::new();
    let mut folders = vec![&V1];
    while let Some(folder) = folders.pop() {
        folders.extend(folder.dirs());
        for file in folder.files().filter(|file| file.path().extension().is_some_and(|e| e == "yaml")) {
            files.push((format!("v1/{}", file.path().to_string_lossy().replace('\\', "/")), file.contents()));
        }
    }
    files.sort();
    files
}

/// Lists the YAML files below a directory, relative to it.
fn walk(root: &Path, below: &mut PathBuf, files: &mut Vec<PathBuf>, problems: &mut Vec<Diagnostic>) {
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
            if !NO_CASES.iter().any(|folder| name == *folder) {
                walk(root, below, files, problems);
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
