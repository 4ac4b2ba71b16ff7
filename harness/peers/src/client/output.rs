//! The client's output: the agent's text on stdout, its own messages on stderr.

use std::{io::Write as _, sync::Mutex};

use crate::sync::lock;

/// Writes one line to stderr.
#[expect(clippy::print_stderr, reason = "stderr is where the client talks about itself")]
pub(super) fn log(line: &str) {
    eprintln!("acp-reference-client: {line}");
}

/// Stdout, with a record of whether a line is open.
#[derive(Debug, Default)]
pub(super) struct Printer {
    line_is_open: Mutex<bool>,
}

impl Printer {
    /// Prints text unchanged.
    pub(super) fn print(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut line_is_open = lock(&self.line_is_open);
        *line_is_open = !text.ends_with('\n');
        write(text);
    }

    pub(super) fn end_line(&self) {
        let mut line_is_open = lock(&self.line_is_open);
        if std::mem::take(&mut *line_is_open) {
            write("\n");
        }
    }
}

fn write(text: &str) {
    let mut stdout = std::io::stdout().lock();
    // If stdout is closed, the text has no reader.
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}
