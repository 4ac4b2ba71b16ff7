//! What a list shows of the built-in cases, read without everything that playing them takes.

use serde::Deserialize;

use crate::case::files::{document, on_all_cores};
use crate::case::includes::is_include;
use crate::case::matrix;
use crate::case::model::Case;
use crate::edition::Bundle;
use crate::requirement::Party;

/// What a list shows of a case.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct Headline {
    /// The id.
    #[serde(skip)]
    pub id: String,
    /// What the case shows, in a sentence.
    pub title: String,
    /// The side that is judged.
    pub subject: Party,
    /// The requirements for which the case is written.
    pub requirements: Vec<String>,
}

/// The headlines of the cases that are embedded in the program, in the order of [`crate::case::embedded_and`].
#[must_use]
pub fn headlines(bundle: &Bundle) -> Vec<Headline> {
    let mut files = bundle.case_files();
    files.retain(|(path, _)| !is_include(path));
    let mut headlines: Vec<_> =
        on_all_cores(&files, |(path, bytes)| of_file(path, bytes)).into_iter().flatten().collect();
    headlines.sort_by(|a, b| Case::file_of(&a.id).cmp(Case::file_of(&b.id)));
    headlines
}

/// The headlines of a file, one for each shape; none if it cannot be read, which the tests of this package exclude.
fn of_file(path: &str, bytes: &[u8]) -> Vec<Headline> {
    let head = head(bytes);
    let shapes = document(path, head.as_deref().unwrap_or(bytes))
        .and_then(|(document, _)| matrix::shapes(document))
        .unwrap_or_default();
    let headline = |filled: matrix::Filled| {
        let headline = Headline::deserialize(&filled.document.value).ok()?;
        let id = path.strip_suffix(".yaml").unwrap_or(path).to_owned();
        let (id, title) = matrix::named(id, headline.title, &filled.shape);
        Some(Headline { id, title, ..headline })
    };
    shapes.into_iter().filter_map(headline).collect()
}

/// Returns the members of a file that a headline shows. The transcript is most of a file, and takes most of the time to read.
/// `None` for a file with a matrix, whose shapes are read from all of it.
fn head(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_key = |line: &&[u8]| line.first().is_some_and(u8::is_ascii_alphabetic);
    let lines = || bytes.split_inclusive(|byte| *byte == b'\n');
    if lines().any(|line| line.starts_with(b"matrix:")) {
        return None;
    }
    let mut is_shown = false;
    let shown = lines().filter(|line| {
        if is_key(line) {
            is_shown = SHOWN.iter().any(|key| line.starts_with(key));
        }
        is_shown
    });
    Some(shown.flatten().copied().collect())
}

/// The members that a headline shows.
const SHOWN: [&[u8]; 3] = [b"title:", b"subject:", b"requirements:"];

#[cfg(test)]
mod tests {
    use super::{Headline, headlines};
    use crate::case::{Case, embedded_and};
    use crate::edition::V1;

    #[test]
    fn a_list_shows_what_is_played() {
        let headline =
            |Case { id, title, subject, requirements, .. }: Case| Headline { id, title, subject, requirements };
        let played: Vec<_> = embedded_and(None, None, &V1).0.into_iter().map(headline).collect();
        assert_eq!(headlines(&V1), played);
    }
}
