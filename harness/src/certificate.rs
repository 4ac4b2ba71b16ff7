//! Certificates: a folder with the traces of all cases and the results that follow from them, so that anyone can check the
//! traces again, offline and without the subject.
//!
//! The same code (`judging`) makes and verifies a certificate from the same traces. A certificate is not signed: anyone with
//! write access to the folder can replace it. docs/certificates.md explains the consequences.

mod badge;
mod compare;
mod folder;
mod issue;
mod judging;
mod model;
mod place;
mod suite;
mod verify;

pub use compare::shown;
pub use issue::{IssueError, Issued, issue};
pub use model::{
    Certificate, CertifiedSubject, Claims, Counts, Coverage, FORMAT, ProfileMark, SuiteMark, TraceMark, schema,
};
pub use place::{CertificatePlace, PlaceError};
pub use verify::{CertificateMismatch, Changed, Integrity, NoCertificate, OtherSuite, Verification, verify};
