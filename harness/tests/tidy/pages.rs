//! The pages of `docs/requirements/` and the kill table are what the catalogue, the cases and the faults say. `ACP_BLESS=1` writes them anew.

use acp_conformance::edition::V1;
use acp_conformance::explain::{Sources, kill_table, pages};

use super::{files, none_of, root};

const FOLDER: &str = "docs/requirements";

#[test]
fn the_committed_pages_are_current() {
    let pages = pages(&Sources::of(&V1));
    let path = |name: &str| root().join(FOLDER).join(name);
    let wanted = |file: &String| pages.iter().any(|page| file.strip_prefix(FOLDER) == Some(&format!("/{}", page.name)));
    if std::env::var_os("ACP_BLESS").is_some() {
        std::fs::create_dir_all(path("")).expect("the folder of the pages can be made");
        pages.iter().for_each(|page| std::fs::write(path(&page.name), &page.text).expect("a page can be written"));
        let left = files(FOLDER).into_iter().filter(|file| !wanted(file));
        left.for_each(|file| std::fs::remove_file(root().join(file)).expect("an old page can be removed"));
    }
    let behind = |name: &str, text: &str| std::fs::read_to_string(path(name)).map_or(true, |found| found != text);
    let mut wrong: Vec<String> = pages
        .iter()
        .filter(|page| behind(&page.name, &page.text))
        .map(|page| format!("{FOLDER}/{} is out of date", page.name))
        .collect();
    if root().join(FOLDER).is_dir() {
        wrong.extend(
            files(FOLDER).iter().filter(|file| !wanted(file)).map(|file| format!("{file} is no page any more")),
        );
    }
    none_of("pages to be written anew by `ACP_BLESS=1 cargo test --test tidy`", &wrong);
}

#[test]
fn the_kill_table_is_current() {
    let page = kill_table(&Sources::of(&V1));
    let path = root().join("docs").join(&page.name);
    if std::env::var_os("ACP_BLESS").is_some() {
        std::fs::write(&path, &page.text).expect("the kill table can be written");
    }
    let current = std::fs::read_to_string(&path).is_ok_and(|found| found == page.text);
    assert!(current, "docs/{} is out of date: `ACP_BLESS=1 cargo test --test tidy` writes it anew", page.name);
}
