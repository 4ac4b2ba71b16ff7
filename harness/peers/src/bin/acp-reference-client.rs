//! The reference client: a conforming ACP client without a user interface, which does what its options and acts say.

use std::process::ExitCode;

use acp_conformance_peers::client::{self, DialRules, Options};
use clap::Parser;

fn main() -> ExitCode {
    let options = Options::parse();
    let launcher = client::launcher(&options, DialRules::default());
    client::run(options, launcher)
}
