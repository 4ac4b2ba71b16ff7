//! The exit codes. They are a contract: scripts rely on them.

use std::process::ExitCode;

use crate::report::model::Conformance;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// 0: conformant, or a command that found nothing wrong.
    Good = 0,
    /// 1: not conformant, or a certificate that does not match.
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
