//! Reads a baseline, and reports all of its mistakes.

use std::sync::{Arc, LazyLock};

use super::file::{EntryFile, ExpectedFile};
use super::{Expectation, Mistake, PLACEHOLDER, parse_day};
use crate::diagnostic::{self, Diagnostic};
use crate::document::shape::Shape;
use crate::document::{Spot, decode, toml};
use crate::requirement::{Catalogue, Party};

static EXPECTED: LazyLock<Shape> = LazyLock::new(Shape::of::<ExpectedFile>);

/// Reads a baseline, for one party if that is known; there are entries only without errors.
pub fn load_text(
    path: &str,
    text: &str,
    party: Option<Party>,
    catalogue: &Catalogue,
) -> (Option<Vec<Expectation>>, Vec<Diagnostic>) {
    load_bytes(path, text.as_bytes(), party, catalogue)
}

/// Reads a baseline that may not be text.
pub fn load_bytes(
    path: &str,
    bytes: &[u8],
    party: Option<Party>,
    catalogue: &Catalogue,
) -> (Option<Vec<Expectation>>, Vec<Diagnostic>) {
    let source = match decode(path, bytes) {
        Ok(source) => source,
        Err(problem) => return (None, vec![*problem]),
    };
    let (document, mut problems) = toml::read(&source);
    let Some(document) = document else { return (None, problems) };
    let entries = match EXPECTED.read::<ExpectedFile>(&document) {
        Ok(file) => lower(&Spot::root(&document).down("expected"), file.expected, party, catalogue, &mut problems),
        Err(found) => {
            problems.extend(found);
            Vec::new()
        }
    };
    diagnostic::sort(&mut problems);
    let sound = !problems.iter().any(Diagnostic::is_error);
    (sound.then_some(entries), problems)
}

/// Lowers the entries of a list with a valid structure.
pub(crate) fn lower(
    list: &Spot<'_>,
    entries: Vec<EntryFile>,
    party: Option<Party>,
    catalogue: &Catalogue,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Expectation> {
    let mut lowered: Vec<Expectation> = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let spot = list.down(index);
        let entry = lower_one(&spot, entry, problems);
        let same = |known: &&Expectation| (&known.requirement, &known.case) == (&entry.requirement, &entry.case);
        if let Some((source, first)) = lowered.iter().find(same).and_then(|known| known.place.as_ref()) {
            let problem = spot.error("expected::twice", format!("`{entry}` is expected twice"));
            problems.push(problem.also(source, *first, "first here").help("keep one of the two"));
        }
        problems
            .extend(entry.mistaken_requirement(party, catalogue).map(|mistake| at(&spot.down("requirement"), mistake)));
        lowered.push(entry);
    }
    lowered
}

fn lower_one(spot: &Spot<'_>, entry: EntryFile, problems: &mut Vec<Diagnostic>) -> Expectation {
    let EntryFile { requirement, case, reason, link, expires } = entry;
    if requirement.is_none() && case.is_none() {
        let problem = spot.error("expected::names-nothing", "the entry does not say what fails");
        problems.push(problem.help("add `requirement = \"…\"`, `case = \"…\"`, or both"));
    }
    let said = spot.down("reason");
    if reason.trim().is_empty() {
        let problem = said.error("expected::no-reason", "a failure is expected without a reason");
        problems.push(problem.help("say why in a few words"));
    } else if reason.trim() == PLACEHOLDER {
        let problem = said.error("expected::placeholder", "the reason is missing").warning();
        problems.push(problem.help("say why it fails, and who fixes it or why it stays"));
    }
    let expires = expires.and_then(|text| match parse_day(&text) {
        Ok(day) => Some(day),
        Err(message) => {
            problems.push(spot.down("expires").error("expected::date", message));
            None
        }
    });
    let named = if case.is_some() { spot.down("case") } else { spot.down("requirement") };
    let place = Some((Arc::clone(spot.source()), named.span()));
    Expectation { requirement, case, reason, link, expires, place }
}

fn at(spot: &Spot<'_>, mistake: Mistake) -> Diagnostic {
    spot.error(mistake.code, mistake.message).help(mistake.help)
}

/// Reports entries that name an unknown case.
pub fn unknown_cases(entries: &[Expectation], cases: &[&str]) -> Vec<Diagnostic> {
    let unknown = entries.iter().filter_map(|entry| Some((entry.place.as_ref()?, entry.mistaken_case(cases)?)));
    unknown
        .map(|((source, span), mistake)| {
            Diagnostic::error(mistake.code, source, *span, mistake.message).help(mistake.help)
        })
        .collect()
}
