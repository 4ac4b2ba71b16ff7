//! The results of the entries of a registry. Format `acp-conformance-registry/1`, for other programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changes::RegistryChanges;
use super::results::EntryResult;

/// The name and version of the format.
pub const FORMAT: &str = "acp-conformance-registry/1";

/// The JSON Schema of the results, as it is committed in `schemas/registry.schema.json`.
pub fn schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<RegistryReport>().to_value()
}

/// The newest results of all entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryReport {
    /// Always `acp-conformance-registry/1`.
    pub format: String,
    /// The version of this program.
    pub suite: String,
    /// The file, folder or address of the registry.
    pub registry: String,
    /// The end of the run: UTC, as in RFC 3339.
    pub ended: String,
    /// The entries, in the order of their ids.
    pub entries: Vec<EntryResult>,
    /// What changed in each run, the newest first.
    pub changes: Vec<RegistryChanges>,
}
