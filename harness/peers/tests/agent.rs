//! Every case of an agent as a test: for the reference agent, or for the one in the environment, as in
//! `ACP_AGENT='my-agent --acp' cargo test --test it v1/agent/`.
//!
//! The reference agent is deterministic, so a case that it does not decide fails here.

use acp_conformance::cargo_test::Agent;
use libtest_mimic::Trial;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let reference = || Agent::command([env!("CARGO_BIN_EXE_acp-reference-agent")]).deny_inconclusive();
    Agent::from_env().unwrap_or_else(reference).trials()
}
