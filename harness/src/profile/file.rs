//! The profile as it is written: the serde shape from which `schemas/profile.schema.json` is generated.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::hints::McpByCode;
use crate::case::file::LimitsFile;
use crate::expected::file::EntryFile;
use crate::requirement::Party;

/// How to start and drive one subject of the harness: a profile, or the file `acp-conformance.toml` of a project.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "acp-conformance-profile/1")]
pub(crate) struct ProfileFile {
    /// A short name, by which the profile is chosen; that of `profile` or of the program if not given.
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// The profile that this one builds on: the name of a built-in profile, or a file.
    #[schemars(length(min = 1))]
    pub profile: Option<String>,
    /// What the subject is: `agent` or `client`.
    pub kind: Party,
    /// The name for people; `name` if not given.
    #[schemars(length(min = 1))]
    pub title: Option<String>,
    /// Where to read about the subject.
    pub homepage: Option<String>,
    /// How to install it.
    pub install: Option<String>,
    /// A command that prints the version that is installed, as a list, for a subject that does not tell it on the wire.
    #[schemars(length(min = 1))]
    pub version: Option<Vec<String>>,
    /// The program and its arguments, as a list; that of `profile` if not given.
    #[schemars(length(min = 1))]
    pub command: Option<Vec<String>>,
    /// Environment variables that it gets.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Files that are written into the HOME of each case: relative path and text.
    #[serde(default)]
    pub home: BTreeMap<String, String>,
    /// How long to wait for this subject.
    pub limits: Option<LimitsFile>,
    /// The wording of prompts by intent, with `{path}` and the like for arguments.
    #[serde(default)]
    pub prompts: BTreeMap<String, String>,
    /// Agent: what the scripted model has to know of it. There is a model for each case if the place `{model}` is anywhere.
    #[serde(default)]
    pub model: ModelFile,
    /// What is known to fail; each entry is a table of its own, `[[expected]]`.
    #[serde(default)]
    pub expected: Vec<EntryFile>,
    /// A folder with more cases, as for `--cases`.
    #[schemars(length(min = 1))]
    pub cases: Option<String>,
    /// The forms of the result, such as `junit=report.xml`, as for `--format`.
    #[serde(default)]
    pub formats: Vec<String>,
    /// How many cases run at once, as for `--jobs`.
    pub jobs: Option<NonZeroUsize>,
    /// Whether a failed SHOULD counts like a failed MUST, as for `--strict`.
    #[serde(default)]
    pub strict: bool,
    /// Whether a run in which nothing failed exits with 0 although it is incomplete, as for `--allow-incomplete`.
    #[serde(default)]
    pub allow_incomplete: bool,
    /// Client: the file name of the program that the client takes for its agent; `agent` if not given.
    pub agent_name: Option<String>,
    /// Client: whether it runs on a terminal; no if not given.
    pub terminal: Option<bool>,
    /// Client: the words of its command for what a case wants its user to have set up.
    #[serde(default)]
    pub settings: SettingsFile,
    /// Client: how each act of its user is done, such as `cancel`.
    #[serde(default)]
    pub acts: BTreeMap<String, MeansFile>,
    /// Client: what its exit codes mean, for people.
    #[serde(default)]
    pub exit_codes: BTreeMap<String, String>,
}

/// What the scripted model has to know of one agent; without it, it goes by the usual names.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelFile {
    /// Which of the agent's tools serves a purpose, by its name.
    #[serde(default)]
    pub tools: ToolsFile,
    /// What stands in for an intent, such as `ask-permission = { intent = "write-file", path = "a.txt", content = "a" }`.
    #[serde(default)]
    pub intents: BTreeMap<String, Map<String, Value>>,
    /// Texts of the agent's instructions by which requests are known that are not the user's, such as those for a title.
    #[serde(default)]
    pub auxiliary: Vec<String>,
    /// How tools of MCP servers are called, where the agent does not offer them as tools of its own.
    pub mcp: Option<McpByCode>,
}

/// The names of the agent's tools, where they do not tell what the tools are for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsFile {
    /// It reads a file.
    pub read: Option<String>,
    /// It writes a file.
    pub write: Option<String>,
    /// It replaces a text in a file.
    pub edit: Option<String>,
    /// It runs a command.
    pub run: Option<String>,
    /// It searches files for a text.
    pub search: Option<String>,
    /// It shows the user a plan.
    pub plan: Option<String>,
    /// It asks the user something.
    pub ask: Option<String>,
    /// It changes the mode of the agent.
    pub mode: Option<String>,
}

/// The words that take the place of `{args}` in the command for a setting that a case asks for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct SettingsFile {
    /// The user takes the first option that allows.
    pub permission_allow: Option<Vec<String>>,
    /// The user takes the first option that rejects.
    pub permission_reject: Option<Vec<String>>,
    /// The user leaves requests for permission open.
    pub permission_hold: Option<Vec<String>>,
    /// The user has MCP servers: `{mcp_servers}` is a JSON list as in session/new.
    pub mcp_servers: Option<Vec<String>>,
    /// The user has additional directories: `{directories}` is a JSON list of paths.
    pub directories: Option<Vec<String>>,
}

/// An act is done by exactly one of these means, as in `cancel = { signal = "SIGINT" }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub(crate) struct MeansFile {
    /// A line on the client's standard input.
    #[schemars(length(min = 1))]
    pub line: Option<String>,
    /// Keys that are typed on the client's terminal.
    #[schemars(length(min = 1))]
    pub keys: Option<String>,
    /// A program that does it, and its arguments, as a list.
    #[schemars(length(min = 1))]
    pub hook: Option<Vec<String>>,
    /// A signal that the client gets.
    pub signal: Option<SignalFile>,
    /// What a person is asked to do.
    #[schemars(length(min = 1))]
    pub person: Option<String>,
}

/// A signal that a client may get from its user.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub(crate) enum SignalFile {
    /// What Ctrl-C sends.
    #[serde(rename = "SIGINT")]
    Interrupt,
    /// What asks a program to end.
    #[serde(rename = "SIGTERM")]
    Terminate,
    /// What is sent when the terminal goes.
    #[serde(rename = "SIGHUP")]
    HangUp,
    /// The first signal without a meaning.
    #[serde(rename = "SIGUSR1")]
    User1,
    /// The second signal without a meaning.
    #[serde(rename = "SIGUSR2")]
    User2,
    /// What Ctrl-\\ sends.
    #[serde(rename = "SIGQUIT")]
    Quit,
}

impl SignalFile {
    /// Every signal.
    pub const ALL: [Self; 6] = [Self::Interrupt, Self::Terminate, Self::HangUp, Self::User1, Self::User2, Self::Quit];

    /// The name as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
            Self::User1 => "SIGUSR1",
            Self::User2 => "SIGUSR2",
            Self::Quit => "SIGQUIT",
        }
    }
}
