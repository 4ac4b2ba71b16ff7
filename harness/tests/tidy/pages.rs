//! The pages of `docs/requirements/` match the catalogue and the cases.

use acp_conformance::edition::{Bundle, V1, V2};
use acp_conformance::explain::{Sources, folder, pages};

use super::kept::kept;
use super::orphans::no_orphans;
use super::{none_of, root};

static EDITIONS: [&Bundle; 2] = [&V1, &V2];

#[test]
fn the_committed_pages_are_current() {
    let mut wrong = Vec::new();
    for bundle in EDITIONS {
        let pages = pages(&Sources::of(bundle));
        let folder = root().join("docs").join(folder(bundle));
        let names: Vec<String> = pages.iter().map(|page| page.name.clone()).collect();
        wrong.extend(pages.iter().filter_map(|page| kept(&folder.join(&page.name), &page.text).err()));
        wrong.extend(no_orphans(&folder, &names).err());
    }
    none_of("pages that are out of date", &wrong);
}
