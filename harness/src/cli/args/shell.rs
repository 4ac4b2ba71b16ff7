//! Arguments of commands for other tools: completions and schemas; colours.

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
    /// Reports in JSON.
    Report,
    /// The lines of `--format events`.
    Events,
    /// Traces.
    Trace,
    /// The output of `diff --format json`.
    Diff,
    /// The results of `registry`.
    Registry,
    /// The lock file of `registry`.
    RegistryLock,
}

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    /// The kind of file: case, profile, expected, report, events, trace, diff, registry or registry-lock
    #[arg(hide_possible_values = true)]
    pub kind: FileKind,
}
