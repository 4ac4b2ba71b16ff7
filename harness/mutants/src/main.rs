//! `acp-mutant`: a reference program with a deliberate fault.

use std::process::ExitCode;

fn main() -> ExitCode {
    acp_conformance_mutants::program::main(std::env::args())
}
