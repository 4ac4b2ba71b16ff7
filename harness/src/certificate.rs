//! Certificates: a folder with the traces of all cases and with everything that follows from them, so that somebody else can
//! judge them again, offline and without the subject.
//!
//! What is written and what is verified is made by the same code (`judging`) from the same traces. Nothing here is a
//! signature: whoever can write the folder can write another one. docs/certificates.md says what that means.

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
