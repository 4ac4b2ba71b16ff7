//! Reads fault files: from bytes, from a directory, and those embedded in the program.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use include_dir::{Dir, include_dir};

use crate::diagnostic::{self, Diagnostic};
use crate::document::shape::Shape;
use crate::document::{decode, yaml};
use crate::fault::check;
use crate::fault::file::FaultFile;
use crate::fault::model::Fault;
use crate::source::{SourceFile, Span};

/// The faults that are embedded in the program.
static FAULTS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/cases/faults");

static FAULT: LazyLock<Shape> = LazyLock::new(Shape::of::<FaultFile>);

/// Reads one fault; `cases` are the ids of the cases that it may name. There is a fault only if there is no error.
///
/// ```
/// let text = "title: t\nkills: prompt.stop-reson\ncase: v1/agent/x\nmatch: {any: true}\ndo: {drop: true}\n";
/// let (fault, problems) = acp_conformance::fault::load_bytes("faults/x.yaml", text.as_bytes(), &["v1/agent/x"]);
/// assert!(fault.is_none());
/// assert!(problems[0].to_string().contains("did you mean `prompt.stop-reason`?"));
/// ```
#[must_use]
pub fn load_bytes(path: &str, bytes: &[u8], cases: &[&str]) -> (Option<Fault>, Vec<Diagnostic>) {
    let (document, mut problems) = match decode(path, bytes).map(|source| yaml::read(&source)) {
        Ok((Some(document), problems)) => (document, problems),
        Ok((None, problems)) => return (None, problems),
        Err(problem) => return (None, vec![*problem]),
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let id = name.strip_suffix(".yaml").unwrap_or(name).to_owned();
    let fault = match FAULT.read::<FaultFile>(&document) {
        Ok(file) => {
            let (fault, more) = check::lower(id, file, &document, cases);
            problems.extend(more);
            Some(fault)
        }
        Err(more) => {
            problems.extend(more);
            None
        }
    };
    diagnostic::sort(&mut problems);
    let sound = !problems.iter().any(Diagnostic::is_error);
    (fault.filter(|_| sound), problems)
}

/// Reads every fault of a folder, in the order of their names.
#[must_use]
pub fn load_dir(dir: &Path, cases: &[&str]) -> (Vec<Fault>, Vec<Diagnostic>) {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => return (Vec::new(), vec![unreadable(dir, &error)]),
    };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let (mut faults, mut problems) = (Vec::new(), Vec::new());
    for path in files {
        match std::fs::read(&path) {
            Err(error) => problems.push(unreadable(&path, &error)),
            Ok(bytes) => {
                let (fault, more) = load_bytes(&path.display().to_string(), &bytes, cases);
                faults.extend(fault);
                problems.extend(more);
            }
        }
    }
    (faults, problems)
}

/// Reads the faults that are embedded in the program, in the order of their names.
#[must_use]
pub fn embedded(cases: &[&str]) -> (Vec<Fault>, Vec<Diagnostic>) {
    let (mut faults, mut problems) = (Vec::new(), Vec::new());
    let mut files: Vec<_> = FAULTS.files().filter(|f| f.path().extension().is_some_and(|e| e == "yaml")).collect();
    files.sort_by_key(|file| file.path());
    for file in files {
        let (fault, more) = load_bytes(&format!("cases/faults/{}", file.path().display()), file.contents(), cases);
        faults.extend(fault);
        problems.extend(more);
    }
    (faults, problems)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    let source = Arc::new(SourceFile::new(path.display().to_string(), ""));
    Diagnostic::error("file::unreadable", &source, Span::default(), format!("cannot read the file: {error}"))
}
