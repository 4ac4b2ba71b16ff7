//! Describes the suite of this program.

use std::fmt::Write;

use super::model::SuiteMark;
use crate::edition::Bundle;
use crate::protocol::sha256;

impl SuiteMark {
    /// Returns the suite of this program.
    #[must_use]
    pub fn here(bundle: &'static Bundle) -> Self {
        let edition = bundle.edition();
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            edition: edition.name.clone(),
            schema_sha256: edition.schema_sha256.clone(),
            draft_schema_sha256: edition.draft_schema_sha256.clone(),
            catalogue_sha256: bundle.catalogue_sha256(),
            cases_sha256: sha256(listing(bundle)),
        }
    }

    /// Returns the differences from another suite: the name of the member, its value here, and its value there.
    #[must_use]
    pub fn differences<'s>(&'s self, other: &'s Self) -> Vec<(&'static str, &'s str, &'s str)> {
        let members = |suite: &'s Self| {
            [
                ("version", &suite.version),
                ("edition", &suite.edition),
                ("schemaSha256", &suite.schema_sha256),
                ("draftSchemaSha256", &suite.draft_schema_sha256),
                ("catalogueSha256", &suite.catalogue_sha256),
                ("casesSha256", &suite.cases_sha256),
            ]
        };
        let pairs = members(self).into_iter().zip(members(other));
        pairs
            .filter(|(a, b)| a.1 != b.1)
            .map(|((name, this), (_, other))| (name, this.as_str(), other.as_str()))
            .collect()
    }
}

/// Lists all case files as `sha256sum` prints them in the folder of the repository.
fn listing(bundle: &Bundle) -> String {
    bundle.case_files().into_iter().fold(String::new(), |mut list, (path, bytes)| {
        let _ = writeln!(list, "{}  cases/{path}", sha256(bytes));
        list
    })
}
