//! The files of each package use each other in one direction. Only the file of a module and those in its folder may
//! use each other.

use super::{files, none_of, read};
use libtest_mimic::Trial;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials!["tidy/circles": files_use_each_other_in_one_direction, paths_are_read]
}

const PACKAGES: [&str; 4] = ["harness/core/src/", "harness/src/", "harness/mutants/src/", "harness/peers/src/"];

fn files_use_each_other_in_one_direction() {
    let mut circles = Vec::new();
    for package in PACKAGES {
        let mut uses = Modules::read(package).uses();
        assert!(uses.len() > 10, "no files in {package}");
        loop {
            let used: BTreeSet<String> = uses.values().flatten().cloned().collect();
            let free = uses.iter().find(|(module, uses)| uses.is_empty() || !used.contains(*module));
            let Some(free) = free.map(|(module, _)| module.clone()) else { break };
            uses.remove(&free);
            uses.values_mut().for_each(|used| _ = used.remove(&free));
        }
        circles.extend(uses.into_iter().map(|(module, used)| format!("{package}: {module} uses {used:?}")));
    }
    none_of("files in a circle", &circles);
}

/// The modules of a package by their paths, such as `areas::fs::agent`.
struct Modules(BTreeMap<String, Module>);

/// The paths in the file of a module.
#[derive(Default)]
struct Module {
    /// The imports: the name here, the path, and whether it is handed on.
    imports: Vec<(String, String, bool)>,
    /// The paths in the code and of the imports that are not handed on.
    paths: Vec<String>,
}

impl Modules {
    fn read(package: &str) -> Self {
        let module = |file: String| {
            let path = file.strip_prefix(package)?.strip_suffix(".rs")?.replace('/', "::");
            let is_root = ["lib", "main"].contains(&path.as_str()) || path.starts_with("bin::");
            (!is_root).then(|| (path, Module::read(&read(&file))))
        };
        Self(files(package).into_iter().filter_map(module).collect())
    }

    /// Returns the modules that each module uses, apart from those around it.
    fn uses(&self) -> BTreeMap<String, BTreeSet<String>> {
        let used = |(name, module): (&String, &Module)| {
            let found = module.paths.iter().filter_map(|path| self.file_of(&self.absolute(name, path)?, 0));
            let is_around = |other: &String| name == other || name.starts_with(&format!("{other}::"));
            (name.clone(), found.filter(|other| !is_around(other)).collect())
        };
        self.0.iter().map(used).collect()
    }

    /// Returns a path in a module from the root of the package; `None` if it leads to another package.
    fn absolute(&self, module: &str, path: &str) -> Option<String> {
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
        let child = format!("{module}::{first}");
        let import = || self.0.get(module)?.imports.iter().find(|(name, ..)| name == first);
        let start = match first {
            "crate" => String::new(),
            "self" => module.to_owned(),
            "super" if rest.starts_with("super") => return self.absolute(parent, rest),
            "super" => parent.to_owned(),
            _ if self.0.contains_key(&child) => child,
            _ => import()
                .filter(|(_, imported, _)| imported != path)
                .and_then(|(_, imported, _)| self.absolute(module, imported))?,
        };
        Some([start.as_str(), rest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("::"))
    }

    /// Returns the module that defines what a path from the root leads to.
    fn file_of(&self, path: &str, depth: usize) -> Option<String> {
        const DEEPEST: usize = 5;
        let ends = path.match_indices("::").map(|(at, _)| at).chain([path.len()]);
        let at = ends.filter(|at| self.0.contains_key(&path[..*at])).max()?;
        let (module, rest) = (&path[..at], path[at..].trim_start_matches("::"));
        // To import a module says nothing; the paths that begin with its name do.
        let (name, rest) = if rest.is_empty() { None } else { rest.split_once("::").or(Some((rest, ""))) }?;
        let handed_on = self.0[module].imports.iter().find(|(known, _, is_public)| *is_public && known == name);
        let origin = handed_on.filter(|_| depth < DEEPEST).and_then(|(_, imported, _)| {
            self.file_of(&[&self.absolute(module, imported)?, rest].join("::"), depth + 1)
        });
        origin.or_else(|| Some(module.to_owned()))
    }
}

impl Module {
    /// Reads the paths outside of comments and of the tests at the end of a file.
    fn read(text: &str) -> Self {
        let code = text.split("mod tests {").next().unwrap_or_default();
        let code: String =
            code.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect();
        let mut module = Self::default();
        let mut rest = code.as_str();
        while let Some(at) = rest.find("use ") {
            let (before, after) = (&rest[..at], &rest[at + "use ".len()..]);
            module.paths.extend(paths(before));
            let line = before.rsplit('\n').next().unwrap_or_default().trim();
            let is_import = line.is_empty() || line.starts_with("pub");
            let (import, after) = if is_import { after.split_once(';').unwrap_or_default() } else { ("", after) };
            for path in members(import) {
                let (path, name) = match path.split_once(" as ") {
                    Some((path, name)) => (path.to_owned(), name.to_owned()),
                    None => (path.clone(), path.rsplit("::").next().unwrap_or_default().to_owned()),
                };
                if line.is_empty() {
                    module.paths.push(path.clone());
                }
                module.imports.push((name, path, !line.is_empty()));
            }
            rest = after;
        }
        module.paths.extend(paths(rest));
        module
    }
}

/// Returns the paths of two or more names in code.
fn paths(code: &str) -> impl Iterator<Item = String> {
    let words = code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    words.map(|word| word.trim_matches(':').to_owned()).filter(|word| word.contains("::"))
}

/// Returns the paths of an import, such as `a::{b, c::{self, D}}`.
fn members(import: &str) -> Vec<String> {
    let Some((outer, inner)) = import.split_once('{') else {
        let path = import.trim();
        return if path.is_empty() { Vec::new() } else { vec![path.to_owned()] };
    };
    let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
    let mut depth = 0;
    let parts = inner.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts: Vec<String> = parts.flat_map(members).collect();
    let join = |part: String| {
        if part == "self" { outer.trim().trim_end_matches(':').to_owned() } else { outer.trim().to_owned() + &part }
    };
    parts.into_iter().map(join).collect()
}

fn paths_are_read() {
    assert_eq!(members("super::{a::A, b::{self, C as D}}"), ["super::a::A", "super::b", "super::b::C as D"]);
    let module = |text| Module::read(text);
    let modules = Modules(BTreeMap::from([
        ("a".to_owned(), module("mod b;\npub use self::b::B;\n// crate::c::C\n")),
        ("a::b".to_owned(), module("use crate::{\n    c,\n    d::D,\n};\nfn f() { c::g(D) }\n")),
        (
            "c".to_owned(),
            module("use super::a::B;\nfn g(b: crate::d::D) {}\n#[cfg(test)]\nmod tests {\n    use crate::e::E;\n}\n"),
        ),
        ("d".to_owned(), Module::default()),
        ("e".to_owned(), Module::default()),
    ]));
    let uses = modules.uses();
    assert_eq!(uses["a::b"], BTreeSet::from(["c".to_owned(), "d".to_owned()]));
    assert_eq!(uses["c"], BTreeSet::from(["a::b".to_owned(), "d".to_owned()]));
    assert!(uses["a"].is_empty());
}
