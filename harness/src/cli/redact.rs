//! `redact`: redacts traces for a public bug report, and checks that the findings stay the same.

use std::path::Path;

use anyhow::{Context, bail};

use super::args::RedactArgs;
use super::check::{files, read};
use super::exit::ProgramExit;
use super::output::say;
use crate::edition::Editions;
use crate::judge::judge;
use crate::output_file::write_file;
use crate::protocol::Edition;
use crate::redact::{Redacted, RedactionKey, redact};
use crate::trace::Trace;

/// Runs the command.
pub(super) fn run(args: &RedactArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let found = files(&args.traces)?;
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
        let trace = read(path, editions)?;
        let edition = editions.of(&trace.header)?.edition();
        let redacted = redacted(&trace, edition)?;
        save(&redacted.trace, &to)?;
        report(&to, &trace, &redacted, edition);
    }
    Ok(ProgramExit::Good)
}

/// Returns the trace without its content. It uses a random key that is then discarded.
pub(super) fn redacted(trace: &Trace, edition: &'static Edition) -> anyhow::Result<Redacted> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| anyhow::anyhow!("the system provides no randomness: {error}"))?;
    Ok(redact(trace, RedactionKey::new(key), edition))
}

/// Writes a trace file.
pub(super) fn save(trace: &Trace, path: &Path) -> anyhow::Result<()> {
    write_file(path, |out| trace.write(out)).with_context(|| format!("cannot write {}", path.display()))
}

fn report(to: &Path, before: &Trace, redacted: &Redacted, edition: &'static Edition) {
    let cut = match redacted.cut {
        0 => String::new(),
        1 => "; removed 1 quote from step results".to_owned(),
        many => format!("; removed {many} quotes from step results"),
    };
    say(&format!("Wrote {}. Check it for private data before you publish it{cut}", to.display()));
    let [was, is] = [before, &redacted.trace].map(|trace| judge(trace, edition));
    for difference in was.differences(&is) {
        say(&format!("  the redacted trace has other verdicts: {difference}"));
    }
}
