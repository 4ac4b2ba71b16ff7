//! The folder of a certificate. It may come from anybody: only what was found in it is ever opened, never a path that a file
//! names; links are not followed, and there is a bound on everything.

use std::collections::BTreeMap;
use std::fs::{DirEntry, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::output_file::write_file;

/// The certificate.
pub(super) const CERTIFICATE: &str = "certificate.json";

/// The report for programs.
pub(super) const REPORT: &str = "report.json";

/// The report for people.
pub(super) const PAGE: &str = "report.html";

/// The picture.
pub(super) const BADGE: &str = "badge.svg";

/// The folder of the traces.
pub(super) const TRACES: &str = "traces";

/// Where tools put a signature of the certificate: minisign, cosign (a file of each kind) and GnuPG.
const SIGNATURES: [&str; 5] = [
    "certificate.json.minisig",
    "certificate.json.sigstore.json",
    "certificate.json.bundle",
    "certificate.json.sig",
    "certificate.json.asc",
];

/// The largest file that is read: far more than any trace that a run leaves.
const LARGEST: u64 = 512 << 20;

/// How many files there may be: far more than any suite has cases.
const MOST: usize = 20_000;

/// What lies in the folder.
pub(super) struct CertificateFolder {
    root: PathBuf,
    /// The plain files, by their name from the folder on.
    files: BTreeMap<String, PathBuf>,
    /// What else lies there, with what it is.
    pub(super) odd: BTreeMap<String, &'static str>,
}

impl CertificateFolder {
    /// Looks what is there.
    ///
    /// # Errors
    ///
    /// That the folder cannot be read, or that there is no end of files.
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let mut folder = Self { root: root.to_owned(), files: BTreeMap::new(), odd: BTreeMap::new() };
        let mut has_traces = false;
        for entry in std::fs::read_dir(root)? {
            let entry = entry?;
            if entry.file_name() == TRACES && entry.file_type()?.is_dir() {
                has_traces = true;
            } else {
                folder.take("", &entry)?;
            }
        }
        if has_traces {
            for entry in std::fs::read_dir(root.join(TRACES))? {
                folder.take("traces/", &entry?)?;
            }
        }
        Ok(folder)
    }

    fn take(&mut self, below: &str, entry: &DirEntry) -> io::Result<()> {
        let kind = entry.file_type()?;
        let name = entry.file_name();
        let shown = format!("{below}{}", name.to_string_lossy());
        if kind.is_file() && name.to_str().is_some() {
            self.files.insert(shown, entry.path());
        } else {
            let what = if kind.is_symlink() {
                "it is a link, and may lead anywhere"
            } else if kind.is_dir() {
                "a folder has no place here"
            } else {
                "it is no plain file"
            };
            self.odd.insert(shown, what);
        }
        if self.files.len() + self.odd.len() > MOST {
            return Err(io::Error::other(format!("there are more than {MOST} files")));
        }
        Ok(())
    }

    /// The names of the plain files.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Whether there is a plain file of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// The bytes of one of the files that were found.
    ///
    /// # Errors
    ///
    /// That it cannot be read, that it is too large, or that it was not found.
    pub(super) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let path = self.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = Vec::new();
        File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST >> 20)));
        }
        Ok(bytes)
    }

    /// Writes a file beside what was found.
    ///
    /// # Errors
    ///
    /// Only those of writing.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write_file(&self.root.join(name), |file| file.write_all(bytes))
    }
}

/// Whether a file of this name is a signature of the certificate.
pub(super) fn is_signature(name: &str) -> bool {
    SIGNATURES.contains(&name)
}
