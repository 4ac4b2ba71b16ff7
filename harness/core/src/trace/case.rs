//! The beginning and end of cases in a conversation that holds several.

use serde::{Deserialize, Serialize};

/// The beginning or the end of a case in a conversation that holds several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CaseMark {
    /// The case begins. In the first case of a conversation, the subject is started after it.
    Begins(CaseInfo),
    /// The transcript of the case is over. A fence of the tester follows; later messages of the subject still count for
    /// this case.
    Ends,
}

/// The facts about one case of a trace; in a trace of a single case, the header contains them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseInfo {
    /// The id.
    pub id: String,
    /// The title; absent in traces of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The file, unless it is built into the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The requirements of the case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
}
