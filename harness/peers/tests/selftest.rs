//! Proves that the checks can fail: every file of `cases/faults/` is given to the reference peer of its party, and must
//! break exactly the requirements that it names, in the cases that it names.

mod reference;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use acp_conformance::case::{self, Case, Vocabulary};
use acp_conformance::diagnostic::{Look, render_all};
use acp_conformance::fault::{self, Fault, Planted};
use acp_conformance::judge::{Judgement, Tally, judge};
use acp_conformance::peer::relay;
use acp_conformance::protocol::Edition;
use acp_conformance::requirement::{Catalogue, Level, Party};
use acp_conformance::run::run_case;
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    // The reference client starts this program in place of its agent.
    if let Some(code) = relay::run_if_asked() {
        return code;
    }
    let files = reference::root().join("cases");
    let (cases, mut problems) = case::load_dir(&files, &Vocabulary::v1());
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let (faults, more) = fault::load_dir(&files.join("faults"), &ids);
    problems.extend(more);
    let readable = move || match problems.len() {
        0 => Ok(()),
        _ => Err(format!("\n{}", render_all(&problems, Look::Plain)).into()),
    };
    let cases = Arc::new(cases);
    let trials = faults.into_iter().map(|fault| {
        let cases = Arc::clone(&cases);
        Trial::test(fault.id.clone(), move || killed(fault, &cases)).with_kind("fault")
    });
    let trials = trials.chain([Trial::test("every-file-can-be-read", readable)]).collect();
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert_with(threads);
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A run with a fault does little but wait, and for a fault that ends in a time limit, a long time.
fn threads() -> usize {
    8 * std::thread::available_parallelism().map_or(1, usize::from)
}

fn killed(fault: Fault, cases: &[Case]) -> Result<(), Failed> {
    let mut subject = reference::subject(fault.party, &fault.peer_args);
    let planted = Planted::new(fault);
    let fault = Arc::clone(&planted.fault);
    subject.fault = Some(planted.clone());
    let mut broken = BTreeSet::new();
    let mut story = String::new();
    for case in cases.iter().filter(|case| fault.cases.contains(&case.id)) {
        let trace = run_case(case, &subject);
        broken.extend(failures(&judge(&trace, Edition::v1()), fault.party, &case.id, &mut story));
    }
    if let Some(reason) = planted.idle().first() {
        return Err(format!("the fault does not show: {reason}").into());
    }
    let wanted: BTreeSet<String> = fault.also.keys().chain([&fault.kills]).cloned().collect();
    let missing: Vec<_> = wanted.difference(&broken).collect();
    let surplus: Vec<_> = broken.difference(&wanted).collect();
    match (missing.as_slice(), surplus.as_slice()) {
        ([], []) => Ok(()),
        _ => Err(format!("not broken: {missing:?}; broken besides: {surplus:?}{story}").into()),
    }
}

/// The requirements of the party that fail, each told with its first finding.
fn failures(judgement: &Judgement, party: Party, case: &str, story: &mut String) -> Vec<String> {
    let binding =
        |id: &str| Catalogue::v1().find(id).is_some_and(|known| known.party == party && known.level != Level::MayProbe);
    let failed = judgement.tallies.iter().filter(|(id, tally)| tally.verdict() == Verdict::Fail && binding(id));
    let tell = |(id, tally): (&String, &Tally)| {
        let finding = tally.findings.iter().find(|finding| finding.verdict == Verdict::Fail);
        let message = finding.map_or("", |finding| finding.message.as_str());
        story.push_str(&format!("\n  {id} in {case}: {message}"));
        id.clone()
    };
    failed.map(tell).collect()
}
