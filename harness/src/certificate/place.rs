//! Where a certificate is put: made beside, and put in its place when it is whole.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::folder::{CERTIFICATE, CertificateFolder, TRACES, is_signature};
use super::issue::trace_file;
use super::model::Certificate;
use crate::requirement::Party;

/// A place for a certificate.
pub struct CertificatePlace {
    parent: PathBuf,
    name: OsString,
    /// The certificate that will be replaced.
    earlier: Option<Certificate>,
    desk: TempDir,
}

/// Why a certificate cannot be put there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// Something is there.
    #[error(
        "the folder is not empty; give a new one, or --replace if it holds an earlier certificate of the same subject"
    )]
    NotEmpty,
    /// Something else than a certificate is there.
    #[error("only an earlier certificate can be replaced, and {0}")]
    NoCertificate(String),
    /// The certificate of another subject is there.
    #[error("it holds the certificate of {there}, and this is {here}; give another folder")]
    OtherSubject {
        /// Of which one.
        there: String,
        /// Which one it is not.
        here: String,
    },
    /// The folder has no name of its own.
    #[error("give a folder with a name, which is made anew")]
    NoName,
    /// The folder, or the one around it, cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl CertificatePlace {
    /// Takes a place that is free, or holds an earlier certificate of such a party that may be replaced.
    ///
    /// # Errors
    ///
    /// That it is not, or that nothing can be written there.
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

    /// The folder in which the certificate is made.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.desk.path().join("new")
    }

    /// The folder for its traces.
    #[must_use]
    pub fn traces(&self) -> PathBuf {
        self.folder().join(TRACES)
    }

    /// Whether the certificate of a subject with this name may stand here.
    ///
    /// # Errors
    ///
    /// That an earlier one is of another subject.
    pub fn admit(&self, name: Option<&str>) -> Result<(), PlaceError> {
        match &self.earlier {
            Some(earlier) if earlier.subject.name.as_deref() != name => {
                let called = |name: Option<&str>| name.unwrap_or("a subject that gives no name").to_owned();
                Err(PlaceError::OtherSubject { there: called(earlier.subject.name.as_deref()), here: called(name) })
            }
            _ => Ok(()),
        }
    }

    /// Puts the certificate that was made there, all at once.
    ///
    /// # Errors
    ///
    /// Only those of renaming; what was there before is there again then.
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

/// The certificate in a folder that holds nothing else.
fn earlier(dir: &Path, kind: Party) -> Result<Certificate, PlaceError> {
    let folder = CertificateFolder::open(dir)?;
    let none = |why: String| PlaceError::NoCertificate(why);
    let bytes = folder.read(CERTIFICATE).map_err(|_| none(format!("there is no {CERTIFICATE} in it")))?;
    let certificate: Certificate =
        serde_json::from_slice(&bytes).map_err(|error| none(format!("{CERTIFICATE} is none: {error}")))?;
    let mut own: Vec<String> = certificate.traces.keys().map(|case| trace_file(case)).collect();
    own.extend(certificate.files.keys().cloned());
    own.push(CERTIFICATE.to_owned());
    let is_own = |name: &str| own.iter().any(|own| own == name) || is_signature(name);
    let foreign = folder.names().find(|name| !is_own(name)).or_else(|| folder.odd.keys().next().map(String::as_str));
    if let Some(foreign) = foreign {
        return Err(none(format!("{foreign} is no part of the one that is there")));
    }
    if certificate.subject.kind != kind {
        let [there, here] = [certificate.subject.kind, kind].map(|party| party.one().to_owned());
        return Err(PlaceError::OtherSubject { there, here });
    }
    Ok(certificate)
}
