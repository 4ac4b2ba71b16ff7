//! Known failures: the baseline of a subject, with a reason for each entry.
//!
//! ```
//! use acp_conformance::edition::V1;
//! use acp_conformance::expected::load_text;
//! use acp_conformance::requirement::Party;
//!
//! let text = r#"
//! [[expected]]
//! requirement = "cancel.stop-reason"
//! reason = "answers end_turn"
//! link = "https://example.org/issues/1"
//! expires = 2027-01-31
//!
//! [[expected]]
//! case = "v1/agent/init/handshake"
//! reason = "wants a login first"
//! "#;
//! let (entries, problems) = load_text("expected.toml", text, Some(Party::Agent), V1.catalogue());
//! assert!(problems.is_empty());
//! assert!(entries.unwrap()[0].covers("cancel.stop-reason", "v1/agent/cancel/while-asking"));
//! ```
//!
//! A profile can contain the same tables. [`Expectation::standing`] is the only place that decides whether an entry is
//! still true; `report` and `cargo_test` ask it.

mod apply;
mod date;
pub(crate) mod file;
mod load;
mod update;

pub use apply::Comparison;
pub use date::parse_day;
pub use file::schema;
pub use jiff::civil::Date;
pub(crate) use load::lower;
pub use load::{load_bytes, load_text, unknown_cases};
pub use update::{BaselineChanges, update};

use std::fmt;
use std::sync::Arc;

use crate::diagnostic::nearest;
use crate::requirement::{Catalogue, Party};
use crate::results::{EntryReport, Standing, entry_name};
use crate::source::{SourceFile, Span};
use crate::verdict::Verdict;

/// The reason of an entry that a program wrote; the loader warns about it until a person writes a better one.
pub const PLACEHOLDER: &str = "to be filled in";

/// A known failure: of a requirement in any case, of a case by any requirement, or of a requirement in one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// The requirement, by its id.
    pub requirement: Option<String>,
    /// The case, by its id.
    pub case: Option<String>,
    /// The reason for the failure.
    pub reason: String,
    /// The address of more information.
    pub link: Option<String>,
    /// The last day on which the failure is accepted.
    pub expires: Option<Date>,
    /// The place of the name, if the entry comes from a file.
    pub(crate) place: Option<(Arc<SourceFile>, Span)>,
}

/// The mistake in the name of an expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl From<&EntryReport> for Expectation {
    /// Returns the entry as written, to apply it again.
    fn from(entry: &EntryReport) -> Self {
        Self {
            requirement: entry.requirement.clone(),
            case: entry.case.clone(),
            reason: entry.reason.clone(),
            link: entry.link.clone(),
            expires: entry.expires.as_deref().and_then(|day| parse_day(day).ok()),
            place: None,
        }
    }
}

impl Expectation {
    /// Creates an expectation about a case or a requirement; only the ids of cases have slashes.
    pub fn new(id: impl Into<String>, reason: impl Into<String>) -> Self {
        let id = id.into();
        let (requirement, case) = if id.contains('/') { (None, Some(id)) } else { (Some(id), None) };
        Self { requirement, case, reason: reason.into(), link: None, expires: None, place: None }
    }

    /// Whether it expects the failure of this requirement in this case.
    pub fn covers(&self, requirement: &str, case: &str) -> bool {
        let fits = |wanted: &Option<String>, id: &str| wanted.as_deref().is_none_or(|wanted| wanted == id);
        fits(&self.requirement, requirement) && fits(&self.case, case)
    }

    /// Whether it can apply to this party. The id of a case names its party.
    pub fn concerns(&self, party: Party, catalogue: &Catalogue) -> bool {
        match (&self.requirement, &self.case) {
            (Some(id), _) => catalogue.find(id).is_none_or(|known| known.party == party),
            (None, Some(case)) => !case.split('/').any(|part| part == party.other().name()),
            (None, None) => false,
        }
    }

    /// Returns its result, if a run came to this verdict on its case or requirement. Only a `whole` run, one of all
    /// cases, can prove that a requirement does not fail in any of them.
    pub fn standing(&self, verdict: Verdict, whole: bool, today: Date) -> Standing {
        let is_decided = whole || self.case.is_some();
        match verdict {
            Verdict::Pass | Verdict::NotApplicable if is_decided => Standing::Stale,
            _ if self.is_expired(today) => Standing::Expired,
            Verdict::Fail => Standing::Holds,
            _ => Standing::Open,
        }
    }

    /// Whether its last day has passed.
    pub fn is_expired(&self, today: Date) -> bool {
        self.expires.is_some_and(|last| last < today)
    }

    /// Returns the mistake in the entry and its remedy, if the entry is no longer true.
    pub fn remedy(&self, standing: Standing, verdict: Verdict) -> Option<String> {
        let seen = if verdict == Verdict::NotApplicable { "no longer applies" } else { "no longer fails" };
        match (standing, self.expires) {
            (Standing::Stale, _) => Some(format!("it {seen}: remove the entry")),
            (Standing::Expired, Some(last)) => {
                Some(format!("it expired on {last}: fix the failure, or set a later day with a new reason"))
            }
            _ => None,
        }
    }

    /// Returns the mistake in the id of its requirement, which must exist for this party.
    pub(crate) fn mistaken_requirement(&self, party: Option<Party>, catalogue: &Catalogue) -> Option<Mistake> {
        let id = self.requirement.as_deref()?;
        match (catalogue.find(id), party) {
            (Some(found), Some(party)) if found.party != party => Some(Mistake {
                code: "expected::wrong-party",
                message: format!("`{id}` binds the {}, and this is about {}", found.party, party.one()),
                help: "leave the entry out".to_owned(),
            }),
            (Some(_), _) => None,
            (None, _) => {
                let known = catalogue.iter().filter(|known| party.is_none_or(|party| known.party == party));
                let near = nearest(id, known.map(|known| known.id.as_str()));
                Some(Mistake {
                    code: "expected::unknown-requirement",
                    message: format!("unknown requirement `{id}`"),
                    help: near.map_or_else(
                        || "`acp-conformance list --requirements` shows them all".to_owned(),
                        |near| format!("did you mean `{near}`?"),
                    ),
                })
            }
        }
    }

    /// Returns the mistake in the id of its case, which must be one of these.
    pub(crate) fn mistaken_case(&self, cases: &[&str]) -> Option<Mistake> {
        let id = self.case.as_deref().filter(|id| !cases.contains(id))?;
        Some(Mistake {
            code: "expected::unknown-case",
            message: format!("unknown case `{id}`"),
            help: nearest(id, cases.iter().copied()).map_or_else(
                || "`acp-conformance list` shows the cases; --cases adds those of a folder".to_owned(),
                |near| format!("did you mean `{near}`?"),
            ),
        })
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&entry_name(self.requirement.as_deref(), self.case.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Date {
        text.parse().expect("a day")
    }

    #[test]
    fn what_passed_is_stale_only_where_nothing_else_could_have_failed() {
        let requirement = Expectation::new("cancel.stop-reason", "known");
        let case = Expectation::new("v1/agent/cancel/while-asking", "known");
        let today = day("2026-11-21");
        let standing = |entry: &Expectation, verdict, whole| entry.standing(verdict, whole, today);
        assert_eq!(standing(&requirement, Verdict::Fail, false), Standing::Holds);
        assert_eq!(standing(&requirement, Verdict::Pass, true), Standing::Stale);
        assert_eq!(standing(&requirement, Verdict::Pass, false), Standing::Open);
        assert_eq!(standing(&case, Verdict::Pass, false), Standing::Stale);
        assert_eq!(standing(&case, Verdict::NotApplicable, false), Standing::Stale);
        for verdict in [Verdict::Inconclusive, Verdict::NotExercised, Verdict::HarnessError] {
            assert_eq!(standing(&case, verdict, true), Standing::Open, "{verdict}");
        }
    }

    #[test]
    fn the_last_day_still_counts() {
        let entry = Expectation { expires: Some(day("2026-11-21")), ..Expectation::new("cancel.stop-reason", "known") };
        let standing = |verdict, today| entry.standing(verdict, true, day(today));
        assert_eq!(standing(Verdict::Fail, "2026-11-20"), Standing::Holds);
        assert_eq!(standing(Verdict::Fail, "2026-11-21"), Standing::Holds);
        assert_eq!(standing(Verdict::Fail, "2026-11-22"), Standing::Expired);
        assert_eq!(standing(Verdict::NotExercised, "2026-11-22"), Standing::Expired);
        assert_eq!(standing(Verdict::Pass, "2026-11-22"), Standing::Stale);
    }
}
