//! Splits the findings of a conversation among its cases.

use std::collections::{BTreeMap, BTreeSet};

use super::owner;
use crate::finding::{Finding, Tally};
use crate::requirement::Catalogue;

/// The findings by requirement.
type Tallies = BTreeMap<String, Tally>;

/// The cases of a conversation so far; none in a trace of a single case and in a recording.
#[derive(Default)]
pub(super) struct CaseShares {
    cases: Vec<Share>,
    /// The findings at the start of the process, up to the answer to `initialize`.
    start: Option<Tallies>,
}

struct Share {
    /// The event with which the case begins.
    first: usize,
    requirements: Vec<String>,
    found: Tallies,
}

impl CaseShares {
    /// Begins a case with this event; `found` holds the findings since the previous case began.
    pub(super) fn begin(&mut self, first: usize, requirements: Vec<String>, found: Tallies) {
        self.end(found);
        self.cases.push(Share { first, requirements, found: Tallies::new() });
    }

    /// Ends the last case.
    pub(super) fn end(&mut self, found: Tallies) {
        if let Some(last) = self.cases.last_mut() {
            last.found = found;
        }
    }

    /// Returns the findings in the case before the current one.
    pub(super) fn last_ended(&self) -> Option<&Tallies> {
        self.cases.iter().nth_back(1).map(|case| &case.found)
    }

    /// Whether no case has begun.
    pub(super) const fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// Whether the conversation holds several cases and its start is not over yet.
    pub(super) const fn wants_start(&self) -> bool {
        !self.cases.is_empty() && self.start.is_none()
    }

    /// Stores the findings at the start of the process.
    pub(super) fn started(&mut self, found: Tallies) {
        self.start = Some(found);
    }

    /// Returns the findings of each case; empty for a trace without cases.
    ///
    /// A finding counts for the case of its deciding event, since a check may decide only later. The start of the
    /// process counts for each case that names one of its requirements, as if the case had a process of its own. So
    /// does a more specific requirement that owns a mistake in it.
    ///
    /// A finding that is decided only at the end, with the event `end`, counts for the case of the next event that
    /// proves it. That a requirement does not apply is known only at the end, and counts for each case that names
    /// it.
    pub(super) fn split(mut self, end: usize, catalogue: &Catalogue) -> Vec<Tallies> {
        let firsts: Vec<usize> = self.cases.iter().map(|case| case.first).collect();
        let case_of = |finding: &Finding, at: usize| {
            let event = finding.events.iter().find(|&&event| event != end)?;
            Some(firsts.partition_point(|first| first <= event).saturating_sub(1).min(at))
        };
        for at in 1..self.cases.len() {
            for (requirement, tally) in std::mem::take(&mut self.cases[at].found) {
                for (case, part) in tally.split(|finding| case_of(finding, at).unwrap_or(at), at) {
                    self.cases[case].found.entry(requirement.clone()).or_default().join(part);
                }
            }
        }
        self.spread_what_does_not_apply();
        let mut start = self.start.unwrap_or_default();
        owner::assign(&mut start, catalogue);
        let mut cases = self.cases.into_iter().map(|Share { requirements, found, .. }| (requirements, found));
        let first = cases.next().map(|(_, found)| found);
        let rest = cases.map(|(requirements, mut found)| {
            let own = requirements.iter().filter_map(|id| start.get(id)).flat_map(|tally| &tally.findings);
            let owners: BTreeSet<&String> = own.filter_map(|finding| finding.same_as.as_ref()).collect();
            let counts = |id: &String| requirements.contains(id) || owners.contains(id);
            for (requirement, tally) in start.iter().filter(|(id, _)| counts(id)) {
                found.entry(requirement.clone()).or_default().join(tally.clone());
            }
            found
        });
        first.into_iter().chain(rest).collect()
    }

    fn spread_what_does_not_apply(&mut self) {
        let Some((last, others)) = self.cases.split_last_mut() else { return };
        for case in others {
            for id in &case.requirements {
                let reason = last.found.get(id).and_then(|tally| tally.not_applicable.as_ref());
                if let Some(reason) = reason {
                    case.found.entry(id.clone()).or_default().not_applicable.get_or_insert_with(|| reason.clone());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact;
    use crate::testing::v1;
    use crate::verdict::Verdict;

    const GENERAL: &str = "ext.no-custom-root-fields.agent";
    const OWNER: &str = "auth.terminal.no-command";

    #[test]
    fn owner_of_mistake_at_start_goes_where_general_requirement_goes() {
        let failed = |requirement: &str| {
            let finding = Finding {
                verdict: Verdict::Fail,
                fact: fact!("wrong", "it is wrong"),
                doubt: None,
                events: vec![2],
                stalled: false,
                same_as: None,
            };
            (requirement.to_owned(), Tally { findings: vec![finding], ..Tally::default() })
        };
        let start = BTreeMap::from([GENERAL, OWNER, "init.respond"].map(failed));
        let mut shares = CaseShares::default();
        shares.begin(0, Vec::new(), Tallies::new());
        shares.started(start.clone());
        shares.begin(5, vec![GENERAL.to_owned()], start);
        shares.begin(8, vec!["session.new.params".to_owned()], Tallies::new());
        shares.end(Tallies::new());
        let cases = shares.split(9, &v1().catalogue);
        let found: Vec<Vec<&str>> = cases.iter().map(|case| case.keys().map(String::as_str).collect()).collect();
        assert_eq!(found, [vec![OWNER, GENERAL, "init.respond"], vec![OWNER, GENERAL], vec![]]);
    }

    #[test]
    fn requirement_that_does_not_apply_is_so_in_every_case_that_names_it() {
        let mut shares = CaseShares::default();
        shares.begin(0, vec![OWNER.to_owned()], Tallies::new());
        shares.begin(5, vec![GENERAL.to_owned()], Tallies::new());
        let tally = Tally { not_applicable: Some(fact!("no-login", "it has no login")), ..Tally::default() };
        shares.end(Tallies::from([(OWNER.to_owned(), tally)]));
        let cases = shares.split(9, &v1().catalogue);
        let verdicts: Vec<_> = cases.iter().map(|case| case.get(OWNER).map(Tally::verdict)).collect();
        assert_eq!(verdicts, [Some(Verdict::NotApplicable); 2]);
        assert!(cases.iter().all(|case| !case.contains_key(GENERAL)));
    }
}
