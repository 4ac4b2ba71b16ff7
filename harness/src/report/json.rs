//! The report for programs: the model as JSON.

use std::io::{self, Write};

use super::event::{Renderer, SuiteEvent};

/// Writes the report as JSON when the run is over.
pub struct JsonReport<W>(pub W);

impl<W: Write> Renderer for JsonReport<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        let SuiteEvent::Run(report) = event else { return Ok(()) };
        // The text and then its bytes: serde makes the code of the whole model once for each kind of writer.
        writeln!(self.0, "{}", serde_json::to_string_pretty(report)?)?;
        self.0.flush()
    }
}
