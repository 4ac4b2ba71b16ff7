//! Relative links in the documentation lead to files and headings that exist.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use libtest_mimic::Trial;

use super::{files, none_of, read, root};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "tidy/links":
        links_lead_to_files_and_headings,
        anchors_follow_github,
    ]
}

fn links_lead_to_files_and_headings() {
    let pages = files(".").into_iter().filter(|file| file.ends_with(".md") && !file.starts_with("fuzz/"));
    let mut wrong = Vec::new();
    for page in pages {
        let text = read(&page);
        for target in links(&text).filter(|target| !target.contains("://")) {
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { PathBuf::from(&page) } else { relative_to(&page, path) };
            let known = root().join(&file).exists();
            if !known || !(heading.is_empty() || headings(&file).contains(heading)) {
                wrong.push(format!("{page}: {target}"));
            }
        }
    }
    none_of("broken links", &wrong);
}

/// Returns the targets of the links `[text](target)` outside code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("\n```").step_by(2);
    prose.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| Some(rest.split_once(')')?.0))
}

/// Resolves a path of a link against the folder of its page.
fn relative_to(page: &str, path: &str) -> PathBuf {
    let mut file = Path::new(page).parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(path).components() {
        if part == Component::ParentDir { _ = file.pop() } else { file.push(part) }
    }
    file
}

/// Returns the anchors of the headings, as GitHub makes them.
fn headings(file: &Path) -> BTreeSet<String> {
    let text = read(&file.to_string_lossy());
    let prose: Vec<&str> = text.split("\n```").step_by(2).collect();
    let titles = prose.iter().flat_map(|part| part.lines()).filter(|line| line.starts_with('#'));
    titles.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(title: &str) -> String {
    let kept = title.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors_follow_github() {
    assert_eq!(anchor("1. The first run"), "1-the-first-run");
    assert_eq!(anchor("`session/new` & co."), "sessionnew--co");
}
