//! The catalogue of an edition as its difference from the one before it, so that a revision of the protocol is a small
//! file.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{AppliesWhen, Catalogue, Flag, Level, Need, Observation, Requirement, Status};

/// What a revision changes in the requirements of the edition before it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueRevision {
    /// The name of the edition before it, such as `v1@2026-11-02`.
    pub base: String,
    /// The requirements that it adds.
    new: Vec<Requirement>,
    /// The requirements that it changes.
    changed: Vec<Change>,
    /// The requirements that it withdraws.
    gone: Vec<Withdrawal>,
}

/// The members of a requirement that differ; those that are absent stay.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Change {
    id: String,
    /// What changed, in a sentence.
    why: String,
    level: Option<Level>,
    text: Option<String>,
    source: Option<String>,
    #[serde(rename = "applies_when")]
    applies_when: Option<AppliesWhen>,
    check: Option<Observation>,
    how: Option<String>,
    mutant: Option<String>,
    status: Option<Status>,
    remark: Option<String>,
    no_fault: Option<String>,
    refers_to: Option<Vec<String>>,
    needs: Option<Vec<Need>>,
    flags: Option<Vec<Flag>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Withdrawal {
    id: String,
    /// Why the requirement no longer exists, in a sentence.
    why: String,
}

/// How a requirement differs from that of the edition before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The id of the requirement.
    pub id: String,
    /// The kind of difference.
    pub kind: DifferenceKind,
    /// What changed, in a sentence; empty for a new requirement.
    pub why: String,
}

/// The kinds of [`Difference`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferenceKind {
    /// The requirement is new.
    New,
    /// Its text, level, or the way to decide it changed.
    Changed,
    /// It no longer exists.
    Gone,
}

impl DifferenceKind {
    /// Returns the name in files and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Gone => "gone",
        }
    }
}

/// A revision that does not fit the catalogue before it.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// It changes or withdraws a requirement that does not exist.
    #[error("`{0}` is changed or withdrawn, but the edition before has no such requirement")]
    Unknown(String),
    /// It adds a requirement that exists, or names one twice.
    #[error("the id `{0}` occurs twice")]
    Duplicate(String),
}

impl CatalogueRevision {
    /// Returns the catalogue of the revision. A new requirement comes after those of its area.
    ///
    /// # Errors
    ///
    /// Names the first requirement that does not fit.
    pub fn apply(&self, base: &Catalogue) -> Result<Catalogue, RevisionError> {
        let mut entries: Vec<Requirement> = base.iter().cloned().collect();
        let mut seen = BTreeSet::new();
        let mut once = |id: &str| match seen.insert(id.to_owned()) {
            true => Ok(()),
            false => Err(RevisionError::Duplicate(id.to_owned())),
        };
        for change in &self.changed {
            once(&change.id)?;
            let entry = entries.iter_mut().find(|entry| entry.id == change.id);
            change.apply(entry.ok_or_else(|| RevisionError::Unknown(change.id.clone()))?);
        }
        for Withdrawal { id, .. } in &self.gone {
            once(id)?;
            let place = entries.iter().position(|entry| entry.id == *id);
            entries.remove(place.ok_or_else(|| RevisionError::Unknown(id.clone()))?);
        }
        for entry in &self.new {
            once(&entry.id)?;
            let last = entries.iter().rposition(|known| known.area() == entry.area());
            entries.insert(last.map_or(entries.len(), |place| place + 1), entry.clone());
        }
        let mut catalogue = Catalogue::new(entries).map_err(|error| RevisionError::Duplicate(error.0))?;
        catalogue.differences = self.differences();
        Ok(catalogue)
    }

    fn differences(&self) -> Vec<Difference> {
        let new = self.new.iter().map(|entry| (&entry.id, DifferenceKind::New, ""));
        let changed = self.changed.iter().map(|entry| (&entry.id, DifferenceKind::Changed, entry.why.as_str()));
        let gone = self.gone.iter().map(|entry| (&entry.id, DifferenceKind::Gone, entry.why.as_str()));
        let difference = |(id, kind, why): (&String, _, &str)| Difference { id: id.clone(), kind, why: why.to_owned() };
        new.chain(changed).chain(gone).map(difference).collect()
    }
}

impl Change {
    fn apply(&self, entry: &mut Requirement) {
        fn set<T: Clone>(member: &mut T, new: Option<&T>) {
            if let Some(new) = new {
                *member = new.clone();
            }
        }
        set(&mut entry.level, self.level.as_ref());
        set(&mut entry.text, self.text.as_ref());
        set(&mut entry.source, self.source.as_ref());
        set(&mut entry.applies_when, self.applies_when.as_ref());
        set(&mut entry.check, self.check.as_ref());
        set(&mut entry.how, self.how.as_ref());
        set(&mut entry.mutant, self.mutant.as_ref());
        set(&mut entry.status, self.status.as_ref());
        set(&mut entry.refers_to, self.refers_to.as_ref());
        set(&mut entry.needs, self.needs.as_ref());
        set(&mut entry.flags, self.flags.as_ref());
        // A remark explains a status, so that of another status is dropped.
        let kept = entry.remark.take().filter(|_| self.status.is_none());
        entry.remark = self.remark.clone().or(kept);
        entry.no_fault = self.no_fault.clone().or_else(|| entry.no_fault.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "
- &first
  id: plan.complete
  party: agent
  level: must
  text: t
  source: s
  applies_when: always
  check: passive
  how: h
  mutant: m
  status: checked
- { <<: *first, id: tool.kind }
";

    fn revision(text: &str) -> Result<Catalogue, RevisionError> {
        let base = Catalogue::new(serde_saphyr::from_str(BASE).expect("a list")).expect("no id twice");
        let revision: CatalogueRevision = serde_saphyr::from_str(text).expect("a revision");
        revision.apply(&base)
    }

    #[test]
    fn changes_only_what_it_names() {
        let new = "{ id: plan.new, party: agent, level: must, text: t, source: s, applies_when: always, \
            check: passive, how: h, mutant: m, status: planned }";
        let text = format!(
            "base: b\nnew: [{new}]\nchanged: [{{ id: plan.complete, why: w, level: should }}]\n\
            gone: [{{ id: tool.kind, why: x }}]"
        );
        let catalogue = revision(&text).expect("it fits");
        let ids: Vec<_> = catalogue.iter().map(|entry| (entry.id.as_str(), entry.level)).collect();
        assert_eq!(ids, [("plan.complete", Level::Should), ("plan.new", Level::Must)]);
        let kinds: Vec<_> = catalogue.differences().iter().map(|it| (it.id.as_str(), it.kind.name())).collect();
        assert_eq!(kinds, [("plan.new", "new"), ("plan.complete", "changed"), ("tool.kind", "gone")]);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let error = |text: &str| revision(text).expect_err("it does not fit").to_string();
        let unknown = error("base: b\nnew: []\nchanged: []\ngone: [{ id: tool.kinds, why: x }]");
        assert_eq!(unknown, "`tool.kinds` is changed or withdrawn, but the edition before has no such requirement");
        let twice = error("base: b\nnew: []\nchanged: [{ id: tool.kind, why: w }]\ngone: [{ id: tool.kind, why: x }]");
        assert_eq!(twice, "the id `tool.kind` occurs twice");
    }
}
