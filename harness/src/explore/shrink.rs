//! Makes a walk shorter as long as it breaks the same requirement.

use super::walk::{Move, Place, Walk};
use super::{Break, Explorer, Walked};
use crate::case::Case;
use crate::case::model::{Body, Outgoing};
use crate::run::stopped;

/// The runs of a walk that broke a requirement; one of them must break it again.
const CONFIRMATIONS: usize = 3;

/// The runs of each shorter walk, and the further runs of one that is kept. All of them must break the requirement,
/// since the user runs it once more: of many walks that break it by chance, some do so twice.
const RUNS: usize = 2;
const MORE_RUNS: usize = 4;

impl Explorer<'_> {
    /// Returns the shortest walk that was found to break the requirement; `None` if even the whole walk no longer does.
    ///
    /// Parts of the walk are left out, halves first and single moves last; then single moves are made simpler.
    pub(super) fn shrink(&self, walked: &Walked, broken: &Break) -> Option<Walked> {
        // On a busy machine each cancel of a short turn may come too late, so the steadier walks come first.
        let best = self.first_reliable(&self.steadier(&walked.walk), broken);
        // What depends on time, such as a cancel in the middle of a turn, may need some runs to show again.
        let again = || self.first_broken(&vec![walked.walk.clone(); CONFIRMATIONS], broken);
        let best = best.or_else(again)?;
        let mut shortest = self.shortest(best, broken);
        if shortest.walk == walked.walk && shortest.traces.len() == 1 {
            shortest.traces.extend(walked.traces.first().cloned());
        }
        Some(shortest)
    }

    /// Leaves out moves as long as a shorter walk breaks the requirement.
    fn shortest(&self, mut best: Walked, broken: &Break) -> Walked {
        let mut part = best.walk.0.len().div_ceil(2);
        while stopped().is_none() {
            let mut shorter = without_parts(&best.walk, part);
            if part == 1 {
                shorter.extend(simpler(&best.walk));
            }
            match self.first_reliable(&shorter, broken) {
                Some(found) => best = found,
                None if part == 1 => break,
                None => part = part.div_ceil(2),
            }
            part = part.min(best.walk.0.len().div_ceil(2)).max(1);
        }
        best
    }

    /// Returns the walk with a case that cancels a long turn instead of each cancel of a short one, which may come too
    /// late in another run; one walk for each such case.
    fn steadier(&self, walk: &Walk) -> Vec<Walk> {
        if walk.0.iter().all(|step| step.cancel_after.is_none()) {
            return Vec::new();
        }
        let cancels_long_turn = |case: &&Case| {
            let is_cancel =
                |line: &Outgoing| matches!(&line.body, Body::Notification { method, .. } if method == "session/cancel");
            let is_long = case.sent().any(|line| line.intent() == Some("keep-busy"));
            is_long && case.sent().any(is_cancel) && case.context.is_none()
        };
        let long = self.cases.iter().filter(cancels_long_turn).filter_map(|case| case.id.splitn(3, '/').nth(2));
        let with = |long: &str| {
            let moves = walk.0.iter().map(|step| match step.cancel_after {
                Some(_) => Move { case: long.to_owned(), place: step.place, cancel_after: None },
                None => step.clone(),
            });
            Walk(moves.collect())
        };
        long.map(with).collect()
    }

    /// Returns the first of these walks that breaks the requirement in each of its runs.
    fn first_reliable(&self, walks: &[Walk], broken: &Break) -> Option<Walked> {
        let runs: Vec<Walk> = std::iter::repeat_n(walks, RUNS).flatten().cloned().collect();
        let mut played = self.play(&runs, |walked| walked.breaks(broken, self).then_some(walked));
        let breaks_again =
            |at: &usize| (0..RUNS).all(|run| matches!(played.get(&(at + run * walks.len())), Some(Some(_))));
        let likely: Vec<usize> = (0..walks.len()).filter(breaks_again).collect();
        let first = likely.into_iter().find(|at| {
            let more = vec![walks[*at].clone(); MORE_RUNS];
            let breaks = self.play(&more, |walked| walked.breaks(broken, self));
            breaks.into_values().filter(|breaks| *breaks).count() == MORE_RUNS
        })?;
        let mut found = played.remove(&first)??;
        let others = (1..RUNS).filter_map(|run| played.remove(&(first + run * walks.len()))?);
        found.traces.extend(others.flat_map(|walked| walked.traces));
        Some(found)
    }

    /// Plays all of these walks and returns the first that breaks the requirement.
    fn first_broken(&self, walks: &[Walk], broken: &Break) -> Option<Walked> {
        let played = self.play(walks, |walked| walked.breaks(broken, self).then_some(walked));
        played.into_values().flatten().next()
    }
}

/// Returns the walk without each part of this many moves. What follows the part may have played in its session or turn,
/// so it is also tried in one of its own.
fn without_parts(walk: &Walk, part: usize) -> Vec<Walk> {
    let moves = &walk.0;
    let mut walks = Vec::new();
    for at in (0..moves.len()).step_by(part) {
        let mut rest = [&moves[..at], &moves[moves.len().min(at + part)..]].concat();
        let place = rest.get(at).map_or(Place::NewSession, |next| next.place);
        for place in Place::ALL.into_iter().filter(|other| *other <= place).rev() {
            if let Some(next) = rest.get_mut(at) {
                next.place = if at == 0 { Place::NewSession } else { place };
            }
            let walk = Walk(rest.clone());
            if !rest.is_empty() && !walks.contains(&walk) {
                walks.push(walk);
            }
        }
    }
    walks
}

/// Returns the walk with one of its moves made simpler each: not in a context, not cancelled, in a session of its own.
fn simpler(walk: &Walk) -> Vec<Walk> {
    let mut walks = Vec::new();
    for (at, step) in walk.0.iter().enumerate() {
        let mut with = |step: Move| {
            let mut moves = walk.0.clone();
            moves[at] = step;
            walks.push(Walk(moves));
        };
        if let Some((case, _)) = step.case.split_once('@') {
            with(Move { case: case.to_owned(), ..step.clone() });
        }
        if step.cancel_after.is_some() {
            with(Move { cancel_after: None, ..step.clone() });
        }
    }
    walks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(walks: &[Walk]) -> Vec<String> {
        walks.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn parts_are_left_out() {
        let walk: Walk = "walk/a/a,+b/b,+c/c".parse().expect("a walk");
        assert_eq!(names(&without_parts(&walk, 2)), ["walk/c/c", "walk/a/a,+b/b"]);
        assert_eq!(
            names(&without_parts(&walk, 1)),
            ["walk/b/b,+c/c", "walk/a/a,c/c", "walk/a/a,+c/c", "walk/a/a,+b/b"]
        );
        assert_eq!(names(&without_parts(&"walk/a/a".parse().expect("a walk"), 1)), [""; 0]);
    }

    #[test]
    fn moves_become_simpler() {
        let walk: Walk = "walk/a/a:again,+b/b:cancel-2".parse().expect("a walk");
        assert_eq!(names(&simpler(&walk)), ["walk/a/a,+b/b:cancel-2", "walk/a/a:again,+b/b"]);
    }
}
