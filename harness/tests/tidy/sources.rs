//! The sources: the dependencies of modules, the length of files, and the modules with input and output.

use super::{files, none_of, read};
use libtest_mimic::Trial;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "tidy/sources":
        modules_use_only_what_stands_before_them,
        pure_modules_are_pure,
        files_are_short,
        every_file_says_what_it_is_for,
        groups_are_read,
        module_files_have_the_name_of_their_module,
        no_test_is_left_out_of_its_program,
        comments_fit_into_a_line,
        names_use_the_terms_of_the_field,
    ]
}

/// Modules that must not use an earlier one: reports use the recorded data and not the run, and the judge uses only
/// traces.
const APART: [(&str, &str); 9] = [
    ("report", "transport"),
    ("report", "run"),
    ("certificate", "transport"),
    ("certificate", "run"),
    ("judge", "case"),
    ("judge", "profile"),
    ("judge", "recording"),
    ("transport", "judge"),
    ("run", "judge"),
];

/// Modules of the program without input, output, clock or threads, apart from the files that read folders.
const PURE: [&str; 6] = ["source", "diagnostic", "document", "record", "expected", "compare"];

/// The package that is pure as a whole, and the program built on it.
const CORE: &str = "harness/core/src/";
const PROGRAM: &str = "harness/src/";

const IMPURE: [&str; 6] = ["std::fs", "std::net", "std::process", "tokio::", "Instant::now", "SystemTime"];

const LONGEST: usize = 600;

/// Returns the modules in the order of the table of rooms; each uses only those before it.
fn order() -> Vec<String> {
    let text = read("ARCHITECTURE.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    rows.flat_map(|names| names.split(',').map(first_word_of_code).collect::<Vec<_>>()).collect()
}

fn first_word_of_code(text: &str) -> String {
    first_word(text.trim_start_matches([' ', '`']))
}

fn modules_use_only_what_stands_before_them() {
    let order = order();
    let place_of = |module: &str| order.iter().position(|known| known == module);
    let mut wrong = Vec::new();
    for file in files(CORE).into_iter().chain(files(PROGRAM)) {
        let Some(module) = module(&file).filter(|module| !["lib", "main", "testing"].contains(module)) else {
            continue;
        };
        let Some(place) = place_of(module) else {
            wrong.push(format!("{file}: the module `{module}` has no place among the rooms of ARCHITECTURE.md"));
            continue;
        };
        for (line, used) in uses(&read(&file)) {
            let later =
                !["testing", "fact"].contains(&used.as_str()) && place_of(&used).is_none_or(|used| used > place);
            if later || APART.contains(&(module, used.as_str())) {
                wrong.push(format!("{file}:{line}: `{module}` must not use `{used}`"));
            }
        }
    }
    none_of("modules out of order", &wrong);
}

/// Returns the path of names at the start of a text.
fn path(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(text.len());
    text[..end].trim_end_matches(':')
}

fn pure_modules_are_pure() {
    let mut wrong = Vec::new();
    let of_program = files(PROGRAM).into_iter().filter(|file| module(file).is_some_and(|name| PURE.contains(&name)));
    for file in files(CORE).into_iter().chain(of_program) {
        let text = read(&file);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let found = IMPURE.iter().filter(|word| lines(code).any(|(_, line)| line.contains(**word)));
        wrong.extend(found.map(|word| format!("{file}: `{word}`")));
    }
    none_of("input, output or a clock where there is none", &wrong);
}

fn files_are_short() {
    let rust = files("harness").into_iter().filter(|file| file.ends_with(".rs"));
    let long = rust.map(|file| (read(&file).lines().count(), file)).filter(|(lines, _)| *lines > LONGEST);
    none_of("files to split", &long.map(|(lines, file)| format!("{file}: {lines} lines")).collect::<Vec<_>>());
}

fn every_file_says_what_it_is_for() {
    let rust = files("harness").into_iter().chain(["build.rs".to_owned()]).filter(|file| file.ends_with(".rs"));
    let bare: Vec<_> = rust.filter(|file| !read(file).starts_with("//!")).collect();
    none_of("files without a header", &bare);
}

/// Returns the module of the core or the program with a file.
fn module(file: &str) -> Option<&str> {
    file.strip_prefix(CORE).or_else(|| file.strip_prefix(PROGRAM))?.split(['/', '.']).next()
}

/// Returns the modules that are named from the root of the package, with the 1-based line.
fn uses(text: &str) -> Vec<(usize, String)> {
    let mut uses = Vec::new();
    for (number, line) in lines(text) {
        for rest in line.split("crate::").skip(1) {
            match rest.strip_prefix('{') {
                // A group over several lines is not parsed, so it is forbidden.
                Some(group) if !group.contains('}') => uses.push((number, "a group over several lines".to_owned())),
                Some(group) => uses.extend(members(group).into_iter().map(|name| (number, name))),
                None => uses.push((number, first_word(rest))),
            }
        }
    }
    uses
}

/// Returns the names directly inside a group on one line, such as `fault, profile::{self, Profile}}`.
fn members(group: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut depth, mut begins) = (0, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if begins && !c.is_whitespace() => {
                names.push(first_word(&group[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    names
}

fn first_word(text: &str) -> String {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()
}

fn groups_are_read() {
    let text =
        "// crate::cli\nuse crate::{fault, profile::{self, Profile}};\nlet x = crate::wire::y(crate::trace::Z);\n";
    let named = uses(text).into_iter().map(|(line, name)| format!("{line} {name}")).collect::<Vec<_>>();
    assert_eq!(named, ["2 fault", "2 profile", "3 wire", "3 trace"]);
    let split = uses("use crate::{\n    fault,\n};\n");
    assert_eq!(split, [(1, "a group over several lines".to_owned())]);
}

/// Returns the lines of code, without comments.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Only the folder of helpers of a package's tests may have a `mod.rs`: Cargo treats `tests/NAME.rs` as a test.
fn module_files_have_the_name_of_their_module() {
    let sources = files("harness").into_iter().filter(|file| file.ends_with("/mod.rs"));
    let wrong: Vec<String> = sources.filter(|file| !file.ends_with("/tests/reference/mod.rs")).collect();
    none_of("modules in a file that is called mod.rs", &wrong);
}

/// The programs have no usual test harness, and the compiler silently drops a function with `#[test]` from them.
fn no_test_is_left_out_of_its_program() {
    let sources = ["harness/tests", "harness/peers/tests"].into_iter().flat_map(files);
    let mut wrong = Vec::new();
    for file in sources.filter(|file| file.ends_with(".rs")) {
        let text = read(&file);
        let dropped = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("#[test]"));
        wrong.extend(dropped.map(|(index, _)| format!("{file}:{}: `#[test]`; add it to `trials`", index + 1)));
    }
    none_of("tests that never run", &wrong);
}

/// rustfmt breaks code, but no comments.
fn comments_fit_into_a_line() {
    const MOST: usize = 120;
    let mut long = Vec::new();
    for file in files("harness").iter().filter(|file| file.ends_with(".rs")) {
        let text = read(file);
        // A row of a table stays whole.
        let is_comment = |line: &str| line.trim_start().starts_with("//") && !line.contains(" | ");
        let found = text.lines().enumerate().filter(|(_, line)| is_comment(line) && line.chars().count() > MOST);
        long.extend(found.map(|(index, _)| format!("{file}:{}", index + 1)));
    }
    none_of("comments of more than 120 characters", &long);
}

/// Parts of identifiers for which the field has a term, with that term.
const HOUSEHOLD: [(&str, &str); 9] = [
    ("talk", "conversation"),
    ("told", "the thing that is said"),
    ("tells", "the thing that is said"),
    ("moment", "context"),
    ("going", "running"),
    ("meeting", "trial"),
    ("fate", "treatment"),
    ("deed", "action"),
    ("strangers", "unknown"),
];

fn names_use_the_terms_of_the_field() {
    let mut wrong = Vec::new();
    for file in files("harness").iter().filter(|file| file.ends_with(".rs")) {
        let text = read(file);
        for (at, line) in lines(&text) {
            let defined = ["fn ", "struct ", "enum ", "trait ", "mod ", "let ", "const ", "static "];
            let names = defined.iter().flat_map(|keyword| line.split(keyword).skip(1).map(path));
            for (name, (part, term)) in names.flat_map(|name| HOUSEHOLD.map(|entry| (name, entry))) {
                let words: Vec<&str> = name.split('_').collect();
                // The names of tests are sentences.
                if words.len() < 4 && words.iter().any(|word| word.eq_ignore_ascii_case(part)) {
                    wrong.push(format!("{file}:{at}: `{name}`; the term is {term}"));
                }
            }
        }
    }
    none_of("identifiers with household words", &wrong);
}
