//! The certificate itself. Format `acp-conformance-certificate/1`, for other programs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::sha256;
use crate::requirement::{Level, Party};
use crate::results::RequirementReport;
use crate::verdict::{Conformance, Verdict};

/// The name and version of the format.
pub const FORMAT: &str = "acp-conformance-certificate/1";

/// The member with the hash of all others.
pub(super) const DIGEST: &str = "digest";

/// The JSON Schema of a certificate, as it is committed in `schemas/certificate.schema.json`.
#[must_use]
pub fn schema() -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<Certificate>().to_value()
}

/// The result of a run of all cases against a subject, with a digest of all the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Certificate {
    /// Always `acp-conformance-certificate/1`.
    pub format: String,
    /// The tested program.
    pub subject: CertifiedSubject,
    /// The suite that checked it.
    pub suite: SuiteMark,
    /// The conformance of the subject.
    pub verdict: Conformance,
    /// The number of requirements that the verdict covers.
    pub coverage: Coverage,
    /// Whether the traces are redacted.
    pub redacted: bool,
    /// The start of the run: UTC, as in RFC 3339.
    pub began: String,
    /// The duration of the run.
    pub duration_ms: u64,
    /// SHA-256 of each file that was made from the traces, by its name.
    pub files: BTreeMap<String, String>,
    /// The trace of each case, by the id of the case; the file is `traces/` and the id with `-` for `/`, and `.jsonl`.
    pub traces: BTreeMap<String, TraceMark>,
    /// SHA-256 of this document without this member, as JSON without blanks.
    pub digest: String,
}

/// The tested program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertifiedSubject {
    /// The party that it is.
    pub kind: Party,
    /// Its name in `initialize`.
    pub name: Option<String>,
    /// Its version in `initialize`.
    pub version: Option<String>,
    /// Program and arguments. They are redacted when the traces are.
    pub command: Vec<String>,
    /// The profile that describes how to start and drive it.
    pub profile: Option<ProfileMark>,
}

/// The profile of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileMark {
    /// The name in the profile.
    pub name: String,
    /// SHA-256 of the file.
    pub sha256: String,
}

/// A suite: the version of the program, and digests of the data that it checks with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuiteMark {
    /// The version of the program.
    pub version: String,
    /// The protocol major with the revision of its schema, such as `v1@2026-11`.
    pub edition: String,
    /// SHA-256 of the stable schema file.
    pub schema_sha256: String,
    /// SHA-256 of the unstable schema file.
    pub draft_schema_sha256: String,
    /// SHA-256 of the catalogue of requirements.
    pub catalogue_sha256: String,
    /// SHA-256 over all case files with their includes: over the output of `sha256sum` for them in the order of their paths.
    pub cases_sha256: String,
}

/// The number of requirements that the verdict covers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Requirements with the level MUST.
    pub must: Counts,
    /// Requirements with the level SHOULD, which decide nothing.
    pub should: Counts,
}

/// Requirements by verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Observed and satisfied.
    pub pass: usize,
    /// Observed and violated.
    pub fail: usize,
    /// Observed but not decided.
    pub undecided: usize,
    /// Not advertised by the subject.
    pub not_applicable: usize,
    /// Nothing happened that could have violated it, or this version does not check it.
    pub not_exercised: usize,
}

/// One trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceMark {
    /// The verdict on its case.
    pub verdict: Verdict,
    /// SHA-256 of the file.
    pub sha256: String,
}

/// The parts of a certificate that do not follow from the traces and cannot be verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The party that the subject is.
    pub kind: Party,
    /// The profile.
    pub profile: Option<ProfileMark>,
    /// Whether the traces are redacted.
    pub redacted: bool,
    /// The start of the run, as in RFC 3339.
    pub began: String,
    /// The duration of the run.
    pub duration_ms: u64,
}

impl Certificate {
    /// Returns the parts that do not follow from the traces.
    #[must_use]
    pub fn claims(&self) -> Claims {
        Claims {
            kind: self.subject.kind,
            profile: self.subject.profile.clone(),
            redacted: self.redacted,
            began: self.began.clone(),
            duration_ms: self.duration_ms,
        }
    }

    /// Returns the text of the file, with the digest of the current content.
    #[must_use]
    pub fn sealed(mut self) -> (Self, String) {
        let value = serde_json::to_value(&self).unwrap_or_default();
        self.digest = digest(&value);
        let text = text(&serde_json::to_value(&self).unwrap_or_default());
        (self, text)
    }
}

/// Returns the canonical text of a certificate with any members.
pub(super) fn text(document: &Value) -> String {
    format!("{document:#}\n")
}

/// Returns the digest of a certificate with any members.
pub(super) fn digest(document: &Value) -> String {
    let mut rest = document.clone();
    if let Value::Object(members) = &mut rest {
        members.shift_remove(DIGEST);
    }
    sha256(rest.to_string())
}

impl Coverage {
    /// Counts the requirements of a report, except those that fail only by mistakes of other requirements.
    #[must_use]
    pub fn of(requirements: &[RequirementReport]) -> Self {
        let mut coverage = Self::default();
        for requirement in requirements.iter().filter(|requirement| requirement.same_as.is_empty()) {
            match requirement.level {
                Level::Must => coverage.must.add(requirement.verdict),
                Level::Should => coverage.should.add(requirement.verdict),
                Level::MayProbe => {}
            }
        }
        coverage
    }
}

impl Counts {
    const fn add(&mut self, verdict: Verdict) {
        let count = match verdict {
            Verdict::Pass => &mut self.pass,
            Verdict::Fail => &mut self.fail,
            Verdict::Inconclusive | Verdict::HarnessError => &mut self.undecided,
            Verdict::NotApplicable => &mut self.not_applicable,
            Verdict::NotExercised => &mut self.not_exercised,
        };
        *count += 1;
    }

    /// Returns the number of requirements that apply to the subject.
    #[must_use]
    pub const fn applicable(&self) -> usize {
        self.pass + self.fail + self.undecided + self.not_exercised
    }
}
