//! The mutants as programs: `acp-mutant agent --fault cancel-sticky`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use acp_conformance::requirement::Party;
use acp_conformance_peers::{agent, client};
use clap::{Args, Parser, Subcommand};

use crate::client::FaultyLauncher;
use crate::fault::Fault;
use crate::layered::{Faults, Layered};
use crate::{agent as agent_layers, client as client_layers, kill_table, relay};

/// The reference programs with deliberate faults
#[derive(Debug, Parser)]
#[command(name = "acp-mutant")]
pub struct Command {
    #[command(subcommand)]
    program: Program,
}

#[derive(Debug, Subcommand)]
enum Program {
    /// The reference agent, with a fault: acp-conformance agent -- acp-mutant agent --fault cancel-sticky
    #[command(after_help = "Without a fault it is the reference agent. Its options follow.")]
    Agent {
        #[command(flatten)]
        options: agent::Options,
        #[command(flatten)]
        faults: FaultArgs,
    },
    /// The reference client, with a fault
    Client {
        #[command(flatten)]
        options: Box<client::Options>,
        #[command(flatten)]
        faults: FaultArgs,
    },
    /// List the faults: their ids, the requirements that they violate, and the cases that show them
    List {
        /// Only faults with this text in their id or requirement
        filter: Option<String>,
        /// As a Markdown table, with what each fault breaks besides and the checked requirements without a fault
        #[arg(long)]
        table: bool,
    },
}

/// The faults of a mutant. The options in the file of a fault belong to the command line, see [`Command::read`].
#[derive(Debug, Args)]
struct FaultArgs {
    /// A fault: the id or the path of its file
    #[arg(long = "fault", value_name = "ID")]
    faults: Vec<String>,
    /// A fault in Rust, by its name
    #[arg(long = "layer", value_name = "NAME")]
    layers: Vec<String>,
    /// Append the number of each edit of the fault that changes a message to this file
    #[arg(long, value_name = "FILE")]
    effects: Option<PathBuf>,
}

impl FaultArgs {
    fn read(self, party: Party, known: &'static [Layered]) -> Result<Faults, String> {
        let layer = |name: String| {
            known.iter().find(|layer| layer.name == name).ok_or_else(|| format!("no layer has the name `{name}`"))
        };
        let layers = self.layers.into_iter().map(layer).collect::<Result<_, _>>()?;
        let faults = self.faults.iter().map(|name| Fault::find(name, party)).collect::<Result<Vec<_>, _>>()?;
        let edits = faults.into_iter().flat_map(|fault| fault.file.edits).collect();
        Ok(Faults { layers, edits, effects: self.effects })
    }
}

impl Command {
    /// Reads the command line. The options in the file of a fault stand after its name.
    ///
    /// # Errors
    ///
    /// There is no such fault.
    pub fn read(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let (mut all, mut words) = (Vec::new(), words.into_iter());
        while let Some(word) = words.next() {
            let (is_fault, is_last) = (word == "--fault", word == "--");
            all.push(word);
            if is_last {
                break;
            }
            let party = Party::ALL.into_iter().find(|party| all.get(1).is_some_and(|word| word == party.name()));
            if let (Some(party), true) = (party, is_fault)
                && let Some(name) = words.next()
            {
                let fault = Fault::find(&name, party)?;
                all.push(name);
                all.extend_from_slice(fault.options());
            }
        }
        all.extend(words);
        Ok(Self::try_parse_from(all).unwrap_or_else(|error| error.exit()))
    }

    /// Runs the program.
    ///
    /// # Errors
    ///
    /// A fault or layer does not exist, or the faults cannot be read.
    pub fn run(self) -> Result<ExitCode, String> {
        match self.program {
            Program::Agent { options, faults } => {
                let faults = faults.read(Party::Agent, agent_layers::LAYERS)?;
                if faults.is_empty() {
                    return Ok(agent::run(&options));
                }
                let Some(address) = options.listen else {
                    return Ok(agent::block_on(async move {
                        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
                        relay::run(&faults, input, output, |transport| agent::serve(&options, transport)).await
                    }));
                };
                let rules = faults.listen_rules();
                let converse: agent::Converse = Arc::new(move |stream| {
                    let (options, faults) = (options.clone(), faults.clone());
                    Box::pin(async move {
                        let (input, output) = tokio::io::split(stream);
                        relay::run(&faults, input, output, |transport| agent::serve(&options, transport)).await
                    })
                });
                Ok(agent::block_on(agent::listen(address, rules, converse)))
            }
            Program::Client { options, faults } => {
                let faults = faults.read(Party::Client, client_layers::LAYERS)?;
                if faults.is_empty() {
                    let launcher = client::launcher(&options, client::DialRules::default());
                    return Ok(client::run(*options, launcher));
                }
                let launcher = FaultyLauncher::new(&options, faults);
                launcher.prepare().map_err(|error| format!("standard input cannot be replaced: {error}"))?;
                Ok(client::run(*options, Arc::new(launcher)))
            }
            Program::List { filter, table } => {
                kill_table::print(filter.as_deref(), table)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Runs a mutant if the first argument is `acp-mutant`, so that a test program can be one. Then the process has to exit
/// with this code.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut words = std::env::args().skip(1);
    (words.next()? == "acp-mutant").then(|| main(std::iter::once("acp-mutant".to_owned()).chain(words)))
}

/// Runs the program `acp-mutant` with these words, the first of which is its name.
#[expect(clippy::print_stderr, reason = "this is a program")]
pub fn main(words: impl IntoIterator<Item = String>) -> ExitCode {
    Command::read(words).and_then(Command::run).unwrap_or_else(|problem| {
        eprintln!("acp-mutant: {problem}");
        ExitCode::from(2)
    })
}
