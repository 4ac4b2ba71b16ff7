//! The reference programs' messages in every case of an edition, recorded once each.

use std::collections::BTreeSet;
use std::env;
use std::sync::{Mutex, OnceLock};

use acp_conformance::case::{self, Case};
use acp_conformance::diagnostic::{RenderStyle, render_all};
use acp_conformance::edition::Bundle;
use acp_conformance::judge::judge;
use acp_conformance::protocol::Edition;
use acp_conformance::requirement::{Party, Transport};
use acp_conformance::run::{Subject, run_case};
use acp_conformance::trace::Trace;
use acp_conformance::verdict::Verdict;

use crate::reference;

/// The variable that restricts all tests to the cases whose id contains its value.
pub const CASE_VARIABLE: &str = "ACP_CASE";

/// A run of a case with the correct reference program.
pub struct Recording {
    /// The trace.
    pub trace: Trace,
    /// The requirements that it satisfies.
    pub passes: BTreeSet<String>,
    /// The requirements that still fail; none for a correct program.
    pub failures: BTreeSet<String>,
}

/// All cases of an edition, and the recordings that were needed so far.
pub struct Survey {
    /// The edition and its files.
    pub bundle: &'static Bundle,
    cases: Vec<(Case, OnceLock<Recording>)>,
    subjects: [Subject; 2],
    wanted: Option<String>,
    /// The variants that exercised each requirement, by party.
    pub counts: Mutex<crate::table::Counts>,
}

impl Survey {
    /// Reads all cases of the edition.
    pub fn new(bundle: &'static Bundle) -> Self {
        let (cases, problems) = case::load_dir(&reference::root().join("cases"), bundle);
        assert!(problems.is_empty(), "{}", render_all(&problems, RenderStyle::Plain));
        let is_usual = |case: &Case| case.fits(Transport::Stdio, bundle.catalogue());
        Self {
            bundle,
            cases: cases.into_iter().filter(is_usual).map(|case| (case, OnceLock::new())).collect(),
            subjects: [Party::Agent, Party::Client].map(|party| reference::subject(party, &[])),
            wanted: env::var(CASE_VARIABLE).ok(),
            counts: Mutex::default(),
        }
    }

    /// Returns the edition.
    pub fn edition(&self) -> &'static Edition {
        self.bundle.edition()
    }

    /// Returns the wanted cases of a party, by their place.
    pub fn cases(&self, party: Party) -> Vec<usize> {
        let wanted = |id: &str| self.wanted.as_ref().is_none_or(|part| id.contains(part));
        let chosen = |(_, (case, _)): &(usize, &(Case, _))| case.subject == party && wanted(&case.id);
        self.cases.iter().enumerate().filter(chosen).map(|(at, _)| at).collect()
    }

    /// Returns a case.
    pub fn case(&self, at: usize) -> &Case {
        &self.cases[at].0
    }

    /// Returns the recording of a case, which is made at the first call.
    pub fn recording(&self, at: usize) -> &Recording {
        let (case, recording) = &self.cases[at];
        recording.get_or_init(|| {
            let trace = run_case(case, &self.subjects[usize::from(case.subject == Party::Client)]);
            let judgement = judge(&trace, self.edition());
            let of = |wanted: Verdict| {
                let tallies = judgement.tallies.iter().filter(|(_, tally)| tally.verdict() == wanted);
                tallies.map(|(id, _)| id.clone()).collect()
            };
            Recording { passes: of(Verdict::Pass), failures: of(Verdict::Fail), trace }
        })
    }

    /// Returns a recording of the same party for another case, whether that case is wanted or not.
    pub fn partner(&self, at: usize, skip: usize) -> &Recording {
        let party = self.cases[at].0.subject;
        let own: Vec<usize> = (0..self.cases.len()).filter(|&at| self.cases[at].0.subject == party).collect();
        let place = own.iter().position(|&own| own == at).unwrap_or_default();
        self.recording(own[(place + 1 + skip % (own.len() - 1)) % own.len()])
    }
}
