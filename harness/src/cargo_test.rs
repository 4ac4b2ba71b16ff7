//! Every case as a test of your own crate, in two lines.
//!
//! Declare a test target without the usual harness in the `Cargo.toml` of your agent,
//!
//! ```toml
//! [dev-dependencies]
//! acp-conformance = "0.1"
//!
//! [[test]]
//! name = "acp"
//! harness = false
//! ```
//!
//! and say in `tests/acp.rs` how the agent is started; `env!("CARGO_BIN_EXE_my-agent")` is the program of your package:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     acp_conformance::cargo_test::Agent::command(["my-agent", "--acp"]).run()
//! }
//! ```
//!
//! Each case is one test with the id of the case as its name, so `cargo test --test acp cancel` runs what has to do with
//! cancellation, and `--list`, `--exact`, `--skip`, `--test-threads` and cargo-nextest work as usual.
//!
//! | verdict on the case | the test |
//! |---|---|
//! | pass | is ok |
//! | fail | fails, and shows each broken requirement with the lines that prove it and a command that shows it again |
//! | inconclusive | is ignored with the reason; [`Agent::deny_inconclusive`] or `ACP_INCONCLUSIVE=fail` makes it fail |
//! | not-applicable | is ignored with the reason |
//! | harness-error | fails, and says that the agent is not to blame |
//!
//! An agent that cannot be started, or with which no conversation comes about, fails every case.
//!
//! What is known to fail is listed with a reason, and is held to it: an expected failure is ignored with its reason,
//! anything else that is broken in the same case still fails it, and an expectation that is no longer true fails.
//!
//! ```no_run
//! use acp_conformance::cargo_test::Agent;
//!
//! fn main() -> std::process::ExitCode {
//!     Agent::from_env_or(["my-agent", "--acp"])
//!         .env("MY_AGENT_MODEL", "scripted")
//!         .expect_failure("cancel.stop-reason", "answers end_turn, see issue 12")
//!         .expect_failure("v1/agent/init/handshake", "wants a login first, see issue 13")
//!         .run()
//! }
//! ```

mod suite;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use self::suite::Suite;
use crate::run::{Limits, Subject};

/// The variable whose command line takes the place of the one in [`Agent::from_env_or`].
pub const AGENT_VARIABLE: &str = "ACP_AGENT";

/// The variable that makes an inconclusive case fail when it is set to `fail`.
pub const INCONCLUSIVE_VARIABLE: &str = "ACP_INCONCLUSIVE";

/// An agent that is to be tested, and what is expected of it. The methods are named after those of
/// [`std::process::Command`] where they do the same.
#[derive(Debug, Clone)]
#[must_use = "nothing is tested before `run`"]
pub struct Agent {
    subject: Subject,
    case_dir: Option<PathBuf>,
    expected: Vec<Expectation>,
    strict: bool,
    deny_inconclusive: bool,
    /// Why there is no command line.
    fault: Option<String>,
}

/// Something that is known to fail.
#[derive(Debug, Clone)]
struct Expectation {
    /// A case or a requirement.
    id: String,
    reason: String,
}

impl Agent {
    /// An agent that is started with this program and these arguments, afresh for each case.
    ///
    /// A program with a `/` in it is a path from the current directory, which is the folder of the package under
    /// `cargo test`; any other is searched in `PATH`.
    pub fn command<W: Into<String>>(command: impl IntoIterator<Item = W>) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        let mut command: Vec<String> = command.into_iter().map(Into::into).collect();
        let fault = command.is_empty().then(|| "the command line of the agent is empty".to_owned());
        if let Some(program) = command.first_mut().filter(|program| program.contains('/')) {
            *program = here.join(&*program).display().to_string();
        }
        Self {
            subject: Subject::agent(command, here),
            case_dir: None,
            expected: Vec::new(),
            strict: false,
            deny_inconclusive: std::env::var_os(INCONCLUSIVE_VARIABLE).is_some_and(|value| value == "fail"),
            fault,
        }
    }

    /// The agent that the environment names, as in `ACP_AGENT='my-agent --acp' cargo test --test acp`; none when the
    /// variable is not set. The words are split as a shell splits them.
    #[must_use]
    pub fn from_env() -> Option<Self> {
        let line = std::env::var_os(AGENT_VARIABLE)?;
        let line = line.to_string_lossy();
        Some(shell_words::split(&line).map(Self::command).unwrap_or_else(|error| {
            let fault = format!("{AGENT_VARIABLE} is no command line: {error}");
            Self { fault: Some(fault), ..Self::command([line]) }
        }))
    }

    /// The agent that the environment names, or else the one with this command line. Everything else that is said about
    /// the agent holds for either.
    pub fn from_env_or<W: Into<String>>(command: impl IntoIterator<Item = W>) -> Self {
        Self::from_env().unwrap_or_else(|| Self::command(command))
    }

    /// Sets an environment variable of the agent.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.subject.env.insert(name.into(), value.into());
        self
    }

    /// Starts the agent in this directory, which is not the working directory of its sessions.
    pub fn current_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.subject.cwd = self.subject.cwd.join(dir);
        self
    }

    /// Lets the agent see the HOME of the caller instead of a fresh one for each case.
    pub fn keep_home(mut self) -> Self {
        self.subject.keep_home = true;
        self
    }

    /// Writes a file into the fresh HOME of each case, by its path below it.
    pub fn home_file(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.subject.home_files.push((path.into(), text.into()));
        self
    }

    /// Gives the wording of the prompt for an intent, with `{path}` and the like for its arguments.
    pub fn prompt(mut self, intent: impl Into<String>, wording: impl Into<String>) -> Self {
        self.subject.prompts.insert(intent.into(), wording.into());
        self
    }

    /// Sets the time limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.subject.limits = limits;
        self
    }

    /// Adds the cases below a folder that is laid out like `cases/`; one with the id of a built-in case replaces it.
    pub fn cases(mut self, dir: impl Into<PathBuf>) -> Self {
        self.case_dir = Some(dir.into());
        self
    }

    /// Expects that a case, or a requirement in whatever case, fails.
    ///
    /// A case has to fail then. A requirement has to fail in one case at least, which a test of its own named
    /// `expected/<requirement>` makes sure of.
    pub fn expect_failure(mut self, id: impl Into<String>, reason: impl Into<String>) -> Self {
        self.expected.push(Expectation { id: id.into(), reason: reason.into() });
        self
    }

    /// Has a broken SHOULD count like a broken MUST.
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Has a case fail that could not be decided. Sensible where nothing is left to chance: without a model, or with a
    /// scripted one.
    pub fn deny_inconclusive(mut self) -> Self {
        self.deny_inconclusive = true;
        self
    }

    /// Reads the arguments of the test program, runs the tests that they ask for, and tells how it went; for `main`.
    #[must_use]
    pub fn run(self) -> ExitCode {
        libtest_mimic::run(&Arguments::from_args(), self.trials()).exit_code()
    }

    /// The tests by themselves, for a target that has others beside them.
    #[must_use]
    pub fn trials(self) -> Vec<Trial> {
        Suite::load(self).trials()
    }
}
