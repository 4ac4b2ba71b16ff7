//! The reference programs and the mutants as subjects.

use std::path::{Path, PathBuf};

use acp_conformance::diagnostic::{RenderStyle, render_all};
use acp_conformance::edition::V1;
use acp_conformance::profile;
use acp_conformance::requirement::{Party, Transport};
use acp_conformance::run::Subject;

/// The program of the mutants, which is a reference program without a fault.
const MUTANT: &str = env!("CARGO_BIN_EXE_acp-mutant");

/// Returns the reference program of a party, with additional options such as a fault. It has all duties of the edition
/// of a case.
pub fn subject(party: Party, options: &[String]) -> Subject {
    subject_over(Transport::Stdio, party, options)
}

/// Returns the same for this transport.
pub fn subject_over(transport: Transport, party: Party, options: &[String]) -> Subject {
    let mut subject = on_stdio(party, options);
    let more: &[&str] = match (transport, party) {
        (Transport::Stdio, _) => return subject,
        (_, Party::Agent) => &["--listen", "127.0.0.1:{port}"],
        (_, Party::Client) => {
            // The environment and the command of an agent come last.
            let last = subject.command.iter().position(|word| word == "--env").expect("the environment of the agent");
            subject.command.truncate(last);
            &["--url", "{url}"]
        }
    };
    subject.command.extend(more.iter().map(|word| (*word).to_owned()));
    subject.reach.transport = transport;
    subject
}

fn on_stdio(party: Party, options: &[String]) -> Subject {
    let here = std::env::current_dir().expect("a current directory");
    let program = [MUTANT.to_owned(), party.to_string()];
    match party {
        Party::Agent => Subject { exact_edition: true, ..Subject::agent([&program, options].concat(), here) },
        Party::Client => {
            let file = root().join("profiles/acp-reference-client.toml");
            let (profile, problems) =
                profile::load_file(&file, V1.catalogue()).expect("the profile of the reference client");
            let profile = profile.unwrap_or_else(|| panic!("{}", render_all(&problems, RenderStyle::Plain)));
            let mut subject = Subject { exact_edition: true, ..Subject::of_profile(profile, here) };
            subject.command.splice(..1, program.into_iter().chain(options.iter().cloned()));
            subject
        }
    }
}

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root of the workspace")
}
