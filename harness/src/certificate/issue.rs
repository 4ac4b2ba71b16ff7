//! Makes a certificate from the traces of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::folder::{CERTIFICATE, CertificateFolder, TRACES};
use super::judging::{Judging, Made};
use super::model::{Certificate, Claims, SuiteMark, TraceMark};
use crate::case::{Case, embedded};
use crate::edition::Bundle;
use crate::protocol::sha256;
use crate::requirement::Party;
use crate::results::RunReport;
use crate::trace::{ReadError, Trace, file_name};
use crate::verdict::{Conformance, Verdict};

/// A certificate that was written.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: Certificate,
    /// The report next to it.
    pub report: RunReport,
}

/// The reason why no certificate was made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IssueError {
    /// The folder cannot be read or written.
    #[error("cannot read or write the folder")]
    Io(#[from] std::io::Error),
    /// A file is not a valid trace.
    #[error("{file}: {error}")]
    Trace {
        /// The file.
        file: String,
        /// The error in it.
        error: ReadError,
    },
    /// Some cases were not run.
    #[error("{count} cases were not run, {first} among them; a certificate is about all of them")]
    Missing {
        /// The number of those cases.
        count: usize,
        /// One of them.
        first: String,
    },
    /// The harness itself failed.
    #[error("the harness itself failed in {0}, so this run cannot judge the subject")]
    Harness(String),
}

/// Returns the built-in cases that test a party.
pub(super) fn cases(bundle: &'static Bundle, party: Party) -> Vec<Case> {
    embedded(bundle).0.into_iter().filter(|case| case.subject == party).collect()
}

/// Returns the name of the trace file of a case, relative to the folder.
pub(super) fn trace_file(case: &str) -> String {
    format!("{TRACES}/{}", file_name(case))
}

/// Writes the certificate and its other files into a folder that has the traces of all cases in `traces/`.
///
/// # Errors
///
/// A trace is missing or broken, the harness failed in one of them, or the folder cannot be written.
pub fn issue(folder: &Path, claims: Claims, bundle: &'static Bundle) -> Result<Issued, IssueError> {
    let folder = CertificateFolder::open(folder)?;
    let cases = cases(bundle, claims.kind);
    let ids: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let mut missing = ids.iter().filter(|id| !folder.has(&trace_file(id)));
    if let Some(first) = missing.next() {
        return Err(IssueError::Missing { count: 1 + missing.count(), first: (*first).to_owned() });
    }
    let mut judging = None;
    let mut traces = BTreeMap::new();
    for id in &ids {
        let file = trace_file(id);
        let bytes = folder.read(&file)?;
        let trace = Trace::read(&bytes[..]).map_err(|error| IssueError::Trace { file: file.clone(), error })?;
        let begin = || Judging::new(bundle, claims.clone(), trace.header.command.clone(), ids.len());
        let verdict = judging.get_or_insert_with(begin).add(&trace, file);
        traces.insert((*id).to_owned(), TraceMark { verdict, sha256: sha256(&bytes) });
    }
    let judging = judging.unwrap_or_else(|| Judging::new(bundle, claims, Vec::new(), 0));
    let Made { certificate, report, files } = judging.close(SuiteMark::here(bundle), traces);
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
    use super::*;
    use crate::edition::V1;

    #[test]
    fn every_case_has_a_file_of_its_own() {
        for party in Party::ALL {
            let cases = cases(&V1, party);
            let files: BTreeSet<String> = cases.iter().map(|case| trace_file(&case.id)).collect();
            assert_eq!(files.len(), cases.len());
        }
    }
}
