//! The reference programs as subjects, and runs of suites with them.

#![allow(dead_code, reason = "each test target uses another part of it")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::{self, Permissions};
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_conformance::case::{Case, embedded_for, load_text};
use acp_conformance::diagnostic::{RenderStyle, render_all};
use acp_conformance::edition::{Bundle, V1};
use acp_conformance::options::{LimitOptions, RunOptions};
use acp_conformance::profile;
use acp_conformance::requirement::{Party, Transport};
use acp_conformance::results::{Collector, RunReport};
use acp_conformance::run::Subject;
use acp_conformance::suite::{Suite, SuiteListener};
use acp_conformance::trace::Trace;
use acp_conformance::verdict::Verdict;
use tempfile::TempDir;

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
            let profile = profile.unwrap_or_else(|| panic!("{}", render_all(&problems, RenderStyle::Plain)));
            let mut subject = Subject::of_profile(profile, here);
            CLIENT.clone_into(&mut subject.command[0]);
            // After `--` comes the command line of the agent.
            let end = subject.command.iter().position(|word| word == "--").expect("the agent follows `--`");
            subject.command.splice(end..end, options.iter().cloned());
            subject
        }
    }
}

/// A mutant of a reference program, as an executable with the same name. It starts this test program, which has to call
/// [`acp_conformance_mutants::program::run_if_asked`].
pub struct Mutant {
    folder: TempDir,
    party: Party,
}

impl Mutant {
    /// Makes the mutant with these options, such as `--fault ID`.
    pub fn new(party: Party, options: &[&str]) -> Self {
        let mutant = Self { folder: tempfile::tempdir().expect("a folder"), party };
        mutant.turn_into(options);
        mutant
    }

    /// Makes the mutant of a fault with this text.
    pub fn of(party: Party, fault: &str) -> Self {
        let mutant = Self::new(party, &[]);
        let file = mutant.folder().join(format!("{party}/own/fault.yaml"));
        fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        fs::write(&file, fault).expect("a file");
        mutant.turn_into(&["--fault", &file.display().to_string()]);
        mutant
    }

    /// Gives it other options.
    pub fn turn_into(&self, options: &[&str]) {
        let this = std::env::current_exe().expect("this program");
        let (this, party, options) = (this.display(), self.party, options.join("' '"));
        let options = if options.is_empty() { options } else { format!(" '{options}'") };
        let script = format!("#!/bin/sh\nexec '{this}' acp-mutant {party}{options} \"$@\"\n");
        fs::write(self.path(), script).expect("a script");
        fs::set_permissions(self.path(), Permissions::from_mode(0o755)).expect("it becomes executable");
    }

    /// Returns the path of the program.
    pub fn path(&self) -> String {
        self.folder().join(format!("acp-reference-{}", self.party)).display().to_string()
    }

    /// Returns the folder of the program, for `PATH`.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns it as a subject.
    pub fn subject(&self) -> Subject {
        let mut subject = subject(self.party, &[]);
        subject.command[0] = self.path();
        subject
    }
}

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root of the workspace")
}

/// Returns the embedded cases for a party.
pub fn cases_of(party: Party, bundle: &'static Bundle) -> Vec<Case> {
    embedded_for(party, Transport::Stdio, bundle)
}

/// Builds the case with this text, which would be in the file `path`.
pub fn written(path: &str, text: &str) -> Case {
    let (mut cases, problems) = load_text(path, text, &V1);
    cases.pop().unwrap_or_else(|| panic!("{}", render_all(&problems, RenderStyle::Plain)))
}

/// The result of a run.
pub struct Run {
    pub report: RunReport,
    pub traces: Vec<Trace>,
}

impl Run {
    /// Returns the verdict on each requirement and case.
    pub fn verdicts(&self) -> BTreeMap<String, Verdict> {
        let requirements = self.report.requirements.iter().map(|found| (found.id.clone(), found.verdict));
        requirements.chain(self.report.cases.iter().map(|case| (case.id.clone(), case.verdict))).collect()
    }
}

/// Runs the cases, in one conversation if possible.
pub fn run(cases: &[Case], subject: &Subject) -> Run {
    run_with(cases, subject, 1, false)
}

/// Runs the cases in this number of conversations at once, or each case alone.
pub fn run_with(cases: &[Case], subject: &Subject, jobs: usize, isolate: bool) -> Run {
    let edition = cases.first().map_or(V1.edition(), |case| case.edition);
    let mut collector = Collector::new(edition, subject.party, subject.command.clone());
    let mut traces = Traces(Vec::new());
    let limits = LimitOptions { jobs: NonZeroUsize::new(jobs), ..LimitOptions::default() };
    let options = RunOptions { limits, isolate, ..RunOptions::default() };
    let Ok(()) = Suite::new(&mut collector, &mut traces).run(cases, subject, &options);
    Run { report: collector.finish(Duration::ZERO, false), traces: traces.0 }
}

/// The traces of a suite.
struct Traces(Vec<Trace>);

impl SuiteListener for Traces {
    type Error = Infallible;

    fn keep(&mut self, trace: &Trace) -> Result<Option<String>, Infallible> {
        self.0.push(trace.clone());
        Ok(trace.header.conversation.map(|_| trace.file_name()))
    }
}
