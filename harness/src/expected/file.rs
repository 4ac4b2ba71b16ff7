//! The serde types of a baseline, from which `schemas/expected.schema.json` is generated.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::document::shape;

/// The JSON Schema of a baseline, as it is committed in `schemas/expected.schema.json`.
pub fn schema() -> Value {
    shape::schema::<ExpectedFile>()
}

/// Known failures.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "acp-conformance-expected/1")]
pub(crate) struct ExpectedFile {
    /// The entries; each is a separate table, `[[expected]]`.
    #[serde(default)]
    pub expected: Vec<EntryFile>,
}

/// A known failure: of a requirement, of a case, or of a requirement in one case.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntryFile {
    /// The id of a requirement, such as `cancel.stop-reason`.
    #[schemars(length(min = 1))]
    pub requirement: Option<String>,
    /// The id of a case, such as `v1/agent/init/handshake`.
    #[schemars(length(min = 1))]
    pub case: Option<String>,
    /// The reason for the failure, in a few words.
    pub reason: String,
    /// The address of more information.
    #[schemars(length(min = 1))]
    pub link: Option<String>,
    /// The last day on which the failure is accepted, such as `2027-01-31`.
    pub expires: Option<String>,
}
