//! Reads and removes the folders of a case, whatever a subject has put there.

use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// The most bytes that are read of a file.
const LONGEST: u64 = 64 << 20;

/// Reads a file that a subject may have put there: only a regular one, and at most 64 MiB of it.
///
/// # Errors
///
/// File system errors, and an error for anything but a regular file, such as a pipe, since reading it would block.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Removes a folder with everything in it. Links are removed, and never followed.
///
/// A subject may have removed the permissions of its folders, or nested them deeper than a path or the limit of open
/// files allows. The folders that a plain removal leaves are taken apart, one after the other.
pub fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => take_apart(folder),
        _ => Ok(()),
    }
}

/// Moves every folder into one flat, private folder, and removes the content of each.
fn take_apart(folder: &Path) -> io::Result<()> {
    let parent = folder.parent().unwrap_or(folder);
    let pile = tempfile::tempdir_in(parent)?;
    let mut number = 0;
    let mut put = |folder: &Path| {
        number += 1;
        let place = pile.path().join(number.to_string());
        // A folder must be writable itself before it can be moved.
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        fs::rename(folder, &place).map(|()| place)
    };
    let mut waiting = vec![put(folder)?];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(put(&entry.path())?);
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        fs::remove_dir(next)?;
    }
    pile.close()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn reads_only_regular_files() {
        let base = tempfile::tempdir().expect("a folder");
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| base.path().join(name));
        fs::write(&file, "text").expect("a file");
        symlink(&file, &link).expect("a link");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success());
        assert_eq!(read_file(&file).expect("the file"), b"text");
        assert_eq!(read_file(&link).expect("the file"), b"text");
        for other in [&pipe, base.path()] {
            assert!(read_file(other).is_err_and(|error| error.to_string().contains("regular")), "{}", other.display());
        }
    }

    #[test]
    fn removes_locked_and_nested_folders_but_no_link_targets() {
        let base = tempfile::tempdir().expect("a folder");
        let [outside, folder] = ["outside", "folder"].map(|name| base.path().join(name));
        fs::create_dir(&outside).and_then(|()| fs::write(outside.join("kept"), "")).expect("written");
        let deep = (0..50).fold(folder.clone(), |path: PathBuf, n| path.join(n.to_string()));
        fs::create_dir_all(&deep).and_then(|()| fs::write(deep.join("file"), "")).expect("written");
        symlink(&outside, folder.join("link")).and_then(|()| symlink("nowhere", deep.join("link"))).expect("linked");
        let locked = Permissions::from_mode(0o000);
        fs::set_permissions(&deep, locked.clone()).and_then(|()| fs::set_permissions(&folder, locked)).expect("set");
        take_apart(&folder).expect("removed");
        assert!(outside.join("kept").exists());
        assert_eq!(fs::read_dir(base.path()).expect("it is there").count(), 1);
    }
}
