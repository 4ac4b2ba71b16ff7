//! The reference client: a conforming ACP v1 client without a user interface, which follows its options and acts.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    acp_conformance_peers::faulty::client::Arguments::parse().run()
}
