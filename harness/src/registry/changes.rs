//! What changed between the results of two runs of a registry.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::results::{EditionResult, EntryOutcome, EntryResult};
use crate::report::count;
use crate::verdict::{Conformance, Verdict};

/// The changes of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryChanges {
    /// The end of the run: UTC, as in RFC 3339.
    pub ended: String,
    /// The end of the run before.
    pub since: String,
    /// Whether another version of this program ran before, so that a verdict may have changed because a requirement
    /// did.
    pub other_suite: bool,
    /// The changes, in the order of the ids of the entries.
    pub changes: Vec<RegistryChange>,
}

/// One change of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryChange {
    /// The id of the entry.
    pub entry: String,
    /// Its name for people.
    pub name: String,
    /// What changed.
    pub kind: ChangeKind,
    /// The version of the protocol, such as `v1`, of a changed verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The requirement, if its verdict changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// The value before; absent for an added entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The value now; absent for a removed entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// Whether a requirement passed before and fails now, with the same cases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub regression: bool,
}

/// What changed of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// It is no longer there.
    Removed,
    /// Its version.
    Version,
    /// How far it came.
    Outcome,
    /// The registry's own rule.
    LoginRule,
    /// Which cases ran, so that a verdict may have changed because other cases did.
    Cases,
    /// The versions of the protocol that it speaks.
    Protocol,
    /// Its conformance in a version of the protocol.
    Conformance,
    /// Its verdict on a requirement, which fails now or failed before.
    Requirement,
}

/// Returns the changes from the old results to the new ones, both in the order of the ids.
///
/// Only requirements that fail now or failed before are listed: which others are exercised differs from run to run, as
/// a time limit cuts off other cases. For the same reason, what a partial run leaves undecided is not a change.
pub fn changes_between(old: &[EntryResult], new: &[EntryResult]) -> Vec<RegistryChange> {
    let mut both: BTreeMap<&str, (Option<&EntryResult>, Option<&EntryResult>)> = BTreeMap::new();
    old.iter().for_each(|entry| both.entry(&entry.id).or_default().0 = Some(entry));
    new.iter().for_each(|entry| both.entry(&entry.id).or_default().1 = Some(entry));
    both.into_values()
        .flat_map(|pair| match pair {
            (None, Some(new)) => vec![Found::of(new).change(ChangeKind::Added, None, Some(new.version.clone()))],
            (Some(old), None) => vec![Found::of(old).change(ChangeKind::Removed, Some(old.version.clone()), None)],
            (Some(old), Some(new)) => of_entry(old, new),
            (None, None) => Vec::new(),
        })
        .collect()
}

/// The entry of a change, with the version of the protocol.
#[derive(Clone, Copy)]
struct Found<'e> {
    entry: &'e EntryResult,
    protocol: Option<&'e str>,
}

impl<'e> Found<'e> {
    const fn of(entry: &'e EntryResult) -> Self {
        Self { entry, protocol: None }
    }

    fn change(self, kind: ChangeKind, old: Option<String>, new: Option<String>) -> RegistryChange {
        let Self { entry, protocol } = self;
        RegistryChange {
            entry: entry.id.clone(),
            name: entry.name.clone(),
            kind,
            protocol: protocol.map(str::to_owned),
            requirement: None,
            old,
            new,
            regression: false,
        }
    }

    fn changed(self, kind: ChangeKind, old: &str, new: &str) -> Option<RegistryChange> {
        (old != new).then(|| self.change(kind, Some(old.to_owned()), Some(new.to_owned())))
    }
}

fn of_entry(old: &EntryResult, new: &EntryResult) -> Vec<RegistryChange> {
    let found = Found::of(new);
    let mut changes: Vec<RegistryChange> =
        found.changed(ChangeKind::Version, &old.version, &new.version).into_iter().collect();
    changes.extend(found.changed(ChangeKind::Outcome, old.outcome.name(), new.outcome.name()));
    changes.extend(found.changed(ChangeKind::LoginRule, old.login.verdict.name(), new.login.verdict.name()));
    // Without a verdict now, nothing is known about the requirements.
    if new.outcome == EntryOutcome::Tested {
        changes.extend(found.changed(ChangeKind::Cases, &old.cases, &new.cases));
        changes.extend(of_versions(old, new));
        for edition in &new.editions {
            let before = old.editions.iter().find(|other| other.major() == edition.major());
            let is_same = old.cases == new.cases;
            changes.extend(
                before
                    .into_iter()
                    .flat_map(|before| of_edition(new, before, edition))
                    .map(|change| RegistryChange { regression: change.regression && is_same, ..change }),
            );
        }
    }
    changes
}

/// Compares the versions of the protocol that an entry speaks. A run that a limit cut off may not have reached each.
fn of_versions(old: &EntryResult, new: &EntryResult) -> Option<RegistryChange> {
    let [mut was, mut is] = [old, new].map(EntryResult::majors);
    if old.is_cut_off() {
        was.extend(&is);
    }
    if new.is_cut_off() {
        is.extend(&was);
    }
    let [was, is] = [was, is].map(|versions| versions.into_iter().collect::<Vec<_>>().join(", "));
    Found::of(new).changed(ChangeKind::Protocol, &was, &is).filter(|_| old.outcome == EntryOutcome::Tested)
}

fn of_edition(entry: &EntryResult, old: &EditionResult, new: &EditionResult) -> Vec<RegistryChange> {
    let found = Found { entry, protocol: Some(new.major()) };
    let [was, is] = [old, new].map(|edition| Conformance::name(edition.verdict));
    let is_open = new.partial && new.verdict == Conformance::Incomplete;
    let conformance = found.changed(ChangeKind::Conformance, was, is).filter(|_| !is_open);
    let mut changes: Vec<RegistryChange> = conformance.into_iter().collect();
    for (id, is) in &new.requirements {
        let Some(was) = old.requirements.get(id) else { continue };
        let is_cut_off = new.partial && !matches!(is, Verdict::Pass | Verdict::Fail);
        if ![was, is].contains(&&Verdict::Fail) || is_cut_off {
            continue;
        }
        changes.extend(found.changed(ChangeKind::Requirement, was.name(), is.name()).map(|change| RegistryChange {
            requirement: Some(id.clone()),
            regression: (*was, *is) == (Verdict::Pass, Verdict::Fail),
            ..change
        }));
    }
    changes
}

/// Writes the changes for people: a line for each entry, and then one for each of its changes.
pub fn change_text(changes: &RegistryChanges) -> String {
    let mut text = String::new();
    if changes.other_suite {
        text.push_str("Another version of acp-conformance ran before; some requirements may have changed.\n");
    }
    let mut entry = "";
    for change in &changes.changes {
        if change.entry != entry {
            entry = &change.entry;
            let _ = writeln!(text, "{} ({entry})", change.name);
        }
        let _ = writeln!(text, "  {}", line(change));
    }
    text
}

/// Returns the number of changes and of entries in a title.
pub(super) fn title(changes: &RegistryChanges) -> String {
    let mut entries: Vec<&str> = changes.changes.iter().map(|change| change.entry.as_str()).collect();
    entries.dedup();
    let regressions = changes.changes.iter().filter(|change| change.regression).count();
    let worse = match regressions {
        0 => String::new(),
        some => format!(", {}", count(some, "requirement fails that passed", "requirements fail that passed")),
    };
    let changed = count(changes.changes.len(), "change", "changes");
    format!("{changed} in {}{worse}", count(entries.len(), "agent", "agents"))
}

fn line(change: &RegistryChange) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_default();
    let arrow = format!("{} → {}", value(&change.old), value(&change.new));
    let protocol = change.protocol.as_deref().unwrap_or_default();
    match (change.kind, &change.requirement) {
        (ChangeKind::Added, _) => format!("new in the registry, version {}", value(&change.new)),
        (ChangeKind::Removed, _) => format!("no longer in the registry; it was version {}", value(&change.old)),
        (ChangeKind::Version, _) => format!("version: {arrow}"),
        (ChangeKind::Outcome, _) => format!("outcome: {arrow}"),
        (ChangeKind::LoginRule, _) => format!("login rule: {arrow}"),
        (ChangeKind::Cases, _) => format!("cases: {arrow}"),
        (ChangeKind::Protocol, _) => format!("protocol: {arrow}"),
        (ChangeKind::Conformance, _) => format!("{protocol}: {arrow}"),
        (ChangeKind::Requirement, id) => format!("{protocol} {}: {arrow}", id.as_deref().unwrap_or_default()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::registry::results::{LoginRule, RuleVerdict};

    /// A tested entry with these verdicts.
    pub(in crate::registry) fn entry(id: &str, version: &str, verdicts: &[(&str, Verdict)]) -> EntryResult {
        let has_failure = verdicts.iter().any(|(_, verdict)| *verdict == Verdict::Fail);
        let edition = EditionResult {
            edition: "v1@2026-11-20".to_owned(),
            verdict: if has_failure { Conformance::NotConformant } else { Conformance::Conformant },
            partial: false,
            musts: 0,
            shoulds: 0,
            report: format!("reports/{id}-v1.json"),
            requirements: verdicts.iter().map(|(id, verdict)| ((*id).to_owned(), *verdict)).collect(),
        };
        EntryResult {
            id: id.to_owned(),
            name: id.to_uppercase(),
            version: version.to_owned(),
            suite: "0.1.0".to_owned(),
            distribution: Some("npx".to_owned()),
            package: Some(id.to_owned()),
            profile: None,
            cases: "all cases".to_owned(),
            began: "2026-11-27T00:00:00Z".to_owned(),
            install_ms: 1,
            test_ms: 2,
            outcome: EntryOutcome::Tested,
            reason: None,
            stderr: Vec::new(),
            login: LoginRule { verdict: RuleVerdict::Met, reason: None, types: vec!["agent".to_owned()] },
            editions: vec![edition],
        }
    }

    fn text(old: &[EntryResult], new: &[EntryResult]) -> String {
        change_text(&RegistryChanges {
            ended: String::new(),
            since: String::new(),
            other_suite: false,
            changes: changes_between(old, new),
        })
    }

    #[test]
    fn versions_verdicts_and_requirements_are_compared() {
        use Verdict::{Fail, NotExercised, Pass};
        let old = [
            entry("a", "1.0.0", &[("x", Pass), ("y", Fail), ("z", Pass)]),
            entry("b", "1.0.0", &[("x", Pass)]),
            entry("c", "1.0.0", &[]),
        ];
        let new = [
            entry("a", "1.0.1", &[("x", Fail), ("y", NotExercised), ("z", NotExercised)]),
            entry("b", "1.0.0", &[("x", Pass)]),
            entry("d", "2.0.0", &[]),
        ];
        let wanted = "A (a)\n  version: 1.0.0 → 1.0.1\n  v1 x: pass → fail\n  v1 y: fail → not-exercised\n\
                      C (c)\n  no longer in the registry; it was version 1.0.0\nD (d)\n  new in the registry, version 2.0.0\n";
        assert_eq!(text(&old, &new), wanted);
        assert!(changes_between(&old, &new).iter().any(|change| change.regression));
        assert_eq!(text(&old, &old), "");
    }

    #[test]
    fn what_a_partial_run_leaves_undecided_is_no_change() {
        let old = [entry("a", "1.0.0", &[("x", Verdict::Fail), ("y", Verdict::Pass)])];
        let mut new = [entry("a", "1.0.0", &[("x", Verdict::NotExercised), ("y", Verdict::Pass)])];
        new[0].editions[0].verdict = Conformance::Incomplete;
        assert_eq!(text(&old, &new), "A (a)\n  v1: not-conformant → incomplete\n  v1 x: fail → not-exercised\n");
        new[0].editions[0].partial = true;
        assert_eq!(text(&old, &new), "");
        new[0].editions[0].requirements.insert("y".to_owned(), Verdict::Fail);
        assert_eq!(text(&old, &new), "A (a)\n  v1 y: pass → fail\n");
    }

    #[test]
    fn versions_of_the_protocol_are_compared_unless_a_run_was_cut_off() {
        let old = entry("a", "1.0.0", &[("x", Verdict::Pass)]);
        let mut new = old.clone();
        new.editions.push(EditionResult { edition: "v2@2026-11-20".to_owned(), ..old.editions[0].clone() });
        let text = |old: &EntryResult, new: &EntryResult| text(std::slice::from_ref(old), std::slice::from_ref(new));
        assert_eq!(text(&old, &new), "A (a)\n  protocol: v1 → v1, v2\n");
        assert_eq!(text(&new, &old), "A (a)\n  protocol: v1, v2 → v1\n");
        let mut partial = old.clone();
        partial.editions[0].partial = true;
        let limited = EntryResult { reason: Some("the agent used more than 4 GB".to_owned()), ..old.clone() };
        for cut_off in [partial, limited] {
            assert_eq!(text(&cut_off, &new), "");
            assert_eq!(text(&new, &cut_off), "");
        }
        new.editions[1].partial = true;
        assert_eq!(text(&old, &new), "A (a)\n  protocol: v1 → v1, v2\n");
        let unknown = EntryResult { outcome: EntryOutcome::Stopped, editions: Vec::new(), ..old };
        assert_eq!(text(&unknown, &new), "A (a)\n  outcome: stopped → tested\n");
    }

    #[test]
    fn other_cases_are_listed_and_show_no_regression() {
        let old = [entry("a", "1.0.0", &[("x", Verdict::Pass)])];
        let mut new = [entry("a", "1.0.0", &[("x", Verdict::Fail)])];
        assert!(changes_between(&old, &new).iter().any(|change| change.regression));
        new[0].cases = "a few cases".to_owned();
        let wanted =
            "A (a)\n  cases: all cases → a few cases\n  v1: conformant → not-conformant\n  v1 x: pass → fail\n";
        assert_eq!(text(&old, &new), wanted);
        assert!(!changes_between(&old, &new).iter().any(|change| change.regression));
    }

    #[test]
    fn an_entry_without_verdict_changes_no_requirement() {
        let old = [entry("a", "1.0.0", &[("x", Verdict::Fail)])];
        let mut new = old.clone();
        new[0].outcome = EntryOutcome::NotInstalled;
        new[0].login = LoginRule::unknown("not installed");
        new[0].editions.clear();
        assert_eq!(text(&old, &new), "A (a)\n  outcome: tested → not installed\n  login rule: met → unknown\n");
    }
}
