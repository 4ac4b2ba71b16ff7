//! Gives each mistake one owner: a failing finding of a general requirement names the more specific one that it also
//! violates.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::finding::{Finding, Tally};
use crate::requirement::{Area, Catalogue, Level, Requirement};
use crate::verdict::Verdict;

/// A finding: the id of its requirement, and its place among the findings of that requirement.
type Place = (String, usize);

/// Fills in [`Finding::same_as`] for the findings of one trace.
///
/// A general requirement names more specific ones in `refers-to`. The specific one owns the mistake, unless it binds
/// less than the general one: a MUST never refers to a SHOULD.
pub(super) fn assign(tallies: &mut BTreeMap<String, Tally>, catalogue: &Catalogue) {
    let mut owners: BTreeMap<Place, Place> = BTreeMap::new();
    for general in catalogue.iter().filter(|requirement| !requirement.refers_to.is_empty()) {
        for (at, finding) in failures(tallies, &general.id) {
            let specific = general.refers_to.iter().filter_map(|id| {
                let same = failures(tallies, id).find(|(_, other)| finding.is_same_mistake(other));
                same.map(|(at, _)| (catalogue.find(id).map(|specific| specific.level), (id.clone(), at)))
            });
            let (weaker, binding): (Vec<_>, Vec<_>) = specific.partition(|(level, _)| *level > Some(general.level));
            let place = (general.id.clone(), at);
            owners.extend(weaker.into_iter().map(|(_, weaker)| (weaker, place.clone())));
            owners.extend(binding.into_iter().next().map(|(_, owner)| (place, owner)));
        }
    }
    owners.extend(damaged(tallies, catalogue).filter(|(place, _)| !owners.contains_key(place)).collect::<Vec<_>>());
    for place in owners.keys() {
        let mut owner = &owners[place];
        // A test of the catalogue ensures that no requirement refers to itself, even through others.
        while let Some(next) = owners.get(owner) {
            owner = next;
        }
        if let Some(finding) = tallies.get_mut(&place.0).and_then(|tally| tally.findings.get_mut(place.1)) {
            finding.same_as = Some(owner.0.clone());
        }
    }
}

/// Returns the findings on texts with damaged characters, with the violated requirement of the transport as their
/// owner: a program that breaks characters also breaks the ids and values that contain them.
fn damaged(tallies: &BTreeMap<String, Tally>, catalogue: &Catalogue) -> impl Iterator<Item = (Place, Place)> {
    let is_transport =
        |requirement: &&Requirement| Area::of(&requirement.id) == Area::TRANSPORT && requirement.level == Level::Must;
    let transport = catalogue.iter().filter(is_transport);
    let cause = transport
        .filter_map(|requirement| failures(tallies, &requirement.id).next().map(|(at, _)| (requirement.id.clone(), at)))
        .next();
    let mut found = Vec::new();
    for (id, _) in tallies.iter().filter(|(id, _)| Area::of(id) != Area::TRANSPORT) {
        let broken = failures(tallies, id).filter(|(_, finding)| finding.fact.has_damaged_text());
        found.extend(broken.filter_map(|(at, _)| Some(((id.clone(), at), cause.clone()?))));
    }
    found.into_iter()
}

fn failures<'t>(
    tallies: &'t BTreeMap<String, Tally>,
    requirement: &str,
) -> impl Iterator<Item = (usize, &'t Finding)> + use<'t> {
    let findings = tallies.get(requirement).map_or(&[][..], |tally| &tally.findings);
    findings.iter().enumerate().filter(|(_, finding)| finding.verdict == Verdict::Fail)
}

impl Finding {
    /// Returns whether this finding and one of a more specific requirement are at the same place: both have the same
    /// deciding event, and the pointer of one is that of the other or leads into it. A finding without a pointer
    /// concerns the whole message; a specific one without a pointer shares only the mistake of a finding like this. If
    /// neither has a pointer, it is enough that this finding rests on the deciding event of the other.
    pub fn is_same_mistake(&self, specific: &Self) -> bool {
        let is_within = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_same_event = self.events.first() == specific.events.first();
        match (self.pointer(), specific.pointer()) {
            (None, None) => specific.events.first().is_some_and(|event| self.events.contains(event)),
            (None, Some(_)) => is_same_event,
            (Some(_), None) => false,
            (Some(one), Some(other)) => is_same_event && (is_within(one, other) || is_within(other, one)),
        }
    }

    /// Returns the pointer relative to the payload: some checks count from the message, and some from its params or
    /// result.
    fn pointer(&self) -> Option<&str> {
        let pointer = self.fact.field("pointer")?.as_str()?;
        let inner = ["/params", "/result"].into_iter().find_map(|root| pointer.strip_prefix(root));
        Some(inner.filter(|rest| rest.is_empty() || rest.starts_with('/')).unwrap_or(pointer))
    }
}

/// The fields that all occurrences of a mistake have in common; others hold ids, values and durations.
const COMMON: [&str; 9] =
    ["method", "methods", "pointer", "expected", "capability", "used", "variant", "party", "requirement"];

/// Returns a name of a mistake by the kind and fields of its findings. Two steps that went otherwise than their cases
/// expect are one mistake only if they expected and observed the same.
pub fn signature(kind: &str, fields: &Map<String, Value>) -> String {
    let is_of_step = fields.contains_key("observation");
    let stays = |(name, _): &(&String, &Value)| is_of_step || COMMON.contains(&name.as_str());
    let common = |(name, value): (&String, &Value)| match value.as_str().filter(|_| name == "pointer") {
        Some(pointer) => (name.clone(), without_indexes(pointer).into()),
        None => (name.clone(), value.clone()),
    };
    let fields: BTreeMap<String, Value> = fields.iter().filter(stays).map(common).collect();
    format!("{kind} {}", serde_json::to_string(&fields).unwrap_or_default())
}

/// Returns a pointer without the places in lists.
fn without_indexes(pointer: &str) -> String {
    let parts = pointer.split('/').filter(|part| part.parse::<usize>().is_err());
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fact;
    use crate::finding::Fact;

    fn catalogue(requirements: &[(&str, &str, &[&str])]) -> Catalogue {
        let entry = |(id, level, refers_to): &(&str, &str, &[&str])| {
            let entry = json!({
                "id": id, "party": "agent", "level": level, "text": "", "source": "", "applies_when": "always",
                "check": "passive", "how": "", "mutant": "", "status": "checked", "refers-to": refers_to,
            });
            serde_json::from_value(entry).expect("a requirement")
        };
        Catalogue::new(requirements.iter().map(entry).collect()).expect("ids are unique")
    }

    /// Returns the owners of these failures, each the only one of its requirement.
    fn owners(catalogue: &Catalogue, failures: &[(&str, usize, Option<&str>)]) -> Vec<Option<String>> {
        let tally = |(id, event, pointer): &(&str, usize, Option<&str>)| {
            let fact = fact!("wrong", "it is wrong"; pointer = pointer);
            let finding = Finding {
                verdict: Verdict::Fail,
                fact,
                doubt: None,
                events: vec![*event],
                stalled: false,
                same_as: None,
            };
            ((*id).to_owned(), Tally { findings: vec![finding], ..Tally::default() })
        };
        let mut tallies = failures.iter().map(tally).collect();
        assign(&mut tallies, catalogue);
        failures.iter().map(|(id, ..)| tallies[*id].findings[0].same_as.clone()).collect()
    }

    #[test]
    fn specific_requirement_owns_mistake_at_same_place() {
        let catalogue = catalogue(&[("general", "must", &["specific"]), ("specific", "must", &[])]);
        let owner = |general, specific| {
            let owners = owners(&catalogue, &[("general", 3, general), ("specific", 3, specific)]);
            assert_eq!(owners[1], None);
            owners[0].clone()
        };
        let same = Some("specific".to_owned());
        assert_eq!(owner(Some("/params/path"), Some("/path")), same);
        assert_eq!(owner(Some("/servers/0/command"), Some("/params/servers")), same);
        assert_eq!(owner(None, Some("/params/path")), same);
        assert_eq!(owner(Some("/paths"), Some("/path")), None);
        assert_eq!(owner(Some("/path"), None), None);
        let elsewhere = owners(&catalogue, &[("general", 3, None), ("specific", 4, None)]);
        assert_eq!(elsewhere, [None, None]);
    }

    #[test]
    fn finding_that_rests_on_event_of_specific_one_is_same_mistake() {
        let finding = |events: &[usize]| Finding {
            verdict: Verdict::Fail,
            fact: fact!("wrong", "it is wrong"),
            doubt: None,
            events: events.to_vec(),
            stalled: false,
            same_as: None,
        };
        assert!(finding(&[9, 3]).is_same_mistake(&finding(&[3, 5])));
        assert!(!finding(&[9, 5]).is_same_mistake(&finding(&[3, 5])));
    }

    #[test]
    fn broken_characters_explain_ids_with_them() {
        let names = [("ids", "must", &[][..]), ("transport.split", "must", &[]), ("other", "must", &[])];
        let catalogue = catalogue(&names);
        let finding = |fact: Fact| Finding {
            verdict: Verdict::Fail,
            fact,
            doubt: None,
            events: vec![1],
            stalled: false,
            same_as: None,
        };
        let tally = |fact: Fact| Tally { findings: vec![finding(fact)], ..Tally::default() };
        let broken = || tally(fact!("unknown-id", "{id}", id = "id-\u{fffd}-2"));
        let whole = || tally(fact!("unknown-id", "{id}", id = "id-2"));
        let owner = |transport: bool| {
            let mut tallies = BTreeMap::from([("ids".to_owned(), broken()), ("other".to_owned(), whole())]);
            tallies.extend(transport.then(|| ("transport.split".to_owned(), whole())));
            assign(&mut tallies, &catalogue);
            assert_eq!(tallies["other"].findings[0].same_as, None);
            tallies["ids"].findings[0].same_as.clone()
        };
        assert_eq!(owner(true).as_deref(), Some("transport.split"));
        assert_eq!(owner(false), None);
    }

    #[test]
    fn must_owns_mistake_of_more_specific_should() {
        let catalogue = catalogue(&[("general", "must", &["specific"]), ("specific", "should", &[])]);
        let owners = owners(&catalogue, &[("general", 3, None), ("specific", 3, None)]);
        assert_eq!(owners, [None, Some("general".to_owned())]);
    }

    #[test]
    fn most_specific_requirement_owns_mistake() {
        let catalogue = catalogue(&[("a", "must", &["b"]), ("b", "must", &["c"]), ("c", "must", &[])]);
        let owners = owners(&catalogue, &[("a", 3, None), ("b", 3, None), ("c", 3, None)]);
        assert_eq!(owners, [Some("c".to_owned()), Some("c".to_owned()), None]);
    }

    #[test]
    fn signatures_have_what_all_occurrences_of_a_mistake_have_in_common() {
        let name = |fact: crate::finding::Fact| signature(fact.kind, &fact.fields());
        let late = |session_id: &str, after_ms: u64, method: &str| {
            name(fact!("late", "{session_id} {after_ms} {method}", session_id, after_ms, method))
        };
        assert_eq!(late("a", 1, "session/new"), late("b", 2, "session/new"));
        assert_ne!(late("a", 1, "session/new"), late("a", 1, "session/load"));
        let unmet = |observation: &str| {
            name(fact!("contradicted", "{observed}", observed = observation; observation = observation))
        };
        assert_ne!(unmet("a"), unmet("b"), "steps have no fields that name the mistake");
        let wrong = |pointer: &str| name(fact!("wrong-type", "it is wrong"; pointer = pointer));
        assert_eq!(wrong("/update/content/0/type"), wrong("/update/content/1/type"));
    }
}
