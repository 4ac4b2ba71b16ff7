//! Selects the cases of a run.

use std::collections::BTreeSet;
use std::path::Path;

use wildmatch::WildMatch;

use super::{Checked, PlanError};
use crate::case::{self, Case};
use crate::diagnostic::{Diagnostic, nearest};
use crate::edition::Bundle;
use crate::explore::Walk;
use crate::options::RunOptions;
use crate::requirement::Party;
use crate::results::case_id;

/// Loads the built-in cases, of one party or of both, with those of the folder.
///
/// # Errors
///
/// The folder has no case, or a file has mistakes.
pub fn load_cases(dir: Option<&Path>, side: Option<Party>, bundle: &'static Bundle) -> Checked<Vec<Case>> {
    let named = |dir: &Path, what: &str| PlanError::new(format!("--cases {}: {what}", dir.display()));
    if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
        return Err(named(
            dir,
            match dir.exists() {
                true => "this is a file; name the folder that holds it as v1/agent/AREA/NAME.yaml",
                false => "no such folder",
            },
        ));
    }
    let (cases, problems) = case::embedded_and(dir, side, bundle);
    if problems.iter().any(Diagnostic::is_error) {
        return Err(PlanError::mistakes("the cases have mistakes; nothing was run", problems));
    }
    if let Some(dir) = dir.filter(|_| !cases.iter().any(|case| case.is_own)) {
        let what = "no case files found; a case is a file such as v1/agent/AREA/NAME.yaml below it";
        return Err(PlanError { problems, ..named(dir, what) });
    }
    Ok((cases, problems))
}

/// Keeps the cases of a party that the patterns of the options select. A pattern is the id of a case, or else a glob
/// such as `prompt/*`, or else a part of ids.
///
/// # Errors
///
/// A pattern matches nothing, with the id that was probably meant; or no case is left.
pub fn select(options: &RunOptions, mut cases: Vec<Case>, party: Party) -> Result<Vec<Case>, PlanError> {
    cases.retain(|case| case.subject == party);
    let (walks, patterns): (Vec<&String>, Vec<&String>) =
        options.patterns().into_iter().partition(|pattern| Walk::in_id(pattern).is_some());
    let walks = walks.into_iter().filter_map(|id| Walk::in_id(id));
    let walks = walks.map(|walk| walk.lower(&cases)).collect::<Result<Vec<_>, _>>().map_err(PlanError::new)?;
    if patterns.is_empty() && !walks.is_empty() {
        return Ok(walks);
    }
    let ids: BTreeSet<String> = cases.iter().map(|case| case.id.clone()).collect();
    let known: BTreeSet<String> = cases.iter().flat_map(|case| case.requirements.iter().cloned()).collect();
    let chosen = all_matches("", patterns.iter().copied(), party, &ids)?;
    let required = all_matches("--requirement ", &options.requirements, party, &known)?;
    // A run of several versions has one option for all of them.
    let skipped = options.skipped.iter().filter(|pattern| !is_of_other_version(pattern, &ids));
    let skipped = all_matches("--skip ", skipped, party, &ids)?;
    cases.retain(|case| {
        let is_chosen = patterns.is_empty() || chosen.contains(case.id.as_str());
        let is_required = options.requirements.is_empty()
            || case.requirements.iter().any(|requirement| required.contains(requirement.as_str()));
        is_chosen && is_required && !skipped.contains(case.id.as_str())
    });
    cases.extend(walks);
    if cases.is_empty() {
        return Err(PlanError::new("the selection leaves no case; `acp-conformance list` shows the cases"));
    }
    Ok(cases)
}

/// Whether the pattern begins with the folder of another version of the protocol than that of these ids.
fn is_of_other_version(pattern: &str, ids: &BTreeSet<String>) -> bool {
    let version = |id: &str| {
        let folder = id.split_once('/')?.0.to_owned();
        folder.strip_prefix('v')?.parse::<u16>().is_ok().then_some(folder)
    };
    version(pattern).is_some_and(|wanted| ids.iter().all(|id| version(id).as_ref() != Some(&wanted)))
}

/// Returns the ids that match any of the patterns.
fn all_matches<'i, 'p>(
    option: &str,
    patterns: impl IntoIterator<Item = &'p String>,
    party: Party,
    ids: &'i BTreeSet<String>,
) -> Result<BTreeSet<&'i str>, PlanError> {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut all = BTreeSet::new();
    for pattern in patterns {
        let found = matches(pattern, &ids);
        if found.is_empty() {
            return Err(PlanError::new(format!(
                "no {party} case matches {option}`{pattern}`; {}",
                remedy(pattern, &ids)
            )));
        }
        all.extend(found);
    }
    Ok(all)
}

/// Returns the ids that a pattern matches: the id that it equals, such as `v1/agent/fs/read` or only `fs/read`; or else
/// all shapes of this id; or else those that the glob matches from the start or from a slash on, where `*` matches any
/// text and `?` any character; or else those that contain it.
pub fn matches<'i>(pattern: &str, ids: &[&'i str]) -> Vec<&'i str> {
    let of = |fits: &dyn Fn(&str) -> bool| ids.iter().copied().filter(|id| fits(id)).collect::<Vec<_>>();
    let is_whole = |id: &str| end_of(id, pattern) == pattern && (id == pattern || pattern.contains('/'));
    let whole = of(&is_whole);
    if !whole.is_empty() {
        return whole;
    }
    let shapes = of(&|id| case_id::has_shape(id) && is_whole(case_id::file(id)));
    if !shapes.is_empty() {
        return shapes;
    }
    if pattern.contains(['*', '?']) {
        let glob = WildMatch::new(pattern);
        let starts = |id: &str| id.match_indices('/').map(|(at, _)| at + 1).collect::<Vec<_>>();
        return of(&|id| [0].into_iter().chain(starts(id)).any(|at| glob.matches(&id[at..])));
    }
    of(&|id| id.contains(pattern))
}

/// Suggests a similar id, or explains where the ids are listed.
fn remedy(pattern: &str, ids: &[&str]) -> String {
    let ends = ids.iter().map(|&id| end_of(id, pattern));
    // Ids of cases have slashes, and those of requirements have dots.
    let case_areas = ids.iter().filter(|_| !pattern.contains('/')).filter_map(|id| id.split('/').nth(2));
    let areas = ids.iter().filter(|_| !pattern.contains('.')).filter_map(|id| id.split_once('.')).map(|(area, _)| area);
    match nearest(pattern, ends.chain(case_areas).chain(areas)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if ids.iter().all(|id| id.contains('/')) => "`acp-conformance list` shows the cases".to_owned(),
        None => "`acp-conformance list --requirements` shows the requirements".to_owned(),
    }
}

/// Returns as many parts from the end of an id as the text has.
pub(crate) fn end_of<'i>(id: &'i str, text: &str) -> &'i str {
    let slashes = text.matches('/').count();
    id.rmatch_indices('/').nth(slashes).map_or(id, |(at, _)| &id[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 5] = [
        "v1/agent/fs/read",
        "v1/agent/fs/read-empty",
        "v1/agent/init/x@a",
        "v1/agent/init/x@b",
        "v1/agent/init/x-other",
    ];

    #[test]
    fn pattern_is_an_id_or_a_glob_or_a_part() {
        let found = |pattern| matches(pattern, &IDS);
        assert_eq!(found("v1/agent/fs/read"), ["v1/agent/fs/read"]);
        assert_eq!(found("fs/read"), ["v1/agent/fs/read"]);
        assert_eq!(found("fs/re").len(), 2);
        assert_eq!(found("v1/agent/init/x"), ["v1/agent/init/x@a", "v1/agent/init/x@b"]);
        assert_eq!(found("fs/*").len(), 2);
        assert_eq!(found("*/x@?").len(), 2);
        assert_eq!(found("s/*"), [""; 0]);
        assert_eq!(found("init/x@b"), ["v1/agent/init/x@b"]);
        assert_eq!(found("init/x").len(), 2);
        assert_eq!(found("x").len(), 3);
        // Each asterisk may stand for much; this must not take longer than the others.
        assert_eq!(found(&"*e".repeat(200)), [""; 0]);
    }

    #[test]
    fn pattern_of_another_version_is_recognised() {
        let ids = IDS.map(str::to_owned).into();
        assert!(is_of_other_version("v2/agent/*", &ids) && is_of_other_version("v2/agent/fs/read", &ids));
        assert!(
            !["v1/agent/zzz", "fs/read", "vx/agent/*", "v2"].iter().any(|pattern| is_of_other_version(pattern, &ids))
        );
    }

    #[test]
    fn remedy_names_the_nearest_end() {
        assert_eq!(remedy("fs/raed", &IDS), "did you mean `fs/read`?");
        assert_eq!(remedy("inti", &IDS), "did you mean `init`?");
        assert_eq!(remedy("zzz", &IDS), "`acp-conformance list` shows the cases");
    }
}
