//! The reference agent: a conforming ACP agent on stdio that obeys intents instead of a model.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    acp_conformance_peers::faulty::agent::Arguments::parse().run()
}
