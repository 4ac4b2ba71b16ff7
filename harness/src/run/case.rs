//! One running case: its names, the messages so far, and the current step.

pub(super) mod inbox;

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use self::inbox::Inbox;
use super::channel::{Channel, LoginStart};
use super::environment::{CaseEnv, Subject};
use super::limits::Limits;
use super::patience::Patience;
use crate::case::Bindings;
use crate::case::model::{Action, Case};
use crate::requirement::Party;
use crate::trace::{Exit, Expected, Observed, Outcome, StepEvent, StepKind, SubjectEnd};
use crate::transport::process::ProcessGroup;

/// A case while it runs.
pub(super) struct RunningCase<'c, C> {
    pub(super) case: &'c Case,
    pub(super) subject: &'c Subject,
    pub(super) env: &'c CaseEnv,
    pub(super) channel: &'c mut C,
    pub(super) limits: Limits,
    pub(super) bindings: Bindings,
    /// The messages of the subject, and the requests of the case.
    pub(super) inbox: Inbox,
    /// The index of the current step.
    pub(super) current: usize,
    /// The connection that the transcript uses: the one on which the last expected line of the subject came.
    pub(super) connection: usize,
    /// The running login in a terminal, which gets the next orders.
    pub(super) login: Option<LoginStart>,
    /// The number of logins that the transcript has awaited.
    pub(super) logins: usize,
    /// The events of the messages to MCP servers that a step took.
    pub(super) mcp_taken: BTreeSet<usize>,
    /// For each need of the case, whether the subject meets it.
    pub(super) met: Vec<bool>,
    /// The case has closed the subject's input.
    pub(super) input_closed: bool,
    /// The intent of the last prompt.
    pub(super) intent: Option<String>,
    /// When the transcript last sent something.
    pub(super) sent_at: Option<Instant>,
    /// The first optional step that was not met. Later steps may depend on it, so they no longer decide anything.
    pub(super) unmet: Option<usize>,
    /// The harness asked a person to do something in this case.
    pub(super) instructed: bool,
    /// The last act was the choice of a person, who may have chosen something else.
    pub(super) chosen_by_person: bool,
    /// The subject answered an unknown request in this case.
    pub(super) answers_unknown: bool,
    /// A fence was only a wait, so a missing message may still come.
    pub(super) had_weak_fence: bool,
    /// The transcript is over; the fence after it proves nothing.
    pub(super) is_over: bool,
    /// The wait for the first message, if this is the first start of a run.
    pub(super) patience: Option<Patience>,
    /// The programs that act on a client. They are ended with the case.
    pub(super) hooks: Vec<ProcessGroup>,
}

/// The data that the end of the conversation needs from its last case.
pub(super) struct Closing {
    pub(super) limits: Limits,
    pub(super) input_closed: bool,
    _hooks: Vec<ProcessGroup>,
}

/// The result of a step, before it becomes an event.
pub(super) struct StepResult {
    pub(super) kind: StepKind,
    pub(super) outcome: Outcome,
    pub(super) events: Vec<usize>,
    pub(super) expected: Option<Expected>,
    pub(super) observed: Option<Observed>,
}

impl StepResult {
    pub(super) const fn new(kind: StepKind, outcome: Outcome) -> Self {
        Self { kind, outcome, events: Vec::new(), expected: None, observed: None }
    }

    /// Builds the event of a step that the harness added to the case.
    pub(super) fn event(self) -> StepEvent {
        let Self { kind, outcome, events, expected, observed } = self;
        StepEvent { events, expected, observed, ..StepEvent::new(kind, outcome) }
    }
}

/// Builds the event of a step that failed inside the harness.
pub(super) fn own_fault(why: String) -> StepEvent {
    StepEvent { observed: Some(Observed::Problem(why)), ..StepEvent::new(StepKind::End, Outcome::HarnessError) }
}

/// Builds the event of an act that the user of this client cannot do, or that no profile describes.
pub(super) fn cannot_act(why: Observed) -> StepEvent {
    StepEvent { observed: Some(why), ..StepEvent::new(StepKind::Act, Outcome::Missed) }
}

impl<'c, C: Channel> RunningCase<'c, C> {
    /// Creates a case at its first step.
    pub(super) fn new(
        case: &'c Case,
        subject: &'c Subject,
        env: &'c CaseEnv,
        channel: &'c mut C,
        bindings: Bindings,
    ) -> Self {
        let limits = subject.limits.with(&case.limits);
        // A case before may have started the agent again.
        let connection = channel.state().connections.len().saturating_sub(1);
        Self {
            case,
            subject,
            env,
            channel,
            limits,
            bindings,
            inbox: Inbox::default(),
            current: 0,
            connection,
            login: None,
            logins: 0,
            mcp_taken: BTreeSet::new(),
            met: vec![false; case.needs.len()],
            input_closed: false,
            intent: None,
            sent_at: None,
            unmet: None,
            instructed: false,
            chosen_by_person: false,
            answers_unknown: false,
            had_weak_fence: false,
            is_over: false,
            patience: subject.is_first_start.then(Patience::new),
            hooks: Vec::new(),
        }
    }

    /// Ends the case, and keeps the data that the end of the conversation needs.
    pub(super) fn close(self) -> Closing {
        Closing { limits: self.limits, input_closed: self.input_closed, _hooks: self.hooks }
    }

    /// Waits for the next event and reads its messages; false if the deadline came first or nothing more can come. The
    /// first start of a run may pass the deadline.
    pub(super) async fn next(&mut self, mut deadline: Instant) -> bool {
        let messages = loop {
            match self.channel.next(deadline).await {
                None => match self.later_deadline() {
                    Some(later) => deadline = later,
                    None => break None,
                },
                messages => break messages,
            }
        };
        let happened = messages.is_some();
        self.inbox.receive(messages.unwrap_or_default());
        happened
    }

    /// Returns a later deadline, if this is the first start of a run and the subject is still starting.
    fn later_deadline(&mut self) -> Option<Instant> {
        let has_begun = !self.inbox.messages.is_empty() || self.channel.state().over;
        self.patience.as_mut().filter(|_| !has_begun)?.next_deadline()
    }

    /// Reads events until `done` or the deadline; true if `done`.
    pub(super) async fn until(&mut self, deadline: Instant, mut done: impl FnMut(&Self) -> bool) -> bool {
        while !done(self) {
            if !self.next(deadline).await {
                return done(self);
            }
        }
        true
    }

    /// Reads events until this moment, also if nothing more can come.
    pub(super) async fn pass_time(&mut self, until: Instant) {
        self.until(until, |_| false).await;
        tokio::time::sleep_until(until).await;
    }

    /// Returns the limit for something that a person does.
    pub(super) fn for_person(&self, limit: Duration) -> Duration {
        self.subject.person.as_ref().map_or(limit, |person| person.patience().max(limit))
    }

    /// Returns the limit for the effect of an act, which a person may still be doing.
    pub(super) fn after_act(&self, limit: Duration) -> Duration {
        let step = self.current.checked_sub(1).and_then(|before| self.case.steps.get(before));
        let acted = step.is_some_and(|step| matches!(step.action, Action::Act(_)));
        if acted && self.instructed { self.for_person(limit) } else { limit }
    }

    /// Returns the time for a check outside the conversation. After an unmet step the check decides nothing, so it does
    /// not wait.
    pub(super) fn for_check(&self, limit: Duration) -> Duration {
        if self.unmet.is_some() { Duration::ZERO } else { self.after_act(limit) }
    }

    /// Asks the person to do something, if a person operates the subject.
    pub(super) fn instruct(&mut self, text: &str) {
        let Some(person) = &self.subject.person else { return };
        if self.subject.agent_folder.is_none() && !self.instructed {
            person.show(&format!("\n{}", self.case.title));
        }
        self.instructed = true;
        person.instruct(text);
    }

    /// Waits for the exit of the subject, and collects the facts about the end of its stream.
    pub(super) async fn how_it_ended(&mut self) -> SubjectEnd {
        self.until(Instant::now() + self.limits.exit, |case| case.channel.state().exit.is_some()).await;
        let state = self.channel.state();
        // A receipt answers the prompts of version 2 long before the end of their work.
        let is_here = |(connection, _): &&(usize, String)| *connection == self.connection;
        let at_work = state.at_work.iter().find(is_here).map(|_| "session/prompt".to_owned());
        SubjectEnd {
            exit: state.exit.clone(),
            meaning: state.exit.as_ref().and_then(|exit| self.meaning(exit)),
            flooded: state.flooded,
            input_closed: self.input_closed,
            connected: !state.connections.is_empty(),
            unanswered: state.unanswered(self.connection).map(str::to_owned).chain(at_work).collect(),
        }
    }

    /// Returns the meaning of an exit code according to the profile.
    fn meaning(&self, exit: &Exit) -> Option<String> {
        let Exit::Code(code) = exit else { return None };
        self.subject.controls.exit_codes.get(code).cloned()
    }

    /// Whether a person started the client of this case by hand.
    pub(super) const fn is_by_hand(&self) -> bool {
        self.subject.agent_folder.is_some()
    }

    /// Returns the tested party.
    pub(super) const fn party(&self) -> Party {
        self.case.subject
    }
}
