//! `schema-diff`: what changed between two revisions of the protocol's schema, and which requirements to review.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;

use super::args::SchemaDiffArgs;
use super::exit::ProgramExit;
use super::output::stdout;
use crate::edition::Bundle;
use crate::protocol::{DefinitionChange, DefinitionChangeKind, Difference, compare_schemas};
use crate::report::count;
use crate::requirement::{Requirement, Status};

/// The most characters of a value that are shown.
const MOST_SHOWN: usize = 200;

/// Runs the command.
pub(super) fn run(args: &SchemaDiffArgs, bundle: &'static Bundle) -> anyhow::Result<ProgramExit> {
    let new = schema(&args.new)?;
    let changes = match &args.from {
        Some(old) => compare_schemas(&schema(old)?, &new),
        None => compare_schemas(&serde_json::from_str(&bundle.schema_text())?, &new),
    };
    show(&changes, bundle, &mut stdout())?;
    Ok(ProgramExit::Good)
}

fn schema(path: &Path) -> anyhow::Result<Value> {
    let shown = path.display();
    let text = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    let schema: Value = serde_json::from_slice(&text).with_context(|| format!("{shown} is not JSON"))?;
    if !schema["$defs"].is_object() {
        bail!("{shown} has no `$defs`; expected a schema.json of the protocol");
    }
    Ok(schema)
}

fn show(changes: &[DefinitionChange], bundle: &'static Bundle, out: &mut dyn Write) -> io::Result<()> {
    let mut to_review: BTreeSet<&str> = BTreeSet::new();
    for DefinitionChange { name, kind, differences } in changes {
        let word = match kind {
            DefinitionChangeKind::Added => "added",
            DefinitionChangeKind::Removed => "removed",
            DefinitionChangeKind::Changed => "changed",
        };
        writeln!(out, "{word:8} {name}")?;
        differences.iter().try_for_each(|difference| writeln!(out, "  {}", line(difference)))?;
        let cited: Vec<&Requirement> = bundle.catalogue().iter().filter(|one| one.cites(name)).collect();
        to_review.extend(cited.iter().map(|one| one.id.as_str()));
        let names: Vec<String> = cited.into_iter().map(named).collect();
        match names.is_empty() {
            true => writeln!(out, "  review: a requirement may be missing; none names it as its source")?,
            false => writeln!(out, "  review: {}", names.join(", "))?,
        }
        writeln!(out)?;
    }
    let definitions = count(changes.len(), "definition differs", "definitions differ");
    let requirements = count(to_review.len(), "requirement", "requirements");
    writeln!(out, "{definitions}; {requirements} of {} to review", bundle.name())
}

fn named(requirement: &Requirement) -> String {
    let planned = if requirement.status == Status::Checked { "" } else { " (not checked)" };
    format!("{}{planned}", requirement.id)
}

fn line(Difference { place, old, new }: &Difference) -> String {
    let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
    match [old, new].map(|text| text.as_deref().map(cut)) {
        [Some(old), Some(new)] => format!("~ {place}{old} → {new}"),
        [Some(old), None] => format!("- {place}{old}"),
        [None, new] => format!("+ {place}{}", new.unwrap_or_default()),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
