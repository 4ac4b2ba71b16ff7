//! The two streams: results on standard output, everything else on standard error.

use std::io::{self, ErrorKind, Write};

use crate::diagnostic::{Diagnostic, RenderStyle, render_all};

/// Returns standard output, which keeps styles only if they are wanted.
pub(super) fn stdout() -> impl Write {
    StandardOutput(anstream::stdout())
}

/// Standard output. If a reader such as `head` closes it early, the rest is discarded: a run still writes its files and
/// has the exit code of its result.
struct StandardOutput(anstream::AutoStream<io::Stdout>);

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_closed(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_closed(self.0.flush(), ())
    }
}

fn unless_closed<T>(result: io::Result<T>, discarded: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(discarded),
        result => result,
    }
}

/// Prints a message on standard error and ignores a write error.
pub(super) fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Shows the mistakes in files that the user wrote.
pub(super) fn show(diagnostics: &[Diagnostic]) {
    let _ = write!(anstream::stderr(), "{}", render_all(diagnostics, RenderStyle::Styled));
}

/// Reports why a command could not do its work.
pub fn report_error(error: &anyhow::Error) {
    say(&format!("error: {error:#}"));
}
