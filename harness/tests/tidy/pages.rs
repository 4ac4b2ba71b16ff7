//! The pages of `docs/requirements/` and the kill tables match the catalogue, the cases and the faults.

use acp_conformance::edition::{Bundle, V1, V2};
use acp_conformance::explain::{Sources, folder, kill_table, pages};
use libtest_mimic::Trial;

use super::{none_of, root};
use crate::kept::kept;
use crate::snap::others;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "tidy/pages":
        the_committed_pages_are_current,
        the_kill_tables_are_current,
    ]
}

static EDITIONS: [&Bundle; 2] = [&V1, &V2];

fn the_committed_pages_are_current() {
    let mut wrong = Vec::new();
    for bundle in EDITIONS {
        let pages = pages(&Sources::of(bundle));
        let folder = root().join("docs").join(folder(bundle));
        let names = pages.iter().map(|page| page.name.clone()).collect();
        wrong.extend(pages.iter().filter_map(|page| kept(&folder.join(&page.name), &page.text).err()));
        let others = others(&folder, &names).expect("the folder of the pages");
        wrong
            .extend(others.into_iter().map(|other| format!("{}: no page has this name", folder.join(other).display())));
    }
    none_of("pages that are out of date", &wrong);
}

fn the_kill_tables_are_current() {
    for bundle in EDITIONS {
        let page = kill_table(&Sources::of(bundle));
        let path = root().join("docs").join(&page.name);
        kept(&path, &page.text).unwrap_or_else(|problem| panic!("{problem}"));
    }
}
