//! The reference peers as subjects.

use std::path::{Path, PathBuf};

use acp_conformance::diagnostic::{Look, render_all};
use acp_conformance::edition::V1;
use acp_conformance::profile;
use acp_conformance::requirement::Party;
use acp_conformance::run::Subject;

/// Where the reference agent is.
pub const AGENT: &str = env!("CARGO_BIN_EXE_acp-reference-agent");

/// Where the reference client is.
pub const CLIENT: &str = env!("CARGO_BIN_EXE_acp-reference-client");

/// The reference peer of a party, with further options.
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
            // Behind `--` the command line is that of the agent.
            let end = subject.command.iter().position(|word| word == "--").expect("the agent stands behind `--`");
            subject.command.splice(end..end, options.iter().cloned());
            subject
        }
    }
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root of the workspace")
}
