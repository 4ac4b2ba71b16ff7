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
//! The profile of a client contains a placeholder for the path of its agent, and describes how its user acts:
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
//! The texts can contain [`places`], which each case replaces by its values:
//!
//! | in | places |
//! |---|---|
//! | command, environment and HOME of an agent | `{home}`, `{cache}`: a folder that all cases of a run share, for what a program unpacks at its first start, `{model}`: the origin of a scripted model, `{port}`: the port at which it serves, and `{protocol}`: the protocol version, `v1` or `v2` |
//! | those of a client | `{agent}`, `{agent_json}`, `{agent_dir}`, `{url}`: the address of its agent over HTTP or WebSocket, `{cwd}`, `{home}`, `{cache}`, `{prompt}`, `{prompt_json}`, `{protocol}` |
//! | the command of a client, as a whole word | `{args}`: the words of the settings; else they come at the end |
//! | the settings `mcp-servers` and `directories` | `{mcp_servers}` and `{directories}`, as JSON |
//! | an act | its arguments, each also as JSON with `_json` and as the name that people see with `_name`, and `{cwd}`, `{cwd_json}`, `{home}`, `{agent}` |

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
pub fn schema() -> Value {
    shape::schema::<ProfileFile>()
}

/// How to start and drive one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// A short name, that selects it.
    pub name: String,
    /// The party of the subject.
    pub kind: Party,
    /// The name for people.
    pub title: String,
    /// The address of the subject's page.
    pub homepage: Option<String>,
    /// The command that installs it.
    pub install: Option<String>,
    /// A command that prints the installed version.
    pub version: Option<Vec<String>>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The program and its arguments if it serves HTTP or WebSocket; `command` if absent.
    pub serve: Option<Vec<String>>,
    /// The address at which it serves then.
    pub url: Option<String>,
    /// Additional environment variables.
    pub env: BTreeMap<String, String>,
    /// Files that are written into the HOME of each case: relative path and text.
    pub home: BTreeMap<String, String>,
    /// The limits that it needs.
    pub limits: LimitOverrides,
    /// The wording of prompts by intent, with placeholders such as `{path}` for arguments.
    pub prompts: BTreeMap<String, String>,
    /// Whether a prompt ends with a line that repeats its intent as JSON, if the profile says so.
    pub intent_line: Option<bool>,
    /// The login method of an agent by which the harness logs in where a request needs a login.
    pub login: Option<String>,
    /// Hints for the scripted model of an agent.
    pub hints: Hints,
    /// The known failures with their reasons.
    pub expected: Vec<Expectation>,
    /// The acts and settings of a client's user; defaults for an agent.
    pub controls: Controls,
    /// The base profile, before the two are merged.
    pub base: Option<String>,
    /// The directory in which the subject starts; `None` for the current one.
    pub dir: Option<PathBuf>,
    /// The settings of its runs, which options override.
    pub run: RunSettings,
}

/// The settings of runs, which options override.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunSettings {
    /// A folder with additional cases.
    pub cases: Option<String>,
    /// The forms of the result.
    pub formats: Vec<String>,
    /// The number of parallel conversations.
    pub jobs: Option<NonZeroUsize>,
    /// Whether a failed SHOULD counts like a failed MUST.
    pub strict: bool,
    /// Whether an incomplete run exits with 0.
    pub allow_incomplete: bool,
}

impl Profile {
    /// Merges this profile over another one.
    pub fn over(self, base: Self) -> Self {
        let has_command = !self.command.is_empty();
        let with = |base: BTreeMap<String, String>, own| base.into_iter().chain(own).collect();
        let mut controls = base.controls;
        controls.overlay(self.controls);
        Self {
            install: if has_command { self.install } else { self.install.or(base.install) },
            homepage: self.homepage.or(base.homepage),
            version: self.version.or(base.version),
            serve: self.serve.or(if has_command { None } else { base.serve }),
            url: self.url.or(if has_command { None } else { base.url }),
            command: if has_command { self.command } else { base.command },
            env: with(base.env, self.env),
            home: with(base.home, self.home),
            limits: base.limits.with(&self.limits),
            prompts: with(base.prompts, self.prompts),
            intent_line: self.intent_line.or(base.intent_line),
            login: self.login.or(base.login),
            hints: if self.hints == Hints::default() { base.hints } else { self.hints },
            expected: base.expected.into_iter().chain(self.expected).collect(),
            controls,
            base: None,
            ..self
        }
    }
}

/// The acts and settings of a client's user, and other differences between clients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Controls {
    /// The means of each act, by its name; see [`ACTS`](crate::case::ACTS).
    pub acts: BTreeMap<String, Means>,
    /// The words that replace `{args}` in the command for a setting that a case needs.
    pub settings: BTreeMap<Setting, Vec<String>>,
    /// The file name of the program that the client starts as its agent, if that name is fixed.
    pub agent_name: Option<String>,
    /// Whether the client runs on a terminal.
    pub terminal: bool,
    /// The meaning of exit codes of the client, for people.
    pub exit_codes: BTreeMap<i32, String>,
    /// Whether several cases may share a process, if the profile says so; otherwise its acts decide.
    pub share: Option<bool>,
}

/// The means by which an act reaches the client. The texts may contain arguments of the act, such as `{text}`, or
/// `{text_json}` as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    /// A line on the client's standard input.
    Line(String),
    /// Keys typed on the client's terminal.
    Keys(String),
    /// Another program does it.
    Hook(Vec<String>),
    /// The client gets a signal, such as `SIGINT`.
    Signal(String),
    /// A person is asked to do it.
    Person(String),
}

/// A setting that must be fixed when the client starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// The user allows every request.
    PermissionAllow,
    /// The user rejects every request.
    PermissionReject,
    /// The user does not answer.
    PermissionHold,
    /// The user has MCP servers: `{mcp_servers}` is a JSON list as in session/new.
    McpServers,
    /// The user has additional directories: `{directories}` is a JSON list of paths.
    Directories,
}

impl Controls {
    /// Merges `other` over this.
    pub fn overlay(&mut self, other: Self) {
        self.acts.extend(other.acts);
        self.settings.extend(other.settings);
        self.agent_name = other.agent_name.or(self.agent_name.take());
        self.terminal |= other.terminal;
        self.exit_codes.extend(other.exit_codes);
        self.share = other.share.or(self.share);
    }

    /// Whether several cases can share a process: its user can open a session in another directory and prompt there, in
    /// this order.
    pub fn can_share(&self) -> bool {
        let typed = |act: &str| match self.acts.get(act) {
            Some(Means::Line(text) | Means::Keys(text)) => Some(text),
            _ => None,
        };
        let names_folder = |text: &String| places::words(text).any(|word| places::CWD.contains(&word));
        self.share != Some(false) && typed("prompt").is_some() && typed("new-session").is_some_and(names_folder)
    }
}

impl Setting {
    /// Every setting.
    pub const ALL: [Self; 5] =
        [Self::PermissionAllow, Self::PermissionReject, Self::PermissionHold, Self::McpServers, Self::Directories];

    /// Whether the client answers requests for permission by it.
    pub const fn is_permission(self) -> bool {
        matches!(self, Self::PermissionAllow | Self::PermissionReject | Self::PermissionHold)
    }

    /// Returns the name in a profile.
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

/// Reads a profile; it exists only without errors.
pub fn load_text(path: &str, text: &str, catalogue: &Catalogue) -> (Option<Profile>, Vec<Diagnostic>) {
    load_bytes(path, text.as_bytes(), catalogue)
}

/// Reads a profile that may not be text.
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
/// The file cannot be read; mistakes in it are diagnostics.
pub fn load_file(path: &Path, catalogue: &Catalogue) -> std::io::Result<(Option<Profile>, Vec<Diagnostic>)> {
    Ok(load_bytes(&path.display().to_string(), &std::fs::read(path)?, catalogue))
}
