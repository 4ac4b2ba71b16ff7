//! The two streams: results on standard output, everything else on standard error.

use std::io::Write;

use crate::diagnostic::{Diagnostic, RenderStyle, render_all};

/// Returns standard output, which keeps styles only if they are wanted.
pub(super) fn stdout() -> anstream::AutoStream<std::io::Stdout> {
    anstream::stdout()
}

/// Prints a message on standard error and ignores a write error.
pub(super) fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Shows the mistakes in files that the user wrote.
pub(super) fn show(diagnostics: &[Diagnostic]) {
    let _ = write!(anstream::stderr(), "{}", render_all(diagnostics, RenderStyle::Styled));
}

/// Reports why a command could not do its work. A closed output is not reported.
pub fn report_error(error: &anyhow::Error) {
    let broken_pipe = error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    });
    if !broken_pipe {
        say(&format!("error: {error:#}"));
    }
}
