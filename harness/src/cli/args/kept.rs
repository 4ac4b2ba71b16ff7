//! What the user typed about earlier runs: what is known to fail, what joins, what changed, what waits for a review.

use std::path::PathBuf;

use super::super::outputs::{self, Output};
use super::OutputFormat;
use crate::expected::{Date, parse_day};
use crate::report::Detail;

/// What is known to fail, for whatever judges.
#[derive(Debug, Default, clap::Args)]
pub struct ExpectedArgs {
    /// What is known to fail, a TOML file with `[[expected]]` tables: such failures do not fail the run, and an entry that no
    /// longer fails, or whose last day is past, does
    #[arg(long, value_name = "FILE")]
    pub expected: Option<PathBuf>,
    /// Write into that file what now fails, and take out of it what no longer does
    #[arg(long, requires = "expected")]
    pub update_expected: bool,
    /// The day by which it is told what has expired, for tests
    #[arg(long, value_name = "DAY", value_parser = parse_day, hide = true)]
    pub today: Option<Date>,
}

/// What becomes of the result of whatever judges.
#[derive(Debug, Default, clap::Args)]
pub struct ResultArgs {
    /// What is known to fail.
    #[command(flatten)]
    pub expected: ExpectedArgs,
    /// The forms of the result.
    #[arg(long = "format", value_name = "FORM[=FILE]", value_parser = outputs::parse, help = outputs::help())]
    formats: Vec<Output>,
    /// Write a page to look at, with a sequence chart of every case; the same as `--format html=FILE`
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Exit with 0 when nothing was broken, also when some MUSTs were not exercised; but not when nothing at all could be
    /// learned of the subject
    #[arg(long)]
    pub allow_incomplete: bool,
    /// How much the text says.
    #[command(flatten)]
    pub detail: DetailArgs,
}

/// How much the text says.
#[derive(Debug, Default, Clone, Copy, clap::Args)]
pub struct DetailArgs {
    /// List every case and name every requirement
    #[arg(long, short)]
    verbose: bool,
    /// Print only the failures and the verdict; no progress unless standard error is a terminal
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
}

impl From<DetailArgs> for Detail {
    fn from(args: DetailArgs) -> Self {
        match args {
            DetailArgs { quiet: true, .. } => Self::Failures,
            DetailArgs { verbose: true, .. } => Self::Cases,
            DetailArgs { .. } => Self::Areas,
        }
    }
}

impl ResultArgs {
    /// All forms that are wanted.
    pub fn outputs(&self) -> Vec<Output> {
        Output::with_page(&self.formats, self.html.as_deref())
    }
}

/// Arguments of `merge`.
#[derive(Debug, clap::Args)]
#[command(after_help = MERGE_HELP)]
pub struct MergeArgs {
    /// The reports of all shards, as JSON; and folders of traces for the charts of a page, where they do not lie where the
    /// reports say, or beside them
    #[arg(required = true, value_name = "REPORT|TRACES")]
    pub files: Vec<PathBuf>,
    /// Join what there is when a shard is missing
    #[arg(long)]
    pub allow_missing: bool,
    /// What becomes of the result. What the shards expected to fail is weighed again without being named.
    #[command(flatten)]
    pub result: ResultArgs,
}

const MERGE_HELP: &str =
    "The joined report is the one that the run would have had without shards, and so is the exit code; the times of the \
shards add up. Reports of different subjects, of different versions of this program or of different selections of cases are \
refused. What the shards expected to fail (--expected, or a profile) is weighed again, since only all cases tell whether an \
entry is true.

Example:
  acp-conformance agent --shard 1/2 --format json=1.json -- my-agent --acp
  acp-conformance agent --shard 2/2 --format json=2.json -- my-agent --acp
  acp-conformance merge 1.json 2.json --format json=report.json";

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = DIFF_HELP)]
pub struct DiffArgs {
    /// The run before: a report (JSON), a folder of traces, or a folder with report.json and traces, such as a certificate
    pub old: PathBuf,
    /// The run after, in any of these forms
    pub new: PathBuf,
    /// Show every difference to its end
    #[arg(long)]
    pub full: bool,
    /// How the result is written to standard output
    #[arg(long, value_enum, default_value = "text")]
    pub format: OutputFormat,
}

const DIFF_HELP: &str =
    "Messages and capabilities are compared where both sides have traces; traces without a report are judged by this program.
Exit code 1 means a regression: a requirement or a case that passed before and fails now. What passed and is no longer \
decided is shown as worse, and is none: a race can do that, or a model.
schemas/diff.schema.json says what --format json writes.

Examples:
  acp-conformance agent --trace-dir old -- my-agent --acp
  acp-conformance agent --trace-dir new -- my-agent-next --acp
  acp-conformance diff old new
  acp-conformance diff --format json last-release.json report.json";

/// Arguments of `accept` and `reject`.
#[derive(Debug, clap::Args)]
#[command(after_help = REVIEW_HELP)]
pub struct ReviewArgs {
    /// The folder of --snapshots
    pub dir: PathBuf,
    /// Only cases whose id contains this text; may be repeated
    #[arg(long = "case", value_name = "TEXT")]
    pub cases: Vec<String>,
}

const REVIEW_HELP: &str =
    "A run with --snapshots writes each transcript that differs as CASE.txt.new beside CASE.txt. Read them with any tool that \
compares files, then accept or reject them.

Examples:
  acp-conformance agent --snapshots transcripts -- my-agent --acp
  acp-conformance accept transcripts --case cancel
  acp-conformance reject transcripts";
