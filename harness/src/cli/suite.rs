//! `agent` and `client`: run the cases against a subject and report what they show.

use std::collections::HashSet;
use std::mem::replace;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};

use super::args::RunArgs;
use super::exit::ProgramExit;
use super::expected::Baseline;
use super::explore::explore;
use super::last_failed;
use super::output::say;
use super::outputs::{Output, Outputs};
use super::plan::{Origin, RunPlan};
use super::progress::ProgressLine;
use super::redact::save;
use super::snapshots::Snapshots;
use super::versions::Others;
use crate::case::model::Case;
use crate::case::{embedded_case, is_handshake};
use crate::edition::{Bundle, Editions};
use crate::judge::judge;
use crate::manual::Person;
use crate::plan::next_steps;
use crate::protocol::Edition;
use crate::record::record;
use crate::redact::redact;
use crate::report::{Begin, Chart, Diagnosis, SuiteEvent, count, diagnose, protocol, rfc3339};
use crate::requirement::{Level, Party};
use crate::results::{CaseReport, Collector, Partial, PartialReason};
use crate::run::{Limits, Stop, Subject, is_stopping, run_by_hand, stop, stop_after, stopped};
use crate::suite::{Suite, SuiteListener, SuiteOptions};
use crate::trace::{Event, Observed, Outcome, ProcessEvent, StepEvent, StepKind, Trace, What};
use crate::verdict::Verdict;

/// The silence after which the user sees what the run waits for.
const PATIENCE: Duration = Duration::from_secs(3);

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

/// Runs the plan. If there are runs of other editions, this one ends with [`NotThisVersion`]
/// where the subject does not speak its version; before a run of an older one also where the handshake fails, since a
/// program written for that version may refuse what it does not know.
pub(super) fn run(
    mut plan: RunPlan,
    args: &RunArgs,
    outputs: &[Output],
    others: Others,
) -> anyhow::Result<ProgramExit> {
    let baseline = plan.baseline.take();
    if let Some(limit) = args.time_limit {
        stop_after(limit);
    }
    if let Some(dir) = &args.trace_dir {
        if dir.is_file() {
            bail!("--trace-dir {}: is not a folder", dir.display());
        }
        std::fs::create_dir_all(dir).with_context(|| format!("--trace-dir {}", dir.display()))?;
        // Requests to the model contain the whole conversation, which would defeat a redacted trace.
        plan.subject.exchanges = (!args.redact).then(|| dir.clone());
    }
    let plan = &plan;
    let outputs = Outputs::open(outputs, args.result.detail.into())?;
    let (began, started) = (SystemTime::now(), Instant::now());
    // Instructions on the same terminal already show the progress.
    let shown = if plan.subject.person.is_none() { ProgressLine::begin(args.result.detail.quiet) } else { None };
    let wanted = RunOutputs {
        outputs: outputs.with(shown),
        keep: args.trace_dir.as_deref().map(|dir| Keep { dir, redact: args.redact }),
        snapshots: args.snapshots.as_deref().map(Snapshots::open),
        whole: plan.cases.len() == plan.known.len(),
        fail_fast: args.fail_fast.then_some(FailFast { strict: args.strict, baseline: baseline.as_ref() }),
    };
    let (mut running, diagnosis) = match drive(plan, wanted, &|first, obstacle| {
        let reason = || reason_of_end(first, obstacle.as_ref()).filter(|_| others == Others::Older);
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
                (None, Some(version)) if !plan.is_selection => Ok(speaks_only(version, plan)),
                _ => Ok(obstacle),
            },
        }
    })? {
        RunOutcome::Early(exit) => return Ok(exit),
        RunOutcome::Over(running, diagnosis) => (running, diagnosis),
    };
    let explored = if diagnosis.is_none() { explore(plan, &mut running)? } else { None };
    let is_wrong_program = diagnosis.as_ref().is_some_and(|found| found.is_wrong_program);
    let obstacle = diagnosis.map(|found| found.text);
    let partial = running.partial(plan);
    let RunInProgress { collector, listener: Listener { mut outputs, snapshots, .. } } = *running;
    let mut report = collector.finish(started.elapsed(), args.strict);
    report.began = Some(rfc3339(began));
    report.partial = partial;
    report.explored = explored;
    report.obstacle.clone_from(&obstacle);
    report.is_wrong_program = is_wrong_program;
    if obstacle.is_none() && partial.is_none() {
        let profile = plan.origin.as_ref().map(Origin::name);
        report.next_steps = next_steps(&report, &plan.subject, profile, plan.bundle, others == Others::Each);
    }
    report.subject.profile =
        plan.origin.as_ref().map(|origin| Box::new(origin.info(report.subject.version.as_deref())));
    if let Some(mut baseline) = baseline {
        let known: Vec<&str> = plan.known.iter().map(String::as_str).collect();
        let whole = report.has_all(&known);
        baseline.apply_expected(&mut report, whole)?;
    }
    report.shard = plan.part.as_ref().map(|part| part.info(plan.reproduce.clone(), obstacle.is_some()));
    let has_text = outputs.has_text();
    outputs.event(&SuiteEvent::Run(&report))?;
    outputs.close()?;
    if report.obstacle.is_none() {
        last_failed::note(&report);
    }
    if let Some(obstacle) = report.obstacle.as_ref().filter(|_| !has_text) {
        say(obstacle);
    }
    // Only all shards together decide whether everything was exercised. An obstacle counts for each shard.
    let is_lenient = args.result.allow_incomplete || plan.part.is_some() || plan.is_selection && report.all_passed();
    let lenient = obstacle.is_none() && is_lenient;
    let lenient = lenient && partial.is_none();
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
    let is_missed = |step: &StepEvent| step.kind == StepKind::Must && step.outcome != Outcome::Done;
    let missed = || {
        trace.events.iter().find_map(|event| match &event.what {
            What::Step(step) if is_missed(step) => Some(match &step.observed {
                Some(Observed::Error(error)) => format!("it answered with the error {error}"),
                _ => "it did not send the expected message".to_owned(),
            }),
            _ => None,
        })
    };
    obstacle.map(first_line).or_else(missed)
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

/// The folder for the traces of a run.
#[derive(Clone, Copy)]
pub(super) struct Keep<'r> {
    /// The existing folder.
    pub(super) dir: &'r Path,
    /// Whether they are redacted.
    pub(super) redact: bool,
}

/// The outputs of a run.
pub(super) struct RunOutputs<'r> {
    /// The reports.
    pub(super) outputs: Outputs,
    /// The folder for its traces.
    pub(super) keep: Option<Keep<'r>>,
    /// The transcripts for comparison.
    pub(super) snapshots: Option<Snapshots>,
    /// Whether its cases are all that exist.
    pub(super) whole: bool,
    /// The failures that end the run.
    pub(super) fail_fast: Option<FailFast<'r>>,
}

/// `--fail-fast`: the failures that end a run.
#[derive(Clone, Copy)]
pub(super) struct FailFast<'r> {
    /// Whether a violated SHOULD counts like a violated MUST.
    strict: bool,
    /// The known failures.
    baseline: Option<&'r Baseline>,
}

impl FailFast<'_> {
    /// Whether the last added case has an unexpected failure.
    fn ends(self, report: &CaseReport, collector: &Collector) -> bool {
        let catalogue = &collector.edition().catalogue;
        let counts = |requirement: &str| match catalogue.find(requirement).map(|known| known.level) {
            Some(Level::Must) => report.verdict == Verdict::Fail,
            Some(Level::Should) => self.strict,
            _ => false,
        };
        let is_known =
            |requirement: &str| self.baseline.is_some_and(|baseline| baseline.covers(requirement, &report.id));
        collector.failures(&report.id).any(|(requirement, _)| counts(requirement) && !is_known(requirement))
    }
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

/// Runs the cases of the plan, unless `precheck` finds an obstacle or [`explore`] runs them.
pub(super) fn drive<'r>(
    plan: &RunPlan,
    mut wanted: RunOutputs<'r>,
    precheck: Precheck<'_>,
) -> anyhow::Result<RunOutcome<'r>> {
    // A person notices without help whether the client connects.
    let by_hand = plan.subject.agent_folder.is_some();
    let mut contact = if by_hand { None } else { Some(FirstContact::make(plan)?) };
    if let Some(contact) = contact.as_mut().filter(|contact| !is_cut_short(&contact.trace)) {
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
    } else if obstacle.is_none() && plan.walks.is_none() {
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
    /// Where traces are kept.
    pub(super) keep: Option<Keep<'r>>,
    /// The names of the traces that are kept so far.
    kept: HashSet<String>,
    edition: &'static Edition,
    /// The formats of the report.
    pub(super) outputs: Outputs,
    snapshots: Option<Snapshots>,
    fail_fast: Option<FailFast<'r>>,
    /// Whether the first results are known.
    has_first: bool,
}

impl<'r> RunInProgress<'r> {
    fn begin(plan: &RunPlan, mut wanted: RunOutputs<'r>, is_cut_short: bool) -> anyhow::Result<Self> {
        let edition = plan.bundle.edition();
        let mut collector = Collector::new(edition, plan.subject.party, plan.subject.command.clone());
        if plan.subject.agent_folder.is_some() {
            collector = collector.driven_by_hand();
        }
        let walks = plan.walks.as_ref().map_or(0, |walks| walks.count);
        let cases = if is_cut_short { 1 } else { plan.cases.len() + walks };
        let mut begin = Begin::new(&collector, cases, wanted.whole, plan.reproduce.clone());
        begin.cut_short = is_cut_short;
        wanted.outputs.event(&SuiteEvent::Begin(&begin))?;
        let RunOutputs { outputs, keep, snapshots, fail_fast, .. } = wanted;
        let listener =
            Listener { keep, kept: HashSet::new(), edition, outputs, snapshots, fail_fast, has_first: false };
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
        (not_run > 0).then_some(Partial { reason, not_run })
    }

    /// Returns the suite that adds cases to the results.
    pub(super) fn suite(&mut self) -> Suite<'_, Listener<'r>> {
        Suite::new(&mut self.collector, &mut self.listener)
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
        let options = SuiteOptions {
            jobs: plan.jobs,
            isolate: plan.isolate || self.listener.snapshots.is_some(),
            thorough: plan.thorough,
            fail_fast: self.listener.fail_fast.is_some(),
            in_order: plan.in_order,
        };
        self.suite().run(&rest, &plan.subject, options)
    }
}

impl Listener<'_> {
    /// Saves a trace, if traces are kept, and returns its file. A further run of a case does not replace the earlier
    /// ones, since they may prove a failure together.
    pub(super) fn keep_trace(&mut self, trace: &Trace) -> anyhow::Result<Option<String>> {
        let Some(keep) = self.keep else { return Ok(None) };
        let name = trace.file_name();
        let (stem, end) = name.rsplit_once('.').unwrap_or((&name, ""));
        let further = (2..).map(|number| format!("{stem}_{number}.{end}"));
        let new = std::iter::once(name.clone()).chain(further).find(|name| !self.kept.contains(name));
        let name = new.unwrap_or_else(|| unreachable!("numbers do not end"));
        let path = keep.dir.join(&name);
        self.kept.insert(name);
        if keep.redact {
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
        self.keep_trace(trace)
    }

    fn repeats(&mut self, requirement: &str, after: usize) -> anyhow::Result<()> {
        let cases = count(after, "other case", "other cases");
        say(&format!("{requirement} failed only after {cases}; repeating the conversation …"));
        Ok(())
    }

    fn settled(&mut self, collector: &Collector, report: &CaseReport, trace: Option<&Trace>) -> anyhow::Result<()> {
        if let Some(trace) = trace
            && let Some(snapshots) = self.snapshots.as_mut().filter(|_| report.verdict != Verdict::HarnessError)
        {
            snapshots.ended(trace)?;
        }
        if self.fail_fast.is_some_and(|fail_fast| fail_fast.ends(report, collector)) {
            stop(Stop::Failure);
        }
        self.outputs.event(&SuiteEvent::Case(report, trace))?;
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

fn first_case(plan: &RunPlan) -> anyhow::Result<Case> {
    embedded_case(&plan.bundle.handshake(plan.subject.party), plan.bundle).context("the built-in handshake is missing")
}

/// The handshake, run alone and first. A program that does not answer it is reported once, not for every case.
struct FirstContact {
    trace: Trace,
    /// The reason why this program cannot be tested.
    obstacle: Option<Diagnosis>,
}

impl FirstContact {
    fn make(plan: &RunPlan) -> anyhow::Result<Self> {
        let handshake = first_case(plan)?;
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
fn is_cut_short(trace: &Trace) -> bool {
    let ends = |event: &Event| matches!(&event.what, What::Step(step) if step.observed == Some(Observed::RunEnded));
    trace.events.iter().any(ends)
}

fn not_started(trace: &Trace) -> bool {
    trace.events.iter().any(|event| matches!(event.what, What::Process(ProcessEvent::NotSpawned(_))))
}
