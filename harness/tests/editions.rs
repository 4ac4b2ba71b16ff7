//! Each stored trace of an edition, judged by the earlier editions of the same major: these know what came later, so
//! only requirements that differ between the two may get another verdict.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use acp_conformance::edition::Bundle;
use acp_conformance::judge::judge;
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
