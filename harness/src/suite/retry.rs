//! Decides which cases run again.
//!
//! A case that does not pass in a shared conversation runs again alone, unless other runs already prove what it showed.
//! Of several cases with the same symptom, one reruns first. If it reproduces, the others do not rerun.

use std::collections::{BTreeMap, BTreeSet};

use crate::results::{Collector, Symptom};
use crate::trace::Trace;

/// The cases that wait for a decision.
#[derive(Default)]
pub(super) struct Retry {
    /// The part of the trace of each case, by id.
    pending: BTreeMap<String, Trace>,
    /// The symptoms for which a case runs again now.
    rerunning: BTreeSet<Symptom>,
}

/// The cases that must run again, by id.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Again {
    /// Each in a conversation of its own.
    pub(super) alone: Vec<String>,
    /// Together once more, in another conversation: nothing failed, but the case decided nothing, or the subject did
    /// something else.
    pub(super) together: Vec<String>,
}

impl Again {
    /// Whether this case has to run again now.
    pub(super) fn contains(&self, case: &str) -> bool {
        self.alone.iter().chain(&self.together).any(|id| id == case)
    }
}

impl Retry {
    /// Adds a case that has just run, and returns its trace if it needs no further run.
    pub(super) fn add(&mut self, collector: &Collector, case: &str, trace: Trace) -> Option<Trace> {
        self.pending.remove(case);
        let needs_none = match collector.symptoms(case) {
            // What a case showed alone is proved, except where a second process is needed.
            Some(symptoms) if trace.header.conversation.is_none() => collector.known().open(case, symptoms).is_empty(),
            Some(symptoms) => symptoms.is_empty(),
            None => true,
        };
        if needs_none {
            return Some(trace);
        }
        self.pending.insert(case.to_owned(), trace);
        None
    }

    /// Whether a case waits for a decision.
    pub(super) fn is_pending(&self, case: &str) -> bool {
        self.pending.contains_key(case)
    }

    /// Removes a case that does not run any more.
    pub(super) fn remove(&mut self, case: &str) {
        self.pending.remove(case);
    }

    /// Returns the cases that need no further run, each with its trace, and those that must run again now. Call it
    /// again after those runs; at the end, none are left.
    pub(super) fn review(&mut self, collector: &Collector) -> (Vec<(String, Trace)>, Again) {
        let (mut settled, mut again) = (Vec::new(), Again::default());
        let calls_tools = collector.calls_tools();
        let mut chosen = BTreeSet::new();
        for (id, trace) in std::mem::take(&mut self.pending) {
            let open = open(collector, &id);
            if open.is_empty() {
                settled.push((id, trace));
                continue;
            }
            if chosen.is_disjoint(&open) {
                let is_undecided = open.iter().all(|symptom| matches!(symptom, Symptom::Undecided(_)));
                // Only a model that calls tools may do another time what it did not do now.
                if is_undecided && !(calls_tools && trace.client_called("session/prompt")) {
                    settled.push((id, trace));
                    continue;
                }
                let list = match open.iter().all(Symptom::shows_in_any_conversation) {
                    true => &mut again.together,
                    false => &mut again.alone,
                };
                list.push(id.clone());
                chosen.extend(open);
            }
            self.pending.insert(id, trace);
        }
        self.rerunning = chosen;
        (settled, again)
    }

    /// Removes and returns all cases, at the end of a run that has no time for further runs.
    pub(super) fn give_up(&mut self) -> Vec<(String, Trace)> {
        std::mem::take(&mut self.pending).into_iter().collect()
    }

    /// Whether a case that has not run alone yet shows a failure.
    pub(super) fn has_open_failures(&self, collector: &Collector) -> bool {
        self.pending.keys().any(|id| open(collector, id).iter().any(is_failure))
    }

    /// Notes that the case ran again for the failures that it showed, before these were known.
    pub(super) fn ran_again(&mut self, collector: &Collector, case: &str) {
        self.rerunning.extend(open(collector, case).into_iter().filter(is_failure));
    }

    /// Returns a case for each failure that no case has shown alone, and for which none runs again by now. Whether
    /// another kind of symptom needs a further run depends on all conversations, so [`Self::review`] decides about
    /// it. `runs_again` says of a case whether it runs again by now.
    pub(super) fn rerun_failures(&mut self, collector: &Collector, runs_again: impl Fn(&str) -> bool) -> Vec<String> {
        let mut cases = Vec::new();
        let again = self.pending.keys().filter(|id| runs_again(id)).flat_map(|id| open(collector, id));
        self.rerunning.extend(again.filter(is_failure));
        for id in self.pending.keys() {
            let open = open(collector, id).into_iter();
            let new: Vec<Symptom> =
                open.filter(|symptom| is_failure(symptom) && !self.rerunning.contains(symptom)).collect();
            if !new.is_empty() {
                self.rerunning.extend(new);
                cases.push(id.clone());
            }
        }
        cases
    }
}

/// Returns the symptoms of a case that need a further run.
fn open(collector: &Collector, case: &str) -> BTreeSet<Symptom> {
    collector.symptoms(case).map(|symptoms| collector.known().open(case, symptoms)).unwrap_or_default()
}

const fn is_failure(symptom: &Symptom) -> bool {
    matches!(symptom, Symptom::Failed(_) | Symptom::FailedOnce(_))
}
