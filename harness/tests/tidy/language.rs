//! Plain English: documentation, help, messages, comments, catalogue and cases avoid words that hide the actor or the
//! order of events. Each word has a better one.

use libtest_mimic::Trial;

use super::{files, none_of, read};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "tidy/language":
        texts_use_plain_words,
        phrases_match_whole_words,
    ]
}

/// Phrases to avoid, in lower case, with better ones. A phrase matches whole words only.
const AVOID: [(&str, &str); 53] = [
    ("nobody", "name the actor, or use `no client`, `unknown`"),
    ("nobody's", "name the actor"),
    ("anybody", "name the actor, or use `anyone`"),
    ("somebody", "name the actor"),
    ("whoever", "name the actor"),
    ("none of", "`no`, `not`"),
    ("nothing else", "`only`"),
    ("is told", "`gets`, `reports`"),
    ("are told", "`get`, `report`"),
    ("was told", "`got`, `reported`"),
    ("told of", "`reported`"),
    ("speaks of", "`mentions`"),
    ("right behind", "`right after`"),
    ("comes behind", "`comes after`"),
    ("came behind", "`came after`"),
    ("stands behind", "`follows`"),
    ("goes behind", "`follows`"),
    ("beside", "`next to`, `in addition to`"),
    ("anew", "`again`"),
    ("mend", "`fix`"),
    ("mended", "`fixed`"),
    ("hoped for", "`optional`"),
    ("in vain", "`without success`"),
    ("accuse", "`fail`"),
    ("accuses", "`fails`"),
    ("accused", "`reported as failed`"),
    ("accusation", "`failure`"),
    ("accusations", "`failures`"),
    ("held against", "`counted as a failure of`"),
    ("surplus", "`unexpected`"),
    ("for ever", "`forever`, `without end`"),
    ("at hand", "`built in`"),
    ("of such a", "`of a`"),
    ("goes on as usual", "`continues`"),
    ("passed over", "`ignored`"),
    ("as good as none", "`the same as none`"),
    ("unasked", "`on its own`"),
    ("made fit", "`redacted`"),
    ("weigh", "`apply`, `compare`"),
    ("weighed", "`applied`, `compared`"),
    ("weighing", "`applying`, `comparing`"),
    ("hope", "`optional`"),
    ("hopes", "`optional`"),
    ("left alone", "`not affected`"),
    ("leaves alone", "`does not affect`"),
    ("plays again", "`repeats`"),
    ("what is wrong", "`the violation`"),
    ("what was said", "`the content`"),
    ("say so", "`report it`"),
    ("of its own accord", "`on its own`"),
    ("takes in", "`reads`, `accepts`"),
    ("puts right", "`corrects`"),
    ("hitherto", "`so far`"),
];

/// Documents, the catalogue, cases and faults, code and scripts.
const FOLDERS: [&str; 13] = [
    "docs",
    "cases",
    "profiles",
    "harness/src",
    "harness/core/src",
    "harness/peers/src",
    "harness/peers/tests",
    "harness/tests",
    "harness/benches",
    "fuzz/src",
    "scripts",
    ".ci",
    "packaging",
];
const FILES: [&str; 6] =
    ["README.md", "RELEASING.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md"];

/// Pages with sentences of recorded runs, prompts to models, and this list of phrases.
const EXEMPT: [&str; 6] = [
    "docs/subjects.md",
    "docs/variants.md",
    "docs/variants-v2.md",
    "docs/hostile.md",
    "harness/src/run/step/send/intent.rs",
    "harness/tests/tidy/language.rs",
];

fn texts_use_plain_words() {
    let below = FOLDERS.iter().flat_map(|folder| files(folder));
    let texts = below.chain(FILES.map(str::to_owned)).filter(|file| is_covered(file));
    let mut wrong = Vec::new();
    for file in texts {
        for (index, line) in read(&file).lines().enumerate() {
            // Quoted messages keep their texts, and old names stay readable.
            let is_message = ["agent", "client"].iter().any(|party| line.starts_with(&format!("{party} → ")));
            // A finding quotes values of messages; its own words are in the code.
            let is_finding = line.starts_with("found: ");
            if is_message || is_finding || line.contains("serde(alias = ") {
                continue;
            }
            wrong.extend(problems(line).into_iter().map(|problem| format!("{file}:{}: {problem}", index + 1)));
        }
    }
    none_of("words to avoid", &wrong);
}

/// Whether the phrases apply to a file. Below `harness`, they apply to code; other files there are recorded messages
/// and the expected output of tests. Python may leave compiled files in `scripts`.
fn is_covered(file: &str) -> bool {
    let is_code = [".rs", ".js"].iter().any(|ending| file.ends_with(ending));
    !EXEMPT.contains(&file)
        && !file.contains("__pycache__")
        && !file.ends_with(".png")
        && (!file.starts_with("harness/") || is_code)
}

/// The phrases to avoid in a line, each with a better one.
fn problems(line: &str) -> Vec<String> {
    let line = line.to_lowercase();
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && !"'-_".contains(c)).collect();
    let mut problems = Vec::new();
    for (phrase, better) in AVOID {
        let phrase_words: Vec<&str> = phrase.split(' ').collect();
        if words.windows(phrase_words.len()).any(|window| window == phrase_words) {
            problems.push(format!("`{phrase}`: use {better}"));
        }
    }
    problems.extend(negated_noun(&words).map(|noun| format!("`is no {noun}`: use `is not a {noun}`")));
    problems
}

/// Finds the noun of `is no NOUN`. `There is no X` and `is no longer` are fine.
fn negated_noun<'w>(words: &[&'w str]) -> Option<&'w str> {
    let mut windows = words.windows(3).enumerate();
    windows.find_map(|(at, window)| {
        let is_noun = matches!(window, ["is" | "are" | "was" | "were", "no", noun] if !noun.is_empty());
        let is_there = at > 0 && words[at - 1] == "there";
        (is_noun && !is_there && !["longer", "more"].contains(&window[2])).then_some(window[2])
    })
}

fn phrases_match_whole_words() {
    assert_eq!(problems("Nobody is told; beside it").len(), 3);
    assert_eq!(problems("the besides, recommended, a telling anewly").len(), 0);
    assert_eq!(problems("a path that is no directory"), ["`is no directory`: use `is not a directory`"]);
    assert!(problems("There is no file, and it is no longer read").is_empty());
}
