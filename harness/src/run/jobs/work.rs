//! The conversations of a run that wait for a job, and those that run.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{RunMode, SAMPLE};
use crate::run::interrupt::is_stopping;
use crate::sync::lock;

/// The conversations that no job has taken yet, and the jobs that wait for one.
#[derive(Default)]
pub(super) struct Work {
    state: Mutex<WorkState>,
    changed: Condvar,
}

/// A conversation that has not begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    /// The positions of its cases.
    pub(super) cases: Vec<usize>,
    pub(super) mode: RunMode,
}

#[derive(Default)]
pub(super) struct WorkState {
    pub(super) waiting: VecDeque<Planned>,
    /// The number of running conversations. Each may put cases back.
    pub(super) running: usize,
    /// The number of jobs that wait in [`Work::take`].
    pub(super) idle: usize,
    /// Whether no further conversation begins.
    closed: bool,
    /// The running conversations of several cases, by their numbers.
    conversations: BTreeMap<usize, Started>,
}

impl WorkState {
    /// Whether a job has nothing to do.
    pub(super) fn is_wanted(&self) -> bool {
        self.idle > self.waiting.len()
    }

    /// Moves cases of the conversation that has been in its current case for the longest, to those that wait.
    pub(super) fn take_from_stuck(&mut self, now: Instant) {
        let stuck = self.conversations.values_mut().filter(|started| started.is_stuck(now));
        let Some(longest) = stuck.min_by_key(|started| started.since) else { return };
        self.waiting.push_back(Planned { cases: longest.give(), mode: RunMode::Shared });
    }
}

/// A running conversation of several cases.
struct Started {
    /// The positions of its cases, without those that other jobs took.
    cases: Vec<usize>,
    /// The number of those that have begun.
    begun: usize,
    start: Instant,
    /// The time that the start and the first case took.
    first: Option<Duration>,
    /// When the current case began.
    since: Instant,
}

/// The least and the most time after which a case keeps its conversation from going on. Most cases take less than a
/// second, those that await an answer which never comes 20 to 60 s, and the first one may be one of these.
const STUCK: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(20)];

impl Started {
    /// Whether other cases wait for the current one longer than a further process would take to begin with them.
    fn is_stuck(&self, now: Instant) -> bool {
        let in_case = now.saturating_duration_since(self.since);
        let [least, most] = STUCK;
        self.begun < self.cases.len() && in_case > self.first.map_or(most, |first| (2 * first).clamp(least, most))
    }

    /// Removes the later half of the cases that have not begun.
    fn give(&mut self) -> Vec<usize> {
        let left = self.cases.len() - self.begun;
        self.cases.split_off(self.begun + left / 2)
    }

    /// Notes that all cases that have begun are over.
    fn are_over(&mut self, now: Instant) {
        self.since = now;
        self.first.get_or_insert(now.saturating_duration_since(self.start));
    }

    /// Whether a further process is worth half of the cases that have not begun.
    fn is_worth_sharing(&self) -> bool {
        let (Some(first), left) = (self.first, self.cases.len() - self.begun) else { return false };
        is_worth_sharing(first, self.since.saturating_duration_since(self.start), self.begun, left)
    }
}

impl Work {
    pub(super) fn of(conversations: VecDeque<Planned>) -> Self {
        Self { state: Mutex::new(WorkState { waiting: conversations, ..WorkState::default() }), ..Self::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, WorkState> {
        lock(&self.state)
    }

    /// Waits for a conversation; `None` once no more can come.
    pub(super) fn take(&self) -> Option<(Planned, Taken<'_>)> {
        let mut state = self.lock();
        state.idle += 1;
        while state.waiting.is_empty() && state.running > 0 {
            state = self.changed.wait_timeout(state, SAMPLE).unwrap_or_else(PoisonError::into_inner).0;
            if state.waiting.is_empty() && !state.closed {
                state.take_from_stuck(Instant::now());
            }
        }
        state.idle -= 1;
        if is_stopping() {
            // Only failures are confirmed from now on.
            state.waiting.retain(|planned| planned.mode != RunMode::Shared);
            self.changed.notify_all();
        }
        let planned = state.waiting.pop_front()?;
        state.running += 1;
        Some((planned, Taken(self)))
    }

    /// Waits for a case that confirms a failure; `None` once no more can come.
    pub(super) fn take_confirmation(&self) -> Option<(Planned, Taken<'_>)> {
        let position = |state: &WorkState| state.waiting.iter().position(|it| it.mode == RunMode::Confirm);
        let is_over = |state: &WorkState| state.closed || state.waiting.is_empty() && state.running == 0;
        let waits = |state: &mut WorkState| position(state).is_none() && !is_over(state);
        let mut state = self.changed.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        let first = position(&state)?;
        let planned = state.waiting.remove(first)?;
        state.running += 1;
        Some((planned, Taken(self)))
    }

    /// Puts back the cases that a conversation did not reach, so that the next job takes them.
    pub(super) fn put_back(&self, cases: Vec<usize>) {
        let mut state = self.lock();
        // A job that has seen the end of the run takes no more, so nothing may wait for it.
        if !state.closed {
            state.waiting.push_front(Planned { cases, mode: RunMode::Shared });
            self.changed.notify_one();
        }
    }

    /// Lets each of these cases run alone before all that wait. Without a running conversation, the jobs may have
    /// ended, so that none would take them; then nothing happens.
    pub(super) fn put_first(&self, cases: Vec<usize>) {
        let mut state = self.lock();
        if state.running > 0 && !state.closed {
            let alone = |index| Planned { cases: vec![index], mode: RunMode::Confirm };
            cases.into_iter().rev().for_each(|index| state.waiting.push_front(alone(index)));
            self.changed.notify_all();
        }
    }

    /// Removes the conversations that no job has taken, and those that are put back later.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.waiting.clear();
    }

    /// Waits at most this long for the end of all work, and returns whether it has ended.
    pub(super) fn ends_within(&self, time: Duration) -> bool {
        let has_work = |state: &mut WorkState| !state.waiting.is_empty() || state.running > 0;
        let waited = self.changed.wait_timeout_while(self.lock(), time, has_work);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Whether a job has nothing to do.
    pub(super) fn is_wanted(&self) -> bool {
        self.lock().is_wanted()
    }

    /// Notes that a conversation of several cases begins with the first one.
    pub(super) fn begin(&self, number: usize, cases: &[usize]) {
        let now = Instant::now();
        let started = Started { cases: cases.to_vec(), begun: 1, start: now, first: None, since: now };
        self.lock().conversations.insert(number, started);
    }

    /// Notes that all cases of a conversation that have begun are over, and gives some of the others to a job that has
    /// nothing to do. Returns the next one, unless `is_useless`.
    pub(super) fn next_case(&self, number: usize, is_useless: impl Fn(usize) -> bool) -> Option<usize> {
        let mut state = self.lock();
        let is_wanted = state.is_wanted();
        let started = state.conversations.get_mut(&number)?;
        started.are_over(Instant::now());
        // The next job skips the cases that would hang, and goes on with the others.
        let next = started.cases.get(started.begun).copied().filter(|&next| !is_useless(next))?;
        let shares = is_wanted && started.is_worth_sharing();
        started.begun += 1;
        let given = if shares { started.give() } else { Vec::new() };
        if !given.is_empty() && !state.closed {
            state.waiting.push_front(Planned { cases: given, mode: RunMode::Shared });
            self.changed.notify_one();
        }
        Some(next)
    }

    /// Notes that a conversation has ended after this many cases, and returns the others that no job took.
    pub(super) fn end(&self, number: usize, done: usize) -> Vec<usize> {
        let started = self.lock().conversations.remove(&number);
        started.and_then(|started| started.cases.get(done..).map(<[usize]>::to_vec)).unwrap_or_default()
    }
}

/// A running conversation; dropping it ends that.
pub(super) struct Taken<'w>(&'w Work);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
        self.0.changed.notify_all();
    }
}

/// Whether half of the remaining cases of a conversation are worth a further start: they take more than twice the time
/// of the start and the first case.
pub(super) fn is_worth_sharing(first: Duration, spent: Duration, done: usize, left: usize) -> bool {
    let (Ok(others), Ok(given)) = (u32::try_from(done - 1), u32::try_from(left / 2)) else { return false };
    others > 0 && spent.saturating_sub(first) / others * given > 2 * first
}
