//! The target folder of a certificate: the certificate is made next to it and moved there when it is complete.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::digests;
use super::folder::{CertificateFolder, DIGESTS, REPORT, TRACES, is_signature};
use crate::requirement::Party;
use crate::results::RunReport;

/// The target folder of a certificate.
pub struct CertificatePlace {
    parent: PathBuf,
    name: OsString,
    /// The report of the certificate that will be replaced.
    earlier: Option<RunReport>,
    desk: TempDir,
}

/// The reason why a certificate cannot be stored there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The folder is not empty.
    #[error(
        "the folder is not empty; give a new one, or --replace if it holds an earlier certificate of the same subject"
    )]
    NotEmpty,
    /// The folder holds files of another kind.
    #[error("only an earlier certificate can be replaced, and {0}")]
    NoCertificate(String),
    /// The folder holds the certificate of another subject.
    #[error("it holds the certificate of {there}, but this one is for {here}; give another folder")]
    OtherSubject {
        /// The subject of the certificate that is there.
        there: String,
        /// The subject of the new certificate.
        here: String,
    },
    /// The path has no final name.
    #[error("give a folder with a name")]
    NoName,
    /// The folder or its parent cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl CertificatePlace {
    /// Reserves a target folder that is free, or holds an earlier certificate of this party that may be replaced.
    ///
    /// # Errors
    ///
    /// The folder holds something else, or nothing can be written there.
    pub fn take(dir: &Path, replace: bool, kind: Party) -> Result<Self, PlaceError> {
        let dir = if dir.exists() { dir.canonicalize()? } else { std::path::absolute(dir)? };
        let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else { return Err(PlaceError::NoName) };
        let is_free = !dir.exists() || fs::read_dir(&dir)?.next().is_none();
        let earlier = match (is_free, replace) {
            (true, _) => None,
            (false, false) => return Err(PlaceError::NotEmpty),
            (false, true) => Some(earlier(&dir, kind)?),
        };
        fs::create_dir_all(parent)?;
        let desk = TempDir::with_prefix_in(".acp-conformance-", parent)?;
        let place = Self { parent: parent.to_owned(), name: name.to_owned(), earlier, desk };
        fs::create_dir_all(place.traces())?;
        Ok(place)
    }

    /// Returns the folder in which the certificate is made.
    pub fn folder(&self) -> PathBuf {
        self.desk.path().join("new")
    }

    /// Returns the folder for its traces.
    pub fn traces(&self) -> PathBuf {
        self.folder().join(TRACES)
    }

    /// Checks that the certificate of a subject with this name may be stored here.
    ///
    /// # Errors
    ///
    /// An earlier certificate is about another subject.
    pub fn admit(&self, name: Option<&str>) -> Result<(), PlaceError> {
        match &self.earlier {
            Some(earlier) if earlier.subject.name.as_deref() != name => {
                let called = |name: Option<&str>| name.unwrap_or("an unnamed subject").to_owned();
                Err(PlaceError::OtherSubject { there: called(earlier.subject.name.as_deref()), here: called(name) })
            }
            _ => Ok(()),
        }
    }

    /// Moves the complete certificate to its target in one step.
    ///
    /// # Errors
    ///
    /// Errors of renaming; the earlier content is restored then.
    pub fn put(self) -> io::Result<()> {
        let (dir, old) = (self.parent.join(&self.name), self.desk.path().join("old"));
        let was_there = dir.exists();
        if was_there {
            fs::rename(&dir, &old)?;
        }
        let put = fs::rename(self.folder(), &dir);
        if put.is_err() && was_there {
            fs::rename(&old, &dir)?;
        }
        put
    }
}

/// Returns the report of the certificate in a folder without other files.
fn earlier(dir: &Path, kind: Party) -> Result<RunReport, PlaceError> {
    let folder = CertificateFolder::open(dir)?;
    let none = |why: String| PlaceError::NoCertificate(why);
    let list = folder.read(DIGESTS).map_err(|_| none(format!("it contains no {DIGESTS}")))?;
    let own = digests::read(&list).map_err(|problem| none(format!("{DIGESTS} is not one: {problem}")))?;
    let bytes = folder.read(REPORT).map_err(|_| none(format!("it contains no {REPORT}")))?;
    let report: RunReport =
        serde_json::from_slice(&bytes).map_err(|error| none(format!("{REPORT} is not one: {error}")))?;
    let is_own = |name: &str| name == DIGESTS || own.contains_key(name) || is_signature(name);
    let foreign = folder.names().find(|name| !is_own(name)).or_else(|| folder.odd.keys().next().map(String::as_str));
    if let Some(foreign) = foreign {
        return Err(none(format!("{foreign} does not belong to the existing certificate")));
    }
    if report.subject.kind != kind {
        let [there, here] = [report.subject.kind, kind].map(|party| party.one().to_owned());
        return Err(PlaceError::OtherSubject { there, here });
    }
    Ok(report)
}
