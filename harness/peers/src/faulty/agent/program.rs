//! The command line of `acp-reference-agent`, and the agent with the faults that it names.

use std::process::ExitCode;

use super::faults::FAULTS;
use crate::{
    agent::{self, Options},
    faulty::{
        fault::{self, Fault},
        relay,
    },
};

/// The command line of `acp-reference-agent`.
#[derive(Debug, clap::Parser)]
#[command(name = "acp-reference-agent", version)]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Commit a deliberate protocol violation; may be given several times
    #[arg(long = "fault", value_name = "NAME", hide_possible_values = true, value_parser = fault::parser(FAULTS))]
    faults: Vec<&'static Fault>,
    /// Print the names of the faults, each with one line, and exit
    #[arg(long)]
    list_faults: bool,
}

impl Arguments {
    /// Runs the agent; without faults it uses its standard streams directly.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let Self { options, faults, list_faults } = self;
        if list_faults {
            fault::print(FAULTS);
            return ExitCode::SUCCESS;
        }
        if faults.is_empty() {
            return agent::run(&options);
        }
        agent::block_on(async move {
            let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
            relay::run(&faults, input, output, |transport| agent::serve(&options, transport)).await
        })
    }
}
