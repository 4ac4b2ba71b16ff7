//! Fences: a request that is sent only for its answer to come, as proof that the subject has read everything before it.
//!
//! A fence proves as much as the order in which the subject works. The specification does not promise that requests are
//! answered in order, so a fence shows that the subject *read* what came before, and not that it is done with it.

mod choice;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use self::choice::{NEW, Request, Scene};
use super::driver::{Driver, Written};
use super::expect;
use super::script::{Report, Script};
use crate::case::model::Incoming;
use crate::trace::{Expected, FENCE, INVENTED, Observed, Outcome, StepKind, What};
use crate::wire::{LineEnd, RpcId};

/// How long a request goes unanswered before the tester tries another one behind it, and how long a weak fence lasts. Programs
/// that answer do so within milliseconds when idle.
const PATIENCE: Duration = Duration::from_secs(3);

/// Which requests the subject answers as a fence, as far as a run has seen. It only saves time: what a fence comes to is the
/// same without it, in whatever order the cases are played.
#[derive(Debug, Clone, Default)]
pub struct KnownFences(Arc<Mutex<BTreeMap<&'static str, bool>>>);

impl KnownFences {
    /// Whether the subject answered the request at least once; none as long as it was never tried.
    fn is_answered(&self, method: &str) -> Option<bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(method).copied()
    }

    fn note(&self, method: &'static str, is_answered: bool) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(method).or_default() |= is_answered;
    }
}

/// A request that was sent as a fence.
struct Sent {
    method: &'static str,
    id: RpcId,
    n: usize,
}

impl Script<'_> {
    /// Sends an unknown request. When it has no answer, harmless requests of the protocol follow it, as far as the subject
    /// advertises them and the case is not about them. The first answer to any of them counts.
    pub(super) async fn fence(&mut self, limit: Duration) -> Report {
        let deadline = Instant::now() + limit;
        let connection = self.connection;
        let from = self.driver.inbox.len();
        let mut sent = Vec::new();
        let mut next = Some(Request { method: FENCE, params: json!({}) });
        let mut came = None;
        while let Some(request) = next.take() {
            let known = self.subject.fences.is_answered(request.method);
            sent.push(self.send_fence(&request));
            next = self.next_fence(&sent);
            let patience = match (known, next.is_some()) {
                (Some(false), true) => Duration::ZERO,
                (None, true) => PATIENCE.min(limit / 4),
                (Some(true), true) => limit / 2,
                (Some(false), false) => PATIENCE,
                (_, false) => limit,
            };
            let until = Instant::now() + patience;
            came = self.first_answer(&sent, from, until.min(deadline)).await;
            if came.is_some() || self.driver.ended(connection) {
                break;
            }
        }
        self.report_fence(&sent, came).await
    }

    /// The request of the protocol that comes after those which were sent.
    fn next_fence(&self, sent: &[Sent]) -> Option<Request> {
        let cwd = self.premises.sandbox.workspace();
        let scene = Scene::of(self.case, self.driver.recorder.events(), self.connection, self.subject.person.is_some());
        scene.requests(cwd).into_iter().find(|request| sent.iter().all(|sent| sent.method != request.method))
    }

    fn send_fence(&mut self, request: &Request) -> Sent {
        let id = self.driver.writing.fresh_id();
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": request.method, "params": request.params });
        let written = Written { bytes: message.to_string().into_bytes(), deliberate: false };
        if request.method != FENCE {
            self.driver.recorder.record_on(self.connection, What::Fence(request.method.to_owned()));
        }
        if request.method == NEW {
            self.driver.session_fences.push(RpcId::new(&id));
        }
        let events = self.driver.write(self.connection, vec![written], LineEnd::Lf, None);
        Sent { method: request.method, id: RpcId::new(&id), n: events.first().copied().unwrap_or_default() }
    }

    /// Waits for the answer to one of the requests; the one that came, by its position.
    async fn first_answer(&mut self, sent: &[Sent], from: usize, until: Instant) -> Option<usize> {
        let connection = self.connection;
        let (mut looked, mut found) = (from, None);
        let answered = |driver: &Driver| {
            let fresh = &driver.inbox[std::mem::replace(&mut looked, driver.inbox.len())..];
            let fresh = fresh.iter().filter(|seen| seen.connection == connection);
            let of = |seen: &super::driver::Seen| sent.iter().position(|sent| expect::answers(&seen.value, &sent.id));
            found = found.or_else(|| fresh.filter_map(of).next());
            driver.ended(connection) || found.is_some()
        };
        self.driver.until(until, answered).await;
        found
    }

    async fn report_fence(&mut self, sent: &[Sent], came: Option<usize>) -> Report {
        let expected = Some(Expected::FenceAnswer);
        let all = sent.iter().map(|sent| sent.n).collect();
        if self.driver.ended(self.connection) {
            let observed = Some(Observed::Ended(self.how_it_ended().await));
            return Report { events: all, expected, observed, ..Report::new(StepKind::Fence, Outcome::Ended) };
        }
        if let Some(answered) = came.and_then(|came| sent.get(came)) {
            for sent in sent.iter().take_while(|sent| sent.n <= answered.n) {
                self.subject.fences.note(sent.method, sent.n == answered.n);
            }
            self.answers_unknown |= answered.method == FENCE;
            let events = vec![answered.n];
            return Report { events, expected, ..Report::new(StepKind::Fence, Outcome::Done) };
        }
        sent.iter().for_each(|sent| self.subject.fences.note(sent.method, false));
        let observed = Some(Observed::FenceUnanswered(sent.iter().map(|sent| sent.method.to_owned()).collect()));
        // Where there is only the unknown request, and the subject never answered one, its silence says nothing.
        let proves_nothing = sent.len() == 1 && !self.answers_unknown;
        self.is_weak |= proves_nothing;
        let outcome = if proves_nothing { Outcome::Quiet } else { Outcome::TimedOut };
        Report { events: all, expected, observed, ..Report::new(StepKind::Fence, outcome) }
    }

    /// Whether the subject answers requests of the protocol here and leaves a fence by an unknown request without an answer.
    /// Then there is no sense in a wait for the answer to another unknown request. Cases on unknown requests wait all the same.
    pub(super) async fn ignores_unknown(&mut self, line: &Incoming) -> bool {
        let is_own = self.case.requirements.iter().any(|id| id.starts_with("ext.custom-request-answered."));
        let asked = line.body.answers().and_then(|label| self.driver.asked.get(label));
        let is_unknown = asked.is_some_and(|asked| asked.method.starts_with(INVENTED));
        if !is_unknown || is_own || self.answers_unknown {
            return false;
        }
        let fence = self.fence(self.limits.answer).await;
        let is_other = fence.outcome == Outcome::Done && !self.answers_unknown;
        self.record_own_fence(fence, "a fence, since an unknown request had no answer");
        is_other
    }

    /// How long an unknown request goes without an answer before [`Self::ignores_unknown`] is asked.
    pub(super) fn patience_with_unknown(&self) -> Duration {
        let patience = if self.subject.fences.is_answered(FENCE) == Some(false) { PATIENCE / 3 } else { PATIENCE };
        patience.min(self.limits.answer / 4)
    }
}
