//! `schema`: prints the JSON Schema of a file, for editors and other tools.

use std::io::{self, Write};

use super::args::{FileKind, SchemaArgs};
use super::exit::ProgramExit;

/// Runs the command.
pub(super) fn run(args: &SchemaArgs) -> anyhow::Result<ProgramExit> {
    io::stdout().write_all(text(args.kind).as_bytes())?;
    Ok(ProgramExit::Good)
}

/// Returns the schema of a kind of file.
pub(super) const fn text(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Case => include_str!("../../../schemas/case.schema.json"),
        FileKind::Profile => include_str!("../../../schemas/profile.schema.json"),
        FileKind::Expected => include_str!("../../../schemas/expected.schema.json"),
        FileKind::Fault => include_str!("../../../schemas/fault.schema.json"),
        FileKind::Report => include_str!("../../../schemas/report.schema.json"),
        FileKind::Events => include_str!("../../../schemas/events.schema.json"),
        FileKind::Trace => include_str!("../../../schemas/trace.schema.json"),
        FileKind::Certificate => include_str!("../../../schemas/certificate.schema.json"),
        FileKind::Diff => include_str!("../../../schemas/diff.schema.json"),
    }
}
