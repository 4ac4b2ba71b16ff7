//! Which checks are shown what, for one trace: looked up by party and by what they look at.

use super::check::{Check, On, Registry, Sight};
use super::conversation::Holes;
use super::lacks::{is_about_one_message, needs, tells};
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::trace::Lack;

/// A check that can be judged on this trace.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// What it looks at.
    pub on: On,
    /// The requirement that it judges.
    pub requirement: &'static str,
    /// The place of the requirement in the book.
    pub place: usize,
    /// Whether the requirement holds whatever version the parties agreed on.
    pub timeless: bool,
    /// Whether it is about messages as such, or about how a version is agreed on.
    pub versionless: bool,
    /// Where no hole may be.
    pub needs: Holes,
}

impl Look {
    /// The look of one check, whose requirement has this place in the book.
    pub(super) fn new(check: &Check, place: usize) -> Self {
        let Check { on, requirement, .. } = *check;
        Self {
            on,
            requirement,
            place,
            timeless: timeless(requirement),
            versionless: versionless(requirement),
            needs: needs(requirement),
        }
    }
}

/// The checks of one trace.
pub(super) struct Looks {
    lists: Vec<Vec<Look>>,
}

const SIGHTS: usize = Sight::End as usize + 1;

impl Looks {
    /// The checks of these parties and this edition that a trace with these lacks can decide.
    pub(super) fn new(parties: &[Party], lacks: &[Lack], edition: &Edition) -> Self {
        let registry = Registry::all();
        let mut lists = vec![Vec::new(); 2 * SIGHTS];
        let seen = |sight| !lacks.contains(&Lack::Order) || is_about_one_message(sight);
        let told = |requirement| {
            edition.catalogue.find(requirement).is_some() && lacks.iter().all(|lack| tells(requirement, *lack))
        };
        for &(look, party) in registry.looks().iter().filter(|(_, party)| parties.contains(party)) {
            let sight = look.on.sight();
            if seen(sight) && told(look.requirement) {
                lists[index(party, sight)].push(look);
            }
        }
        Self { lists }
    }

    /// Those of one party that look at one kind of thing.
    pub(super) fn of(&self, party: Party, sight: Sight) -> &[Look] {
        &self.lists[index(party, sight)]
    }
}

const fn index(party: Party, sight: Sight) -> usize {
    party as usize * SIGHTS + sight as usize
}

fn versionless(requirement: &str) -> bool {
    ["transport.", "jsonrpc.", "init.version."].iter().any(|area| requirement.starts_with(area))
}

fn timeless(requirement: &str) -> bool {
    ["transport.", "jsonrpc.", "init."].iter().any(|area| requirement.starts_with(area))
}
