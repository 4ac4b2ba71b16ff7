//! Runs several cases in one process of a slow agent, one process for each job.
//!
//! The verdicts do not depend on it: a case that fails or stays undecided in a used process, or in the fence after it, runs again in
//! a fresh one, and only that counts. A process stays only as long as each of its cases leaves it as found; see [`super::plan`].

use std::io;

use serde_json::Value;
use tokio::runtime::Runtime;

use super::case::RunningCase;
use super::conversation::Conversation;
use super::environment::{CaseEnv, Sandbox, Subject, bindings, services};
use super::interrupt::{listen, stopped};
use super::plan::{Opening, beginning, left_as_found};
use super::recorder::Recorder;
use super::single::{Ending, ReadyCase, finish, header, run_case, run_transcript, start};
use super::timing::FENCE_BETWEEN_CASES;
use crate::case::model::Case;
use crate::trace::{Event, Outcome, ProcessEvent, Reuse, Trace, What};
use crate::transport::process::reap_marked;
use crate::verdict::Verdict;

/// Says what the trace of a case comes to, apart from the answer to `initialize`, which every case on its process shares.
pub type Verdicts<'a> = &'a (dyn Fn(&Trace) -> Verdict + Sync);

/// How many cases a process serves at most, so that what it cannot forget does not add up.
const MOST_CASES: usize = 32;

/// A process that waits for its next case.
struct IdleProcess {
    env: CaseEnv,
    conversation: Conversation,
    history: History,
}

/// The history of a process.
struct History {
    /// The events up to the answer to `initialize`.
    beginning: Vec<Event>,
    /// That answer.
    answer: Value,
    served: Reuse,
}

/// One job that runs cases, with the process that it keeps meanwhile.
pub(super) struct Job<'s> {
    subject: &'s Subject,
    verdicts: Verdicts<'s>,
    /// The beginning of the cases that may share a process.
    opening: Option<&'s Opening>,
    runtime: Runtime,
    idle: Option<IdleProcess>,
    /// The agent does not answer a fence, or sends something after a case.
    is_unfit: bool,
}

impl<'s> Job<'s> {
    /// A job without a process so far.
    ///
    /// # Panics
    ///
    /// Only if the operating system refuses an event loop.
    pub(super) fn new(subject: &'s Subject, verdicts: Verdicts<'s>, opening: Option<&'s Opening>) -> Self {
        listen();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an event loop");
        Self { subject, verdicts, opening, runtime, idle: None, is_unfit: false }
    }

    /// Runs one case, in the idle process if that fits, and in a fresh one otherwise; the flag says whether it took both.
    pub(super) fn run(&mut self, case: &Case) -> (Trace, bool) {
        let fits =
            |idle: &mut IdleProcess| self.opening.is_some_and(|opening| opening.may_go_on(case, &idle.history.answer));
        match self.idle.take_if(fits) {
            Some(idle) => match self.run_next(case, idle) {
                Some(trace) => (trace, false),
                None => (self.run_fresh(case), true),
            },
            None => (self.run_fresh(case), false),
        }
    }

    /// Runs a case in a fresh process, which is kept if there is none.
    fn run_fresh(&mut self, case: &Case) -> Trace {
        let may_begin = self.opening.is_some_and(|opening| opening.may_begin(case));
        if may_begin && self.idle.is_none() && !self.is_unfit {
            self.run_first(case)
        } else {
            run_case(case, self.subject)
        }
    }

    /// Runs a case in a fresh process, which may be kept for others.
    fn run_first(&mut self, case: &Case) -> Trace {
        match self.runtime.block_on(start(case, self.subject)) {
            Ok(ready) => self.run_ready(case, ready, &Reuse::default()).unwrap_or_else(|| run_case(case, self.subject)),
            Err(recorder) => self.trace(case, recorder.finish()),
        }
    }

    /// Runs a case in a used process; `None` when it has to run in a fresh one.
    fn run_next(&mut self, case: &Case, mut idle: IdleProcess) -> Option<Trace> {
        if idle.prepare_workspace(case).is_err() {
            self.end(idle);
            return None;
        }
        let served = idle.history.served.clone();
        self.run_ready(case, idle.go_on(case, self.subject), &served)
    }

    /// Runs a case, and keeps the process if it may go on; `None` when the earlier cases, or the fence after this one, may have
    /// changed the result.
    fn run_ready(&mut self, case: &Case, ready: ReadyCase, served: &Reuse) -> Option<Trace> {
        let ReadyCase { env, bindings, mut conversation } = ready;
        let mut running = RunningCase::new(case, self.subject, &env, &mut conversation, bindings);
        let ending = self.runtime.block_on(run_transcript(&mut running));
        let is_fresh = served.cases == 0;
        if ending != Ending::Over || !self.may_go_on(&running, served) {
            let closing = running.close();
            let trace = self.trace(case, self.runtime.block_on(finish(conversation, &env, closing)));
            return (is_fresh || stopped().is_some() || self.is_decided(&trace)).then_some(trace);
        }
        let is_quiet = self.fence_off(&mut running);
        let closing = running.close();
        self.runtime.block_on(conversation.end_services());
        conversation.take_in_model();
        let Some(history) = self.history(case, &conversation, served).filter(|_| is_quiet) else {
            // It would be the same after the next case.
            self.is_unfit |= is_fresh;
            self.runtime.block_on(finish(conversation, &env, closing));
            return None;
        };
        let events = std::mem::replace(&mut conversation.state.recorder, Recorder::start()).finish();
        self.idle = Some(IdleProcess { env, conversation, history });
        let trace = self.trace(case, events);
        (is_fresh || self.is_decided(&trace)).then_some(trace)
    }

    /// Whether the process may go on, as far as the trace shows.
    fn may_go_on(&self, running: &RunningCase<'_, Conversation>, served: &Reuse) -> bool {
        let events = running.channel.state.recorder.events();
        let left = left_as_found(events, &served.sessions);
        left.is_some() && served.cases + 1 < MOST_CASES && self.fails_nothing(running.case, events)
    }

    /// Proves with a fence that nothing of the case is on its way any more.
    fn fence_off(&self, running: &mut RunningCase<'_, Conversation>) -> bool {
        running.channel.state.recorder.record(What::Process(ProcessEvent::Parted));
        self.runtime.block_on(running.fence(FENCE_BETWEEN_CASES)).outcome == Outcome::Done
    }

    /// The history of a process after a case; `None` if the case has left it otherwise than found.
    fn history(&self, case: &Case, conversation: &Conversation, served: &Reuse) -> Option<History> {
        let events = conversation.state.recorder.events();
        let sessions = left_as_found(events, &served.sessions).filter(|_| self.fails_nothing(case, events))?;
        let (beginning, answer) = beginning(events)?;
        let sessions = served.sessions.union(&sessions).cloned().collect();
        let served = Reuse { cases: served.cases + 1, sessions, requests: conversation.requests() };
        Some(History { beginning: beginning.to_vec(), answer, served })
    }

    fn fails_nothing(&self, case: &Case, events: &[Event]) -> bool {
        let trace = self.trace(case, events.to_vec());
        matches!((self.verdicts)(&trace), Verdict::Pass | Verdict::NotApplicable | Verdict::Inconclusive)
    }

    /// Whether a trace counts although its process was used before.
    fn is_decided(&self, trace: &Trace) -> bool {
        matches!((self.verdicts)(trace), Verdict::Pass | Verdict::NotApplicable)
    }

    fn trace(&self, case: &Case, events: Vec<Event>) -> Trace {
        Trace { header: header(case, self.subject), events }
    }

    /// Ends an idle process. No trace records it; cases with a process of their own are about its exit.
    fn end(&self, idle: IdleProcess) {
        let IdleProcess { env, mut conversation, .. } = idle;
        self.runtime.block_on(conversation.shut_down(self.subject.limits.exit, false));
        reap_marked(&env.sandbox.marker());
    }

    /// Ends the job, with the process that it keeps.
    pub(super) fn close(mut self) {
        if let Some(idle) = self.idle.take() {
            self.end(idle);
        }
        // Tasks that still hold a pipe of a process that left its group must not keep the program waiting.
        self.runtime.shutdown_background();
    }
}

impl IdleProcess {
    /// Makes the working directory of the next case.
    fn prepare_workspace(&mut self, case: &Case) -> io::Result<()> {
        let sandbox = &mut self.env.sandbox;
        sandbox.begin_workspace(self.history.served.cases + 1)?;
        self.conversation.turn_model_to(&case.id)?;
        Sandbox::write(sandbox.workspace(), case.workspace.iter().map(|(path, text)| (path, text.clone())))
    }

    /// Goes on to a case.
    fn go_on(self, case: &Case, subject: &Subject) -> ReadyCase {
        let Self { env, conversation, history } = self;
        let bindings = bindings(case, subject, &env.sandbox);
        let setup = case.tester.filled(&bindings);
        let services = services(&setup, subject, &env.sandbox);
        let conversation = conversation.go_on(Recorder::resume(&history.beginning), services, setup, history.served);
        ReadyCase { env, bindings, conversation }
    }
}
