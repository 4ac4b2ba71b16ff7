//! Arguments of commands for other tools: completions, manual pages and schemas; colours.

use std::path::PathBuf;

use clap::ValueEnum;
use clap_complete::Shell;

/// When output has colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// In a terminal, unless `NO_COLOR` is set; elsewhere only if `CLICOLOR_FORCE` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

const COMPLETIONS_HELP: &str = "Examples:
  acp-conformance completions bash > ~/.local/share/bash-completion/completions/acp-conformance
  acp-conformance completions zsh > ~/.zfunc/_acp-conformance
  acp-conformance completions fish > ~/.config/fish/completions/acp-conformance.fish";

/// A kind of file with a JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FileKind {
    /// Cases.
    Case,
    /// Profiles and acp-conformance.toml.
    Profile,
    /// Lists of expected failures.
    Expected,
    /// Faults.
    Fault,
    /// Reports in JSON.
    Report,
    /// The lines of `--format events`.
    Events,
    /// Traces.
    Trace,
    /// Certificates.
    Certificate,
    /// The output of `diff --format json`.
    Diff,
}

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    /// The kind of file: case, profile, expected, fault, report, events, trace, certificate or diff
    #[arg(hide_possible_values = true)]
    pub kind: FileKind,
}

/// Arguments of `schema-diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = SCHEMA_DIFF_HELP)]
pub struct SchemaDiffArgs {
    /// The newer schema, a `schema.json` of the protocol
    pub new: PathBuf,
    /// The older schema [default: that of this program, for the version that --protocol names]
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
}

const SCHEMA_DIFF_HELP: &str =
    "Each definition that differs is shown with the changed members and sentences, and with the \
requirements whose source it is.

Example:
  acp-conformance schema-diff --protocol v2 schema.json";

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = MAN_HELP)]
pub struct ManArgs {
    /// Write the pages of the program and of every command into this folder
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

const MAN_HELP: &str = "Examples:
  acp-conformance man | man -l -
  acp-conformance man -o ~/.local/share/man/man1";
