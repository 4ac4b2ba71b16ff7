//! Fences: requests that only need an answer, as proof that the subject has read everything before them.
//!
//! A fence proves only as much as the subject's order of work allows. The specification does not promise answers in
//! order, so a fence shows that the subject *read* the earlier messages, not that it has finished with them.

mod choice;

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use self::choice::{NEW, Request, Scene};
use crate::case::model::{Action, Incoming, Step};
use crate::requirement::{Area, Flag};
use crate::run::case::inbox::{Received, answers};
use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::{Channel, Line, Order};
use crate::run::timing::{CRASH_AFTER_BAD_LINE, CRASH_AFTER_STARTS, FENCE_AFTER_TIMEOUT, NEXT_FENCE};
use crate::trace::{Expected, FENCE, INVENTED, Observed, Outcome, StepKind};
use crate::wire::RpcId;

/// A request that was sent as a fence.
struct Sent {
    method: &'static str,
    id: RpcId,
    n: usize,
}

impl<C: Channel> RunningCase<'_, C> {
    /// Runs a fence of the case. If a fence that decides something gets an answer, a second one follows: a bad line
    /// before it may have broken the program, which notices that only at its next read.
    pub(super) async fn fence_step(&mut self, step: &Step) -> StepResult {
        let limit = step.within.unwrap_or(self.limits.answer);
        let first = self.fence(limit).await;
        if first.outcome == Outcome::Done && !step.decides.is_empty() && self.broke_the_protocol() {
            return self.after_bad_line(first, limit).await;
        }
        if first.outcome != Outcome::TimedOut || step.decides.is_empty() {
            return first;
        }
        let second = self.fence(FENCE_AFTER_TIMEOUT.min(limit)).await;
        if second.outcome == Outcome::Ended { StepResult { events: first.events, ..second } } else { first }
    }

    /// Gives the subject time to crash, or to lose its read loop, and sends another fence.
    async fn after_bad_line(&mut self, first: StepResult, limit: Duration) -> StepResult {
        let connection = self.connection;
        let ended = |running: &Self| running.channel.state().ended(connection);
        let start = self.channel.state().recorder.first_answer();
        let [shortest, longest] = CRASH_AFTER_BAD_LINE;
        let time = start.map_or(longest, |start| (CRASH_AFTER_STARTS * start).clamp(shortest, longest));
        self.until(Instant::now() + time, ended).await;
        let second = self.fence(limit).await;
        if matches!(second.outcome, Outcome::Ended | Outcome::TimedOut) { second } else { first }
    }

    /// Whether an earlier step of the case sent a line that breaks the protocol.
    fn broke_the_protocol(&self) -> bool {
        self.case.steps[..self.current].iter().any(|step| match &step.action {
            Action::Raw(raw) => !raw.legal,
            Action::Send(lines) => lines.iter().any(|line| line.illegal),
            _ => false,
        })
    }

    /// Sends an unknown request. If that gets no answer, sends harmless requests of the protocol that the subject
    /// advertises and the case is not about. The first answer to any of them counts.
    pub(in crate::run) async fn fence(&mut self, limit: Duration) -> StepResult {
        let deadline = Instant::now() + limit;
        let connection = self.connection;
        let from = self.inbox.len();
        let mut sent = Vec::new();
        let mut next = Some(Request { method: FENCE, params: json!({}) });
        let mut came = None;
        while let Some(request) = next.take() {
            let known = self.subject.fences.is_answered(request.method);
            sent.push(self.send_fence(&request));
            next = self.next_fence(&sent);
            let patience = match (known, next.is_some()) {
                (Some(false), true) => Duration::ZERO,
                (None, true) => NEXT_FENCE.min(limit / 4),
                (Some(true), true) => limit / 2,
                (Some(false), false) => NEXT_FENCE,
                (_, false) => limit,
            };
            let until = Instant::now() + patience;
            came = self.first_answer(&sent, from, until.min(deadline)).await;
            if came.is_some() || self.channel.state().ended(connection) {
                break;
            }
        }
        self.report_fence(&sent, came).await
    }

    /// Returns the request of the protocol to send after `sent`.
    fn next_fence(&self, sent: &[Sent]) -> Option<Request> {
        let cwd = self.env.sandbox.workspace();
        let scene = Scene::of(
            self.case,
            self.channel.state().recorder.of_case(),
            self.connection,
            self.subject.person.is_some(),
        );
        scene.requests(cwd).into_iter().find(|request| sent.iter().all(|sent| sent.method != request.method))
    }

    fn send_fence(&mut self, request: &Request) -> Sent {
        let id = self.channel.writing().fresh_id();
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": request.method, "params": request.params });
        let line = Line { bytes: message.to_string().into_bytes(), deliberate: false, message: None };
        if request.method == NEW {
            self.inbox.session_fences.push(RpcId::new(&id));
        }
        let marked = (self.is_over || request.method != FENCE).then_some(request.method);
        let events = self.channel.send(Order::Fence { connection: self.connection, marked, line }).unwrap_or_default();
        Sent { method: request.method, id: RpcId::new(&id), n: events.first().copied().unwrap_or_default() }
    }

    /// Waits for the answer to one of the requests and returns the position of that request.
    async fn first_answer(&mut self, sent: &[Sent], from: usize, until: Instant) -> Option<usize> {
        let connection = self.connection;
        let (mut examined, mut found) = (from, None);
        let answered = |running: &Self| {
            let fresh = &running.inbox.messages[std::mem::replace(&mut examined, running.inbox.len())..];
            let fresh = fresh.iter().filter(|message| message.connection == connection);
            let of = |message: &Received| sent.iter().position(|sent| answers(&message.value, &sent.id));
            found = found.or_else(|| fresh.filter_map(of).next());
            running.channel.state().ended(connection) || found.is_some()
        };
        self.until(until, answered).await;
        found
    }

    async fn report_fence(&mut self, sent: &[Sent], came: Option<usize>) -> StepResult {
        let expected = Some(Expected::FenceAnswer);
        let all = sent.iter().map(|sent| sent.n).collect();
        if let Some(answered) = came.and_then(|came| sent.get(came)) {
            for sent in sent.iter().take_while(|sent| sent.n <= answered.n) {
                self.subject.fences.note(sent.method, sent.n == answered.n);
            }
            self.answers_unknown |= answered.method == FENCE;
            let events = vec![answered.n];
            return StepResult { events, expected, ..StepResult::new(StepKind::Fence, Outcome::Done) };
        }
        if self.channel.state().ended(self.connection) {
            let observed = Some(Observed::Ended(self.how_it_ended().await));
            return StepResult { events: all, expected, observed, ..StepResult::new(StepKind::Fence, Outcome::Ended) };
        }
        sent.iter().for_each(|sent| self.subject.fences.note(sent.method, false));
        let observed = Some(Observed::FenceUnanswered(sent.iter().map(|sent| sent.method.to_owned()).collect()));
        // If only the unknown request was sent, and the subject never answered one, its silence proves nothing.
        let proves_nothing = sent.len() == 1 && !self.answers_unknown;
        self.had_weak_fence |= proves_nothing;
        let outcome = if proves_nothing { Outcome::Quiet } else { Outcome::TimedOut };
        StepResult { events: all, expected, observed, ..StepResult::new(StepKind::Fence, outcome) }
    }

    /// Whether the subject answers requests of the protocol here, but leaves a fence by an unknown request without an
    /// answer. Then a wait for the answer to another unknown request is useless. Cases on unknown requests still
    /// wait.
    pub(super) async fn ignores_unknown(&mut self, line: &Incoming) -> bool {
        let is_any = |id: &String| self.case.edition.catalogue.has_flag(id, Flag::AnyRequest);
        let is_own = self.case.requirements.iter().any(|id| Area::of(id) == Area::EXT && is_any(id));
        let asked = self.inbox.request_of(line);
        let is_unknown = asked.is_some_and(|asked| asked.method.starts_with(INVENTED));
        if !is_unknown || is_own || self.answers_unknown {
            return false;
        }
        let fence = self.fence(self.limits.answer).await;
        let is_other = fence.outcome == Outcome::Done && !self.answers_unknown;
        self.record_own_fence(fence, "a fence, since an unknown request had no answer");
        is_other
    }

    /// Returns the wait for the answer to an unknown request before a call of [`Self::ignores_unknown`].
    pub(super) fn wait_for_unknown(&self) -> Duration {
        let wait = if self.subject.fences.is_answered(FENCE) == Some(false) { NEXT_FENCE / 3 } else { NEXT_FENCE };
        wait.min(self.limits.answer / 4)
    }
}
