//! The report for programs: the model as JSON.

use std::io::{self, Write};

use super::event::{Renderer, SuiteEvent};

/// Writes the report as JSON when the run is over.
pub struct JsonReport<W> {
    out: W,
}

impl<W: Write> JsonReport<W> {
    /// Writes a report to this stream.
    pub const fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write> Renderer for JsonReport<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        let SuiteEvent::Run(report) = event else { return Ok(()) };
        // The text and then its bytes: serde makes the code of the whole model once for each kind of writer.
        writeln!(self.out, "{}", serde_json::to_string_pretty(report)?)?;
        self.out.flush()
    }
}
