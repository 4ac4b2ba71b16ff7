//! Baselines: a file is valid or has a mistake, and an update changes only the intended entries.

use acp_conformance::edition::V1;
use acp_conformance::expected::{BaselineChanges, Expectation, load_bytes, load_text, update};
use acp_conformance::requirement::Party;

use super::drawn;

/// Treats the bytes as a baseline.
pub fn holds(data: &[u8]) {
    let (entries, problems) = load_bytes("expected.toml", data, Some(Party::Agent), V1.catalogue());
    drawn(entries.is_some(), &problems);
    let (Some(entries), Ok(text)) = (entries, std::str::from_utf8(data)) else { return };
    let added = Expectation::new("prompt.stop-reason", "a \"reason\"\n'''\u{0}");
    let removed = if entries.is_empty() { Vec::new() } else { vec![0] };
    let mut wanted: Vec<Expectation> = entries.into_iter().skip(removed.len()).collect();
    wanted.push(added.clone());
    let updated =
        update(text, &BaselineChanges { removed, added: vec![added] }).expect("a baseline can be brought up to date");
    let (now, _) = load_text("expected.toml", &updated, Some(Party::Agent), V1.catalogue());
    assert_eq!(now.as_deref().map(facts), Some(facts(&wanted)), "{updated}");
}

/// Returns the content of the entries without their places.
fn facts(entries: &[Expectation]) -> Vec<impl PartialEq + std::fmt::Debug> {
    let facts = |Expectation { requirement, case, reason, link, expires, .. }: &Expectation| {
        (requirement.clone(), case.clone(), reason.clone(), link.clone(), *expires)
    };
    entries.iter().map(facts).collect()
}
