//! The duties of a revision that a program of an earlier one cannot know.
//!
//! Nothing in the protocol names the revision of a version. So a violation of one counts only if the party
//! showed a part that no earlier revision has, not even as a draft, or if the user chose exactly this edition. Without
//! either, it leaves the requirement undecided.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::registry::Registry;
use crate::finding::{Doubt, Finding, Tally};
use crate::protocol::Edition;
use crate::requirement::{Catalogue, Flag, Party};
use crate::verdict::Verdict;
use crate::wire::Members;

/// The parties that a trace shows to be written for the revision of its edition.
#[derive(Debug, Clone, Default)]
pub(super) struct NewDuties {
    /// The duties, with the party of each; none if the user chose exactly this edition.
    duties: BTreeMap<String, Party>,
    /// The same by the place of the requirement in the registry.
    by_place: Vec<Option<Party>>,
    shown: BTreeSet<Party>,
}

impl NewDuties {
    /// Creates the memory for a trace. With `is_exact`, the user chose exactly this edition.
    pub(super) fn new(edition: &Edition, is_exact: bool) -> Self {
        let new = edition.catalogue.iter().filter(|known| !is_exact && known.flags.contains(&Flag::NewDuty));
        let duties: BTreeMap<String, Party> = new.map(|duty| (duty.id.clone(), duty.party)).collect();
        let mut by_place = vec![None; if duties.is_empty() { 0 } else { Registry::all().places().count() }];
        for (duty, party) in &duties {
            if let Some(place) = Registry::all().place(duty) {
                by_place[place] = Some(*party);
            }
        }
        Self { duties, by_place, shown: BTreeSet::new() }
    }

    /// Returns the parties that showed a new part.
    pub(super) const fn shown(&self) -> &BTreeSet<Party> {
        &self.shown
    }

    /// Whether the party of a requirement may be too old for this requirement.
    pub(super) fn excuses(&self, requirement: &str) -> bool {
        self.duties.get(requirement).is_some_and(|party| !self.shown.contains(party))
    }

    /// The same for the place of the requirement in the registry.
    pub(super) fn excuses_at(&self, place: usize) -> bool {
        self.by_place.get(place).copied().flatten().is_some_and(|party| !self.shown.contains(&party))
    }

    pub(super) fn call(&mut self, from: Party, method: &str, params: &Value) {
        if !self.duties.is_empty() && !self.shown.contains(&from) && shows_new_part(from, method, params) {
            self.shown.insert(from);
        }
    }

    /// Fails what a party violated before it showed a new part, and excuses general requirements for what remains
    /// excused.
    pub(super) fn settle(&self, tallies: &mut BTreeMap<String, Tally>, catalogue: &Catalogue) {
        for (id, tally) in &mut *tallies {
            if self.duties.get(id).is_some_and(|party| self.shown.contains(party)) {
                tally.findings.iter_mut().for_each(Finding::count_if_older);
            }
        }
        for general in catalogue.iter().filter(|_| !self.duties.is_empty()) {
            let specific = general.refers_to.iter().filter_map(|id| tallies.get(id)).flat_map(|tally| &tally.findings);
            let excused: Vec<Finding> = specific.filter(|it| it.doubt == Some(Doubt::Older)).cloned().collect();
            let findings = tallies.get_mut(&general.id).into_iter().flat_map(|tally| &mut tally.findings);
            for finding in findings.filter(|it| it.verdict == Verdict::Fail) {
                if excused.iter().any(|specific| finding.is_same_mistake(specific)) {
                    (finding.verdict, finding.doubt) = (Verdict::Inconclusive, Some(Doubt::Older));
                }
            }
        }
    }
}

impl Finding {
    /// Makes a failure of a violation that was excused because its party may be older.
    pub(crate) fn count_if_older(&mut self) {
        if self.doubt == Some(Doubt::Older) {
            (self.verdict, self.doubt) = (Verdict::Fail, None);
        }
    }
}

/// Whether the params have a part that is new in the revision of 2026-11-20 of version 2, which alone has new duties.
/// Parts that the drafts of the revision before had show nothing, such as subagents and the state `unknown`.
fn shows_new_part(from: Party, method: &str, params: &Value) -> bool {
    let is_session = |content: &Value| content.text("type") == Some("session");
    match (from, method, params.member("update")) {
        (Party::Client, "session/prompt", _) => params.given("idempotencyKey").is_some(),
        (Party::Agent, "session/update", Some(update)) => {
            let content = update.member("content");
            match update.text("sessionUpdate") {
                Some("replay_complete" | "cursor_update" | "prompt_suggestions_update") => true,
                Some("tool_call_update") => {
                    content.and_then(Value::as_array).is_some_and(|content| content.iter().any(is_session))
                }
                Some("tool_call_content_chunk") => content.is_some_and(is_session),
                Some("plan_update") => update.member("plan").is_some_and(|plan| plan.given("path").is_some()),
                Some("compaction_update") => update.member("status").is_none_or(Value::is_null),
                _ => false,
            }
        }
        _ => false,
    }
}
