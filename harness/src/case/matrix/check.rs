//! Finds the mistakes in a matrix, and in the references to its values.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::reference::{Piece, pieces, references, split, texts, whole};
use super::{ABSENT, KEY, MOST};
use crate::case::file::MatrixFile;
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::document::shape::Shape;
use crate::document::{Document, Spot, child};

/// The part of a case file that is read before the rest.
#[derive(Debug, Deserialize, JsonSchema)]
struct Head {
    #[expect(dead_code, reason = "the structure is checked, and the value is read with its places")]
    matrix: Option<MatrixFile>,
}

static HEAD: LazyLock<Shape> = LazyLock::new(Shape::of::<Head>);

/// Finds all mistakes in the matrix of a file and in the references to it.
pub(super) fn check(document: &Document) -> Result<(), Vec<Diagnostic>> {
    let Some(matrix) = document.value.get(KEY) else {
        let help = "write `matrix: { NAME: { FIRST: …, SECOND: … } }` above the transcript, or a literal `<` as `<lt>`";
        return none_left(without_references(document, "the case has no matrix", help));
    };
    HEAD.read::<Head>(document)?;
    let empty = Map::new();
    let dimensions = matrix.as_object().unwrap_or(&empty);
    let mut problems = values(document, dimensions);
    let (more, used) = uses(document, dimensions);
    problems.extend(more);
    let spot = Spot::root(document).down(KEY);
    for dimension in dimensions.keys().filter(|dimension| !used.contains(dimension.as_str())) {
        let message = format!("nothing in the case depends on `{dimension}`");
        let problem = spot.down(dimension).key_error("case::matrix", message);
        problems.push(problem.help(format!("write `<matrix.{dimension}>` where its value belongs")));
    }
    none_left(problems)
}

fn none_left(problems: Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Reports every reference in a file without a matrix.
pub(crate) fn without_references(document: &Document, why: &str, help: &str) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    texts(&document.value, "", &mut |pointer, text| {
        problems.extend(references(text).map(|path| {
            let message = format!("`<matrix.{path}>` has no value: {why}");
            document.error("case::matrix", pointer, message).help(help)
        }));
    });
    problems
}

/// Returns the mistakes in the dimensions and their values.
fn values(document: &Document, dimensions: &Map<String, Value>) -> Vec<Diagnostic> {
    let spot = Spot::root(document).down(KEY);
    let mut problems = Vec::new();
    for (dimension, values) in dimensions {
        let here = spot.down(dimension);
        problems.extend(bad_name(&here, dimension));
        let values = values.as_object().into_iter().flatten();
        problems.extend(values.clone().filter_map(|(name, _)| bad_name(&here.down(name), name)));
        if values.count() < 2 {
            let problem = here.key_error("case::matrix", format!("`{dimension}` has less than two values"));
            problems.push(problem.help("a value that never changes is written where it belongs"));
        }
    }
    let count =
        dimensions.values().filter_map(Value::as_object).fold(1_usize, |n, values| n.saturating_mul(values.len()));
    if dimensions.is_empty() {
        problems.push(spot.key_error("case::matrix", "the matrix has no dimensions").help("leave it out"));
    } else if count > MOST {
        let problem = spot.key_error("case::matrix", format!("the matrix has {count} combinations"));
        problems.push(problem.help(format!("each is a case of its own; there may be {MOST}")));
    }
    texts(&document.value[KEY], &spot.pointer, &mut |pointer, text| {
        problems.extend(references(text).map(|path| {
            let problem =
                document.error("case::matrix", pointer, format!("`<matrix.{path}>` cannot stand in the matrix"));
            problem.help("the values of a matrix do not depend on each other")
        }));
    });
    problems
}

fn bad_name(spot: &Spot<'_>, name: &str) -> Option<Diagnostic> {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let sound = name.starts_with(letters) && name.chars().all(|c| letters(c) || c == '-');
    (!sound).then(|| {
        let problem = spot.key_error("case::matrix", format!("`{name}` cannot stand in the id of a case"));
        problem.help("a name in the matrix is made of small letters, digits and hyphens")
    })
}

/// Returns the mistakes in the references, and the dimensions that they use.
fn uses<'d>(document: &'d Document, dimensions: &'d Map<String, Value>) -> (Vec<Diagnostic>, BTreeSet<&'d str>) {
    let (mut problems, mut used) = (Vec::new(), BTreeSet::new());
    let outside = document.value.as_object().into_iter().flatten().filter(|(key, _)| *key != KEY);
    for (key, value) in outside {
        let pointer = child("", key);
        texts(value, &pointer, &mut |pointer, text| {
            for path in references(text) {
                let (dimension, _) = split(path);
                used.extend(dimensions.get_key_value(dimension).map(|(known, _)| known.as_str()));
                problems.extend(bad_reference(document, pointer, path, dimensions, whole(text).is_some()));
            }
        });
        problems.extend(keys(document, value, &pointer));
    }
    (problems, used)
}

/// Returns the mistake in a reference; `None` if it has a value in every shape that fits into the text around it.
fn bad_reference(
    document: &Document,
    pointer: &str,
    path: &str,
    dimensions: &Map<String, Value>,
    whole: bool,
) -> Option<Diagnostic> {
    let error = |message: String| document.error("case::matrix", pointer, message);
    let (dimension, part) = split(path);
    let Some(values) = dimensions.get(dimension).and_then(Value::as_object) else {
        let names: Vec<_> = dimensions.keys().map(String::as_str).collect();
        let problem = error(format!("the matrix has no dimension `{dimension}`"));
        return Some(problem.maybe_help(did_you_mean(dimension, "its dimensions are", &names)));
    };
    let place = |name: &str| document.span(&child(&child(&child("", KEY), dimension), name));
    for (name, value) in values {
        let Some(value) = value.pointer(&part) else {
            let problem = error(format!("`<matrix.{path}>` has no value in the shape `{name}`"));
            let problem = problem.also(&document.source, place(name), "it has no such member");
            return Some(problem.help(format!("write `{ABSENT}` for an absent member")));
        };
        let fits = !value.is_array() && !value.is_object() && value != ABSENT;
        if !whole && !fits {
            let message = format!("the value of `<matrix.{path}>` in the shape `{name}` cannot be part of a text");
            let problem = error(message).also(&document.source, place(name), "not a text");
            return Some(problem.help("inside a longer text there can only be a text, a number, a boolean or null"));
        }
    }
    None
}

/// Reports references in the names of members.
fn keys(document: &Document, value: &Value, pointer: &str) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let here = child(pointer, key);
                if pieces(key).iter().any(|piece| matches!(piece, Piece::Reference(_))) {
                    let problem = document.key_error(
                        "case::matrix",
                        &here,
                        "a value of the matrix cannot be the name of a member",
                    );
                    problems.push(problem.help("put the whole object into the matrix"));
                }
                problems.extend(keys(document, member, &here));
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                problems.extend(keys(document, item, &child(pointer, i)));
            }
        }
        _ => {}
    }
    problems
}
