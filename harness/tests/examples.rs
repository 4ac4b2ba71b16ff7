//! The exchanges that `explain`, the site and the page of a run show: a correct and a wrong one for each requirement.

use acp_conformance::edition::Bundle;
use acp_conformance::example::exchange;
use acp_conformance::requirement::Status;
use acp_conformance::verdict::Verdict;
use libtest_mimic::Failed;

pub fn check(bundle: &'static Bundle) -> Result<(), Failed> {
    for verdict in [Verdict::Pass, Verdict::Fail] {
        let checked = bundle.catalogue().iter().filter(|known| known.status == Status::Checked);
        for known in checked {
            println!("{}: {verdict}", known.id);
            for line in exchange(bundle, &known.id, verdict) {
                println!("  {line}");
            }
        }
    }
    Ok(())
}
