//! The kill tables match the catalogue, the cases and the faults.

use acp_conformance::edition::{Bundle, V1, V2};
use acp_conformance::explain::{Sources, kill_table};
use libtest_mimic::Trial;

use super::{none_of, root};
use crate::kept::kept;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials!["tidy/pages": the_kill_tables_are_current]
}

static EDITIONS: [&Bundle; 2] = [&V1, &V2];

fn the_kill_tables_are_current() {
    for bundle in EDITIONS {
        let page = kill_table(&Sources::of(bundle));
        let path = root().join("docs").join(&page.name);
        kept(&path, &page.text).unwrap_or_else(|problem| panic!("{problem}"));
    }
}
