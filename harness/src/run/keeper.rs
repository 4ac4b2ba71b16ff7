//! Keeps a process of a slow agent for further cases that begin in the same way, one process for each job.
//!
//! Nobody is accused for it, and nothing is left open for it: what accuses somebody or decides nothing on a process that was
//! used before, or behind the fence that has to stand between two cases, is played again on a fresh one, and only that
//! counts. A process is kept only as long as each of its cases leaves it as found; see [`super::reuse`].

use std::io;
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Runtime;

use super::driver::Driver;
use super::interrupt::{interrupted, listen};
use super::play::{Ending, Premises, Stage, bindings, enter, header, leave, perform, run_case, services};
use super::record::Recorder;
use super::reuse::{Opening, beginning, left_as_found};
use super::sandbox::Sandbox;
use super::script::Script;
use super::subject::Subject;
use crate::case::model::Case;
use crate::peer::process::reap_marked;
use crate::trace::{Event, Outcome, ProcessEvent, Reuse, Trace, What};
use crate::verdict::Verdict;

/// Says what the trace of a case comes to, apart from the answer to `initialize`, which every case on its process shares.
pub type Verdicts<'a> = &'a (dyn Fn(&Trace) -> Verdict + Sync);

/// How many cases a process serves at most, so that what it cannot forget does not add up.
const MOST_CASES: usize = 32;

/// How long an agent has for the fence between two cases.
const FENCE: Duration = Duration::from_secs(5);

/// A process that waits for its next case.
struct Held {
    premises: Premises,
    driver: Driver,
    past: Past,
}

/// What a process has behind it.
struct Past {
    /// The events up to the answer to `initialize`.
    beginning: Vec<Event>,
    /// That answer.
    answer: Value,
    served: Reuse,
}

/// One job that plays cases, with the process that it keeps meanwhile.
pub(super) struct Keeper<'s> {
    subject: &'s Subject,
    verdicts: Verdicts<'s>,
    /// How the cases begin that may share a process.
    opening: Option<&'s Opening>,
    runtime: Runtime,
    held: Option<Held>,
    /// The agent leaves a fence without an answer, or speaks out of turn behind a case.
    is_unfit: bool,
}

impl<'s> Keeper<'s> {
    /// A job without a process so far.
    ///
    /// # Panics
    ///
    /// Only if the operating system refuses an event loop.
    pub(super) fn new(subject: &'s Subject, verdicts: Verdicts<'s>, opening: Option<&'s Opening>) -> Self {
        listen();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an event loop");
        Self { subject, verdicts, opening, runtime, held: None, is_unfit: false }
    }

    /// Plays one case, on the process that is kept if it fits, and on a fresh one otherwise; and says whether it took both.
    pub(super) fn play(&mut self, case: &Case) -> (Trace, bool) {
        let fits = |held: &mut Held| self.opening.is_some_and(|opening| opening.may_go_on(case, &held.past.answer));
        match self.held.take_if(fits) {
            Some(held) => match self.go_on(case, held) {
                Some(trace) => (trace, false),
                None => (self.play_alone(case), true),
            },
            None => (self.play_alone(case), false),
        }
    }

    /// Plays a case on a fresh process, which is kept if there is none.
    fn play_alone(&mut self, case: &Case) -> Trace {
        let may_begin = self.opening.is_some_and(|opening| opening.may_begin(case));
        if may_begin && self.held.is_none() && !self.is_unfit {
            self.play_first(case)
        } else {
            run_case(case, self.subject)
        }
    }

    /// Plays a case on a fresh process, which may be kept for others.
    fn play_first(&mut self, case: &Case) -> Trace {
        match self.runtime.block_on(enter(case, self.subject)) {
            Ok(stage) => self.play_on(case, stage, &Reuse::default()).unwrap_or_else(|| run_case(case, self.subject)),
            Err(recorder) => self.trace(case, recorder.finish()),
        }
    }

    /// Plays a case on a process that was used before; none when it has to be played on a fresh one.
    fn go_on(&mut self, case: &Case, mut held: Held) -> Option<Trace> {
        if held.furnish(case).is_err() {
            self.end(held);
            return None;
        }
        let served = held.past.served.clone();
        self.play_on(case, held.enter(case, self.subject), &served)
    }

    /// Plays a case, and keeps the process if it may go on; none when something may have come of the process having been used
    /// before, or of the fence behind the case.
    fn play_on(&mut self, case: &Case, stage: Stage, served: &Reuse) -> Option<Trace> {
        let (mut script, ending) = self.runtime.block_on(perform(case, self.subject, stage));
        let is_fresh = served.cases == 0;
        if ending != Ending::Over || !self.may_go_on(&script, served) {
            let trace = self.trace(case, self.runtime.block_on(leave(script)));
            return (is_fresh || interrupted() || self.is_decided(&trace)).then_some(trace);
        }
        let Some(past) = self.settle(&mut script, served) else {
            // It would be the same behind the next case.
            self.is_unfit |= is_fresh;
            self.runtime.block_on(leave(script));
            return None;
        };
        let Script { premises, mut driver, .. } = script;
        let events = std::mem::replace(&mut driver.recorder, Recorder::start()).finish();
        self.held = Some(Held { premises, driver, past });
        let trace = self.trace(case, events);
        (is_fresh || self.is_decided(&trace)).then_some(trace)
    }

    /// Whether the process may go on, as far as can be seen without asking it.
    fn may_go_on(&self, script: &Script<'_>, served: &Reuse) -> bool {
        let left = left_as_found(script.driver.recorder.events(), &served.sessions);
        left.is_some() && served.cases + 1 < MOST_CASES && self.accuses_nobody(script)
    }

    /// Sees to it that nothing of the case is on its way any more. Without success the process must not go on.
    fn settle(&mut self, script: &mut Script<'_>, served: &Reuse) -> Option<Past> {
        script.driver.recorder.record(What::Process(ProcessEvent::Parted));
        let answered = self.runtime.block_on(async {
            let fence = script.fence(FENCE).await;
            script.driver.end_services().await;
            script.driver.take_in_model();
            fence.outcome == Outcome::Done
        });
        let events = script.driver.recorder.events();
        let sessions = left_as_found(events, &served.sessions).filter(|_| answered && self.accuses_nobody(script))?;
        let (beginning, answer) = beginning(events)?;
        let sessions = served.sessions.union(&sessions).cloned().collect();
        let served = Reuse { cases: served.cases + 1, sessions, requests: script.driver.requests() };
        Some(Past { beginning: beginning.to_vec(), answer, served })
    }

    fn accuses_nobody(&self, script: &Script<'_>) -> bool {
        let trace = self.trace(script.case, script.driver.recorder.events().to_vec());
        matches!((self.verdicts)(&trace), Verdict::Pass | Verdict::NotApplicable | Verdict::Inconclusive)
    }

    /// Whether a trace counts although its process was used before.
    fn is_decided(&self, trace: &Trace) -> bool {
        matches!((self.verdicts)(trace), Verdict::Pass | Verdict::NotApplicable)
    }

    fn trace(&self, case: &Case, events: Vec<Event>) -> Trace {
        Trace { header: header(case, self.subject), events }
    }

    /// Ends a process that was kept. No trace tells of it; how a process ends is shown by cases that have their own.
    fn end(&self, held: Held) {
        let Held { premises, mut driver, .. } = held;
        self.runtime.block_on(driver.shut_down(self.subject.limits.exit, false));
        reap_marked(&premises.sandbox.marker());
    }

    /// Ends the job, with the process that it keeps.
    pub(super) fn close(mut self) {
        if let Some(held) = self.held.take() {
            self.end(held);
        }
        // Tasks that still hold a pipe of a process that left its group must not keep the program waiting.
        self.runtime.shutdown_background();
    }
}

impl Held {
    /// Gives a case its working directory.
    fn furnish(&mut self, case: &Case) -> io::Result<()> {
        let sandbox = &mut self.premises.sandbox;
        sandbox.begin_workspace(self.past.served.cases + 1)?;
        self.driver.turn_model_to(&case.id)?;
        Sandbox::write(sandbox.workspace(), case.workspace.iter().map(|(path, text)| (path, text.clone())))
    }

    /// Goes on to a case.
    fn enter(self, case: &Case, subject: &Subject) -> Stage {
        let Self { premises, driver, past } = self;
        let bindings = bindings(case, subject, &premises.sandbox);
        let setup = case.tester.filled(&bindings);
        let services = services(&setup, subject, &premises.sandbox);
        let driver = driver.go_on(Recorder::resume(&past.beginning), services, setup, past.served);
        Stage { premises, bindings, driver }
    }
}
