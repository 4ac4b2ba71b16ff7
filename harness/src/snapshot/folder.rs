//! A folder of transcripts: accepted ones, and new versions next to them that wait for a review. The files have the
//! format of insta, so that `cargo insta review` shows and accepts them too.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::text::{Bound, TranscriptChanges, changes};
use crate::output_file::write_file;

/// A folder in which the transcript of a case is `<case>.snap`.
#[derive(Debug, Clone)]
pub struct SnapshotFolder {
    dir: PathBuf,
    writes: bool,
}

/// The result of comparing a transcript with the accepted one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// It is the same.
    Same,
    /// The first one for this case; it is now the accepted one.
    First,
    /// The case has no accepted transcript, and this run may not write one.
    Missing,
    /// It differs.
    Differs(TranscriptChanges),
}

/// A transcript that waits for a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The id of the case.
    pub case: String,
    new: PathBuf,
    kept: PathBuf,
}

impl SnapshotFolder {
    /// Names a folder, which is created by the first write; without `writes`, nothing is written.
    pub const fn new(dir: PathBuf, writes: bool) -> Self {
        Self { dir, writes }
    }

    /// Compares the transcript of a case with the accepted one. The first one is accepted at once; one that differs is
    /// written next to the accepted one.
    ///
    /// # Errors
    ///
    /// Errors of reading and writing.
    pub fn compare(&self, case: &str, text: &str) -> io::Result<Kept> {
        let (path, new) = (self.dir.join(format!("{case}.snap")), self.dir.join(format!("{case}.snap.new")));
        let file = format!("---\nsource: {case}\n---\n{text}");
        let kept = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if self.writes {
                    fs::create_dir_all(path.parent().unwrap_or(&self.dir))?;
                    write_file(&path, |out| out.write_all(file.as_bytes()))?;
                    return Ok(Kept::First);
                }
                return Ok(Kept::Missing);
            }
            other => other?,
        };
        let found = changes(content(&kept), text, Bound::Glance);
        if self.writes {
            match &found {
                Some(_) => write_file(&new, |out| out.write_all(file.as_bytes()))?,
                None => ignore_missing(fs::remove_file(&new))?,
            }
        }
        Ok(found.map_or(Kept::Same, Kept::Differs))
    }

    /// Removes the new version, since it is not a valid observation.
    ///
    /// # Errors
    ///
    /// It cannot be removed.
    pub fn withdraw(&self, case: &str) -> io::Result<()> {
        if self.writes { ignore_missing(fs::remove_file(self.dir.join(format!("{case}.snap.new")))) } else { Ok(()) }
    }
}

/// Returns the content of a file without its header, which lies between two lines `---`. insta writes no empty lines at
/// the end.
fn content(file: &str) -> &str {
    file.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).map_or(file, |(_, content)| content)
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Lists the transcripts in a folder that wait for a review, in the order of the cases.
///
/// # Errors
///
/// A folder cannot be read.
pub fn waiting(dir: &Path) -> io::Result<Vec<Waiting>> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let (kind, new) = entry.map(|entry| (entry.file_type(), entry.path()))?;
            if kind?.is_dir() {
                folders.push(new);
            } else if new.extension() == Some(OsStr::new("new")) {
                let kept = new.with_extension("");
                let below = kept.strip_prefix(dir).unwrap_or(&kept).with_extension("");
                // Other files may have the same ending.
                if kept.extension() == Some(OsStr::new("snap")) {
                    found.push(Waiting { case: below.to_string_lossy().replace('\\', "/"), new, kept });
                }
            }
        }
    }
    found.sort_by(|a, b| a.case.cmp(&b.case));
    Ok(found)
}

/// Replaces the accepted transcript with the new version.
pub fn accept(waiting: &Waiting) -> io::Result<()> {
    fs::rename(&waiting.new, &waiting.kept)
}

/// Removes the new version.
pub fn reject(waiting: &Waiting) -> io::Result<()> {
    fs::remove_file(&waiting.new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_transcript_waits_next_to_the_accepted_one() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let folder = SnapshotFolder::new(dir.path().join("kept"), true);
        let case = "v1/agent/fs/read@2.5";
        let kept = dir.path().join("kept/v1/agent/fs/read@2.5.snap");
        let text = || fs::read_to_string(&kept).map(|file| content(&file).to_owned());
        assert_eq!(folder.compare(case, "a\n")?, Kept::First);
        assert_eq!(folder.compare(case, "a\n")?, Kept::Same);
        assert!(matches!(folder.compare(case, "b\n")?, Kept::Differs(_)));
        let found = waiting(&dir.path().join("kept"))?;
        assert_eq!(found.iter().map(|one| one.case.as_str()).collect::<Vec<_>>(), [case]);
        reject(&found[0])?;
        assert_eq!((text()?.as_str(), waiting(dir.path())?.len()), ("a\n", 0));
        folder.compare(case, "b\n")?;
        accept(&waiting(&dir.path().join("kept"))?[0])?;
        assert_eq!((text()?.as_str(), waiting(dir.path())?.len()), ("b\n", 0));
        Ok(())
    }

    #[test]
    fn equal_transcript_removes_the_waiting_one() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let folder = SnapshotFolder::new(dir.path().to_owned(), true);
        for text in ["a\n", "b\n", "a\n"] {
            folder.compare("one", text)?;
        }
        assert_eq!(waiting(dir.path())?, []);
        Ok(())
    }

    #[test]
    fn read_only_folder_stays_unchanged() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        SnapshotFolder::new(dir.path().to_owned(), true).compare("one", "a\n")?;
        let folder = SnapshotFolder::new(dir.path().to_owned(), false);
        assert_eq!(folder.compare("two", "a\n")?, Kept::Missing);
        assert!(matches!(folder.compare("one", "b\n")?, Kept::Differs(_)));
        assert_eq!((fs::read_dir(dir.path())?.count(), folder.compare("one", "a\n")?), (1, Kept::Same));
        Ok(())
    }
}
