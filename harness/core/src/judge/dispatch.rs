//! The checks of one trace, by the party and the kind of thing that they look at.

use std::sync::LazyLock;

use super::check::{Check, KINDS, On, Seen};
use super::conversation::Holes;
use super::recording_gaps::{is_about_one_message, needs, tells};
use super::registry::Registry;
use crate::protocol::{Edition, NameMap};
use crate::requirement::Party;
use crate::trace::Lack;

/// A check, with what decides whether it can be judged at some moment of a trace.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// What it looks at.
    pub on: On,
    /// The requirement that it judges.
    pub requirement: &'static str,
    /// The index of the requirement in [`Tallies`](super::tallies::Tallies).
    pub place: usize,
    /// Whether the requirement holds whatever version the parties agreed on.
    pub timeless: bool,
    /// Whether it is about messages as such, or about how a version is agreed on.
    pub versionless: bool,
    /// Where no hole may be.
    pub needs: Holes,
    party: Party,
    subjects: Option<&'static [&'static str]>,
}

impl Look {
    fn new(check: &Check, place: usize) -> Self {
        let Check { on, requirement, party, subjects } = *check;
        Self {
            on,
            requirement,
            place,
            timeless: timeless(requirement),
            versionless: versionless(requirement),
            needs: needs(requirement),
            party,
            subjects,
        }
    }

    fn is_about(&self, subject: &str) -> bool {
        self.subjects.is_none_or(|subjects| subjects.contains(&subject))
    }

    /// Whether the requirement belongs to this area of the protocol.
    pub(super) fn is_of(&self, area: &str) -> bool {
        self.requirement.strip_prefix(area).is_some_and(|rest| rest.starts_with('.'))
    }
}

/// The looks of all checks, which are the same for every trace.
static ALL: LazyLock<Vec<Look>> = LazyLock::new(|| {
    let registry = Registry::all();
    registry.iter().filter_map(|check| Some(Look::new(check, registry.place(check.requirement)?))).collect()
});

/// The checks of one trace.
pub(super) struct Dispatch {
    lists: Vec<Looks>,
    /// Whether to show each check what it is not about.
    pub proves_subjects: bool,
}

/// The checks of one party that look at one kind of thing.
#[derive(Clone, Default)]
struct Looks {
    all: Vec<Look>,
    /// Those for each subject that some check names.
    by_subject: NameMap<&'static str, Vec<Look>>,
    /// Those for any other subject.
    general: Vec<Look>,
}

impl Looks {
    fn new(all: Vec<Look>) -> Self {
        let subjects = all.iter().filter_map(|look| look.subjects).flatten();
        let of = |subject: &'static str| all.iter().filter(|look| look.is_about(subject)).copied().collect();
        let by_subject = subjects.map(|subject| (*subject, of(subject))).collect();
        let general = all.iter().filter(|look| look.subjects.is_none()).copied().collect();
        Self { all, by_subject, general }
    }
}

impl Dispatch {
    /// The checks of these parties and this edition that a trace with these lacks can decide.
    pub(super) fn new(parties: &[Party], lacks: &[Lack], edition: &Edition) -> Self {
        let mut lists = vec![Vec::new(); 2 * KINDS];
        for look in ALL.iter().filter(|look| parties.contains(&look.party)) {
            let seen = !lacks.contains(&Lack::Order) || is_about_one_message(&look.on);
            let known = edition.catalogue.is_decided(look.requirement);
            if seen && known && lacks.iter().all(|lack| tells(look.requirement, *lack)) {
                lists[index(look.party, look.on.kind())].push(*look);
            }
        }
        Self { lists: lists.into_iter().map(Looks::new).collect(), proves_subjects: false }
    }

    /// Those of one party that look at this.
    pub(super) fn of(&self, party: Party, seen: Seen<'_>) -> &[Look] {
        let looks = &self.lists[index(party, seen.kind())];
        let named = seen.subject().and_then(|subject| looks.by_subject.get(subject));
        named.unwrap_or(&looks.general)
    }

    /// Those of one party that look at this kind of thing, and are about other subjects.
    pub(super) fn not_about(&self, party: Party, seen: Seen<'_>) -> impl Iterator<Item = &Look> {
        let looks = &self.lists[index(party, seen.kind())];
        looks.all.iter().filter(move |look| !seen.subject().map_or(look.subjects.is_none(), |it| look.is_about(it)))
    }
}

const fn index(party: Party, kind: usize) -> usize {
    party as usize * KINDS + kind
}

fn versionless(requirement: &str) -> bool {
    ["transport.", "jsonrpc.", "init.version."].iter().any(|area| requirement.starts_with(area))
}

fn timeless(requirement: &str) -> bool {
    ["transport.", "jsonrpc.", "init."].iter().any(|area| requirement.starts_with(area))
}
