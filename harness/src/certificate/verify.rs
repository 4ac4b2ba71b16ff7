//! The verifying of a certificate: its files are what it says, and it says what follows from its traces.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde_json::Value;

use super::compare::{differences, shown};
use super::folder::{CERTIFICATE, Folder, REPORT, TRACES, is_signature};
use super::issue::{cases, trace_file};
use super::judging::{Judging, Made};
use super::model::{Certificate, DIGEST, FORMAT, SuiteMark, TraceMark, digest, text};
use crate::case::Case;
use crate::edition::{Bundle, Editions};
use crate::protocol::sha256;
use crate::report::model::{FORMAT as REPORT_FORMAT, READABLE, RunReport};
use crate::trace::{FORMAT as TRACE_FORMAT, Header, Trace};

/// What came of verifying.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// The certificate, if it could be read.
    pub certificate: Option<Certificate>,
    /// What does not match.
    pub mismatches: Vec<Mismatch>,
    /// What is not the same in the suite of this program, so that it cannot tell what follows from the traces.
    pub other_suite: Vec<OtherSuite>,
    /// What the traces say by the rules of this program, where the suite is another one and says something else.
    pub changed: Vec<Changed>,
    /// Signatures that lie beside the certificate, and that this program does not check.
    pub signatures: Vec<String>,
    /// How many traces were judged again.
    pub judged: usize,
}

/// Something that does not match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mismatch {
    /// The file, from the folder on.
    pub file: String,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", shown(&self.file), self.what)
    }
}

/// Something of the suite that is not the same here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherSuite {
    /// The member of the certificate.
    pub member: &'static str,
    /// What the certificate says.
    pub there: String,
    /// What this program has.
    pub here: String,
}

/// A verdict that is another one by the rules of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The id of a requirement or of a case.
    pub id: String,
    /// What the certificate says; nothing if it says nothing of it.
    pub was: Option<String>,
    /// What this program says; nothing if it says nothing of it.
    pub is: Option<String>,
}

/// What a verification comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything is as the certificate says.
    Matches,
    /// Something is not.
    DoesNotMatch,
    /// The files are whole, and what follows from them cannot be told, because this program is another suite.
    CannotBeTold,
}

impl Verification {
    /// What it comes to.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        if !self.mismatches.is_empty() {
            Outcome::DoesNotMatch
        } else if self.other_suite.is_empty() {
            Outcome::Matches
        } else {
            Outcome::CannotBeTold
        }
    }

    fn wrong(&mut self, file: &str, what: impl Into<String>) {
        self.mismatches.push(Mismatch { file: file.to_owned(), what: what.into() });
    }
}

/// Why there is nothing to verify.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoCertificate {
    /// The folder cannot be read.
    #[error("cannot read the folder")]
    Io(#[from] std::io::Error),
    /// There is none.
    #[error("there is no certificate.json in it")]
    Missing,
}

/// Verifies the certificate in a folder, by the edition that it names.
///
/// # Errors
///
/// Only that there is no certificate in the folder.
pub fn verify(folder: &Path, editions: &Editions) -> Result<Verification, NoCertificate> {
    let folder = Folder::open(folder)?;
    if !folder.has(CERTIFICATE) && !folder.odd.contains_key(CERTIFICATE) {
        return Err(NoCertificate::Missing);
    }
    let mut found = Verification::default();
    for (name, what) in &folder.odd {
        found.wrong(name, *what);
    }
    if let Some((document, certificate)) = read(&folder, &mut found) {
        // The traces of an edition that is not here are read by another one, which shows as another suite.
        let bundle = editions.named(&certificate.suite.edition).unwrap_or_else(|_| editions.preferred());
        found.other_suite = other_suite(bundle, &certificate);
        found.other_suite.extend(older_report(&folder));
        let whole = compare_files(&folder, &certificate, &mut found);
        judge_again(bundle, &folder, &document, &certificate, whole, &mut found);
        found.certificate = Some(certificate);
    }
    found.mismatches.sort();
    Ok(found)
}

/// Reads the certificate.
fn read(folder: &Folder, found: &mut Verification) -> Option<(Value, Certificate)> {
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

/// A certificate is written in one way only, and holds its own digest.
fn understand(bytes: &[u8], found: &mut Verification) -> Option<(Value, Certificate)> {
    let document: Value = match serde_json::from_slice(bytes) {
        Ok(document) => document,
        Err(error) => {
            found.wrong(CERTIFICATE, format!("it is no JSON: {error}"));
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
            found.wrong(CERTIFICATE, "it is no certificate: it has no `format`");
            return None;
        }
    }
    match serde_json::from_value(document.clone()) {
        Ok(certificate) => Some((document, certificate)),
        Err(error) => {
            found.wrong(CERTIFICATE, format!("it is no certificate: {}", shown(&error.to_string())));
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

/// Compares the files with their digests: whether all traces are there, and none was changed.
fn compare_files(folder: &Folder, certificate: &Certificate, found: &mut Verification) -> bool {
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
            found.wrong(name, "it is surplus: the certificate does not name it");
        }
    }
    whole
}

/// Judges every trace, and compares what follows from them; nothing does if they are not `whole`.
fn judge_again(
    bundle: &'static Bundle,
    folder: &Folder,
    document: &Value,
    certificate: &Certificate,
    whole: bool,
    found: &mut Verification,
) {
    let own_suite = found.other_suite.is_empty();
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
        if own_suite
            && let Some(what) =
                foreign(&trace.header, id, certificate, cases.get(id.as_str()).copied(), found.judged == 0)
        {
            found.wrong(&file, what);
        }
        found.judged += 1;
        let verdict = judging.add(&trace, file.clone());
        if verdict == mark.verdict {
            continue;
        }
        if own_suite {
            found.wrong(&file, format!("{} is {verdict}, and the certificate says {}", shown(id), mark.verdict));
        } else {
            let (was, is) = (Some(mark.verdict.to_string()), Some(verdict.to_string()));
            found.changed.push(Changed { id: shown(id), was, is });
        }
    }
    let made = judging.close(certificate.suite.clone(), certificate.traces.clone());
    if !own_suite {
        found.changed.extend(changed(folder, &made.report));
    } else if whole && found.judged == certificate.traces.len() {
        follow(folder, document, certificate, made, found);
    }
}

/// A certificate is about all cases of its suite, and no other.
fn same_cases(cases: &BTreeMap<&str, &Case>, certificate: &Certificate, found: &mut Verification) {
    for id in cases.keys().filter(|id| !certificate.traces.contains_key(**id)) {
        found.wrong(CERTIFICATE, format!("it has no trace of the case {id}"));
    }
    for id in certificate.traces.keys().filter(|id| !cases.contains_key(id.as_str())) {
        found.wrong(CERTIFICATE, format!("it has a trace of {}, and there is no such case", shown(id)));
    }
}

/// The trace in this file; none if it is missing, which was told, or broken.
fn trace(folder: &Folder, file: &str, mark: &TraceMark, found: &mut Verification) -> Option<Trace> {
    let bytes = folder.read(file).ok()?;
    match Trace::read(&bytes[..]) {
        Ok(trace) => Some(trace),
        Err(error) => {
            // One that another suite wrote may be sound all the same.
            if found.other_suite.is_empty() || sha256(&bytes) != mark.sha256 {
                found.wrong(file, shown(&error.to_string()));
            }
            None
        }
    }
}

/// Why a trace cannot be that of the case in this certificate.
fn foreign(header: &Header, id: &str, certificate: &Certificate, case: Option<&Case>, first: bool) -> Option<String> {
    // Redaction has other words for each trace; the certificate has those of the first.
    let is_redacted = certificate.redacted && !first;
    let command = if is_redacted { &header.command } else { &certificate.subject.command };
    let wanted = Header {
        format: TRACE_FORMAT.to_owned(),
        suite: certificate.suite.version.clone(),
        edition: certificate.suite.edition.clone(),
        case: Some(id.to_owned()),
        conversation: None,
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

/// Compares what was made again with what lies there.
fn follow(folder: &Folder, document: &Value, certificate: &Certificate, made: Made, found: &mut Verification) {
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

/// Returns the format of the report, if this program reads it and no longer writes it: such a report, and the page that shows it,
/// cannot be made again byte for byte, so a forged page would pass.
fn older_report(folder: &Folder) -> Option<OtherSuite> {
    let report: Value = serde_json::from_slice(&folder.read(REPORT).ok()?).ok()?;
    let format = report["format"].as_str().filter(|format| *format != REPORT_FORMAT && READABLE.contains(format))?;
    Some(OtherSuite { member: "report", there: format.to_owned(), here: REPORT_FORMAT.to_owned() })
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

/// Requirements with another verdict than in the report of another suite.
fn changed(folder: &Folder, report: &RunReport) -> Vec<Changed> {
    let there = folder.read(REPORT).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let Some(there) = there else { return Vec::new() };
    let before = there["requirements"].as_array().into_iter().flatten();
    let before: BTreeMap<&str, &str> = before
        .filter_map(|requirement| Some((requirement["id"].as_str()?, requirement["verdict"].as_str()?)))
        .collect();
    let after: BTreeMap<&str, &str> =
        report.requirements.iter().map(|requirement| (requirement.id.as_str(), requirement.verdict.name())).collect();
    let ids: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let different = ids.into_iter().filter(|id| before.get(id) != after.get(id));
    let one = |id: &str| Changed {
        id: shown(id),
        was: before.get(id).map(|verdict| shown(verdict)),
        is: after.get(id).map(|verdict| (*verdict).to_owned()),
    };
    different.map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::{Coverage, FORMAT, Subject};
    use crate::edition::V1;
    use crate::requirement::Party;
    use crate::verdict::Conformance;
    use crate::verdict::Verdict;

    fn sample() -> String {
        let mark = TraceMark { verdict: Verdict::Pass, sha256: sha256("") };
        let subject = Subject { kind: Party::Agent, name: None, version: None, command: Vec::new(), profile: None };
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
}
