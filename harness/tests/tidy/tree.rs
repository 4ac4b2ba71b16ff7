//! The files of the repository contain no path of one machine.

use libtest_mimic::Trial;

use super::{files, none_of, root};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "tidy/tree":
        nothing_names_a_path_of_one_machine,
    ]
}

/// Invented conversations, in which a folder of that name is part of the test, files made from them, and published
/// schemas with paths as examples.
const MADE_UP: [&str; 5] = ["schemas/acp/", "harness/tests/traces/", "fuzz/corpus/", "fuzz/found/", "fuzz/artifacts/"];

fn nothing_names_a_path_of_one_machine() {
    let folders = ["work", "tmp", "home", "Users"].map(|name| format!("/{name}/"));
    let mut wrong = Vec::new();
    let made_up = |file: &str| MADE_UP.iter().any(|folder| file.starts_with(folder));
    for file in files(".").iter().filter(|file| !made_up(file)) {
        let Ok(text) = std::fs::read_to_string(root().join(file)) else { continue };
        for (index, line) in text.lines().enumerate() {
            // A path begins after a character that cannot be part of one.
            let begins = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-<>}*/".contains(c));
            let named = folders.iter().find(|folder| line.match_indices(folder.as_str()).any(|(at, _)| begins(at)));
            wrong.extend(named.map(|folder| format!("{file}:{}: {folder}…", index + 1)));
        }
    }
    none_of("paths of one machine", &wrong);
}
