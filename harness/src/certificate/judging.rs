//! Derives everything in a certificate from its traces; the same code makes and verifies it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::badge::badge;
use super::folder::{BADGE, PAGE, REPORT};
use super::model::{Certificate, CertifiedSubject, Claims, Coverage, FORMAT, SuiteMark, TraceMark};
use crate::edition::Bundle;
use crate::protocol::sha256;
use crate::report::{Begin, CASE_PLACE, Chart, PageReport, Renderer, SuiteEvent};
use crate::results::{Collector, RunReport};
use crate::trace::Trace;
use crate::verdict::Verdict;

/// Checks the traces of a certificate, in the order of their cases.
pub(super) struct Judging {
    claims: Claims,
    command: Vec<String>,
    collector: Collector,
    page: PageReport<Vec<u8>>,
}

/// The results of the traces.
pub(super) struct Made {
    /// The certificate, without its seal.
    pub(super) certificate: Certificate,
    /// The report.
    pub(super) report: RunReport,
    /// The other files, by name.
    pub(super) files: BTreeMap<&'static str, Vec<u8>>,
}

impl Judging {
    /// Starts with the claims, which do not follow from the traces, and with the command line that the traces name.
    pub(super) fn new(bundle: &'static Bundle, claims: Claims, command: Vec<String>, cases: usize) -> Self {
        let collector = Collector::new(bundle.edition(), claims.kind, command.clone());
        let mut judging = Self { claims, command, collector, page: PageReport::new(Vec::new()) };
        let begin = Begin::new(&judging.collector, cases, true, judging.reproduce());
        tell(&mut judging.page, &SuiteEvent::Begin(&begin));
        judging
    }

    /// Checks the next trace, which is in this file of the certificate. The trace also contains the duration of its case.
    pub(super) fn add(&mut self, trace: &Trace, file: String) -> Verdict {
        let mut verdict = Verdict::NotExercised;
        for id in self.collector.add(trace, Some(&file)) {
            let chart = Chart::of(trace, self.collector.evidence(&id));
            tell(&mut self.page, &SuiteEvent::Chart(&id, &chart));
            verdict = self.collector.case(&id).map_or(verdict, |case| case.verdict);
        }
        verdict
    }

    /// Completes the report, and makes the certificate over these traces with its other files.
    pub(super) fn close(self, suite: SuiteMark, traces: BTreeMap<String, TraceMark>) -> Made {
        let Self { claims, command, collector, mut page } = self;
        let report = collector.finish(Duration::from_millis(claims.duration_ms), false);
        tell(&mut page, &SuiteEvent::Run(&report));
        let Claims { kind, profile, redacted, began, duration_ms } = claims;
        let (name, version) = (report.subject.name.clone(), report.subject.version.clone());
        let mut certificate = Certificate {
            format: FORMAT.to_owned(),
            subject: CertifiedSubject { kind, name, version, command, profile },
            suite,
            verdict: report.verdict,
            coverage: Coverage::of(&report.requirements),
            redacted,
            began,
            duration_ms,
            files: BTreeMap::new(),
            traces,
            digest: String::new(),
        };
        let page = page.finish().unwrap_or_default();
        let files = BTreeMap::from([(REPORT, json(&report)), (BADGE, badge(&certificate).into_bytes()), (PAGE, page)]);
        certificate.files = files.iter().map(|(name, bytes)| ((*name).to_owned(), sha256(bytes))).collect();
        Made { certificate, report, files }
    }

    /// Returns the command that starts the subject again, as far as it is known.
    fn reproduce(&self) -> String {
        if self.claims.redacted {
            return String::new();
        }
        let profile =
            self.claims.profile.iter().map(|profile| format!("--profile {}", shell_words::quote(&profile.name)));
        let command = Some(&self.command).filter(|_| self.claims.profile.is_none());
        let command = command.map(|command| format!("-- {}", shell_words::join(command)));
        let options = profile.chain(command).collect::<Vec<_>>().join(" ");
        format!("acp-conformance {} --case {CASE_PLACE} {options}", self.claims.kind)
    }
}

fn tell(page: &mut PageReport<Vec<u8>>, event: &SuiteEvent<'_>) {
    // Writing to memory does not fail.
    let _ = page.event(event);
}

fn json(report: &RunReport) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(report).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
