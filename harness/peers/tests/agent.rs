//! Every case of an agent as a test: of the reference agent, or of the one that the environment names, as in
//! `ACP_AGENT='my-agent --acp' cargo test --test agent`.
//!
//! The reference agent leaves nothing to chance, so a case that it does not decide fails here.

use std::process::ExitCode;

use acp_conformance::cargo_test::Agent;

fn main() -> ExitCode {
    let reference = || Agent::command([env!("CARGO_BIN_EXE_acp-reference-agent")]).deny_inconclusive();
    Agent::from_env().unwrap_or_else(reference).run()
}
