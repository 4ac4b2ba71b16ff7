//! The steps that expect lines of the subject. Every wait has a deadline.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::case::model::{Action, Incoming, IncomingBody, Outgoing, PermissionPolicy, Presence};
use crate::requirement::Party;
use crate::run::case::inbox::{Received, compare_answer, is_call};
use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::{Channel, Order};
use crate::run::environment::same_kind;
use crate::run::step::rest::Rest;
use crate::run::timing::{AT_REST, FENCE_AFTER_TIMEOUT, NEVER_SENT};
use crate::trace::{Difference, Expected, Observed, Outcome, StepEvent, StepKind, What};
use crate::wire::{Call, Envelope};

/// The update that is a snapshot of the state of a session, in version 2.
const STATE: &str = "state_update";

/// The requests that may need an answer of the client's user first.
const ASKS_ITS_USER: [&str; 2] = ["session/request_permission", "elicitation/create"];

/// Whether an expected line has come.
enum Found {
    /// The line came.
    Matched(StepResult),
    /// A message contradicts the line.
    Contradicted(StepResult),
    /// No matching message so far.
    NotYet,
}

impl<C: Channel> RunningCase<'_, C> {
    /// Waits for a required line.
    pub(super) async fn must(&mut self, line: &Incoming, within: Option<Duration>) -> StepResult {
        // After an unmet step, the line decides nothing.
        let limit = if self.unmet.is_some() { self.limit_if_known(line, within) } else { self.limit(line, within) };
        let begin = Instant::now();
        let mut deadline = self.begin_of_wait(line) + limit;
        let mut doubt = Some(Instant::now() + self.wait_for_unknown());
        let (mut examined, mut rest) = (0, Rest::default());
        loop {
            match self.find(line, examined) {
                Found::Contradicted(result) if result.outcome == Outcome::LoginNeeded => {
                    if !self.log_in_and_repeat(line).await {
                        return result;
                    }
                    examined = self.inbox.len();
                    deadline = self.begin_of_wait(line) + limit;
                }
                Found::Matched(result) | Found::Contradicted(result) => {
                    let is_legal = matches!(line.body, IncomingBody::Result { .. });
                    if let Some(request) = self.inbox.request_of(line).filter(|_| is_legal) {
                        self.subject.hangs.note_answer(&request.method);
                    }
                    return result;
                }
                Found::NotYet => examined = self.inbox.len(),
            }
            let end = rest.deadline(self, line, deadline);
            let until = doubt.map_or(end, |doubt| doubt.min(end));
            if self.nothing_more(line) {
                return self.never_came(line, limit).await;
            }
            let waited = || if end < deadline { Duration::from_secs(begin.elapsed().as_secs()) } else { limit };
            if self.next(until).await {
                continue;
            }
            if doubt.take().is_none() || until == end {
                return self.never_came(line, waited()).await;
            }
            if self.ignores_unknown(line).await {
                return self.left_unanswered(line);
            }
        }
    }

    /// Waits for an optional line; gives up when the conversation has passed it.
    pub(super) async fn optional(&mut self, index: usize, line: &Incoming, within: Option<Duration>) -> StepResult {
        let (limit, begin) = (self.limit_if_known(line, within), Instant::now());
        let mut deadline = self.begin_of_wait(line) + limit;
        let (mut examined, mut rest, mut overtaken) = (0, Rest::default(), None);
        loop {
            match self.find(line, examined) {
                Found::Matched(result) => {
                    self.note_kind(line);
                    let expected = Some(Expected::Message(self.inbox.describe(line)));
                    return StepResult { kind: StepKind::Optional, expected, ..result };
                }
                Found::Contradicted(result) => {
                    let login = result.outcome == Outcome::LoginNeeded;
                    if !login || !self.log_in_and_repeat(line).await {
                        let outcome = if login { Outcome::LoginNeeded } else { Outcome::Missed };
                        return StepResult { kind: StepKind::Optional, outcome, ..result };
                    }
                    deadline = self.begin_of_wait(line) + limit;
                }
                Found::NotYet => {}
            }
            if self.party() == Party::Agent {
                for (connection, id) in self.unawaited(index, line, examined) {
                    self.channel.send(Order::AnswerUnscripted(connection, id));
                }
            }
            // Later answers may overtake an answer, but a call that the conversation has passed will not come any more.
            let passed = line.body.answers().is_none() && self.has_passed(index, examined);
            if overtaken.is_none() && self.is_overtaken(index, examined) {
                overtaken = Some(Instant::now() + AT_REST);
            }
            examined = self.inbox.len();
            let until = overtaken.map_or(deadline, |end| deadline.min(end));
            if passed || self.nothing_more(line) || !self.next(rest.deadline(self, line, until)).await {
                self.note_kind(line);
                let waited = begin.elapsed();
                let observed = Some(match self.inbox.differing_request(line, &self.bindings) {
                    _ if passed => Observed::Passed,
                    None => Observed::Nothing,
                    differing => self.timed_out(waited, differing),
                });
                let expected = Some(Expected::Message(self.inbox.describe(line)));
                return StepResult { expected, observed, ..StepResult::new(StepKind::Optional, Outcome::Missed) };
            }
        }
    }

    /// Takes all lines of this kind that have come; waits for the first one if there is a limit.
    pub(super) async fn any(&mut self, line: &Incoming, within: Option<Duration>) -> StepResult {
        if let Some(limit) = within {
            let came = |case: &Self| {
                let mut messages = case.inbox.messages[case.inbox.cursor..].iter();
                messages
                    .any(|message| message.taken.is_none() && is_call(&message.value, line, &mut case.bindings.clone()))
            };
            self.until(Instant::now() + limit, |case| came(case) || case.channel.state().over).await;
        }
        // There is only one answer to a request.
        while let (Found::Matched(_), None) = (self.find(line, 0), line.body.answers()) {}
        StepResult::new(StepKind::Optional, Outcome::Done)
    }

    /// Waits for required lines in any order.
    pub(super) async fn any_order(&mut self, lines: &[Incoming], within: Option<Duration>) -> StepResult {
        let start = self.inbox.cursor;
        let mut end = start;
        let mut events = Vec::new();
        for line in lines {
            self.inbox.cursor = start;
            let result = self.must(line, within).await;
            if result.outcome != Outcome::Done {
                return result;
            }
            events.extend(result.events);
            end = end.max(self.inbox.cursor);
        }
        self.inbox.cursor = end;
        StepResult { events, ..StepResult::new(StepKind::Must, Outcome::Done) }
    }

    /// Searches the messages so far for the line: calls after the cursor, answers anywhere after their request.
    /// Messages before `from` were compared earlier.
    fn find(&mut self, line: &Incoming, from: usize) -> Found {
        match line.body.answers() {
            None => self.find_call(line, from),
            Some(label) => self.find_answer(line, label, from),
        }
    }

    fn find_call(&mut self, line: &Incoming, from: usize) -> Found {
        if let Some(n) = self.same_snapshot(line) {
            return Found::Matched(StepResult { events: vec![n], ..StepResult::new(StepKind::Must, Outcome::Done) });
        }
        let Some(message) = self.inbox.take_call(line, from, self.current, &mut self.bindings) else {
            return Found::NotYet;
        };
        self.connection = message.connection;
        if let Some(person) = &self.subject.person {
            person.sees_progress();
        }
        Found::Matched(StepResult { events: vec![message.n], ..StepResult::new(StepKind::Must, Outcome::Done) })
    }

    /// Returns the event of the state that the line before took, if it meets this line as well: an agent may report in
    /// one snapshot what others report in two.
    fn same_snapshot(&self, line: &Incoming) -> Option<usize> {
        let before = self.current.checked_sub(1)?;
        let snapshot = |message: &&Received| {
            message.taken == Some(before)
                && message.value.pointer("/params/update/sessionUpdate") == Some(&STATE.into())
        };
        let message = self.inbox.messages.iter().rev().find(snapshot)?;
        is_call(&message.value, line, &mut self.bindings.clone()).then_some(message.n)
    }

    fn find_answer(&mut self, line: &Incoming, label: &str, from: usize) -> Found {
        let Some((message, request)) = self.inbox.find_answer(label, from) else { return Found::NotYet };
        let events = vec![message.n, request.n];
        let Err(observed) = compare_answer(line, &message.value, &mut self.bindings) else {
            return Found::Matched(StepResult { events, ..StepResult::new(StepKind::Must, Outcome::Done) });
        };
        // Only an agent asks for a login; in the answer of a client the code has no meaning.
        let login = self.case.subject == Party::Agent
            && message.value.pointer("/error/code") == Some(&Value::from(-32000))
            && matches!(line.body, IncomingBody::Result { .. });
        let outcome = if login { Outcome::LoginNeeded } else { Outcome::Contradicted };
        let (expected, observed) = (Some(Expected::Message(self.inbox.describe(line))), Some(observed));
        Found::Contradicted(StepResult { events, expected, observed, ..StepResult::new(StepKind::Must, outcome) })
    }

    /// Returns requests like the optional one that neither this line nor a later one awaits; if they were left to the
    /// transcript, they would never be answered. Messages before `from` were compared earlier.
    fn unawaited(&self, index: usize, optional: &Incoming, from: usize) -> Vec<(usize, Value)> {
        let IncomingBody::Call { label: Some(_), method: wanted, .. } = &optional.body else { return Vec::new() };
        let lines = self.case.steps[index..].iter().flat_map(|step| match &step.action {
            Action::Expect { line, .. } => std::slice::from_ref(line),
            Action::AnyOrder(lines) => lines,
            _ => &[],
        });
        let lines: Vec<&Incoming> = lines.collect();
        let unawaited = |message: &Received| {
            let Envelope::Call(Call { id: Some(id), method, .. }) = Envelope::of(&message.value) else { return None };
            let open = method == wanted && self.channel.state().open_method(message.connection, id).is_some();
            let meant = || lines.iter().any(|line| is_call(&message.value, line, &mut self.bindings.clone()));
            (message.taken.is_none() && open && !meant()).then(|| (message.connection, id.clone()))
        };
        self.inbox.messages[self.inbox.cursor.max(from)..].iter().filter_map(unawaited).collect()
    }

    /// Whether the conversation has passed an optional line: an answer that follows it in the transcript has arrived.
    /// Messages before `from` were compared earlier. An answer from before the tester's last request belongs to an
    /// earlier turn, and a line after a further request with its label expects the answer to that one.
    fn has_passed(&self, index: usize, from: usize) -> bool {
        let mut again: Vec<&str> = Vec::new();
        self.case.steps[index + 1..].iter().any(|step| {
            let lines = match &step.action {
                Action::Send(messages) => {
                    again.extend(messages.iter().filter_map(Outgoing::request));
                    return false;
                }
                Action::Expect { line, presence: Presence::Must | Presence::Optional } => std::slice::from_ref(line),
                Action::AnyOrder(lines) => lines,
                _ => return false,
            };
            let mut meant =
                lines.iter().filter(|line| !line.body.answers().is_some_and(|label| again.contains(&label)));
            meant.any(
                |line| if self.is_receipt(line) { self.has_worked(from) } else { self.inbox.has_answer(line, from) },
            )
        })
    }

    /// Whether the line expects the answer to a prompt, and the agent works on after it.
    fn is_receipt(&self, line: &Incoming) -> bool {
        let is_prompt = self.inbox.request_of(line).is_some_and(|request| request.method == "session/prompt");
        is_prompt && !self.case.edition.adapter.response_ends_turn()
    }

    /// Whether the agent worked and reported the end of its work, in the messages after the cursor. An idle state alone
    /// may be a repeated snapshot. Messages before `from` were compared earlier.
    fn has_worked(&self, from: usize) -> bool {
        let state = |message: &Received| {
            let state = message.value.pointer("/params/update/state")?.as_str()?;
            (!state.starts_with('_')).then(|| state == "idle")
        };
        let after = self.inbox.messages.get(self.inbox.cursor..).unwrap_or_default();
        let mut states = after.iter().enumerate().filter_map(|(at, message)| Some((at, state(message)?)));
        states.any(|(_, is_idle)| !is_idle) && states.any(|(at, is_idle)| is_idle && self.inbox.cursor + at >= from)
    }

    /// Whether an agent waits for an answer of the transcript to a request like one that a line after the optional one
    /// awaits. It need not be that one: then it gets its answer there. Messages before `from` were compared earlier.
    fn is_overtaken(&self, index: usize, from: usize) -> bool {
        let after = self.case.steps[index + 1..].iter().take_while(|step| !matches!(step.action, Action::Send(_)));
        let awaited = after.filter_map(|step| match &step.action {
            Action::Expect { line, presence: Presence::Must | Presence::Optional } => self.request_of_agent(line),
            _ => None,
        });
        let awaited: Vec<&str> = awaited.collect();
        let holds = self.case.tester.permission == PermissionPolicy::Hold;
        let waits = |message: &Received| match Envelope::of(&message.value) {
            Envelope::Call(Call { id: Some(id), method, .. }) if message.taken.is_none() => {
                let is_held = holds && method == "session/request_permission";
                let is_open = || self.channel.state().open_method(message.connection, id).is_some();
                awaited.contains(&method) && (is_held || is_open())
            }
            _ => false,
        };
        self.inbox.messages[self.inbox.cursor.max(from)..].iter().any(waits)
    }

    /// Remembers whether requests of the kind of this optional one come.
    fn note_kind(&self, line: &Incoming) {
        if let Some(wanted) = self.request_of_agent(line) {
            let is_of_kind = |message: &Received| match Envelope::of(&message.value) {
                Envelope::Call(Call { id: Some(_), method, .. }) => same_kind(method, wanted),
                _ => false,
            };
            self.subject.calls.note(wanted, self.inbox.messages.iter().any(is_of_kind));
        }
    }

    /// Returns the method of the line, if it is a request of an agent.
    fn request_of_agent<'l>(&self, line: &'l Incoming) -> Option<&'l str> {
        match &line.body {
            IncomingBody::Call { label: Some(_), method, .. } if self.party() == Party::Agent => Some(method),
            _ => None,
        }
    }

    /// Returns the result for an unknown request without an answer, if the subject answers no unknown request. It
    /// proves nothing about the line; a separate case covers the silence.
    fn left_unanswered(&self, line: &Incoming) -> StepResult {
        let events = self.inbox.request_of(line).map(|request| request.n).into_iter().collect();
        let expected = Some(Expected::Message(self.inbox.describe(line)));
        let observed = Some(Observed::UnknownRequestUnanswered);
        StepResult { events, expected, observed, ..StepResult::new(StepKind::Must, Outcome::Missed) }
    }

    /// Returns the limit for a line that need not come, which is shorter for a request of a kind that the agent never
    /// sends.
    fn limit_if_known(&self, line: &Incoming, within: Option<Duration>) -> Duration {
        let limit = self.limit(line, within);
        let never_comes = self.request_of_agent(line).is_some_and(|method| self.subject.calls.never_come(method));
        if never_comes { limit.min(NEVER_SENT) } else { limit }
    }

    fn limit(&self, line: &Incoming, within: Option<Duration>) -> Duration {
        let connected = !self.channel.state().connections.is_empty();
        let limit = within.unwrap_or_else(|| match self.inbox.request_of(line) {
            // The subject has to start before it can answer its first request, whatever that is.
            Some(request) if self.inbox.messages.is_empty() => {
                self.limits.for_method(&request.method).max(self.limits.start)
            }
            Some(request) => self.limits.for_method(&request.method),
            None if !connected => self.limits.start,
            None if self.party() == Party::Client => self.limits.answer,
            None => self.limits.turn,
        });
        if self.depends_on_person(line) { self.for_person(limit) } else { limit }
    }

    /// Returns the start of the wait. The transcript's last line counts, since it may be the reason why the answer
    /// comes only now, as with a close or a cancel.
    fn begin_of_wait(&self, line: &Incoming) -> Instant {
        let request = self.inbox.request_of(line);
        request.map_or_else(Instant::now, |request| self.sent_at.map_or(request.at, |sent| sent.max(request.at)))
    }

    /// Whether a person has to act before the line can come.
    fn depends_on_person(&self, line: &Incoming) -> bool {
        if line.body.answers().is_none() {
            return self.instructed;
        }
        let request = self.inbox.request_of(line);
        self.is_by_hand() && request.is_some_and(|request| ASKS_ITS_USER.contains(&request.method.as_str()))
    }

    /// Whether the line can no longer come.
    fn nothing_more(&self, line: &Incoming) -> bool {
        let state = self.channel.state();
        self.inbox.request_of(line).map_or(state.over, |request| state.ended(request.connection))
            || self.refusal(line).is_some()
    }

    /// Returns the status of HTTP by which the request of an answer was refused.
    fn refusal(&self, line: &Incoming) -> Option<u16> {
        let request = self.inbox.request_of(line)?;
        self.channel.state().refused(request.connection, &request.id)
    }

    /// Returns the observation that a line did not come in this time, with the message that came instead of it.
    fn timed_out(&self, after: Duration, differing: Option<Difference>) -> Observed {
        Observed::TimedOut {
            after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
            connected: !self.channel.state().connections.is_empty(),
            by_person: self.is_by_hand(),
            differing,
        }
    }

    /// Returns the result for a line that did not come in this time, or before the stream ended.
    async fn never_came(&mut self, line: &Incoming, waited: Duration) -> StepResult {
        let expected = Some(Expected::Message(self.inbox.describe(line)));
        // A client is not responsible for a person who does not answer.
        let request = self.inbox.request_of(line).filter(|_| !self.depends_on_person(line));
        let events = request.map(|request| request.n).into_iter().collect();
        if let Some(status) = self.refusal(line) {
            let observed = Some(Observed::Refused { status });
            return StepResult { events, expected, observed, ..StepResult::new(StepKind::Must, Outcome::Missed) };
        }
        if self.nothing_more(line) {
            let observed = Some(Observed::Ended(self.how_it_ended().await));
            return StepResult { events, expected, observed, ..StepResult::new(StepKind::Must, Outcome::Ended) };
        }
        // After an unmet step the case waits less.
        if let Some(request) = request.filter(|_| self.unmet.is_none()) {
            self.subject.hangs.note_silence(self.case, &request.method);
        }
        let observed = Some(self.timed_out(waited, self.inbox.differing_request(line, &self.bindings)));
        let result = StepResult { events, expected, observed, ..StepResult::new(StepKind::Must, Outcome::TimedOut) };
        // Before the handshake the subject cannot answer a fence.
        let initialized = match self.party() {
            Party::Agent => self.inbox.messages.iter().any(|message| message.value.get("result").is_some()),
            Party::Client => !self.inbox.messages.is_empty(),
        };
        if initialized {
            let fence = self.fence(FENCE_AFTER_TIMEOUT).await;
            self.record_own_fence(fence, "a fence after the time limit");
        }
        result
    }

    /// Records a fence that is not in the case, if it was answered.
    pub(super) fn record_own_fence(&mut self, fence: StepResult, text: &str) {
        if fence.outcome == Outcome::Done {
            let event = StepEvent { text: text.to_owned(), expected: None, ..fence.event() };
            self.channel.record(What::Step(event));
        }
    }
}
