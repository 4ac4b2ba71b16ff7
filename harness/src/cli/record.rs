//! `record`: turns a trace into a case.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};

use super::args::RecordArgs;
use super::check::read;
use super::exit::ProgramExit;
use super::output::{say, show, stdout};
use crate::case::{Includes, Vocabulary, load_text};
use crate::edition::Editions;
use crate::output_file::write_file;
use crate::record::{Aim, VERBATIM, VIOLATES, record};

/// Runs the command.
pub(super) fn run(args: &RecordArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let trace = read(&args.trace, editions)?;
    if trace.header.conversation.is_some() {
        bail!(
            "{}: the trace contains several cases; run one with --isolate --case ID --trace-dir DIR",
            args.trace.display()
        );
    }
    let bundle = editions.of(&trace.header)?;
    let shown = args.trace.display().to_string();
    // Only the name of the file, since the case may be shared.
    let file = args.trace.file_name().map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
    let origin = trace.header.case.as_ref().map_or_else(|| file.clone(), |case| format!("{file}, a run of {case}"));
    let text = record(&trace, &Aim { origin: &origin, subject: args.subject, edition: bundle.edition() })
        .with_context(|| format!("{shown} cannot become a case"))?;
    match &args.output {
        Some(path) => write(path, &text).with_context(|| format!("cannot write {}", path.display()))?,
        None => stdout().write_all(text.as_bytes())?,
    }
    let name = args.output.as_ref().map_or_else(|| "the recorded case".to_owned(), |path| path.display().to_string());
    let (cases, problems) = load_text(&name, &text, &Vocabulary::of(bundle.edition()), &Includes::of(bundle));
    show(&problems);
    if text.contains(VERBATIM) {
        say(&format!("warning: {VERBATIM}"));
    }
    if text.contains(VIOLATES) {
        say(&format!("The recorded subject violates requirements; `{VIOLATES}` marks the lines."));
    }
    Ok(if cases.is_empty() { ProgramExit::Usage } else { ProgramExit::Good })
}

/// Writes the case. The folders in its id may not exist yet.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write_file(path, |out| out.write_all(text.as_bytes()))
}
