//! The report of a run. Format `acp-conformance-report/2`, for other programs.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

mod expected;
mod explored;
mod partial;

pub use self::expected::{EntryReport, ExpectedReport, FailureReport};
pub use self::explored::{Explored, Unconfirmed};
pub use self::partial::{Partial, PartialReason};
use crate::judge::{CaseVerdict, Cause};
use crate::protocol::Edition;
use crate::requirement::{Level, Party, Status};
use crate::trace::StepKind;
use crate::verdict::{Conformance, Verdict};

/// The name and version of the format.
pub const FORMAT: &str = "acp-conformance-report/2";

/// The readable formats. Format 1 had a `message` instead of kind, fields and text, and no text of requirements.
pub const READABLE: [&str; 2] = ["acp-conformance-report/1", FORMAT];

/// The transport of a report that names no other one.
pub const STDIO: &str = "stdio";

/// The JSON Schema of a report, as it is committed in `schemas/report.schema.json`.
#[must_use]
pub fn schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<RunReport>().to_value()
}

/// The results of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// Always `acp-conformance-report/2`.
    pub format: String,
    /// The suite that checked the subject.
    pub suite: SuiteInfo,
    /// The tested program.
    pub subject: SubjectInfo,
    /// The start of the run: UTC, as in RFC 3339. Absent if traces were checked, which do not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// The conformance of the subject.
    pub verdict: Conformance,
    /// Whether a violated SHOULD counted like a violated MUST.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Every requirement for the subject that a program can decide, in the order of the catalogue.
    pub requirements: Vec<RequirementReport>,
    /// The observations on everything that the specification leaves open, in the order of the catalogue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeReport>,
    /// Every case, in the order of the ids.
    pub cases: Vec<CaseReport>,
    /// The reasons why cases are undecided or do not apply: cases with the same reason together, the most frequent reason of a
    /// verdict first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonReport>,
    /// The failures that cases showed only after other cases of the same conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_shared: Vec<OnlyShared>,
    /// The random walks of the run, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explored: Option<Explored>,
    /// The actions of the scripted model, if there was one, such as `read-file: called Read`, with their number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub model: BTreeMap<String, usize>,
    /// The counts.
    pub summary: Summary,
    /// The results of the known failures, if a baseline was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedReport>,
    /// The distribution of the time, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timings: Option<Timings>,
    /// The part of the run that this report covers, if it is not the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardInfo>,
    /// Why the run ended before all of its cases had run, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
    /// The reason why the subject could not be tested, if there is one; then the report contains only the first contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
    /// Steps by which the user can make the next run decide more, a sentence each; other versions may word them differently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_steps: Vec<String>,
}

impl RunReport {
    /// Whether a violated requirement of this level makes the subject non-conformant.
    #[must_use]
    pub fn counts(&self, level: Level) -> bool {
        level == Level::Must || self.strict && level == Level::Should
    }

    /// Whether there are cases and each passed or does not apply.
    ///
    /// A case counts as passed if some of its requirements passed, and nothing happened to which the others apply: after a fix, a
    /// program need not do more than before.
    #[must_use]
    pub fn all_passed(&self) -> bool {
        let verdict = |id: &String| self.requirements.iter().find(|known| known.id == *id).map(|known| known.verdict);
        let is_fine = |case: &CaseReport| match (case.verdict, &case.cause) {
            (Verdict::Pass | Verdict::NotApplicable, _) => true,
            (Verdict::Inconclusive, Some(Cause::NotExercised { .. })) => {
                case.requirements.iter().filter_map(verdict).max() == Some(Verdict::Pass)
            }
            _ => false,
        };
        !self.cases.is_empty() && self.cases.iter().all(is_fine)
    }

    /// Whether all of these cases ran.
    #[must_use]
    pub fn has_all(&self, cases: &[&str]) -> bool {
        cases.iter().all(|id| self.cases.binary_search_by(|known| known.id.as_str().cmp(id)).is_ok())
    }
}

/// The part of a run that a report covers, with the data for joining it to the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShardInfo {
    /// Its number, from 1.
    pub number: usize,
    /// The number of shards.
    pub of: usize,
    /// SHA-256 of the ids of the cases of all shards, one per line, in lower-case hexadecimal.
    pub selection: String,
    /// Whether the cases of all shards are all cases for such a subject.
    pub whole: bool,
    /// Whether the report contains only the first contact, because the subject could not be tested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// The command that runs a case against the same subject again, with `{case}` instead of its id.
    pub reproduce: String,
}

/// The suite that checked the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuiteInfo {
    /// The version of this program.
    #[serde(deserialize_with = "word")]
    pub version: String,
    /// The protocol major with the revision of its schema, such as `v1@2026-11`.
    #[serde(deserialize_with = "word")]
    pub edition: String,
    /// How the messages travelled; absent for `stdio`.
    #[serde(default = "stdio", skip_serializing_if = "is_stdio", deserialize_with = "word")]
    pub transport: String,
    /// SHA-256 of the stable schema file, in lower-case hexadecimal.
    pub schema_sha256: String,
}

fn stdio() -> String {
    STDIO.to_owned()
}

fn is_stdio(transport: &str) -> bool {
    transport == STDIO
}

/// The tested program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubjectInfo {
    /// The party that it is.
    pub kind: Party,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Its name in `initialize`.
    pub name: Option<String>,
    /// Its version in `initialize`.
    pub version: Option<String>,
    /// The other versions of the protocol that it agreed to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_versions: Vec<u64>,
    /// Who operated it, if a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driven: Option<Driven>,
    /// The profile that describes how to start and drive it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Box<ProfileInfo>>,
}

/// The facts in the profile of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileInfo {
    /// The name of the profile.
    pub name: String,
    /// The name of the subject, for people.
    pub title: String,
    /// The address of its page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// The command that installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// The installed version; only if the subject did not report one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The operator of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Driven {
    /// A person, who followed instructions.
    Manual,
}

/// The result for one requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequirementReport {
    /// Its id.
    #[serde(deserialize_with = "word")]
    pub id: String,
    /// The accountable party.
    pub party: Party,
    /// Its level.
    pub level: Level,
    /// The verdict over all cases.
    pub verdict: Verdict,
    /// Its text, in a sentence.
    #[serde(default)]
    pub text: String,
    /// The precondition, in words; `always` for a requirement without one.
    #[serde(default)]
    pub applies_when: String,
    /// Whether this program checks it.
    #[serde(default = "checked")]
    pub status: Status,
    /// The place in the specification.
    pub source: String,
    /// The address of the page that the source names.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "link")]
    pub link: Option<String>,
    /// The cases that exercised it, by id.
    pub cases: Vec<String>,
    /// The shapes of its cases that ended undecided before they exercised it, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<String>,
    /// The shapes of cases in which it does not apply, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inapplicable: Vec<String>,
    /// All findings except passes.
    pub findings: Vec<FindingReport>,
    /// How to satisfy it with official SDKs: a sentence each, by the name of the language. Only if it fails.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hints: BTreeMap<String, String>,
    /// The requirements that own its mistakes, if others own all of them: then it does not count as failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same_as: Vec<String>,
    /// The more general requirements that the same mistakes violate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_violates: Vec<String>,
    /// Departures that the specification tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl RunReport {
    /// Fills in the catalogue's texts of requirements and probes, which reports of earlier versions leave out.
    pub fn describe(&mut self, edition: &Edition) {
        for report in self.requirements.iter_mut().filter(|report| report.text.is_empty()) {
            if let Some(requirement) = edition.catalogue.find(&report.id) {
                report.text.clone_from(&requirement.text);
                report.applies_when.clone_from(&requirement.applies_when);
                report.status = requirement.status;
                report.link = requirement.link(edition.major);
            }
        }
        for probe in self.probes.iter_mut().filter(|probe| probe.link.is_none()) {
            probe.link = edition.catalogue.find(&probe.id).and_then(|requirement| requirement.link(edition.major));
        }
    }
}

impl RequirementReport {
    /// Whether it fails by a mistake of its own, which a more specific requirement does not own.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.verdict == Verdict::Fail && self.same_as.is_empty()
    }

    /// Lists in a line the more general requirements that the same mistakes violate.
    #[must_use]
    pub fn also(&self) -> Option<String> {
        (!self.also_violates.is_empty()).then(|| format!("also violates {}", self.also_violates.join(", ")))
    }

    /// Joins the verdicts on one requirement, of cases or of reports. If one shape of a case is undecided, the others do not
    /// make the requirement inapplicable.
    pub(super) fn joined(
        verdicts: impl IntoIterator<Item = Verdict>,
        undecided: &[String],
        inapplicable: &[String],
    ) -> Verdict {
        let case = |shape: &String| shape.split('@').next().unwrap_or_default().to_owned();
        let cases: BTreeSet<String> = inapplicable.iter().map(case).collect();
        match Verdict::over_cases(verdicts) {
            Verdict::NotApplicable if undecided.iter().any(|shape| cases.contains(&case(shape))) => {
                Verdict::Inconclusive
            }
            verdict => verdict,
        }
    }
}

/// The observations on something that the specification leaves open; they decide nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeReport {
    /// Its id.
    #[serde(deserialize_with = "word")]
    pub id: String,
    /// The usual expectation, in a sentence.
    pub text: String,
    /// The address of the page that the source names.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "link")]
    pub link: Option<String>,
    /// The observations.
    pub notes: Vec<String>,
    /// The cases with these observations, by id.
    pub cases: Vec<String>,
}

/// One finding, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingReport {
    /// The case with this finding.
    pub case: String,
    /// The title of that case; absent for a recording, and in reports of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_title: Option<String>,
    /// The verdict on the requirement.
    pub verdict: Verdict,
    /// The stable name of the observation; together with the requirement it keeps its meaning from version to version. Empty in
    /// reports of format 1.
    #[serde(default)]
    pub kind: String,
    /// The facts of the finding, by name: a `method`, a JSON `pointer`, what was `expected` and what was `actual`, an id, or a
    /// duration with its unit in the name. The kind decides which of them there are.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    /// The sentence rendered from kind and fields, for people; other versions may word it differently.
    #[serde(alias = "message")]
    pub text: String,
    /// The responsible party.
    pub party: Party,
    /// The events of the case's trace that prove it; the deciding one first.
    pub events: Vec<usize>,
    /// The lines of those events as sent on the wire, shortened if they are long.
    pub lines: Vec<String>,
    /// The 1-based line in the case file of the step at the time of the deciding event; absent if that step is in an include,
    /// or no step was running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Whether it is undecided because the subject stopped answering: then the requirement does not pass, whatever other cases
    /// show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stalled: bool,
    /// The more specific requirement that owns the mistake, if another one also fails by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// The case that fails for this violation, if other cases show it too and this case does not name the requirement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_in: Option<String>,
}

/// The result of one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseReport {
    /// Its id.
    pub id: String,
    /// Its title, in a sentence; absent for a recording, and in reports of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// Its duration.
    pub duration_ms: u64,
    /// The file of the user: their own case file, or the recording. Absent for a built-in case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The file with its trace, if traces were kept.
    pub trace: Option<String>,
    /// The reason why it did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same reason as data, for a case that is undecided or does not apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Its requirements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// The requirements that it shows violated, for which another case fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The verdict without the violated requirements that it does not name; only for a case with a violated MUST.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<CaseVerdict>,
    /// The gaps of a recording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The cases that are undecided or do not apply for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasonReport {
    /// The verdict on them.
    pub verdict: Verdict,
    /// The kind of the reason, as in the `cause` of each case.
    pub kind: String,
    /// The subjects of the reason, such as intents, methods, acts or capabilities, each with the number of its cases.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub about: BTreeMap<String, usize>,
    /// The reason in a sentence, for people; other versions may word it differently.
    pub text: String,
    /// The cases, by id.
    pub cases: Vec<String>,
}

/// The counts of a run. Every verdict is listed, even with a count of 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Requirements by verdict.
    pub requirements: BTreeMap<String, usize>,
    /// Cases by verdict.
    pub cases: BTreeMap<String, usize>,
    /// The number of further requirements that fail only by mistakes that a more specific one owns.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub same_as: usize,
    /// The duration of the run; for shards, their sum.
    pub duration_ms: u64,
    /// The number of starts of the subject; 0 if it is unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub starts: usize,
    /// The number of cases that did not pass in a shared conversation and ran again alone; only that run counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub again: usize,
    /// The proofs that nothing more would come, with their number: the method of the request that the subject answered, or
    /// `time limit` if it answered none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fences: BTreeMap<String, usize>,
}

/// A failure that a case showed only after other cases of its conversation, and not alone. It does not fail the requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OnlyShared {
    /// The case.
    pub case: String,
    /// The requirement.
    pub requirement: String,
    /// The kind of the finding.
    pub kind: String,
    /// The finding in a sentence.
    pub text: String,
    /// The trace of the conversation with other cases, if traces were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<String>,
    /// The trace of the run alone, if traces were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
}

/// The distribution of the time of a run, in microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// The number of parallel conversations.
    pub jobs: usize,
    /// From the start of the command until the last case was checked; for shards, their sum.
    pub wall_us: u64,
    /// The part of it before the first case.
    pub start_up_us: u64,
    /// The least time that a case can take.
    pub floor: Floor,
    /// The sum over all cases.
    pub total: Spent,
    /// Each case, by id.
    pub cases: BTreeMap<String, Spent>,
}

/// The distribution of the time of a case, in microseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    /// The sum of the others.
    pub total_us: u64,
    /// Waiting for the first line of the subject.
    pub start_us: u64,
    /// Waiting for later messages and acts of the subject, by the kind of step.
    pub waits_us: BTreeMap<StepKind, u64>,
    /// Waiting for the exit of the subject.
    pub exit_us: u64,
    /// The tester's own time: making folders, starting processes, sending its lines, cleaning up.
    pub tester_us: u64,
    /// Checking the trace.
    pub judging_us: u64,
}

/// The time that the subject takes to start and to exit without messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Floor {
    /// It was measured in this run.
    Measured {
        /// The number of starts.
        starts: usize,
        /// Their median, in microseconds.
        median_us: u64,
    },
    /// The measurement failed.
    Unknown {
        /// The reason.
        reason: String,
    },
}

/// Serde requires a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Reports of earlier versions do not contain whether a requirement is checked; nearly all were.
const fn checked() -> Status {
    Status::Checked
}

/// Reads one of our own words in a report of unknown origin, since forms show it without escaping.
fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_word = text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.@_".contains(c));
    if is_word { Ok(text) } else { Err(D::Error::custom(format!("{text:?} is neither an id nor a version"))) }
}

/// Reads a link in a report of unknown origin, since forms put it into HTML and Markdown without escaping.
fn link<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:.#-_$".contains(c);
    match &text {
        Some(link) if !(link.starts_with("https://") && link.chars().all(is_plain)) => {
            Err(D::Error::custom(format!("{link:?} is not a plain https link")))
        }
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::edition::V1;
    use crate::report::Collector;
    use crate::requirement::Party;
    use crate::trace::Trace;

    /// Whether a run of one case passed that names these requirements.
    fn passes(requirements: &str, line: &str) -> bool {
        let file = format!(
            r#"{{"format":"acp-conformance-trace/1","suite":"0","edition":"v1@2026-11","subject":"agent","case":"a","requirements":[{requirements}]}}
{{"n":0,"us":0,"from":"agent","line":"{line}"}}"#
        );
        let mut collector = Collector::new(V1.edition(), Party::Agent, Vec::new());
        collector.add(&Trace::read(file.as_bytes()).expect("a trace"), Duration::ZERO, None);
        collector.finish(Duration::ZERO, false).all_passed()
    }

    #[test]
    fn case_passes_if_some_of_its_requirements_do_and_the_others_had_no_occasion() {
        let (message, banner) = (r#"{\"jsonrpc\":\"2.0\",\"method\":\"_x\"}"#, "Welcome!");
        let (shown, idle) = (r#""transport.stdout-only-messages""#, r#""fs.write.capability""#);
        assert!(passes(&format!("{shown},{idle}"), message));
        assert!(!passes(&format!("{shown},{idle}"), banner));
        assert!(!passes(idle, message));
    }
}
