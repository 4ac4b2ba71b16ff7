//! The serde types of a profile, from which `schemas/profile.schema.json` is generated.

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
    /// A short name that selects the profile; that of `profile` or of the program if absent.
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// The base profile: the name of a built-in profile, or a file.
    #[schemars(length(min = 1))]
    pub profile: Option<String>,
    /// The party of the subject: `agent` or `client`.
    pub kind: Party,
    /// The name for people; `name` if absent.
    #[schemars(length(min = 1))]
    pub title: Option<String>,
    /// The address of the subject's page.
    pub homepage: Option<String>,
    /// The command that installs it.
    pub install: Option<String>,
    /// A command that prints the installed version, as a list, for a subject that does not report it on the wire.
    #[schemars(length(min = 1))]
    pub version: Option<Vec<String>>,
    /// The program and its arguments, as a list; that of `profile` if absent.
    #[schemars(length(min = 1))]
    pub command: Option<Vec<String>>,
    /// Agent: the program and its arguments if it serves HTTP or WebSocket, as a list with `{port}`; `command` if
    /// absent.
    #[schemars(length(min = 1))]
    pub serve: Option<Vec<String>>,
    /// Agent: the address at which it serves then; `http://127.0.0.1:{port}/acp` if absent.
    pub url: Option<String>,
    /// Additional environment variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Files that are written into the HOME of each case: relative path and text.
    #[serde(default)]
    pub home: BTreeMap<String, String>,
    /// The time limits of this subject.
    pub limits: Option<LimitsFile>,
    /// The wording of prompts by intent, with placeholders such as `{path}` for arguments.
    #[serde(default)]
    pub prompts: BTreeMap<String, String>,
    /// Agent: whether a prompt ends with a line that repeats its intent as JSON; yes if absent. The scripted model
    /// needs this line, so `false` is for agents with a real model.
    pub intent_line: Option<bool>,
    /// Agent: the id of one of its login methods, if the harness may log in by it where a request needs a login.
    pub login: Option<String>,
    /// Agent: hints for the scripted model. Each case has a model if the placeholder `{model}` is used anywhere.
    #[serde(default)]
    pub model: ModelFile,
    /// Known failures; each entry is a separate table, `[[expected]]`.
    #[serde(default)]
    pub expected: Vec<EntryFile>,
    /// A folder with additional cases, as for `--cases`.
    #[schemars(length(min = 1))]
    pub cases: Option<String>,
    /// The forms of the result, such as `junit=report.xml`, as for `--format`.
    #[serde(default)]
    pub formats: Vec<String>,
    /// The number of parallel conversations, as for `--jobs`.
    pub jobs: Option<NonZeroUsize>,
    /// Whether a failed SHOULD counts like a failed MUST, as for `--strict`.
    #[serde(default)]
    pub strict: bool,
    /// Whether a run without failures exits with 0 although it is incomplete, as for `--allow-incomplete`.
    #[serde(default)]
    pub allow_incomplete: bool,
    /// Client: the file name of the program that the client takes for its agent; `agent` if absent.
    pub agent_name: Option<String>,
    /// Client: whether it runs on a terminal; no if absent.
    pub terminal: Option<bool>,
    /// Client: whether several cases may share one process. If absent, they do if `prompt` and `new-session` are lines
    /// or keys, and `new-session` has `{cwd}` or `{cwd_json}`.
    pub share: Option<bool>,
    /// Client: the words of its command for settings that a case needs.
    #[serde(default)]
    pub settings: SettingsFile,
    /// Client: the means of each act of its user, such as `cancel`.
    #[serde(default)]
    pub acts: BTreeMap<String, MeansFile>,
    /// Client: the meaning of its exit codes, for people.
    #[serde(default)]
    pub exit_codes: BTreeMap<String, String>,
}

/// Hints for the scripted model about one agent; without them, the model uses common names of tools.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelFile {
    /// The agent's tool for each purpose, by name.
    #[serde(default)]
    pub tools: ToolsFile,
    /// Replacements of intents, such as `ask-permission = { intent = "write-file", path = "a.txt", content = "a" }`.
    #[serde(default)]
    pub intents: BTreeMap<String, Map<String, Value>>,
    /// Texts of the agent's instructions that identify requests of its own, such as those for a title.
    #[serde(default)]
    pub auxiliary: Vec<String>,
    /// The way to call tools of MCP servers, if the agent does not offer them as separate tools.
    pub mcp: Option<McpByCode>,
}

/// The names of the agent's tools, if they do not show their purpose.
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
    /// It gives a task to a subagent.
    pub delegate: Option<String>,
}

/// The words that replace `{args}` in the command for a setting that a case needs.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct SettingsFile {
    /// The user chooses the first option that allows.
    pub permission_allow: Option<Vec<String>>,
    /// The user chooses the first option that rejects.
    pub permission_reject: Option<Vec<String>>,
    /// The user leaves requests for permission open.
    pub permission_hold: Option<Vec<String>>,
    /// The user has MCP servers: `{mcp_servers}` is a JSON list as in session/new.
    pub mcp_servers: Option<Vec<String>>,
    /// The user has additional directories: `{directories}` is a JSON list of paths.
    pub directories: Option<Vec<String>>,
}

/// The means of an act, exactly one, as in `cancel = { signal = "SIGINT" }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub(crate) struct MeansFile {
    /// A line on the client's standard input.
    #[schemars(length(min = 1))]
    pub line: Option<String>,
    /// Keys typed on the client's terminal.
    #[schemars(length(min = 1))]
    pub keys: Option<String>,
    /// A program that does it, and its arguments, as a list.
    #[schemars(length(min = 1))]
    pub hook: Option<Vec<String>>,
    /// A signal to the client.
    pub signal: Option<SignalFile>,
    /// The instruction to a person.
    #[schemars(length(min = 1))]
    pub person: Option<String>,
}

/// A signal that a client may get from its user.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub(crate) enum SignalFile {
    /// The signal of Ctrl-C.
    #[serde(rename = "SIGINT")]
    Interrupt,
    /// The signal that asks a program to exit.
    #[serde(rename = "SIGTERM")]
    Terminate,
    /// The signal after the terminal closes.
    #[serde(rename = "SIGHUP")]
    HangUp,
    /// The first signal for free use.
    #[serde(rename = "SIGUSR1")]
    User1,
    /// The second signal for free use.
    #[serde(rename = "SIGUSR2")]
    User2,
    /// The signal of Ctrl-\\.
    #[serde(rename = "SIGQUIT")]
    Quit,
}

impl SignalFile {
    /// Every signal.
    pub const ALL: [Self; 6] = [Self::Interrupt, Self::Terminate, Self::HangUp, Self::User1, Self::User2, Self::Quit];

    /// Returns the name as written.
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
