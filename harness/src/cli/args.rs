//! The command line: commands, options and their help.

mod board;
mod certificate;
mod init;
mod issue;
mod kept;
mod registry;
mod shell;

pub use self::board::BoardArgs;
pub use self::init::{Ci, InitArgs};
pub use self::issue::IssueArgs;
pub use self::kept::{DetailArgs, DiffArgs, ExpectedArgs, MergeArgs, ResultArgs, ReviewArgs};
pub use self::registry::RegistryArgs;
pub use self::shell::{ColorWhen, CompletionsArgs, FileKind, SchemaArgs};

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Parser, Subcommand, ValueEnum};

pub use certificate::{CertifyArgs, CertifyParty, KeepArgs, VerifyArgs};

use crate::options::{RunOptions, Shard, heading, variable};
use crate::plan;
use crate::profile::{self, Controls, Means, Setting};
use crate::recording::Format;
use crate::requirement::{Level, Party, Status};

/// Checks agents and clients against the Agent Client Protocol and shows the messages that prove each violation.
#[derive(Debug, Parser)]
#[command(name = "acp-conformance", version, about, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Args {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// The version of the protocol: v1, v2 (a preview), `newest` or `all`
    ///
    /// Or one edition such as v1@2026-11-02. Only agent and client have `newest` and `all`.
    ///
    /// A trace or report that names an edition is checked against that one. With `newest`, the newest version that the
    /// subject speaks is tested. With `all`, each one is, and the files of reports have the version in their
    /// names. The name of an edition, such as v2@2026-11-20, also holds a subject that may be older to the duties that
    /// are new in it.
    #[arg(long = "protocol", alias = "edition", global = true, value_name = "VERSION", display_order = 900)]
    pub edition: Option<String>,
    /// Use colours: `auto` (in a terminal; respects `NO_COLOR` and `CLICOLOR_FORCE`), `always` or `never`
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_default_value = true, hide_possible_values = true, hide_short_help = true)]
    pub color: ColorWhen,
}

const EXIT_CODES: &str = "Exit codes:
  0  conformant, or every selected case passed, or no failure; failures
     listed in --expected do not count
  1  not conformant: a MUST failed; or an entry of --expected is stale or
     expired, a transcript of --snapshots differs, or diff found a regression
  2  wrong usage, a subject that does not start or exits at once, or
     a bad case, profile, trace or recording
  3  incomplete: no MUST failed, but some were not exercised
     (--allow-incomplete turns it into 0, unless the run could not
     exercise anything)
  4  the harness itself failed
  130  interrupted by Ctrl-C, SIGTERM or SIGHUP; all processes have ended, and the
     reports are partial";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Test an agent: run the cases as its client and check every message that it sends
    Agent(Box<AgentArgs>),
    /// Test a client: run the cases as the agent that it starts and check every message that it sends
    Client(Box<ClientArgs>),
    /// Proxy a live session between a client and an agent and check both
    Monitor(MonitorArgs),
    /// Serve a scripted model on loopback, so that agents follow a prompt without a real model
    Model(ModelArgs),
    /// Check recorded traffic, without starting a program
    Check(CheckArgs),
    /// Merge the JSON reports of a run that was split with --shard
    Merge(MergeArgs),
    /// Compare many subjects, requirement by requirement, in static pages made of their reports
    Board(BoardArgs),
    /// Install the agents of a registry, test each one, and show what changed since the last run
    Registry(Box<RegistryArgs>),
    /// Print a bug report about a failed requirement, with the messages that prove it
    ReportIssue(IssueArgs),
    /// Run all cases and write a certificate: a folder with the evidence, for others to verify
    Certify(CertifyArgs),
    /// Check the traces of a certificate again and list every file that does not match
    Verify(VerifyArgs),
    /// Redact traces for sharing: remove content, keep structure
    Redact(RedactArgs),
    /// Show what changed between two runs: verdicts, capabilities and messages
    Diff(DiffArgs),
    /// Accept the changed transcripts of --snapshots
    Accept(ReviewArgs),
    /// Discard the changed transcripts of --snapshots
    Reject(ReviewArgs),
    /// Start a program, find out what it is, and write acp-conformance.toml for it
    Init(InitArgs),
    /// List cases, requirements or profiles
    List(ListArgs),
    /// Explain a requirement or a case, or list the requirements of an area
    Explain(ExplainArgs),
    /// Check case, profile and expected-failure files for mistakes
    Lint(LintArgs),
    /// Print the JSON Schema of cases, profiles, reports and other files
    Schema(SchemaArgs),
    /// Print the completions for a shell
    Completions(CompletionsArgs),
}

/// The output format of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people
    Text,
    /// For programs, as JSON
    Json,
}

/// Arguments of `agent`.
#[derive(Debug, Default, clap::Args)]
#[command(after_long_help = AGENT_EXAMPLES)]
pub struct AgentArgs {
    /// Options that `agent` and `client` share.
    #[command(flatten)]
    pub run: RunOptions,
    /// Reports and expected failures.
    #[command(flatten)]
    pub result: ResultArgs,
}

impl AgentArgs {
    /// Returns the options of the run, and those of its result.
    pub fn split(self) -> (RunOptions, ResultArgs) {
        (self.run, self.result)
    }
}

const AGENT_EXAMPLES: &str = "Examples:
  acp-conformance agent -- my-agent --acp
  acp-conformance agent cancel fs/read -- my-agent --acp
  acp-conformance agent --env API_KEY=none --trace-dir traces -- node dist/agent.js
  acp-conformance agent --format json=report.json --html report.html --allow-incomplete -- my-agent";

/// Arguments of `client`.
#[derive(Debug, Default, clap::Args)]
#[command(after_long_help = CLIENT_EXAMPLES, mut_args = hide_options_of_agents)]
pub struct ClientArgs {
    /// Options that `agent` and `client` share.
    #[command(flatten)]
    pub run: RunOptions,
    /// Reports and expected failures.
    #[command(flatten)]
    pub result: ResultArgs,
    /// How the harness operates the client.
    #[command(flatten)]
    pub user: UserArgs,
    /// Let a person operate the client by instructions on the terminal
    ///
    /// For editors that cannot be scripted.
    #[arg(long, conflicts_with_all = NOT_BY_HAND, help_heading = heading::SUBJECT)]
    pub manual: bool,
    /// The editor whose settings --manual shows [default: zed]
    #[arg(long, value_name = "EDITOR", requires = "manual", value_parser = PossibleValuesParser::new(plan::editors()))]
    #[arg(help_heading = heading::SUBJECT, hide_short_help = true)]
    pub editor: Option<String>,
}

impl ClientArgs {
    /// Returns the options of the run, and those of its result.
    pub fn split(self) -> (RunOptions, ResultArgs) {
        let Self { run, result, user, manual, editor } = self;
        (RunOptions { manual, editor, controls: user.into(), ..run }, result)
    }
}

/// How the harness operates a client.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct UserArgs {
    /// How to perform a user action in the client; may be repeated
    ///
    /// MEANS is `line:TEXT` (standard input), `keys:TEXT` (terminal), `hook:COMMAND`, `signal:NAME` or `person:TEXT`.
    #[arg(long = "act", value_name = "ACT=MEANS", value_parser = profile::parse_act)]
    #[arg(help_heading = heading::SUBJECT)]
    pub acts: Vec<(String, Means)>,
    /// Arguments for a setting that a case needs; may be repeated
    ///
    /// They replace `{args}` or are appended. Settings: `permission-allow`, `permission-reject`, `permission-hold`,
    /// `mcp-servers` with `{mcp_servers}`, `directories` with `{directories}`.
    #[arg(long = "setting", value_name = "SETTING=WORDS", value_parser = profile::parse_setting)]
    #[arg(help_heading = heading::SUBJECT)]
    pub settings: Vec<(Setting, Vec<String>)>,
    /// The file name of the agent in `{agent_dir}`, for a client that starts a fixed command
    /// [default: agent]
    #[arg(long, value_name = "NAME", help_heading = heading::SUBJECT, hide_short_help = true)]
    pub agent_name: Option<String>,
    /// Run the client on a pseudo-terminal
    #[arg(long, help_heading = heading::SUBJECT, hide_short_help = true)]
    pub terminal: bool,
}

impl From<UserArgs> for Controls {
    fn from(args: UserArgs) -> Self {
        let UserArgs { acts, settings, agent_name, terminal } = args;
        let (acts, settings) = (acts.into_iter().collect(), settings.into_iter().collect());
        Self { acts, settings, agent_name, terminal, ..Self::default() }
    }
}

/// Hides the options of [`StartOptions`](crate::options::StartOptions) that a run of a client refuses.
fn hide_options_of_agents(arg: Arg) -> Arg {
    if ["url", "headers", "login"].contains(&arg.get_id().as_str()) { arg.hide(true) } else { arg }
}

/// Options that conflict with --manual: a person starts the client, once for each case.
const NOT_BY_HAND: [&str; 17] = [
    "command",
    "transport",
    "url",
    "headers",
    "login",
    "env",
    "cwd",
    "keep_home",
    "jobs",
    "settings",
    "agent_name",
    "terminal",
    "explore",
    "quick",
    "repeat",
    "isolate",
    "thorough",
];

const CLIENT_EXAMPLES: &str = "The client starts its agent itself. Use these placeholders in its command line, its environment or its settings:
  {agent}        the absolute path of the agent, without blanks and without arguments
  {agent_json}   the same as JSON: {\"command\": …, \"args\": [], \"env\": {}}
  {agent_dir}    the folder of the agent, for PATH (with --agent-name)
  {cwd} {home}   the working directory and the HOME of the case
  {prompt}       the user's first prompt; {prompt_json} as JSON
  {args}         the position of the --setting arguments

Examples:
  acp-conformance client -- acpx --agent {agent} --cwd {cwd} --approve-all exec {prompt}
  acp-conformance client --profile acpx
  acp-conformance client --act cancel=signal:SIGINT --setting permission-reject=--deny-all \\
      -- my-client --agent {agent} --dir {cwd} {args} {prompt}
  acp-conformance client --manual --editor zed

With --manual you operate the editor. The terminal first shows the settings for the editor and the folder to open; both stay \
the same for later runs. Then it shows an instruction for each case. The case continues when the editor has done the \
expected step. Keys: Enter shows the instruction again, s + Enter skips the case, r + Enter repeats it, q + Enter ends the \
run and reports the results so far. --timeout-start limits the time for each instruction [default: 10m].";

/// Arguments of `model`.
#[derive(Debug, clap::Args)]
#[command(after_help = MODEL_EXAMPLES)]
pub struct ModelArgs {
    /// The port of 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Use the description of the agent's tools from this profile
    #[arg(long, value_name = "FILE|NAME")]
    pub profile: Option<String>,
    /// Write every request with its answer to this file, as one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Do not log single requests
    #[arg(long)]
    pub quiet: bool,
}

const MODEL_EXAMPLES: &str =
    "It speaks the APIs of OpenAI (chat completions, responses), Anthropic (messages) and Google (Gemini), with and without \
streaming, and uses the tools of each request. docs/model.md describes the intents and the prompt format.

Examples:
  acp-conformance model --port 4000 --record exchanges.ndjson
  acp-conformance model --profile opencode";

/// Arguments of `monitor`.
#[derive(Debug, clap::Args)]
#[command(after_help = MONITOR_EXAMPLES)]
pub struct MonitorArgs {
    /// The command line of the agent, after `--`
    #[arg(last = true, required_unless_present = "to", conflicts_with = "to", value_name = "AGENT")]
    pub command: Vec<OsString>,
    /// Serve clients over HTTP or WebSocket at this address, such as http://127.0.0.1:8080/acp, until Ctrl-C
    ///
    /// It is served on loopback only; port 0 is a free one. The agent's command line is started for each connection.
    #[arg(long, value_name = "URL", conflicts_with = "wait")]
    pub listen: Option<String>,
    /// Connect to an agent that serves at this address, instead of starting one
    ///
    /// With `--listen`, HTTP requests and frames of WebSockets are passed on as they are.
    #[arg(long, value_name = "URL", conflicts_with = "wait")]
    pub to: Option<String>,
    /// A header of every HTTP request to the agent, such as a token; may be repeated
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = variable)]
    pub headers: Vec<(String, String)>,
    /// Write the trace to this file during the session; a folder gets one file per session
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// After the session, write two JSON reports to this file, one per line: the agent's, then the client's. A folder
    /// gets one file per session
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// After the session, write an HTML page with both parties and the sequence chart of the session; a folder gets
    /// one file per session
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Report violations on standard error immediately, not only after the session
    #[arg(long)]
    pub live: bool,
    /// Exit only after all files are written and all violations printed: for scripts and shells
    ///
    /// Without this, the process that the client starts becomes the agent and exits with it, and the files are complete
    /// a moment later. With it, the agent is a child process, which gets the signals and whose exit code is returned.
    #[arg(long)]
    pub wait: bool,
    /// Arguments of the monitor's second process: the name of the session, and the path of its trace file or `-`
    #[arg(long, num_args = 2, value_names = ["NAME", "FILE"], hide = true)]
    pub stand_between: Option<Vec<PathBuf>>,
}

const MONITOR_EXAMPLES: &str =
    "Put it before the agent's command in the settings of your editor. In Zed:
  \"agent_servers\": { \"my agent, watched\": { \"type\": \"custom\", \"command\": \"acp-conformance\",
    \"args\": [\"monitor\", \"--trace\", \"/path/to/sessions/\", \"--\", \"my-agent\", \"--acp\"] } }

The client's child process becomes the agent itself, so signals, exit code, standard error and working directory are those \
of the agent. The monitor reports violations on standard error after the session; editors show this in the agent's log. A \
session without violations prints nothing.

Examples:
  acp-conformance monitor -- my-agent --acp
  acp-conformance monitor --live --trace session.jsonl -- my-agent --acp
  acp-conformance monitor --wait --report report.json -- my-agent --acp < messages.jsonl

Over HTTP and WebSocket, which are drafts, it runs until Ctrl-C. It exits with 1 if a party broke a MUST, and with 2 \
if the agent did not answer:
  acp-conformance monitor --listen http://127.0.0.1:8080/acp --to http://127.0.0.1:9000/acp
  acp-conformance monitor --listen ws://127.0.0.1:8080/acp -- my-agent --acp
  acp-conformance monitor --to wss://agent.example.com/acp --header authorization=\"Bearer $TOKEN\"
The last one is an agent on standard streams, for a client that starts it.";

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// Traces of this program, recordings of other tools, or folders of them; `-` is standard input
    #[arg(required_unless_present_any = ["agent", "client"], value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The format of the recordings; by default, `check` detects it
    #[arg(long, value_name = "NAME", value_parser = one_of(&Format::ALL, Format::name))]
    pub input_format: Option<Format>,
    /// The agent's standard output, if the two parties were recorded separately
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "input_format"])]
    pub agent: Option<PathBuf>,
    /// The agent's standard input, as written by the client
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "input_format"])]
    pub client: Option<PathBuf>,
    /// Report only on this party [default: every recorded party]
    #[arg(long, value_name = "PARTY", value_parser = one_of(&Party::ALL, Party::name))]
    pub subject: Option<Party>,
    /// Reports and expected failures.
    #[command(flatten)]
    pub result: ResultArgs,
    /// Treat a failed SHOULD like a failed MUST
    #[arg(long, help_heading = heading::BASELINE)]
    pub strict: bool,
}

const CHECK_EXAMPLES: &str =
    "Formats: trace, ndjson (one message per line, as `acpx --format json` prints them), sacp-tee, conductor (its --trace), zed \
(\"Copy All Messages\"), acp-devtools (its exports), har (HTTP and WebSocket, from developer tools and proxies). docs/recordings.md lists which requirements each format can prove.

Examples:
  acp-conformance check traces/
  acp-conformance check sacp-tee.log
  acp-conformance check session.har
  acpx --format json codex exec 'fix the tests' | acp-conformance check -
  acp-conformance check --agent from-agent.ndjson --client from-client.ndjson";

/// Arguments of `redact`.
#[derive(Debug, clap::Args)]
#[command(after_help = REDACT_HELP)]
pub struct RedactArgs {
    /// Trace files, or folders of them
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// The output file, or the output folder for several traces; `-` is standard output
    #[arg(long, short, value_name = "FILE|DIR")]
    pub output: PathBuf,
}

const REDACT_HELP: &str =
    "Replaces texts by `x` in the same length, and ids, names and the parts of paths by numbers: prompts, replies, file contents, \
output, tokens, names of files and of environment variables. Times, methods, member names of the schema, and names and versions \
of programs stay; docs/redaction.md has the list.
A redacted trace can get other verdicts where content decides. Read it before you publish it.

Example:
  acp-conformance redact traces/v1-agent-fs-read.jsonl -o public.jsonl";

/// Arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// List the requirements instead of the cases
    #[arg(long)]
    pub requirements: bool,
    /// List the built-in profiles instead of the cases
    #[arg(long, conflicts_with = "requirements")]
    pub profiles: bool,
    /// List only ids that contain this text
    pub filter: Option<String>,
    /// List only this party
    #[arg(long, value_parser = one_of(&Party::ALL, Party::name))]
    pub party: Option<Party>,
    /// List only the cases that `agent` or `client` runs with this --shard
    #[arg(long, value_name = "K/N", requires = "party")]
    #[arg(conflicts_with_all = ["requirements", "profiles"])]
    pub shard: Option<Shard>,
    /// List only requirements of this level
    #[arg(long, requires = "requirements", conflicts_with = "profiles", value_parser = level_by_name(), ignore_case = true)]
    pub level: Option<Level>,
    /// List only requirements of this status
    #[arg(long, requires = "requirements", conflicts_with = "profiles")]
    #[arg(value_parser = one_of(&Status::ALL, Status::name))]
    pub status: Option<Status>,
    /// List only the requirements that changed since this earlier edition, such as v1@2026-11-02
    #[arg(long, value_name = "EDITION", requires = "requirements", conflicts_with = "profiles")]
    pub since: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub format: OutputFormat,
}

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// A requirement (`cancel.stop-reason`), a case (`v1/agent/cancel/while-asking`) or an area (`cancel`)
    #[arg(required_unless_present = "pages")]
    pub requirement: Option<String>,
    /// Instead, write all requirements into this folder: a Markdown page for each area, and an index
    #[arg(long, value_name = "DIR", conflicts_with = "requirement")]
    pub pages: Option<PathBuf>,
}

/// Arguments of `lint`.
#[derive(Debug, clap::Args)]
pub struct LintArgs {
    /// Case files (.yaml), profiles and expected failures (.toml), or folders of them [default: the built-in cases]
    pub files: Vec<PathBuf>,
}

/// Parses one of these values by its name.
fn one_of<T: Copy + Send + Sync>(all: &'static [T], name: fn(T) -> &'static str) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(all.iter().map(|one| name(*one)));
    names.try_map(move |given| all.iter().copied().find(|one| name(*one) == given).ok_or("no such name"))
}

/// Parses a level. A probe has two names: one in files and one in the output.
fn level_by_name() -> impl TypedValueParser<Value = Level> {
    let alias = |level: Level| (level == Level::MayProbe).then(|| level.name());
    let name = |level: &Level| PossibleValue::new(level.spoken()).aliases(alias(*level));
    let is = |name: &str, given: &str| name.eq_ignore_ascii_case(given);
    let named = move |given: String| {
        Level::ALL.into_iter().find(|level| is(level.spoken(), &given) || is(level.name(), &given))
    };
    PossibleValuesParser::new(Level::ALL.iter().map(name)).try_map(move |given| named(given).ok_or("no such level"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the options of a command line.
    fn options(line: &str) -> RunOptions {
        let words = shell_words::split(line).expect("words");
        let args = Args::try_parse_from(["acp-conformance".to_owned()].into_iter().chain(words)).expect("options");
        match args.command {
            Command::Agent(agent) => agent.split().0,
            Command::Client(client) => client.split().0,
            _ => panic!("{line} runs no cases"),
        }
    }

    #[test]
    fn short_help_fits_on_a_screen() {
        for words in [&["agent"][..], &["client"], &["certify", "agent"], &["check"]] {
            let words = ["acp-conformance"].iter().chain(words).chain(&["-h"]);
            let help = Args::try_parse_from(words).expect_err("help is not a command").to_string();
            let lines = help.lines().count();
            assert!(lines <= 40, "{lines} lines:\n{help}");
        }
    }

    #[test]
    fn selections_and_named_cases_by_options() {
        for (line, names_cases, is_selection) in [
            ("agent -- a", false, false),
            ("agent --isolate --thorough --strict --jobs 2 --fail-fast --time-limit 1m -- a", false, false),
            ("agent --cases mine --snapshots kept --trace-dir traces --redact -- a", false, false),
            ("agent --shard 1/2 -- a", false, false),
            ("client --manual --editor zed", false, false),
            ("agent --skip cancel -- a", false, true),
            ("agent --quick -- a", false, true),
            ("client --quick -- a", false, true),
            ("agent --explore 9 --seed 1 -- a", false, true),
            ("agent cancel -- a", true, true),
            ("agent --case cancel --in-order -- a", true, true),
            ("client --requirement cancel -- a", true, true),
            ("client --last-failed -- a", true, true),
            ("client --manual cancel", true, true),
            ("agent --shard 1/2 --case cancel -- a", true, true),
        ] {
            let options = options(line);
            assert_eq!((options.names_cases(), options.is_selection()), (names_cases, is_selection), "{line}");
        }
    }
}
