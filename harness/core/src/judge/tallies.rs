//! The tallies of all requirements while a trace is judged.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::recording_gaps::tells;
use super::registry::Registry;
use super::ruling::{Ruling, Tally, Unread};
use crate::protocol::Edition;
use crate::requirement::Catalogue;
use crate::trace::Lack;
use crate::verdict::Verdict;

/// The tallies of a trace so far, by the number of the requirement, so that a pass costs one addition.
pub struct Tallies {
    /// By the place of the requirement in the registry.
    tallies: Vec<Tally>,
    /// Of requirements that only steps of cases decide.
    others: BTreeMap<String, Tally>,
    /// How many failures were written down, of whatever requirement.
    failures: usize,
    lacks: Vec<Lack>,
    /// The requirements of the edition; what checks say of others is not kept.
    catalogue: Arc<Catalogue>,
    /// What the next rulings cannot rely on.
    pub(super) unread: Option<Unread>,
}

impl Tallies {
    /// Empty tallies of a trace with these lacks, by the requirements of an edition.
    pub(super) fn new(lacks: &[Lack], edition: &Edition) -> Self {
        let tallies = vec![Tally::default(); Registry::all().places().count()];
        Self {
            tallies,
            others: BTreeMap::new(),
            failures: 0,
            lacks: lacks.to_vec(),
            catalogue: Arc::clone(&edition.catalogue),
            unread: None,
        }
    }

    /// Opens the ruling on one requirement at one event.
    pub(super) fn ruling(&mut self, requirement: &str, event: usize) -> Ruling<'_> {
        match Registry::all().place(requirement) {
            Some(place) => self.ruling_at(place, event),
            None => {
                let tally = self.others.entry(requirement.to_owned()).or_default();
                Ruling::new(tally, &mut self.failures, self.unread, event)
            }
        }
    }

    /// As [`Self::ruling`], when the place of the requirement is known.
    pub(super) fn ruling_at(&mut self, place: usize, event: usize) -> Ruling<'_> {
        let tally = &mut self.tallies[place];
        Ruling::new(tally, &mut self.failures, self.unread, event)
    }

    /// Whether the trace does not tell this.
    pub(super) fn lacks(&self, lack: Lack) -> bool {
        self.lacks.contains(&lack)
    }

    /// Whether the trace tells enough to decide the requirement.
    pub(super) fn decides(&self, requirement: &str) -> bool {
        self.lacks.iter().all(|lack| tells(requirement, *lack))
    }

    /// What was said so far about each requirement that failed.
    pub(super) fn failed(&self) -> impl Iterator<Item = (&str, &Tally)> {
        let owned = Registry::all().places().map(|(requirement, at)| (requirement, &self.tallies[at]));
        let others = self.others.iter().map(|(requirement, tally)| (requirement.as_str(), tally));
        let of_edition = owned.chain(others).filter(|(requirement, _)| self.catalogue.find(requirement).is_some());
        of_edition.filter(|(_, tally)| tally.verdict() == Verdict::Fail)
    }

    /// How many failures were written down so far.
    pub(super) const fn n_failures(&self) -> usize {
        self.failures
    }

    /// Returns what was found about each requirement since it was last taken out.
    pub(super) fn found(&self) -> BTreeMap<String, Tally> {
        let owned = Registry::all().places().map(|(requirement, at)| (requirement, &self.tallies[at]));
        let others = self.others.iter().map(|(requirement, tally)| (requirement.as_str(), tally));
        let counts = |requirement: &str, tally: &Tally| {
            *tally != Tally::default() && self.decides(requirement) && self.catalogue.find(requirement).is_some()
        };
        let found = owned.chain(others).filter(|(requirement, tally)| counts(requirement, tally));
        found.map(|(requirement, tally)| (requirement.to_owned(), tally.clone())).collect()
    }

    /// Takes out what was found about each requirement.
    pub(super) fn take(&mut self) -> BTreeMap<String, Tally> {
        let found = self.found();
        self.tallies.fill(Tally::default());
        self.others.clear();
        found
    }
}
