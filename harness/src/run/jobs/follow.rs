//! Follows the conversations of a run, and reports each case.

use std::cell::Cell;
use std::sync::{Arc, mpsc};

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
    /// Its number among the conversations of the run.
    pub(super) number: usize,
}

impl Follower for Shared<'_> {
    fn started(&self, case: usize) {
        self.running.start(self.indices[case]);
    }

    fn over(&self, case: usize, events: &[Event]) {
        let (case, header) = (self.indices[case], Arc::clone(&self.header));
        let _ = self.running.events.send(Progress::Over { case, header, events: events.to_vec() });
    }

    fn goes_on(&self, _case: usize) -> bool {
        let Run { work, subject, cases, .. } = self.run;
        !is_stopping() && work.next_case(self.number, |next| subject.hangs.useless(&cases[next]).is_some()).is_some()
    }

    fn ending(&self) {
        self.running.end();
    }
}

/// Follows a conversation whose cases all run.
pub(super) struct ToTheEnd;

impl Follower for ToTheEnd {}
