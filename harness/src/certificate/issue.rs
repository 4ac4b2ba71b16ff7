//! The making of a certificate from the traces of a run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use super::folder::{CERTIFICATE, Folder, TRACES};
use super::judging::{Judging, Made};
use super::model::{Certificate, Claims, SuiteMark, TraceMark};
use crate::case::{Case, Vocabulary, embedded};
use crate::protocol::sha256;
use crate::report::model::RunReport;
use crate::requirement::Party;
use crate::trace::{ReadError, Trace, file_name};
use crate::verdict::{Conformance, Verdict};

/// A certificate that was written.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: Certificate,
    /// The report that stands beside it.
    pub report: RunReport,
}

/// Why no certificate was made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IssueError {
    /// The folder cannot be read or written.
    #[error("cannot read or write the folder")]
    Io(#[from] std::io::Error),
    /// A trace is none.
    #[error("{file}: {error}")]
    Trace {
        /// The file.
        file: String,
        /// What is wrong with it.
        error: ReadError,
    },
    /// Not all cases were run.
    #[error("{count} cases were not run, {first} among them; a certificate is about all of them")]
    Missing {
        /// How many.
        count: usize,
        /// One of them.
        first: String,
    },
    /// The harness itself failed.
    #[error("the harness itself failed in {0}, so nothing is said about the subject")]
    Harness(String),
}

/// The built-in cases that judge a party, by id.
pub(super) fn cases(party: Party) -> BTreeMap<&'static str, &'static Case> {
    static ALL: LazyLock<Vec<Case>> = LazyLock::new(|| embedded(&Vocabulary::v1()).0);
    ALL.iter().filter(|case| case.subject == party).map(|case| (case.id.as_str(), case)).collect()
}

/// The name of the file with the trace of a case, from the folder on.
pub(super) fn trace_file(case: &str) -> String {
    format!("{TRACES}/{}", file_name(case))
}

/// Writes the certificate, and all that goes with it, into a folder that has the traces of all cases in `traces/`.
///
/// # Errors
///
/// That a trace is missing or broken, that the harness failed in one of them, or that the folder cannot be written.
pub fn issue(folder: &Path, claims: Claims) -> Result<Issued, IssueError> {
    let folder = Folder::open(folder)?;
    let cases = cases(claims.kind);
    let mut missing = cases.keys().filter(|id| !folder.has(&trace_file(id)));
    if let Some(first) = missing.next() {
        return Err(IssueError::Missing { count: 1 + missing.count(), first: (*first).to_owned() });
    }
    let mut judging = None;
    let mut traces = BTreeMap::new();
    for id in cases.keys() {
        let file = trace_file(id);
        let bytes = folder.read(&file)?;
        let trace = Trace::read(&bytes[..]).map_err(|error| IssueError::Trace { file: file.clone(), error })?;
        let begin = || Judging::new(claims.clone(), trace.header.command.clone(), cases.len());
        let verdict = judging.get_or_insert_with(begin).add(&trace, file);
        traces.insert((*id).to_owned(), TraceMark { verdict, sha256: sha256(&bytes) });
    }
    let judging = judging.unwrap_or_else(|| Judging::new(claims, Vec::new(), 0));
    let Made { certificate, report, files } = judging.close(SuiteMark::here(), traces);
    if report.verdict == Conformance::HarnessError {
        let failed = report.cases.iter().find(|case| case.verdict == Verdict::HarnessError);
        return Err(IssueError::Harness(failed.map_or_else(String::new, |case| case.id.clone())));
    }
    for (name, bytes) in files {
        folder.write(name, &bytes)?;
    }
    let (certificate, text) = certificate.sealed();
    folder.write(CERTIFICATE, text.as_bytes())?;
    Ok(Issued { certificate, report })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_case_has_a_file_of_its_own() {
        for party in Party::ALL {
            let cases = cases(party);
            let files: BTreeSet<String> = cases.keys().map(|id| trace_file(id)).collect();
            assert_eq!(files.len(), cases.len());
        }
    }
}
