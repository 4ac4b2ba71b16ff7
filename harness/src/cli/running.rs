//! A run in progress: the first contact with the subject, the cases, and all receivers of their events.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem::replace;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::exit::ProgramExit;
use super::expected::Baseline;
use super::output::say;
use super::outputs::Outputs;
use super::plan::RunPlan;
use super::redact::save;
use super::snapshots::Snapshots;
use crate::case::model::Case;
use crate::case::{embedded_case, is_handshake};
use crate::manual::Person;
use crate::options::RunOptions;
use crate::protocol::Edition;
use crate::record::record;
use crate::redact::redact;
use crate::report::{Begin, Chart, Diagnosis, SuiteEvent, confirmed, diagnose, worst_first};
use crate::requirement::{Level, Party};
use crate::results::{
    CaseReport, Collector, FindingReport, Partial, PartialReason, RequirementReport, RunReport, failed, replaces,
};
use crate::run::{Limits, Stop, Subject, is_stopping, run_by_hand, stop, stopped};
use crate::suite::{Suite, SuiteListener};
use crate::trace::{Event, Observed, ProcessEvent, Trace, What};
use crate::verdict::Verdict;

/// The silence after which the user sees what the run waits for.
const PATIENCE: Duration = Duration::from_secs(3);

/// The time after which a confirmed failure is shown at once, and not only in the report at the end.
const LONG_RUN: Duration = Duration::from_secs(10);

/// The outputs of a run.
pub(super) struct RunOutputs<'r> {
    /// The reports.
    pub(super) outputs: Outputs,
    /// The transcripts for comparison.
    pub(super) snapshots: Option<Snapshots>,
    /// Whether its cases are all that exist.
    pub(super) whole: bool,
    /// The known failures, which do not end the run with `--fail-fast`.
    pub(super) baseline: Option<&'r Baseline>,
}

/// The end of a run.
pub(super) enum RunOutcome<'r> {
    /// The run produced no report.
    Early(ProgramExit),
    /// A run to report, with the obstacle that prevented all other cases.
    Over(Box<RunInProgress<'r>>, Option<Diagnosis>),
}

/// Finds in the trace of the first conversation why the others would show nothing; an obstacle that is known already is
/// passed on.
pub(super) type Precheck<'m> = &'m dyn Fn(&Trace, Option<Diagnosis>) -> anyhow::Result<Option<Diagnosis>>;

/// Runs the cases of the plan, unless `precheck` finds an obstacle or a random walk runs them.
pub(super) fn drive<'r>(
    plan: &'r RunPlan,
    mut wanted: RunOutputs<'r>,
    precheck: Precheck<'_>,
) -> anyhow::Result<RunOutcome<'r>> {
    // A person notices without help whether the client connects.
    let by_hand = plan.subject.agent_folder.is_some();
    let mut contact = if by_hand { None } else { Some(FirstContact::make(plan)?) };
    if let Some(contact) = &mut contact {
        contact.obstacle = precheck(&contact.trace, contact.obstacle.take())?;
    }
    let obstacle = contact.as_ref().and_then(|contact| contact.obstacle.clone());
    if contact.as_ref().is_some_and(|contact| not_started(&contact.trace)) {
        say(obstacle.as_ref().map_or("", |obstacle| &obstacle.text));
        return Ok(RunOutcome::Early(ProgramExit::Usage));
    }
    if obstacle.is_some() {
        wanted.whole = false;
        wanted.snapshots = None;
    }
    let mut running = RunInProgress::begin(plan, wanted, obstacle.is_some())?;
    if let Some(contact) = contact.as_ref().filter(|contact| contact.is_wanted(plan)) {
        running.suite().ended(&contact.trace)?;
    }
    if by_hand {
        running.run_by_hand(plan)?;
    } else if obstacle.is_none() && plan.options.explore.is_none() {
        running.run_rest(plan, plan.cases.iter())?;
    }
    Ok(RunOutcome::Over(Box::new(running), obstacle))
}

/// A run in progress.
pub(super) struct RunInProgress<'r> {
    /// The results so far.
    pub(super) collector: Collector,
    /// The listener for its events.
    pub(super) listener: Listener<'r>,
}

/// All receivers of a run's events.
pub(super) struct Listener<'r> {
    pub(super) options: &'r RunOptions,
    /// The names of the traces that are kept so far.
    kept: HashSet<String>,
    edition: &'static Edition,
    /// The formats of the report.
    pub(super) outputs: Outputs,
    /// The transcripts for comparison.
    pub(super) snapshots: Option<Snapshots>,
    baseline: Option<&'r Baseline>,
    /// Whether the first results are known.
    has_first: bool,
    /// Whether the end of the run came during a case.
    is_cut_short: bool,
    /// When the run began, how many cases have a verdict, and how many there are; until the user sees an estimate.
    pace: Option<(Instant, usize, usize)>,
    /// When the run began, and the failed requirements that the user has seen since.
    seen: (Instant, BTreeSet<String>),
    /// The verdict of the run whose chart is shown, by case.
    charted: HashMap<String, Verdict>,
}

impl<'r> RunInProgress<'r> {
    fn begin(plan: &'r RunPlan, mut wanted: RunOutputs<'r>, is_cut_short: bool) -> anyhow::Result<Self> {
        let (edition, collector) = (plan.bundle.edition(), collector(plan));
        let walks = plan.options.explore.map_or(0, NonZeroUsize::get);
        let runs = plan.options.repeat.map_or(1, NonZeroUsize::get);
        let cases = if is_cut_short { 1 } else { plan.cases.len() * runs + walks };
        let mut begin = Begin::new(&collector, cases, wanted.whole, plan.options.reproduce(plan.subject.party));
        begin.cut_short = is_cut_short;
        wanted.outputs.event(&SuiteEvent::Begin(&begin))?;
        let RunOutputs { outputs, snapshots, baseline, .. } = wanted;
        let is_slow = plan.subject.party == Party::Client && plan.subject.person.is_none();
        let pace = (is_slow && !plan.options.is_selection()).then(|| (Instant::now(), 0, cases));
        let (options, kept, charted) = (&plan.options, HashSet::new(), HashMap::new());
        let seen = (Instant::now(), BTreeSet::new());
        let listener = Listener {
            options,
            kept,
            edition,
            outputs,
            snapshots,
            baseline,
            has_first: false,
            is_cut_short: false,
            pace,
            seen,
            charted,
        };
        Ok(Self { collector, listener })
    }

    /// Returns why not all cases of the plan have run, if that is so.
    pub(super) fn partial(&self, plan: &RunPlan) -> Option<Partial> {
        let has_left = || plan.subject.person.as_ref().is_some_and(Person::has_left);
        let reason = match stopped() {
            Some(Stop::Signal) => PartialReason::Interrupted,
            Some(Stop::TimeLimit) => PartialReason::TimeLimit,
            Some(Stop::Failure) => PartialReason::FailFast,
            None if has_left() => PartialReason::Quit,
            None if is_stopping() => PartialReason::TimeLimit,
            None => return None,
        };
        let not_run = plan.cases.iter().filter(|case| !self.collector.has(&case.id)).count();
        // The end may also have come while failures were being confirmed.
        let is_unconfirmed = || !self.collector.unconfirmed().is_empty();
        (not_run > 0 || self.listener.is_cut_short || is_unconfirmed()).then_some(Partial { reason, not_run })
    }

    /// Returns the suite that adds cases to the results.
    pub(super) fn suite(&mut self) -> Suite<'_, Listener<'r>> {
        Suite::new(&mut self.collector, &mut self.listener)
    }

    /// Runs the cases as often again as `--repeat` says, and returns the reports of all runs but the last one, whose
    /// results stay here.
    pub(super) fn repeat(&mut self, plan: &RunPlan) -> anyhow::Result<Vec<RunReport>> {
        let runs = plan.options.repeat.map_or(1, NonZeroUsize::get);
        let mut reports = Vec::new();
        for run in 2..=runs {
            if stopped().is_some() || is_stopping() {
                break;
            }
            let done = replace(&mut self.collector, collector(plan));
            reports.push(done.finish(Duration::ZERO, plan.options.strict));
            self.listener.outputs.say(&format!("run {run} of {runs} …"));
            self.suite().run(&plan.cases, &plan.subject, &plan.options)?;
        }
        Ok(reports)
    }

    fn run_by_hand(&mut self, plan: &RunPlan) -> anyhow::Result<()> {
        let mut problem = None;
        run_by_hand(&plan.cases, &plan.subject, |trace| {
            problem = self.suite().ended(trace).err();
            problem.is_none()
        });
        problem.map_or(Ok(()), Err)
    }

    /// Runs these cases except the handshake, if that was the first contact.
    pub(super) fn run_rest<'c>(&mut self, plan: &RunPlan, cases: impl Iterator<Item = &'c Case>) -> anyhow::Result<()> {
        let rest: Vec<Case> = cases.filter(|case| !is_handshake(&case.id)).cloned().collect();
        self.suite().run(&rest, &plan.subject, &plan.options)
    }
}

impl Listener<'_> {
    /// Whether the last added case has an unexpected failure.
    fn has_new_failure(&self, report: &CaseReport, collector: &Collector) -> bool {
        let catalogue = &collector.edition().catalogue;
        let counts = |requirement: &str| match catalogue.find(requirement).map(|known| known.level) {
            Some(Level::Must) => report.verdict == Verdict::Fail,
            Some(Level::Should) => self.options.strict,
            _ => false,
        };
        let is_known =
            |requirement: &str| self.baseline.is_some_and(|baseline| baseline.covers(requirement, &report.id));
        collector.failures(&report.id).any(|(requirement, _)| counts(requirement) && !is_known(requirement))
    }

    /// Shows the MUSTs that failed since the last call, with the messages that prove it, in a run that takes long
    /// enough for the user to begin with them before it ends.
    fn show_failures(&mut self, collector: &Collector) {
        let (begun, seen) = &mut self.seen;
        if begun.elapsed() < LONG_RUN || self.outputs.progress.is_none() {
            return;
        }
        let is_must = |id: &str| collector.edition().catalogue.find(id).is_some_and(|known| known.level == Level::Must);
        let new: BTreeSet<String> =
            collector.failed().into_iter().filter(|id| is_must(id) && !seen.contains(id)).collect();
        if new.is_empty() {
            return;
        }
        // A mistake that a more specific requirement owns is shown there.
        let is_news = |requirement: &RequirementReport, finding: &FindingReport| {
            let is_known = self.baseline.is_some_and(|baseline| baseline.covers(&requirement.id, &finding.case));
            finding.same_as.is_none() && !is_known
        };
        let report = collector.finish(begun.elapsed(), false);
        let after = begun.elapsed().as_secs();
        for requirement in worst_first(&report.requirements).into_iter().filter(|it| new.contains(&it.id)) {
            if failed(requirement).any(|finding| is_news(requirement, finding)) {
                self.outputs.say(&confirmed(requirement, after));
            }
        }
        seen.extend(new);
    }

    /// Says once how long the run of a client will take, if that is long: each case may be a start of its own.
    fn estimate(&mut self) {
        let Some((began, done, all)) = &mut self.pace else { return };
        *done += 1;
        if let Some(text) = estimate(began.elapsed(), *done, *all) {
            self.pace = None;
            self.outputs.say(&text);
        }
    }

    /// Saves a trace, if traces are kept, and returns its file. A further run of a case does not replace the earlier
    /// ones, since they may prove a failure together.
    pub(super) fn keep_trace(&mut self, trace: &Trace) -> anyhow::Result<Option<String>> {
        let Some(dir) = &self.options.trace_dir else { return Ok(None) };
        let name = trace.file_name();
        let (stem, end) = name.rsplit_once('.').unwrap_or((&name, ""));
        let further = (2..).map(|number| format!("{stem}_{number}.{end}"));
        let new = std::iter::once(name.clone()).chain(further).find(|name| !self.kept.contains(name));
        let name = new.unwrap_or_else(|| unreachable!("numbers do not end"));
        let path = dir.join(&name);
        self.kept.insert(name);
        if self.options.redact {
            save(&redact(trace, self.edition), &path)?;
        } else {
            save(trace, &path)?;
        }
        Ok(Some(path.display().to_string()))
    }
}

impl SuiteListener for Listener<'_> {
    type Error = anyhow::Error;

    fn started(&mut self, case: &str) -> anyhow::Result<()> {
        self.outputs.event(&SuiteEvent::Start(case))
    }

    fn played(&mut self, case: &str) -> anyhow::Result<()> {
        self.outputs.event(&SuiteEvent::Played(case))
    }

    fn judged(&mut self, collector: &Collector) -> anyhow::Result<()> {
        if replace(&mut self.has_first, true) {
            return Ok(());
        }
        self.outputs.event(&SuiteEvent::First(&collector.interim()))
    }

    fn keep(&mut self, trace: &Trace) -> anyhow::Result<Option<String>> {
        // Without its trace, a failure still counts.
        Ok(self.keep_trace(trace).unwrap_or_else(|error| {
            self.outputs.lose(error);
            None
        }))
    }

    fn repeats(&mut self, requirement: &str, cases: usize, all: usize) -> anyhow::Result<()> {
        self.outputs.say(&format!("{requirement} failed only after other cases; repeating {cases} of these {all} …"));
        Ok(())
    }

    fn settled(&mut self, collector: &Collector, report: &CaseReport, trace: Option<&Trace>) -> anyhow::Result<()> {
        if let Some(trace) = trace
            && let Some(snapshots) = self.snapshots.as_mut().filter(|_| report.verdict != Verdict::HarnessError)
            && let Err(error) = snapshots.ended(trace)
        {
            self.outputs.lose(error);
        }
        if let Some(trace) = trace {
            self.is_cut_short |= is_cut_short(trace);
            self.estimate();
        }
        if self.options.fail_fast && self.has_new_failure(report, collector) {
            stop(Stop::Failure);
        }
        self.outputs.event(&SuiteEvent::Case(report, trace))?;
        self.show_failures(collector);
        // Of several runs, the report has the worst verdict on the case, and the page the chart of that run.
        let shown = self.charted.get(&report.id).filter(|_| self.options.repeat.is_some());
        if shown.is_some_and(|shown| !replaces(report.verdict, *shown)) {
            return Ok(());
        }
        self.charted.insert(report.id.clone(), report.verdict);
        if let Some(trace) = trace.filter(|_| self.outputs.charts) {
            // Only failed cases, since the text makes the page larger.
            let fails = collector.failures(&report.id).next().is_some();
            let origin = || format!("a run of {}", report.id);
            let case = || record(trace, &origin(), self.edition);
            let chart = Chart::of(trace, collector.evidence(&report.id)).with_case(fails.then(case).flatten());
            self.outputs.event(&SuiteEvent::Chart(&report.id, &chart))?;
        }
        Ok(())
    }
}

/// Returns the results of a run that has not begun.
fn collector(plan: &RunPlan) -> Collector {
    let collector = Collector::new(plan.bundle.edition(), plan.subject.party, plan.subject.command.clone());
    if plan.subject.agent_folder.is_some() { collector.driven_by_hand() } else { collector }
}

/// Returns how long the rest of a run takes, once that can be told and if it is long.
fn estimate(took: Duration, done: usize, all: usize) -> Option<String> {
    const ENOUGH: usize = 10;
    const LONG: Duration = Duration::from_secs(60);
    if done < ENOUGH {
        return None;
    }
    let (done, left) = (u32::try_from(done).ok()?, u32::try_from(all.saturating_sub(done)).ok()?);
    let left = took * left / done;
    let minutes = left.as_secs().div_ceil(60);
    (left >= LONG).then(|| {
        format!(
            "about {minutes} min left, at {:.1} s per case; --quick runs a few cases, and Ctrl-C ends with a partial report",
            (took / done).as_secs_f64()
        )
    })
}

/// The handshake, run alone and first. A program that does not answer it is reported once, not for every case.
struct FirstContact {
    trace: Trace,
    /// The reason why this program cannot be tested.
    obstacle: Option<Diagnosis>,
}

impl FirstContact {
    fn make(plan: &RunPlan) -> anyhow::Result<Self> {
        let handshake = embedded_case(&plan.bundle.handshake(plan.subject.party), plan.bundle);
        let handshake = handshake.context("the built-in handshake is missing")?;
        // A lower limit than usual is a wish of the user.
        let is_first_start = plan.subject.limits.start >= Limits::default().start;
        let subject = Subject { is_first_start, ..plan.subject.clone() };
        let trace = run_patiently(&handshake, &subject);
        plan.subject.openings.note_first_start(first_message(&trace));
        Ok(Self { obstacle: if is_cut_short(&trace) { None } else { diagnose(&trace) }, trace })
    }

    /// Whether the handshake belongs in the report: it was selected, or the report would be empty without it.
    fn is_wanted(&self, plan: &RunPlan) -> bool {
        self.obstacle.is_some() || plan.cases.iter().any(|case| is_handshake(&case.id))
    }
}

/// Returns the time until the first message of the subject.
fn first_message(trace: &Trace) -> Duration {
    let is_its_line =
        |event: &&Event| matches!(event.what, What::Line { from, .. } if trace.header.subject == Some(from));
    Duration::from_micros(trace.events.iter().find(is_its_line).map_or(0, |event| event.us))
}

/// Runs a case, and reports the wait if it takes long.
fn run_patiently(case: &Case, subject: &Subject) -> Trace {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = sender.send(crate::run::run_case(case, subject));
        });
        if let Ok(trace) = receiver.recv_timeout(PATIENCE) {
            return trace;
        }
        let limit = subject.limits.start.as_secs();
        say(&match subject.party {
            Party::Agent => format!(
                "waiting for the response to initialize (limit {limit} s, longer while it is busy; see --timeout-start) …"
            ),
            Party::Client => {
                format!(
                    "waiting for the client's first prompt (start: {limit} s, longer while it is busy; see --timeout-start) …"
                )
            }
        });
        receiver.recv().unwrap_or_else(|_| unreachable!("run_case always returns a trace"))
    })
}

/// Whether the run ended during the handshake, which then says nothing about the program.
pub(super) fn is_cut_short(trace: &Trace) -> bool {
    let ends = |event: &Event| matches!(&event.what, What::Step(step) if step.observed == Some(Observed::RunEnded));
    trace.events.iter().any(ends)
}

fn not_started(trace: &Trace) -> bool {
    trace.events.iter().any(|event| matches!(event.what, What::Process(ProcessEvent::NotSpawned(_))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_long_run_has_an_estimate_once_enough_cases_are_over() {
        let second = Duration::from_secs(1);
        assert_eq!(estimate(9 * second, 9, 600), None);
        assert_eq!(estimate(second, 10, 600), None, "it is over in a minute");
        let text = estimate(12 * second, 10, 610).expect("a long run");
        assert!(text.starts_with("about 12 min left, at 1.2 s per case; --quick"), "{text}");
    }
}
