//! Arguments about earlier runs: expected failures, shards, comparisons and reviews.

use std::path::PathBuf;

use super::super::outputs::{self, Output};
use super::OutputFormat;
use crate::expected::{Date, parse_day};
use crate::options::heading;
use crate::report::Detail;

/// Expected failures, for every command that checks.
#[derive(Debug, Default, clap::Args)]
pub struct ExpectedArgs {
    /// A TOML file with known failures, which do not fail the run
    ///
    /// Each is an `[[expected]]` table. An entry that no longer fails, or has expired, fails the run.
    #[arg(long, value_name = "FILE", help_heading = heading::BASELINE)]
    pub expected: Option<PathBuf>,
    /// Update that file: add new failures and remove entries that no longer fail
    #[arg(long, requires = "expected", help_heading = heading::BASELINE, hide_short_help = true)]
    pub update_expected: bool,
    /// The current day for `expires`, for tests
    #[arg(long, value_name = "DAY", value_parser = parse_day, hide = true)]
    pub today: Option<Date>,
}

/// Reports and expected failures, for every command that checks.
#[derive(Debug, Default, clap::Args)]
pub struct ResultArgs {
    /// Expected failures.
    #[command(flatten)]
    pub expected: ExpectedArgs,
    /// The report formats.
    #[arg(long = "format", value_name = "FORM[=FILE]", value_parser = outputs::parse, help_heading = heading::REPORTS)]
    #[arg(help = outputs::help(), long_help = outputs::long_help())]
    formats: Vec<Output>,
    /// Write an HTML page with a sequence chart of every case
    ///
    /// The same as `--format html=FILE`.
    #[arg(long, value_name = "FILE", help_heading = heading::REPORTS)]
    html: Option<PathBuf>,
    /// Exit with 0 if no MUST failed, even if some were not exercised
    ///
    /// But not if the run could not exercise anything.
    #[arg(long, help_heading = heading::BASELINE)]
    pub allow_incomplete: bool,
    /// The detail of the text output.
    #[command(flatten)]
    pub detail: DetailArgs,
}

/// The detail of the text output.
#[derive(Debug, Default, Clone, Copy, clap::Args)]
pub struct DetailArgs {
    /// List every case and every requirement
    #[arg(long, short, help_heading = heading::REPORTS, hide_short_help = true)]
    verbose: bool,
    /// Print only failures and the verdict
    ///
    /// Progress is shown only if standard error is a terminal.
    #[arg(long, short, conflicts_with = "verbose", help_heading = heading::REPORTS)]
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
    /// Sets the forms where none is named.
    pub fn default_formats(&mut self, formats: Vec<Output>) {
        if self.formats.is_empty() && self.html.is_none() {
            self.formats = formats;
        }
    }

    /// All requested formats.
    pub fn outputs(&self) -> Vec<Output> {
        Output::with_page(&self.formats, self.html.as_deref())
    }
}

/// Arguments of `merge`.
#[derive(Debug, clap::Args)]
#[command(after_help = MERGE_HELP)]
pub struct MergeArgs {
    /// The JSON reports of all shards. For the charts of a page, also name folders of traces that are neither where
    /// the reports say nor next to them
    #[arg(required = true, value_name = "REPORT|TRACES")]
    pub files: Vec<PathBuf>,
    /// Merge even if a shard is missing
    #[arg(long)]
    pub allow_missing: bool,
    /// Reports and expected failures. The expected failures of the shards apply without being named again.
    #[command(flatten)]
    pub result: ResultArgs,
}

const MERGE_HELP: &str =
    "The merged report and the exit code are those of a run without shards; the times of the shards add up. `merge` rejects \
reports of different subjects, of different versions of this program, or of different selections of cases. It applies the \
expected failures of the shards (--expected, or a profile) again, because only all cases show whether an entry is stale.

Example:
  acp-conformance agent --shard 1/2 --format json=1.json -- my-agent --acp
  acp-conformance agent --shard 2/2 --format json=2.json -- my-agent --acp
  acp-conformance merge 1.json 2.json --format json=report.json";

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = DIFF_HELP)]
pub struct DiffArgs {
    /// The earlier run: a JSON report, a folder of traces, or a folder with report.json and traces, such as a
    /// certificate
    pub old: PathBuf,
    /// The later run, in one of these forms
    pub new: PathBuf,
    /// Show every difference completely
    #[arg(long)]
    pub full: bool,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub format: OutputFormat,
}

const DIFF_HELP: &str =
    "Messages and capabilities are compared if both sides have traces; `diff` checks traces without a report first.
Exit code 1 means a regression: a requirement or a case that passed before and fails now. A pass that became inconclusive \
is shown as worse but is not a regression, because a race or a model can cause it.
schemas/diff.schema.json describes the output of --format json.

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
    /// Review only cases whose id contains this text; may be repeated
    #[arg(long = "case", value_name = "TEXT")]
    pub cases: Vec<String>,
}

const REVIEW_HELP: &str =
    "A run with --snapshots writes each changed transcript as CASE.snap.new next to CASE.snap. Compare the two files, then accept or \
reject the change. If the folder is in a Cargo package, `cargo insta review` there does both, one file after another.

Examples:
  acp-conformance agent --snapshots transcripts -- my-agent --acp
  acp-conformance accept transcripts --case cancel
  acp-conformance reject transcripts";
