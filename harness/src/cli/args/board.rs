//! Arguments of `board`.

use std::path::PathBuf;

use clap::ArgGroup;

/// Arguments of `board`.
#[derive(Debug, clap::Args)]
#[command(after_help = BOARD_HELP, group(ArgGroup::new("written").args(["output", "markdown"]).required(true).multiple(true)))]
pub struct BoardArgs {
    /// JSON reports, or folders in which to look for reports
    #[arg(required = true, value_name = "REPORT|DIR")]
    pub reports: Vec<PathBuf>,
    /// The folder for the pages
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Also write the newest runs as a table with the violations of each subject
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// The address of this program's documentation, to which the board links: absolute, or from the board
    #[arg(long, value_name = "URL", requires = "output")]
    pub docs: Option<String>,
}

const BOARD_HELP: &str =
    "DIR/index.html is the board: a row for each requirement, by area or by capability, and a column for the newest run of each \
subject, with versions, dates and earlier runs. A cell leads to the findings of its run in DIR/runs/, with sequence charts if \
the traces are next to the report, in the folder `traces`, or where the report names them. The pages need no server and no \
network.

A subject is a program with its protocol version and transport. Its profile names it, or else its own name.

Example:
  acp-conformance agent --format json=reports/my-agent.json --trace-dir reports/traces -- my-agent --acp
  acp-conformance board reports -o board";
