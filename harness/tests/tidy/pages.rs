//! The pages of `docs/requirements/` and the kill table match the catalogue, the cases and the faults.

use acp_conformance::edition::V1;
use acp_conformance::explain::{Sources, kill_table, pages};

use super::kept::kept;
use super::orphans::no_orphans;
use super::{none_of, root};

const FOLDER: &str = "docs/requirements";

#[test]
fn the_committed_pages_are_current() {
    let pages = pages(&Sources::of(&V1));
    let folder = root().join(FOLDER);
    let names: Vec<String> = pages.iter().map(|page| page.name.clone()).collect();
    let mut wrong: Vec<String> =
        pages.iter().filter_map(|page| kept(&folder.join(&page.name), &page.text).err()).collect();
    wrong.extend(no_orphans(&folder, &names).err());
    none_of("pages that are out of date", &wrong);
}

#[test]
fn the_kill_table_is_current() {
    let page = kill_table(&Sources::of(&V1));
    let path = root().join("docs").join(&page.name);
    kept(&path, &page.text).unwrap_or_else(|problem| panic!("{problem}"));
}
