//! What the user typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

/// Tells which rules of the Agent Client Protocol a program keeps, and which it breaks, with evidence.
#[derive(Debug, Parser)]
#[command(name = "acp-conformance", version, about, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes:
  0  conformant, or nothing wrong
  1  not conformant: a MUST was broken
  2  wrong usage, a subject that cannot be started, or a bad case, profile or trace file
  3  incomplete: nothing was broken, and some MUSTs were not exercised (--allow-incomplete turns it into 0)
  4  the harness itself failed
  130  interrupted; every process was ended, and nothing is reported";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Drive an agent through the cases and judge every byte that it sends
    Agent(Box<AgentArgs>),
    /// Judge recorded traces again, without the subject
    Check(CheckArgs),
    /// List the cases, or the requirements
    List(ListArgs),
    /// Explain one requirement
    Explain(ExplainArgs),
    /// Find the mistakes in case files and profiles
    Lint(LintArgs),
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs; see `schemas/report.schema.json`
    Json,
}

/// Arguments of `agent`.
#[derive(Debug, clap::Args)]
#[command(after_help = AGENT_EXAMPLES)]
pub struct AgentArgs {
    /// The agent's command line, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// A profile that says how to start and prompt the agent: a file, or the name of a built-in one
    #[arg(long, value_name = "FILE|NAME")]
    pub profile: Option<String>,
    /// Only cases whose id contains this text; may be repeated
    #[arg(long = "case", value_name = "TEXT")]
    pub cases: Vec<String>,
    /// Only cases written for requirements whose id contains this text; may be repeated
    #[arg(long = "requirement", value_name = "TEXT")]
    pub requirements: Vec<String>,
    /// A folder of further cases; a case with the id of a built-in one takes its place
    #[arg(long = "cases", value_name = "DIR")]
    pub case_dir: Option<PathBuf>,
    /// An environment variable for the agent; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// The directory to start the agent in [default: this one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Let the agent see your own HOME instead of a fresh one for each case
    #[arg(long)]
    pub keep_home: bool,
    /// How many cases run at once [default: the number of cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Limit for the answer to initialize [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout_start: Option<Duration>,
    /// Limit for the answer to any other request than a prompt [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout_answer: Option<Duration>,
    /// Limit for a turn [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout_turn: Option<Duration>,
    /// Limit for the agent's exit after its input was closed [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout_exit: Option<Duration>,
    /// Put a fault into what the agent says, to see whether it is noticed: a file, or the name of a built-in one. Runs the
    /// cases of the fault, unless others are selected
    #[arg(long, value_name = "FILE|NAME")]
    pub fault: Option<String>,
    /// Write the trace of each case into this folder
    #[arg(long, value_name = "DIR")]
    pub trace_dir: Option<PathBuf>,
    /// How the result is written to standard output
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// Show only the cases that did not pass
    #[arg(long, short)]
    pub quiet: bool,
    /// A broken SHOULD counts like a broken MUST
    #[arg(long)]
    pub strict: bool,
    /// Exit with 0 when nothing was broken, also when some MUSTs were not exercised
    #[arg(long)]
    pub allow_incomplete: bool,
}

const AGENT_EXAMPLES: &str = "Examples:
  acp-conformance agent -- my-agent --acp
  acp-conformance agent --case cancel -- my-agent --acp
  acp-conformance agent --env API_KEY=none --trace-dir traces -- node dist/agent.js
  acp-conformance agent --format json --allow-incomplete -- my-agent > report.json";

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Trace files, or folders of them
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// How the result is written to standard output
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// A broken SHOULD counts like a broken MUST
    #[arg(long)]
    pub strict: bool,
    /// Exit with 0 when nothing was broken, also when some MUSTs were not exercised
    #[arg(long)]
    pub allow_incomplete: bool,
}

/// Arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// List the requirements instead of the cases
    #[arg(long)]
    pub requirements: bool,
    /// Only those whose id contains this text
    pub filter: Option<String>,
    /// How the result is written to standard output
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// The id, such as `cancel.stop-reason`
    pub requirement: String,
}

/// Arguments of `lint`.
#[derive(Debug, clap::Args)]
pub struct LintArgs {
    /// Case files (.yaml), profiles (.toml), or folders of them; the built-in ones when there is none
    pub files: Vec<PathBuf>,
}

/// Reads `500ms`, `20s` or `2m`; a bare number counts seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits.parse().map_err(|_| format!("`{text}` is no duration; write it like 500ms, 20s or 2m"))?;
    let seconds = match &text[digits.len()..] {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" => number * 60.0,
        unit => return Err(format!("`{unit}` is no unit of time; use ms, s or m")),
    };
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}
