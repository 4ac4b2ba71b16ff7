//! Failures that a fresh process has shown, which a process that serves several cases need not show again.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::{Finding, JudgingSession};
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::trace::{ProcessEvent, Trace, What};
use crate::verdict::Verdict;

/// The failures of processes that served one case only, by requirement and sentence.
#[derive(Debug, Default)]
pub struct KnownFailures {
    known: Mutex<BTreeSet<(String, String)>>,
}

impl KnownFailures {
    /// Takes in the failures in the trace of a case; one on a used process has none that are new.
    pub fn learn<'f>(&self, trace: &Trace, failures: impl Iterator<Item = (&'f str, String)>) {
        let is_used = |what: &What| matches!(what, What::Process(ProcessEvent::Reused(_)));
        if !trace.events.iter().any(|event| is_used(&event.what)) {
            let failures = failures.map(|(requirement, message)| (requirement.to_owned(), message));
            self.known.lock().unwrap_or_else(PoisonError::into_inner).extend(failures);
        }
    }

    /// The verdict on the trace of a case, apart from accusations that are known, and from those that rest on the very first
    /// answer of the subject: that one shows the same wherever a case goes on from it. Any other accusation is a failure,
    /// also of a broken SHOULD.
    #[must_use]
    pub fn verdict(&self, trace: &Trace, edition: &'static Edition) -> Verdict {
        let party = trace.header.subject.unwrap_or(Party::Agent);
        let mut session = JudgingSession::new(&trace.header, edition);
        trace.events.iter().for_each(|event| session.event(event));
        let mut judged = session.close();
        let answer = trace.events.iter().position(|e| matches!(&e.what, What::Line { from, .. } if *from == party));
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for (requirement, tally) in &mut judged.judgement.tallies {
            let is_old = |finding: &Finding| {
                finding.events.first().copied() <= answer || known.contains(&(requirement.clone(), finding.text()))
            };
            tally.findings.retain(|finding| finding.verdict != Verdict::Fail || !is_old(finding));
            if tally.verdict() == Verdict::Fail {
                return Verdict::Fail;
            }
        }
        judged.verdict(party, &edition.catalogue).verdict
    }
}
