//! The reference client: a conforming ACP client without a user interface, which does what its options and acts say.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    acp_conformance_peers::faulty::client::Arguments::parse().run()
}
