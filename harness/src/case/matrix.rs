//! A case in many shapes: the values of a matrix are put into the places that name them, before anything else is checked.
//!
//! `<matrix.NAME>` stands for the value of a dimension, `<matrix.NAME.MEMBER>` for a part of it. Each combination makes a
//! document of its own, in which every part keeps its place in the file. What the mistakes in the matrix itself are is
//! told by [`crate::case::matrix::check`].

mod check;
mod fill;
pub(super) mod reference;

use serde_json::{Map, Value};

use crate::case::model::Case;
use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::source::Span;

pub(crate) use self::check::without_references;

/// More combinations than this are a mistake, or too much to wait for.
const MOST: usize = 64;

/// The key above the transcript.
const KEY: &str = "matrix";

/// The value that stands for no member at all.
const ABSENT: &str = "<absent>";

/// A case in one of its shapes.
#[derive(Debug)]
pub(crate) struct Filled {
    /// The names of its values, joined by commas; empty for a case without a matrix.
    pub shape: String,
    /// The file without its matrix, with the values of this shape.
    pub document: Document,
    /// Where a value was put in, and where that value stands in the matrix.
    grafts: Vec<(Span, Span)>,
}

/// One value of a dimension: the name of the dimension, that of the value, and the value.
type Choice<'d> = (&'d str, &'d str, &'d Value);

/// The document in all of its shapes; one without a matrix has one.
///
/// # Errors
///
/// Every mistake in the matrix, and in the places that name its values.
pub(crate) fn shapes(document: Document) -> Result<Vec<Filled>, Vec<Diagnostic>> {
    check::check(&document)?;
    Ok(unchecked_shapes(document))
}

/// As [`shapes`], for a document without mistakes in it, or for a part of one that has its matrix.
pub(crate) fn unchecked_shapes(document: Document) -> Vec<Filled> {
    let Some(Value::Object(dimensions)) = document.value.get(KEY) else {
        return vec![Filled { shape: String::new(), document, grafts: Vec::new() }];
    };
    let filled = combinations(dimensions).into_iter().map(|choices| fill::fill(&document, &choices));
    filled.collect()
}

/// All combinations of one value of each dimension, in the order of the file.
fn combinations(dimensions: &Map<String, Value>) -> Vec<Vec<Choice<'_>>> {
    let mut all = vec![Vec::new()];
    for (dimension, values) in dimensions {
        let values = values.as_object().into_iter().flatten();
        let choices: Vec<Choice<'_>> = values.map(|(name, value)| (dimension.as_str(), name.as_str(), value)).collect();
        all = all
            .iter()
            .flat_map(|head| choices.iter().map(move |choice| [head.as_slice(), &[*choice]].concat()))
            .collect();
    }
    all
}

impl Case {
    /// The case with the shape in its id and title.
    pub(crate) fn in_shape(self, shape: &str) -> Self {
        let (id, title) = named(self.id, self.title, shape);
        Self { id, title, ..self }
    }
}

/// The id and the title of a case in a shape, from those that its file gives.
pub(crate) fn named(id: String, title: String, shape: &str) -> (String, String) {
    if shape.is_empty() {
        return (id, title);
    }
    (format!("{id}@{shape}"), format!("{title} ({})", shape.replace(',', ", ")))
}

/// Joins what was found wrong in the shapes of one case: a mistake of all shapes is told once, and one of some names them.
pub(crate) fn join(found: Vec<(&Filled, Vec<Diagnostic>)>) -> Vec<Diagnostic> {
    let count = found.len();
    let mut joined: Vec<(Diagnostic, Vec<&Filled>)> = Vec::new();
    for (filled, problems) in found {
        for problem in problems {
            match joined.iter_mut().find(|(known, _)| *known == problem) {
                Some((_, shapes)) => shapes.push(filled),
                None => joined.push((problem, vec![filled])),
            }
        }
    }
    let told = |(problem, shapes): (Diagnostic, Vec<&Filled>)| {
        if shapes.len() == count { problem } else { in_shapes(problem, &shapes) }
    };
    joined.into_iter().map(told).collect()
}

/// Says in which shapes a mistake shows, and where the value stands that makes it one.
fn in_shapes(problem: Diagnostic, shapes: &[&Filled]) -> Diagnostic {
    let at = problem.primary.span;
    let value = shapes[0].grafts.iter().find(|(place, _)| *place == at).map(|(_, value)| *value);
    let source = problem.primary.source.clone();
    let problem = match value {
        Some(value) => problem.also(&source, value, "with this value"),
        None => problem,
    };
    /// More names than this are no help on one line.
    const NAMED: usize = 6;
    let names: Vec<_> = shapes.iter().take(NAMED).map(|filled| format!("`{}`", filled.shape)).collect();
    problem.help(match shapes.len() - names.len() {
        0 if names.len() == 1 => format!("this is so in the shape {}", names[0]),
        0 => format!("this is so in the shapes {}", names.join("; ")),
        more => format!("this is so in the shapes {}; and {more} more", names.join("; ")),
    })
}
