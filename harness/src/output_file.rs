//! Files that the program writes for its user. A file replaces the previous one only when it is complete, so an
//! interrupted run neither leaves an empty report nor destroys the previous one.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, tempfile_in};

/// A file that is written during a run and replaces the previous one at the end.
///
/// Until then its text is in a nameless file of the same folder, which the system removes when the program ends.
#[derive(Debug)]
pub struct OutputFile {
    draft: File,
    /// The file to replace; `None` for a pipe or a device, which is written to directly.
    path: Option<PathBuf>,
}

impl OutputFile {
    /// Prepares to write this file.
    ///
    /// # Errors
    ///
    /// The path is a folder, its folder does not exist, or either cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        match place(path)? {
            Place::Regular(path) => Ok(Self {
                draft: tempfile_in(folder(&path)).map_err(|error| unwritable(folder(&path), &error))?,
                path: Some(path),
            }),
            Place::Special(file) => Ok(Self { draft: file, path: None }),
        }
    }

    /// Returns a writer of the text. Flush or drop it before [`OutputFile::put`].
    ///
    /// # Errors
    ///
    /// The system has no free file descriptor.
    pub fn writer(&self) -> io::Result<BufWriter<File>> {
        self.draft.try_clone().map(BufWriter::new)
    }

    /// Replaces the previous file by the new text.
    ///
    /// # Errors
    ///
    /// Errors of writing; then the previous file is unchanged.
    pub fn put(mut self) -> io::Result<()> {
        let Some(path) = self.path else { return Ok(()) };
        self.draft.rewind()?;
        replace(&path, |file| io::copy(&mut self.draft, file).map(drop))
    }
}

/// Writes a file at once: completely, or not at all.
///
/// # Errors
///
/// Errors of `write`, and those of [`OutputFile`]; then the previous file is unchanged.
pub fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    match place(path)? {
        Place::Regular(path) => replace(&path, write),
        Place::Special(mut file) => write(&mut file),
    }
}

/// Writes a value as a JSON file.
///
/// # Errors
///
/// As for [`write_file`].
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> io::Result<()> {
    write_file(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    })
}

/// The target of a file.
enum Place {
    /// A regular file that may exist, by its path without symbolic links.
    Regular(PathBuf),
    /// A pipe or a device, such as /dev/stdout, which must not be replaced.
    Special(File),
}

/// Follows symbolic links, so that the link stays, and refuses targets that an ordinary write would refuse.
fn place(path: &Path) -> io::Result<Place> {
    match OpenOptions::new().write(true).open(path) {
        Ok(file) if file.metadata()?.is_file() => path.canonicalize().map(Place::Regular),
        Ok(file) => Ok(Place::Special(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Place::Regular(path.to_owned())),
        Err(error) => Err(error),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Explains why a folder takes no file. The error of the system names a file that the user does not know.
fn unwritable(folder: &Path, error: &io::Error) -> io::Error {
    let shown = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let shown = shown.display();
    let text = match (folder.is_dir(), error.kind()) {
        (true, ErrorKind::NotFound) => format!("the folder {shown} takes no new files"),
        (true, kind) => format!("the folder {shown} takes no new files: {kind}"),
        (false, _) => format!("the folder {shown} does not exist"),
    };
    io::Error::new(error.kind(), text)
}

/// Writes into a new file of the same folder and renames it.
fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // The system applies the user's mask to these permissions, as for any new file.
    let usual = Permissions::from_mode(0o666);
    let file = Builder::new().prefix(".acp-conformance-").permissions(usual).tempfile_in(folder(path));
    let file = file.map_err(|error| unwritable(folder(path), &error))?;
    if let Ok(previous) = path.metadata() {
        file.as_file().set_permissions(previous.permissions())?;
    }
    let mut writer = BufWriter::new(file.as_file());
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Lists the files of a folder, by name.
    fn files(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn errors_name_the_folder_and_no_draft() {
        let dir = tempfile::tempdir().expect("a folder");
        let missing = dir.path().join("no");
        let text = write_file(&missing.join("a"), |_| Ok(())).expect_err("no folder").to_string();
        assert_eq!(text, format!("the folder {} does not exist", missing.display()));
        let text = OutputFile::create(&missing.join("a")).expect_err("no folder").to_string();
        assert_eq!(text, format!("the folder {} does not exist", missing.display()));
        if cfg!(target_os = "linux") {
            let text = OutputFile::create(Path::new("/proc/x")).expect_err("no real folder").to_string();
            assert_eq!(text, "the folder /proc takes no new files");
        }
    }

    #[test]
    fn file_replaces_previous_one_only_when_put() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("report");
        fs::write(&path, "previous").expect("a file");
        let file = OutputFile::create(&path).expect("a file");
        file.writer().and_then(|mut writer| writer.write_all(b"new")).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "previous");
        assert_eq!(files(dir.path()), ["report"]);
        file.put().expect("put");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "new");
        assert_eq!(files(dir.path()), ["report"]);
    }

    #[test]
    fn failed_write_keeps_previous_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("report");
        fs::write(&path, "previous").expect("a file");
        let failed = write_file(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).expect("a file"), "previous");
        assert_eq!(files(dir.path()), ["report"]);
    }

    #[test]
    fn link_and_permissions_stay() {
        let dir = tempfile::tempdir().expect("a folder");
        let [path, link] = ["report", "link"].map(|name| dir.path().join(name));
        fs::write(&path, "previous").expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("permissions");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        write_file(&link, |file| file.write_all(b"new")).expect("written");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&path).expect("a file"), "new");
        assert_eq!(path.metadata().expect("a file").permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn folder_and_missing_folder_are_rejected_at_once() {
        let dir = tempfile::tempdir().expect("a folder");
        assert!(OutputFile::create(dir.path()).is_err());
        assert!(OutputFile::create(&dir.path().join("missing/report")).is_err());
    }

    #[test]
    fn device_is_written_to_and_stays() {
        let null = Path::new("/dev/null");
        write_file(null, |file| file.write_all(b"new")).expect("written");
        OutputFile::create(null).and_then(OutputFile::put).expect("put");
        assert!(!null.metadata().expect("a device").is_file());
    }
}
