//! Where cases begin and end in a conversation that holds several.

use serde::{Deserialize, Serialize};

/// The beginning or the end of a case in a conversation that holds several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CaseMark {
    /// The case begins. In the first case of a conversation, the subject is started after it.
    Begins(CaseInfo),
    /// The transcript of the case is over. A fence of the tester follows; what the subject still sends counts for this case.
    Ends,
}

/// What a trace says about one of its cases; in a trace of a single case, the header says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseInfo {
    /// The id.
    pub id: String,
    /// The file, where it is not built into the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The requirements that the case was written for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
}
