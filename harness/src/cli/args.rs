//! What the user typed.

mod certificate;
mod kept;

pub use self::kept::{DetailArgs, DiffArgs, ExpectedArgs, MergeArgs, ResultArgs, ReviewArgs};

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Parser, Subcommand, ValueEnum};

pub use certificate::{CertifyArgs, CertifyParty, KeepArgs, VerifyArgs};

use super::outputs::Output;
use super::shard::Shard;
use crate::case;
use crate::plan;
use crate::profile::{self, Means, Setting};
use crate::recording;
use crate::requirement::{Level, Party, Status};

/// Tells which rules of the Agent Client Protocol a program keeps, and which it breaks, with evidence.
#[derive(Debug, Parser)]
#[command(name = "acp-conformance", version, about, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// The edition of the protocol, such as v1@2026-11; a trace or report that names its own is checked by that one.
    #[arg(long, global = true, value_name = "EDITION", hide = true)]
    pub edition: Option<String>,
}

const EXIT_CODES: &str = "Exit codes:
  0  conformant, or nothing wrong; what --expected names is set aside
  1  not conformant: a MUST was broken; or an entry of --expected is no longer
     true, a transcript of --snapshots differs, or diff shows a regression
  2  wrong usage, a subject that cannot be started, or a bad case, fault,
     profile, trace or recording
  3  incomplete: nothing was broken, and some MUSTs were not exercised
     (--allow-incomplete turns it into 0, unless nothing at all
     could be learned of the subject)
  4  the harness itself failed
  130  interrupted by Ctrl-C or SIGTERM; every process was ended, and the
     reports are partial";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Drive an agent through the cases and judge every byte that it sends
    Agent(Box<AgentArgs>),
    /// Drive a client through the cases, by playing the agent that it starts, and judge every byte that it sends
    Client(Box<ClientArgs>),
    /// Stand unseen between a real client and a real agent, and judge both
    Monitor(MonitorArgs),
    /// Serve a scripted model on loopback, which has an agent do what a prompt says
    Model(ModelArgs),
    /// Judge recorded traffic, without the subject
    Check(CheckArgs),
    /// Join the reports of the shards of a run, as `agent` and `client` write them with --shard
    Merge(MergeArgs),
    /// Show many subjects in one page, requirement by requirement, from their reports
    Matrix(MatrixArgs),
    /// Run all cases and keep what proves the result: a folder that anybody can verify
    Certify(CertifyArgs),
    /// Judge the traces of a certificate again, and say what does not match
    Verify(VerifyArgs),
    /// Make traces fit for a public bug report: what was said goes, and its shape stays
    Redact(RedactArgs),
    /// Make a case of a trace, to be edited and kept as a regression test
    Record(RecordArgs),
    /// Say what changed between two runs: verdicts, capabilities, messages
    Diff(DiffArgs),
    /// Keep the transcripts that differ from those of --snapshots
    Accept(ReviewArgs),
    /// Drop the transcripts that differ from those of --snapshots
    Reject(ReviewArgs),
    /// List the cases, the requirements, the faults or the profiles
    List(ListArgs),
    /// Explain one requirement, or list those of an area
    Explain(ExplainArgs),
    /// Find the mistakes in cases, faults, profiles and lists of expected failures
    Lint(LintArgs),
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people
    Text,
    /// For programs, as JSON
    Json,
}

/// Arguments of `agent`.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = AGENT_EXAMPLES)]
pub struct AgentArgs {
    /// What is the same for a client.
    #[command(flatten)]
    pub run: RunArgs,
    /// Give each case a process of its own, instead of sharing one where cases begin alike
    #[arg(long)]
    pub isolate: bool,
    /// Run only the largest group of cases that can share a process: most of the requirements in a few seconds. The result is
    /// incomplete
    #[arg(long, conflicts_with_all = ["isolate", "shard", "fault", "snapshots", "update_expected"])]
    pub quick: bool,
}

const AGENT_EXAMPLES: &str = "Examples:
  acp-conformance agent -- my-agent --acp
  acp-conformance agent --case cancel -- my-agent --acp
  acp-conformance agent --env API_KEY=none --trace-dir traces -- node dist/agent.js
  acp-conformance agent --format json=report.json --html report.html --allow-incomplete -- my-agent";

/// Arguments of `client`.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = CLIENT_EXAMPLES)]
pub struct ClientArgs {
    /// What is the same for an agent.
    #[command(flatten)]
    pub run: RunArgs,
    /// What its user does.
    #[command(flatten)]
    pub user: UserArgs,
    /// Have a person operate the client, who is told what to do: for editors that no program can operate
    #[arg(long, conflicts_with_all = NOT_BY_HAND)]
    pub manual: bool,
    /// Whose settings to show for --manual [default: zed]
    #[arg(long, value_name = "EDITOR", requires = "manual", value_parser = PossibleValuesParser::new(plan::editors()))]
    pub editor: Option<String>,
}

/// What the user of a client does.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct UserArgs {
    /// How the user of the client does something; may be repeated. MEANS is `line:TEXT` for its standard input, `keys:TEXT`
    /// for its terminal, `hook:COMMAND`, `signal:NAME` or `person:TEXT`
    #[arg(long = "act", value_name = "ACT=MEANS", value_parser = profile::parse_act)]
    pub acts: Vec<(String, Means)>,
    /// Arguments that take the place of `{args}` (or stand at the end) when a case wants this setting: `permission-allow`,
    /// `permission-reject`, `permission-hold`, `mcp-servers` with `{mcp_servers}`, or `directories` with `{directories}`; may
    /// be repeated
    #[arg(long = "setting", value_name = "SETTING=WORDS", value_parser = profile::parse_setting)]
    pub settings: Vec<(Setting, Vec<String>)>,
    /// The file name of what the client takes for its agent, for a client that starts a fixed command; see `{agent_dir}`
    /// [default: agent]
    #[arg(long, value_name = "NAME")]
    pub agent_name: Option<String>,
    /// Run the client on a terminal of its own
    #[arg(long)]
    pub terminal: bool,
}

/// What says how to start a client, which a person does by themselves.
const NOT_BY_HAND: [&str; 8] = ["command", "env", "cwd", "keep_home", "jobs", "settings", "agent_name", "terminal"];

const CLIENT_EXAMPLES: &str = "The client starts its agent itself. What it is to start stands in its command line, its environment or its settings:
  {agent}        the absolute path of the agent, without blanks and without arguments
  {agent_json}   the same as JSON: {\"command\": …, \"args\": [], \"env\": {}}
  {agent_dir}    the folder of the agent, to be put on PATH (with --agent-name)
  {cwd} {home}   the working directory and the HOME of the case
  {prompt}       what the user says first; {prompt_json} as JSON
  {args}         where the arguments of --setting go

Examples:
  acp-conformance client -- acpx --agent {agent} --cwd {cwd} --approve-all exec {prompt}
  acp-conformance client --profile acpx
  acp-conformance client --act cancel=signal:SIGINT --setting permission-reject=--deny-all \\
      -- my-client --agent {agent} --dir {cwd} {args} {prompt}
  acp-conformance client --manual --editor zed

With --manual you sit in front of the editor and this terminal. It shows what to put into the settings of the editor, once \
and for all, and which folder to open. Then it tells you what to do, case by case; each goes on by itself when the editor has \
done what was awaited. On the terminal: Enter shows again what to do, s + Enter skips the case, r + Enter repeats it, \
q + Enter ends the run with what there is. --timeout-start is the time that you have for each thing [default: 10m].";

/// What can be said about any run.
#[derive(Debug, Default, clap::Args)]
pub struct RunArgs {
    /// What starts the program.
    #[command(flatten)]
    pub start: StartArgs,
    /// Only cases whose id contains this text; may be repeated
    #[arg(long = "case", value_name = "TEXT")]
    pub cases: Vec<String>,
    /// Only cases written for requirements whose id contains this text; may be repeated
    #[arg(long = "requirement", value_name = "TEXT")]
    pub requirements: Vec<String>,
    /// Only a part of these cases, 2/3 for the second of three, so that several machines share a run. The parts are as even as
    /// can be and the same everywhere, see `acp-conformance list --shard`. `acp-conformance merge` joins their JSON reports, and
    /// tells whether the subject is incomplete: a part by itself exits with 0 when nothing was broken
    #[arg(long, value_name = "K/N", value_parser = super::shard::parse, conflicts_with = "update_expected")]
    pub shard: Option<Shard>,
    /// A folder of further cases; a case with the id of a built-in one takes its place
    #[arg(long = "cases", value_name = "DIR")]
    pub case_dir: Option<PathBuf>,
    /// Put a fault into what the program says, to see whether it is noticed: a file, or the name of a built-in one. Runs the
    /// cases of the fault, unless others are selected
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "update_expected")]
    pub fault: Option<String>,
    /// Write the trace of each case into this folder
    #[arg(long, value_name = "DIR")]
    pub trace_dir: Option<PathBuf>,
    /// Stop after the first case that fails and that --expected does not name; the reports are partial
    #[arg(long)]
    pub fail_fast: bool,
    /// End the run after this time; the reports are partial [a number without ms, s or m is one of seconds]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time_limit: Option<Duration>,
    /// Redact these traces, as `acp-conformance redact` does
    #[arg(long, requires = "trace_dir")]
    pub redact: bool,
    /// Keep the transcript of each case in this folder, without ids, paths and times, and fail the run when one differs: for a
    /// subject that always says the same. `acp-conformance accept DIR` takes the new ones
    #[arg(long, value_name = "DIR")]
    pub snapshots: Option<PathBuf>,
    /// Say where the time went: in the subject, in the tester, in which cases, and how long the program takes merely to start
    /// and end, for which it is started a few times more
    #[arg(long)]
    pub timings: bool,
    /// What becomes of the result.
    #[command(flatten)]
    pub result: ResultArgs,
    /// A broken SHOULD counts like a broken MUST
    #[arg(long)]
    pub strict: bool,
}

/// What starts a program and how long it has for what.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct StartArgs {
    /// The command line of the program, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// A profile that says how to start and drive the program: a file, or the name of a built-in one
    #[arg(long, value_name = "FILE|NAME")]
    pub profile: Option<String>,
    /// An environment variable for the program; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// The directory to start the program in [default: this one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Let the program see your own HOME instead of a fresh one for each case
    #[arg(long)]
    pub keep_home: bool,
    /// How many cases run at once [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = count)]
    pub jobs: Option<NonZeroUsize>,
    /// Limit for the answer to initialize, or for the start of the agent by a client [default: 30s; a
    /// number without ms, s or m is one of seconds]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout_start: Option<Duration>,
    /// Limit for the answer to any other request than a prompt [default: 20s; TIME as above]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout_answer: Option<Duration>,
    /// Limit for a turn [default: 60s; TIME as above]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout_turn: Option<Duration>,
    /// Limit for the program's exit after its input was closed [default: 500ms; TIME as above]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout_exit: Option<Duration>,
}

/// Arguments of `model`.
#[derive(Debug, clap::Args)]
#[command(after_help = MODEL_EXAMPLES)]
pub struct ModelArgs {
    /// The port of 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Go by what the profile of an agent says about its tools
    #[arg(long, value_name = "FILE|NAME")]
    pub profile: Option<String>,
    /// Write every request and its answer into this file, one a line, as JSON
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Do not say anything about single requests
    #[arg(long)]
    pub quiet: bool,
}

const MODEL_EXAMPLES: &str =
    "It speaks the APIs of OpenAI (chat completions, responses), Anthropic (messages) and Google (Gemini), with and without \
streaming, and takes from the tools that come with each request. What it can do, and how it is asked, is in docs/model.md.

Examples:
  acp-conformance model --port 4000 --record exchanges.ndjson
  acp-conformance model --profile opencode";

/// Arguments of `monitor`.
#[derive(Debug, clap::Args)]
#[command(after_help = MONITOR_EXAMPLES)]
pub struct MonitorArgs {
    /// The command line of the agent, after `--`
    #[arg(last = true, required = true, value_name = "AGENT")]
    pub command: Vec<OsString>,
    /// Write the trace of the session into this file as it goes; a folder gets a file for each session
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// When the session is over, write two reports as JSON into this file, on the first line that on the agent, on the second
    /// that on the client; a folder gets a file for each session
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// When the session is over, write a page to look at, with both parties and the sequence chart of the session; a folder
    /// gets a file for each session
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Say on standard error what is wrong as soon as it is, and not only when the session is over
    #[arg(long)]
    pub live: bool,
    /// Put a fault into what the agent or the client says, to see how the other one copes: a file, or the name of a built-in
    /// one. Nothing else ever changes a byte
    #[arg(long, value_name = "FILE|NAME")]
    pub fault: Option<String>,
    /// What the second process of the command gets: the name of the session, and the path of its trace file or `-`
    #[arg(long, num_args = 2, value_names = ["NAME", "FILE"], hide = true)]
    pub stand_between: Option<Vec<PathBuf>>,
}

const MONITOR_EXAMPLES: &str =
    "Put it before the agent wherever your editor says what to start. In the settings of Zed:
  \"agent_servers\": { \"my agent, watched\": { \"type\": \"custom\", \"command\": \"acp-conformance\",
    \"args\": [\"monitor\", \"--trace\", \"/path/to/sessions/\", \"--\", \"my-agent\", \"--acp\"] } }

The process that the client starts is the agent itself: its signals, its exit code, its standard error and its directory \
are its own. What was wrong is said on standard error, where editors keep it in the log of the agent; a session in which \
nothing was wrong says nothing.

Examples:
  acp-conformance monitor -- my-agent --acp
  acp-conformance monitor --live --trace session.jsonl -- my-agent --acp
  acp-conformance monitor --fault cancelled-as-end-turn -- my-agent --acp
  acp-conformance list --faults";

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// Traces of this program, recordings of other tools, or folders of traces; `-` is standard input
    #[arg(required_unless_present_any = ["agent", "client"], value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The format of the recordings, where their beginning does not tell it
    #[arg(long, value_name = "NAME", value_parser = recording_format())]
    pub input_format: Option<String>,
    /// What the agent wrote to its standard output, when the two parties were recorded apart
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "input_format"])]
    pub agent: Option<PathBuf>,
    /// What the client wrote to the agent's standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "input_format"])]
    pub client: Option<PathBuf>,
    /// Report on this party alone [default: both, where both were recorded]
    #[arg(long, value_name = "PARTY", value_parser = party)]
    pub subject: Option<Party>,
    /// What becomes of the result.
    #[command(flatten)]
    pub result: ResultArgs,
    /// A broken SHOULD counts like a broken MUST
    #[arg(long)]
    pub strict: bool,
}

const CHECK_EXAMPLES: &str =
    "Formats: trace, ndjson (a message a line, as `acpx --format json` prints them), sacp-tee, conductor (its --trace), zed \
(\"Copy All Messages\"). docs/recordings.md says what each of them can tell.

Examples:
  acp-conformance check traces/
  acp-conformance check sacp-tee.log
  acpx --format json codex exec 'fix the tests' | acp-conformance check -
  acp-conformance check --agent from-agent.ndjson --client from-client.ndjson";

fn recording_format() -> clap::builder::PossibleValuesParser {
    recording::Format::ALL.map(recording::Format::name).into()
}

fn party(text: &str) -> Result<Party, String> {
    let all = [Party::Agent, Party::Client];
    all.into_iter().find(|party| party.name() == text).ok_or_else(|| "it is agent or client".to_owned())
}

/// Arguments of `matrix`.
#[derive(Debug, clap::Args)]
#[command(after_help = MATRIX_HELP, group(ArgGroup::new("written").args(["html", "format"]).required(true).multiple(true)))]
pub struct MatrixArgs {
    /// Reports as JSON, each with the folders of its traces behind it where they are elsewhere than the report says
    #[arg(required = true, value_name = "REPORT|TRACES")]
    pub files: Vec<PathBuf>,
    /// The page to write
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Verdicts as a table, to standard output or a file; links of it lead into requirements/ beside it, as from docs/
    #[arg(long, value_name = "markdown[=FILE]", value_parser = super::outputs::parse_markdown)]
    pub format: Option<Output>,
}

const MATRIX_HELP: &str =
    "A column for each subject, those of one name side by side by their versions; a table for each party. A cell opens what \
was found, and the sequence chart of a case that failed, where its trace (--trace-dir) is found.

Example:
  acp-conformance agent --format json=old.json --trace-dir old -- my-agent-1.0 --acp
  acp-conformance agent --format json=new.json --trace-dir new -- my-agent-1.1 --acp
  acp-conformance matrix old.json new.json --html matrix.html
  acp-conformance matrix subjects/*.json --format markdown > docs/subjects.md";

/// Arguments of `redact`.
#[derive(Debug, clap::Args)]
#[command(after_help = REDACT_HELP)]
pub struct RedactArgs {
    /// Trace files, or folders of them
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// The file to write, or the folder where there are several traces
    #[arg(long, short, value_name = "FILE|DIR")]
    pub output: PathBuf,
}

const REDACT_HELP: &str =
    "Letters and digits of texts, paths, commands and free members become others, each of its kind: prompts, replies, file \
contents, output, tokens, the names of files and of environment variables. Equal texts stay equal within one trace. Ids, \
numbers, times, methods, the names of members and what programs say of themselves stay; docs/redaction.md has the list.
The judge says the same of the redacted trace, or you are told. Read it before you publish it.

Example:
  acp-conformance redact traces/v1-agent-fs-read.jsonl -o public.jsonl";

/// Arguments of `record`.
#[derive(Debug, clap::Args)]
#[command(after_help = RECORD_HELP)]
pub struct RecordArgs {
    /// A trace file of one connection
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// The case file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Whose behaviour is to be kept, where the trace does not say
    #[arg(long, value_parser = one_of(&Party::ALL, Party::name))]
    pub subject: Option<Party>,
}

const RECORD_HELP: &str =
    "The case plays the exchange again. Ids and paths become names, what a model may word otherwise becomes a pattern, and \
what the tester answers by itself is left out. Edit it until it says what matters; cases/README.md has the format.

Examples:
  acp-conformance agent --case fs/read --trace-dir traces -- my-agent --acp
  acp-conformance record traces/v1-agent-fs-read.jsonl -o mine/v1/agent/fs/my-read.yaml
  acp-conformance agent --cases mine --case fs/my-read -- my-agent --acp";

/// Arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// List the requirements instead of the cases
    #[arg(long)]
    pub requirements: bool,
    /// List the faults instead of the cases
    #[arg(long, conflicts_with = "requirements")]
    pub faults: bool,
    /// List the built-in profiles instead of the cases
    #[arg(long, conflicts_with_all = ["requirements", "faults"])]
    pub profiles: bool,
    /// Only those whose id contains this text
    pub filter: Option<String>,
    /// Only those of this party
    #[arg(long, value_parser = one_of(&Party::ALL, Party::name))]
    pub party: Option<Party>,
    /// Only those that `agent` or `client` plays with this --shard
    #[arg(long, value_name = "K/N", value_parser = super::shard::parse, requires = "party")]
    #[arg(conflicts_with_all = ["requirements", "faults", "profiles"])]
    pub shard: Option<Shard>,
    /// Only requirements of this level
    #[arg(long, requires = "requirements", conflicts_with_all = ["faults", "profiles"], value_parser = level_by_name())]
    pub level: Option<Level>,
    /// Only requirements of this status
    #[arg(long, requires = "requirements", conflicts_with_all = ["faults", "profiles"])]
    #[arg(value_parser = one_of(&Status::ALL, Status::name))]
    pub status: Option<Status>,
    /// How the result is written to standard output
    #[arg(long, value_enum, default_value = "text")]
    pub format: OutputFormat,
}

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// The id, such as `cancel.stop-reason`, or an area, such as `cancel`
    pub requirement: String,
}

/// Arguments of `lint`.
#[derive(Debug, clap::Args)]
pub struct LintArgs {
    /// Files of cases and faults (.yaml), of profiles and expected failures (.toml), or folders of them; the built-in cases and
    /// faults when there is none
    pub files: Vec<PathBuf>,
}

/// Reads one of these by its name.
fn one_of<T: Copy + Send + Sync>(all: &'static [T], name: fn(T) -> &'static str) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(all.iter().map(|one| name(*one)));
    names.try_map(move |given| all.iter().copied().find(|one| name(*one) == given).ok_or("no such name"))
}

/// Reads a level. The name of a probe in files is as good as that for people.
fn level_by_name() -> impl TypedValueParser<Value = Level> {
    let alias = |level: Level| (level == Level::MayProbe).then(|| level.name());
    let name = |level: &Level| PossibleValue::new(level.spoken()).aliases(alias(*level));
    let named = |given: String| Level::ALL.into_iter().find(|level| [level.spoken(), level.name()].contains(&&*given));
    PossibleValuesParser::new(Level::ALL.iter().map(name)).try_map(move |given| named(given).ok_or("no such level"))
}

/// Reads a whole number of at least 1.
fn count(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "it is a whole number, and at least 1")
}

/// Reads `500ms`, `20s` or `2m`; a bare number counts seconds.
fn duration(text: &str) -> Result<Duration, String> {
    text.parse().map_or_else(
        |_| case::file::parse_duration(text),
        |seconds| Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
    )
}
