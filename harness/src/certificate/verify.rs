//! Verifies a certificate: its files match their digests, and its traces give the verdicts of its report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::folder::{CertificateFolder, DIGESTS, REPORT, is_signature};
use super::judged::{judge, missing, trace_names};
use super::{digests, shown};
use crate::case::{Case, embedded_for};
use crate::edition::{Bundle, Editions};
use crate::protocol::sha256;
use crate::results::{FORMAT, RunReport};
use crate::trace::{FORMAT as TRACE_FORMAT, Header, file_name};
use crate::verdict::Verdict;

/// The result of a verification.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// The report, if it could be read.
    pub report: Option<RunReport>,
    /// The parts that do not match.
    pub mismatches: Vec<CertificateMismatch>,
    /// The parts of the suite that differ in this program, so that it cannot decide which results follow from the
    /// traces.
    pub other_suite: Vec<OtherSuite>,
    /// The verdicts that differ by the requirements of this program, if the certificate is from another suite.
    pub changed: Vec<Changed>,
    /// Signatures next to the certificate, which this program does not check.
    pub signatures: Vec<String>,
    /// The number of traces judged again.
    pub judged: usize,
}

/// A part that does not match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CertificateMismatch {
    /// The file, relative to the folder.
    pub file: String,
    /// The mismatch.
    pub what: String,
}

impl fmt::Display for CertificateMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", shown(&self.file), self.what)
    }
}

/// A part of the suite that differs here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherSuite {
    /// The member of the report.
    pub member: &'static str,
    /// The value in the report.
    pub there: String,
    /// The value in this program.
    pub here: String,
}

/// A verdict that differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Changed {
    /// The id of a requirement or of a case; `verdict` for the whole run, and `subject.name` and such for the subject.
    pub id: String,
    /// What the report says; `None` if it says nothing.
    pub was: Option<String>,
    /// What this program says; `None` if it says nothing.
    pub is: Option<String>,
}

/// The conclusion of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// Everything matches.
    Matches,
    /// A part does not match.
    DoesNotMatch,
    /// The files are intact, but their results cannot be verified, since this program is another suite.
    Undecidable,
}

impl Verification {
    /// Returns the conclusion.
    pub const fn outcome(&self) -> Integrity {
        if !self.mismatches.is_empty() {
            Integrity::DoesNotMatch
        } else if !self.is_own_suite() {
            // The cases of another suite are unknown here, so a missing case cannot be noticed.
            Integrity::Undecidable
        } else {
            Integrity::Matches
        }
    }

    /// Whether this program is the suite that made the certificate.
    pub const fn is_own_suite(&self) -> bool {
        self.other_suite.is_empty()
    }

    fn wrong(&mut self, file: &str, what: impl Into<String>) {
        self.mismatches.push(CertificateMismatch { file: file.to_owned(), what: what.into() });
    }
}

/// The reason why a folder cannot be verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoCertificate {
    /// The folder cannot be read.
    #[error("cannot read the folder")]
    Io(#[from] std::io::Error),
    /// The folder has no certificate.
    #[error("it contains no SHA256SUMS, which `certify` writes")]
    Missing,
}

/// Verifies the certificate in a folder, by the edition that its report names.
///
/// # Errors
///
/// The folder contains no certificate.
pub fn verify(folder: &Path, editions: &Editions) -> Result<Verification, NoCertificate> {
    let folder = CertificateFolder::open(folder)?;
    if !folder.has(DIGESTS) && !folder.odd.contains_key(DIGESTS) {
        return Err(NoCertificate::Missing);
    }
    let mut found = Verification::default();
    for (name, what) in &folder.odd {
        found.wrong(name, *what);
    }
    let is_whole = compare_files(&folder, &mut found);
    if let Some(report) = report(&folder, &mut found) {
        // The traces of an unknown edition are read by another one, which appears as another suite.
        let bundle = editions.named(&report.suite.edition).unwrap_or_else(|_| editions.preferred());
        found.other_suite = other_suite(bundle, &report);
        judge_again(bundle, &folder, &report, is_whole, &mut found);
        found.report = Some(report);
    }
    found.mismatches.sort();
    Ok(found)
}

/// Compares the files with their digests, and returns whether all traces are there and unchanged.
fn compare_files(folder: &CertificateFolder, found: &mut Verification) -> bool {
    let listed = match folder.read(DIGESTS).map_err(|error| error.to_string()).and_then(|bytes| digests::read(&bytes)) {
        Ok(listed) => listed,
        Err(problem) => {
            found.wrong(DIGESTS, problem);
            return false;
        }
    };
    let mut is_whole = true;
    for (name, digest) in &listed {
        let what = match folder.read(name) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "it is missing".to_owned(),
            Err(error) => error.to_string(),
            Ok(bytes) if sha256(&bytes) != *digest => format!("its SHA-256 is not that of {DIGESTS}"),
            Ok(_) => continue,
        };
        found.wrong(name, what);
        is_whole &= name == REPORT;
    }
    for name in folder.names().filter(|name| *name != DIGESTS && !listed.contains_key(*name)) {
        if is_signature(name) {
            found.signatures.push(name.to_owned());
        } else {
            found.wrong(name, format!("unexpected: {DIGESTS} does not name it"));
        }
    }
    is_whole
}

fn report(folder: &CertificateFolder, found: &mut Verification) -> Option<RunReport> {
    if !folder.has(REPORT) {
        let missing = CertificateMismatch { file: REPORT.to_owned(), what: "it is missing".to_owned() };
        if !found.mismatches.contains(&missing) {
            found.mismatches.push(missing);
        }
        return None;
    }
    let read = folder.read(REPORT).map_err(|error| error.to_string());
    let read = read.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).map_err(|error| error.to_string()));
    let document = read.map_err(|problem| found.wrong(REPORT, shown(&problem))).ok()?;
    if let Some(other) = document["format"].as_str().filter(|format| *format != FORMAT) {
        let (there, here) = (shown(other), FORMAT.to_owned());
        found.other_suite.push(OtherSuite { member: "format", there, here });
        return None;
    }
    let report = serde_json::from_value(document);
    report.map_err(|error| found.wrong(REPORT, format!("not a report: {}", shown(&error.to_string())))).ok()
}

fn other_suite(bundle: &'static Bundle, report: &RunReport) -> Vec<OtherSuite> {
    let suite = &report.suite;
    let content = suite.content_sha256.clone().unwrap_or_default();
    let members = [
        ("version", &suite.version, env!("CARGO_PKG_VERSION").to_owned()),
        ("edition", &suite.edition, bundle.name().to_owned()),
        ("schemaSha256", &suite.schema_sha256, bundle.edition().schema_sha256.clone()),
        ("contentSha256", &content, bundle.content_sha256()),
    ];
    let other = members.into_iter().filter(|(_, there, here)| *there != here);
    other.map(|(member, there, here)| OtherSuite { member, there: shown(there), here }).collect()
}

/// Judges every trace again, and compares the results; unless all traces are there and unchanged, it compares nothing.
fn judge_again(
    bundle: &'static Bundle,
    folder: &CertificateFolder,
    report: &RunReport,
    is_whole: bool,
    found: &mut Verification,
) {
    let kind = report.subject.kind;
    let cases = if found.is_own_suite() { embedded_for(kind, report.transport(), bundle) } else { Vec::new() };
    let by_id: BTreeMap<&str, &Case> = cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let took = Duration::from_millis(report.summary.duration_ms);
    let own_suite = found.is_own_suite();
    let again = judge(folder, trace_names(folder), (bundle, kind), took, |file, trace| match trace {
        Ok(trace) => {
            found.judged += 1;
            if let Some(what) = foreign(file, &trace.header, report, own_suite.then_some(&by_id)) {
                found.wrong(file, what);
            }
        }
        // A trace that another suite wrote may still be valid.
        Err(problem) if own_suite => found.wrong(file, shown(&problem.to_string())),
        Err(_) => {}
    });
    if !is_whole {
        return;
    }
    for case in missing(&cases, &again) {
        found.wrong(REPORT, format!("the case {case} has no trace"));
    }
    let changed = changed(report, &again);
    if own_suite {
        let says = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        for Changed { id, was, is } in changed {
            found.wrong(REPORT, format!("{id} is {}, and its traces give {}", says(&was), says(&is)));
        }
    } else {
        found.changed = changed;
    }
}

/// Explains why a trace does not belong into this certificate; `cases` are those of the suite, if it is this one.
fn foreign(file: &str, header: &Header, report: &RunReport, cases: Option<&BTreeMap<&str, &Case>>) -> Option<String> {
    let id = header.case.as_deref().unwrap_or_default();
    let stem = file_name(id);
    let stem = stem.strip_suffix(".jsonl").unwrap_or(&stem);
    let rest = file.rsplit('/').next().and_then(|name| name.strip_suffix(".jsonl")?.strip_prefix(stem));
    // Further runs of a case are numbered.
    let is_run =
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('_').is_some_and(|n| n.parse::<u32>().is_ok()));
    if !is_run || header.subject != Some(report.subject.kind) {
        return Some(format!("it is a trace of something else: {}", shown(id)));
    }
    let cases = cases?;
    let Some(case) = cases.get(id) else { return Some(format!("it is a trace of the unknown case {}", shown(id))) };
    let wanted = Header {
        format: TRACE_FORMAT.to_owned(),
        suite: report.suite.version.clone(),
        edition: report.suite.edition.clone(),
        exact_edition: header.exact_edition,
        transport: header.transport,
        bridged: header.bridged,
        case: Some(id.to_owned()),
        title: Some(case.title.clone()),
        conversation: None,
        walk: false,
        file: None,
        subject: header.subject,
        command: header.command.clone(),
        requirements: case.requirements.clone(),
        lacks: Vec::new(),
        remarks: Vec::new(),
    };
    let [is, wanted] = [header, &wanted].map(|header| serde_json::to_value(header).unwrap_or_default());
    let names: BTreeSet<&String> =
        [&is, &wanted].into_iter().filter_map(Value::as_object).flat_map(|map| map.keys()).collect();
    let other = names.into_iter().find(|name| is.get(name) != wanted.get(name))?;
    Some(format!("it is a trace of something else: `{other}` in its header is another"))
}

/// Returns what differs between the report and that of this program, in their verdicts and in the subject.
fn changed(report: &RunReport, again: &RunReport) -> Vec<Changed> {
    let (before, after) = (verdicts(report), verdicts(again));
    let ids: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let is_new =
        |id: &str| !before.contains_key(id) && after.get(id).map(String::as_str) == Some(Verdict::NotExercised.name());
    let different = ids.into_iter().filter(|id| before.get(id) != after.get(id) && !is_new(id));
    let change = |id: &str| Changed {
        id: shown(id),
        was: before.get(id).map(|said| shown(said)),
        is: after.get(id).map(|said| shown(said)),
    };
    different.map(change).collect()
}

/// Returns what a report says of the run, of the subject, and of each requirement and case by its id.
fn verdicts(report: &RunReport) -> BTreeMap<&str, String> {
    let subject = &report.subject;
    let own = [
        ("verdict", Some(report.verdict.name().to_owned())),
        ("subject.name", subject.name.clone()),
        ("subject.version", subject.version.clone()),
        ("subject.command", Some(shell_words::join(&subject.command))),
    ];
    let own = own.into_iter().filter_map(|(name, said)| Some((name, said?)));
    let requirements = report.requirements.iter().map(|one| (one.id.as_str(), one.verdict));
    let cases = report.cases.iter().map(|one| (one.id.as_str(), one.verdict));
    own.chain(requirements.chain(cases).map(|(id, verdict)| (id, verdict.to_string()))).collect()
}
