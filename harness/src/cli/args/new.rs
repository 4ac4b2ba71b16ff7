//! Arguments of `new`.

use std::path::PathBuf;

use clap::Subcommand;

use super::one_of;
use crate::requirement::Party;

/// Arguments of `new`.
#[derive(Debug, clap::Args)]
pub struct NewArgs {
    /// The kind of file.
    #[command(subcommand)]
    pub what: NewFile,
}

/// A kind of file to start from.
#[derive(Debug, Subcommand)]
pub enum NewFile {
    /// Write a case that passes on a conforming program, and its JSON Schema for editors
    Case(NewCaseArgs),
}

/// Arguments of `new case`.
#[derive(Debug, clap::Args)]
#[command(after_help = CASE_HELP)]
pub struct NewCaseArgs {
    /// The party to test [default: that of acp-conformance.toml, else agent]
    #[arg(long, value_parser = one_of(&Party::ALL, Party::name))]
    pub party: Option<Party>,
    /// The area of the protocol, such as cancel [default: that of the first requirement]
    #[arg(long)]
    pub area: Option<String>,
    /// The name of the file, without extension
    #[arg(long, default_value = "my-case")]
    pub name: String,
    /// What the case shows, in a sentence
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// A requirement that the case checks; may be repeated [default: one that every turn exercises]
    #[arg(long = "requirement", value_name = "ID")]
    pub requirements: Vec<String>,
    /// The folder of the cases [default: that of acp-conformance.toml, else cases]
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,
    /// Replace a case that exists
    #[arg(long)]
    pub force: bool,
}

const CASE_HELP: &str =
    "The case runs one turn. Change its steps: docs/first-case.md is a tutorial, cases/README.md describes \
the format, and `acp-conformance explain CASE` shows a built-in case.

Examples:
  acp-conformance new case --requirement cancel.stop-reason --name quick
  acp-conformance new case --party client --area fs --name my-read --cases mine";
