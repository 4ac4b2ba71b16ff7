//! Reads the files of cases into documents, several at once.

use crate::diagnostic::Diagnostic;
use crate::document::{Document, decode, yaml};

/// Parses a file. Returns the document with mistakes that leave it readable, or else only the mistakes.
pub(crate) fn document(path: &str, bytes: &[u8]) -> Result<(Document, Vec<Diagnostic>), Vec<Diagnostic>> {
    let source = decode(path, bytes).map_err(|problem| vec![*problem])?;
    match yaml::read(&source) {
        (Some(document), problems) => Ok((document, problems)),
        (None, problems) => Err(problems),
    }
}

pub(crate) fn joined(mut first: Vec<Diagnostic>, second: Vec<Diagnostic>) -> Vec<Diagnostic> {
    first.extend(second);
    first
}

/// Does the work for each item in parallel and keeps their order, since reading the cases takes most of the time of a
/// short command.
pub(crate) fn on_all_cores<'i, T: Sync, R: Send>(items: &'i [T], work: impl Fn(&'i T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let part = items.len().div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let work = &work;
        let parts = items.chunks(part).map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<_>>()));
        let parts: Vec<_> = parts.collect();
        let done = parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        done.flatten().collect()
    })
}
