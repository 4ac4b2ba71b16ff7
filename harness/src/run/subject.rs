//! How the subject is started.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::limits::Limits;
use super::sandbox::Sandbox;
use crate::fault::Planted;
use crate::peer::process::{CASE_MARKER, Environment, Launch};

/// A program to be judged, and how to start and prompt it.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Program and arguments; `{home}` stands for the HOME of the case.
    pub command: Vec<String>,
    /// Environment variables on top of what is inherited; `{home}` as in the command.
    pub env: BTreeMap<String, String>,
    /// The directory that the program is started in; it is not the working directory of its sessions.
    pub cwd: PathBuf,
    /// Files that are written into the fresh HOME of each case, by relative path.
    pub home_files: Vec<(String, String)>,
    /// Whether the program sees the HOME of the caller instead of a fresh one.
    pub keep_home: bool,
    /// The wording of intents, where it differs from the usual one.
    pub prompts: BTreeMap<String, String>,
    /// The time limits.
    pub limits: Limits,
    /// A fault that is put into what the program says, to see whether it is noticed.
    pub fault: Option<Planted>,
}

/// Variables that would lead a program out of its fresh HOME again.
const OUTSIDE_HOME: [&str; 5] =
    ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"];

impl Subject {
    /// A subject that is started with this command line in this directory, with everything else as usual.
    #[must_use]
    pub fn new(command: Vec<String>, cwd: PathBuf) -> Self {
        Self {
            command,
            env: BTreeMap::new(),
            cwd,
            home_files: Vec::new(),
            keep_home: false,
            prompts: BTreeMap::new(),
            limits: Limits::default(),
            fault: None,
        }
    }

    /// What every process of a case sees, also the commands that the tester runs for the subject: the HOME of the case,
    /// and the mark by which a process is found that left its group.
    #[must_use]
    pub fn surroundings(&self, sandbox: &Sandbox) -> Environment {
        let environment = Environment::default().with(CASE_MARKER, sandbox.marker());
        if self.keep_home {
            return environment;
        }
        OUTSIDE_HOME.iter().fold(environment.with("HOME", sandbox.home()), |all, name| all.without(*name))
    }

    /// The launch for one case.
    #[must_use]
    pub fn launch(&self, sandbox: &Sandbox) -> Launch {
        let mut environment = self.surroundings(sandbox);
        let home = sandbox.home().display().to_string();
        for (name, value) in &self.env {
            environment = environment.with(name, value.replace("{home}", &home));
        }
        let mut words = self.command.iter().map(|word| word.replace("{home}", &home));
        Launch {
            program: words.next().unwrap_or_default().into(),
            args: words.map(Into::into).collect(),
            cwd: self.cwd.clone(),
            environment,
        }
    }
}
