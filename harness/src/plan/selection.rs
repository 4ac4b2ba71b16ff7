//! Which cases run.

use std::path::Path;

use super::{Checked, PlanError};
use crate::case::{self, Case};
use crate::diagnostic::{Diagnostic, nearest};
use crate::edition::Bundle;
use crate::requirement::Party;

/// Loads the built-in cases, of one side or of both, with those of the folder.
///
/// # Errors
///
/// That the folder has no case, or that a file has mistakes.
pub fn load_cases(dir: Option<&Path>, side: Option<Party>, bundle: &'static Bundle) -> Checked<Vec<Case>> {
    let named = |dir: &Path, what: &str| PlanError::new(format!("--cases {}: {what}", dir.display()));
    if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
        return Err(named(dir, "no such folder"));
    }
    let (cases, problems) = case::embedded_and(dir, side, bundle);
    if problems.iter().any(Diagnostic::is_error) {
        return Err(PlanError::mistakes("the cases have mistakes; nothing was run", problems));
    }
    if let Some(dir) = dir.filter(|_| !cases.iter().any(|case| case.is_own)) {
        let what = "there is no case in it; a case is a file such as v1/agent/AREA/NAME.yaml below it";
        return Err(PlanError { problems, ..named(dir, what) });
    }
    Ok((cases, problems))
}

/// The texts by which cases are selected; all cases without any.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'a> {
    /// Parts of the ids of cases.
    pub cases: &'a [String],
    /// Parts of the ids of requirements that a case was written for.
    pub requirements: &'a [String],
}

impl Selection<'_> {
    /// Whether this selects nothing in particular.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.cases.is_empty() && self.requirements.is_empty()
    }

    /// Keeps the selected cases of a party.
    ///
    /// # Errors
    ///
    /// That there are none, with the name that was probably meant.
    pub fn select(&self, mut cases: Vec<Case>, party: Party) -> Result<Vec<Case>, PlanError> {
        cases.retain(|case| case.subject == party);
        let wanted = |texts: &[String], ids: &[&str]| {
            texts.is_empty() || texts.iter().any(|text| ids.iter().any(|id| id.contains(text.as_str())))
        };
        let (selected, others): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| {
            let requirements: Vec<&str> = case.requirements.iter().map(String::as_str).collect();
            wanted(self.cases, &[&case.id]) && wanted(self.requirements, &requirements)
        });
        if selected.is_empty() {
            return Err(PlanError::new(format!("no case of {} fits {}", party.one(), self.unmatched(&others))));
        }
        Ok(selected)
    }

    /// Names what no case fits, and what was probably meant.
    fn unmatched(&self, cases: &[Case]) -> String {
        let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        let requirements: Vec<&str> =
            cases.iter().flat_map(|case| case.requirements.iter().map(String::as_str)).collect();
        let given = self.cases.iter().map(|text| format!("--case {text}"));
        let given = given.chain(self.requirements.iter().map(|text| format!("--requirement {text}")));
        let given = given.collect::<Vec<_>>().join(" ");
        match meant(self.cases, &ids).or_else(|| meant(self.requirements, &requirements)) {
            Some(near) => format!("{given}; did you mean `{near}`?"),
            None => format!("{given}; `acp-conformance list` shows the cases"),
        }
    }
}

/// Returns the id, or the end of one, that is near to a text which stands in none of them.
fn meant<'i>(texts: &[String], ids: &[&'i str]) -> Option<&'i str> {
    let mut strange = texts.iter().filter(|text| !ids.iter().any(|id| id.contains(text.as_str())));
    strange.find_map(|text| nearest(text, ids.iter().map(|&id| end_of(id, text))))
}

/// Returns as many parts of the end of an id as the text has.
fn end_of<'i>(id: &'i str, text: &str) -> &'i str {
    let slashes = text.matches('/').count();
    id.rmatch_indices('/').nth(slashes).map_or(id, |(at, _)| &id[at + 1..])
}
