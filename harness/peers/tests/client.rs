//! Every case of a client as a test: for the reference client, or for the one in the environment, as in
//! `ACP_CLIENT='my-client --agent {agent} --dir {cwd} {prompt}' cargo test --test it v1/client/`.
//!
//! The reference client is deterministic, so a case that it does not decide fails here.

use acp_conformance::cargo_test::Client;
use libtest_mimic::Trial;

const PROFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/acp-reference-client.toml");

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let program = env!("CARGO_BIN_EXE_acp-reference-client");
    let reference = || Client::profile(PROFILE).program(program).deny_inconclusive();
    Client::from_env().unwrap_or_else(reference).trials()
}
