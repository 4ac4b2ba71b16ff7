//! The start of a subject, and its form on a command line.

use std::path::{Path, PathBuf};

use super::PlanError;
use super::paths::{absolute_path, absolute_program};
use super::profiles::is_built_in;
use crate::options::{RunOptions, StartOptions};
use crate::profile::{Controls, Profile};
use crate::report::CASE_PLACE;
use crate::requirement::Party;
use crate::run::Subject;

/// Returns the folder to start a program in. That of the case is known only when it starts.
fn start_folder(cwd: &Path, here: &Path) -> PathBuf {
    if cwd == Path::new("{cwd}") { cwd.to_owned() } else { absolute_path(cwd, here) }
}

impl RunOptions {
    /// Returns the subject; the options override its profile.
    ///
    /// # Errors
    ///
    /// The command line is missing, or the current directory does not exist.
    pub fn subject(&self, party: Party, profile: Option<Profile>) -> Result<Subject, PlanError> {
        let here = std::env::current_dir().map_err(|error| PlanError::io("the current directory is gone", error))?;
        let dir = profile.as_ref().and_then(|profile| profile.dir.clone()).unwrap_or_else(|| here.clone());
        let StartOptions { command, env, cwd, keep_home, login, url, headers, .. } = &self.start;
        let help = "\nhelp: write {url} where the client takes the address of its agent";
        let of_agents =
            [("--url", url.is_some(), help), ("--header", !headers.is_empty(), help), ("--login", login.is_some(), "")];
        if let Some((option, _, help)) = of_agents.iter().find(|(_, is_given, _)| party == Party::Client && *is_given) {
            return Err(PlanError::new(format!(
                "{option} describes a tested agent, and is an option of `agent`{help}"
            )));
        }
        let cwd = cwd.as_ref().map_or(dir, |cwd| start_folder(cwd, &here));
        let mut subject = match profile {
            Some(profile) => Subject::of_profile(profile, cwd),
            None => Subject { party, ..Subject::agent(Vec::new(), cwd) },
        };
        if !command.is_empty() {
            subject.command.clone_from(command);
            subject.install = None;
        }
        subject.reach.transport = self.start.transport();
        if subject.reach.transport.is_stdio() {
            // The address in a profile is for the other transports.
            subject.reach.url = None;
        }
        if let Some(url) = url {
            // A profile describes how the agent is started, and here it already runs.
            subject.command.clone_from(command);
            subject.reach.url = Some(url.clone());
        }
        subject.reach.headers.clone_from(headers);
        subject.reach.check(party).map_err(|error| PlanError::new(error.to_string()))?;
        match subject.command.first_mut() {
            Some(program) => *program = absolute_program(program, &here),
            None if subject.reach.url.is_some() => {}
            None => return Err(no_command(party)),
        }
        subject.check_server().map_err(PlanError::new)?;
        subject.keep_home = *keep_home;
        subject.login = login.clone().or(subject.login);
        subject.controls.overlay(self.controls.clone());
        subject.env.extend(env.iter().cloned());
        subject.limits = subject.limits.with(&self.limits.overrides());
        Ok(subject)
    }

    /// Returns the arguments of the program that run the same subject again, from any directory and any shell: paths
    /// are absolute. Variables of the environment whose names look secret are written without their values.
    pub fn arguments(&self) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        let with = |option: &str, value: &str| format!("{option} {}", shell_words::quote(value));
        let path = |path: &Path| absolute_path(path, &here).display().to_string();
        // As when it is found: a built-in profile comes before a file.
        let profile = |name: &String| if is_built_in(name) { name.clone() } else { path(Path::new(name)) };
        let variable = |(name, value): &(String, String)| {
            if is_secret(name, value) {
                format!("--env {name}=\"${name}\"")
            } else {
                with("--env", &format!("{name}={value}"))
            }
        };
        let StartOptions { command, profile: named, env, cwd, keep_home, login, transport, url, headers } = &self.start;
        let needs_cwd = command.iter().skip(1).any(|word| names_file_below(word, &here));
        let cwd = cwd.clone().or_else(|| needs_cwd.then(|| here.clone()));
        let absolute =
            |(at, word): (usize, &String)| if at == 0 { absolute_program(word, &here) } else { word.clone() };
        let command: Vec<String> = command.iter().enumerate().map(absolute).collect();
        let limits = [
            ("--timeout-start", self.limits.timeout_start),
            ("--timeout-answer", self.limits.timeout_answer),
            ("--timeout-turn", self.limits.timeout_turn),
            ("--timeout-exit", self.limits.timeout_exit),
        ];
        let Controls { acts, settings, agent_name, terminal, .. } = &self.controls;
        let mut words: Vec<String> = Vec::new();
        words.extend(self.edition.iter().map(|name| with("--protocol", name)));
        words.extend(named.iter().map(|name| with("--profile", &profile(name))));
        words.extend(transport.map(|kind| with("--transport", kind.word())));
        words.extend(url.iter().map(|url| with("--url", url)));
        // The value of a header is a secret more often than not.
        words.extend(headers.iter().map(|(name, _)| format!("--header {name}=\"$HEADER\"")));
        words.extend(env.iter().map(variable));
        words.extend(cwd.iter().map(|cwd| with("--cwd", &start_folder(cwd, &here).display().to_string())));
        words.extend(keep_home.then(|| "--keep-home".to_owned()));
        words.extend(login.iter().map(|method| with("--login", method)));
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
        words.extend(self.repeat.map(|runs| format!("--repeat {runs}")));
        words.extend(self.isolate.then(|| "--isolate".to_owned()));
        if !command.is_empty() {
            words.push(format!("-- {}", shell_words::join(&command)));
        }
        words.join(" ")
    }

    /// Returns the command that runs a case against the same subject again, with [`CASE_PLACE`] instead of its id.
    pub fn reproduce(&self, party: Party) -> String {
        let arguments = if self.manual { "--manual".to_owned() } else { self.arguments() };
        format!("{} {party} --case {CASE_PLACE} {arguments}", this_program()).trim_end().to_owned()
    }
}

fn no_command(party: Party) -> PlanError {
    let example = match party {
        Party::Agent => "my-agent --acp",
        Party::Client => "my-client --agent {agent} --dir {cwd} {prompt}",
    };
    PlanError::new(format!(
        "which {party}? Give its command line after `--`, or a profile:\n  acp-conformance {party} -- {example}"
    ))
}

/// Returns the name of this program for a shell: only the name if PATH leads to it, or else the path.
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

/// Whether a word of a command line, the part after its `=`, or a word of a script in it names a file below this
/// directory.
fn names_file_below(word: &str, here: &Path) -> bool {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    let is_file = |name: &str| !name.is_empty() && Path::new(name).is_relative() && here.join(name).exists();
    is_file(value) || value.split([' ', '\'', '"', ';']).any(is_file)
}
