//! Arguments of `init`.

use clap::ValueEnum;

/// A service that runs the cases on every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Ci {
    /// GitHub Actions.
    Github,
}

/// Arguments of `init`.
#[derive(Debug, clap::Args)]
#[command(after_help = INIT_HELP)]
pub struct InitArgs {
    /// The command line of the program, after `--`; with {agent} and {prompt} it is a client
    #[arg(last = true, required_unless_present = "ci", value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Also write a workflow for this CI service next to the file; without COMMAND, write only the workflow
    #[arg(long, value_enum, value_name = "SERVICE")]
    pub ci: Option<Ci>,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
}

const INIT_HELP: &str =
    "The file is found from this folder and all folders below it. Then `acp-conformance` alone runs the \
cases; options replace what the file says. It has the format of a profile: schemas/profile.schema.json.

Examples:
  acp-conformance init -- node dist/agent.js
  acp-conformance init --ci github
  acp-conformance init -- my-client --agent {agent} --cwd {cwd} {prompt}";
