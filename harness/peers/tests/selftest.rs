//! Proves that the checks can fail: every file of `cases/faults/` is given to the reference agent, and must break
//! exactly the requirements that it names, in the cases that it names.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use acp_conformance::case::{self, Case, Vocabulary};
use acp_conformance::diagnostic::{Look, render_all};
use acp_conformance::fault::{self, Fault, Planted};
use acp_conformance::judge::{Judgement, judge};
use acp_conformance::protocol::Edition;
use acp_conformance::requirement::{Catalogue, Level, Party};
use acp_conformance::run::{Subject, run_case};
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
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
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn killed(fault: Fault, cases: &[Case]) -> Result<(), Failed> {
    let command = [env!("CARGO_BIN_EXE_acp-reference-agent").to_owned()].into_iter().chain(fault.peer_args.clone());
    let planted = Planted::new(fault);
    let fault = Arc::clone(&planted.fault);
    let mut subject = Subject::agent(command.collect(), std::env::temp_dir());
    subject.fault = Some(planted.clone());
    let mut broken = BTreeSet::new();
    let mut story = String::new();
    for case in cases.iter().filter(|case| fault.cases.contains(&case.id)) {
        let trace = run_case(case, &subject);
        broken.extend(failures(&judge(&trace, Edition::v1()), &case.id, &mut story));
    }
    if fault.edit.is_some() && planted.fired() == 0 {
        return Err("the fault changed no message in its cases".into());
    }
    let wanted: BTreeSet<String> = fault.also.keys().chain([&fault.kills]).cloned().collect();
    let missing: Vec<_> = wanted.difference(&broken).collect();
    let surplus: Vec<_> = broken.difference(&wanted).collect();
    match (missing.as_slice(), surplus.as_slice()) {
        ([], []) => Ok(()),
        _ => Err(format!("not broken: {missing:?}; broken besides: {surplus:?}{story}").into()),
    }
}

/// The requirements of the agent that fail, each told with its first finding.
fn failures(judgement: &Judgement, case: &str, story: &mut String) -> Vec<String> {
    let binding = |id: &str| {
        Catalogue::v1().find(id).is_some_and(|known| known.party == Party::Agent && known.level != Level::MayProbe)
    };
    let failed = judgement.tallies.iter().filter(|(id, tally)| tally.verdict() == Verdict::Fail && binding(id));
    let tell = |(id, tally): (&String, &acp_conformance::judge::Tally)| {
        let finding = tally.findings.iter().find(|finding| finding.verdict == Verdict::Fail);
        let message = finding.map_or("", |finding| finding.message.as_str());
        story.push_str(&format!("\n  {id} in {case}: {message}"));
        id.clone()
    };
    failed.map(tell).collect()
}
