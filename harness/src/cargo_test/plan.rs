//! The subject under test and its known failures, for either party.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{AGENT_VARIABLE, CLIENT_VARIABLE, INCONCLUSIVE_VARIABLE};
use crate::diagnostic::{Diagnostic, RenderStyle, render_all};
use crate::edition::{Bundle, Editions};
use crate::expected::{Date, Expectation};
use crate::options::RunOptions;
use crate::plan::{PlanError, absolute_program, find_profile};
use crate::profile::{self, Means, Profile, Setting};
use crate::report::{CASE_PLACE, today};
use crate::requirement::Party;
use crate::run::{Limits, Subject};

/// An agent or a client with its settings.
#[derive(Debug, Clone)]
pub(super) struct TestPlan {
    pub(super) bundle: &'static Bundle,
    pub(super) party: Party,
    /// The start of the subject; paths in it do not depend on the current directory.
    pub(super) options: RunOptions,
    profile: Option<Profile>,
    /// The wording of prompts by intent.
    pub(super) prompts: BTreeMap<String, String>,
    /// Files of each fresh HOME, with their texts.
    pub(super) home_files: Vec<(String, String)>,
    pub(super) expected: Vec<Expectation>,
    /// Today's date, for expired expectations.
    pub(super) today: Date,
    pub(super) deny_inconclusive: bool,
    /// The mistakes in the settings, with which nothing can run.
    mistakes: Vec<String>,
    /// The variable of the environment that names the subject, with its value.
    variable: Option<(&'static str, String)>,
}

impl TestPlan {
    fn new(party: Party) -> Self {
        Self {
            bundle: Editions::built_in().preferred(),
            party,
            options: RunOptions::default(),
            profile: None,
            prompts: BTreeMap::new(),
            home_files: Vec::new(),
            expected: Vec::new(),
            today: today(),
            deny_inconclusive: std::env::var_os(INCONCLUSIVE_VARIABLE).is_some_and(|value| value == "fail"),
            mistakes: Vec::new(),
            variable: None,
        }
    }

    /// Returns the command that runs one case of this test target again, with [`CASE_PLACE`] instead of its id.
    pub(super) fn reproduce(&self) -> String {
        let this = std::env::current_exe().unwrap_or_default();
        let stem = this.file_stem().unwrap_or_default().to_string_lossy();
        // Cargo appends a hash to the name of the target.
        let target = stem.rsplit_once('-').map_or(&*stem, |(target, _)| target);
        let variable = self.variable.iter().map(|(name, value)| format!("{name}={} ", shell_words::quote(value)));
        let test = match std::env::var("CARGO_PKG_NAME") {
            Ok(package) => format!("cargo test -p {package} --test {target} --"),
            Err(_) => shell_words::quote(&this.display().to_string()).into_owned(),
        };
        format!("{}{test} --exact {CASE_PLACE}", variable.collect::<String>())
    }

    pub(super) fn of_command<W: Into<String>>(party: Party, command: impl IntoIterator<Item = W>) -> Self {
        let mut plan = Self::new(party);
        plan.options.start.command = command.into_iter().map(Into::into).collect();
        match plan.options.start.command.first_mut() {
            Some(program) => *program = absolute_program(program, &here()),
            None => plan.mistakes.push(format!("the command line of the {party} is empty")),
        }
        plan
    }

    /// Returns the subject in the environment.
    pub(super) fn from_env(party: Party) -> Option<Self> {
        let variable = match party {
            Party::Agent => AGENT_VARIABLE,
            Party::Client => CLIENT_VARIABLE,
        };
        let line = std::env::var_os(variable)?;
        let line = line.to_string_lossy();
        let plan = shell_words::split(&line).map(|words| Self::of_command(party, words)).unwrap_or_else(|error| {
            let mistake = format!("{variable} is not a command line: {error}");
            Self { mistakes: vec![mistake], ..Self::of_command(party, [line.clone()]) }
        });
        Some(Self { variable: Some((variable, line.into_owned())), ..plan })
    }

    pub(super) fn of_profile(party: Party, path: &Path) -> Self {
        let mut plan = Self::new(party);
        let file = path.canonicalize().unwrap_or_else(|_| here().join(path)).display().to_string();
        match find_profile(&file, party, plan.bundle) {
            Ok((mut profile, _)) => {
                plan.expected = std::mem::take(&mut profile.expected);
                plan.profile = Some(profile);
            }
            Err(error) => plan.mistakes.push(mistake(path, &error)),
        }
        plan.options.start.profile = Some(file);
        plan
    }

    pub(super) fn program(&mut self, program: &str) {
        let command = &mut self.options.start.command;
        if let Some(profile) = self.profile.as_ref().filter(|_| command.is_empty()) {
            command.clone_from(&profile.command);
        }
        let program = absolute_program(program, &here());
        match command.first_mut() {
            Some(word) => *word = program,
            None => command.push(program),
        }
    }

    pub(super) fn current_dir(&mut self, dir: &Path) {
        let before = self.options.start.cwd.take().unwrap_or_else(here);
        self.options.start.cwd = Some(before.join(dir));
    }

    /// Sets the limits that differ from those of the profile.
    pub(super) fn limits(&mut self, limits: Limits) {
        let own = self.profile.as_ref().map(|profile| profile.limits).unwrap_or_default();
        let before = Limits::default().with(&own);
        let changed = |limit, before| Some(limit).filter(|limit| *limit != before);
        let own = &mut self.options.limits;
        own.timeout_start = changed(limits.start, before.start);
        own.timeout_answer = changed(limits.answer, before.answer);
        own.timeout_turn = changed(limits.turn, before.turn);
        own.timeout_exit = changed(limits.exit, before.exit);
    }

    pub(super) fn act(&mut self, name: String, means: Means) {
        self.mistakes.extend(profile::check_act(&name, &means).err());
        self.options.controls.acts.insert(name, means);
    }

    pub(super) fn setting(&mut self, setting: Setting, words: Vec<String>) {
        self.mistakes.extend(profile::check_setting(setting, &words).err());
        self.options.controls.settings.insert(setting, words);
    }

    /// Returns the subject, or the reason why nothing can run.
    pub(super) fn subject(&self) -> Result<Subject, String> {
        if !self.mistakes.is_empty() {
            return Err(self.mistakes.join("\n"));
        }
        let mut subject = self.options.subject(self.party, self.profile.clone()).map_err(|error| error.to_string())?;
        subject.prompts.extend(self.prompts.clone());
        subject.home_files.extend(self.home_files.iter().cloned());
        if subject.party == Party::Client {
            subject.check_client()?;
        }
        Ok(subject)
    }

    /// Sets the folder of additional cases.
    pub(super) fn cases(&mut self, dir: &Path) {
        self.options.case_dir = Some(here().join(dir));
    }
}

fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// Describes the mistakes in a profile.
fn mistake(path: &Path, error: &PlanError) -> String {
    let errors: Vec<Diagnostic> = error.problems.iter().filter(|problem| problem.is_error()).cloned().collect();
    let path = path.display();
    if errors.is_empty() {
        format!("{path}: {error}")
    } else {
        format!("{path}: {error}\n{}", render_all(&errors, RenderStyle::Plain))
    }
}
