//! The acts of a user, read from lines of standard input.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One act of the user; the README of the package describes them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub(super) enum Act {
    Prompt { text: String, attach: Option<Vec<Attachment>> },
    Cancel,
    NewSession { cwd: Option<PathBuf> },
    Load { session_id: String },
    Resume { session_id: String },
    Close { session_id: String },
    Delete { session_id: String },
    Switch { session_id: String },
    List { dir: Option<String> },
    SetMode { mode_id: String },
    SetOption { config_id: String, value: OptionValue },
    Command { name: String, input: Option<String> },
    Authenticate { method_id: String },
    Logout,
    CancelRequest,
    CustomRequest { method: String },
    Decide { option_id: String },
    Answer { action: Action },
    CancelTool,
    CancelTerminal,
    Quit,
}

/// The user's answer to an elicitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Action {
    Accept,
    Decline,
    Cancel,
}

/// An attachment of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Attachment {
    Image,
    Audio,
    /// A file, with its content if the agent accepts that.
    File,
    /// A link to a file.
    Mention,
}

/// The new value of a config option.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum OptionValue {
    Flag(bool),
    Choice(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_acts_as_the_contract_spells_them() {
        let act = |line: &str| serde_json::from_str::<Act>(line).expect(line);
        let attach = vec![Attachment::Image, Attachment::Mention];
        assert_eq!(
            act(r#"{"act":"prompt","text":"hi","attach":["image","mention"]}"#),
            Act::Prompt { text: "hi".into(), attach: Some(attach) }
        );
        assert_eq!(act(r#"{"act":"cancel-request"}"#), Act::CancelRequest);
        assert_eq!(act(r#"{"act":"load","sessionId":"s 1"}"#), Act::Load { session_id: "s 1".into() });
        let value = OptionValue::Flag(true);
        let set = Act::SetOption { config_id: "v".into(), value };
        assert_eq!(act(r#"{"act":"set-option","configId":"v","value":true}"#), set);
        assert!(serde_json::from_str::<Act>(r#"{"act":"dance"}"#).is_err());
    }
}
