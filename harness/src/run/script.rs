//! Walks the transcript of a case: sends the tester's lines, waits for the subject's, and notes how each step went.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::act::{self, Hook};
use super::driver::{Driver, LoginStart};
use super::expect;
use super::limits::Limits;
use super::login;
use super::look;
use super::mcp;
use super::play::Premises;
use super::reuse;
use super::subject::Subject;
use super::wait;
use crate::case::model::{Action, Case, Presence, Step};
use crate::case::template::Bindings;
use crate::requirement::Party;
use crate::trace::{Expected, Observed, Outcome, StepEvent, StepKind, What};

/// How long an agent has after the transcript to release its terminals: longer than the judge takes for enough.
const RELEASING: Duration = Duration::from_secs(6);

/// Whether the transcript goes on behind a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

/// A case while it is played.
pub(super) struct Script<'c> {
    pub(super) case: &'c Case,
    pub(super) subject: &'c Subject,
    pub(super) premises: Premises,
    /// The programs that act on a client.
    pub(super) hooks: Vec<Hook>,
    pub(super) limits: Limits,
    pub(super) driver: Driver,
    pub(super) bindings: Bindings,
    /// The connection that the transcript speaks on: that of the last line of the subject which it expected.
    pub(super) connection: usize,
    /// The login in a terminal that runs, and to which the orders go.
    pub(super) login: Option<LoginStart>,
    /// How many logins the transcript has awaited.
    pub(super) logins: usize,
    /// The connections of the subject's requests, by label.
    pub(super) callers: BTreeMap<String, usize>,
    /// The step that is being played, by its index.
    pub(super) at: usize,
    /// How many messages of the subject the transcript has passed.
    pub(super) cursor: usize,
    /// Which needs of the case were found to be met.
    pub(super) met: Vec<bool>,
    pub(super) input_closed: bool,
    /// When the transcript last sent something.
    pub(super) sent_at: Option<Instant>,
    /// The first step that was hoped for in vain; what stands behind it has lost its ground, and accuses nobody.
    pub(super) missed: Option<usize>,
    /// Whether a person was told to do something in this case.
    pub(super) told: bool,
    /// Whether an unknown request was answered in this case.
    pub(super) answers_unknown: bool,
    /// Whether a fence was no more than a wait, so that what did not come may still come.
    pub(super) is_weak: bool,
}

/// How a step went, before it becomes an event.
pub(super) struct Report {
    pub(super) kind: StepKind,
    pub(super) outcome: Outcome,
    pub(super) events: Vec<usize>,
    pub(super) expected: Option<Expected>,
    pub(super) observed: Option<Observed>,
}

impl Report {
    pub(super) fn new(kind: StepKind, outcome: Outcome) -> Self {
        Self { kind, outcome, events: Vec::new(), expected: None, observed: None }
    }

    /// The event of a step that does not stand in the case.
    pub(super) fn event(self) -> StepEvent {
        let Self { kind, outcome, events, expected, observed } = self;
        StepEvent {
            kind,
            line: 0,
            include: None,
            text: String::new(),
            outcome,
            decides: Vec::new(),
            events,
            expected,
            observed,
        }
    }
}

impl Script<'_> {
    pub(super) async fn transcript(&mut self) {
        let case = self.case;
        let mut whole = true;
        if let Err(why) = act::begin(self) {
            self.driver.recorder.record(What::Step(cannot_act(why)));
            return;
        }
        for (index, step) in case.steps.iter().enumerate() {
            self.at = index;
            let report = self.step(index, step).await;
            let next = self.note(index, step, report);
            if let Some(fault) = self.driver.own_fault.take() {
                self.driver.recorder.record(What::Step(own_fault(fault)));
                return;
            }
            if self.needs_unmet() || next == Next::Stop {
                whole = false;
                break;
            }
        }
        if whole && case.subject == Party::Client {
            whole = self.alive().await;
        }
        if whole && self.driver.holds_terminals() && !self.input_closed {
            self.settle().await;
        }
        self.judge_nevers(whole);
    }

    /// Has the person do something, if there is one.
    pub(super) fn instruct(&mut self, text: &str) {
        let Some(person) = &self.subject.person else { return };
        if self.subject.desk.is_none() && !self.told {
            person.tell(&format!("\n{}", self.case.title));
        }
        self.told = true;
        person.instruct(text);
    }

    /// Ends the transcript with a sign of life, so that a client that crashed or hangs is told from one that is silent.
    async fn alive(&mut self) -> bool {
        let last = self.case.steps.last();
        let fenced = last.is_some_and(|step| matches!(step.action, Action::Fence | Action::End | Action::Exit { .. }));
        // A client may leave once its turn is over.
        if fenced || self.input_closed || !self.driver.in_turn(self.connection) {
            return true;
        }
        let report = self.fence(self.limits.answer).await;
        let alive = matches!(report.outcome, Outcome::Done | Outcome::Quiet);
        let event = StepEvent { line: 0, text: "a sign of life at the end".to_owned(), ..report.event() };
        self.driver.recorder.record(What::Step(event));
        alive
    }

    /// Gives an agent the time to release the terminals that it holds, and then shows by a fence that it had it.
    async fn settle(&mut self) {
        let released = |driver: &Driver| driver.over() || !driver.holds_terminals();
        if self.driver.until(Instant::now() + RELEASING, released).await {
            return;
        }
        let report = self.fence(self.limits.answer).await;
        let event = StepEvent { text: "a fence before the end".to_owned(), ..report.event() };
        self.driver.recorder.record(What::Step(event));
    }

    async fn step(&mut self, index: usize, step: &Step) -> Report {
        match &step.action {
            Action::Send(_) if index == 0 && self.driver.is_reused() => self.take_over(step),
            Action::Send(lines) => self.send(lines),
            Action::Raw(raw) => self.raw(raw),
            Action::Expect { line, presence: Presence::Must } => self.must(line, step.within).await,
            Action::Expect { line, presence: Presence::Hope } => self.hope(index, line, step.within).await,
            Action::Expect { line, presence: Presence::Any } => self.any(line),
            Action::AnyOrder(lines) => self.any_order(lines, step.within).await,
            Action::Never(_) => Report::new(StepKind::Never, Outcome::Done),
            Action::Fence => self.telling_fence(step).await,
            Action::Reply(reply) => look::reply(self, reply),
            Action::File(file) => look::file(self, file, step.within).await,
            Action::Process(process) => look::process(self, process, step.within).await,
            Action::Mcp(look) => mcp::message(self, look, step.within).await,
            Action::Page(visited) => look::page(self, *visited).await,
            Action::Act(act) => act::perform(self, act),
            Action::AgentProcess(order) => act::order(self, order),
            Action::Login => login::wait_for(self, step.within).await,
            Action::CloseStdin => {
                self.driver.close_input(self.connection);
                self.input_closed = true;
                Report::new(StepKind::Send, Outcome::Done)
            }
            Action::End => self.end(self.after_an_act(step.within.unwrap_or(self.limits.exit))).await,
            Action::Exit { .. } if self.subject.desk.is_some() => wait::unseen_exit(),
            Action::Exit { code } => self.exit(*code, step.within.unwrap_or(self.limits.exit)).await,
        }
    }

    /// The request with which the process began, in the place of that of the case, which is the same.
    fn take_over(&mut self, step: &Step) -> Report {
        let event = reuse::initialize(&step.action).and_then(|(label, _)| self.driver.take_over(label));
        let outcome = if event.is_some() { Outcome::Done } else { Outcome::HarnessError };
        Report { events: event.into_iter().collect(), ..Report::new(StepKind::Send, outcome) }
    }

    /// Records how a step went. What was sent as written leaves no event behind, since its lines are in the trace, nor does
    /// a look that found everything as it should be and decides nothing. What a user does is in no line.
    fn note(&mut self, index: usize, step: &Step, report: Report) -> Next {
        let stop = match report.outcome {
            Outcome::Missed if matches!(report.kind, StepKind::Send | StepKind::Act | StepKind::Must) => Next::Stop,
            Outcome::Done | Outcome::Missed | Outcome::Quiet => Next::GoOn,
            // What a look finds decides its requirement; the conversation itself goes on as written.
            Outcome::Contradicted if is_look(report.kind) => Next::GoOn,
            _ => Next::Stop,
        };
        let matched = matches!(report.kind, StepKind::Must | StepKind::Hope) && !report.events.is_empty();
        let telling = matched || matches!(report.kind, StepKind::Fence | StepKind::Act) || !step.decides.is_empty();
        let silent = report.outcome == Outcome::Done && !telling;
        // A wrong text or file without a requirement of its own is no more than a hope.
        let undecided = report.outcome == Outcome::Contradicted && step.decides.is_empty();
        let missed = report.outcome == Outcome::Missed || undecided;
        if !silent && report.kind != StepKind::Never {
            self.record(step, report, self.missed.is_none());
        }
        self.missed = self.missed.or(missed.then_some(index));
        stop
    }

    fn record(&mut self, step: &Step, report: Report, decides: bool) {
        let Report { kind, outcome, events, expected, observed } = report;
        let event = StepEvent {
            kind,
            line: step.place.line,
            include: self.case.include_of(step).map(str::to_owned),
            text: step.text.clone(),
            outcome,
            decides: if decides { step.decides.clone() } else { Vec::new() },
            events,
            expected,
            observed,
        };
        self.driver.recorder.record(What::Step(event));
    }

    /// Notes for every line that must not come whether it came. That it did not shows something only when the transcript
    /// was played to its end, with all that it hoped for.
    fn judge_nevers(&mut self, whole: bool) {
        let case = self.case;
        for (index, step) in case.steps.iter().enumerate() {
            let Action::Never(line) = &step.action else { continue };
            let came = expect::came(self, index, line);
            let expected = Some(Expected::NoMessage(expect::describe(self, line)));
            let (outcome, observed, decides) = if came.is_empty() && self.is_weak {
                (Outcome::Quiet, Some(Observed::NoMessageSoFar), whole && self.missed.is_none())
            } else if came.is_empty() {
                (Outcome::Done, None, whole && self.missed.is_none())
            } else {
                (Outcome::Contradicted, Some(Observed::Message), self.missed.is_none_or(|missed| index < missed))
            };
            self.record(step, Report { kind: StepKind::Never, outcome, events: came, expected, observed }, decides);
        }
    }
}

/// Whether a step of this kind looks beside the conversation.
const fn is_look(kind: StepKind) -> bool {
    matches!(kind, StepKind::Reply | StepKind::File | StepKind::Process | StepKind::Page | StepKind::Mcp)
}

/// Something that the harness could not do, for a reason of its own.
pub(super) fn own_fault(why: String) -> StepEvent {
    Report { observed: Some(Observed::Problem(why)), ..Report::new(StepKind::End, Outcome::HarnessError) }.event()
}

/// Something that nobody said how to do with this client.
pub(super) fn cannot_act(why: String) -> StepEvent {
    Report { observed: Some(Observed::Problem(why)), ..Report::new(StepKind::Act, Outcome::Missed) }.event()
}
