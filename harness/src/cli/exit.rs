//! The exit codes. They are a contract: scripts rely on them.

use std::process::ExitCode;

use crate::report::model::RunReport;
use crate::verdict::Conformance;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// 0: conformant, or a command that found nothing wrong.
    Good = 0,
    /// 1: not conformant, a certificate that does not match, or what was kept of an earlier run is no longer true.
    NotConformant = 1,
    /// 2: a wrong argument, a subject that cannot be started, or a bad case, profile or trace file.
    Usage = 2,
    /// 3: incomplete, which `--allow-incomplete` turns into 0; or a certificate of another suite.
    Incomplete = 3,
    /// 4: the harness itself failed.
    HarnessError = 4,
    /// 130: interrupted by Ctrl-C or SIGTERM; nothing is reported.
    Interrupted = 130,
}

impl Exit {
    /// The code for a report: that of its conformance, apart from what is expected to fail. An expectation that is no longer true
    /// counts like something broken.
    #[must_use]
    pub fn of_report(report: &RunReport, allow_incomplete: bool) -> Self {
        let Some(expected) = &report.expected else { return Self::of(report.verdict, allow_incomplete) };
        match Self::of(expected.otherwise, allow_incomplete) {
            exit if !expected.is_true() => exit.or_broken(),
            exit => exit,
        }
    }

    /// The code where something of an earlier run is no longer true, unless something worse was found.
    #[must_use]
    pub const fn or_broken(self) -> Self {
        match self {
            Self::Good | Self::Incomplete => Self::NotConformant,
            worse => worse,
        }
    }

    /// The code for a conformance.
    #[must_use]
    pub const fn of(conformance: Conformance, allow_incomplete: bool) -> Self {
        match conformance {
            Conformance::Conformant => Self::Good,
            Conformance::Incomplete if allow_incomplete => Self::Good,
            Conformance::Incomplete => Self::Incomplete,
            Conformance::NotConformant => Self::NotConformant,
            Conformance::HarnessError => Self::HarnessError,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
