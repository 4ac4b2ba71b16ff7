//! Baselines: a file is one or has a mistake, and bringing one up to date takes nothing else from it.

use acp_conformance::edition::V1;
use acp_conformance::expected::{BaselineChanges, Expectation, load_bytes, load_text, update};
use acp_conformance::requirement::Party;

use super::drawn;

/// The bytes are a baseline.
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
    assert_eq!(now.as_deref().map(told), Some(told(&wanted)), "{updated}");
}

/// What the entries say, wherever they stand.
fn told(entries: &[Expectation]) -> Vec<impl PartialEq + std::fmt::Debug> {
    let told = |Expectation { requirement, case, reason, link, expires, .. }: &Expectation| {
        (requirement.clone(), case.clone(), reason.clone(), link.clone(), *expires)
    };
    entries.iter().map(told).collect()
}
