//! The facts about built-in cases for lists, read without the parts that only a run needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::case::load::embedded_and;
use crate::case::matrix;
use crate::case::model::Case;
use crate::document::{Document, SpanMap};
use crate::edition::{Bundle, Editions};
use crate::requirement::Party;
use crate::source::SourceFile;

/// The facts about a case for a list.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct Headline {
    /// The id.
    #[serde(skip)]
    pub id: String,
    /// The behaviour that the case shows, in a sentence.
    pub title: String,
    /// The tested party.
    pub subject: Party,
    /// The requirements of the case.
    pub requirements: Vec<String>,
}

impl From<Case> for Headline {
    fn from(case: Case) -> Self {
        let Case { id, title, subject, requirements, .. } = case;
        Self { id, title, subject, requirements }
    }
}

/// Returns the headlines of the embedded cases, in the order of [`crate::case::embedded_and`].
pub fn headlines(bundle: &'static Bundle) -> Vec<Headline> {
    let heads = bundle.case_heads().and_then(|heads| serde_json::from_str(&heads).ok());
    let Some(heads): Option<BTreeMap<String, Value>> = heads else {
        return embedded_and(None, None, bundle).0.into_iter().map(Headline::from).collect();
    };
    let mut headlines: Vec<_> = heads.into_iter().flat_map(|(path, head)| of_file(&path, head)).collect();
    let (editions, catalogue) = (Editions::built_in(), bundle.catalogue());
    headlines.retain(|headline| !editions.are_of_other(bundle.name(), catalogue, &headline.requirements));
    headlines.sort_by(|a, b| Case::file_of(&a.id).cmp(Case::file_of(&b.id)));
    headlines
}

/// Returns the headlines of a file, one for each shape; none if it cannot be read, which the tests of this package
/// exclude.
fn of_file(path: &str, head: Value) -> Vec<Headline> {
    let document = Document::new(Arc::new(SourceFile::new(path, "")), head, SpanMap::new());
    let headline = |filled: matrix::Filled| {
        let headline = Headline::deserialize(&filled.document.value).ok()?;
        let id = path.strip_suffix(".yaml").unwrap_or(path).to_owned();
        let (id, title) = matrix::named(id, headline.title, &filled.shape);
        Some(Headline { id, title, ..headline })
    };
    matrix::unchecked_shapes(document).into_iter().filter_map(headline).collect()
}

#[cfg(test)]
mod tests {
    use super::{Headline, headlines};
    use crate::case::embedded_and;
    use crate::edition::{V1, V1_OF_2026_11_02};

    #[test]
    fn a_list_shows_what_runs() {
        for bundle in [&V1, &V1_OF_2026_11_02] {
            let runs: Vec<_> = embedded_and(None, None, bundle).0.into_iter().map(Headline::from).collect();
            assert_eq!(headlines(bundle), runs);
        }
    }
}
