//! The reference agent: a conforming ACP agent that obeys intents instead of a model.

use std::process::ExitCode;

use acp_conformance_peers::agent::{self, Options};
use clap::Parser;

/// The command line of `acp-reference-agent`.
#[derive(Debug, Parser)]
#[command(name = "acp-reference-agent", version)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    agent::run(&Arguments::parse().options)
}
