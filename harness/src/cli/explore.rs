//! `--explore`: random walks over the cases of a run.

use std::ops::Range;

use anyhow::Context;

use super::output::say;
use super::plan::RunPlan;
use super::running::RunInProgress;
use crate::explore::{Event, Explorer, Known, Walked};
use crate::options::RunOptions;
use crate::output_file::write_file;
use crate::plan::load_cases;
use crate::record::record;
use crate::report::SuiteEvent;
use crate::requirement::Party;
use crate::results::{Explored, Unconfirmed};
use crate::run::{Jobs, stopped};
use crate::trace::Trace;

/// The number of cases that run before the next walks, so that walks over a slow subject begin early. A smaller number
/// makes more conversations.
const CASES: usize = 32;

/// Runs the cases of the plan in several parts, and plays some of its walks after each, over the cases that passed by
/// then: more each time, since there are more cases to combine. Adds the shortest walks that break a requirement to the
/// results.
pub(super) fn explore(plan: &RunPlan, running: &mut RunInProgress<'_>) -> anyhow::Result<Option<Explored>> {
    let RunOptions { explore: Some(count), seed: Some(seed), case_dir, limits, .. } = &plan.options else {
        return Ok(None);
    };
    let (count, seed, party) = (count.get(), *seed, plan.subject.party);
    let (mut moves, _) = load_cases(case_dir.as_deref(), Some(party), plan.bundle)?;
    let transport = plan.subject.reach.transport;
    moves.retain(|case| case.subject == party && case.fits(transport, plan.bundle.catalogue()));
    let mut exploration = Exploration {
        plan,
        running,
        // Walks of a client wait as much as those of an agent do, and what fails runs again.
        explorer: Explorer { cases: &moves, subject: &plan.subject, jobs: Jobs::of(Party::Agent, limits.jobs) },
        known: Known::default(),
        unconfirmed: Vec::new(),
    };
    let parts = plan.cases.len().div_ceil(CASES).max(1);
    let walks_until = |part: usize| count * part * part / (parts * parts);
    let mut walks = 0;
    for part in (0..parts).take_while(|_| stopped().is_none()) {
        // Each part has cases of all areas.
        let cases = plan.cases.iter().skip(part).step_by(parts);
        exploration.running.run_rest(plan, cases)?;
        walks += exploration.walk(walks_until(part)..walks_until(part + 1), seed)?;
    }
    if exploration.running.collector.passed().is_empty() {
        say("no case passed, so there is nothing to walk over");
    }
    Ok(Some(Explored { walks, seed, unconfirmed: exploration.unconfirmed }))
}

/// An exploration in progress.
struct Exploration<'e, 'r> {
    plan: &'e RunPlan,
    running: &'e mut RunInProgress<'r>,
    explorer: Explorer<'e>,
    known: Known,
    unconfirmed: Vec<Unconfirmed>,
}

impl Exploration<'_, '_> {
    /// Plays the walks with these numbers.
    fn walk(&mut self, numbers: Range<usize>, seed: u64) -> anyhow::Result<usize> {
        let Self { plan, running, explorer, known, unconfirmed } = self;
        let passed = running.collector.passed();
        known.failed.extend(running.collector.failed());
        explorer.explore(&passed, known, (numbers, seed), |event| match event {
            Event::Walked(numbers) => numbers.into_iter().try_for_each(|number| {
                let name = format!("walk {}", number + 1);
                running.listener.outputs.event(&SuiteEvent::Start(&name))?;
                running.listener.outputs.event(&SuiteEvent::Played(&name))
            }),
            Event::Shrinking(broken, walk) => {
                let moves = walk.0.len();
                say(&format!("{} failed in a walk of {moves} moves; looking for the shortest", broken.requirement));
                Ok(())
            }
            Event::Found(walked) => add(plan, running, walked),
            Event::Unconfirmed(broken, Walked { traces, .. }) => {
                let walk = traces.first().and_then(|trace| trace.header.case.clone()).unwrap_or_default();
                add_walk(running, traces)?;
                let file = running.collector.case(&walk).and_then(|report| report.trace);
                let (requirement, kind) = (broken.requirement.clone(), broken.kind.clone());
                unconfirmed.push(Unconfirmed { walk, requirement, kind, trace: file });
                Ok(())
            }
        })
    }
}

/// Adds a walk to the results, and writes it as a case if traces are kept.
fn add(plan: &RunPlan, running: &mut RunInProgress<'_>, Walked { walk, traces }: &Walked) -> anyhow::Result<()> {
    if let (Some(dir), Some(trace)) = (&running.listener.options.trace_dir, traces.first())
        && let Some(text) = record(trace, &format!("acp-conformance: {walk}"), plan.bundle.edition())
    {
        let path = dir.join(trace.file_name()).with_extension("yaml");
        write_file(&path, |out| std::io::Write::write_all(out, text.as_bytes()))
            .with_context(|| path.display().to_string())?;
        say(&format!("wrote the walk as a case: {}", path.display()));
    }
    add_walk(running, traces)
}

fn add_walk(running: &mut RunInProgress<'_>, traces: &[Trace]) -> anyhow::Result<()> {
    let mut suite = running.suite();
    traces.iter().try_for_each(|trace| suite.ended(trace))?;
    suite.settle_rest()
}
