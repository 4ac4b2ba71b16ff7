//! Reads fault files: from bytes, from a directory, and those embedded in the program.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::case::on_all_cores;
use crate::diagnostic::{self, Diagnostic};
use crate::document::shape::Shape;
use crate::document::{decode, yaml};
use crate::edition::Bundle;
use crate::fault::check;
use crate::fault::file::FaultFile;
use crate::fault::model::Fault;
use crate::protocol::Edition;
use crate::source::{SourceFile, Span};

static FAULT: LazyLock<Shape> = LazyLock::new(Shape::of::<FaultFile>);

/// Reads one fault; `cases` are the ids of the cases that it may name. It returns a fault only without errors.
///
/// ```
/// use acp_conformance::{edition::V1, fault::load_bytes};
///
/// let text = "title: t\nkills: prompt.stop-reson\ncase: v1/agent/x\nmatch: {any: true}\ndo: {drop: true}\n";
/// let (fault, problems) = load_bytes("faults/x.yaml", text.as_bytes(), V1.edition(), &["v1/agent/x"]);
/// assert!(fault.is_none());
/// assert!(problems[0].to_string().contains("did you mean `prompt.stop-reason`?"));
/// ```
#[must_use]
pub fn load_bytes(path: &str, bytes: &[u8], edition: &Edition, cases: &[&str]) -> (Option<Fault>, Vec<Diagnostic>) {
    let (document, mut problems) = match decode(path, bytes).map(|source| yaml::read(&source)) {
        Ok((Some(document), problems)) => (document, problems),
        Ok((None, problems)) => return (None, problems),
        Err(problem) => return (None, vec![*problem]),
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let id = name.strip_suffix(".yaml").unwrap_or(name).to_owned();
    let fault = match FAULT.read::<FaultFile>(&document) {
        Ok(file) => {
            let (fault, more) = check::lower(id, file, &document, edition, cases);
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

/// Reads every fault below a folder, in the order of their names.
#[must_use]
pub fn load_dir(dir: &Path, edition: &Edition, cases: &[&str]) -> (Vec<Fault>, Vec<Diagnostic>) {
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    walk(dir, &mut files, &mut problems);
    let (faults, more) = load_all(files, edition, cases);
    problems.extend(more);
    (faults, problems)
}

/// Reads the faults that are embedded in the program, in the order of their names.
#[must_use]
pub fn embedded(bundle: &'static Bundle, cases: &[&str]) -> (Vec<Fault>, Vec<Diagnostic>) {
    let files = bundle.fault_files().into_iter();
    load_all(files.map(|(path, bytes)| (format!("cases/{path}"), bytes)), bundle.edition(), cases)
}

/// Reads the faults in these files. Their names must differ, even in different folders.
fn load_all<B: AsRef<[u8]> + Sync>(
    files: impl IntoIterator<Item = (String, B)>,
    edition: &Edition,
    cases: &[&str],
) -> (Vec<Fault>, Vec<Diagnostic>) {
    let (mut faults, mut problems) = (BTreeMap::<String, Fault>::new(), Vec::new());
    let files: Vec<_> = files.into_iter().collect();
    for (fault, more) in on_all_cores(&files, |(path, bytes)| load_bytes(path, bytes.as_ref(), edition, cases)) {
        problems.extend(more);
        let Some(fault) = fault else { continue };
        match faults.entry(fault.id.clone()) {
            Entry::Vacant(free) => drop(free.insert(fault)),
            Entry::Occupied(first) => problems.push(doubled(&fault, first.get())),
        }
    }
    (faults.into_values().collect(), problems)
}

fn doubled(fault: &Fault, first: &Fault) -> Diagnostic {
    let message = format!("another fault has the name `{}`", fault.id);
    Diagnostic::error("fault::doubled-name", &fault.source, Span::default(), message)
        .help(format!("rename one of the two files; the other one is {}", first.source.path()))
}

/// Lists the YAML files below a folder with their contents, in the order of their paths.
fn walk(dir: &Path, files: &mut Vec<(String, Vec<u8>)>, problems: &mut Vec<Diagnostic>) {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => return problems.push(unreadable(dir, &error)),
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, files, problems);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            match std::fs::read(&path) {
                Ok(bytes) => files.push((path.display().to_string(), bytes)),
                Err(error) => problems.push(unreadable(&path, &error)),
            }
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    let source = Arc::new(SourceFile::new(path.display().to_string(), ""));
    Diagnostic::error("file::unreadable", &source, Span::default(), format!("cannot read the file: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edition::V1;

    const TEXT: &str = "title: t\nkills: prompt.stop-reason\ncase: v1/agent/x\nmatch: {any: true}\ndo: {drop: true}\n";

    #[test]
    fn load_dir_reads_folders_in_folders_by_name() {
        let dir = tempfile::tempdir().expect("a folder");
        for file in ["agent/prompt/b.yaml", "agent/a.yaml", "client/c.yaml"] {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, TEXT).expect("a file");
        }
        let (faults, problems) = load_dir(dir.path(), V1.edition(), &["v1/agent/x"]);
        assert_eq!(problems, []);
        assert_eq!(faults.iter().map(|fault| fault.id.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn duplicate_name_is_an_error_and_the_first_file_counts() {
        let files = ["agent/prompt/x.yaml", "agent/tool/x.yaml"].map(|path| (path.to_owned(), TEXT));
        let (faults, problems) = load_all(files, V1.edition(), &["v1/agent/x"]);
        assert_eq!(faults.iter().map(|fault| fault.source.path()).collect::<Vec<_>>(), ["agent/prompt/x.yaml"]);
        let drawn = problems.iter().map(ToString::to_string).collect::<String>();
        assert!(drawn.contains("fault::doubled-name") && drawn.contains("agent/tool/x.yaml"), "{drawn}");
        assert!(drawn.contains("the other one is agent/prompt/x.yaml"), "{drawn}");
    }
}
