//! What the user typed for `certify` and `verify`.

use std::path::PathBuf;

use clap::Subcommand;

use super::{DetailArgs, StartArgs, UserArgs};

/// Arguments of `certify`.
#[derive(Debug, clap::Args)]
#[command(after_help = CERTIFY_HELP)]
pub struct CertifyArgs {
    /// Whom to certify.
    #[command(subcommand)]
    pub party: CertifyParty,
}

/// Whom a certificate is about.
#[derive(Debug, Subcommand)]
pub enum CertifyParty {
    /// Drive an agent through all of its cases
    #[command(after_help = CERTIFY_HELP)]
    Agent(Box<CertifyAgentArgs>),
    /// Drive a client through all of its cases; `acp-conformance client --help` says how its command line is written
    #[command(after_help = CERTIFY_HELP)]
    Client(Box<CertifyClientArgs>),
}

/// Arguments of `certify agent`.
#[derive(Debug, clap::Args)]
pub struct CertifyAgentArgs {
    /// What starts it.
    #[command(flatten)]
    pub start: StartArgs,
    /// What is kept.
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// Arguments of `certify client`.
#[derive(Debug, clap::Args)]
pub struct CertifyClientArgs {
    /// What starts it.
    #[command(flatten)]
    pub start: StartArgs,
    /// What its user does.
    #[command(flatten)]
    pub user: UserArgs,
    /// What is kept.
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// What is kept of a run, and where.
#[derive(Debug, clap::Args)]
pub struct KeepArgs {
    /// The folder for the certificate; it is made, or is empty
    #[arg(long, short, value_name = "DIR")]
    pub output: PathBuf,
    /// Take the place of an earlier certificate of the same subject
    #[arg(long)]
    pub replace: bool,
    /// Keep redacted traces, as `acp-conformance redact` makes them
    #[arg(long)]
    pub redact: bool,
    /// How much the text says.
    #[command(flatten)]
    pub detail: DetailArgs,
    /// Exit with 0 when nothing was broken, also when some MUSTs were not exercised; but not when nothing at all could be
    /// learned of the subject
    #[arg(long)]
    pub allow_incomplete: bool,
}

const CERTIFY_HELP: &str =
    "All cases are run: nothing can be selected, left out or excused. The folder gets certificate.json, report.json, \
report.html, badge.svg and the trace of each case in traces/; whoever has it can verify it. It is written whatever the \
verdict is, and the exit code is that of a run. A run that was interrupted, or in which the harness itself failed, writes \
none.
Command lines stand in it as they were typed, and traces hold all that was said: see --redact.
docs/certificates.md says what a certificate proves, and how to sign it.

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
    "Every byte of every file is compared: with the digests in certificate.json, and with what the traces say when they are \
judged again. The subject is not needed, and nothing outside of the folder is read.
That all of it matches does not say who made it; docs/certificates.md says how to sign one.

Exit codes:
  0  it matches, whatever its verdict is
  1  something does not match
  2  there is no certificate
  3  it cannot be told: the files are whole, and another suite than this one made them";
