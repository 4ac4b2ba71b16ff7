//! Ends a trace, and joins what its conversations showed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Judge;
use crate::areas::Seen;
use crate::judge::conditions::evaluated;
use crate::judge::judgement::{Judgement, NotCovered};
use crate::judge::owner;
use crate::requirement::Party;

impl Judge {
    /// Ends the current conversation.
    pub(super) fn end(&mut self) {
        self.show_both(Seen::CaseEnd());
        self.show_both(Seen::End());
        self.learn_introductions();
        if self.conversation.other_version().is_none() && !self.conversation.is_foreign() {
            for (id, applies) in evaluated(&self.conversation) {
                *self.applies.entry(id).or_default() |= applies;
            }
        }
    }

    /// Records the facts about the parties and about the agreed version in the current conversation.
    pub(super) fn learn_introductions(&mut self) {
        match self.conversation.other_version() {
            Some(version) => self.not_covered.push(NotCovered::of(&self.conversation, self.connection, version)),
            None => self.covered += usize::from(!self.conversation.methods_used.is_empty()),
        }
        self.turned_down = self.turned_down.or(self.conversation.turned_down());

        for party in [Party::Agent, Party::Client] {
            if let Some(said) = self.conversation.introduction(party) {
                self.introductions.entry(party).or_insert(said);
            }
        }
    }

    /// Ends the trace and joins the findings of several cases.
    pub fn finish(self) -> Judgement {
        let mut cases = self.finish_by_case().into_iter();
        let mut all = cases.next().unwrap_or_default();
        cases.for_each(|case| all.join(case));
        all
    }

    /// Ends the trace, and returns the findings of each case; one judgement if the trace does not hold several.
    pub fn finish_by_case(mut self) -> Vec<Judgement> {
        let connections: Vec<usize> = self.parked.keys().copied().chain([self.connection]).collect();
        for connection in connections {
            self.turn_to(connection);
            self.end();
        }
        for login in std::mem::take(&mut self.logins).iter() {
            self.now.0 = login.n;
            self.show(Party::Client, Seen::Login(login));
        }
        self.not_covered.sort_by_key(|other| other.connection);
        let found = self.tallies.take();
        let whole = Judgement {
            tallies: BTreeMap::new(),
            applies: Arc::new(self.applies),
            not_covered: self.not_covered,
            covered: self.covered,
            turned_down: self.turned_down,
            introductions: self.introductions,
            begins_late: self.begins_late,
            forgot: self.forgot,
            shown: self.tallies.new_duties.shown().clone(),
        };
        let catalogue = &self.conversation.edition.catalogue;
        let cases = if self.shares.is_empty() {
            vec![found]
        } else {
            self.shares.end(found);
            self.shares.split(self.now.0, catalogue)
        };
        let judgement = |mut tallies| {
            self.tallies.new_duties.settle(&mut tallies, catalogue);
            owner::assign(&mut tallies, catalogue);
            Judgement { tallies, ..whole.clone() }
        };
        cases.into_iter().map(judgement).collect()
    }
}
