//! An edition: a protocol major and one revision of its schema, with everything derived from the two.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::adapter::Adapter;
use super::methods::MethodTable;
use super::other_revision::{OtherRevision, OtherSource};
use super::problem::Problem;
use super::schema::Schema;
use super::walk::{Member, Parts, Site};
use crate::requirement::{Catalogue, Party};
use crate::wire::Members;

/// The newest existing major of the protocol.
pub const NEWEST_MAJOR: u64 = 2;

/// The newest major of the protocol that is not a draft.
pub const NEWEST_STABLE_MAJOR: u64 = 1;

/// The first day whose revision of version 2 is a preview; before, it was a draft.
const PREVIEW_SINCE: &str = "2026-11-20";

/// Returns what an edition is that is not stable: a `preview` or a `draft`.
pub fn edition_stage(name: &str) -> Option<&'static str> {
    let (major, day) = name.strip_prefix('v')?.split_once('@')?;
    let is_stable = major.parse::<u64>().ok()? <= NEWEST_STABLE_MAJOR;
    (!is_stable).then_some(if day < PREVIEW_SINCE { "draft" } else { "preview" })
}

/// The name of an edition for people; one that is not stable is marked, as in `v2@2026-11-20 (preview)`.
pub fn edition_label(name: &str) -> Cow<'_, str> {
    match edition_stage(name) {
        Some(stage) => format!("{name} ({stage})").into(),
        None => name.into(),
    }
}

/// A protocol major with one revision of its schema.
///
/// Two revisions of one major can disagree on the wire, so verdicts name the edition and not only the major.
pub struct Edition {
    /// `v1@2026-11-20`.
    pub name: String,
    /// The integer that is negotiated in `initialize`.
    pub major: u16,
    /// SHA-256 of the stable schema file, in lower-case hexadecimal.
    pub schema_sha256: String,
    /// The stable schema: it decides verdicts.
    pub stable: Schema,
    /// The unstable schema: members that only this schema has are reported as draft features and decide nothing.
    pub unstable: Schema,
    /// The methods of the stable schema.
    pub methods: MethodTable,
    /// The methods of the unstable schema.
    pub draft_methods: MethodTable,
    /// Names of members that only drafts use, in any place. Drafts move members more often than they are published, so
    /// a draft's name in an unexpected place was not invented by the sender.
    pub draft_names: BTreeSet<&'static str>,
    /// Names of all members in the two schemas.
    pub member_names: BTreeSet<&'static str>,
    /// Another known revision of the major: it decides no verdict, but what it defines violates nothing.
    pub other_revision: Option<OtherRevision>,
    /// The differences between majors that the schema does not contain.
    pub adapter: &'static dyn Adapter,
    /// The requirements.
    pub catalogue: Arc<Catalogue>,
}

/// The parts of an edition, except its catalogue.
#[derive(Clone, Copy)]
pub struct EditionSource<'s> {
    /// The name, such as `v1@2026-11-20`.
    pub name: &'s str,
    /// The integer that is negotiated in `initialize`.
    pub major: u16,
    /// The text of `schema.json`.
    pub stable: &'s str,
    /// The text of `schema.unstable.json`.
    pub unstable: &'s str,
    /// Another known revision of the major.
    pub other_revision: Option<OtherSource>,
    /// The differences between majors that the schema does not contain.
    pub adapter: &'static dyn Adapter,
}

/// The differences of a payload from the stable schema of an edition.
#[derive(Debug, Default)]
pub struct Differences {
    /// Those that count.
    pub problems: Vec<Problem>,
    /// The places that only a draft of the edition allows.
    pub drafts: Vec<String>,
    /// The places that only another revision allows.
    pub of_other_revision: Vec<String>,
}

impl Edition {
    /// Compares a payload with its definition.
    pub fn differences(&self, definition: &str, value: &Value) -> Differences {
        let problems = self.stable.problems(definition, value);
        if problems.is_empty() {
            return Differences::default();
        }
        let remaining = self.unstable.problems(definition, value);
        let (stands, draft): (Vec<_>, Vec<_>) =
            problems.into_iter().partition(|problem| remaining.iter().any(|other| other.at == problem.at));
        let drafts = draft.into_iter().map(|problem| problem.at).collect();
        let (problems, of_other_revision) = match &self.other_revision {
            Some(other) if !stands.is_empty() => other.without_defined(definition, value, stands),
            _ => (stands, Vec::new()),
        };
        Differences { problems, drafts, of_other_revision }
    }

    /// Returns the problems of a payload that no other revision excuses.
    pub fn unexcused(&self, definition: &str, value: &Value, problems: Vec<Problem>) -> Vec<Problem> {
        match &self.other_revision {
            Some(other) if !problems.is_empty() => other.without_defined(definition, value, problems).0,
            _ => problems,
        }
    }

    /// Compares a payload with its definition, and also looks for the members that its `parts` do not define.
    pub fn differences_with_members(&self, definition: &str, value: &Value, parts: &Parts<'_>) -> Differences {
        let mut differences = self.differences(definition, value);
        let unknown = parts.members.iter().filter(|member| member.known != Site::Defined);
        let unknown: Vec<String> = unknown.map(Member::at).collect();
        if unknown.is_empty() {
            return differences;
        }
        let of_drafts = self.unstable.parts(definition, value).defined();
        let (of_drafts, others): (Vec<_>, Vec<_>) = unknown.into_iter().partition(|at| of_drafts.contains(at));
        differences.drafts.extend(of_drafts);
        if let Some(other) = self.other_revision.as_ref().filter(|_| !others.is_empty()) {
            let defined = other.defined(definition, value);
            differences.of_other_revision.extend(others.into_iter().filter(|at| defined.contains(at)));
        }
        differences
    }

    /// Returns whether a payload has a member or a value that only another revision defines.
    pub fn is_of_other_revision(&self, definition: &str, value: &Value) -> bool {
        let parts = self.stable.parts(definition, value);
        self.other_revision.is_some()
            && !self.differences_with_members(definition, value, &parts).of_other_revision.is_empty()
    }

    /// Returns whether only another revision has a member of this name, in any place.
    pub fn other_revision_has_name(&self, name: &str) -> bool {
        !self.member_names.contains(name) && self.other_revision.as_ref().is_some_and(|other| other.has_member(name))
    }

    /// Returns whether a draft or another revision has this value in a set of strings.
    pub fn has_value_elsewhere(&self, definition: &str, value: &str) -> bool {
        self.unstable.has_value(definition, value)
            || self.other_revision.as_ref().is_some_and(|other| other.has_value(definition, value))
    }

    /// Returns whether another revision has a method of this name for the party.
    pub fn other_revision_has_method(&self, sender: Party, method: &str) -> bool {
        self.other_revision.as_ref().is_some_and(|other| other.knows(sender, method))
    }

    /// Returns the version in a result of `initialize`, if it exists and is not that of this edition.
    pub fn other_version(&self, result: &Value) -> Option<u64> {
        let version = result.member("protocolVersion")?.as_u64()?;
        Some(version).filter(|&version| (1..=NEWEST_MAJOR).contains(&version) && version != u64::from(self.major))
    }

    /// Returns the version that an agent supports which refused this edition's, by the rules of version 2: error
    /// -32022, whose data lists only later versions.
    pub fn refused_for(&self, params: &Value, error: &Value) -> Option<u64> {
        const UNSUPPORTED: i64 = -32022;
        let major = u64::from(self.major);
        let asked = params.member("protocolVersion")?.as_u64()? == major;
        let is_refusal = error.member("code").and_then(Value::as_i64) == Some(UNSUPPORTED);
        let supported = error.member("data")?.member("supported")?.as_array().filter(|_| asked && is_refusal)?;
        let supported: Option<Vec<u64>> = supported.iter().map(Value::as_u64).collect();
        supported?.into_iter().min().filter(|least| *least > major && *least <= NEWEST_MAJOR)
    }

    /// Derives an edition from the text of its schemas.
    ///
    /// # Errors
    ///
    /// Names the broken schema file and its first problem.
    pub fn load(source: EditionSource<'_>, catalogue: Arc<Catalogue>) -> Result<Self, SchemaError> {
        let EditionSource { name, major, stable, unstable, other_revision, adapter } = source;
        let schema_sha256 = sha256(stable);
        let read = |file: &'static str, text: &str| -> Result<(Schema, MethodTable), SchemaError> {
            let broken = |message: String| SchemaError { file, message };
            let root: Value = serde_json::from_str(text).map_err(|error| broken(error.to_string()))?;
            let schema = Schema::new(root);
            let schema = if adapter.reserves_values() { schema.with_open_sets() } else { schema };
            if let Some(reference) = schema.dangling_reference() {
                return Err(broken(format!("{reference} refers to nothing")));
            }
            let methods = MethodTable::derive(&schema);
            if methods.iter().next().is_none() {
                return Err(broken("no method can be read out of it".to_owned()));
            }
            Ok((schema, methods))
        };
        let (stable, methods) = read("schema.json", stable)?;
        let (unstable, draft_methods) = read("schema.unstable.json", unstable)?;
        let (stable_names, mut member_names) = (stable.member_names(), unstable.member_names());
        let draft_names = member_names.difference(&stable_names).copied().collect();
        member_names.extend(stable_names);
        Ok(Self {
            name: name.to_owned(),
            major,
            schema_sha256,
            stable,
            unstable,
            methods,
            draft_methods,
            draft_names,
            member_names,
            other_revision: other_revision.map(|other| OtherRevision::new(other, adapter.reserves_values())),
            adapter,
            catalogue,
        })
    }
}

/// A schema file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {message}")]
pub struct SchemaError {
    file: &'static str,
    message: String,
}

impl std::fmt::Debug for Edition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edition").field("name", &self.name).finish_non_exhaustive()
    }
}

/// SHA-256 in lower-case hexadecimal digits.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::V1;
    use crate::testing::{V1_STABLE, V1_UNSTABLE, v1};

    #[test]
    fn labels_what_is_not_stable() {
        let labels = ["v1@2026-11-20", "v2@2026-11-02", "v2@2026-11-20", "tiny@2026-01", "v"].map(edition_label);
        let expected = ["v1@2026-11-20", "v2@2026-11-02 (draft)", "v2@2026-11-20 (preview)", "tiny@2026-01", "v"];
        assert_eq!(labels, expected);
    }

    #[test]
    fn names_the_broken_schema_file() {
        let load = |stable: &str| {
            let source = EditionSource {
                name: "x",
                major: 1,
                stable,
                unstable: V1_UNSTABLE,
                other_revision: None,
                adapter: &V1,
            };
            Edition::load(source, Arc::clone(&v1().catalogue)).expect_err("a broken schema").to_string()
        };
        assert!(load("{").starts_with("schema.json: EOF"));
        assert_eq!(load("{}"), "schema.json: no method can be read out of it");
        let cut = V1_STABLE.replace("\"SessionId\": {", "\"SessionID\": {");
        assert_eq!(load(&cut), "schema.json: #/$defs/SessionId refers to nothing");
    }
}
