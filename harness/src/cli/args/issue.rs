//! Arguments of `report-issue`.

use std::path::PathBuf;

/// Arguments of `report-issue`.
#[derive(Debug, clap::Args)]
#[command(after_help = ISSUE_HELP)]
pub struct IssueArgs {
    /// The id of a requirement that failed, such as cancel.stop-reason
    pub requirement: String,
    /// The JSON report of the run
    pub report: PathBuf,
}

const ISSUE_HELP: &str = "Prints Markdown to paste into the issue tracker of the program: the requirement with its source, what the program \
did, the messages, and the command that repeats the case. Read it before you publish it: messages can contain paths and \
prompts.

Example:
  acp-conformance agent --format json=report.json -- my-agent --acp
  acp-conformance report-issue cancel.stop-reason report.json";
