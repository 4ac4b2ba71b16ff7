//! What a case showed only after other cases of its conversation, as a walk.

use super::{Break, Explorer, Walked};
use crate::case::walk::{Fragment, Lowering, Move, Place, Walk};
use crate::report::Suspect;

impl Explorer<'_> {
    /// Returns the shortest sequence of cases that was found to break the requirement each time; `None` if even the whole sequence
    /// does not, or if it cannot be a walk.
    ///
    /// The sequence may be long, so each shorter one is tried once; only the shortest must prove to be reliable.
    #[must_use]
    pub fn shorten(&self, suspect: &Suspect) -> Option<Walked> {
        let broken = Break { requirement: suspect.requirement.clone(), kind: suspect.kind.clone() };
        let whole = self.first_broken(&[self.sequence(suspect)?], &broken)?;
        let shortest = self.shortest(whole, &broken, Self::first_broken);
        self.first_reliable(&[shortest.walk], &broken)
    }

    /// Returns the walk of the cases that can precede this one in a walk, and of the case itself.
    fn sequence(&self, suspect: &Suspect) -> Option<Walk> {
        let fragment = |id: &String| self.cases.iter().find(|case| case.id == *id).and_then(Fragment::of);
        let last = fragment(&suspect.case)?;
        let mut lowering = Lowering::new(self.cases);
        let mut moves = Vec::new();
        let before = suspect.before.iter().filter_map(fragment).filter(|other| last.fits(other.case, self.cases));
        for fragment in before.chain([last]) {
            let case = fragment.case.id.splitn(3, '/').nth(2)?.to_owned();
            let step = Move { case, place: Place::NewSession, cancel_after: None };
            if lowering.check(&fragment, &step).is_ok() {
                lowering.add(fragment, &step, false).ok()?;
                moves.push(step);
            }
        }
        let is_last = moves.last().is_some_and(|step| suspect.case.ends_with(&step.case));
        (is_last && moves.len() > 1).then_some(Walk(moves))
    }
}
