//! A case in many shapes: the values of a matrix replace the references to them before any other check.
//!
//! `<matrix.NAME>` is replaced by the value of a dimension, `<matrix.NAME.MEMBER>` by a part of it. Each combination
//! makes a separate document, in which every part keeps its place in the file. [`crate::case::matrix::check`] reports
//! the mistakes in the matrix itself.

mod check;
mod fill;
pub(super) mod reference;

use serde_json::{Map, Value};

use crate::case::model::Case;
use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::source::Span;

pub(crate) use self::check::without_references;

/// The most combinations; more are a mistake, or would take too long.
const MOST: usize = 64;

/// The key above the transcript.
const KEY: &str = "matrix";

/// The key of the contexts above the transcript.
const CONTEXTS: &str = "contexts";

/// The value for an absent member.
const ABSENT: &str = "<absent>";

/// A case in one of its shapes.
#[derive(Debug)]
pub(crate) struct Filled {
    /// The names of its values and of its context, joined by commas; empty for the first use in a case without a
    /// matrix.
    pub shape: String,
    /// The position of its context in the list of the case; none for the first use.
    pub context: Option<usize>,
    /// The file without its matrix, with the values of this shape.
    pub document: Document,
    /// The places where a value was inserted, each with the place of the value in the matrix.
    grafts: Vec<(Span, Span)>,
}

/// One value of a dimension: the names of the dimension and of the value, and the value.
type Choice<'d> = (&'d str, &'d str, &'d Value);

/// Returns the document in all of its shapes; one without a matrix has one.
///
/// # Errors
///
/// Every mistake in the matrix, and in the references to its values.
pub(crate) fn shapes(document: Document) -> Result<Vec<Filled>, Vec<Diagnostic>> {
    check::check(&document)?;
    Ok(unchecked_shapes(document))
}

/// Like [`shapes`], for a document without mistakes, or for a part of one that has its matrix.
pub(crate) fn unchecked_shapes(document: Document) -> Vec<Filled> {
    let filled = match document.value.get(KEY) {
        Some(Value::Object(dimensions)) => {
            combinations(dimensions).into_iter().map(|choices| fill::fill(&document, &choices)).collect()
        }
        _ => vec![Filled { shape: String::new(), context: None, document, grafts: Vec::new() }],
    };
    filled.into_iter().flat_map(Filled::in_contexts).collect()
}

impl Filled {
    /// The shape in its first use, and in each context of the case.
    fn in_contexts(self) -> Vec<Self> {
        let contexts = self.document.value.get(CONTEXTS).and_then(Value::as_array).into_iter().flatten();
        let contexts = contexts.enumerate().filter_map(|(at, name)| Some((at, name.as_str()?)));
        let in_context = |(at, name): (usize, &str)| Self {
            shape: [self.shape.as_str(), name]
                .into_iter()
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>()
                .join(","),
            context: Some(at),
            document: self.document.clone(),
            grafts: self.grafts.clone(),
        };
        let further: Vec<Self> = contexts.map(in_context).collect();
        std::iter::once(self).chain(further).collect()
    }
}

/// Returns all combinations of one value of each dimension, in the order of the file.
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
    /// Adds the shape to the id and title of the case.
    pub(crate) fn in_shape(self, shape: &str) -> Self {
        let (id, title) = named(self.id, self.title, shape);
        Self { id, title, ..self }
    }
}

/// Returns the id and the title of a case in a shape, from those in its file.
pub(crate) fn named(id: String, title: String, shape: &str) -> (String, String) {
    if shape.is_empty() {
        return (id, title);
    }
    (format!("{id}@{shape}"), format!("{title} ({})", shape.replace(',', ", ")))
}

/// Joins the mistakes in the shapes of one case: a mistake of all shapes is reported once, and a mistake of some names
/// them.
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
    let merged = |(problem, shapes): (Diagnostic, Vec<&Filled>)| {
        if shapes.len() == count { problem } else { in_shapes(problem, &shapes) }
    };
    joined.into_iter().map(merged).collect()
}

/// Adds the shapes with a mistake, and the place of the value that causes it.
fn in_shapes(problem: Diagnostic, shapes: &[&Filled]) -> Diagnostic {
    let at = problem.primary.span;
    let value = shapes[0].grafts.iter().find(|(place, _)| *place == at).map(|(_, value)| *value);
    let source = problem.primary.source.clone();
    let problem = match value {
        Some(value) => problem.also(&source, value, "with this value"),
        None => problem,
    };
    /// The most names; more do not help on one line.
    const NAMED: usize = 6;
    let names: Vec<_> = shapes.iter().take(NAMED).map(|filled| format!("`{}`", filled.shape)).collect();
    problem.help(match shapes.len() - names.len() {
        0 if names.len() == 1 => format!("this is so in the shape {}", names[0]),
        0 => format!("this is so in the shapes {}", names.join("; ")),
        more => format!("this is so in the shapes {}; and {more} more", names.join("; ")),
    })
}
