//! Every stored trace and recording, redacted and judged again: no requirement fails that does not fail in the
//! original, and none passes that fails there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use acp_conformance::edition::V1;
use acp_conformance::judge::{Tally, judge};
use acp_conformance::recording::{Input, Recording};
use acp_conformance::redact::redact;
use acp_conformance::trace::Trace;
use acp_conformance::verdict::Verdict;
use libtest_mimic::Failed;

use crate::traces::{edition, parts};

/// Checks the traces in these files, and all files in the folder of recordings.
pub fn check(traces: &[PathBuf]) -> Result<(), Failed> {
    let mut wrong = Vec::new();
    for path in traces {
        let (_, trace) = parts(&fs::read_to_string(path)?)?;
        wrong.extend(differences(path, &trace));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("harness/tests/recordings");
    let mut recordings = 0;
    for path in fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
        if let Some(trace) = recording(&path) {
            wrong.extend(differences(&path, &trace));
            recordings += 1;
        }
    }
    if recordings < 10 {
        wrong.push(format!("only {recordings} recordings could be read"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Reads a file; `None` if it is not a recording or the format needs a second file.
fn recording(path: &Path) -> Option<Trace> {
    let input = Input::Whole(Box::new(File::open(path).ok()?), None, None);
    let recording = Recording::open(input, V1.edition()).ok()?;
    let header = recording.header.clone();
    Some(Trace { header, events: recording.collect::<Result<_, _>>().ok()? })
}

/// Returns the failures that only the redacted trace has, and those of the original that pass in it.
fn differences(path: &Path, trace: &Trace) -> Vec<String> {
    let edition = edition(trace);
    let [original, redacted] = [trace, &redact(trace, edition)].map(|trace| judge(trace, edition));
    let verdicts = redacted.tallies.iter().map(|(id, tally)| (id, tally, original.verdict(id), tally.verdict()));
    let differs = |before, after| match before {
        Verdict::Fail => after == Verdict::Pass,
        _ => after == Verdict::Fail,
    };
    let wrong = verdicts.filter(|(_, _, before, after)| differs(*before, *after));
    let describe = |(id, tally, before, after): (&String, &Tally, Verdict, Verdict)| {
        let why = tally.findings.first().map(|finding| finding.text()).unwrap_or_default();
        format!("{}: {id}: {after} instead of {before}: {why}", path.display())
    };
    wrong.map(describe).collect()
}
