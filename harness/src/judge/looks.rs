//! Which checks are shown what, for one trace: looked up by party and by what they look at.

use super::check::{Check, On, Registry, Sight};
use super::lacks::tells;
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
}

/// The checks of one trace.
pub(super) struct Looks {
    lists: Vec<Vec<Look>>,
}

const SIGHTS: usize = Sight::End as usize + 1;

impl Looks {
    /// The checks of these parties that a trace with these lacks can decide; `late` as for [`tells`].
    pub(super) fn new(parties: &[Party], lacks: &[Lack], late: bool) -> Self {
        let registry = Registry::all();
        let mut lists = vec![Vec::new(); 2 * SIGHTS];
        let told = |check: &&Check| parties.contains(&check.party) && tells(check.requirement, lacks, late);
        for check in registry.iter().filter(told) {
            let Some(place) = registry.place(check.requirement) else { continue };
            let look =
                Look { on: check.on, requirement: check.requirement, place, timeless: timeless(check.requirement) };
            lists[index(check.party, check.on.sight())].push(look);
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

fn timeless(requirement: &str) -> bool {
    ["transport.", "jsonrpc.", "init."].iter().any(|area| requirement.starts_with(area))
}
