//! All checks, and the requirements that they and the table of shapes decide.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use super::shapes;
use crate::areas;
use crate::areas::Check;

/// All checks.
pub struct Registry {
    checks: Vec<Check>,
    /// The requirements that a function checks or that the shape table owns, each with its place in a list of them
    /// all.
    places: HashMap<&'static str, usize>,
}

impl Registry {
    /// Returns the checks of this program.
    pub fn all() -> &'static Self {
        static ALL: LazyLock<Registry> = LazyLock::new(|| {
            let checks = areas::all();
            let owned = checks.iter().map(|check| check.requirement).chain(shapes::owners::requirements());
            let owned: BTreeSet<&'static str> = owned.collect();
            Registry { checks, places: owned.into_iter().zip(0..).collect() }
        });
        &ALL
    }

    /// Returns each check, in the order of the areas.
    pub fn iter(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter()
    }

    /// Returns the requirements that a function checks or that the shape table owns; a case may decide others by its
    /// steps.
    pub fn requirements(&self) -> BTreeSet<&'static str> {
        self.places.keys().copied().collect()
    }

    /// Returns each of them with its place.
    pub(super) fn places(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.places.iter().map(|(requirement, place)| (*requirement, *place))
    }

    /// Returns the place of a requirement; `None` if neither a check nor a row of the table decides it.
    pub(super) fn place(&self, requirement: &str) -> Option<usize> {
        self.places.get(requirement).copied()
    }
}
