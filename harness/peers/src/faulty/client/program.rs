//! The command line of `acp-reference-client`, and the client with the faults that it names.

use std::{process::ExitCode, sync::Arc};

use super::{faults::FAULTS, launch::FaultyLauncher};
use crate::{
    client::{self, AgentProgram, Options},
    faulty::fault::{self, Fault},
};

/// The command line of `acp-reference-client`.
#[derive(Debug, clap::Parser)]
#[command(name = "acp-reference-client", version)]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Commit a deliberate protocol violation; may be given several times
    #[arg(long = "fault", value_name = "NAME", hide_possible_values = true, value_parser = fault::parser(FAULTS))]
    faults: Vec<&'static Fault>,
    /// Print the names of the faults, each with one line, and exit
    #[arg(long, exclusive = true)]
    list_faults: bool,
}

impl Arguments {
    /// Runs the client; without faults it starts the agent by itself.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let Self { options, faults, list_faults } = self;
        if list_faults {
            fault::print(FAULTS);
            return ExitCode::SUCCESS;
        }
        let program = AgentProgram::new(&options);
        if faults.is_empty() {
            return client::run(options, Arc::new(program));
        }
        let launcher = FaultyLauncher::new(program, faults);
        launcher.prepare().expect("standard input can be replaced");
        client::run(options, Arc::new(launcher))
    }
}
