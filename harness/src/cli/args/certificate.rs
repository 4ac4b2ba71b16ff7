//! Arguments of `certify` and `verify`.

use std::path::PathBuf;

use clap::Subcommand;

use super::{DetailArgs, UserArgs, hide_options_of_agents};
use crate::options::{LimitOptions, StartOptions};

/// Arguments of `certify`.
#[derive(Debug, clap::Args)]
#[command(after_help = CERTIFY_HELP)]
pub struct CertifyArgs {
    /// The party to certify.
    #[command(subcommand)]
    pub party: CertifyParty,
}

/// The party to certify.
#[derive(Debug, Subcommand)]
pub enum CertifyParty {
    /// Certify an agent
    #[command(after_help = CERTIFY_HELP)]
    Agent(Box<CertifyAgentArgs>),
    /// Certify a client; `acp-conformance client --help` describes its command line
    #[command(after_help = CERTIFY_HELP)]
    Client(Box<CertifyClientArgs>),
}

/// Arguments of `certify agent`.
#[derive(Debug, clap::Args)]
pub struct CertifyAgentArgs {
    /// How to start the program.
    #[command(flatten)]
    pub start: StartOptions,
    /// How long and how much at once.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// The output.
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// Arguments of `certify client`.
#[derive(Debug, clap::Args)]
#[command(mut_args = hide_options_of_agents)]
pub struct CertifyClientArgs {
    /// How to start the program.
    #[command(flatten)]
    pub start: StartOptions,
    /// How long and how much at once.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// How the harness operates the client.
    #[command(flatten)]
    pub user: UserArgs,
    /// The output.
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// The output of `certify`.
#[derive(Debug, clap::Args)]
pub struct KeepArgs {
    /// The folder for the certificate: a new or an empty one
    #[arg(long, short, value_name = "DIR")]
    pub output: PathBuf,
    /// Replace an earlier certificate of the same subject
    #[arg(long)]
    pub replace: bool,
    /// The detail of the text output.
    #[command(flatten)]
    pub detail: DetailArgs,
    /// Exit with 0 if no MUST failed, even if some were not exercised; but not if the run could not exercise anything
    #[arg(long)]
    pub allow_incomplete: bool,
}

const CERTIFY_HELP: &str =
    "Runs all cases; none can be selected, skipped or excused. The folder gets report.json, the trace of each case \
in traces/ and SHA256SUMS; anyone with the folder can verify it. `certify` writes it for every verdict \
and returns the exit code of a run. An interrupted run, or a failure of the harness, writes no certificate.
The certificate contains the command line as typed, and the traces contain all messages.
docs/certificates.md describes what a certificate proves and how to sign it.

Examples:
  acp-conformance certify agent --output certificate -- my-agent --acp
  acp-conformance certify client --profile acpx --replace --output certificate
  acp-conformance verify certificate";

/// Arguments of `verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = VERIFY_HELP)]
pub struct VerifyArgs {
    /// The folder of the certificate
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

const VERIFY_HELP: &str =
    "Compares every file with its digest in SHA256SUMS, and the verdicts of report.json with those of the traces, judged again. \
Needs no subject and reads no file outside the folder.
A matching certificate does not prove who made it; docs/certificates.md describes how to sign one.

Exit codes:
  0  the certificate matches, with any verdict
  1  a file does not match
  2  the folder has no certificate
  3  undecided: the files are intact, but another version of the suite made them";
