//! Reference programs that never answer an unknown request: the whole suite reports that, and no other failure.

use std::time::Instant;

use acp_conformance::case::{Case, embedded_for};
use acp_conformance::edition::V1;
use acp_conformance::requirement::{Party, Transport};
use acp_conformance::results::{Collector, RunReport};
use acp_conformance::run::{Jobs, Next, Progress, RunMode, Subject, run_all};
use acp_conformance::trace::FENCE;
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Failed, Trial};
use reference::Mutant;

use crate::{ensure, reference};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("silent/an-agent-fails-only-the-requirements-on-unknown-requests", || {
            fails_only_its_own(Party::Agent)
        }),
        Trial::test("silent/a-client-fails-only-the-requirements-on-unknown-requests", || {
            fails_only_its_own(Party::Client)
        }),
    ]
}

/// The answers to unknown methods do not come.
const SILENT: &str =
    "title: t\nkills: t\ncase: t\nmatch: { any: true, where: { /error/code: -32601 } }\ndo: { drop: true }\n";

/// The requirements that a missing answer to an unknown request violates.
const OWN: [&str; 2] = ["ext.custom-request-answered.", "jsonrpc.response-always."];

/// The areas of the cases that are about unknown requests, or send some for another purpose.
const UNDECIDED: [&str; 3] = ["/jsonrpc/", "/transport/", "/ext/"];

fn fails_only_its_own(party: Party) -> Result<(), Failed> {
    let cases = embedded_for(party, Transport::Stdio, &V1);
    let usual = run(&cases, &reference::subject(party, &[]));
    let mutant = Mutant::of(party, SILENT);
    let silent = run(&cases, &mutant.subject());
    let failed = silent.requirements.iter().filter(|requirement| requirement.verdict == Verdict::Fail);
    let failed: Vec<&str> = failed.map(|requirement| requirement.id.as_str()).collect();
    let is_own = |id: &str| OWN.iter().any(|own| id.starts_with(own));
    ensure(failed.len() == OWN.len() && failed.iter().all(|id| is_own(id)), || format!("these fail: {failed:?}"))?;
    let pairs = usual.cases.iter().zip(&silent.cases).filter(|(usual, _)| usual.verdict == Verdict::Pass);
    let lost = pairs.filter(|(_, silent)| !matches!(silent.verdict, Verdict::Pass | Verdict::Fail));
    let lost: Vec<&str> = lost.map(|(_, silent)| silent.id.as_str()).collect();
    let elsewhere: Vec<_> = lost.iter().filter(|id| !UNDECIDED.iter().any(|area| id.contains(area))).collect();
    // Few cases have no other way to prove absence.
    ensure(elsewhere.len() <= MOST_LOST, || format!("these are decided no more: {elsewhere:?}"))?;
    let fences = &silent.summary.fences;
    ensure(!fences.contains_key(FENCE) && fences.len() > 1, || format!("these served as fences: {fences:?}"))?;
    let fences = &usual.summary.fences;
    ensure(fences.keys().all(|means| means == FENCE), || format!("these served as fences: {fences:?}"))
}

/// The most undecided cases outside these areas.
const MOST_LOST: usize = 8;

fn run(cases: &[Case], subject: &Subject) -> RunReport {
    let (mut collector, started) =
        (Collector::new(V1.edition(), subject.party, subject.command.clone()), Instant::now());
    run_all(
        cases,
        subject,
        Jobs::exactly(12),
        |_| RunMode::Alone,
        |event| {
            if let Progress::Ended { trace, .. } = event {
                collector.add(&trace, None);
            }
            Next::Continue
        },
    );
    collector.finish(started.elapsed(), false)
}
