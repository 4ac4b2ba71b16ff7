//! The results of one entry of a registry.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::requirement::Level;
use crate::results::RunReport;
use crate::verdict::{Conformance, Verdict};

/// The result of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryResult {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The version in the registry.
    pub version: String,
    /// The version of the program that tested it.
    pub suite: String,
    /// How it was installed: `npx`, `uvx` or `binary`. Absent if it was not installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<String>,
    /// The package, or the address of the archive. Absent if it was not installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// What led it to the scripted model: the name of its built-in profile, or the file of the settings that were
    /// found, from the folder of the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Which cases ran, in words.
    pub cases: String,
    /// The start of its installation: UTC, as in RFC 3339.
    pub began: String,
    /// The duration of its installation; 0 if it was installed before.
    pub install_ms: u64,
    /// The duration of its test.
    pub test_ms: u64,
    /// How far it came.
    pub outcome: EntryOutcome,
    /// Why it came no further, also if it was tested up to a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last lines that it, or its installation, wrote to standard error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
    /// The registry's own rule.
    pub login: LoginRule,
    /// The results in each version of the protocol that it speaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub editions: Vec<EditionResult>,
}

/// How far an entry came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EntryOutcome {
    /// It was tested; the result of each version of the protocol has a verdict.
    Tested,
    /// It could not be installed. This says nothing about the agent.
    NotInstalled,
    /// It was installed, and did not start or did not answer `initialize`.
    NotStarted,
    /// It reached a limit, and was stopped without a verdict.
    Stopped,
    /// The harness failed, so nothing is known about it.
    HarnessError,
}

impl EntryOutcome {
    /// Returns the name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tested => "tested",
            Self::NotInstalled => "not installed",
            Self::NotStarted => "not started",
            Self::Stopped => "stopped",
            Self::HarnessError => "harness error",
        }
    }
}

/// The result of the registry's own rule, that a listed agent offers a login of the type `agent` or `terminal`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginRule {
    /// Whether the agent satisfies it.
    pub verdict: RuleVerdict,
    /// Why it does not, or why that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The types of the offered login methods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
}

/// Whether an agent satisfies the registry's own rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RuleVerdict {
    /// It does.
    Met,
    /// It does not.
    NotMet,
    /// It was not asked.
    Unknown,
}

impl RuleVerdict {
    /// Returns the name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not met",
            Self::Unknown => "unknown",
        }
    }
}

impl LoginRule {
    pub(super) fn not_met(reason: &str) -> Self {
        Self { verdict: RuleVerdict::NotMet, reason: Some(reason.to_owned()), types: Vec::new() }
    }

    /// Returns that nothing is known, for this reason.
    pub fn unknown(reason: &str) -> Self {
        Self { verdict: RuleVerdict::Unknown, reason: Some(reason.to_owned()), types: Vec::new() }
    }
}

/// The result of an entry in one version of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditionResult {
    /// The edition, such as `v1@2026-11-20`.
    pub edition: String,
    /// The conformance of the agent.
    pub verdict: Conformance,
    /// Whether the run ended before all of its cases had run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The number of failed MUSTs.
    pub musts: usize,
    /// The number of failed SHOULDs.
    pub shoulds: usize,
    /// The report, from the folder of the results.
    pub report: String,
    /// The verdict on each requirement, by id.
    pub requirements: BTreeMap<String, Verdict>,
}

impl EditionResult {
    /// Returns the summary of a report in this file.
    pub(super) fn of(report: &RunReport, file: String) -> Self {
        let failed = |level| report.requirements.iter().filter(|known| known.level == level && known.fails()).count();
        Self {
            edition: report.suite.edition.clone(),
            verdict: report.verdict,
            partial: report.partial.is_some(),
            musts: failed(Level::Must),
            shoulds: failed(Level::Should),
            report: file,
            requirements: report.requirements.iter().map(|known| (known.id.clone(), known.verdict)).collect(),
        }
    }

    /// Returns the major of the protocol, such as `v1`.
    pub fn major(&self) -> &str {
        major_of(&self.edition)
    }

    /// Returns the verdict in a few words.
    pub fn summary(&self) -> String {
        let Self { musts, shoulds, .. } = self;
        let failed = match (musts, shoulds) {
            (0, 0) => String::new(),
            _ => format!(" ({musts} MUST, {shoulds} SHOULD)"),
        };
        let partial = if self.partial { ", partial" } else { "" };
        format!("{} {}{failed}{partial}", self.major(), self.verdict.name())
    }
}

/// Returns the major of an edition, such as `v1`.
pub(super) fn major_of(edition: &str) -> &str {
    edition.split('@').next().unwrap_or_default()
}

/// The most characters of a line of standard error in a summary.
const MOST_OF_A_LINE: usize = 120;

/// The most words of a line that only has a code.
const SHORT_LINE: usize = 4;

impl EntryResult {
    /// Returns the outcome and the verdicts in a line.
    pub fn summary(&self) -> String {
        match (self.outcome, &self.reason) {
            (EntryOutcome::Tested, reason) => {
                let editions = self.editions.iter().map(EditionResult::summary).collect::<Vec<_>>().join("; ");
                reason.as_ref().map_or_else(|| editions.clone(), |reason| format!("{editions}: {reason}"))
            }
            (outcome, Some(reason)) => {
                format!("{}: {}{}", outcome.name(), reason.trim_end_matches('.'), self.telling_line())
            }
            (outcome, None) => outcome.name().to_owned(),
        }
    }

    /// Returns the line of standard error that most likely says why it has no result, in brackets.
    fn telling_line(&self) -> String {
        let has_failed = matches!(self.outcome, EntryOutcome::NotInstalled | EntryOutcome::NotStarted);
        let names_error = |line: &&String| line.to_ascii_lowercase().contains("error");
        // npm begins with a code alone: "npm error code ETARGET".
        let is_sentence = |line: &&String| names_error(line) && line.split_whitespace().nth(SHORT_LINE).is_some();
        let lines = || self.stderr.iter();
        let line = lines().find(is_sentence).or(lines().find(names_error)).or(lines().last()).filter(|_| has_failed);
        line.map(|line| format!(" ({})", line.trim().chars().take(MOST_OF_A_LINE).collect::<String>()))
            .unwrap_or_default()
    }

    /// Returns the versions of the protocol that it speaks, such as `v1`.
    pub(super) fn majors(&self) -> BTreeSet<&str> {
        self.editions.iter().map(EditionResult::major).collect()
    }

    /// Whether a limit ended the test before it had reached each case and each version of the protocol.
    pub(super) fn is_cut_off(&self) -> bool {
        self.reason.is_some() || self.editions.iter().any(|edition| edition.partial)
    }

    /// Whether the entry need not be tested again: the same version was tested by the same program in the same way.
    pub fn is_of(&self, version: &str, suite: &str, cases: &str) -> bool {
        let was_tested = !matches!(self.outcome, EntryOutcome::NotInstalled | EntryOutcome::HarnessError);
        was_tested && self.version == version && self.suite == suite && self.cases == cases
    }
}
