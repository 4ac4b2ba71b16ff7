//! A busy machine changes no verdict.

mod reference;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{available_parallelism, scope};

use acp_conformance::edition::V1;
use acp_conformance::requirement::Party;
use acp_conformance::transport::relay;
use libtest_mimic::{Arguments, Failed, Trial};
use reference::{cases_of, run_with};

/// How often each suite runs while the loops keep the cores busy.
const ROUNDS: usize = 10;

fn main() -> ExitCode {
    // Agents start this program as their MCP servers, and clients as their agent.
    if let Some(code) = relay::run_if_asked() {
        return code;
    }
    let trials = vec![
        Trial::test("busy_cores_change_no_verdict_on_the_reference_agent", || same_verdicts(Party::Agent)),
        Trial::test("busy_cores_change_no_verdict_on_the_reference_client", || same_verdicts(Party::Client)),
    ];
    let mut arguments = Arguments::from_args();
    // One suite would keep the other from being idle.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs the suite, and then again while a loop keeps each core busy.
fn same_verdicts(party: Party) -> Result<(), Failed> {
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
        let different = (1..=ROUNDS).find_map(|round| {
            let busy = verdicts();
            let other: Vec<_> = idle.iter().filter(|(id, verdict)| busy.get(*id) != Some(verdict)).collect();
            (!other.is_empty()).then(|| format!("other verdicts on the idle machine than in round {round}: {other:?}"))
        });
        is_over.store(true, Ordering::Relaxed);
        different.map_or(Ok(()), |text| Err(text.into()))
    })
}
