//! All conversations of a party as the cases of one run: the reports of its shards, joined, are the report of the
//! whole.

use std::fs;
use std::iter::once;
use std::path::PathBuf;
use std::time::Duration;

use acp_conformance::edition::Bundle;
use acp_conformance::report::mismatch;
use acp_conformance::requirement::Party;
use acp_conformance::results::{Collector, RunReport, join};
use acp_conformance::trace::{Header, Trace};
use libtest_mimic::Failed;

use crate::traces::parts;

/// Splits the run into two and into three shards.
pub fn check(paths: &[PathBuf], party: Party, edition: &'static Bundle) -> Result<(), Failed> {
    let mut traces = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path)?;
        let (_, mut trace) = parts(&text)?;
        let Header { subject, transport, .. } = &trace.header;
        if *subject == Some(party) && transport.is_stdio() && trace.header.edition == edition.name() {
            trace.header.case = Some(path.display().to_string());
            // What a second process has to show is repeated by the run of its shard, before it has a report.
            let alone = report(party, edition, &mut once(&trace));
            if !alone.requirements.iter().flat_map(|found| &found.findings).any(|finding| finding.unconfirmed) {
                traces.push(trace);
            }
        }
    }
    let whole = report(party, edition, &mut traces.iter());
    for of in [2, 3] {
        let mut shards: Vec<RunReport> =
            (0..of).map(|shard| report(party, edition, &mut traces.iter().skip(shard).step_by(of))).collect();
        // Each conversation has a separate subject.
        shards.iter_mut().for_each(|shard| shard.subject = whole.subject.clone());
        if let Some(why) = shards[1..].iter().find_map(|shard| mismatch(&shards[0], shard)) {
            return Err(why.into());
        }
        // The order in which reports are named does not matter.
        shards.rotate_left(1);
        let joined = shards.into_iter().reduce(join).ok_or("no shard")?;
        if joined != whole {
            return Err(format!("{of} shards: {}", difference(&joined, &whole)).into());
        }
    }
    Ok(())
}

fn report(party: Party, edition: &'static Bundle, traces: &mut dyn Iterator<Item = &Trace>) -> RunReport {
    let mut collector = Collector::new(edition.edition(), party, Vec::new());
    traces.for_each(|trace| drop(collector.add(trace, None)));
    collector.finish(Duration::ZERO, false)
}

/// Returns the first requirement that differs, or another difference.
fn difference(joined: &RunReport, whole: &RunReport) -> String {
    let pairs = joined.requirements.iter().zip(&whole.requirements);
    match pairs.into_iter().find(|(joined, whole)| joined != whole) {
        Some((joined, whole)) => format!("{joined:#?} instead of {whole:#?}"),
        None if joined.probes != whole.probes => format!("{:#?} instead of {:#?}", joined.probes, whole.probes),
        None => format!("{:#?} instead of {:#?}", joined.summary, whole.summary),
    }
}
