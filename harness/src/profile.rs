//! Profiles: how to start and drive one subject, as a TOML file.
//!
//! ```
//! let text = r#"
//! name = "example"
//! kind = "agent"
//! title = "Example agent"
//! homepage = "https://example.org"
//! install = "npm install -g @example/agent"
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
//! [expected]
//! "cancel.stop-reason" = "answers end_turn, see https://example.org/issues/1"
//! "#;
//! let (profile, problems) = acp_conformance::profile::load_text("profiles/example.toml", text);
//! assert!(problems.is_empty());
//! assert_eq!(profile.unwrap().command, ["example-agent", "--acp"]);
//! ```

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::case::file::LimitsFile;
use crate::case::{INTENTS, LimitOverrides, limits};
use crate::diagnostic::{self, Diagnostic, did_you_mean, nearest};
use crate::document::shape::{self, Shape};
use crate::document::{Document, Spot, decode, toml};
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
    /// What is known to fail: requirement or case, and why.
    pub expected: BTreeMap<String, String>,
    /// How the user of a client acts on it; as usual for an agent.
    pub controls: Controls,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
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

/// Stub.
pub fn parse_act(text: &str) -> Result<(String, Means), String> {
    let (name, means) = text.split_once('=').ok_or("NAME=MEANS")?;
    let (kind, text) = means.split_once(':').ok_or("MEANS")?;
    Ok((
        name.to_owned(),
        match kind {
            "line" => Means::Line(text.to_owned()),
            "signal" => Means::Signal(text.to_owned()),
            "hook" => Means::Hook(shell_words::split(text).map_err(|e| e.to_string())?),
            "keys" => Means::Keys(text.to_owned()),
            _ => Means::Person(text.to_owned()),
        },
    ))
}

/// Stub.
pub fn parse_setting(text: &str) -> Result<(Setting, Vec<String>), String> {
    let (name, words) = text.split_once('=').ok_or("NAME=WORDS")?;
    let setting = [
        Setting::PermissionAllow,
        Setting::PermissionReject,
        Setting::PermissionHold,
        Setting::McpServers,
        Setting::Directories,
    ]
    .into_iter()
    .find(|s| s.name() == name)
    .ok_or("setting")?;
    Ok((setting, shell_words::split(words).map_err(|e| e.to_string())?))
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

/// Names in braces, and what takes their place.
pub mod places {
    use std::collections::BTreeMap;

    /// Puts each value in its place; everything else stays as it is.
    #[must_use]
    pub fn fill(text: &str, values: &BTreeMap<String, String>) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            let name = rest[1..].split_once('}').map(|(name, _)| name);
            match name.and_then(|name| Some((name, values.get(name)?))) {
                Some((name, value)) => {
                    filled.push_str(value);
                    rest = &rest[name.len() + 2..];
                }
                None => {
                    filled.push('{');
                    rest = &rest[1..];
                }
            }
        }
        filled.push_str(rest);
        filled
    }
}

/// How to start and drive one subject of the harness.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "acp-conformance-profile/1")]
struct ProfileFile {
    /// A short name, by which the profile is chosen.
    #[schemars(length(min = 1))]
    name: String,
    /// What the subject is: `agent` or `client`.
    kind: Party,
    /// The name for people.
    #[schemars(length(min = 1))]
    title: String,
    /// Where to read about the subject.
    homepage: Option<String>,
    /// How to install it.
    install: Option<String>,
    /// The program and its arguments, as a list.
    #[schemars(length(min = 1))]
    command: Vec<String>,
    /// Environment variables that it gets.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Files that are written into the HOME of each case: relative path and text.
    #[serde(default)]
    home: BTreeMap<String, String>,
    /// How long to wait for this subject.
    limits: Option<LimitsFile>,
    /// The wording of prompts by intent, with `{path}` and the like for arguments.
    #[serde(default)]
    prompts: BTreeMap<String, String>,
    /// What is known to fail: the id of a requirement or a case, and why.
    #[serde(default)]
    expected: BTreeMap<String, String>,
}

/// Reads a profile; there is one only if there is no error.
#[must_use]
pub fn load_text(path: &str, text: &str) -> (Option<Profile>, Vec<Diagnostic>) {
    load_bytes(path, text.as_bytes())
}

/// Reads a profile that may not even be text.
#[must_use]
pub fn load_bytes(path: &str, bytes: &[u8]) -> (Option<Profile>, Vec<Diagnostic>) {
    let source = match decode(path, bytes) {
        Ok(source) => source,
        Err(problem) => return (None, vec![*problem]),
    };
    let (document, problems) = toml::read(&source);
    let Some(document) = document else { return (None, problems) };
    match PROFILE.read::<ProfileFile>(&document) {
        Ok(file) => check(file, &document),
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
pub fn load_file(path: &Path) -> std::io::Result<(Option<Profile>, Vec<Diagnostic>)> {
    Ok(load_bytes(&path.display().to_string(), &std::fs::read(path)?))
}

fn check(file: ProfileFile, document: &Document) -> (Option<Profile>, Vec<Diagnostic>) {
    let root = Spot::root(document);
    let mut problems = Vec::new();
    for path in file.home.keys() {
        if path.is_empty() || !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
            let problem =
                root.down("home").down(path).key_error("profile::path", format!("`{path}` is not a path below HOME"));
            problems.push(problem.help("write a relative path without `..`, such as `.config/agent.json`"));
        }
    }
    for intent in file.prompts.keys().filter(|intent| !INTENTS.contains(&intent.as_str())) {
        let spot = root.down("prompts").down(intent);
        let problem = spot.key_error("profile::unknown-intent", format!("unknown intent `{intent}`"));
        problems.push(problem.maybe_help(did_you_mean(intent, "the intents are", &INTENTS)));
    }
    for (id, reason) in &file.expected {
        problems.extend(expectation(&root.down("expected").down(id), file.kind, id, reason));
    }
    let profile = Profile {
        name: file.name,
        kind: file.kind,
        title: file.title,
        homepage: file.homepage,
        install: file.install,
        command: file.command,
        env: file.env,
        home: file.home,
        limits: file.limits.as_ref().map_or_else(LimitOverrides::default, limits),
        prompts: file.prompts,
        expected: file.expected,
        controls: Controls::default(),
    };
    diagnostic::sort(&mut problems);
    let sound = !problems.iter().any(Diagnostic::is_error);
    (sound.then_some(profile), problems)
}

/// What is wrong with one entry of `[expected]`. The ids of cases have slashes; which there are is not known here.
fn expectation(spot: &Spot<'_>, kind: Party, id: &str, reason: &str) -> Option<Diagnostic> {
    if reason.trim().is_empty() {
        let problem = spot.error("profile::no-reason", format!("`{id}` is expected to fail without a reason"));
        return Some(problem.help("say why in a few words, with a link if there is one"));
    }
    if id.contains('/') {
        return None;
    }
    let catalogue = Catalogue::v1();
    match catalogue.find(id) {
        Some(found) if found.party != kind => {
            let message = format!("`{id}` binds the {}, and this is the profile of {}", found.party, article(kind));
            Some(spot.key_error("profile::wrong-party", message).help("leave the entry out"))
        }
        Some(_) => None,
        None => {
            let known = catalogue.iter().filter(|known| known.party == kind).map(|known| known.id.as_str());
            let help = nearest(id, known).map(|known| format!("did you mean `{known}`?"));
            let problem = spot.key_error("profile::unknown-requirement", format!("there is no requirement `{id}`"));
            Some(problem.help(help.unwrap_or_else(|| "cases/requirements/v1.yaml lists them all".to_owned())))
        }
    }
}

const fn article(party: Party) -> &'static str {
    match party {
        Party::Agent => "an agent",
        Party::Client => "a client",
    }
}
