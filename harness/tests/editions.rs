//! Each stored trace of an edition, judged by the earlier editions of the same major: these know what came later, so
//! only requirements that differ between the two may get another verdict.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_conformance::edition::{Bundle, V2};
use acp_conformance::judge::judge;
use acp_conformance::requirement::Party;
use acp_conformance::results::Collector;
use acp_conformance::trace::Trace;
use acp_conformance::verdict::Verdict;
use libtest_mimic::Failed;

use crate::traces::parts;

/// Checks that an earlier edition fails nothing in these traces that this edition does not fail.
pub fn check(paths: &[PathBuf], bundle: &'static Bundle) -> Result<(), Failed> {
    let earlier: Vec<_> = std::iter::successors(bundle.base(), |bundle| bundle.base()).collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in paths {
        let (_, trace) = parts(&fs::read_to_string(path)?)?;
        if trace.header.edition != bundle.name() {
            continue;
        }
        let own = judge(&trace, bundle.edition());
        for other in &earlier {
            count += 1;
            let differences = bundle.differences_since(other.name()).unwrap_or_default();
            let differing: BTreeSet<&str> = differences.iter().map(|it| it.id.as_str()).collect();
            let by_other = judge(&trace, other.edition());
            let failed = by_other.tallies.iter().filter(|(_, tally)| tally.verdict() == Verdict::Fail);
            let extra = failed.filter(|(id, _)| own.verdict(id) != Verdict::Fail && !differing.contains(id.as_str()));
            wrong.extend(extra.map(|(id, tally)| {
                format!("{}: only {} fails {id}: {}", path.display(), other.name(), tally.findings[0].text())
            }));
        }
    }
    if count == 0 {
        return Err("no trace was judged twice".into());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// A violation of a new duty counts if any trace of the run shows that its subject knows the revision, in any order.
pub fn new_duties_of_a_run() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("harness/tests/traces/resume");
    let read = |name: &str| -> Result<Trace, Failed> {
        let (_, mut trace) = parts(&fs::read_to_string(folder.join(name).with_extension("txt"))?)?;
        trace.header.case = Some(format!("v2/agent/resume/{name}"));
        Ok(trace)
    };
    let (older, newer) = (read("v2-marker-missing-of-older")?, read("v2-marker")?);
    let expected = [
        (vec![&older], Verdict::Inconclusive),
        (vec![&older, &newer], Verdict::Fail),
        (vec![&newer, &older], Verdict::Fail),
    ];
    for (traces, expected) in expected {
        let mut collector = Collector::new(V2.edition(), Party::Agent, Vec::new());
        traces.iter().for_each(|trace| _ = collector.add(trace, None));
        let report = collector.finish(Duration::ZERO, false);
        let found = report.requirements.iter().find(|found| found.id == "resume.replay-complete");
        let found = found.ok_or("no such requirement")?.verdict;
        if found != expected {
            return Err(format!("{} traces: {found}, expected {expected}", traces.len()).into());
        }
    }
    Ok(())
}
