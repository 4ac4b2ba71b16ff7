//! Every case as a test of your own crate, in two lines.
//!
//! Declare a test target without the usual harness in the `Cargo.toml` of your agent or your client,
//!
//! ```toml
//! [dev-dependencies]
//! acp-conformance = { git = "https://github.com/OWNER/acp-conformance" }
//!
//! [[test]]
//! name = "acp"
//! harness = false
//! ```
//!
//! and say in `tests/acp.rs` how it is started; `env!("CARGO_BIN_EXE_my-agent")` is the program of your package:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     acp_conformance::cargo_test::Agent::command(["my-agent", "--acp"]).run()
//! }
//! ```
//!
//! A client starts its agent itself, so its command line says where the path of the agent goes; and since a client does
//! nothing without its user, there is more to say about [`Client`]:
//!
//! ```no_run
//! use acp_conformance::cargo_test::Client;
//! use acp_conformance::profile::{Means, Setting};
//!
//! fn main() -> std::process::ExitCode {
//!     Client::command(["my-client", "--agent", "{agent}", "--cwd", "{cwd}", "{args}", "{prompt}"])
//!         .act("cancel", Means::Signal("SIGINT".to_owned()))
//!         .setting(Setting::PermissionReject, ["--deny-all"])
//!         .run()
//! }
//! ```
//!
//! Each case is one test with the id of the case as its name, so `cargo test --test acp cancel` runs what has to do with
//! cancellation, and `--list`, `--exact`, `--skip`, `--test-threads` and cargo-nextest work as usual; nextest, with
//! `--partition` too, shows an ignored test as one that passed.
//!
//! | verdict on the case | the test |
//! |---|---|
//! | pass | is ok |
//! | fail | fails, and shows each broken requirement with the lines that prove it and a command that shows it again |
//! | inconclusive | is ignored with the reason; [`Agent::deny_inconclusive`] or `ACP_INCONCLUSIVE=fail` makes it fail |
//! | not-applicable | is ignored with the reason |
//! | harness-error | fails, and says that the program is not to blame |
//!
//! A program that cannot be started, or with which no conversation comes about, fails every case; so does a mistake in what
//! was said about it.
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

mod plan;
mod suite;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use self::plan::TestPlan;
use self::suite::Suite;
use crate::expected::Expectation;
use crate::profile::{Means, Setting};
use crate::requirement::Party;
use crate::run::Limits;
use crate::transport::relay;

/// The variable whose command line takes the place of the one in [`Agent::from_env_or`].
pub const AGENT_VARIABLE: &str = "ACP_AGENT";

/// The variable whose command line takes the place of the one in [`Client::from_env_or`].
pub const CLIENT_VARIABLE: &str = "ACP_CLIENT";

/// The variable that makes an inconclusive case fail when it is set to `fail`.
pub const INCONCLUSIVE_VARIABLE: &str = "ACP_INCONCLUSIVE";

/// An agent that is to be tested, and what is expected of it. The methods are named after those of
/// [`std::process::Command`] where they do the same.
#[derive(Debug, Clone)]
#[must_use = "nothing is tested before `run`"]
pub struct Agent(TestPlan);

/// A client that is to be tested, how its user acts on it, and what is expected of it.
///
/// The command line, the values of [`env`](Self::env) and the texts of [`home_file`](Self::home_file) have places, for
/// which each case puts in its own values:
///
/// | place | value |
/// |---|---|
/// | `{agent}` | the path of the program that the client is to start as its agent; without blanks and arguments |
/// | `{agent_json}` | the same as JSON: `{"command": …, "args": [], "env": {}}` |
/// | `{agent_dir}` | the folder of that program, to be put on PATH; see [`agent_name`](Self::agent_name) |
/// | `{cwd}`, `{home}` | the working directory and the HOME of the case |
/// | `{prompt}`, `{prompt_json}` | what the user says first |
/// | `{args}` | a whole word of the command, for the words of [`setting`](Self::setting); else they come at the end |
///
/// What nobody said how to do with this client makes a case inconclusive, and fails none.
#[derive(Debug, Clone)]
#[must_use = "nothing is tested before `run`"]
pub struct Client(TestPlan);

impl Agent {
    /// Gives the wording of the prompt for an intent, with `{path}` and the like for its arguments.
    pub fn prompt(mut self, intent: impl Into<String>, wording: impl Into<String>) -> Self {
        self.0.prompts.insert(intent.into(), wording.into());
        self
    }
}

impl Client {
    /// Says how the user does an act, such as `cancel`. The texts may hold the arguments of the act, as in
    /// `Means::Line("/mode {modeId}".to_owned())`.
    pub fn act(mut self, name: impl Into<String>, means: Means) -> Self {
        self.0.act(name.into(), means);
        self
    }

    /// Gives the words that take the place of `{args}` in the command when a case wants this setting.
    pub fn setting<W: Into<String>>(mut self, setting: Setting, words: impl IntoIterator<Item = W>) -> Self {
        self.0.setting(setting, words.into_iter().map(Into::into).collect());
        self
    }

    /// Gives the file name of the program that the client starts as its agent, for a client that starts a fixed command.
    pub fn agent_name(mut self, name: impl Into<String>) -> Self {
        self.0.options.controls.agent_name = Some(name.into());
        self
    }

    /// Runs the client on a terminal of its own.
    pub fn terminal(mut self) -> Self {
        self.0.options.controls.terminal = true;
        self
    }
}

/// What can be said about either.
macro_rules! common_methods {
    ($($subject:ident),*) => { $(
        impl $subject {
            /// A program that is started with this command line, afresh for each case.
            ///
            /// A program with a `/` in it is a path from the current directory, which is the folder of the package under
            /// `cargo test`; any other is searched in `PATH`.
            pub fn command<W: Into<String>>(command: impl IntoIterator<Item = W>) -> Self {
                Self(TestPlan::of_command(Party::$subject, command))
            }

            /// The program that [`AGENT_VARIABLE`] or [`CLIENT_VARIABLE`] names, as in
            /// `ACP_AGENT='my-agent --acp' cargo test --test acp`; none when the variable is not set. The words are split as a
            /// shell splits them.
            #[must_use]
            pub fn from_env() -> Option<Self> {
                TestPlan::from_env(Party::$subject).map(Self)
            }

            /// The program that the environment names, or else the one with this command line. Everything else that is said
            /// about the program holds for either.
            pub fn from_env_or<W: Into<String>>(command: impl IntoIterator<Item = W>) -> Self {
                Self::from_env().unwrap_or_else(|| Self::command(command))
            }

            /// The program of a profile, which says how the user of a client acts, and may say what is expected. A mistake in
            /// the file fails every case.
            ///
            /// ```no_run
            /// # use acp_conformance::cargo_test::Client;
            /// let client = Client::profile("tests/my-client.toml").program("target/debug/my-client");
            /// ```
            pub fn profile(path: impl AsRef<Path>) -> Self {
                Self(TestPlan::of_profile(Party::$subject, path.as_ref()))
            }

            /// Reads the arguments of the test program, runs the tests that they ask for, and tells how it went; for `main`.
            ///
            /// An agent starts this very test program in place of its MCP servers, and a client in place of its agent, which is
            /// noticed here. So nothing that stands before this in `main` may print, or take long.
            #[must_use]
            pub fn run(self) -> ExitCode {
                relay::run_if_asked().unwrap_or_else(|| run(self.trials()))
            }

            /// The tests by themselves, for a target that has others beside them.
            ///
            /// The subject starts this very test program, see [`run`](Self::run). So `main` has to begin with
            /// [`run_if_asked`](relay::run_if_asked), or no case finds a conversation:
            ///
            /// ```no_run
            /// use std::process::ExitCode;
            ///
            /// use acp_conformance::cargo_test::Client;
            /// use acp_conformance::transport::relay::run_if_asked;
            ///
            /// fn main() -> ExitCode {
            ///     if let Some(code) = run_if_asked() {
            ///         return code;
            ///     }
            ///     let trials = Client::command(["my-client", "{agent}", "{cwd}", "{prompt}"]).trials();
            ///     libtest_mimic::run(&libtest_mimic::Arguments::from_args(), trials).exit_code()
            /// }
            /// ```
            #[must_use]
            pub fn trials(self) -> Vec<Trial> {
                Suite::load(self.0).trials()
            }

            /// Starts this program instead of the one that the command line or the profile names, with the same arguments.
            pub fn program(mut self, program: impl AsRef<str>) -> Self {
                self.0.program(program.as_ref());
                self
            }

            /// Sets an environment variable of the program.
            pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
                self.0.options.env.push((name.into(), value.into()));
                self
            }

            /// Starts the program in this directory, which is not the working directory of its sessions.
            pub fn current_dir(mut self, dir: impl AsRef<Path>) -> Self {
                self.0.current_dir(dir.as_ref());
                self
            }

            /// Lets the program see the HOME of the caller instead of a fresh one for each case.
            pub fn keep_home(mut self) -> Self {
                self.0.options.keep_home = true;
                self
            }

            /// Writes a file into the fresh HOME of each case, by its path below it.
            pub fn home_file(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
                self.0.home_files.push((path.into(), text.into()));
                self
            }

            /// Sets the time limits.
            pub fn limits(mut self, limits: Limits) -> Self {
                self.0.limits(limits);
                self
            }

            /// Adds the cases below a folder that is laid out like `cases/`; one with the id of a built-in case replaces it.
            pub fn cases(mut self, dir: impl Into<PathBuf>) -> Self {
                self.0.cases(&dir.into());
                self
            }

            /// Expects that a case, or a requirement in whatever case, fails.
            ///
            /// A case has to fail then. A requirement has to fail in one case at least, which a test of its own named
            /// `expected/<requirement>` makes sure of.
            pub fn expect_failure(mut self, id: impl Into<String>, reason: impl Into<String>) -> Self {
                self.0.expected.push(Expectation::new(id, reason));
                self
            }

            /// Has a broken SHOULD count like a broken MUST.
            pub fn strict(mut self) -> Self {
                self.0.options.strict = true;
                self
            }

            /// Has a case fail that could not be decided. Sensible where nothing is left to chance: without a model, or
            /// with a scripted one.
            pub fn deny_inconclusive(mut self) -> Self {
                self.0.deny_inconclusive = true;
                self
            }
        }
    )* };
}

common_methods!(Agent, Client);

fn run(trials: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
