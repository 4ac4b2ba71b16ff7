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
    let shapes =
        document(path, &head(bytes)).map(|(document, _)| matrix::unchecked_shapes(document)).unwrap_or_default();
    let headline = |filled: matrix::Filled| {
        let headline = Headline::deserialize(&filled.document.value).ok()?;
        let id = path.strip_suffix(".yaml").unwrap_or(path).to_owned();
        let (id, title) = matrix::named(id, headline.title, &filled.shape);
        Some(Headline { id, title, ..headline })
    };
    shapes.into_iter().filter_map(headline).collect()
}

/// Returns the members of a file that make its headlines. The transcript is most of a file, and takes most of the time to read.
fn head(bytes: &[u8]) -> Vec<u8> {
    let is_key = |line: &&[u8]| line.first().is_some_and(u8::is_ascii_alphabetic);
    let mut is_shown = false;
    let shown = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| {
        if is_key(line) {
            is_shown = SHOWN.iter().any(|key| line.starts_with(key));
        }
        is_shown
    });
    shown.flatten().copied().collect()
}

/// The members that make the headlines of a file.
const SHOWN: [&[u8]; 4] = [b"title:", b"subject:", b"requirements:", b"matrix:"];

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
