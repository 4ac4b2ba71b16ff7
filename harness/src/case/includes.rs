//! The steps that several cases share, by name and by tested party.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::case::file::{ContextFile, IncludeFile};
use crate::case::files::{document, joined};
use crate::case::matrix::without_references;
use crate::case::repeat;
use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::document::shape::Shape;
use crate::edition::Bundle;
use crate::requirement::Party;

static INCLUDE: LazyLock<Shape> = LazyLock::new(Shape::of::<IncludeFile>);

static CONTEXT: LazyLock<Shape> = LazyLock::new(Shape::of::<ContextFile>);

/// The folder of the contexts below `include/`.
pub(crate) const CONTEXTS: &str = "context/";

/// A parsed file of steps, or the mistakes in it.
type Read = Result<(Document, ContextFile), Vec<Diagnostic>>;

/// The files that transcripts can include, by party and name; without a party, they are for both.
#[derive(Debug, Default)]
pub struct Includes {
    files: BTreeMap<(Option<Party>, String), Read>,
}

/// The reason why an include cannot be inserted.
#[derive(Debug)]
pub(crate) enum IncludeError<'a> {
    /// The name is unknown; these are known, includes or contexts like the name itself.
    Unknown(Vec<&'a str>),
    /// It has mistakes itself.
    Broken(&'a [Diagnostic]),
}

impl Includes {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the built-in includes of an edition.
    pub fn of(bundle: &Bundle) -> Self {
        let mut includes = Self::new();
        for (path, bytes) in bundle.case_files() {
            includes.add(&path, &format!("cases/{path}"), bytes);
        }
        includes
    }

    /// Adds a file, or replaces the one with the same party and name; `shown` is its name for people.
    ///
    /// The path contains both: `v1/agent/include/session.yaml` is `session` for cases that test an agent, and
    /// `include/session.yaml` is for those of both parties. A file outside such a folder is ignored.
    pub fn add(&mut self, path: &str, shown: &str, bytes: &[u8]) {
        let Some(key) = key(path) else { return };
        let read = document(shown, bytes).and_then(|(mut document, problems)| {
            let problems = joined(problems, repeat::expand(&mut document));
            let help = "a step that depends on the matrix stands in the case itself";
            let problems = joined(problems, without_references(&document, "includes have no matrix", help));
            let file = if key.1.starts_with(CONTEXTS) {
                CONTEXT.read::<ContextFile>(&document)
            } else {
                INCLUDE.read::<IncludeFile>(&document).map(ContextFile::from)
            };
            let file = file.map_err(|shape| joined(problems.clone(), shape))?;
            if problems.is_empty() { Ok((document, file)) } else { Err(problems) }
        });
        self.files.insert(key, read);
    }

    /// Returns the include with this name for a case that tests this party; one for only this party comes first.
    pub(crate) fn get(&self, subject: Party, name: &str) -> Result<&(Document, ContextFile), IncludeError<'_>> {
        let sides = [Some(subject), None];
        match sides.into_iter().find_map(|side| self.files.get(&(side, name.to_owned()))) {
            Some(Ok(include)) => Ok(include),
            Some(Err(problems)) => Err(IncludeError::Broken(problems)),
            None => {
                let fitting = self.files.keys().filter(|(side, known)| {
                    sides.contains(side) && known.starts_with(CONTEXTS) == name.starts_with(CONTEXTS)
                });
                let names: BTreeSet<_> = fitting.map(|(_, name)| name.as_str()).collect();
                Err(IncludeError::Unknown(names.into_iter().collect()))
            }
        }
    }

    /// Returns the mistakes in the structure of the files, whether a case includes them or not.
    pub(crate) fn problems(&self) -> Vec<Diagnostic> {
        self.files.values().filter_map(|file| file.as_ref().err()).flatten().cloned().collect()
    }
}

/// Returns the names of the built-in includes of an edition; contexts begin with [`CONTEXTS`].
pub(crate) fn names(bundle: &Bundle) -> Vec<String> {
    bundle.case_files().into_iter().filter_map(|(path, _)| key(&path)).map(|(_, name)| name).collect()
}

/// Whether a file holds steps to include rather than a case.
pub(crate) fn is_include(path: &str) -> bool {
    key(path).is_some()
}

/// Returns the party and the name of an include: the parts of the path before and after the folder `include/`.
fn key(path: &str) -> Option<(Option<Party>, String)> {
    let (above, below) = match path.strip_prefix("include/") {
        Some(below) => ("", below),
        None => path.split_once("/include/")?,
    };
    let side = [Party::Agent, Party::Client].into_iter().find(|side| above.split('/').any(|word| word == side.name()));
    Some((side, below.strip_suffix(".yaml")?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_tells_the_side_and_the_name() {
        let named = |path| key(path).map(|(side, name)| (side.map(Party::name), name));
        assert_eq!(named("v1/agent/include/session.yaml"), Some((Some("agent"), "session".to_owned())));
        assert_eq!(named("client/include/turn.yaml"), Some((Some("client"), "turn".to_owned())));
        assert_eq!(named("include/own.yaml"), Some((None, "own".to_owned())));
        assert_eq!(named("v1/include/own.yaml"), Some((None, "own".to_owned())));
        assert_eq!(named("v1/agent/init/handshake.yaml"), None);
    }

    #[test]
    fn an_include_of_the_side_comes_first_and_those_of_the_other_side_are_not_seen() {
        let mut includes = Includes::new();
        let steps = |title: &str| format!("title: {title}\ntranscript: [fence: {{}}]\n");
        for path in [
            "v1/agent/include/a.yaml",
            "v1/include/a.yaml",
            "v1/include/b.yaml",
            "v1/client/include/c.yaml",
            "v1/agent/include/context/d.yaml",
        ] {
            includes.add(path, path, steps(path).as_bytes());
        }
        let title = |subject, name| includes.get(subject, name).map(|(_, file)| file.title.as_str()).ok();
        assert_eq!(title(Party::Agent, "a"), Some("v1/agent/include/a.yaml"));
        assert_eq!(title(Party::Client, "a"), Some("v1/include/a.yaml"));
        assert_eq!(title(Party::Agent, "b"), Some("v1/include/b.yaml"));
        let Err(IncludeError::Unknown(names)) = includes.get(Party::Agent, "c") else {
            panic!("the client's was seen")
        };
        assert_eq!(names, ["a", "b"]);
    }
}
