//! `agent` and `client`: run the cases against a subject and report what they show.

use std::time::{Instant, SystemTime};

use anyhow::{Context, bail};

use super::args::ResultArgs;
use super::exit::ProgramExit;
use super::explore::explore;
use super::last_failed;
use super::output::say;
use super::outputs::{Output, Outputs};
use super::plan::{Origin, RunPlan};
use super::progress::ProgressLine;
use super::running::{Listener, RunInProgress, RunOutcome, RunOutputs, drive, is_cut_short};
use super::snapshots::Snapshots;
use crate::edition::{Bundle, Editions};
use crate::judge::judge;
use crate::plan::next_steps;
use crate::report::{Diagnosis, SuiteEvent, protocol, rfc3339};
use crate::requirement::Party;
use crate::results::{ShardInfo, join_runs};
use crate::run::{Stop, stop_after, stopped};
use crate::trace::{Event, Observed, Outcome, StepEvent, StepKind, Trace, What};

/// The subject does not speak the version of the protocol, so that a run of it would show nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotThisVersion {
    /// It speaks another one.
    #[error("speaks version {0} of the protocol")]
    Other(u64),
    /// It did not finish the handshake, for the reason.
    #[error("did not finish the handshake: {0}")]
    NoHandshake(String),
}

/// The runs of other editions next to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    None,
    /// Each edition has a run.
    Each,
    /// An older edition has a run, or had one, if this one is of no use.
    Older,
}

/// Runs the plan. If there are runs of other editions, this one ends with [`NotThisVersion`]
/// where the subject does not speak its version, or refuses its handshake; before a run of an older one also where the
/// handshake fails, since a program written for that version may not answer what it does not know.
pub(super) fn run(
    mut plan: RunPlan,
    args: &ResultArgs,
    outputs: &[Output],
    others: Others,
) -> anyhow::Result<ProgramExit> {
    let baseline = plan.baseline.take();
    if let Some(limit) = plan.options.time_limit {
        stop_after(limit);
    }
    if let Some(dir) = &plan.options.trace_dir {
        if dir.is_file() {
            bail!("--trace-dir {}: is not a folder", dir.display());
        }
        std::fs::create_dir_all(dir).with_context(|| format!("--trace-dir {}", dir.display()))?;
        // Requests to the model contain the whole conversation, which would defeat a redacted trace.
        plan.subject.exchanges = (!plan.options.redact).then(|| dir.clone());
    }
    let plan = &plan;
    let outputs = Outputs::open(outputs, args.detail.into())?;
    let (began, started) = (SystemTime::now(), Instant::now());
    // Instructions on the same terminal already show the progress.
    let shown = if plan.subject.person.is_none() { ProgressLine::begin(args.detail.quiet) } else { None };
    let wanted = RunOutputs {
        outputs: outputs.with(shown),
        snapshots: plan.options.snapshots.as_deref().map(Snapshots::open),
        whole: plan.cases.len() == plan.known.len(),
        baseline: baseline.as_ref(),
    };
    let (mut running, diagnosis) = match drive(plan, wanted, &|first, obstacle| {
        if is_cut_short(first) {
            let reason = || NotThisVersion::NoHandshake("the run was stopped".to_owned());
            return if others == Others::Older { Err(reason().into()) } else { Ok(obstacle) };
        }
        let reason = || match others {
            Others::Older => reason_of_end(first, obstacle.as_ref()),
            // A program written for a newer version may refuse an older handshake.
            Others::Each if obstacle.is_none() => refusal(first),
            Others::Each | Others::None => None,
        };
        let is_one_of_several = others != Others::None;
        let above = || offered_above(first, plan.bundle).filter(|_| is_one_of_several && obstacle.is_some());
        // A client ends the connection when its version is turned down, so an obstacle does not hide the version there.
        let other = version_of(first, plan.bundle)
            .filter(|_| obstacle.is_none() || first.header.subject == Some(Party::Client));
        match other.or_else(above) {
            Some(version) if others != Others::None => Err(NotThisVersion::Other(version).into()),
            version => match (reason(), version) {
                (Some(reason), _) => Err(NotThisVersion::NoHandshake(reason).into()),
                // Selected cases may be about versions.
                (None, Some(version)) if !plan.options.names_cases() => Ok(speaks_only(version, plan)),
                _ => Ok(obstacle),
            },
        }
    })? {
        RunOutcome::Early(exit) => return Ok(exit),
        RunOutcome::Over(running, diagnosis) => (running, diagnosis),
    };
    let explored = if diagnosis.is_none() { explore(plan, &mut running)? } else { None };
    let earlier = if diagnosis.is_none() { running.repeat(plan)? } else { Vec::new() };
    let is_wrong_program = diagnosis.as_ref().is_some_and(|found| found.is_wrong_program);
    let obstacle = diagnosis.map(|found| found.text);
    let partial = running.partial(plan);
    let RunInProgress { collector, listener: Listener { mut outputs, snapshots, .. } } = *running;
    let last = collector.finish(started.elapsed(), plan.options.strict);
    let mut report = match plan.options.repeat {
        Some(_) => join_runs(earlier.into_iter().chain([last]).collect()).context("no run")?,
        None => last,
    };
    report.began = Some(rfc3339(began));
    report.partial = partial;
    report.selection = plan.options.is_selection();
    report.shard = plan.part.clone().map(|part| ShardInfo { cut_short: obstacle.is_some(), ..part });
    report.explored = explored;
    report.obstacle.clone_from(&obstacle);
    report.is_wrong_program = is_wrong_program;
    report.verdict = report.outcome(report.verdict, |_| false);
    if obstacle.is_none() {
        let profile = plan.origin.as_ref().map(Origin::name);
        report.next_steps = next_steps(&report, &plan.subject, profile, plan.bundle, others == Others::Each);
    }
    report.subject.profile =
        plan.origin.as_ref().map(|origin| Box::new(origin.info(report.subject.version.as_deref())));
    if let Some(mut baseline) = baseline {
        let known: Vec<&str> = plan.known.iter().map(String::as_str).collect();
        let whole = report.has_all(&known);
        baseline.apply_expected(&mut [(&mut report, whole)])?;
    }
    let has_text = outputs.has_text;
    outputs.event(&SuiteEvent::Run(&report))?;
    let closed = outputs.close();
    if report.obstacle.is_none() {
        last_failed::note(&report, &plan.options);
    }
    if let Some(obstacle) = report.obstacle.as_ref().filter(|_| !has_text) {
        say(obstacle);
    }
    closed?;
    // Only all shards together decide whether everything was exercised. An obstacle counts for each shard.
    let is_lenient = args.allow_incomplete || plan.part.is_some();
    let lenient = is_lenient && obstacle.is_none() && partial.is_none();
    if is_wrong_program {
        return Ok(ProgramExit::Usage);
    }
    let exit = match stopped() {
        Some(Stop::Signal) => return Ok(ProgramExit::Interrupted),
        Some(Stop::TimeLimit | Stop::Failure) => return Ok(ProgramExit::of_report(&report, lenient)),
        None => ProgramExit::of_report(&report, lenient),
    };
    let as_kept = snapshots.map(|snapshots| snapshots.conclude(plan)).transpose()?;
    Ok(if as_kept == Some(false) { exit.or_broken() } else { exit })
}

/// Returns the version that the subject speaks in this trace, if it is not that of the edition.
pub(super) fn version_of(trace: &Trace, bundle: &'static Bundle) -> Option<u64> {
    let judgement = judge(trace, bundle.edition());
    judgement.not_covered.first().map(|other| other.version).or(judgement.turned_down)
}

/// Returns the version that the client asks for first, if it is above that of the edition.
fn offered_above(trace: &Trace, bundle: &'static Bundle) -> Option<u64> {
    let asked = |event: &Event| match &event.what {
        What::Line { from: Party::Client, bytes, .. } => {
            let message: serde_json::Value = serde_json::from_slice(bytes).ok()?;
            (message["method"] == "initialize").then(|| message["params"]["protocolVersion"].as_u64())?
        }
        _ => None,
    };
    trace.events.iter().find_map(asked).filter(|asked| *asked > u64::from(bundle.edition().major))
}

/// Returns why a handshake ended early: the obstacle, or the answer to a line that must come and did not.
fn reason_of_end(trace: &Trace, obstacle: Option<&Diagnosis>) -> Option<String> {
    // The output of the program is indented, below a line that ends with a colon.
    let is_sentence = |line: &&str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
    let first_line = |obstacle: &Diagnosis| obstacle.text.lines().find(is_sentence).unwrap_or_default().to_owned();
    let missed =
        || refusal(trace).or_else(|| missed_step(trace).map(|_| "it did not send the expected message".to_owned()));
    obstacle.map(first_line).or_else(missed)
}

/// Returns the first line that must come and did not.
fn missed_step(trace: &Trace) -> Option<&StepEvent> {
    trace.events.iter().find_map(|event| match &event.what {
        What::Step(step) if step.kind == StepKind::Must && step.outcome != Outcome::Done => Some(step),
        _ => None,
    })
}

/// Returns the error with which the handshake was answered.
fn refusal(trace: &Trace) -> Option<String> {
    match &missed_step(trace)?.observed {
        Some(Observed::Error(error)) => Some(format!("it answered with the error {error}")),
        _ => None,
    }
}

/// Names the option for the version that the subject speaks instead of the tested one, if this program has an edition
/// of it.
pub(super) fn speaks_only(version: u64, plan: &RunPlan) -> Option<Diagnosis> {
    Editions::built_in().of_major(version)?;
    let (party, tested) = (plan.subject.party, protocol(plan.bundle.name()));
    let text = format!(
        "The {party} speaks version {version} of the protocol, and this run tests {tested}. --protocol v{version} tests it."
    );
    Some(Diagnosis { text, is_wrong_program: false })
}
