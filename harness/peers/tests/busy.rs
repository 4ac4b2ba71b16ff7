//! A busy machine changes no verdict.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{available_parallelism, scope};

use acp_conformance::edition::V1;
use acp_conformance::requirement::Party;
use libtest_mimic::{Failed, Trial};

use crate::reference::{self, cases_of, run_with};

/// How often each suite runs while the loops keep the cores busy: usually, and with `--ignored`.
const ROUNDS: [usize; 2] = [3, 30];

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let [few, many] = ROUNDS;
    let tests = [Party::Agent, Party::Client].map(|party| {
        let name = format!("busy/busy_cores_change_no_verdict_on_the_reference_{party}");
        let often = Trial::test(format!("{name}_often"), move || same_verdicts(party, many));
        [Trial::test(name, move || same_verdicts(party, few)), often.with_ignored_flag(true)]
    });
    tests.into_iter().flatten().collect()
}

/// Runs the suite, and then again while a loop keeps each core busy.
fn same_verdicts(party: Party, rounds: usize) -> Result<(), Failed> {
    let (cases, subject) = (cases_of(party, &V1), reference::subject(party, &[]));
    let verdicts = || run_with(&cases, &subject, 2, false).verdicts();
    let idle = verdicts();
    let is_over = AtomicBool::new(false);
    scope(|threads| {
        for _ in 0..available_parallelism().map_or(2, usize::from) {
            threads.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let different = (1..=rounds).find_map(|round| {
            let busy = verdicts();
            let other: Vec<_> = idle.iter().filter(|(id, verdict)| busy.get(*id) != Some(verdict)).collect();
            (!other.is_empty()).then(|| format!("other verdicts on the idle machine than in round {round}: {other:?}"))
        });
        is_over.store(true, Ordering::Relaxed);
        different.map_or(Ok(()), |text| Err(text.into()))
    })
}
