//! `redact`: redacts traces for a public bug report.

use std::path::Path;

use anyhow::{Context, bail};

use super::args::RedactArgs;
use super::check::{files, read};
use super::exit::ProgramExit;
use super::output::{say, stdout};
use crate::edition::Editions;
use crate::output_file::write_file;
use crate::redact::redact;
use crate::trace::Trace;

pub(super) fn run(args: &RedactArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let found = files(&args.traces)?;
    if found.is_empty() {
        bail!("no .jsonl files found in the given paths\nhelp: `agent` and `client` write traces with --trace-dir DIR");
    }
    if args.output == Path::new("-") {
        let [path] = found.as_slice() else { bail!("--output -: several traces need a folder") };
        redacted(path, editions)?.write(&mut stdout())?;
        say("Check the trace for private data before you publish it.");
        return Ok(ProgramExit::Good);
    }
    let into_folder = args.output.is_dir() || found.len() > 1 || args.traces.iter().any(|path| path.is_dir());
    if into_folder {
        std::fs::create_dir_all(&args.output).with_context(|| format!("--output {}", args.output.display()))?;
    }
    for path in &found {
        let to = match path.file_name() {
            Some(name) if into_folder => args.output.join(name),
            _ => args.output.clone(),
        };
        if to.exists() && to.canonicalize()? == path.canonicalize()? {
            bail!("{} would overwrite itself; choose another --output", path.display());
        }
        save(&redacted(path, editions)?, &to)?;
        say(&format!("Wrote {}. Check it for private data before you publish it.", to.display()));
    }
    Ok(ProgramExit::Good)
}

fn redacted(path: &Path, editions: &Editions) -> anyhow::Result<Trace> {
    let trace = read(path, editions)?;
    Ok(redact(&trace, editions.of(&trace.header)?.edition()))
}

/// Writes a trace file.
pub(super) fn save(trace: &Trace, path: &Path) -> anyhow::Result<()> {
    write_file(path, |out| trace.write(out)).with_context(|| format!("cannot write {}", path.display()))
}
