//! The report on the traces in the folder of a certificate; the same code makes and verifies it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::folder::{CertificateFolder, TRACES};
use crate::case::Case;
use crate::edition::Bundle;
use crate::requirement::Party;
use crate::results::{Collector, RunReport};
use crate::trace::{ReadError, Trace};

/// The reason why a trace does not count.
#[derive(Debug, thiserror::Error)]
pub(super) enum TraceProblem {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is not a valid trace.
    #[error(transparent)]
    Trace(#[from] ReadError),
}

/// Returns the names of the traces in the folder, in the order in which they are judged.
pub(super) fn trace_names(folder: &CertificateFolder) -> impl Iterator<Item = &str> {
    folder.names().filter(|name| name.strip_prefix(TRACES).is_some_and(|rest| rest.starts_with('/')))
}

/// Judges these traces of the folder as those of one run. `took` is its duration; `listen` gets each trace before it is
/// judged, or the reason why it cannot be.
pub(super) fn judge<'n>(
    folder: &CertificateFolder,
    names: impl Iterator<Item = &'n str>,
    (bundle, kind): (&'static Bundle, Party),
    took: Duration,
    mut listen: impl FnMut(&str, Result<&Trace, TraceProblem>),
) -> RunReport {
    let mut collector = None;
    for name in names {
        let read = folder.read(name).map_err(TraceProblem::from);
        match read.and_then(|bytes| Ok(Trace::read(&bytes[..])?)) {
            Ok(trace) => {
                listen(name, Ok(&trace));
                let begin = || Collector::new(bundle.edition(), kind, trace.header.command.clone());
                collector.get_or_insert_with(begin).add(&trace, Some(name));
            }
            Err(problem) => listen(name, Err(problem)),
        }
    }
    let collector = collector.unwrap_or_else(|| Collector::new(bundle.edition(), kind, Vec::new()));
    collector.finish(took, false)
}

/// Returns the cases without a verdict in the report.
pub(super) fn missing(cases: &[Case], report: &RunReport) -> Vec<String> {
    let has: BTreeSet<&str> = report.cases.iter().map(|case| case.id.as_str()).collect();
    cases.iter().filter(|case| !has.contains(case.id.as_str())).map(|case| case.id.clone()).collect()
}
