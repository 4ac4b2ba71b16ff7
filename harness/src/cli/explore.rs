//! `--explore`: random walks after the cases of a run.

use anyhow::Context;

use super::output::say;
use super::plan::{RunPlan, Walks};
use super::suite::Going;
use crate::explore::{Event, Explorer, Walked};
use crate::output_file::write_file;
use crate::record::{Aim, record};
use crate::report::SuiteEvent;
use crate::report::model::{Explored, Unconfirmed};
use crate::run::stopped;

/// Plays the walks of the plan, if it has any, and adds the shortest of those that break a requirement to the results.
pub(super) fn explore(plan: &RunPlan, going: &mut Going<'_>) -> anyhow::Result<Option<Explored>> {
    let Some(Walks { count, seed, cases }) = plan.walks.as_ref().filter(|_| stopped().is_none()) else {
        return Ok(None);
    };
    let explorer = Explorer { cases, subject: &plan.subject, jobs: plan.jobs };
    let (passed, failed) = (going.collector.passed(), going.collector.failed());
    if passed.is_empty() {
        say("no case passed, so there is nothing to walk over");
    }
    let mut unconfirmed = Vec::new();
    let walks = explorer.explore(&passed, failed, (*count, *seed), |event| match event {
        Event::Walked(numbers) => numbers.into_iter().try_for_each(|number| {
            let name = format!("walk {}", number + 1);
            going.listener.outputs.event(&SuiteEvent::Start(&name))?;
            going.listener.outputs.event(&SuiteEvent::Played(&name))
        }),
        Event::Shrinking(broken, walk) => {
            say(&format!(
                "{} failed in a walk of {} moves; looking for the shortest",
                broken.requirement,
                walk.0.len()
            ));
            Ok(())
        }
        Event::Found(Walked { walk, trace, took }) => {
            if let Some(keep) = going.listener.keep {
                let origin = format!("acp-conformance --explore, seed {seed}: {walk}");
                let text = record(trace, &Aim { origin: &origin, subject: None, edition: plan.bundle.edition() })?;
                let path = keep.dir.join(trace.file_name()).with_extension("yaml");
                write_file(&path, |out| std::io::Write::write_all(out, text.as_bytes()))
                    .with_context(|| path.display().to_string())?;
                say(&format!("wrote the walk as a case: {}", path.display()));
            }
            going.suite().ended(trace, *took)
        }
        Event::Unconfirmed(broken, Walked { trace, .. }) => {
            let file = going.listener.keep_trace(trace)?;
            let walk = trace.header.case.clone().unwrap_or_default();
            let (requirement, kind) = (broken.requirement.clone(), broken.kind.clone());
            unconfirmed.push(Unconfirmed { walk, requirement, kind, trace: file });
            Ok(())
        }
    })?;
    Ok(Some(Explored { walks, seed: *seed, unconfirmed }))
}
