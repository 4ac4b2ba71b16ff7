//! How a subject is started, and how the same is written on a command line.

use std::path::{Path, PathBuf};

use super::PlanError;
use crate::case::LimitOverrides;
use crate::profile::{Controls, Profile};
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
        }
    }

    /// Returns the subject; what the options say goes before what its profile says.
    ///
    /// # Errors
    ///
    /// That there is no command line, or that the current directory is gone.
    pub fn subject(&self, profile: Option<Profile>) -> Result<Subject, PlanError> {
        let here = std::env::current_dir().map_err(|error| PlanError::io("the current directory is gone", error))?;
        let cwd = self.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
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

    /// Returns the arguments of the program that start the same subject again. Values of the environment may be secret, so only
    /// the names are in it.
    #[must_use]
    pub fn arguments(&self) -> String {
        let with = |option: &str, value: &str| format!("{option} {}", shell_words::quote(value));
        let path = |path: &Path| path.display().to_string();
        let limits = [
            ("--timeout-start", self.limits.start),
            ("--timeout-answer", self.limits.answer),
            ("--timeout-turn", self.limits.turn),
            ("--timeout-exit", self.limits.exit),
        ];
        let Controls { acts, settings, agent_name, terminal, .. } = &self.controls;
        let mut words: Vec<String> = Vec::new();
        words.extend(self.fault.iter().map(|name| with("--fault", name)));
        words.extend(self.profile.iter().map(|name| with("--profile", name)));
        words.extend(self.env.iter().map(|(name, _)| format!("--env {name}=\"${name}\"")));
        words.extend(self.cwd.iter().map(|cwd| with("--cwd", &path(cwd))));
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
        if !self.command.is_empty() {
            words.push(format!("-- {}", shell_words::join(&self.command)));
        }
        words.join(" ")
    }
}

/// Returns a program that is named by a path as a path from this directory, so that it is found from another one too.
#[must_use]
pub fn absolute_program(program: &str, here: &Path) -> String {
    if !program.contains('/') || program.starts_with('{') {
        return program.to_owned();
    }
    here.join(program).components().collect::<PathBuf>().display().to_string()
}
