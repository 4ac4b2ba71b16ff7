//! Certificates: a folder with the traces of all cases, the report on them, and a digest of each file, so that anyone
//! can check the traces again, offline and without the subject.
//!
//! The same code (`judged`) makes and verifies the report. A certificate is not signed: anyone with write access to the
//! folder can replace it. docs/certificates.md explains the consequences.

mod digests;
mod folder;
mod issue;
mod judged;
mod place;
mod verify;

pub use issue::{IssueError, issue};
pub use place::{CertificatePlace, PlaceError};
pub use verify::{CertificateMismatch, Changed, Integrity, NoCertificate, OtherSuite, Verification, verify};

/// The longest foreign text that is shown whole.
const LONGEST: usize = 120;

/// Prepares a foreign text for one line of a terminal: without control characters, and shortened.
pub fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut cut: String = text.chars().take(LONGEST).map(plain).collect();
    if text.chars().nth(LONGEST).is_some() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_writes_on_the_terminal() {
        assert_eq!(shown("a\u{1b}[2J\u{9b}\nb"), "a\u{fffd}[2J\u{fffd}\u{fffd}b");
        assert_eq!(shown(&"é".repeat(LONGEST + 1)), format!("{}…", "é".repeat(LONGEST)));
    }
}
