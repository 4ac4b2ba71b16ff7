//! The exchanges that `explain`, the site and the page of a run show: a correct and a wrong one for each requirement.

use std::collections::BTreeSet;
use std::path::PathBuf;

use acp_conformance::edition::{Bundle, V1};
use acp_conformance::example::exchange;
use acp_conformance::requirement::Status;
use acp_conformance::verdict::Verdict;
use libtest_mimic::Failed;

/// Checks that most requirements have both exchanges, as far as the traces at these paths show the verdict.
pub fn check(bundle: &'static Bundle, paths: &[PathBuf]) -> Result<(), Failed> {
    let texts = paths.iter().map(std::fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let listed: BTreeSet<&str> =
        texts.iter().filter_map(|text| text.split_once("\n---\n")).flat_map(|(above, _)| above.lines()).collect();
    for verdict in [Verdict::Pass, Verdict::Fail] {
        let checked = bundle.catalogue().iter().filter(|known| known.status == Status::Checked);
        let shown = checked.filter(|known| listed.contains(format!("{}: {verdict}", known.id).as_str()));
        let (with, without): (Vec<_>, Vec<_>) =
            shown.map(|known| known.id.as_str()).partition(|id| !exchange(bundle, id, verdict).is_empty());
        if with.len() < 4 * without.len() {
            return Err(format!("too many requirements without an exchange that is a {verdict}: {without:?}").into());
        }
    }
    if bundle.name() == V1.name() { check_known(bundle) } else { Ok(()) }
}

/// Checks exchanges of which the important message is easily left out.
fn check_known(bundle: &'static Bundle) -> Result<(), Failed> {
    for (id, verdict, wanted) in [
        ("terminal.release", Verdict::Pass, "\"terminal/release\""),
        ("cancel.updates-before-response", Verdict::Pass, "\"cancelled\""),
        ("cancel.stop-reason", Verdict::Fail, "\"end_turn\""),
        ("transport.split-writes.agent", Verdict::Fail, "_acp-conformance/fence"),
        ("jsonrpc.request-id-type.client", Verdict::Pass, "client → agent"),
    ] {
        let lines = exchange(bundle, id, verdict);
        if !lines.iter().any(|line| line.contains(wanted)) {
            return Err(format!("`{wanted}` is missing in the exchange of {id}: {lines:#?}").into());
        }
    }
    Ok(())
}
