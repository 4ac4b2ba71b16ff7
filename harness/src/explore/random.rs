//! Random walks. The same seed, cases and verdicts give the same walks.

use std::collections::BTreeSet;

use fastrand::Rng;

use crate::case::Case;
use crate::case::walk::{Fragment, Move, Walk, leaves_session_ready};

/// The largest number of moves.
const MOST_MOVES: usize = 10;

/// The number of cases to try for a move.
const TRIES: usize = 24;

/// The cases of which walks are made.
pub struct Candidates<'c> {
    /// Those in their first use come first.
    fragments: Vec<Candidate<'c>>,
    first_uses: usize,
}

#[derive(Clone, Copy)]
struct Candidate<'c> {
    fragment: Fragment<'c>,
    leaves_session_ready: bool,
}

impl<'c> Candidates<'c> {
    /// Chooses the cases that passed, in all of their contexts.
    #[must_use]
    pub fn new(cases: &'c [Case], passed: &BTreeSet<String>) -> Self {
        let of = |is_first: bool| {
            let fits = move |case: &&Case| {
                case.context.is_none() == is_first && passed.contains(case.first_use().unwrap_or(&case.id))
            };
            cases.iter().filter(fits).filter_map(|case| {
                let leaves_session_ready = leaves_session_ready(case, cases);
                Some(Candidate { fragment: Fragment::of(case)?, leaves_session_ready })
            })
        };
        let mut fragments: Vec<_> = of(true).collect();
        let first_uses = fragments.len();
        fragments.extend(of(false));
        Self { fragments, first_uses }
    }

    fn choose(&self, rng: &mut Rng) -> Option<&Candidate<'c>> {
        // A context is a few moves itself.
        let among = if rng.u8(..3) == 0 { self.fragments.len() } else { self.first_uses };
        (among > 0).then(|| &self.fragments[rng.usize(..among)])
    }
}

/// Makes the walk with this number; `None` if there are no cases to walk over.
#[must_use]
pub fn walk(candidates: &Candidates<'_>, seed: u64, number: usize) -> Option<Walk> {
    // Each walk has its own generator, so it does not depend on how many came before it.
    let mut rng = Rng::with_seed(seed);
    let mut rng =
        Rng::with_seed(rng.u64(..) ^ u64::try_from(number).unwrap_or(u64::MAX).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let length = rng.usize(2..=MOST_MOVES);
    let mut moves = Vec::new();
    let mut played: Vec<Fragment<'_>> = Vec::new();
    let mut session = None;
    while moves.len() < length {
        let fits = |candidate: &&Candidate<'_>| played.iter().all(|other| candidate.fragment.fits(other.case));
        let mut tries = std::iter::repeat_with(|| candidates.choose(&mut rng)).take(TRIES).flatten();
        let Some(&Candidate { fragment, leaves_session_ready }) = tries.find(fits) else { break };
        let same_session = session.is_some() && session == fragment.opening() && rng.u8(..4) > 0;
        let cancels = fragment.cancels();
        let cancel_after = (!cancels.is_empty() && rng.u8(..6) == 0).then(|| cancels[rng.usize(..cancels.len())]);
        let case = fragment.case.id.splitn(3, '/').nth(2)?.to_owned();
        moves.push(Move { case, same_session, cancel_after });
        played.push(fragment);
        session = fragment.opening().filter(|_| leaves_session_ready);
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
        let (cases, _) = embedded(&V1);
        let passed: BTreeSet<String> = cases.iter().map(|case| case.id.clone()).collect();
        let candidates = Candidates::new(&cases, &passed);
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
        assert!(some(&|step| step.same_session) && some(&|step| step.cancel_after.is_some()));
        assert!(some(&|step| step.case.contains('@')), "contexts are moves too");
    }

    #[test]
    fn nothing_passed_is_nothing_to_walk_over() {
        let (cases, _) = embedded(&V1);
        assert_eq!(walk(&Candidates::new(&cases, &BTreeSet::new()), 1, 0), None);
    }
}
