//! The newest known schema of a major. What an edition does not define, a newer revision may define; then it violates
//! nothing.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::Value;

use super::methods::MethodTable;
use super::problem::Problem;
use super::schema::Schema;
use crate::requirement::Party;

/// The files of the newest known schema.
#[derive(Clone, Copy)]
pub struct NewerSource {
    /// The name of the revision, such as `1.20.0`.
    pub revision: &'static str,
    /// The text of `schema.json`.
    pub stable: fn() -> Cow<'static, str>,
    /// The text of `schema.unstable.json`.
    pub unstable: fn() -> Cow<'static, str>,
}

/// The newest known schema of a major: its stable and its unstable file. Both are read when they are first needed,
/// since most conversations never need them.
pub struct NewerSchema {
    source: NewerSource,
    has_open_sets: bool,
    files: OnceLock<[File; 2]>,
}

struct File {
    schema: Schema,
    methods: MethodTable,
    names: BTreeSet<&'static str>,
}

impl NewerSchema {
    /// Creates the schema; with `has_open_sets`, a value of an open set needs a definition or an underscore.
    pub(super) const fn new(source: NewerSource, has_open_sets: bool) -> Self {
        Self { source, has_open_sets, files: OnceLock::new() }
    }

    /// Returns the name of the revision.
    #[must_use]
    pub const fn revision(&self) -> &'static str {
        self.source.revision
    }

    /// Reads the files.
    ///
    /// # Panics
    ///
    /// If a file is not JSON. A test reads the built-in ones.
    fn files(&self) -> &[File; 2] {
        self.files.get_or_init(|| {
            [self.source.stable, self.source.unstable].map(|text| {
                let root = serde_json::from_str(&text());
                let root: Value = root.unwrap_or_else(|error| panic!("newest schema {}: {error}", self.revision()));
                let schema = Schema::new(root);
                let schema = if self.has_open_sets { schema.with_open_sets() } else { schema };
                File { methods: MethodTable::derive(&schema), names: schema.member_names(), schema }
            })
        })
    }

    /// Returns the problems of a payload that this schema shows as well, and the places of the others.
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
            let (stands, newer): (Vec<_>, Vec<_>) =
                problems.into_iter().partition(|problem| remaining.iter().any(|other| other.at == problem.at));
            defined.extend(newer.into_iter().map(|problem| problem.at));
            problems = stands;
        }
        (problems, defined)
    }

    /// Returns the places of all members of a payload that this schema defines.
    #[must_use]
    pub fn defined(&self, definition: &str, value: &Value) -> BTreeSet<String> {
        self.files().iter().flat_map(|file| file.schema.parts(definition, value).defined()).collect()
    }

    /// Whether a definition has a member of this name.
    #[must_use]
    pub fn has_member(&self, name: &str) -> bool {
        self.files().iter().any(|file| file.names.contains(name))
    }

    /// Whether a definition has this string among its values, or as the tag of one of its branches.
    #[must_use]
    pub fn has_value(&self, definition: &str, value: &str) -> bool {
        self.files().iter().any(|file| file.schema.has_value(definition, value))
    }

    /// Whether the party may send the method.
    #[must_use]
    pub fn knows(&self, sender: Party, method: &str) -> bool {
        self.files().iter().any(|file| file.methods.knows(sender, method))
    }
}
