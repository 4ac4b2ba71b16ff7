//! The sources of the requirements: each schema path exists in the schema of its edition, and each checked MUST cites a
//! page or a path.

use acp_conformance::edition::Editions;
use acp_conformance::requirement::{Level, Requirement, Status, Transport};
use libtest_mimic::Trial;
use serde_json::{Map, Value};

use super::none_of;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "tidy/citations":
        each_schema_path_exists_in_the_schema_of_its_edition,
        each_checked_must_cites_its_edition,
        a_path_follows_references_and_branches,
    ]
}

/// The prefix of a path in the schema of the edition.
const SCHEMA: &str = "schema#";

/// Returns the parts of a source, without remarks such as `(derived)`.
fn parts(requirement: &Requirement) -> impl Iterator<Item = &str> {
    requirement.source.split("; ").map(|part| part.split(" (").next().unwrap_or(part))
}

fn each_schema_path_exists_in_the_schema_of_its_edition() {
    let mut wrong = Vec::new();
    for &bundle in Editions::built_in().all() {
        let defs = bundle.edition().stable.root()["$defs"].as_object().expect("definitions");
        for requirement in bundle.catalogue().iter() {
            let paths = parts(requirement).filter_map(|part| part.strip_prefix(SCHEMA));
            let lost = paths.filter(|path| !exists(defs, path));
            wrong.extend(lost.map(|path| format!("{} {}: {path}", bundle.name(), requirement.id)));
        }
    }
    none_of("cited paths that the schema does not have", &wrong);
}

/// A page without an anchor cites its first section, which has no heading. The schema as a whole says nothing definite,
/// and proposals (`rfd:`) and the documents of other tools, whose names have blanks, oblige no program.
fn each_checked_must_cites_its_edition() {
    let mut wrong = Vec::new();
    for &bundle in Editions::built_in().all() {
        let checked = bundle.catalogue().iter().filter(|it| it.status == Status::Checked && it.level == Level::Must);
        // The other transports are a draft in an RFD, as reports say.
        let checked = checked.filter(|it| it.applies_when.condition.is_possible_over(Transport::Stdio));
        let without = checked.filter(|requirement| !parts(requirement).any(is_citation));
        wrong.extend(without.map(|it| format!("{} {}: {}", bundle.name(), it.id, it.source)));
    }
    none_of("checked MUSTs without a sentence or a path of their edition; make them probes", &wrong);
}

fn is_citation(part: &str) -> bool {
    part != "schema" && !part.starts_with("rfd:") && !part.starts_with("registry:") && !part.contains(' ')
}

/// Whether a path of a definition and members leads to something.
fn exists(defs: &Map<String, Value>, path: &str) -> bool {
    let mut names = path.split('/');
    let first = names.next().and_then(|name| defs.get(name));
    names.try_fold(first, |node, name| Some(node.and_then(|node| member(defs, node, name)))).flatten().is_some()
}

/// Returns the schema of a member, through references, branches and lists.
fn member<'s>(defs: &'s Map<String, Value>, node: &'s Value, name: &str) -> Option<&'s Value> {
    if let Some(found) = node.get("properties").and_then(|properties| properties.get(name)) {
        return Some(found);
    }
    let reference = node.get("$ref").and_then(Value::as_str).and_then(|to| defs.get(to.strip_prefix("#/$defs/")?));
    let branches = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| node.get(key)?.as_array()).flatten();
    reference.into_iter().chain(branches).chain(node.get("items")).find_map(|inner| member(defs, inner, name))
}

fn a_path_follows_references_and_branches() {
    let defs = serde_json::json!({
        "A": { "anyOf": [{ "properties": { "x": { "allOf": [{ "$ref": "#/$defs/B" }] } } }] },
        "B": { "items": { "properties": { "y": {} } } },
    });
    let defs = defs.as_object().expect("an object");
    assert!(exists(defs, "A") && exists(defs, "A/x") && exists(defs, "A/x/y"));
    assert!(!exists(defs, "C") && !exists(defs, "A/y") && !exists(defs, "A/x/z"));
    assert!(is_citation("transports") && is_citation("schema#A") && is_citation("jsonrpc#batch"));
    assert!(!is_citation("schema") && !is_citation("rfd:x") && !is_citation("acp-tck v2 ACP-1"));
}
