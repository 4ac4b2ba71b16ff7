//! Follows the conversations of a run: reports each case, and gives cases to jobs that have nothing to do.

use std::cell::{Cell, OnceCell};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::{Progress, Run};
use crate::run::interrupt::is_stopping;
use crate::run::shared::Follower;
use crate::trace::{Event, Header};

/// The case that runs in a conversation.
pub(super) struct Running<'r> {
    pub(super) events: &'r mpsc::Sender<Progress>,
    /// Its position among all cases.
    pub(super) case: Cell<Option<usize>>,
    /// Called when only the exit of the process is still to come.
    pub(super) ending: &'r dyn Fn(),
}

impl Running<'_> {
    pub(super) fn start(&self, index: usize) {
        self.played();
        self.case.set(Some(index));
        let _ = self.events.send(Progress::Started(index));
    }

    fn played(&self) {
        drop(self.case.take().map(|index| self.events.send(Progress::Played(index))));
    }

    pub(super) fn end(&self) {
        (self.ending)();
        self.played();
    }
}

/// A conversation of several cases that runs.
pub(super) struct Shared<'r> {
    pub(super) run: &'r Run<'r>,
    pub(super) running: &'r Running<'r>,
    /// The positions of its cases among all.
    pub(super) indices: &'r [usize],
    pub(super) header: Arc<Header>,
    pub(super) begun: Instant,
    /// The time that the start and the first case took.
    pub(super) first: OnceCell<Duration>,
    /// The number of its cases that no other job has taken.
    pub(super) end: Cell<usize>,
}

impl Follower for Shared<'_> {
    fn started(&self, case: usize) {
        self.running.start(self.indices[case]);
    }

    fn over(&self, case: usize, events: &[Event]) {
        let (case, header) = (self.indices[case], Arc::clone(&self.header));
        let _ = self.running.events.send(Progress::Over { case, header, events: events.to_vec() });
    }

    fn goes_on(&self, case: usize) -> bool {
        let Self { run, end, indices, .. } = self;
        if is_stopping() {
            return false;
        }
        // The next job skips the cases that would hang, and goes on with the others.
        if case < end.get() && run.subject.hangs.useless(&run.cases[indices[case]]).is_some() {
            return false;
        }
        let (spent, left) = (self.begun.elapsed(), end.get() - case);
        let first = *self.first.get_or_init(|| spent);
        if run.work.is_wanted() && is_worth_sharing(first, spent, case, left) {
            let kept = case + left.div_ceil(2);
            run.work.put_back(indices[kept..end.get()].to_vec());
            end.set(kept);
        }
        case < end.get()
    }

    fn ending(&self) {
        self.running.end();
    }
}

/// Follows a conversation whose cases all run.
pub(super) struct ToTheEnd;

impl Follower for ToTheEnd {}

/// Whether half of the remaining cases of a conversation are worth a further start: they take more than twice the time
/// of the start and the first case.
pub(super) fn is_worth_sharing(first: Duration, spent: Duration, done: usize, left: usize) -> bool {
    let (Ok(others), Ok(given)) = (u32::try_from(done - 1), u32::try_from(left / 2)) else { return false };
    others > 0 && spent.saturating_sub(first) / others * given > 2 * first
}
