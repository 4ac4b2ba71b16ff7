//! The report of a run. Format `acp-conformance-report/2`, for other programs.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

mod expected;
mod explored;
mod partial;
mod repeated;
mod requirement;

pub use self::expected::{EntryReport, ExpectedReport, FailureReport, Standing, entry_name};
pub use self::explored::{Explored, Unconfirmed};
pub use self::partial::{Partial, PartialReason};
pub use self::repeated::Repeated;
pub use self::requirement::{FindingReport, ProbeReport, RequirementReport};
use crate::judge::{CaseVerdict, Cause};
use crate::requirement::{Level, Party, Transport};
use crate::verdict::{Conformance, Verdict};

/// The name and version of the format.
pub const FORMAT: &str = "acp-conformance-report/2";

/// The transport of a report that names no other one.
pub const STDIO: &str = "stdio";

/// The JSON Schema of a report, as it is committed in `schemas/report.schema.json`.
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
    /// Whether the run was a selection of cases, which cannot show that the subject is conformant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub selection: bool,
    /// Every requirement for the subject that a program can decide, in the order of the catalogue.
    pub requirements: Vec<RequirementReport>,
    /// The observations on everything that the specification leaves open, in the order of the catalogue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeReport>,
    /// Every case, in the order of the ids.
    pub cases: Vec<CaseReport>,
    /// The reasons why cases are undecided or do not apply: cases with the same reason together, the most frequent
    /// reason of a verdict first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonReport>,
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
    /// How often each verdict came, if the cases ran several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated: Option<Repeated>,
    /// The part of the run that this report covers, if it is not the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardInfo>,
    /// Why the run ended before all of its cases had run, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
    /// The reason why the subject could not be tested, if there is one; then the report contains only the first
    /// contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
    /// Whether the obstacle is that the command most likely starts another program, whose violations say nothing. No
    /// report has it.
    #[serde(skip)]
    pub is_wrong_program: bool,
    /// Steps by which the user can make the next run decide more, a sentence each; other versions may word them
    /// differently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_steps: Vec<String>,
}

impl RunReport {
    /// Whether a violated requirement of this level makes the subject non-conformant.
    pub fn counts(&self, level: Level) -> bool {
        level == Level::Must || self.strict && level == Level::Should
    }

    /// Returns what the run shows, given the conformance by its requirements: a selection of cases passed if each case
    /// did or has an excused verdict, and it never shows that the subject is conformant. If the subject speaks another
    /// version of the protocol, it shows nothing.
    pub fn outcome(&self, conformance: Conformance, is_excused: impl Fn(Verdict) -> bool) -> Conformance {
        let is_over = self.shard.is_none() && self.partial.is_none() && self.obstacle.is_none();
        match conformance {
            _ if !self.selection => conformance,
            Conformance::Conformant | Conformance::Incomplete if self.is_of_other_version() => Conformance::Incomplete,
            Conformance::Conformant if is_over => Conformance::Passed,
            Conformance::Incomplete if is_over && self.all_passed(is_excused) => Conformance::Passed,
            Conformance::Conformant => Conformance::Incomplete,
            other => other,
        }
    }

    /// Whether there are cases, and the subject speaks another version of the protocol in each of them.
    pub fn is_of_other_version(&self) -> bool {
        let is_other = |case: &CaseReport| {
            case.verdict == Verdict::NotApplicable && matches!(case.cause, Some(Cause::ProtocolVersion { .. }))
        };
        !self.cases.is_empty() && self.cases.iter().all(is_other)
    }

    /// Whether there are cases and each passed, does not apply or has an excused verdict.
    ///
    /// A case counts as passed if some of its requirements passed, and nothing happened to which the others apply:
    /// after a fix, a program need not do more than before.
    pub fn all_passed(&self, is_excused: impl Fn(Verdict) -> bool) -> bool {
        let verdict = |id: &String| self.requirements.iter().find(|known| known.id == *id).map(|known| known.verdict);
        let is_fine = |case: &CaseReport| match (case.verdict, &case.cause) {
            (Verdict::Pass | Verdict::NotApplicable, _) => true,
            (verdict, _) if is_excused(verdict) => true,
            (_, Some(Cause::SameMistake { .. })) if is_excused(Verdict::Fail) => true,
            (Verdict::Inconclusive, Some(Cause::NotExercised { .. })) => {
                case.requirements.iter().filter_map(verdict).max() == Some(Verdict::Pass)
            }
            _ => false,
        };
        !self.cases.is_empty() && self.cases.iter().all(is_fine)
    }

    /// Returns the cases in which the subject exited by itself before it answered a correct request.
    pub fn exits(&self) -> impl Iterator<Item = &CaseReport> {
        const EXITED_BEFORE_RESPONSE: &str = "exited-before-response";
        let findings = self.requirements.iter().flat_map(|requirement| &requirement.findings);
        let exited = findings.filter(|finding| finding.kind == EXITED_BEFORE_RESPONSE);
        let ids: BTreeSet<&str> = exited.map(|finding| finding.case.as_str()).collect();
        self.cases.iter().filter(move |case| ids.contains(case.id.as_str()))
    }

    /// Returns what carried the messages.
    pub fn transport(&self) -> Transport {
        Transport::named(&self.suite.transport).unwrap_or_default()
    }

    /// Whether all of these cases ran.
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
    /// The protocol major with the revision of its schema, such as `v1@2026-11-20`.
    #[serde(deserialize_with = "word")]
    pub edition: String,
    /// How the messages travelled; absent for `stdio`.
    #[serde(default = "stdio", skip_serializing_if = "is_stdio", deserialize_with = "word")]
    pub transport: String,
    /// SHA-256 of the stable schema file, in lower-case hexadecimal.
    pub schema_sha256: String,
    /// SHA-256 over the requirements and cases of the edition; only in certificates. It is that of the output of
    /// `sha256sum` for their files, in the order of their paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_sha256: Option<String>,
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
    /// Whether it sent a part that only this edition has, and no draft before it. Only for an edition with duties that
    /// an older program cannot know.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shows_edition: bool,
    /// Who operated it, if a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driven: Option<Driven>,
    /// The profile that describes how to start and drive it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Box<ProfileInfo>>,
}

impl SubjectInfo {
    /// Returns the subject's own name, or else the one in its profile.
    pub fn known_name(&self) -> Option<&str> {
        self.name.as_deref().or_else(|| Some(self.profile.as_ref()?.title.as_str()))
    }

    /// Returns the version that the subject reports, or else the installed one.
    pub fn known_version(&self) -> Option<&str> {
        self.version.as_deref().or_else(|| self.profile.as_ref()?.version.as_deref())
    }
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

/// The result of one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseReport {
    /// Its id.
    pub id: String,
    /// Its title, in a sentence; absent for a recording.
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
    /// The verdict without the violated requirements that it does not name, and as if no other case showed the same
    /// mistakes; only for a case with a violated MUST or with the mistake of another case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<CaseVerdict>,
    /// The gaps of a recording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The last lines on standard error, if the subject exited in the case without being asked to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
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
    /// The number of cases that did not pass in a shared conversation and ran again alone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub again: usize,
    /// The proofs that nothing more would come, with their number: the method of the request that the subject
    /// answered, or `time limit` if it answered none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fences: BTreeMap<String, usize>,
}

impl Summary {
    /// Returns the counts of a run with this duration.
    pub(super) fn of(requirements: &[RequirementReport], cases: &[CaseReport], duration_ms: u64) -> Self {
        Self {
            requirements: count(requirements.iter().filter(|it| it.same_as.is_empty()).map(|it| it.verdict)),
            same_as: requirements.iter().filter(|it| !it.same_as.is_empty()).count(),
            cases: count(cases.iter().map(|case| case.verdict)),
            duration_ms,
            starts: 0,
            again: 0,
            fences: BTreeMap::new(),
        }
    }
}

fn count(verdicts: impl Iterator<Item = Verdict>) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<String, usize> = Verdict::ALL.iter().map(|v| (v.name().to_owned(), 0)).collect();
    for verdict in verdicts {
        *counts.entry(verdict.name().to_owned()).or_default() += 1;
    }
    counts
}

/// What the cases show so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterimResults {
    /// The number of cases with a transcript that is over.
    pub cases: usize,
    /// The number of requirements that pass in all of these cases that decide them.
    pub passed: usize,
    /// The ids of the MUSTs that a case failed, or seems to fail until another process has confirmed it.
    pub failed: Vec<String>,
}

/// Serde requires a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
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

    use crate::requirement::Party;
    use crate::results::Collector;
    use crate::testing::v1;
    use crate::trace::Trace;

    /// Whether a run of one case passed that names these requirements.
    fn passes(requirements: &str, line: &str) -> bool {
        let file = format!(
            r#"{{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent","case":"a","requirements":[{requirements}]}}
{{"n":0,"us":0,"from":"agent","line":"{line}"}}"#
        );
        let mut collector = Collector::new(v1(), Party::Agent, Vec::new());
        collector.add(&Trace::read(file.as_bytes()).expect("a trace"), None);
        collector.finish(Duration::ZERO, false).all_passed(|_| false)
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
