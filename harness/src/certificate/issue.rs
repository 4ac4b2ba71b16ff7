//! Makes a certificate from the traces of a run.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use super::digests;
use super::folder::{CertificateFolder, DIGESTS, REPORT};
use super::judged::{TraceProblem, judge, missing, trace_names};
use crate::case::embedded_for;
use crate::edition::Bundle;
use crate::protocol::sha256;
use crate::results::RunReport;
use crate::verdict::{Conformance, Verdict};

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
        /// The mistake in it.
        error: String,
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
    /// The traces do not have the verdicts of the run.
    #[error("the traces to write have other verdicts than the run{0}")]
    OtherVerdicts(String),
}

/// Writes the report and the digests into a folder that has the traces of all cases in `traces/`, and returns the
/// report with the SHA-256 of the list of digests. What does not follow from the traces comes from the report of the
/// `run`: its start, its duration and the profile.
///
/// # Errors
///
/// A trace is missing or broken, the harness failed in one of them, the verdicts are others than those of the run, or
/// the folder cannot be written.
pub fn issue(folder: &Path, run: &RunReport, bundle: &'static Bundle) -> Result<(RunReport, String), IssueError> {
    let folder = CertificateFolder::open(folder)?;
    let took = Duration::from_millis(run.summary.duration_ms);
    let mut problem = None;
    let of = (bundle, run.subject.kind);
    let mut report = judge(&folder, trace_names(&folder), of, took, |file, trace| {
        problem = problem.take().or(trace.err().map(|error| (file.to_owned(), error)));
    });
    match problem {
        Some((_, TraceProblem::Io(error))) => return Err(error.into()),
        Some((file, TraceProblem::Trace(error))) => return Err(IssueError::Trace { file, error: error.to_string() }),
        None => {}
    }
    let missing = missing(&embedded_for(run.subject.kind, run.transport(), bundle), &report);
    if let Some(first) = missing.first() {
        return Err(IssueError::Missing { count: missing.len(), first: first.clone() });
    }
    if report.verdict == Conformance::HarnessError {
        let failed = report.cases.iter().find(|case| case.verdict == Verdict::HarnessError);
        return Err(IssueError::Harness(failed.map_or_else(String::new, |case| case.id.clone())));
    }
    same_verdicts(run, &report)?;
    report.began.clone_from(&run.began);
    report.subject.profile.clone_from(&run.subject.profile);
    report.suite.content_sha256 = Some(bundle.content_sha256());
    let mut bytes = serde_json::to_vec_pretty(&report).unwrap_or_default();
    bytes.push(b'\n');
    folder.write(REPORT, &bytes)?;
    let mut list = BTreeMap::from([(REPORT.to_owned(), sha256(&bytes))]);
    for name in trace_names(&folder) {
        list.insert(name.to_owned(), sha256(folder.read(name)?));
    }
    let list = digests::text(&list);
    folder.write(DIGESTS, list.as_bytes())?;
    Ok((report, sha256(list)))
}

fn same_verdicts(run: &RunReport, kept: &RunReport) -> Result<(), IssueError> {
    let pairs = run.requirements.iter().zip(&kept.requirements);
    let different =
        pairs.filter(|(run, kept)| run.verdict != kept.verdict).fold(String::new(), |mut text, (run, kept)| {
            let _ = write!(text, "\n  {}: {} in the run, {} in the traces to write", run.id, run.verdict, kept.verdict);
            text
        });
    if different.is_empty() { Ok(()) } else { Err(IssueError::OtherVerdicts(different)) }
}
