//! The reference client: a conforming ACP client without a user interface, which does what its options and acts say.

use std::{process::ExitCode, sync::Arc};

use acp_conformance_peers::client::{self, AgentProgram, Options};
use clap::Parser;

fn main() -> ExitCode {
    let options = Options::parse();
    let program = AgentProgram::new(&options);
    client::run(options, Arc::new(program))
}
