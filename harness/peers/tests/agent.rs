//! Every case of an agent as a test: for the reference agent, or for the one in the environment, as in
//! `ACP_AGENT='my-agent --acp' cargo test --test agent`.
//!
//! The reference agent is deterministic, so a case that it does not decide fails here.

use std::process::ExitCode;

use acp_conformance::cargo_test::Agent;

fn main() -> ExitCode {
    let reference = || Agent::command([env!("CARGO_BIN_EXE_acp-reference-agent")]).deny_inconclusive();
    Agent::from_env().unwrap_or_else(reference).run()
}
