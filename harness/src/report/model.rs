//! The report of a run. Format `acp-conformance-report/2`, read by other programs.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

mod expected;

pub use self::expected::{EntryReport, ExpectedReport, FailureReport};
use crate::judge::{CaseVerdict, Cause};
use crate::protocol::Edition;
use crate::requirement::{Level, Party, Status};
use crate::trace::StepKind;
use crate::verdict::{Conformance, Verdict};

/// The name and version of the format.
pub const FORMAT: &str = "acp-conformance-report/2";

/// The formats that can be read. Format 1 had a `message` in place of kind, fields and text, and no text of requirements.
pub const READABLE: [&str; 2] = ["acp-conformance-report/1", FORMAT];

/// The JSON Schema of a report, as it is committed in `schemas/report.schema.json`.
#[must_use]
pub fn schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<RunReport>().to_value()
}

/// Everything that one run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// Always `acp-conformance-report/1`.
    pub format: String,
    /// By what was judged.
    pub suite: SuiteInfo,
    /// What was judged.
    pub subject: SubjectInfo,
    /// When the run began: UTC, as in RFC 3339. None where traces were judged, which do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// The conformance of the subject.
    pub verdict: Conformance,
    /// Whether a broken SHOULD counted like a broken MUST.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Every requirement that binds the subject and that a program can decide, in the order of the catalogue.
    pub requirements: Vec<RequirementReport>,
    /// What was seen of all that the specification leaves open, in the order of the catalogue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeReport>,
    /// Every case, in the order of the ids.
    pub cases: Vec<CaseReport>,
    /// Why cases are undecided or do not apply: those with the same reason together, the most frequent reason of a verdict first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonReport>,
    /// The failures that cases showed only after other cases of the same conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_shared: Vec<OnlyShared>,
    /// What the scripted model did, if there was one, such as `read-file: called Read`, and how often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub model: BTreeMap<String, usize>,
    /// The counts.
    pub summary: Summary,
    /// What became of the failures that are known, if any were named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedReport>,
    /// Where the time went, if that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timings: Option<Timings>,
    /// Which part of a run this is, if it is not the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardInfo>,
    /// Why the run ended before all of its cases had run, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
    /// Why nothing could be learned from the subject, if that is so; only the first contact is in the report then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
    /// What the user can do so that the next run decides more, a sentence each; other versions may word them otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_steps: Vec<String>,
}

/// A run that ended before all of its cases had run. A case that was cut short is not in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Partial {
    /// Why it ended.
    pub reason: PartialReason,
    /// How many of the selected cases did not run to their end.
    pub not_run: usize,
}

/// Why a run ended before all of its cases had run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialReason {
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// `--time-limit`.
    TimeLimit,
    /// `--fail-fast`, after a case had failed.
    FailFast,
    /// The person who operated the subject ended it.
    Quit,
}

impl RunReport {
    /// Whether a broken requirement of this level breaks the conformance of the subject.
    #[must_use]
    pub fn counts(&self, level: Level) -> bool {
        level == Level::Must || self.strict && level == Level::Should
    }

    /// Whether every case passed or does not apply, and there is one.
    #[must_use]
    pub fn all_passed(&self) -> bool {
        let fine = |case: &CaseReport| matches!(case.verdict, Verdict::Pass | Verdict::NotApplicable);
        !self.cases.is_empty() && self.cases.iter().all(fine)
    }

    /// Whether all of these cases ran.
    #[must_use]
    pub fn has_all(&self, cases: &[&str]) -> bool {
        cases.iter().all(|id| self.cases.binary_search_by(|known| known.id.as_str().cmp(id)).is_ok())
    }
}

/// Which part of a run a report is of, and what joins it to the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShardInfo {
    /// Its number, from 1.
    pub number: usize,
    /// How many shards there are.
    pub of: usize,
    /// SHA-256 of the ids of the cases of all shards, a line each, in lower-case hexadecimal.
    pub selection: String,
    /// Whether the cases of all shards are all that there are for such a subject.
    pub whole: bool,
    /// Whether only the first contact is told of, because nothing could be learned from the subject.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// The command that runs a case against the same subject again, with `{case}` in the place of its id.
    pub reproduce: String,
}

/// By what was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuiteInfo {
    /// The version of this program.
    #[serde(deserialize_with = "word")]
    pub version: String,
    /// The protocol major with the revision of its schema, such as `v1@2026-11`.
    #[serde(deserialize_with = "word")]
    pub edition: String,
    /// SHA-256 of the stable schema file, in lower-case hexadecimal.
    pub schema_sha256: String,
}

/// What was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubjectInfo {
    /// Which party it plays.
    pub kind: Party,
    /// Program and arguments.
    pub command: Vec<String>,
    /// The name that it gave itself.
    pub name: Option<String>,
    /// The version that it gave itself.
    pub version: Option<String>,
    /// Who operated it, if that was no program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driven: Option<Driven>,
    /// The profile that told how to start and drive it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Box<ProfileInfo>>,
}

/// What a profile says of its subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileInfo {
    /// The name of the profile.
    pub name: String,
    /// The name of the subject, for people.
    pub title: String,
    /// Where to read about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// How to install it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// The version that is installed; asked for only where the subject did not give itself one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Who operated a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Driven {
    /// A person, who was told what to do.
    Manual,
}

/// What the run says about one requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequirementReport {
    /// Its id.
    #[serde(deserialize_with = "word")]
    pub id: String,
    /// The accountable party.
    pub party: Party,
    /// How binding it is.
    pub level: Level,
    /// The verdict over all cases.
    pub verdict: Verdict,
    /// What it asks, in a sentence.
    #[serde(default)]
    pub text: String,
    /// The precondition, in words; `always` where there is none.
    #[serde(default)]
    pub applies_when: String,
    /// Whether this program checks it.
    #[serde(default = "checked")]
    pub status: Status,
    /// Where the specification says so.
    pub source: String,
    /// The address of the page that the source names.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "link")]
    pub link: Option<String>,
    /// The cases that exercised it, by id.
    pub cases: Vec<String>,
    /// The shapes of cases that were written for it and ended undecided before they exercised it, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<String>,
    /// The shapes of cases in which it does not apply, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inapplicable: Vec<String>,
    /// Everything that was found apart from passes.
    pub findings: Vec<FindingReport>,
    /// The requirements that own the mistakes by which it fails, if others own all of them: then it does not count as failed.
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
    /// Fills in what the catalogue says of requirements and probes, which reports of earlier versions leave out.
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

    /// Says in a line which more general requirements the same mistakes violate.
    #[must_use]
    pub fn also(&self) -> Option<String> {
        (!self.also_violates.is_empty()).then(|| format!("also violates {}", self.also_violates.join(", ")))
    }

    /// Joins the verdicts on one requirement, of cases or of reports. That it does not apply to one shape of a case decides
    /// nothing where another shape of that case ended undecided.
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

/// What the run saw of something that the specification leaves open; it decides nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeReport {
    /// Its id.
    #[serde(deserialize_with = "word")]
    pub id: String,
    /// What might be expected, in a sentence.
    pub text: String,
    /// The address of the page that the source names.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "link")]
    pub link: Option<String>,
    /// What was seen.
    pub notes: Vec<String>,
    /// The cases in which it was seen, by id.
    pub cases: Vec<String>,
}

/// One finding, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingReport {
    /// The case in which it was found.
    pub case: String,
    /// What it says about the requirement.
    pub verdict: Verdict,
    /// Names what was found; together with the requirement it keeps its meaning from version to version. Empty in reports of
    /// format 1.
    #[serde(default)]
    pub kind: String,
    /// The facts of the finding, by name: a `method`, a JSON `pointer`, what was `expected` and what was `actual`, an id, or a
    /// duration with its unit in the name. The kind decides which of them there are.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    /// The sentence that is made of kind and fields, for people; other versions may word it otherwise.
    #[serde(alias = "message")]
    pub text: String,
    /// The party at fault.
    pub party: Party,
    /// The events of the case's trace that prove it; the deciding one first.
    pub events: Vec<usize>,
    /// The lines of those events as they stood on the wire, cut when they are long.
    pub lines: Vec<String>,
    /// The 1-based line in the case file of the step that was played when the deciding event came; none where that step
    /// stands in an include, or none was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Whether it is undecided because the subject stopped answering: the requirement does not pass then, whatever other
    /// cases show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stalled: bool,
    /// The more specific requirement that owns the mistake, if another one fails by it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// The case that fails for this violation, if other cases show it too and this case is not for the requirement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_in: Option<String>,
}

/// How one case went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseReport {
    /// Its id.
    pub id: String,
    /// The verdict.
    pub verdict: Verdict,
    /// How long it took.
    pub duration_ms: u64,
    /// The file in which the user finds it: their own case file, or the recording. None for a case that is built into the
    /// program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The file with its trace, if traces were kept.
    pub trace: Option<String>,
    /// Why it is no pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same as data, of a case that is undecided or does not apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The requirements that it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// The requirements that it shows violated in ways for which another case fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The verdict apart from the violated requirements that it is not for; only of a case with a violated MUST.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<CaseVerdict>,
    /// What a recording does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The cases that are undecided, or do not apply, for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasonReport {
    /// The verdict on them.
    pub verdict: Verdict,
    /// The kind of the reason, as in the `cause` of each case.
    pub kind: String,
    /// What the reason is about, such as intents, methods, acts or capabilities, and for how many cases.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub about: BTreeMap<String, usize>,
    /// The reason in a sentence, for people; other versions may word it otherwise.
    pub text: String,
    /// The cases, by id.
    pub cases: Vec<String>,
}

/// The counts of a run. Every verdict is listed, also those with none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Requirements by verdict.
    pub requirements: BTreeMap<String, usize>,
    /// Cases by verdict.
    pub cases: BTreeMap<String, usize>,
    /// How many further requirements fail, each only by mistakes that a more specific one owns.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub same_as: usize,
    /// How long the run took; of shards, all of them together.
    pub duration_ms: u64,
    /// How often the subject was started; 0 where that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub starts: usize,
    /// How many cases did not pass in a conversation with others, and ran again alone; only that run counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub again: usize,
    /// What proved that nothing more would come, and how often: the method of the request that the subject answered, or
    /// `time limit` where it answered none.
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

/// Where the time of a run went, in microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// How many cases ran at once.
    pub jobs: usize,
    /// From the start of the command until the last case was judged; of shards, all of them together.
    pub wall_us: u64,
    /// The part of it that came before the first case.
    pub start_up_us: u64,
    /// The least that a case can take.
    pub floor: Floor,
    /// All cases together, as if one had run after the other.
    pub total: Spent,
    /// Each case, by id.
    pub cases: BTreeMap<String, Spent>,
}

/// Where the time of a case went, in microseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    /// All of it: the sum of the others.
    pub total_us: u64,
    /// Waiting for the first line of the subject.
    pub start_us: u64,
    /// Waiting for what the subject was to say or do after that, by the kind of step.
    pub waits_us: BTreeMap<StepKind, u64>,
    /// Waiting for the exit of the subject.
    pub exit_us: u64,
    /// The tester's own: making folders, starting processes, saying its lines, clearing up.
    pub tester_us: u64,
    /// Judging the trace.
    pub judging_us: u64,
}

/// How long the subject takes to start and to end when nothing is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Floor {
    /// It was measured in this run.
    Measured {
        /// By so many starts.
        starts: usize,
        /// Their median, in microseconds.
        median_us: u64,
    },
    /// It could not be measured.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// Serde asks for a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Reports of earlier versions do not say whether a requirement is checked; nearly all were.
const fn checked() -> Status {
    Status::Checked
}

/// A word of ours in a report that may come from anybody: forms show it as it is.
fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_word = text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.@_".contains(c));
    if is_word { Ok(text) } else { Err(D::Error::custom(format!("{text:?} is neither an id nor a version"))) }
}

/// A link in a report that may come from anybody: forms put it into HTML and Markdown as it is.
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
