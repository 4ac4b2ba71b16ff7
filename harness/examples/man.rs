//! Writes the manual pages of the program and of each command into a folder, for packages.

use std::io;
use std::path::PathBuf;

use acp_conformance::cli::Args;
use clap::CommandFactory;

fn main() -> io::Result<()> {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::other("usage: cargo run --example man -- DIR"));
    };
    std::fs::create_dir_all(&folder)?;
    clap_mangen::generate_to(Args::command(), folder)
}
