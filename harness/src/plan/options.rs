//! How a subject is started, and how the same is written on a command line.

use std::path::{Path, PathBuf};

use super::PlanError;
use crate::case::LimitOverrides;
use crate::profile::{Controls, Profile};
use crate::report::CASE_PLACE;
use crate::requirement::Party;
use crate::run::Subject;

/// What a user says about the start of a subject and about its run.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// Which party the subject plays.
    pub party: Party,
    /// The program and its arguments; empty where a profile has them.
    pub command: Vec<String>,
    /// The profile, as the user named it.
    pub profile: Option<String>,
    /// The name of a fault that the subject gets.
    pub fault: Option<String>,
    /// Environment variables for the program, in the order in which they were given.
    pub env: Vec<(String, String)>,
    /// The directory to start the program in; this one if there is none.
    pub cwd: Option<PathBuf>,
    /// Whether the program sees the HOME of the caller.
    pub keep_home: bool,
    /// The limits that differ from those of the profile.
    pub limits: LimitOverrides,
    /// How the user of a client acts on it, beyond its profile.
    pub controls: Controls,
    /// A folder of further cases.
    pub case_dir: Option<PathBuf>,
    /// Whether a broken SHOULD counts like a broken MUST.
    pub strict: bool,
    /// Whether each case has a process of its own.
    pub isolate: bool,
    /// The edition of the protocol, where it is not the usual one.
    pub edition: Option<String>,
}

impl StartOptions {
    /// A subject with everything as usual, and without a command line.
    #[must_use]
    pub fn new(party: Party) -> Self {
        Self {
            party,
            command: Vec::new(),
            profile: None,
            fault: None,
            env: Vec::new(),
            cwd: None,
            keep_home: false,
            limits: LimitOverrides::default(),
            controls: Controls::default(),
            case_dir: None,
            strict: false,
            isolate: false,
            edition: None,
        }
    }

    /// Returns the subject; what the options say goes before what its profile says.
    ///
    /// # Errors
    ///
    /// That there is no command line, or that the current directory is gone.
    pub fn subject(&self, profile: Option<Profile>) -> Result<Subject, PlanError> {
        let here = std::env::current_dir().map_err(|error| PlanError::io("the current directory is gone", error))?;
        let dir = profile.as_ref().and_then(|profile| profile.dir.clone()).unwrap_or_else(|| here.clone());
        let cwd = self.cwd.as_ref().map_or(dir, |cwd| here.join(cwd));
        let mut subject = match profile {
            Some(profile) => Subject::of_profile(profile, cwd),
            None => Subject { party: self.party, ..Subject::agent(Vec::new(), cwd) },
        };
        if !self.command.is_empty() {
            subject.command.clone_from(&self.command);
            subject.install = None;
        }
        let Some(program) = subject.command.first_mut() else { return Err(self.no_command()) };
        *program = absolute_program(program, &here);
        subject.keep_home = self.keep_home;
        subject.controls.overlay(self.controls.clone());
        subject.env.extend(self.env.iter().cloned());
        subject.limits = subject.limits.with(&self.limits);
        Ok(subject)
    }

    fn no_command(&self) -> PlanError {
        let party = self.party;
        let example = match party {
            Party::Agent => "my-agent --acp",
            Party::Client => "my-client --agent {agent} --dir {cwd} {prompt}",
        };
        PlanError::new(format!(
            "which {party}? Give its command line behind `--`, or a profile:\n  acp-conformance {party} -- {example}"
        ))
    }

    /// Returns the arguments of the program that run the same subject again, from any directory and any shell: paths are absolute.
    /// Variables of the environment whose names look secret are without their values.
    #[must_use]
    pub fn arguments(&self) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        let with = |option: &str, value: &str| format!("{option} {}", shell_words::quote(value));
        let path = |path: &Path| absolute(path, &here).display().to_string();
        let file = |name: &String| if here.join(name).is_file() { path(Path::new(name)) } else { name.clone() };
        let variable = |(name, value): &(String, String)| {
            if is_secret(name, value) {
                format!("--env {name}=\"${name}\"")
            } else {
                with("--env", &format!("{name}={value}"))
            }
        };
        let command: Vec<String> = self
            .command
            .iter()
            .enumerate()
            .map(|(at, word)| if at == 0 { absolute_program(word, &here) } else { word.clone() })
            .collect();
        let needs_cwd = self.command.iter().skip(1).any(|word| names_file_below(word, &here));
        let cwd = self.cwd.clone().or_else(|| needs_cwd.then(|| here.clone()));
        let limits = [
            ("--timeout-start", self.limits.start),
            ("--timeout-answer", self.limits.answer),
            ("--timeout-turn", self.limits.turn),
            ("--timeout-exit", self.limits.exit),
        ];
        let Controls { acts, settings, agent_name, terminal, .. } = &self.controls;
        let mut words: Vec<String> = Vec::new();
        words.extend(self.edition.iter().map(|name| with("--edition", name)));
        words.extend(self.fault.iter().map(|name| with("--fault", &file(name))));
        words.extend(self.profile.iter().map(|name| with("--profile", &file(name))));
        words.extend(self.env.iter().map(variable));
        words.extend(cwd.iter().map(|cwd| with("--cwd", &path(cwd))));
        words.extend(self.keep_home.then(|| "--keep-home".to_owned()));
        words.extend(
            limits.iter().filter_map(|(option, limit)| Some(with(option, &format!("{}ms", (*limit)?.as_millis())))),
        );
        words.extend(acts.iter().map(|(act, means)| with("--act", &format!("{act}={means}"))));
        words.extend(
            settings
                .iter()
                .map(|(setting, given)| with("--setting", &format!("{}={}", setting.name(), shell_words::join(given)))),
        );
        words.extend(agent_name.iter().map(|name| with("--agent-name", name)));
        words.extend(terminal.then(|| "--terminal".to_owned()));
        words.extend(self.case_dir.iter().map(|dir| with("--cases", &path(dir))));
        words.extend(self.strict.then(|| "--strict".to_owned()));
        words.extend(self.isolate.then(|| "--isolate".to_owned()));
        if !command.is_empty() {
            words.push(format!("-- {}", shell_words::join(&command)));
        }
        words.join(" ")
    }

    /// Returns the command that runs a case against the same subject again, with [`CASE_PLACE`] in the place of its id.
    #[must_use]
    pub fn reproduce(&self) -> String {
        format!("{} {} --case {CASE_PLACE} {}", this_program(), self.party, self.arguments()).trim_end().to_owned()
    }
}

/// Returns how this program is called in a shell: by its name if PATH leads to it, or else by its path.
#[must_use]
pub fn this_program() -> String {
    const NAME: &str = env!("CARGO_PKG_NAME");
    let Ok(this) = std::env::current_exe().and_then(|path| path.canonicalize()) else { return NAME.to_owned() };
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(NAME)).find(|path| path.is_file());
    let is_found = found.and_then(|path| path.canonicalize().ok()).is_some_and(|path| path == this);
    if is_found { NAME.to_owned() } else { shell_words::quote(&this.display().to_string()).into_owned() }
}

/// Whether the value of an environment variable must not be shown.
fn is_secret(name: &str, value: &str) -> bool {
    const MARKS: [&str; 9] = ["KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE"];
    let name = name.to_uppercase();
    !["", "none"].contains(&value) && MARKS.iter().any(|mark| name.contains(mark))
}

/// Whether a word of a command line, or what follows its `=`, names a file below this directory.
fn names_file_below(word: &str, here: &Path) -> bool {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    !value.is_empty() && Path::new(value).is_relative() && here.join(value).exists()
}

fn absolute(path: &Path, here: &Path) -> PathBuf {
    here.join(path).components().collect()
}

/// Returns a program that is named by a path as a path from this directory, so that it is found from another one too.
#[must_use]
pub fn absolute_program(program: &str, here: &Path) -> String {
    if !program.contains('/') || program.starts_with('{') {
        return program.to_owned();
    }
    absolute(Path::new(program), here).display().to_string()
}
