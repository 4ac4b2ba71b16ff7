//! What the runs of cases prove together.
//!
//! A failure in a conversation of several cases may come from the cases before, so it counts only if another process
//! shows it: a run of any case alone, or the same case once more, after the same cases or others. Then it counts
//! wherever it was seen.

use std::collections::{BTreeMap, BTreeSet};

use super::symptom::{Failure, Symptom};
use crate::trace::Outcome;

/// The symptoms that the runs show.
#[derive(Debug, Default)]
pub struct KnownSymptoms {
    /// The symptoms that a case showed alone, or in two conversations if that is enough.
    proved: BTreeSet<Symptom>,
    /// By case: the failures that it showed in a process.
    by_case: BTreeMap<String, BTreeSet<Failure>>,
    /// The failures that a case showed in two processes.
    repeated: BTreeSet<Failure>,
    /// In how many processes any case showed a failure.
    processes: BTreeMap<Failure, usize>,
    /// The unmet expectations of the first case of a conversation.
    of_first: BTreeSet<Symptom>,
    /// The optional expectations that at least one case met.
    met: BTreeSet<String>,
    /// By case: how many times it ran.
    runs: BTreeMap<String, usize>,
    /// The requirements that a run decided.
    decided: BTreeSet<String>,
    /// By the result of an unmet step: how many cases showed it alone too, after a shared conversation.
    confirmed: BTreeMap<Outcome, usize>,
    /// The same for cases that did not show it alone.
    refuted: BTreeMap<Outcome, usize>,
    /// Whether a run shows that the subject is written for the revision of the edition.
    pub(super) is_new: bool,
}

/// The number of cases that show alone what they showed in a shared conversation, all of them, after which the same
/// result of a step needs no further run. It only leaves cases undecided, so nothing fails by it.
const ENOUGH_ALONE: usize = 6;

/// The place of a run of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The only case of its process.
    Alone,
    /// The first of several.
    First,
    /// After others.
    Later,
}

impl KnownSymptoms {
    /// Adds a run of a case, with the optional expectations that were met and the requirements that were decided.
    pub(super) fn add<'d>(
        &mut self,
        case: &str,
        place: Place,
        symptoms: &BTreeSet<Symptom>,
        met: impl Iterator<Item = String>,
        decided: impl Iterator<Item = &'d String>,
    ) {
        self.met.extend(met);
        self.decided.extend(decided.cloned());
        let runs = self.runs.entry(case.to_owned()).or_default();
        *runs += 1;
        let is_again = *runs > 1;
        for symptom in symptoms {
            if let Some(failure) = symptom.failure() {
                if !self.by_case.entry(case.to_owned()).or_default().insert(failure.clone()) {
                    self.repeated.insert(failure.clone());
                }
                *self.processes.entry(failure.clone()).or_default() += 1;
            }
            let proves = match (place, symptom) {
                (_, Symptom::FailedOnce(_)) => false,
                (Place::Alone, _) => true,
                (_, Symptom::Unmet { .. }) => {
                    // The first case of a conversation is alone with its process. A machine under load may have made
                    // that slow, though.
                    let is_first = place == Place::First;
                    let is_second_time = is_first && !self.of_first.insert(symptom.clone());
                    is_second_time || (is_first || is_again) && symptom.shows_in_any_conversation()
                }
                _ => false,
            };
            if proves {
                let proved = match symptom {
                    Symptom::FailedIfNew(failure) => Symptom::Failed(failure.clone()),
                    other => other.clone(),
                };
                self.proved.insert(proved);
            }
        }
    }

    /// Compares a run of a case alone with one before it in a shared conversation.
    pub(super) fn compare(&mut self, shared: &BTreeSet<Symptom>, alone: &BTreeSet<Symptom>) {
        let outcome = |symptoms: &BTreeSet<Symptom>| {
            symptoms.iter().find_map(|symptom| match symptom {
                Symptom::Unmet { outcome, .. } => Some(*outcome),
                _ => None,
            })
        };
        if let Some(shown) = outcome(shared) {
            let list = if outcome(alone) == Some(shown) { &mut self.confirmed } else { &mut self.refuted };
            *list.entry(shown).or_default() += 1;
        }
    }

    /// Whether a failure counts: a case showed it alone, or in two processes.
    pub(super) fn confirms(&self, failure: &Failure) -> bool {
        self.is_proved_alone(failure) || self.repeated.contains(failure)
    }

    /// Whether a case showed the failure alone.
    pub(super) fn is_proved_alone(&self, failure: &Failure) -> bool {
        self.proved.contains(&Symptom::Failed(failure.clone()))
    }

    /// Whether a failure that needs a second process was shown by one.
    pub(super) fn confirms_once(&self, failure: &Failure) -> bool {
        self.processes.get(failure).is_some_and(|processes| *processes >= 2)
    }

    /// Whether a failure counts; false for other symptoms.
    pub fn counts(&self, symptom: &Symptom) -> bool {
        match symptom {
            Symptom::Failed(failure) => self.confirms(failure),
            Symptom::FailedOnce(failure) => self.confirms_once(failure),
            Symptom::FailedIfNew(failure) => self.is_new && self.confirms(failure),
            _ => false,
        }
    }

    /// Returns the symptoms of a case that need a further run. An exit that is confirmed explains why the case went no
    /// further.
    pub fn open(&self, case: &str, symptoms: &BTreeSet<Symptom>) -> BTreeSet<Symptom> {
        let is_exit = |symptom: &Symptom| matches!(symptom, Symptom::Unmet { outcome: Outcome::Ended, .. });
        let is_explained =
            symptoms.iter().any(|symptom| matches!(symptom, Symptom::FailedOnce(it) if self.confirms_once(it)));
        let open = symptoms.iter().filter(|symptom| !self.is_known(case, symptom));
        open.filter(|symptom| !(is_explained && is_exit(symptom))).cloned().collect()
    }

    fn is_known(&self, case: &str, symptom: &Symptom) -> bool {
        match symptom {
            Symptom::Failed(_) | Symptom::FailedOnce(_) => self.counts(symptom),
            Symptom::FailedIfNew(_) => !self.is_new || self.counts(symptom),
            // A subject that never does what a case requires does not do it alone either.
            Symptom::Unmet { is_optional: true, expected, .. } if !self.met.contains(expected) => true,
            Symptom::Unmet { outcome, .. } => self.proved.contains(symptom) || self.is_usual(*outcome),
            // Another case decides the requirement, or nothing happened in a second conversation either.
            Symptom::Undecided(requirement) if self.decided.contains(requirement) || self.has_run_again(case) => true,
            Symptom::Undecided(_) | Symptom::Other(_) => self.proved.contains(symptom),
        }
    }

    fn has_run_again(&self, case: &str) -> bool {
        self.runs.get(case).is_some_and(|runs| *runs >= 2)
    }

    /// Whether steps end like this alone as often as in shared conversations.
    fn is_usual(&self, outcome: Outcome) -> bool {
        let confirmed = self.confirmed.get(&outcome).copied().unwrap_or_default();
        confirmed >= ENOUGH_ALONE && !self.refuted.contains_key(&outcome)
    }
}

impl Symptom {
    /// Whether it fails nothing, and neither a time limit nor the end of the process led to it. Then a second shared
    /// conversation is proof enough.
    pub const fn shows_in_any_conversation(&self) -> bool {
        match self {
            Self::Undecided(_) => true,
            Self::Unmet { outcome, .. } => matches!(outcome, Outcome::Contradicted | Outcome::Missed),
            Self::Failed(_) | Self::FailedOnce(_) | Self::FailedIfNew(_) | Self::Other(_) => false,
        }
    }
}
