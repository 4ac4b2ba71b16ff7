//! The reference programs as subjects.

use std::path::{Path, PathBuf};

use acp_conformance::diagnostic::{Look, render_all};
use acp_conformance::edition::V1;
use acp_conformance::profile;
use acp_conformance::requirement::Party;
use acp_conformance::run::Subject;

/// The path of the reference agent.
pub const AGENT: &str = env!("CARGO_BIN_EXE_acp-reference-agent");

/// The path of the reference client.
pub const CLIENT: &str = env!("CARGO_BIN_EXE_acp-reference-client");

/// Returns the reference program of a party, with additional options.
pub fn subject(party: Party, options: &[String]) -> Subject {
    let here = std::env::current_dir().expect("a current directory");
    match party {
        Party::Agent => Subject::agent([&[AGENT.to_owned()], options].concat(), here),
        Party::Client => {
            let file = root().join("profiles/acp-reference-client.toml");
            let (profile, problems) =
                profile::load_file(&file, V1.catalogue()).expect("the profile of the reference client");
            let profile = profile.unwrap_or_else(|| panic!("{}", render_all(&problems, Look::Plain)));
            let mut subject = Subject::of_profile(profile, here);
            CLIENT.clone_into(&mut subject.command[0]);
            // After `--` comes the command line of the agent.
            let end = subject.command.iter().position(|word| word == "--").expect("the agent follows `--`");
            subject.command.splice(end..end, options.iter().cloned());
            subject
        }
    }
}

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root of the workspace")
}
