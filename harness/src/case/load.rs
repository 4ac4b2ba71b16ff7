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
use crate::case::file::{CaseFile, IncludeFile};
use crate::case::model::Case;
use crate::case::vocabulary::Vocabulary;
use crate::diagnostic::{self, Diagnostic};
use crate::document::shape::Shape;
use crate::document::{Document, Spot, decode, yaml};
use crate::source::{SourceFile, Span};

/// The cases of protocol version 1, as they are embedded in the program.
static V1: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/cases/v1");

static CASE: LazyLock<Shape> = LazyLock::new(Shape::of::<CaseFile>);
static INCLUDE: LazyLock<Shape> = LazyLock::new(Shape::of::<IncludeFile>);

/// Folders of a directory of cases that hold something else.
const NO_CASES: [&str; 2] = ["requirements", "faults"];

/// The files that transcripts can include, by name.
#[derive(Debug, Default)]
pub struct Includes {
    files: BTreeMap<String, Result<(Document, IncludeFile), Vec<Diagnostic>>>,
}

/// Why an include cannot be put in.
#[derive(Debug)]
pub(crate) enum IncludeError<'a> {
    /// There is none of this name; these there are.
    Unknown(Vec<&'a str>),
    /// It has mistakes of its own.
    Broken(&'a [Diagnostic]),
}

impl Includes {
    /// No includes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The includes that are embedded in the program.
    #[must_use]
    pub fn embedded() -> Self {
        let mut includes = Self::new();
        for (path, bytes) in embedded_files() {
            if let Some(name) = include_name(&path) {
                includes.add(name, &format!("cases/{path}"), bytes);
            }
        }
        includes
    }

    /// Adds a file, or puts it in the place of the one that has the name.
    pub fn add(&mut self, name: impl Into<String>, path: &str, bytes: &[u8]) {
        let read = document(path, bytes).and_then(|(document, problems)| {
            let file = INCLUDE.read(&document).map_err(|shape| joined(problems.clone(), shape))?;
            if problems.is_empty() { Ok((document, file)) } else { Err(problems) }
        });
        self.files.insert(name.into(), read);
    }

    pub(crate) fn get(&self, name: &str) -> Result<&(Document, IncludeFile), IncludeError<'_>> {
        match self.files.get(name) {
            Some(Ok(include)) => Ok(include),
            Some(Err(problems)) => Err(IncludeError::Broken(problems)),
            None => Err(IncludeError::Unknown(self.files.keys().map(String::as_str).collect())),
        }
    }

    /// The mistakes in the structure of the files, whether a case includes them or not.
    fn problems(&self) -> Vec<Diagnostic> {
        self.files.values().filter_map(|file| file.as_ref().err()).flatten().cloned().collect()
    }
}

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
/// Its `include` folders are added to the embedded includes, or replace them by name.
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
            Ok(bytes) => match include_name(&below) {
                Some(name) => includes.add(name, &shown, &bytes),
                None => sources.push((below, shown, bytes)),
            },
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
    let sources = files.iter().zip(&shown).filter(|((path, _), _)| include_name(path).is_none());
    let sources = sources.map(|((path, bytes), shown)| (path.as_str(), shown.as_str(), *bytes));
    let (cases, mut problems) = load_all(sources, vocabulary, &includes);
    problems.extend(includes.problems());
    diagnostic::sort(&mut problems);
    (cases, problems)
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
fn document(path: &str, bytes: &[u8]) -> Result<(Document, Vec<Diagnostic>), Vec<Diagnostic>> {
    let source = decode(path, bytes).map_err(|problem| vec![*problem])?;
    match yaml::read(&source) {
        (Some(document), problems) => Ok((document, problems)),
        (None, problems) => Err(problems),
    }
}

fn joined(mut first: Vec<Diagnostic>, second: Vec<Diagnostic>) -> Vec<Diagnostic> {
    first.extend(second);
    first
}

/// The embedded YAML files with their path below `cases/`, in order.
fn embedded_files() -> Vec<(String, &'static [u8])> {
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

/// The name of an include: what stands behind the folder `include/`, without extension.
fn include_name(path: &str) -> Option<&str> {
    let below = path.strip_prefix("include/").or_else(|| path.split_once("/include/").map(|(_, below)| below))?;
    below.strip_suffix(".yaml")
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
mod tests {
    use serde_json::json;

    use super::*;
    use crate::case::model::{Action, Body, IncomingBody, NeedRoot, Presence};

    const EVERYTHING: &str = include_str!("../../tests/good-case.yaml");

    fn read(text: &str) -> (Option<Case>, Vec<Diagnostic>) {
        load_text("cases/v1/agent/good.yaml", text, &Vocabulary::v1(), &Includes::embedded())
    }

    #[test]
    fn a_case_with_everything_is_lowered() {
        let (case, problems) = read(EVERYTHING);
        assert!(problems.is_empty(), "{}", diagnostic::render_all(&problems, diagnostic::Look::Plain));
        let case = case.expect("a sound case");
        assert_eq!(case.id, "v1/agent/good");
        assert_eq!(case.needs.iter().map(|need| need.root).collect::<Vec<_>>(), [NeedRoot::Agent, NeedRoot::Session]);
        assert_eq!(case.tester.by_hand.iter().collect::<Vec<_>>(), ["fs/read_text_file"]);
        assert_eq!(case.limits.turn, Some(std::time::Duration::from_secs(20)));
        let Action::Send(first) = &case.steps[0].action else { panic!("{:?}", case.steps[0]) };
        assert!(matches!(&first[0].body, Body::Request { label, .. } if label == "initialize"));
        assert_eq!(case.steps[0].source.path(), "cases/v1/include/initialize.yaml");
        let hoped = case.steps.iter().find(|step| step.text.starts_with("agent?")).expect("a sound case");
        assert!(matches!(hoped.action, Action::Expect { presence: Presence::Hope, .. }));
        assert_eq!(
            case.source.text().lines().nth(hoped.place.line - 1).expect("a sound case").trim_start()[2..],
            hoped.text
        );
        let end = case.steps.iter().find(|step| step.text.contains("cancelled")).expect("a sound case");
        assert_eq!(end.decides, ["cancel.stop-reason"]);
        let Action::Expect { line, .. } = &end.action else { panic!("{end:?}") };
        let IncomingBody::Result { result, .. } = &line.body else { panic!("{line:?}") };
        let mut bindings = crate::case::Bindings::for_case(&case, "/w", "/h");
        assert!(result.matches(&json!({"stopReason": "cancelled", "_meta": {}}), &mut bindings, line.exact).is_ok());
        assert!(result.matches(&json!({"stopReason": "end_turn"}), &mut bindings, line.exact).is_err());
    }

    #[test]
    fn no_broken_file_makes_it_panic() {
        let text = EVERYTHING.as_bytes();
        let junk = [b'{', b'-', b'\n', b'"', 0xC3, 0, b':', b'<'];
        for at in (0..text.len()).step_by(3) {
            let mut changed = text.to_vec();
            changed[at] = junk[at % junk.len()];
            for bytes in [&text[..at], &changed] {
                let (_, problems) = load_bytes("x.yaml", bytes, &Vocabulary::v1(), &Includes::embedded());
                assert!(problems.is_empty() || !diagnostic::render_all(&problems, diagnostic::Look::Styled).is_empty());
            }
        }
    }

    #[test]
    fn the_samples_of_the_manual_are_yaml_and_its_case_is_sound() {
        let manual = include_str!("../../../cases/README.md");
        let samples: Vec<_> = manual.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        let (case, problems) = read(samples.first().expect("a sample"));
        assert!(case.is_some() && problems.is_empty(), "{problems:?}");
        for sample in samples {
            let (document, problems) = yaml::read(&Arc::new(SourceFile::new("cases/README.md", sample)));
            assert!(document.is_some() && problems.is_empty(), "{sample}\n{problems:?}");
        }
        for intent in crate::case::INTENTS {
            assert!(manual.contains(&format!("`{intent}`")), "{intent}");
        }
    }

    #[test]
    fn a_directory_adds_cases_and_includes() {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        let head = "title: t\nsubject: agent\nrequirements: [init.respond]\ntranscript: ";
        write("v1/agent/init/mine.yaml", &format!("{head}[include: own]\n"));
        write("v1/agent/init/bad.yaml", "title: t\n");
        write("v1/agent/init/other.yml", "");
        write("v1/include/own.yaml", "title: t\ntranscript: [include: session]\n");
        write("requirements/v1.yaml", "- id: x\n");
        let (cases, problems) = load_dir(dir.path(), &Vocabulary::v1());
        assert_eq!(cases.iter().map(|case| case.id.as_str()).collect::<Vec<_>>(), ["v1/agent/init/mine"]);
        let codes: Vec<_> = problems.iter().map(|problem| problem.code).collect();
        assert_eq!(codes, ["file::missing-key", "file::missing-key", "file::missing-key", "case::extension"]);
        let (_, problems) = load_dir(&dir.path().join("nowhere"), &Vocabulary::v1());
        assert!(problems[0].to_string().contains("file::unreadable"));
    }

    #[test]
    fn the_embedded_cases_are_sound() {
        let (_, problems) = embedded(&Vocabulary::v1());
        assert!(problems.is_empty(), "{}", diagnostic::render_all(&problems, diagnostic::Look::Plain));
    }
}
