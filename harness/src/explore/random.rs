//! Random walks. The same seed, cases and verdicts give the same walks.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;

use super::walk::{Fragment, Left, Lowering, Move, Place, Walk};
use crate::case::Case;
use crate::requirement::Party;

/// The largest number of moves.
const MOST_MOVES: usize = 10;

/// The number of cases to try for a move. Most do not fit those before them.
const TRIES: usize = 100;

/// The cases of which walks are made.
pub struct Candidates<'c> {
    cases: &'c [Case],
    /// The cases of each file, those in their first use first. A file with many shapes is as likely as any other.
    files: Vec<File<'c>>,
    places: Vec<Place>,
    can_cancel: bool,
}

/// The cases of a file.
#[derive(Default)]
struct File<'c> {
    fragments: Vec<Fragment<'c>>,
    first_uses: usize,
}

impl<'c> Candidates<'c> {
    /// Chooses the cases that passed, in all of their contexts. `can` says whether the user of the subject can perform
    /// an act, if the subject is a client.
    pub fn new(cases: &'c [Case], passed: &BTreeSet<String>, can: impl Fn(&str) -> bool) -> Self {
        let of = |is_first: bool| {
            let fits = move |case: &&Case| {
                case.context.is_none() == is_first && passed.contains(case.first_use().unwrap_or(&case.id))
            };
            cases.iter().filter(fits).filter_map(Fragment::of)
        };
        let mut files: BTreeMap<&str, File<'c>> = BTreeMap::new();
        for is_first in [true, false] {
            for fragment in of(is_first) {
                let file = files.entry(Case::file_of(&fragment.case.id)).or_default();
                file.first_uses += usize::from(is_first);
                file.fragments.push(fragment);
            }
        }
        let files: Vec<File<'c>> = files.into_values().collect();
        let is_agent = files.first().is_some_and(|file| file.fragments[0].case.subject == Party::Agent);
        let can = |act: &str| is_agent || can(act);
        let mut places = vec![if is_agent { Place::SameSession } else { Place::SameTurn }];
        if can("prompt") {
            places.extend([Place::SameSession; 2]);
        }
        if can("prompt") && can("new-session") {
            places.push(Place::NewSession);
        }
        Self { cases, files, places, can_cancel: can("cancel") }
    }

    /// Whether other moves can follow this one.
    fn goes_on(&self, fragment: &Fragment<'_>) -> bool {
        fragment.leaves(self.cases) != Left::Nothing
    }

    /// Chooses a move and the case of it.
    fn choose(&self, rng: &mut Rng, is_first: bool) -> Option<(Fragment<'c>, Move)> {
        let file = (!self.files.is_empty()).then(|| &self.files[rng.usize(..self.files.len())])?;
        // A context is a few moves itself.
        let is_any = file.first_uses == 0 || rng.u8(..3) == 0;
        let fragment = file.fragments[rng.usize(..if is_any { file.fragments.len() } else { file.first_uses })];
        let place = if is_first { Place::NewSession } else { self.places[rng.usize(..self.places.len())] };
        let cancels = if self.can_cancel && rng.u8(..6) == 0 { fragment.cancels() } else { Vec::new() };
        let cancel_after = (!cancels.is_empty()).then(|| cancels[rng.usize(..cancels.len())]);
        let case = fragment.case.id.splitn(3, '/').nth(2)?.to_owned();
        Some((fragment, Move { case, place, cancel_after }))
    }
}

/// Makes the walk with this number; `None` without cases to walk over.
pub fn walk(candidates: &Candidates<'_>, seed: u64, number: usize) -> Option<Walk> {
    // Each walk has its own generator, so it does not depend on how many came before it.
    let mut rng = Rng::with_seed(seed);
    let mut rng =
        Rng::with_seed(rng.u64(..) ^ u64::try_from(number).unwrap_or(u64::MAX).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let length = rng.usize(2..=MOST_MOVES);
    let mut moves = Vec::new();
    let mut lowering = Lowering::new(candidates.cases);
    while moves.len() < length {
        // Nothing can follow some cases, so they come last.
        let is_last = moves.len() + 1 == length;
        let fits = |(fragment, step): &(Fragment<'_>, Move)| {
            lowering.check(fragment, step).is_ok()
                && (is_last || step.cancel_after.is_some() || candidates.goes_on(fragment))
        };
        let tries = std::iter::repeat_with(|| candidates.choose(&mut rng, moves.is_empty())).take(TRIES).flatten();
        let Some((fragment, step)) = { tries }.find(fits) else { break };
        lowering.add(fragment, &step, false).ok()?;
        moves.push(step);
    }
    (!moves.is_empty()).then_some(Walk(moves))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::embedded;
    use crate::edition::V1;

    #[test]
    fn seed_and_number_determine_a_walk() {
        for party in [Party::Agent, Party::Client] {
            let (mut cases, _) = embedded(&V1);
            cases.retain(|case| case.subject == party);
            let passed: BTreeSet<String> = cases.iter().map(|case| case.id.clone()).collect();
            let candidates = Candidates::new(&cases, &passed, |_| true);
            let walks = |seed: u64, first: usize| -> Vec<Walk> {
                (first..40).filter_map(|number| walk(&candidates, seed, number)).collect()
            };
            let all = walks(7, 0);
            assert_eq!(all, walks(7, 0));
            assert_eq!(all[10..], walks(7, 10), "a walk does not depend on those before it");
            assert_ne!(all, walks(8, 0));
            let impossible: Vec<String> = all.iter().filter_map(|walk| walk.lower(&cases).err()).collect();
            assert_eq!(impossible, [""; 0], "every random walk can be played");
            let moves: Vec<&Move> = all.iter().flat_map(|walk| &walk.0).collect();
            let some = |wanted: &dyn Fn(&Move) -> bool| moves.iter().any(|step| wanted(step));
            assert!(some(&|step| step.place == Place::SameSession) && some(&|step| step.cancel_after.is_some()));
            assert_eq!(some(&|step| step.place == Place::SameTurn), party == Party::Client);
            assert!(some(&|step| step.case.contains('@')), "contexts are moves too");
        }
    }

    #[test]
    fn client_that_takes_one_prompt_stays_in_its_turn() {
        let (mut cases, _) = embedded(&V1);
        cases.retain(|case| case.subject == Party::Client);
        let passed: BTreeSet<String> = cases.iter().map(|case| case.id.clone()).collect();
        let candidates = Candidates::new(&cases, &passed, |_| false);
        let walks: Vec<Walk> = (0..40).filter_map(|number| walk(&candidates, 7, number)).collect();
        let later = walks.iter().flat_map(|walk| walk.0.iter().skip(1));
        assert!(later.clone().count() > 10 && later.clone().all(|step| step.place == Place::SameTurn));
        assert!(later.clone().all(|step| step.cancel_after.is_none()));
    }

    #[test]
    fn nothing_passed_is_nothing_to_walk_over() {
        let (cases, _) = embedded(&V1);
        assert_eq!(walk(&Candidates::new(&cases, &BTreeSet::new(), |_| true), 1, 0), None);
    }
}
