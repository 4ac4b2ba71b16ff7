//! Repeats conversations for failures that a case showed only after other cases.
//!
//! Such a failure may be one of the subject, which forgets something in its tenth request, say. If a second process
//! that runs the same cases shows it too, it counts, and the shortest sequence that shows it is its reproduction.

use std::time::Duration;

use super::{Suite, SuiteListener};
use crate::case::Case;
use crate::results::{Symptom, UnconfirmedFailure};
use crate::run::{Subject, is_stopping, run_in_order, stopped};

/// The least time for all repetitions of a run. A longer run may spend as much time on them as on everything else.
const LEAST_TIME: Duration = Duration::from_secs(30);

/// The most runs that make one sequence shorter.
const MOST_RUNS: usize = 12;

/// The length of a try, as a multiple of the one before it. With twice the length, tries that all show nothing run
/// twice as many cases.
const LONGER: usize = 4;

/// The sequence of one failure.
#[derive(Clone)]
struct Sequence<'s> {
    symptom: Symptom,
    /// The id of the requirement that failed.
    requirement: String,
    /// The cases, in their order; the last one shows the failure.
    cases: Vec<&'s Case>,
}

impl<L: SuiteListener> Suite<'_, L> {
    /// Repeats conversations until each of these failures, which only they showed, is confirmed or not, or the time is
    /// over.
    pub(super) fn repeat_conversations(
        &mut self,
        cases: &[Case],
        subject: &Subject,
        is_due: impl Fn(&UnconfirmedFailure) -> bool,
    ) -> Result<(), L::Error> {
        let began = self.begun.elapsed();
        let allowed = LEAST_TIME.max(began.saturating_sub(self.repeating));
        let end = began + allowed.saturating_sub(self.repeating);
        for failure in self.collector.unconfirmed() {
            // The repetition of another one may have shown it.
            if !is_due(&failure) || self.collector.known().counts(&failure.symptom) {
                continue;
            }
            let UnconfirmedFailure { symptom, requirement, case, before, .. } = failure;
            if stopped().is_some() || self.begun.elapsed() >= end {
                break;
            }
            let find = |id: &String| cases.iter().find(|case| case.id == *id);
            let sequence: Option<Vec<&Case>> = before.iter().chain([&case]).map(find).collect();
            let Some(cases) = sequence.filter(|cases| cases.len() > 1) else { continue };
            if !self.repeated.insert(symptom.clone()) {
                continue;
            }
            // Another failure after the same cases would have shown as well.
            let ids: Vec<String> = cases.iter().map(|case| case.id.clone()).collect();
            if self.in_vain.contains(&ids) {
                continue;
            }
            let whole = Sequence { symptom, requirement, cases };
            match self.first_suffix(&whole, subject)? {
                Some(shown) => self.shorten(shown, subject, end)?,
                None => drop(self.in_vain.insert(ids)),
            }
        }
        self.repeating += self.begun.elapsed().saturating_sub(began);
        Ok(())
    }

    /// Runs ever longer ends of the sequence, and returns the first that shows the failure.
    fn first_suffix<'s>(&mut self, whole: &Sequence<'s>, subject: &Subject) -> Result<Option<Sequence<'s>>, L::Error> {
        let all = whole.cases.len();
        // Shortly before a time limit, there is time for one try.
        let mut length = if is_stopping() { all } else { 2 };
        loop {
            let suffix = &whole.cases[all - length.min(all)..];
            self.listener.repeats(&whole.requirement, suffix.len(), all)?;
            if self.shows(suffix, &whole.symptom, subject)? {
                return Ok(Some(Sequence { cases: suffix.to_vec(), ..whole.clone() }));
            }
            if length >= all || is_stopping() {
                return Ok(None);
            }
            // Most failures that one case does not show are a matter of time, so that no length shows them.
            length *= LONGER;
        }
    }

    /// Leaves out cases as long as the rest shows the failure: halves first, single ones last.
    fn shorten(&mut self, shown: Sequence<'_>, subject: &Subject, end: Duration) -> Result<(), L::Error> {
        let Sequence { symptom, requirement, cases: mut best } = shown;
        let (mut part, mut runs, all) = (best.len() / 2, 0, best.len());
        'shorter: while part > 0 && best.len() > 2 {
            for at in (0..best.len() - 1).step_by(part) {
                let left_out = at..(at + part).min(best.len() - 1);
                let rest: Vec<&Case> = [&best[..left_out.start], &best[left_out.end..]].concat();
                if rest.len() < 2 {
                    continue;
                }
                if runs == MOST_RUNS || is_stopping() || self.begun.elapsed() >= end {
                    return Ok(());
                }
                runs += 1;
                self.listener.repeats(&requirement, rest.len(), all)?;
                // A sequence that shows it once may do so by chance; the user runs it once more.
                if self.shows(&rest, &symptom, subject)? && self.shows(&rest, &symptom, subject)? {
                    best = rest;
                    part = part.min(best.len() / 2);
                    continue 'shorter;
                }
            }
            part /= 2;
        }
        Ok(())
    }

    /// Runs the cases in one process, adds the result, and returns whether the last one showed the failure.
    fn shows(&mut self, cases: &[&Case], symptom: &Symptom, subject: &Subject) -> Result<bool, L::Error> {
        let trace = run_in_order(cases, subject);
        let file = self.listener.keep(&trace)?;
        let ran = self.collector.add(&trace, file.as_deref());
        let last = cases.last().map(|case| case.id.as_str()).unwrap_or_default();
        Ok(ran.len() == cases.len() && self.collector.shows(last, symptom))
    }
}
