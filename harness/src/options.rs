//! What a user asks of a run. The command line parses into [`RunOptions`], `cargo_test` fills them in, and all code
//! that plans, runs and reports reads them.

mod shard;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

pub use shard::Shard;

use clap::builder::NonEmptyStringValueParser;

use crate::case::LimitOverrides;
use crate::case::file::parse_duration;
use crate::profile::Controls;
use crate::requirement::Transport;

/// The groups of the options in the help.
pub(crate) mod heading {
    pub(crate) const SUBJECT: &str = "Subject";
    pub(crate) const SELECTION: &str = "Selection";
    pub(crate) const LIMITS: &str = "Limits";
    pub(crate) const REPORTS: &str = "Reports";
    pub(crate) const BASELINE: &str = "Baseline";
    pub(crate) const DEBUGGING: &str = "Debugging";
}

/// The options of a run. Their comments are the help texts of `agent` and `client`: `-h` shows the first paragraph of
/// the important ones.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct RunOptions {
    /// Run only these cases; the same as --case for each
    #[arg(value_name = "CASE", value_parser = NonEmptyStringValueParser::new(), group = "named")]
    pub filters: Vec<String>,
    /// Whether the user chose exactly the edition of the cases, and not its version.
    #[arg(skip)]
    pub exact_edition: bool,
    /// How to start the program.
    #[command(flatten)]
    pub start: StartOptions,
    /// Run only the cases with this id, glob or text; may be repeated
    ///
    /// A glob such as `prompt/*` matches the beginning of an id, or the part after a slash. A run of selected cases
    /// exits with 0 when they pass.
    #[arg(long = "case", value_name = "PATTERN", value_parser = NonEmptyStringValueParser::new())]
    #[arg(help_heading = heading::SELECTION, group = "named")]
    pub cases: Vec<String>,
    /// Run only cases for these requirements, by id, glob or text; may be repeated
    #[arg(long = "requirement", value_name = "PATTERN", value_parser = NonEmptyStringValueParser::new())]
    #[arg(help_heading = heading::SELECTION, hide_short_help = true)]
    pub requirements: Vec<String>,
    /// Skip these cases, by id, glob or text; may be repeated
    #[arg(long = "skip", value_name = "PATTERN", value_parser = NonEmptyStringValueParser::new())]
    #[arg(help_heading = heading::SELECTION)]
    pub skipped: Vec<String>,
    /// Run only a few cases, which cover most MUSTs; for each push
    ///
    /// They need few processes of the program. For a client, there is about one case of each area, and more if it can
    /// open further sessions.
    #[arg(long, help_heading = heading::SELECTION)]
    #[arg(conflicts_with_all = ["isolate", "shard", "snapshots", "update_expected", "explore"])]
    pub quick: bool,
    /// Run only cases that failed in this program's last run from here
    ///
    /// The directory, the command line, the profile and the address identify the program.
    #[arg(long, help_heading = heading::SELECTION)]
    pub last_failed: bool,
    /// Run one part of these cases, such as 2/3 for the second of three, to split a run among machines
    ///
    /// The parts are the same on every machine (`acp-conformance list --shard`). A single shard exits with 0 unless a
    /// requirement failed. Only `acp-conformance merge`, which merges the JSON reports, can detect missing coverage.
    #[arg(long, value_name = "K/N", conflicts_with = "update_expected")]
    #[arg(help_heading = heading::SELECTION, hide_short_help = true)]
    pub shard: Option<Shard>,
    /// A folder with more cases; a case with the id of a built-in case replaces it
    #[arg(long = "cases", value_name = "DIR", help_heading = heading::SELECTION, hide_short_help = true)]
    pub case_dir: Option<PathBuf>,
    /// Also run cases that repeat a case in which the program did nothing that they check
    ///
    /// Selected cases always run.
    #[arg(long, help_heading = heading::SELECTION, hide_short_help = true)]
    pub thorough: bool,
    /// How long and how much at once.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// Stop after the first failed case that --expected does not list
    ///
    /// The reports are partial.
    #[arg(long, help_heading = heading::LIMITS, hide_short_help = true)]
    pub fail_fast: bool,
    /// End the run after this time; the reports are partial [seconds, unless suffixed with ms, s or m]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = heading::LIMITS, hide_short_help = true)]
    pub time_limit: Option<Duration>,
    /// Write the traces of all processes into this folder
    ///
    /// There is one trace for each case or shared conversation.
    #[arg(long, value_name = "DIR", help_heading = heading::REPORTS)]
    pub trace_dir: Option<PathBuf>,
    /// Redact the traces, as `acp-conformance redact` does
    #[arg(long, requires = "trace_dir", help_heading = heading::REPORTS, hide_short_help = true)]
    pub redact: bool,
    /// Treat a failed SHOULD like a failed MUST
    #[arg(long, help_heading = heading::BASELINE, hide_short_help = true)]
    pub strict: bool,
    /// Keep the transcript of each case in this folder, and fail the run if one differs
    ///
    /// Transcripts are without ids, paths and times. The program must be deterministic. `acp-conformance accept DIR`
    /// accepts the new transcripts.
    #[arg(long, value_name = "DIR", help_heading = heading::BASELINE, hide_short_help = true)]
    pub snapshots: Option<PathBuf>,
    /// Run each case in its own process
    ///
    /// By default, cases with the same start share one if the program can serve several sessions.
    #[arg(long, help_heading = heading::DEBUGGING, hide_short_help = true)]
    pub isolate: bool,
    /// Run the selected cases in one process, in the order of their --case options, and then once more to confirm a
    /// failure
    #[arg(long, requires = "named", conflicts_with_all = ["shard", "explore", "snapshots"])]
    #[arg(help_heading = heading::DEBUGGING, hide_short_help = true)]
    pub in_order: bool,
    /// Run the cases N times and count how often each verdict came
    ///
    /// A requirement or a case that fails in any run fails; the report says in how many.
    #[arg(long, value_name = "N", value_parser = count)]
    #[arg(conflicts_with_all = ["shard", "explore", "snapshots", "update_expected"])]
    #[arg(help_heading = heading::DEBUGGING)]
    pub repeat: Option<NonZeroUsize>,
    /// Run only the cases that can be part of a walk, and play N random walks over those that pass
    ///
    /// A walk plays several cases in one process, in any order and in the same session. The first walks begin after a
    /// part of the cases. A walk that fails twice is shortened and reported. With --trace-dir, it is also written as a
    /// case.
    #[arg(long, value_name = "N", value_parser = count)]
    #[arg(conflicts_with_all = ["shard", "snapshots", "update_expected"])]
    #[arg(help_heading = heading::DEBUGGING, hide_short_help = true)]
    pub explore: Option<NonZeroUsize>,
    /// The number that determines the walks [default: a random one, which the report names]
    #[arg(long, value_name = "S", requires = "explore", value_parser = seed)]
    #[arg(help_heading = heading::DEBUGGING, hide_short_help = true)]
    pub seed: Option<u64>,
    /// `--manual` of `client`: a person operates it.
    #[arg(skip)]
    pub manual: bool,
    /// The editor whose settings the person sees.
    #[arg(skip)]
    pub editor: Option<String>,
    /// The acts and settings of the client's user, in addition to those of the profile.
    #[arg(skip)]
    pub controls: Controls,
    /// The edition of the protocol, if it is not the default.
    #[arg(skip)]
    pub edition: Option<String>,
}

/// How to start the program.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct StartOptions {
    /// The command line of the program, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// How to start and operate the program: a file, or a built-in profile
    ///
    /// `acp-conformance list --profiles` shows the built-in profiles.
    #[arg(long, value_name = "FILE|NAME", help_heading = heading::SUBJECT)]
    pub profile: Option<String>,
    /// How the agent serves, or how the client reaches its agent: `stdio`, `http` or `ws` (drafts) [default: stdio]
    ///
    /// `http` is Streamable HTTP, `ws` is WebSocket. An agent gets a free port where its command line says {port}; a
    /// client gets the address of its agent where it says {url}.
    #[arg(long, value_name = "KIND", value_parser = transport, help_heading = heading::SUBJECT, hide_short_help = true)]
    pub transport: Option<Transport>,
    /// The address at which an agent serves [default: http://127.0.0.1:{port}/acp]
    ///
    /// Without a command line, the agent is already running there. ws:// implies `--transport ws`.
    #[arg(long, value_name = "URL", help_heading = heading::SUBJECT, hide_short_help = true)]
    pub url: Option<String>,
    /// A header of every HTTP request to the agent, such as a token; may be repeated
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = variable)]
    #[arg(help_heading = heading::SUBJECT, hide_short_help = true)]
    pub headers: Vec<(String, String)>,
    /// An environment variable for the program; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable, help_heading = heading::SUBJECT)]
    pub env: Vec<(String, String)>,
    /// The directory to start the program in [default: this one]; for a client, `{cwd}` is that of the case
    #[arg(long, value_name = "DIR", help_heading = heading::SUBJECT, hide_short_help = true)]
    pub cwd: Option<PathBuf>,
    /// Use your own HOME instead of an empty one for each case
    #[arg(long, help_heading = heading::SUBJECT, hide_short_help = true)]
    pub keep_home: bool,
    /// The id of a login method of an agent
    ///
    /// Where a request needs a login, the harness logs in by this method, once per process.
    #[arg(long, value_name = "METHOD", help_heading = heading::SUBJECT, hide_short_help = true)]
    pub login: Option<String>,
}

/// The number of processes, and the time limits of the program.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct LimitOptions {
    /// How many processes of the program run at once
    ///
    /// Default: 1.5 per core for agents, and more while the CPU is idle; 1 per core for clients. With more than 1, one
    /// more confirms failures.
    #[arg(short, long, value_name = "N", value_parser = count, help_heading = heading::LIMITS)]
    pub jobs: Option<NonZeroUsize>,
    /// Time limit for the response to initialize, or for a client to start its agent [default: 30s; seconds, unless
    /// suffixed with ms, s or m]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = heading::LIMITS, hide_short_help = true)]
    pub timeout_start: Option<Duration>,
    /// Time limit for the response to any request except session/prompt [default: 20s, and 30s to open a session; TIME
    /// as above]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = heading::LIMITS, hide_short_help = true)]
    pub timeout_answer: Option<Duration>,
    /// Time limit for a turn [default: 60s; TIME as above]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = heading::LIMITS, hide_short_help = true)]
    pub timeout_turn: Option<Duration>,
    /// Time limit for the program to exit after its input is closed [default: 500ms; TIME as above]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = heading::LIMITS, hide_short_help = true)]
    pub timeout_exit: Option<Duration>,
}

impl RunOptions {
    /// Returns the patterns of the cases to run; without any, all cases run.
    pub fn patterns(&self) -> Vec<&String> {
        self.cases.iter().chain(&self.filters).collect()
    }

    /// Whether the user names the cases to run, so that all of them run.
    pub const fn names_cases(&self) -> bool {
        !self.cases.is_empty() || !self.filters.is_empty() || !self.requirements.is_empty() || self.last_failed
    }

    /// Whether the run is a selection of cases, which cannot show that the subject is conformant. A shard is not a
    /// selection: only the merged report of all shards has a result.
    pub const fn is_selection(&self) -> bool {
        self.names_cases() || !self.skipped.is_empty() || self.quick || self.explore.is_some()
    }

    /// Whether each case has a process of its own: transcripts are comparable only then.
    pub const fn is_isolated(&self) -> bool {
        self.isolate || self.snapshots.is_some()
    }

    /// Whether cases run although another use or shape of them exercised nothing.
    pub const fn is_thorough(&self) -> bool {
        self.thorough || self.is_isolated() || self.names_cases()
    }
}

impl LimitOptions {
    /// Returns the limits that differ from those of the profile.
    pub const fn overrides(&self) -> LimitOverrides {
        LimitOverrides {
            start: self.timeout_start,
            answer: self.timeout_answer,
            turn: self.timeout_turn,
            exit: self.timeout_exit,
        }
    }
}

/// Parses the number of `--seed`.
fn seed(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "expected a whole number, such as the seed in the report of an earlier run")
}

/// Parses a whole number of at least 1.
pub(crate) fn count(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "expected a whole number of at least 1")
}

/// Parses `500ms`, `20s` or `2m`; a bare number counts seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    text.parse().map_or_else(
        |_| parse_duration(text),
        |seconds| Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
    )
}

impl StartOptions {
    /// Returns what carries the messages: the transport that is named, or that of the address.
    pub fn transport(&self) -> Transport {
        let is_socket = |url: &String| url.starts_with("ws:") || url.starts_with("wss:");
        self.transport.unwrap_or(match &self.url {
            Some(url) if is_socket(url) => Transport::WebSocket,
            Some(_) => Transport::Http,
            None => Transport::Stdio,
        })
    }
}

/// Parses the name of a transport.
fn transport(text: &str) -> Result<Transport, &'static str> {
    Transport::named(text).ok_or("expected stdio, http or ws")
}

/// Parses `NAME=VALUE`.
pub(crate) fn variable(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE"),
    }
}
