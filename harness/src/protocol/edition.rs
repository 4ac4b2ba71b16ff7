//! An edition: a protocol major and one revision of its schema, with everything derived from the two.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::adapter::{Adapter, V1};
use super::methods::MethodTable;
use super::schema::Schema;

const V1_STABLE: &str = include_str!("../../../schemas/acp/v1/schema.json");
const V1_UNSTABLE: &str = include_str!("../../../schemas/acp/v1/schema.unstable.json");

/// The newest major of the protocol that exists.
pub const NEWEST_MAJOR: u64 = 2;

/// A protocol major with one revision of its schema.
///
/// Two revisions of one major can disagree on the wire, so verdicts name the edition, not the major.
pub struct Edition {
    /// `v1@2026-11`.
    pub name: &'static str,
    /// The integer that is negotiated in `initialize`.
    pub major: u16,
    /// SHA-256 of the stable schema file, in lower-case hexadecimal.
    pub schema_sha256: String,
    /// SHA-256 of the unstable schema file, in lower-case hexadecimal.
    pub draft_schema_sha256: String,
    /// The stable schema: it decides verdicts.
    pub stable: Schema,
    /// The unstable schema: what only it knows is reported as a draft feature and decides nothing.
    pub unstable: Schema,
    /// The methods of the stable schema.
    pub methods: MethodTable,
    /// The methods of the unstable schema.
    pub draft_methods: MethodTable,
    /// Names of members that only drafts use, wherever they use them: the drafts move members about more often than they
    /// are published, so a draft's name in an unexpected place is still no invention of the sender.
    pub draft_names: BTreeSet<&'static str>,
    /// What differs between majors and is not in the schema.
    pub adapter: &'static dyn Adapter,
}

impl Edition {
    /// Protocol version 1, stable.
    ///
    /// # Panics
    ///
    /// When a vendored schema file is broken, which [`Edition::try_v1`] tells without a panic.
    #[must_use]
    pub fn v1() -> &'static Self {
        Self::try_v1().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Protocol version 1, stable, unless a vendored schema file is broken.
    ///
    /// # Errors
    ///
    /// The file, and the first thing that is wrong with it.
    pub fn try_v1() -> Result<&'static Self, &'static SchemaError> {
        static EDITION: LazyLock<Result<Edition, SchemaError>> =
            LazyLock::new(|| Edition::load("v1@2026-11", 1, V1_STABLE, V1_UNSTABLE, &V1));
        EDITION.as_ref()
    }

    /// The version in a result of `initialize`, when it exists and is not that of this edition.
    #[must_use]
    pub fn other_version(&self, result: &Value) -> Option<u64> {
        let version = result.get("protocolVersion")?.as_u64()?;
        Some(version).filter(|&version| (1..=NEWEST_MAJOR).contains(&version) && version != u64::from(self.major))
    }

    fn load(
        name: &'static str,
        major: u16,
        stable: &str,
        unstable: &str,
        adapter: &'static dyn Adapter,
    ) -> Result<Self, SchemaError> {
        let [schema_sha256, draft_schema_sha256] = [stable, unstable].map(sha256);
        let read = |file: &str, text: &str| -> Result<(Schema, MethodTable), SchemaError> {
            let broken = |message: String| SchemaError { file: format!("schemas/acp/v{major}/{file}"), message };
            let root: Value = serde_json::from_str(text).map_err(|error| broken(error.to_string()))?;
            let schema = Schema::new(root);
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
        let draft_names = unstable.member_names().difference(&stable.member_names()).copied().collect();
        Ok(Self {
            name,
            major,
            schema_sha256,
            draft_schema_sha256,
            stable,
            unstable,
            methods,
            draft_methods,
            draft_names,
            adapter,
        })
    }
}

/// What is wrong with a vendored schema file.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {message}")]
pub struct SchemaError {
    file: String,
    message: String,
}

/// SHA-256 in lower-case hexadecimal digits.
#[must_use]
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

    #[test]
    fn a_broken_schema_is_told_with_its_file() {
        let load = |text: &str| Edition::load("x", 1, text, V1_UNSTABLE, &V1).err().map(|error| error.to_string());
        let told = |text: &str| load(text).expect("an error");
        assert!(told("{").starts_with("schemas/acp/v1/schema.json: EOF"));
        assert_eq!(told("{}"), "schemas/acp/v1/schema.json: no method can be read out of it");
        let cut = V1_STABLE.replace("\"SessionId\": {", "\"SessionID\": {");
        assert_eq!(told(&cut), "schemas/acp/v1/schema.json: #/$defs/SessionId refers to nothing");
    }

    #[test]
    fn vendored_schemas_are_the_published_bytes() {
        let origin: toml::Table =
            toml::from_str(include_str!("../../../schemas/acp/v1/ORIGIN.toml")).expect("ORIGIN.toml parses");
        for (file, text) in [("schema.json", V1_STABLE), ("schema.unstable.json", V1_UNSTABLE)] {
            let expected = origin["sha256"][file].as_str();
            assert_eq!(expected, Some(sha256(text).as_str()), "{file} was changed");
        }
        assert!(Edition::v1().name.ends_with(origin["revision"].as_str().expect("a revision")));
    }
}
