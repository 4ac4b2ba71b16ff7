//! The reference agent: a conforming ACP v1 agent on stdio that obeys intents instead of a model.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    acp_conformance_peers::agent::run(acp_conformance_peers::agent::Options::parse())
}
