//! The tallies of all requirements while a trace is checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::conditions::Conditions;
use super::new_duties::NewDuties;
use super::recording_gaps::can_decide;
use super::registry::Registry;
use crate::finding::{Ruling, Streams, Tally, Unread};
use crate::protocol::Edition;
use crate::requirement::Catalogue;
use crate::trace::{Header, Lack};
use crate::verdict::Verdict;

/// The tallies of a trace so far, by the number of the requirement, so that a pass costs one addition.
pub struct Tallies {
    /// The tallies by the place of the requirement in the registry.
    tallies: Vec<Tally>,
    /// The tallies of requirements that only steps of cases decide.
    others: BTreeMap<String, Tally>,
    /// The number of recorded failures of all requirements.
    failures: usize,
    lacks: Vec<Lack>,
    /// The requirements of the edition; findings on others are dropped.
    catalogue: Arc<Catalogue>,
    /// Which requirements apply to the current conversation.
    pub(super) conditions: Conditions,
    /// The messages that the next rulings cannot rely on.
    pub(super) unread: Option<Unread>,
    /// Which parties are written for the revision of the edition.
    pub(super) new_duties: NewDuties,
    /// The streams on which the messages came.
    pub(super) streams: Streams,
}

impl Tallies {
    /// Creates empty tallies of the trace with this header, by the requirements of an edition.
    pub(super) fn new(header: &Header, edition: &Edition) -> Self {
        let tallies = vec![Tally::default(); Registry::all().places().count()];
        Self {
            tallies,
            others: BTreeMap::new(),
            failures: 0,
            lacks: header.lacks.clone(),
            catalogue: Arc::clone(&edition.catalogue),
            conditions: Conditions::default(),
            unread: None,
            new_duties: NewDuties::new(edition, header.exact_edition),
            streams: Streams::default(),
        }
    }

    pub(super) fn ruling(&mut self, requirement: &str, event: usize) -> Ruling<'_> {
        match Registry::all().place(requirement) {
            Some(place) => self.ruling_at(place, event),
            None => {
                let applies = self.conditions.of_other(requirement);
                let is_older = self.new_duties.excuses(requirement);
                let tally = self.others.entry(requirement.to_owned()).or_default();
                let ruling = Ruling::new(tally, &mut self.failures, self.unread, event).in_streams(&self.streams);
                ruling.if_applies(applies).unless_older(is_older)
            }
        }
    }

    /// Like [`Self::ruling`], for a known place of the requirement.
    pub(super) fn ruling_at(&mut self, place: usize, event: usize) -> Ruling<'_> {
        let (applies, is_older) = (self.conditions.at(place), self.new_duties.excuses_at(place));
        let tally = &mut self.tallies[place];
        let ruling = Ruling::new(tally, &mut self.failures, self.unread, event).in_streams(&self.streams);
        ruling.if_applies(applies).unless_older(is_older)
    }

    /// Whether the trace has this gap.
    pub(super) fn lacks(&self, lack: Lack) -> bool {
        self.lacks.contains(&lack)
    }

    /// Whether the trace contains enough to decide the requirement.
    pub(super) fn decides(&self, requirement: &str) -> bool {
        let requirement = self.catalogue.find(requirement);
        requirement.is_none_or(|requirement| self.lacks.iter().all(|lack| can_decide(requirement, *lack)))
    }

    /// Returns the tally of each requirement that failed so far.
    pub(super) fn failed(&self) -> impl Iterator<Item = (&str, &Tally)> {
        let owned = Registry::all().places().map(|(requirement, at)| (requirement, &self.tallies[at]));
        let others = self.others.iter().map(|(requirement, tally)| (requirement.as_str(), tally));
        let of_edition = owned.chain(others).filter(|(requirement, _)| self.catalogue.find(requirement).is_some());
        of_edition.filter(|(_, tally)| tally.verdict() == Verdict::Fail)
    }

    /// Returns the number of recorded failures so far.
    pub(super) const fn n_failures(&self) -> usize {
        self.failures
    }

    /// Returns the findings on each requirement since the last call of [`Self::take`].
    pub(super) fn found(&self) -> BTreeMap<String, Tally> {
        let owned = Registry::all().places().map(|(requirement, at)| (requirement, &self.tallies[at]));
        let others = self.others.iter().map(|(requirement, tally)| (requirement.as_str(), tally));
        let counts = |requirement: &str, tally: &Tally| {
            *tally != Tally::default() && self.decides(requirement) && self.catalogue.find(requirement).is_some()
        };
        let found = owned.chain(others).filter(|(requirement, tally)| counts(requirement, tally));
        found.map(|(requirement, tally)| (requirement.to_owned(), tally.clone())).collect()
    }

    /// Removes and returns the findings on each requirement.
    pub(super) fn take(&mut self) -> BTreeMap<String, Tally> {
        let found = self.found();
        self.tallies.fill(Tally::default());
        self.others.clear();
        found
    }
}
