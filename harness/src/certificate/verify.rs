//! Verifies a certificate: its files match their digests, and its results follow from its traces.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde_json::Value;

use super::compare::{differences, shown};
use super::folder::{CERTIFICATE, CertificateFolder, REPORT, TRACES, is_signature};
use super::issue::{cases, trace_file};
use super::judging::{Judging, Made};
use super::model::{Certificate, DIGEST, FORMAT, SuiteMark, TraceMark, digest, text};
use crate::case::Case;
use crate::edition::{Bundle, Editions};
use crate::protocol::sha256;
use crate::results::{FORMAT as REPORT_FORMAT, READABLE, RunReport};
use crate::trace::{FORMAT as TRACE_FORMAT, Header, Trace};
use crate::verdict::Verdict;

/// The result of a verification.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// The certificate, if it could be read.
    pub certificate: Option<Certificate>,
    /// The parts that do not match.
    pub mismatches: Vec<CertificateMismatch>,
    /// The parts of the suite that differ in this program, so that it cannot decide which results follow from the traces.
    pub other_suite: Vec<OtherSuite>,
    /// The format of the report, if an earlier version wrote it. Such a report and the page that shows it cannot be made again
    /// byte for byte, so only their verdicts are compared.
    pub older_report: Option<String>,
    /// The verdicts that differ by the requirements of this program, if the certificate is from another suite.
    pub changed: Vec<Changed>,
    /// Signatures next to the certificate, which this program does not check.
    pub signatures: Vec<String>,
    /// The number of traces checked again.
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
    /// The member of the certificate.
    pub member: &'static str,
    /// The value in the certificate.
    pub there: String,
    /// The value in this program.
    pub here: String,
}

/// A verdict that differs by the requirements of this program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Changed {
    /// The id of a requirement or of a case; `verdict` for the whole run.
    pub id: String,
    /// The verdict in the certificate; `None` if it has none.
    pub was: Option<String>,
    /// The verdict of this program; `None` if it has none.
    pub is: Option<String>,
}

/// The conclusion of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// Everything matches.
    Matches,
    /// The files are intact, there is a trace of every case of this suite, and the traces give the same verdicts. The rest of
    /// the report and the page cannot be compared, since their format is older.
    Intact,
    /// A part does not match.
    DoesNotMatch,
    /// The files are intact, but their results cannot be verified: this program is another suite, or an earlier report has
    /// other verdicts.
    CannotBeTold,
}

impl Verification {
    /// Returns the conclusion.
    #[must_use]
    pub fn outcome(&self) -> Integrity {
        if !self.mismatches.is_empty() {
            Integrity::DoesNotMatch
        } else if !self.is_own_suite() {
            // The cases of another suite are unknown here, so a missing case cannot be noticed.
            Integrity::CannotBeTold
        } else if self.older_report.is_none() {
            Integrity::Matches
        } else if self.changed.is_empty() {
            Integrity::Intact
        } else {
            Integrity::CannotBeTold
        }
    }

    /// Whether this program is the suite that made the certificate.
    const fn is_own_suite(&self) -> bool {
        self.other_suite.is_empty()
    }

    /// Whether this program would make the same files from the same traces.
    #[must_use]
    pub const fn makes_same_files(&self) -> bool {
        self.is_own_suite() && self.older_report.is_none()
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
    #[error("it contains no certificate.json")]
    Missing,
}

/// Verifies the certificate in a folder, by the edition that it names.
///
/// # Errors
///
/// The folder contains no certificate.
pub fn verify(folder: &Path, editions: &Editions) -> Result<Verification, NoCertificate> {
    let folder = CertificateFolder::open(folder)?;
    if !folder.has(CERTIFICATE) && !folder.odd.contains_key(CERTIFICATE) {
        return Err(NoCertificate::Missing);
    }
    let mut found = Verification::default();
    for (name, what) in &folder.odd {
        found.wrong(name, *what);
    }
    if let Some((document, certificate)) = read(&folder, &mut found) {
        // The traces of an unknown edition are read by another one, which appears as another suite.
        let bundle = editions.named(&certificate.suite.edition).unwrap_or_else(|_| editions.preferred());
        found.other_suite = other_suite(bundle, &certificate);
        found.older_report = older_report(&folder);
        let whole = compare_files(&folder, &certificate, &mut found);
        judge_again(bundle, &folder, &document, &certificate, whole, &mut found);
        found.certificate = Some(certificate);
    }
    found.mismatches.sort();
    Ok(found)
}

/// Reads the certificate.
fn read(folder: &CertificateFolder, found: &mut Verification) -> Option<(Value, Certificate)> {
    if !folder.has(CERTIFICATE) {
        return None;
    }
    match folder.read(CERTIFICATE) {
        Ok(bytes) => understand(&bytes, found),
        Err(error) => {
            found.wrong(CERTIFICATE, error.to_string());
            None
        }
    }
}

/// A certificate has only one valid text, and contains its own digest.
fn understand(bytes: &[u8], found: &mut Verification) -> Option<(Value, Certificate)> {
    let document: Value = match serde_json::from_slice(bytes) {
        Ok(document) => document,
        Err(error) => {
            found.wrong(CERTIFICATE, format!("not JSON: {error}"));
            return None;
        }
    };
    if document[DIGEST].as_str() != Some(&digest(&document)) {
        found.wrong(CERTIFICATE, "it was changed: its `digest` is that of another certificate");
    } else if text(&document).as_bytes() != bytes {
        found.wrong(CERTIFICATE, "it was changed: blanks, line ends or escapes are not those that this program writes");
    }
    match document["format"].as_str() {
        Some(FORMAT) => {}
        Some(other) => {
            let (there, here) = (shown(other), FORMAT.to_owned());
            found.other_suite.push(OtherSuite { member: "format", there, here });
            return None;
        }
        None => {
            found.wrong(CERTIFICATE, "not a certificate: `format` is missing");
            return None;
        }
    }
    match serde_json::from_value(document.clone()) {
        Ok(certificate) => Some((document, certificate)),
        Err(error) => {
            found.wrong(CERTIFICATE, format!("not a certificate: {}", shown(&error.to_string())));
            None
        }
    }
}

fn other_suite(bundle: &'static Bundle, certificate: &Certificate) -> Vec<OtherSuite> {
    let here = SuiteMark::here(bundle);
    let differences = here.differences(&certificate.suite);
    let other = |(member, here, there): (_, &str, _)| OtherSuite { member, there: shown(there), here: here.to_owned() };
    differences.into_iter().map(other).collect()
}

/// Compares the files with their digests: all traces must be present and unchanged.
fn compare_files(folder: &CertificateFolder, certificate: &Certificate, found: &mut Verification) -> bool {
    let mut listed: BTreeMap<String, &str> =
        certificate.traces.iter().map(|(case, trace)| (trace_file(case), trace.sha256.as_str())).collect();
    listed.extend(certificate.files.iter().map(|(name, sha256)| (name.clone(), sha256.as_str())));
    let mut whole = true;
    for (name, wanted) in &listed {
        let what = match folder.read(name) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "it is missing".to_owned(),
            Err(error) => error.to_string(),
            Ok(bytes) if sha256(&bytes) != *wanted => {
                "it was changed: its SHA-256 is not that of the certificate".to_owned()
            }
            Ok(_) => continue,
        };
        found.wrong(name, what);
        whole &= !name.starts_with(TRACES);
    }
    for name in folder.names().filter(|name| *name != CERTIFICATE && !listed.contains_key(*name)) {
        if is_signature(name) {
            found.signatures.push(name.to_owned());
        } else {
            found.wrong(name, "unexpected: the certificate does not name it");
        }
    }
    whole
}

/// Checks every trace, and compares the results; without `whole`, it compares nothing.
fn judge_again(
    bundle: &'static Bundle,
    folder: &CertificateFolder,
    document: &Value,
    certificate: &Certificate,
    whole: bool,
    found: &mut Verification,
) {
    let (own_suite, makes_same) = (found.is_own_suite(), found.makes_same_files());
    let cases = if own_suite { cases(bundle, certificate.subject.kind) } else { Vec::new() };
    let cases: BTreeMap<&str, &Case> = cases.iter().map(|case| (case.id.as_str(), case)).collect();
    if own_suite {
        same_cases(&cases, certificate, found);
    }
    let command = certificate.subject.command.clone();
    let mut judging = Judging::new(bundle, certificate.claims(), command, certificate.traces.len());
    for (id, mark) in &certificate.traces {
        let file = trace_file(id);
        let Some(trace) = trace(folder, &file, mark, found) else { continue };
        let case = cases.get(id.as_str()).copied();
        let what = match own_suite {
            true => foreign(&trace.header, id, certificate, case, found.judged == 0),
            false => mistaken(&trace.header, id, certificate),
        };
        if let Some(what) = what {
            found.wrong(&file, what);
        }
        found.judged += 1;
        let verdict = judging.add(&trace, file.clone());
        if verdict == mark.verdict {
            continue;
        }
        if makes_same {
            found.wrong(&file, format!("{} is {verdict}, and the certificate says {}", shown(id), mark.verdict));
        } else {
            let (was, is) = (Some(mark.verdict.to_string()), Some(verdict.to_string()));
            found.changed.push(Changed { id: shown(id), was, is });
        }
    }
    let made = judging.close(certificate.suite.clone(), certificate.traces.clone());
    if !makes_same {
        found.changed.extend(changed(folder, certificate, &made.report));
        found.changed.sort();
        found.changed.dedup();
    } else if whole && found.judged == certificate.traces.len() {
        follow(folder, document, certificate, made, found);
    }
}

/// A certificate must cover exactly the cases of its suite.
fn same_cases(cases: &BTreeMap<&str, &Case>, certificate: &Certificate, found: &mut Verification) {
    for id in cases.keys().filter(|id| !certificate.traces.contains_key(**id)) {
        found.wrong(CERTIFICATE, format!("it has no trace of the case {id}"));
    }
    for id in certificate.traces.keys().filter(|id| !cases.contains_key(id.as_str())) {
        found.wrong(CERTIFICATE, format!("it has a trace of the unknown case {}", shown(id)));
    }
}

/// Returns the trace in this file; `None` if it is broken or missing, which was already reported.
fn trace(folder: &CertificateFolder, file: &str, mark: &TraceMark, found: &mut Verification) -> Option<Trace> {
    let bytes = folder.read(file).ok()?;
    match Trace::read(&bytes[..]) {
        Ok(trace) => Some(trace),
        Err(error) => {
            // A trace that another suite wrote may still be valid.
            if found.is_own_suite() || sha256(&bytes) != mark.sha256 {
                found.wrong(file, shown(&error.to_string()));
            }
            None
        }
    }
}

/// Explains why a trace does not belong to the case in this certificate.
fn foreign(header: &Header, id: &str, certificate: &Certificate, case: Option<&Case>, first: bool) -> Option<String> {
    // Redaction replaces words differently in each trace; the certificate has those of the first.
    let is_redacted = certificate.redacted && !first;
    let command = if is_redacted { &header.command } else { &certificate.subject.command };
    let wanted = Header {
        format: TRACE_FORMAT.to_owned(),
        suite: certificate.suite.version.clone(),
        edition: certificate.suite.edition.clone(),
        case: Some(id.to_owned()),
        // Traces of earlier versions have no title.
        title: header.title.as_ref().and(case).map(|case| case.title.clone()),
        conversation: None,
        walk: false,
        file: None,
        subject: Some(certificate.subject.kind),
        command: command.clone(),
        requirements: case.map(|case| case.requirements.clone()).unwrap_or_default(),
        lacks: Vec::new(),
        fault: None,
    };
    let [is, wanted] = [header, &wanted].map(|header| serde_json::to_value(header).unwrap_or_default());
    let different = differences(&is, &wanted);
    different.first().map(|first| format!("it is a trace of something else: in its header {first}"))
}

/// Explains why a trace of another suite does not belong to the case in this certificate.
fn mistaken(header: &Header, id: &str, certificate: &Certificate) -> Option<String> {
    let fits = header.case.as_deref() == Some(id) && header.subject == Some(certificate.subject.kind);
    (!fits).then(|| "it is a trace of another case or party".to_owned())
}

/// Compares the results made again with the files in the folder.
fn follow(
    folder: &CertificateFolder,
    document: &Value,
    certificate: &Certificate,
    made: Made,
    found: &mut Verification,
) {
    let Made { certificate: mut wanted, files, .. } = made;
    for (name, bytes) in &files {
        match folder.read(name) {
            Ok(there) if there != *bytes => found.wrong(name, not_following(&there, bytes)),
            Err(_) if !certificate.files.contains_key(*name) => found.wrong(name, "it is missing"),
            _ => {}
        }
    }
    for name in certificate.files.keys().filter(|name| !files.contains_key(name.as_str())) {
        found.wrong(name, "a certificate has no such file");
    }
    wanted.files.clone_from(&certificate.files);
    wanted.digest.clone_from(&certificate.digest);
    let wanted = serde_json::to_value(wanted).unwrap_or_default();
    for difference in differences(document, &wanted) {
        found.wrong(CERTIFICATE, format!("it does not follow from the traces: {difference}"));
    }
}

/// Returns the format of the report, if this program reads it and no longer writes it.
fn older_report(folder: &CertificateFolder) -> Option<String> {
    let report: Value = serde_json::from_slice(&folder.read(REPORT).ok()?).ok()?;
    let format = report["format"].as_str().filter(|format| *format != REPORT_FORMAT && READABLE.contains(format))?;
    Some(format.to_owned())
}

fn not_following(there: &[u8], wanted: &[u8]) -> String {
    let [is, wanted] = [there, wanted].map(serde_json::from_slice::<Value>);
    let first = match (is, wanted) {
        (Ok(is), Ok(wanted)) => differences(&is, &wanted).into_iter().next(),
        _ => None,
    };
    first.map_or_else(
        || "it does not follow from the traces".to_owned(),
        |first| format!("it does not follow from the traces: {first}"),
    )
}

/// Returns the verdicts that differ from the certificate and the report of another suite.
fn changed(folder: &CertificateFolder, certificate: &Certificate, report: &RunReport) -> Vec<Changed> {
    let there = folder.read(REPORT).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let there = there.unwrap_or_default();
    let here = serde_json::to_value(report).unwrap_or_default();
    let (before, after) = (verdicts(&there), verdicts(&here));
    let ids: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let is_new = |id: &str| !before.contains_key(id) && after.get(id) == Some(&Verdict::NotExercised.name());
    let different = ids.into_iter().filter(|id| before.get(id) != after.get(id) && !is_new(id));
    let change = |id: &str, was: Option<&str>| Changed {
        id: shown(id),
        was: was.map(shown),
        is: after.get(id).map(|verdict| (*verdict).to_owned()),
    };
    let claimed = (certificate.verdict != report.verdict).then(|| change(WHOLE, Some(certificate.verdict.name())));
    different.map(|id| change(id, before.get(id).copied())).chain(claimed).collect()
}

/// The name for the verdict of a whole run.
const WHOLE: &str = "verdict";

/// Returns the verdicts of a report of any format: that of the run, and those of its requirements and cases by their ids.
fn verdicts(report: &Value) -> BTreeMap<&str, &str> {
    let lists = ["requirements", "cases"].map(|list| report[list].as_array());
    let all = lists.into_iter().flatten().flatten();
    let each = all.filter_map(|one| Some((one["id"].as_str()?, one["verdict"].as_str()?)));
    report["verdict"].as_str().map(|verdict| (WHOLE, verdict)).into_iter().chain(each).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::certificate::{CertifiedSubject, Claims, Coverage, FORMAT};
    use crate::edition::V1;
    use crate::requirement::Party;
    use crate::verdict::Conformance;

    fn sample() -> String {
        let mark = TraceMark { verdict: Verdict::Pass, sha256: sha256("") };
        let subject =
            CertifiedSubject { kind: Party::Agent, name: None, version: None, command: Vec::new(), profile: None };
        let certificate = Certificate {
            format: FORMAT.to_owned(),
            subject,
            suite: SuiteMark::here(&V1),
            verdict: Conformance::Conformant,
            coverage: Coverage::default(),
            redacted: false,
            began: "2027-01-31T00:00:00Z".to_owned(),
            duration_ms: 1,
            files: BTreeMap::new(),
            traces: BTreeMap::from([("a/b".to_owned(), mark)]),
            digest: String::new(),
        };
        certificate.sealed().1
    }

    fn is_sound(bytes: &[u8]) -> bool {
        let mut found = Verification::default();
        understand(bytes, &mut found).is_some() && found.mismatches.is_empty()
    }

    #[test]
    fn every_bit_of_a_certificate_counts() {
        let sample = sample().into_bytes();
        assert!(is_sound(&sample));
        for at in 0..sample.len() {
            for bit in 0..8 {
                let mut flipped = sample.clone();
                flipped[at] ^= 1 << bit;
                assert!(!is_sound(&flipped), "bit {bit} of byte {at}: {}", String::from_utf8_lossy(&flipped));
            }
        }
    }

    #[test]
    fn a_certificate_is_written_in_one_way() {
        let sample = sample();
        let twice = sample.replacen("  \"redacted\": false,", "  \"redacted\": true,\n  \"redacted\": false,", 1);
        for other in [sample.trim_end().to_owned(), format!("{sample}\n"), sample.replace('\n', "\r\n"), twice] {
            assert_ne!(other, sample);
            assert!(!is_sound(other.as_bytes()), "{other}");
        }
    }

    /// Traces of format 1.
    const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/harness/tests/regressions/certificate-old/traces");

    /// Writes a certificate over those traces like another suite with the earlier format; `edit` changes its report before it
    /// is sealed.
    fn old_certificate(edit: impl FnOnce(&mut Value)) -> TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join(TRACES)).expect("a folder");
        let (kind, began) = (Party::Agent, "2026-06-01T00:00:00Z".to_owned());
        let claims = Claims { kind, profile: None, redacted: false, began, duration_ms: 1 };
        let mut judging = Judging::new(&V1, claims, vec!["my-agent".to_owned()], 4);
        let mut marks = BTreeMap::new();
        for entry in fs::read_dir(OLD).expect("a folder") {
            let bytes = fs::read(entry.expect("an entry").path()).expect("a file");
            let trace = Trace::read(&bytes[..]).expect("a trace");
            let id = trace.header.case.clone().expect("a case");
            fs::write(dir.path().join(trace_file(&id)), &bytes).expect("a file");
            let verdict = judging.add(&trace, trace_file(&id));
            marks.insert(id, TraceMark { verdict, sha256: sha256(&bytes) });
        }
        let suite = SuiteMark { cases_sha256: "0".repeat(64), ..SuiteMark::here(&V1) };
        let Made { mut certificate, report, .. } = judging.close(suite, marks);
        let mut report = serde_json::to_value(report).expect("JSON");
        report["format"] = READABLE[0].into();
        for requirement in report["requirements"].as_array_mut().expect("a list") {
            requirement.as_object_mut().expect("an object").retain(|name, _| name != "text");
            for finding in requirement["findings"].as_array_mut().expect("a list") {
                finding["message"] = finding["text"].take();
                finding
                    .as_object_mut()
                    .expect("an object")
                    .retain(|name, _| !["text", "kind"].contains(&name.as_str()));
            }
        }
        edit(&mut report);
        let bytes = report.to_string();
        fs::write(dir.path().join(REPORT), &bytes).expect("a file");
        certificate.files = BTreeMap::from([(REPORT.to_owned(), sha256(bytes))]);
        fs::write(dir.path().join(CERTIFICATE), certificate.sealed().1).expect("a file");
        dir
    }

    fn verified(dir: &TempDir) -> Verification {
        verify(dir.path(), &Editions::built_in()).expect("a certificate")
    }

    #[test]
    fn old_certificate_of_another_suite_cannot_be_told() {
        let found = verified(&old_certificate(|_| ()));
        assert_eq!(found.outcome(), Integrity::CannotBeTold, "{found:#?}");
        assert_eq!((found.judged, found.changed.len(), found.older_report.as_deref()), (4, 0, Some(READABLE[0])));
    }

    #[test]
    fn flipped_bit_in_old_trace_does_not_match() {
        let dir = old_certificate(|_| ());
        let file = trace_file("v1/agent/close/idle");
        let mut bytes = fs::read(dir.path().join(&file)).expect("a file");
        *bytes.last_mut().expect("a byte") ^= 1;
        fs::write(dir.path().join(&file), bytes).expect("a file");
        let found = verified(&dir);
        assert_eq!(found.outcome(), Integrity::DoesNotMatch);
        assert_eq!(found.mismatches[0].file, file);
    }

    #[test]
    fn flipped_verdict_in_old_report_does_not_match() {
        let dir = old_certificate(|_| ());
        let text = fs::read_to_string(dir.path().join(REPORT)).expect("a file");
        fs::write(dir.path().join(REPORT), text.replacen("\"pass\"", "\"fail\"", 1)).expect("a file");
        assert_eq!(verified(&dir).outcome(), Integrity::DoesNotMatch);
    }

    #[test]
    fn other_verdict_in_sealed_old_report_is_named() {
        let is_passed = |requirement: &&mut Value| requirement["verdict"] == "pass";
        let mut id = Value::Null;
        let dir = old_certificate(|report| {
            let passed = report["requirements"].as_array_mut().expect("a list").iter_mut().find(is_passed);
            let passed = passed.expect("a requirement that passed");
            passed["verdict"] = "fail".into();
            id = passed["id"].clone();
        });
        let found = verified(&dir);
        assert_eq!(found.outcome(), Integrity::CannotBeTold, "{found:#?}");
        let change = Changed {
            id: id.as_str().expect("text").to_owned(),
            was: Some("fail".to_owned()),
            is: Some("pass".to_owned()),
        };
        assert_eq!(found.changed, [change]);
    }
}
