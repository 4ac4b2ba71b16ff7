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
use crate::judge::judge;
use crate::output_file::write_file;
use crate::protocol::Edition;
use crate::record::{Aim, RecordError, VERBATIM, VIOLATES, record};
use crate::requirement::Party;
use crate::trace::{Trace, What};
use crate::verdict::Verdict;

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
    let text = case_text(&trace, &origin, args.subject, bundle.edition())
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

/// Returns the text of a case file that repeats the exchange of the trace.
pub(super) fn case_text(
    trace: &Trace,
    origin: &str,
    subject: Option<Party>,
    edition: &'static Edition,
) -> Result<String, RecordError> {
    // The messages alone prove nothing that only a step of a case decided.
    let mut messages = trace.clone();
    messages.events.retain(|event| !matches!(event.what, What::Step(_)));
    let judgement = judge(&messages, edition);
    let kept = judgement.tallies.iter().filter(|(_, tally)| tally.verdict() == Verdict::Pass);
    let kept: Vec<String> = kept.map(|(id, _)| id.clone()).collect();
    let party = subject.or(trace.header.subject);
    let binds = |id: &str| edition.catalogue.find(id).is_some_and(|known| Some(known.party) == party);
    let broken: Vec<(usize, String)> = judge(trace, edition)
        .tallies
        .iter()
        .filter(|(id, _)| binds(id))
        .flat_map(|(id, tally)| tally.findings.iter().map(move |finding| (id, finding)))
        .filter(|(_, finding)| finding.verdict == Verdict::Fail && finding.same_as.is_none())
        .filter_map(|(id, finding)| Some((*finding.events.first()?, format!("{id}: {}", finding.text()))))
        .collect();
    record(trace, &Aim { origin, subject, kept: &kept, broken: &broken, edition })
}

/// Writes the case. The folders in its id may not exist yet.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write_file(path, |out| out.write_all(text.as_bytes()))
}
