//! `schema`: prints the JSON Schema of a file, for editors and other tools.

use std::borrow::Cow;
use std::io::Write;

use super::args::{FileKind, SchemaArgs};
use super::exit::ProgramExit;
use super::output::stdout;
use crate::packed::{Text, packed};

pub(super) fn run(args: &SchemaArgs) -> anyhow::Result<ProgramExit> {
    stdout().write_all(text(args.kind).as_bytes())?;
    Ok(ProgramExit::Good)
}

/// Returns the schema of a kind of file.
pub(super) fn text(kind: FileKind) -> Cow<'static, str> {
    let text: Text = match kind {
        FileKind::Case => packed!("case.schema.json"),
        FileKind::Profile => packed!("profile.schema.json"),
        FileKind::Expected => packed!("expected.schema.json"),
        FileKind::Report => packed!("report.schema.json"),
        FileKind::Events => packed!("events.schema.json"),
        FileKind::Trace => packed!("trace.schema.json"),
        FileKind::Diff => packed!("diff.schema.json"),
        FileKind::Registry => packed!("registry.schema.json"),
        FileKind::RegistryLock => packed!("registry-lock.schema.json"),
    };
    text()
}
