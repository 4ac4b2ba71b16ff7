//! What is to be tested and what is expected of it, whichever side it is on.

use std::path::{Path, PathBuf};

use libtest_mimic::Trial;

use super::suite::Suite;
use super::{AGENT_VARIABLE, CLIENT_VARIABLE, INCONCLUSIVE_VARIABLE};
use crate::diagnostic::{Diagnostic, Look, render_all};
use crate::edition::{Bundle, Editions};
use crate::expected::{Date, Expectation};
use crate::profile::{self, Means, Profile, Setting};
use crate::report::today;
use crate::requirement::Party;
use crate::run::{Limits, Subject};

/// An agent or a client with all that was said about it.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) bundle: &'static Bundle,
    pub(super) subject: Subject,
    pub(super) case_dir: Option<PathBuf>,
    pub(super) expected: Vec<Expectation>,
    /// By which it is told whether the last day of an expectation is past.
    pub(super) today: Date,
    pub(super) strict: bool,
    pub(super) deny_inconclusive: bool,
    /// What is wrong with what was said, so that nothing can be run.
    mistakes: Vec<String>,
    /// The arguments by which the program of the harness is told the same, but for the command line.
    arguments: Vec<String>,
    /// Whether the command line stands in a profile, as it is.
    of_profile: bool,
}

impl Plan {
    pub(super) fn of_command<W: Into<String>>(party: Party, command: impl IntoIterator<Item = W>) -> Self {
        let mut command: Vec<String> = command.into_iter().map(Into::into).collect();
        let empty = command.is_empty().then(|| format!("the command line of the {party} is empty"));
        if let Some(program) = command.first_mut() {
            *program = from_here(program);
        }
        let subject = Subject { party, ..Subject::agent(command, here()) };
        Self { mistakes: empty.into_iter().collect(), ..Self::of_subject(subject) }
    }

    /// The subject that the environment names.
    pub(super) fn from_env(party: Party) -> Option<Self> {
        let variable = match party {
            Party::Agent => AGENT_VARIABLE,
            Party::Client => CLIENT_VARIABLE,
        };
        let line = std::env::var_os(variable)?;
        let line = line.to_string_lossy();
        Some(shell_words::split(&line).map(|words| Self::of_command(party, words)).unwrap_or_else(|error| {
            let mistake = format!("{variable} is no command line: {error}");
            Self { mistakes: vec![mistake], ..Self::of_command(party, [line]) }
        }))
    }

    pub(super) fn of_profile(party: Party, path: &Path) -> Self {
        let (subject, expected, mistakes) = match read(party, path) {
            Ok(mut profile) => {
                let expected = std::mem::take(&mut profile.expected);
                if let Some(program) = profile.command.first_mut() {
                    *program = from_here(program);
                }
                (Subject::of_profile(profile, here()), expected, Vec::new())
            }
            Err(mistakes) => {
                let nobody = Subject { party, ..Subject::agent(Vec::new(), here()) };
                (nobody, Vec::new(), vec![mistakes])
            }
        };
        let mut plan = Self { expected, mistakes, of_profile: true, ..Self::of_subject(subject) };
        let path = path.canonicalize().unwrap_or_else(|_| here().join(path));
        plan.say("--profile", Some(&path.to_string_lossy()));
        plan
    }

    fn of_subject(subject: Subject) -> Self {
        Self {
            bundle: Editions::built_in().preferred(),
            subject,
            case_dir: None,
            expected: Vec::new(),
            today: today(),
            strict: false,
            deny_inconclusive: std::env::var_os(INCONCLUSIVE_VARIABLE).is_some_and(|value| value == "fail"),
            mistakes: Vec::new(),
            arguments: Vec::new(),
            of_profile: false,
        }
    }

    pub(super) fn program(&mut self, program: &str) {
        let program = from_here(program);
        match self.subject.command.first_mut() {
            Some(word) => *word = program,
            None => self.subject.command.push(program),
        }
        self.of_profile = false;
    }

    /// Values may be secret, so the command line that is shown has only the name.
    pub(super) fn env(&mut self, name: String, value: String) {
        self.arguments.push(format!("--env {name}=\"${name}\""));
        self.subject.env.insert(name, value);
    }

    pub(super) fn current_dir(&mut self, dir: &Path) {
        self.subject.cwd = self.subject.cwd.join(dir);
        let dir = self.subject.cwd.to_string_lossy().into_owned();
        self.say("--cwd", Some(&dir));
    }

    pub(super) fn keep_home(&mut self) {
        self.subject.keep_home = true;
        self.say("--keep-home", None);
    }

    pub(super) fn limits(&mut self, limits: Limits) {
        let before = std::mem::replace(&mut self.subject.limits, limits);
        let all = [
            ("--timeout-start", limits.start, before.start),
            ("--timeout-answer", limits.answer, before.answer),
            ("--timeout-turn", limits.turn, before.turn),
            ("--timeout-exit", limits.exit, before.exit),
        ];
        for (option, limit, _) in all.into_iter().filter(|(_, limit, before)| limit != before) {
            self.say(option, Some(&format!("{}ms", limit.as_millis())));
        }
    }

    pub(super) fn cases(&mut self, dir: PathBuf) {
        self.say("--cases", Some(&here().join(&dir).to_string_lossy()));
        self.case_dir = Some(dir);
    }

    pub(super) fn act(&mut self, name: String, means: Means) {
        self.mistakes.extend(profile::check_act(&name, &means).err());
        self.arguments.push(format!("--act {}", shell_words::quote(&format!("{name}={means}"))));
        self.subject.controls.acts.insert(name, means);
    }

    pub(super) fn setting(&mut self, setting: Setting, words: Vec<String>) {
        self.mistakes.extend(profile::check_setting(setting, &words).err());
        let text = format!("{}={}", setting.name(), shell_words::join(&words));
        self.arguments.push(format!("--setting {}", shell_words::quote(&text)));
        self.subject.controls.settings.insert(setting, words);
    }

    pub(super) fn agent_name(&mut self, name: String) {
        self.say("--agent-name", Some(&name));
        self.subject.controls.agent_name = Some(name);
    }

    pub(super) fn terminal(&mut self) {
        self.subject.controls.terminal = true;
        self.say("--terminal", None);
    }

    pub(super) fn strict(&mut self) {
        self.strict = true;
        self.say("--strict", None);
    }

    pub(super) fn trials(self) -> Vec<Trial> {
        Suite::load(self).trials()
    }

    /// Why nothing can be run, if that is so.
    pub(super) fn mistakes(&self) -> Option<String> {
        let mut mistakes = self.mistakes.clone();
        if mistakes.is_empty() && self.subject.party == Party::Client {
            mistakes.extend(self.subject.check_client().err());
        }
        (!mistakes.is_empty()).then(|| mistakes.join("\n"))
    }

    /// The arguments with which the program of the harness does the same.
    pub(super) fn reproduce(&self) -> String {
        let mut words = self.arguments.clone();
        if !self.of_profile {
            words.push(format!("-- {}", shell_words::join(&self.subject.command)));
        }
        words.join(" ")
    }

    /// Puts an option in the place of what was said of it before.
    fn say(&mut self, option: &str, value: Option<&str>) {
        self.arguments.retain(|argument| argument.split(' ').next() != Some(option));
        let value = value.map(|value| format!(" {}", shell_words::quote(value))).unwrap_or_default();
        self.arguments.push(format!("{option}{value}"));
    }
}

fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// A program that is named by a path is meant from here, also when it is started in another directory.
fn from_here(program: &str) -> String {
    let path = program.contains('/') && !program.starts_with('{');
    if path { here().join(program).display().to_string() } else { program.to_owned() }
}

/// The profile in this file, or what is wrong with it.
fn read(party: Party, path: &Path) -> Result<Profile, String> {
    let loaded = profile::load_file(path, Editions::built_in().preferred().catalogue());
    let (profile, problems) = loaded.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let errors: Vec<Diagnostic> = problems.into_iter().filter(Diagnostic::is_error).collect();
    match profile {
        Some(profile) if profile.kind == party => Ok(profile),
        Some(profile) => {
            let (found, wanted) = (profile.kind.one(), party.one());
            Err(format!("{} is the profile of {found}, and {wanted} is to be tested", path.display()))
        }
        None => Err(format!("\n{}", render_all(&errors, Look::Plain))),
    }
}
