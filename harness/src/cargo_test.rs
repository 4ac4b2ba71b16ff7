//! Every case as a test of your own crate, in two lines.
//!
//! Declare a test target without the usual harness in the `Cargo.toml` of your agent or your client,
//!
//! ```toml
//! [dev-dependencies]
//! acp-conformance = { git = "https://github.com/acp-conformance/acp-conformance" }
//!
//! [[test]]
//! name = "acp"
//! harness = false
//! ```
//!
//! and describe its start in `tests/acp.rs`; `env!("CARGO_BIN_EXE_my-agent")` is the program of your package:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     acp_conformance::cargo_test::Agent::command(["my-agent", "--acp"]).run()
//! }
//! ```
//!
//! A client starts its agent itself, so its command line contains a placeholder for the path of the agent. A client
//! does nothing without its user, so [`Client`] also needs to know how the user acts:
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
//! Each case is one test with the id of the case as its name, so `cargo test --test acp cancel` runs the cases about
//! cancellation, and `--list`, `--exact`, `--skip`, `--test-threads` and cargo-nextest work as usual; nextest shows an
//! ignored test as passed, also with `--partition`.
//!
//! | verdict on the case | the test |
//! |---|---|
//! | pass | is ok |
//! | fail | fails, and shows each violated requirement with the lines that prove it and a command to reproduce it |
//! | inconclusive | is ignored with the reason; [`Agent::deny_inconclusive`] or `ACP_INCONCLUSIVE=fail` makes it fail |
//! | not-applicable | is ignored with the reason |
//! | harness-error | fails, and reports an error of the harness |
//!
//! If a program cannot be started or no conversation begins, every case fails; so does a mistake in its description.
//!
//! List known failures with a reason: an expected failure is ignored with its reason, any other violation in the same
//! case still fails it, and an expectation that is no longer true fails.
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

/// The variable whose command line replaces the one in [`Agent::from_env_or`].
pub const AGENT_VARIABLE: &str = "ACP_AGENT";

/// The variable whose command line replaces the one in [`Client::from_env_or`].
pub const CLIENT_VARIABLE: &str = "ACP_CLIENT";

/// The variable that makes an inconclusive case fail if it is set to `fail`.
pub const INCONCLUSIVE_VARIABLE: &str = "ACP_INCONCLUSIVE";

/// An agent under test and its known failures. The methods have the names of those of [`std::process::Command`] if they
/// do the same.
#[derive(Debug, Clone)]
#[must_use = "nothing is tested before `run`"]
pub struct Agent(TestPlan);

/// A client under test, the ways in which its user acts, and its known failures.
///
/// The command line, the values of [`env`](Self::env) and the texts of [`home_file`](Self::home_file) can contain
/// placeholders, which each case replaces by its values:
///
/// | place | value |
/// |---|---|
/// | `{agent}` | the path of the program that the client must start as its agent; without blanks and arguments |
/// | `{agent_json}` | the same as JSON: `{"command": …, "args": [], "env": {}}` |
/// | `{agent_dir}` | the folder of that program, for PATH; see [`agent_name`](Self::agent_name) |
/// | `{cwd}`, `{home}` | the working directory and the HOME of the case |
/// | `{prompt}`, `{prompt_json}` | the first prompt of the user |
/// | `{args}` | a whole word of the command, for the words of [`setting`](Self::setting); otherwise they come at the end |
///
/// A case with an act or setting that is not described is inconclusive; it never fails.
#[derive(Debug, Clone)]
#[must_use = "nothing is tested before `run`"]
pub struct Client(TestPlan);

impl Agent {
    /// Gives the wording of the prompt for an intent, with placeholders such as `{path}` for its arguments.
    pub fn prompt(mut self, intent: impl Into<String>, wording: impl Into<String>) -> Self {
        self.0.prompts.insert(intent.into(), wording.into());
        self
    }
}

impl Client {
    /// Describes how the user does an act, such as `cancel`. The texts may contain the arguments of the act, as in
    /// `Means::Line("/mode {modeId}".to_owned())`.
    pub fn act(mut self, name: impl Into<String>, means: Means) -> Self {
        self.0.act(name.into(), means);
        self
    }

    /// Sets the words that replace `{args}` in the command if a case needs this setting.
    pub fn setting<W: Into<String>>(mut self, setting: Setting, words: impl IntoIterator<Item = W>) -> Self {
        self.0.setting(setting, words.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the file name of the program that the client starts as its agent, for a client that starts a fixed command.
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

/// The methods of both.
macro_rules! common_methods {
    ($($subject:ident),*) => { $(
        impl $subject {
            /// Creates a program with this command line, which starts once for each case.
            ///
            /// A program with a `/` in it is a path from the current directory, which is the folder of the package
            /// under
            /// `cargo test`; any other is looked up in `PATH`.
            pub fn command<W: Into<String>>(command: impl IntoIterator<Item = W>) -> Self {
                Self(TestPlan::of_command(Party::$subject, command))
            }

            /// Creates the program in [`AGENT_VARIABLE`] or [`CLIENT_VARIABLE`], as in
            /// `ACP_AGENT='my-agent --acp' cargo test --test acp`; `None` if the variable is not set. The words are
            /// split as in a shell.
            pub fn from_env() -> Option<Self> {
                TestPlan::from_env(Party::$subject).map(Self)
            }

            /// Creates the program in the environment, or else the one with this command line. All other settings apply
            /// to both.
            pub fn from_env_or<W: Into<String>>(command: impl IntoIterator<Item = W>) -> Self {
                Self::from_env().unwrap_or_else(|| Self::command(command))
            }

            /// Creates the program of a profile, which describes how the user of a client acts, and may list known
            /// failures. A mistake in the file fails every case.
            ///
            /// ```no_run
            /// # use acp_conformance::cargo_test::Client;
            /// let client = Client::profile("tests/my-client.toml").program("target/debug/my-client");
            /// ```
            pub fn profile(path: impl AsRef<Path>) -> Self {
                Self(TestPlan::of_profile(Party::$subject, path.as_ref()))
            }

            /// Reads the arguments of the test program, runs the requested tests, and reports the results; for `main`.
            ///
            /// An agent starts this same test program as its MCP servers, and a client as its agent; this function
            /// detects that. So code before it in `main` must not print, or take long.
            pub fn run(self) -> ExitCode {
                relay::run_if_asked().unwrap_or_else(|| run(self.trials()))
            }

            /// Returns the tests alone, for a target that has others too.
            ///
            /// The subject starts this same test program, see [`run`](Self::run). So `main` must begin with
            /// [`run_if_asked`](relay::run_if_asked), or no case gets a conversation:
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
            pub fn trials(self) -> Vec<Trial> {
                Suite::load(self.0).trials()
            }

            /// Starts this program instead of that in the command line or the profile, with the same arguments.
            pub fn program(mut self, program: impl AsRef<str>) -> Self {
                self.0.program(program.as_ref());
                self
            }

            /// Sets an environment variable of the program.
            pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
                self.0.options.start.env.push((name.into(), value.into()));
                self
            }

            /// Starts the program in this directory, which is not the working directory of its sessions.
            pub fn current_dir(mut self, dir: impl AsRef<Path>) -> Self {
                self.0.current_dir(dir.as_ref());
                self
            }

            /// Lets the program see the HOME of the caller instead of a fresh one for each case.
            pub fn keep_home(mut self) -> Self {
                self.0.options.start.keep_home = true;
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

            /// Adds the cases below a folder with the layout of `cases/`; a case with the id of a built-in one replaces
            /// it.
            pub fn cases(mut self, dir: impl Into<PathBuf>) -> Self {
                self.0.cases(&dir.into());
                self
            }

            /// Expects that a case, or a requirement in any case, fails.
            ///
            /// Then a case must fail. A requirement must fail in at least one case, which a separate test named
            /// `expected/<requirement>` checks.
            pub fn expect_failure(mut self, id: impl Into<String>, reason: impl Into<String>) -> Self {
                self.0.expected.push(Expectation::new(id, reason));
                self
            }

            /// Counts a violated SHOULD like a violated MUST.
            pub fn strict(mut self) -> Self {
                self.0.options.strict = true;
                self
            }

            /// Fails a case that is undecided. Use it if nothing is random: without a model, or with a scripted one.
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
