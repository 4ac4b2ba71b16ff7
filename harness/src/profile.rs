//! Profiles: how to start and drive one subject, as a TOML file.
//!
//! ```
//! use acp_conformance::edition::V1;
//!
//! let text = r#"
//! name = "example"
//! kind = "agent"
//! title = "Example agent"
//! homepage = "https://example.org"
//! install = "npm install -g @example/agent"
//! version = ["example-agent", "--version"]
//! command = ["example-agent", "--acp"]
//!
//! [env]
//! EXAMPLE_API_KEY = "none"
//!
//! [home]
//! ".example/settings.json" = '{"telemetry": false}'
//!
//! [limits]
//! start = "40s"
//!
//! [prompts]
//! read-file = "Read the file {path} with your tool and tell me its text."
//!
//! [model]
//! tools = { read = "look_at" }
//!
//! [[expected]]
//! requirement = "cancel.stop-reason"
//! reason = "answers end_turn"
//! link = "https://example.org/issues/1"
//! "#;
//! let (profile, problems) = acp_conformance::profile::load_text("profiles/example.toml", text, V1.catalogue());
//! assert!(problems.is_empty());
//! assert_eq!(profile.unwrap().command, ["example-agent", "--acp"]);
//! ```
//!
//! The profile of a client says where the program goes that the client takes for its agent, and how its user acts:
//!
//! ```
//! use acp_conformance::edition::V1;
//! use acp_conformance::profile::{Means, Setting, load_text};
//!
//! let text = r#"
//! name = "example"
//! kind = "client"
//! title = "Example client"
//! command = ["example", "--agent", "{agent}", "--cwd", "{cwd}", "{args}", "--say", "{prompt}"]
//!
//! [settings]
//! permission-allow = ["--yes"]
//! mcp-servers = ["--mcp", "{mcp_servers}"]
//!
//! [acts]
//! prompt = { line = '{"act":"prompt","text":{text_json}}' }
//! cancel = { signal = "SIGINT" }
//! set-mode = { hook = ["example", "set-mode", "{modeId}"] }
//! close = { person = "Close the tab of the session {sessionId}." }
//!
//! [exit-codes]
//! 5 = "a permission was refused"
//! "#;
//! let (profile, problems) = load_text("profiles/example.toml", text, V1.catalogue());
//! assert!(problems.is_empty());
//! let controls = profile.unwrap().controls;
//! assert_eq!(controls.acts["cancel"], Means::Signal("SIGINT".to_owned()));
//! assert_eq!(controls.settings[&Setting::PermissionAllow], ["--yes"]);
//! assert_eq!(controls.exit_codes[&5], "a permission was refused");
//! ```
//!
//! The texts have [`places`], for which each case puts in its own values:
//!
//! | in | places |
//! |---|---|
//! | command, environment and HOME of an agent | `{home}`, `{cache}`: a folder that all cases of a run share, for what a program unpacks at its first start, and `{model}`: the origin of a scripted model |
//! | those of a client | `{agent}`, `{agent_json}`, `{agent_dir}`, `{cwd}`, `{home}`, `{cache}`, `{prompt}`, `{prompt_json}` |
//! | the command of a client, as a whole word | `{args}`: the words of the settings; else they come at the end |
//! | the settings `mcp-servers` and `directories` | `{mcp_servers}` and `{directories}`, as JSON |
//! | an act | its arguments, each also as JSON with `_json` and as the name that people see with `_name`, and `{cwd}`, `{home}`, `{agent}` |

mod check;
mod file;
mod hints;
mod means;
pub mod person;
pub mod places;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::Value;

use self::file::ProfileFile;
pub use self::hints::{Hints, McpByCode, Role};
pub use self::means::{check_act, check_setting, parse_act, parse_setting};
use crate::case::LimitOverrides;
use crate::diagnostic::{self, Diagnostic};
use crate::document::shape::{self, Shape};
use crate::document::{decode, toml};
use crate::expected::Expectation;
use crate::requirement::{Catalogue, Party};

static PROFILE: LazyLock<Shape> = LazyLock::new(Shape::of::<ProfileFile>);

/// The JSON Schema of a profile, as it is committed in `schemas/profile.schema.json`.
#[must_use]
pub fn schema() -> Value {
    shape::schema::<ProfileFile>()
}

/// How to start and drive one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// A short name, by which it is chosen.
    pub name: String,
    /// What the subject is.
    pub kind: Party,
    /// The name for people.
    pub title: String,
    /// Where to read about the subject.
    pub homepage: Option<String>,
    /// How to install it.
    pub install: Option<String>,
    /// A command that prints the version that is installed.
    pub version: Option<Vec<String>>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Environment variables that it gets.
    pub env: BTreeMap<String, String>,
    /// Files that are written into the HOME of each case: relative path and text.
    pub home: BTreeMap<String, String>,
    /// The limits that it needs.
    pub limits: LimitOverrides,
    /// The wording of prompts by intent, with `{path}` and the like for arguments.
    pub prompts: BTreeMap<String, String>,
    /// What the scripted model has to know of an agent.
    pub hints: Hints,
    /// What is known to fail, and why.
    pub expected: Vec<Expectation>,
    /// How the user of a client acts on it; as usual for an agent.
    pub controls: Controls,
    /// The profile that this one builds on, until it is put over that.
    pub base: Option<String>,
    /// The directory in which the subject starts; the current one if there is none.
    pub dir: Option<PathBuf>,
    /// How its cases run where no option says otherwise.
    pub run: RunSettings,
}

/// How cases run where no option says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunSettings {
    /// A folder with more cases.
    pub cases: Option<String>,
    /// The forms of the result.
    pub formats: Vec<String>,
    /// How many cases run at once.
    pub jobs: Option<NonZeroUsize>,
    /// Whether a failed SHOULD counts like a failed MUST.
    pub strict: bool,
    /// Whether an incomplete run exits with 0.
    pub allow_incomplete: bool,
}

impl Profile {
    /// Puts what this profile says over what another one says.
    #[must_use]
    pub fn over(self, base: Self) -> Self {
        let has_command = !self.command.is_empty();
        let with = |base: BTreeMap<String, String>, own| base.into_iter().chain(own).collect();
        let mut controls = base.controls;
        controls.overlay(self.controls);
        Self {
            install: if has_command { self.install } else { self.install.or(base.install) },
            homepage: self.homepage.or(base.homepage),
            version: self.version.or(base.version),
            command: if has_command { self.command } else { base.command },
            env: with(base.env, self.env),
            home: with(base.home, self.home),
            limits: base.limits.with(&self.limits),
            prompts: with(base.prompts, self.prompts),
            hints: if self.hints == Hints::default() { base.hints } else { self.hints },
            expected: base.expected.into_iter().chain(self.expected).collect(),
            controls,
            base: None,
            ..self
        }
    }
}

/// How the user of a client acts on it, and what else differs between clients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Controls {
    /// How each act is done, by its name; see [`ACTS`](crate::case::ACTS).
    pub acts: BTreeMap<String, Means>,
    /// What takes the place of `{args}` in the command for a setting that a case asks for.
    pub settings: BTreeMap<Setting, Vec<String>>,
    /// The file name of the program that the client takes for its agent, where the client starts a fixed one.
    pub agent_name: Option<String>,
    /// Whether the client runs on a terminal.
    pub terminal: bool,
    /// What exit codes of the client mean, for people.
    pub exit_codes: BTreeMap<i32, String>,
}

/// How an act reaches the client. The texts may hold arguments of the act, such as `{text}`, or `{text_json}` as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    /// It is a line on the client's standard input.
    Line(String),
    /// It is typed on the client's terminal.
    Keys(String),
    /// It is done by another program.
    Hook(Vec<String>),
    /// The client gets a signal, such as `SIGINT`.
    Signal(String),
    /// A person is asked to do it.
    Person(String),
}

/// Something that has to be said when the client is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// The user allows whatever is asked.
    PermissionAllow,
    /// The user rejects whatever is asked.
    PermissionReject,
    /// The user does not answer.
    PermissionHold,
    /// The user has MCP servers: `{mcp_servers}` is a JSON list as in session/new.
    McpServers,
    /// The user has additional directories: `{directories}` is a JSON list of paths.
    Directories,
}

impl Controls {
    /// Puts what is said in `other` over this.
    pub fn overlay(&mut self, other: Self) {
        self.acts.extend(other.acts);
        self.settings.extend(other.settings);
        self.agent_name = other.agent_name.or(self.agent_name.take());
        self.terminal |= other.terminal;
        self.exit_codes.extend(other.exit_codes);
    }
}

impl Setting {
    /// Every setting.
    pub const ALL: [Self; 5] =
        [Self::PermissionAllow, Self::PermissionReject, Self::PermissionHold, Self::McpServers, Self::Directories];

    /// The name in a profile.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PermissionAllow => "permission-allow",
            Self::PermissionReject => "permission-reject",
            Self::PermissionHold => "permission-hold",
            Self::McpServers => "mcp-servers",
            Self::Directories => "directories",
        }
    }
}

/// Reads a profile; there is one only if there is no error.
#[must_use]
pub fn load_text(path: &str, text: &str, catalogue: &Catalogue) -> (Option<Profile>, Vec<Diagnostic>) {
    load_bytes(path, text.as_bytes(), catalogue)
}

/// Reads a profile that may not even be text.
#[must_use]
pub fn load_bytes(path: &str, bytes: &[u8], catalogue: &Catalogue) -> (Option<Profile>, Vec<Diagnostic>) {
    let source = match decode(path, bytes) {
        Ok(source) => source,
        Err(problem) => return (None, vec![*problem]),
    };
    let (document, problems) = toml::read(&source);
    let Some(document) = document else { return (None, problems) };
    match PROFILE.read::<ProfileFile>(&document) {
        Ok(file) => check::lower(file, &document, catalogue),
        Err(mut problems) => {
            diagnostic::sort(&mut problems);
            (None, problems)
        }
    }
}

/// Reads a profile from disk.
///
/// # Errors
///
/// Only that the file cannot be read; its mistakes are diagnostics.
pub fn load_file(path: &Path, catalogue: &Catalogue) -> std::io::Result<(Option<Profile>, Vec<Diagnostic>)> {
    Ok(load_bytes(&path.display().to_string(), &std::fs::read(path)?, catalogue))
}
