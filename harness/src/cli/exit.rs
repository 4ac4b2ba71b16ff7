//! The exit codes. They are a contract: scripts rely on them.

use std::process::ExitCode;

use crate::results::{ExpectedReport, RunReport};
use crate::verdict::Conformance;

/// The exit code of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ProgramExit {
    /// 0: conformant, selected cases that passed, or a command that found nothing wrong, such as an intact certificate.
    Good = 0,
    /// 1: not conformant, a certificate that does not match, or a difference from the kept results of an earlier run.
    NotConformant = 1,
    /// 2: a wrong argument, a subject that cannot be started, or a bad case, profile or trace file.
    Usage = 2,
    /// 3: incomplete, which `--allow-incomplete` turns into 0; or a certificate of another suite.
    Incomplete = 3,
    /// 4: the harness itself failed.
    HarnessError = 4,
    /// 130: interrupted by Ctrl-C, SIGTERM or SIGHUP; the reports are partial.
    Interrupted = 130,
}

impl ProgramExit {
    /// Returns the code for a report: that of its conformance, apart from expected failures. A stale expectation counts
    /// like a violation, and a partial report is at best incomplete.
    pub fn of_report(report: &RunReport, allow_incomplete: bool) -> Self {
        let conformance = report.expected.as_ref().map_or(report.verdict, |expected| expected.otherwise);
        let exit = match Self::of(conformance, allow_incomplete) {
            Self::Good if report.partial.is_some() => Self::Incomplete,
            exit => exit,
        };
        let is_true = report.expected.as_ref().is_none_or(ExpectedReport::is_true);
        if is_true { exit } else { exit.or_broken() }
    }

    /// Returns the code for a difference from an earlier run, unless this code is worse.
    pub const fn or_broken(self) -> Self {
        match self {
            Self::Good | Self::Incomplete => Self::NotConformant,
            worse => worse,
        }
    }

    /// Returns the worse of two codes; a violation counts more than missing coverage.
    pub fn worse(self, other: Self) -> Self {
        let rank = |exit: Self| match exit {
            Self::Good => 0,
            Self::Incomplete => 1,
            Self::NotConformant => 2,
            Self::Usage | Self::HarnessError => 3,
            Self::Interrupted => 4,
        };
        if rank(other) > rank(self) { other } else { self }
    }

    /// Returns the code for a conformance.
    pub const fn of(conformance: Conformance, allow_incomplete: bool) -> Self {
        match conformance {
            Conformance::Conformant | Conformance::Passed => Self::Good,
            Conformance::Incomplete if allow_incomplete => Self::Good,
            Conformance::Incomplete => Self::Incomplete,
            Conformance::NotConformant => Self::NotConformant,
            Conformance::HarnessError => Self::HarnessError,
        }
    }
}

impl From<ProgramExit> for ExitCode {
    fn from(exit: ProgramExit) -> Self {
        Self::from(exit as u8)
    }
}
