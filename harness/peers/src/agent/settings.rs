//! The modes, config options and slash commands of this agent.

use serde::{Deserialize, Serialize};

/// Id of the config option for the mode.
pub(super) const MODE: &str = "mode";
/// Id of the config option for the model.
pub(super) const MODEL: &str = "model";
/// Id of the boolean config option.
pub(super) const VERBOSE: &str = "verbose";
/// Id of the config option for the effort of the model.
pub(super) const EFFORT: &str = "effort";
/// The modes: id and name of each.
pub(super) const MODES: [(&str, &str); 2] = [("ask", "Ask"), ("code", "Code")];
/// The models: id and name of each.
pub(super) const MODELS: [(&str, &str); 2] = [("echo-1", "Echo 1"), ("echo-2", "Echo 2")];
/// The efforts of the model: id and name of each.
pub(super) const EFFORTS: [(&str, &str); 2] = [("low", "Low"), ("high", "High")];
/// The slash commands: name, description and hint for the input of each.
pub(super) const COMMANDS: [(&str, &str, Option<&str>); 3] = [
    ("say", "Say a text", Some("the text to say")),
    ("plan", "Make a plan and follow it", None),
    ("usage", "Report the token usage", None),
];

/// The settings of a session that its client can change.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Settings {
    pub mode: String,
    pub model: String,
    pub effort: String,
    /// `None` if the client does not support boolean config options.
    pub verbose: Option<bool>,
}
