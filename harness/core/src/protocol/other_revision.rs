//! Another known revision of the schema of a major. What an edition does not define, another revision may define; then
//! it violates nothing.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::Value;

use super::methods::MethodTable;
use super::problem::{Problem, ProblemKind};
use super::schema::Schema;
use crate::requirement::Party;

/// The files of another revision.
#[derive(Clone, Copy)]
pub struct OtherSource {
    /// Its day, such as `2026-11-20`.
    pub revision: &'static str,
    /// Whether it is later than the edition: what it allows violates nothing. Of an earlier one, only the names count
    /// that its drafts had.
    pub is_later: bool,
    /// The texts of its files.
    pub files: &'static [fn() -> Cow<'static, str>],
}

/// Another revision. Its files are read when they are first needed, since most conversations never need them.
pub struct OtherRevision {
    source: OtherSource,
    has_open_sets: bool,
    files: OnceLock<Vec<File>>,
}

struct File {
    schema: Schema,
    methods: MethodTable,
    names: BTreeSet<&'static str>,
}

impl OtherRevision {
    /// Creates the revision; with `has_open_sets`, a value of an open set needs a definition or an underscore.
    pub(super) const fn new(source: OtherSource, has_open_sets: bool) -> Self {
        Self { source, has_open_sets, files: OnceLock::new() }
    }

    /// Returns the name of the revision.
    pub const fn revision(&self) -> &'static str {
        self.source.revision
    }

    /// Reads the files.
    ///
    /// # Panics
    ///
    /// If a file is not JSON. A test reads the built-in ones.
    fn files(&self) -> &[File] {
        self.files.get_or_init(|| {
            let read = |text: &fn() -> Cow<'static, str>| {
                let root = serde_json::from_str(&text());
                let root: Value = root.unwrap_or_else(|error| panic!("schema of {}: {error}", self.revision()));
                let schema = Schema::new(root);
                let schema = if self.has_open_sets { schema.with_open_sets() } else { schema };
                File { methods: MethodTable::derive(&schema), names: schema.member_names(), schema }
            };
            self.source.files.iter().map(read).collect()
        })
    }

    /// Returns the problems of a payload that this revision shows as well, and the places of the others.
    pub(super) fn without_defined(
        &self,
        definition: &str,
        value: &Value,
        mut problems: Vec<Problem>,
    ) -> (Vec<Problem>, Vec<String>) {
        let mut defined = Vec::new();
        let known = self.files().iter().map(|file| &file.schema).filter(|file| file.definition(definition).is_some());
        for schema in known {
            if problems.is_empty() {
                break;
            }
            let remaining = schema.problems(definition, value);
            let stands = |problem: &Problem| {
                let is_name = problem.kind == ProblemKind::NotInSet;
                !(self.source.is_later || is_name) || remaining.iter().any(|other| other.at == problem.at)
            };
            let (stands, excused): (Vec<_>, Vec<_>) = problems.into_iter().partition(stands);
            defined.extend(excused.into_iter().map(|problem| problem.at));
            problems = stands;
        }
        (problems, defined)
    }

    /// Returns the places of all members of a payload that this revision defines.
    pub fn defined(&self, definition: &str, value: &Value) -> BTreeSet<String> {
        self.files().iter().flat_map(|file| file.schema.parts(definition, value).defined()).collect()
    }

    /// Whether a definition has a member of this name.
    pub fn has_member(&self, name: &str) -> bool {
        self.files().iter().any(|file| file.names.contains(name))
    }

    /// Whether a definition has this string among its values, or as the tag of one of its branches.
    pub fn has_value(&self, definition: &str, value: &str) -> bool {
        self.files().iter().any(|file| file.schema.has_value(definition, value))
    }

    /// Whether the party may send the method.
    pub fn knows(&self, sender: Party, method: &str) -> bool {
        self.files().iter().any(|file| file.methods.knows(sender, method))
    }
}
