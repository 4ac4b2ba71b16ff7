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
        serde_json::to_writer_pretty(&mut self.out, report)?;
        writeln!(self.out)?;
        self.out.flush()
    }
}
