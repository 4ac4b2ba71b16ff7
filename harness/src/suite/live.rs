//! Checks conversations while they run: a failure is confirmed as soon as its case is over, and not only once its
//! conversation has ended, which may take minutes.
//!
//! What they show counts once their conversation has ended, and is not checked again then. Before that, it only chooses
//! cases that run alone earlier than they would otherwise. A failure that only the end of the conversation decides is
//! confirmed after that.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::Case;
use crate::judge::JudgingSession;
use crate::protocol::Edition;
use crate::requirement::Level;
use crate::results::Collector;
use crate::trace::{Event, Header, Trace};
use crate::verdict::Verdict;

/// The conversations that run, and the cases that confirm their failures.
#[derive(Default)]
pub(super) struct Live {
    /// By their numbers.
    conversations: BTreeMap<usize, Judged>,
    /// The requirements for which a case ran again.
    asked: BTreeSet<String>,
    /// The cases that run alone while their conversation goes on.
    confirming: BTreeMap<String, Confirming>,
    /// The traces of those that did not fail alone; their conversation has to end first.
    held: BTreeMap<String, Trace>,
}

/// The checked part of a conversation.
pub(super) struct Judged {
    pub(super) session: JudgingSession,
    /// The number of events in it.
    pub(super) events: usize,
}

/// A case that runs alone.
struct Confirming {
    /// The number of the conversation in which it failed.
    conversation: usize,
    /// The requirements that it broke there.
    broken: BTreeSet<String>,
}

impl Live {
    /// Adds the events of a case that is over, with the mark of the next one. Returns whether it has to run alone now,
    /// since it broke a MUST that no case before broke.
    pub(super) fn event(&mut self, header: &Header, events: &[Event], case: &Case, collector: &Collector) -> bool {
        let Some(number) = header.conversation else { return false };
        let new = || Judged { session: JudgingSession::new(header, collector.edition()), events: 0 };
        let judged = self.conversations.entry(number).or_insert_with(new);
        events.iter().for_each(|event| judged.session.event(event));
        judged.events += events.len();
        let broken = musts(judged.session.failed_in_last_case(), collector.edition());
        if self.confirming.contains_key(&case.id) || broken.is_subset(&self.asked) {
            return false;
        }
        let known = collector.failed();
        let new: BTreeSet<String> = broken.into_iter().filter(|id| !known.contains(id)).collect();
        if new.is_subset(&self.asked) {
            return false;
        }
        self.asked.extend(new.iter().cloned());
        self.confirming.insert(case.id.clone(), Confirming { conversation: number, broken: new });
        true
    }

    /// Whether the case runs alone by now, or waits for that.
    pub(super) fn is_confirming(&self, case: &str) -> bool {
        self.confirming.contains_key(case)
    }

    /// Keeps the trace of a case that did not fail alone if its conversation still goes on: what that decides is known
    /// once the conversation is judged. Returns false for any other trace.
    pub(super) fn holds(&mut self, trace: &Trace, edition: &'static Edition) -> bool {
        let case = trace.header.case.as_ref().filter(|_| trace.header.conversation.is_none());
        let Some((case, confirming)) = case.and_then(|case| self.confirming.remove_entry(case)) else { return false };
        if !self.conversations.contains_key(&confirming.conversation) {
            return false;
        }
        let mut session = JudgingSession::new(&trace.header, edition);
        trace.events.iter().for_each(|event| session.event(event));
        let found = session.close().judgement.tallies;
        let failed = found.iter().filter(|(_, tally)| tally.verdict() == Verdict::Fail).map(|(id, _)| id.as_str());
        let is_confirmed = !musts(failed, edition).is_disjoint(&confirming.broken);
        if !is_confirmed {
            self.held.insert(case, trace.clone());
        }
        !is_confirmed
    }

    /// Ends the conversation of this trace, and returns what is checked of it.
    pub(super) fn ended(&mut self, trace: &Trace) -> Option<Judged> {
        self.conversations.remove(&trace.header.conversation?)
    }

    /// Removes and returns the trace of a case that has run alone while its conversation went on.
    pub(super) fn take_held_of(&mut self, case: &str) -> Option<Trace> {
        self.held.remove(case)
    }

    /// Removes and returns the traces whose conversations never ended.
    pub(super) fn take_held(&mut self) -> Vec<Trace> {
        std::mem::take(&mut self.held).into_values().collect()
    }
}

/// Returns those of these requirements that are MUSTs.
fn musts<'r>(ids: impl Iterator<Item = &'r str>, edition: &'static Edition) -> BTreeSet<String> {
    let is_must = |id: &&str| edition.catalogue.find(id).is_some_and(|one| one.level == Level::Must);
    ids.filter(is_must).map(str::to_owned).collect()
}
