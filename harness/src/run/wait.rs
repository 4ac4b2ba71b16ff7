//! Waits for the subject: for its lines, for its silence, for its end. Every wait has a deadline.

use std::time::Duration;

use tokio::time::Instant;

use super::driver::Driver;
use super::expect::{self, Found};
use super::script::{Report, Script};
use crate::case::model::{Action, Incoming, Step};
use crate::requirement::Party;
use crate::trace::{Exit, Expected, Observed, Outcome, StepEvent, StepKind, SubjectEnd, What};

/// How long a subject has for the fence that follows a time limit, to tell a dropped request from a wedged subject.
const FENCE_AFTER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a subject has to crash after it answered the fence that follows a line in breach of the protocol. Programs were
/// seen to do so 100 ms later.
const SETTLE: Duration = Duration::from_millis(200);

/// What a client may ask its user before it answers.
const ASKS_ITS_USER: [&str; 2] = ["session/request_permission", "elicitation/create"];

impl Script<'_> {
    pub(super) async fn must(&mut self, line: &Incoming, within: Option<Duration>) -> Report {
        let deadline = self.deadline(line, within);
        let mut doubt = Some(Instant::now() + self.patience_with_unknown());
        let mut looked = 0;
        loop {
            match expect::look_for(self, line, looked) {
                Found::Matched(report) | Found::Contradicted(report) => return report,
                Found::NotYet => looked = self.driver.inbox.len(),
            }
            let until = doubt.map_or(deadline, |doubt| doubt.min(deadline));
            if self.nothing_more(line) {
                return self.never_came(line, self.limit(line, within)).await;
            }
            if self.driver.step(until).await {
                continue;
            }
            if doubt.take().is_none() || until == deadline {
                return self.never_came(line, self.limit(line, within)).await;
            }
            if self.ignores_unknown(line).await {
                return self.left_unanswered(line);
            }
        }
    }

    /// An unknown request without an answer, where the subject answers no such request: nothing is said of what the line is
    /// about, and the silence itself is judged in a case of its own.
    fn left_unanswered(&self, line: &Incoming) -> Report {
        let events = expect::request_event(self, line).into_iter().collect();
        let expected = Some(Expected::Message(expect::describe(self, line)));
        Report {
            events,
            expected,
            observed: Some(Observed::UnknownRequestUnanswered),
            ..Report::new(StepKind::Must, Outcome::Missed)
        }
    }

    fn limit(&self, line: &Incoming, within: Option<Duration>) -> Duration {
        let asked = line.body.answers().and_then(|label| self.driver.asked.get(label));
        let limit = within.unwrap_or_else(|| match asked {
            // Whatever it is asked first, it has to start before it can answer.
            Some(asked) if self.driver.inbox.is_empty() => self.limits.for_method(&asked.method).max(self.limits.start),
            Some(asked) => self.limits.for_method(&asked.method),
            None if self.driver.connections() == 0 => self.limits.start,
            None if self.case.subject == Party::Client => self.limits.answer,
            None => self.limits.turn,
        });
        if self.is_up_to_a_person(line) { self.patient(limit) } else { limit }
    }

    fn deadline(&self, line: &Incoming, within: Option<Duration>) -> Instant {
        let asked = line.body.answers().and_then(|label| self.driver.asked.get(label));
        // What the transcript sent since may be why the answer comes only now, as with a close or a cancel.
        asked.map_or_else(Instant::now, |asked| self.sent_at.map_or(asked.at, |sent| sent.max(asked.at)))
            + self.limit(line, within)
    }

    /// Whether a person has to do something before the line can come.
    fn is_up_to_a_person(&self, line: &Incoming) -> bool {
        let Some(label) = line.body.answers() else { return self.told };
        let asked = self.driver.asked.get(label);
        self.subject.desk.is_some() && asked.is_some_and(|asked| ASKS_ITS_USER.contains(&asked.method.as_str()))
    }

    /// The limit for something that a person does.
    fn patient(&self, limit: Duration) -> Duration {
        self.subject.person.as_ref().map_or(limit, |person| person.patience().max(limit))
    }

    /// The limit for something that comes of an act, when a person may still be at it.
    pub(super) fn after_an_act(&self, limit: Duration) -> Duration {
        let step = self.at.checked_sub(1).and_then(|before| self.case.steps.get(before));
        let acted = step.is_some_and(|step| matches!(step.action, Action::Act(_)));
        if acted && self.told { self.patient(limit) } else { limit }
    }

    /// Whether the line cannot come any more.
    fn nothing_more(&self, line: &Incoming) -> bool {
        let asked = line.body.answers().and_then(|label| self.driver.asked.get(label));
        asked.map_or_else(|| self.driver.over(), |asked| self.driver.ended(asked.connection))
    }

    /// The result for a line that did not come: the stream ended, or the limit was met.
    async fn never_came(&mut self, line: &Incoming, limit: Duration) -> Report {
        let expected = Some(Expected::Message(expect::describe(self, line)));
        // A client is not responsible for a person who does not answer.
        let request = expect::request_event(self, line).filter(|_| !self.is_up_to_a_person(line));
        let events = request.into_iter().collect();
        if self.nothing_more(line) {
            let observed = Some(Observed::Ended(self.how_it_ended().await));
            return Report { events, expected, observed, ..Report::new(StepKind::Must, Outcome::Ended) };
        }
        let observed = Some(Observed::TimedOut {
            after_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            connected: self.driver.connections() > 0,
            by_person: self.subject.desk.is_some(),
        });
        let report = Report { events, expected, observed, ..Report::new(StepKind::Must, Outcome::TimedOut) };
        // Before the handshake there is nobody to ask.
        let greeted = match self.case.subject {
            Party::Agent => self.driver.inbox.iter().any(|seen| seen.value.get("result").is_some()),
            Party::Client => !self.driver.inbox.is_empty(),
        };
        if greeted {
            self.fence_after_timeout().await;
        }
        report
    }

    async fn fence_after_timeout(&mut self) {
        let fence = self.fence(FENCE_AFTER_TIMEOUT).await;
        self.record_own_fence(fence, "a fence after the time limit");
    }

    /// Records a fence that does not stand in the case, if it was answered.
    pub(super) fn record_own_fence(&mut self, fence: Report, text: &str) {
        if fence.outcome == Outcome::Done {
            let event = StepEvent { text: text.to_owned(), expected: None, ..fence.event() };
            self.driver.recorder.record(What::Step(event));
        }
    }

    /// Waits for a line that need not come; gives up when the conversation has passed it.
    pub(super) async fn hope(&mut self, index: usize, line: &Incoming, within: Option<Duration>) -> Report {
        let deadline = self.deadline(line, within);
        let mut looked = 0;
        loop {
            match expect::look_for(self, line, looked) {
                Found::Matched(report) => return Report { kind: StepKind::Hope, ..report },
                Found::Contradicted(report) => {
                    let login = report.outcome == Outcome::LoginNeeded;
                    let outcome = if login { Outcome::LoginNeeded } else { Outcome::Missed };
                    return Report { kind: StepKind::Hope, outcome, ..report };
                }
                Found::NotYet => {}
            }
            if self.case.subject == Party::Agent {
                for (connection, id) in expect::unawaited(self, index, line, looked) {
                    self.driver.answer_unscripted(connection, &id);
                }
            }
            // An answer may be overtaken by later ones; a call that the conversation has passed will not come any more.
            let passed = line.body.answers().is_none() && expect::passed(self, index, looked);
            looked = self.driver.inbox.len();
            if passed || self.nothing_more(line) || !self.driver.step(deadline).await {
                let observed = Some(if passed { Observed::Passed } else { Observed::Nothing });
                let expected = Some(Expected::Message(expect::describe(self, line)));
                return Report { expected, observed, ..Report::new(StepKind::Hope, Outcome::Missed) };
            }
        }
    }

    pub(super) fn any(&mut self, line: &Incoming) -> Report {
        // An answer comes once.
        while let (Found::Matched(_), None) = (expect::look_for(self, line, 0), line.body.answers()) {}
        Report::new(StepKind::Hope, Outcome::Done)
    }

    pub(super) async fn any_order(&mut self, lines: &[Incoming], within: Option<Duration>) -> Report {
        let start = self.cursor;
        let mut end = start;
        let mut events = Vec::new();
        for line in lines {
            self.cursor = start;
            let report = self.must(line, within).await;
            if report.outcome != Outcome::Done {
                return report;
            }
            events.extend(report.events);
            end = end.max(self.cursor);
        }
        self.cursor = end;
        Report { events, ..Report::new(StepKind::Must, Outcome::Done) }
    }

    /// A fence of the case. One that decides something and has no answer is followed by a second: a program may have died of
    /// what it read before, and find out only when it reads again.
    pub(super) async fn telling_fence(&mut self, step: &Step) -> Report {
        let limit = step.within.unwrap_or(self.limits.answer);
        let first = self.fence(limit).await;
        if first.outcome == Outcome::Done && !step.decides.is_empty() && self.broke_the_protocol() {
            return self.settled(first, limit).await;
        }
        if first.outcome != Outcome::TimedOut || step.decides.is_empty() {
            return first;
        }
        let second = self.fence(FENCE_AFTER_TIMEOUT.min(limit)).await;
        if second.outcome == Outcome::Ended { Report { events: first.events, ..second } } else { first }
    }

    /// Gives the subject time to crash, or to lose its read loop, and asks again.
    async fn settled(&mut self, first: Report, limit: Duration) -> Report {
        let connection = self.connection;
        self.driver.until(Instant::now() + SETTLE, |driver| driver.ended(connection)).await;
        let second = self.fence(limit).await;
        if matches!(second.outcome, Outcome::Ended | Outcome::TimedOut) { second } else { first }
    }

    /// Whether an earlier step of the case sent something in breach of the protocol.
    fn broke_the_protocol(&self) -> bool {
        self.case.steps[..self.at].iter().any(|step| match &step.action {
            Action::Raw(raw) => !raw.legal,
            Action::Send(lines) => lines.iter().any(|line| line.illegal),
            _ => false,
        })
    }

    /// Waits for the exit of the subject, and collects the facts about the end of its stream.
    pub(super) async fn how_it_ended(&mut self) -> SubjectEnd {
        let exited = |driver: &Driver| driver.life.exit.is_some();
        self.driver.until(Instant::now() + self.limits.exit, exited).await;
        let exit = self.driver.life.exit.clone();
        SubjectEnd {
            meaning: exit.as_ref().and_then(|exit| self.meaning(exit)),
            exit,
            flooded: self.driver.life.flooded,
            input_closed: self.input_closed,
            connected: self.driver.connections() > 0,
            unanswered: self.driver.unanswered_methods(self.connection),
        }
    }

    /// The meaning of an exit code according to the profile.
    fn meaning(&self, exit: &Exit) -> Option<String> {
        let Exit::Code(code) = exit else { return None };
        self.subject.controls.exit_codes.get(code).cloned()
    }

    /// Waits for the subject to end the connection. One that answers afterwards has not.
    pub(super) async fn end(&mut self, limit: Duration) -> Report {
        let connection = self.connection;
        let ended = self.driver.until(Instant::now() + limit, |driver| driver.ended(connection)).await;
        let expected = Some(Expected::ConnectionEnd);
        if ended {
            return Report { expected, ..Report::new(StepKind::Exit, Outcome::Done) };
        }
        let fence = self.fence(FENCE_AFTER_TIMEOUT).await;
        let (outcome, observed) = match fence.outcome {
            Outcome::Done => (Outcome::Contradicted, Some(Observed::StillConnected { answers: true })),
            Outcome::Ended => (Outcome::Done, None),
            _ => (Outcome::TimedOut, Some(Observed::StillConnected { answers: false })),
        };
        Report { events: fence.events, expected, observed, ..Report::new(StepKind::Exit, outcome) }
    }

    pub(super) async fn exit(&mut self, code: Option<i32>, limit: Duration) -> Report {
        let gone = self.driver.until(Instant::now() + limit, |driver| driver.life.exit.is_some()).await;
        let expected = Some(Expected::Exit(code));
        let (outcome, observed) = match (&self.driver.life.exit, gone) {
            (Some(Exit::Code(found)), _) if code.is_none_or(|code| code == *found) => (Outcome::Done, None),
            (Some(exit), _) => (Outcome::Contradicted, Some(Observed::Exited(exit.clone()))),
            (None, _) => (Outcome::TimedOut, Some(Observed::StillRunning)),
        };
        Report { expected, observed, ..Report::new(StepKind::Exit, outcome) }
    }
}

/// The look at the end of a process that nobody here has started.
pub(super) fn unseen_exit() -> Report {
    Report { observed: Some(Observed::ProcessNotVisible), ..Report::new(StepKind::Exit, Outcome::Missed) }
}
