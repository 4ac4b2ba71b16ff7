//! The folder of a certificate. Its author may be hostile: only listed files are opened, never a path that a file
//! names; links are not followed, and everything has a limit.

use std::collections::BTreeMap;
use std::fs::{DirEntry, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::output_file::write_file;

/// The digest of each other file.
pub(super) const DIGESTS: &str = "SHA256SUMS";

pub(super) const REPORT: &str = "report.json";

/// The folder of the traces.
pub(super) const TRACES: &str = "traces";

/// The files in which tools store a signature of the digests: minisign, cosign (one of each kind) and GnuPG.
const SIGNATURES: [&str; 5] =
    ["SHA256SUMS.minisig", "SHA256SUMS.sigstore.json", "SHA256SUMS.bundle", "SHA256SUMS.sig", "SHA256SUMS.asc"];

/// The largest file that is read, in bytes: far more than any trace of a run.
const LARGEST: u64 = 512 << 20;

/// The most files: far more than any suite has cases.
const MOST: usize = 20_000;

/// The content of the folder.
pub(super) struct CertificateFolder {
    root: PathBuf,
    /// The regular files, by their path in the folder.
    files: BTreeMap<String, PathBuf>,
    /// The other entries, each with its kind.
    pub(super) odd: BTreeMap<String, &'static str>,
}

impl CertificateFolder {
    /// Lists the folder.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or has too many files.
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
                "not a regular file"
            };
            self.odd.insert(shown, what);
        }
        if self.files.len() + self.odd.len() > MOST {
            return Err(io::Error::other(format!("there are more than {MOST} files")));
        }
        Ok(())
    }

    /// Returns the names of the regular files.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Whether there is a regular file with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Returns the bytes of a listed file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is too large, or is not listed.
    pub(super) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let path = self.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = Vec::new();
        File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST >> 20)));
        }
        Ok(bytes)
    }

    /// Writes a file into the folder.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write_file(&self.root.join(name), |file| file.write_all(bytes))
    }
}

/// Whether a file of this name is a signature of the digests.
pub(super) fn is_signature(name: &str) -> bool {
    SIGNATURES.contains(&name)
}
