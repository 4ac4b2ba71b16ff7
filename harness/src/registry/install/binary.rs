//! Archives with a program.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::super::entry::BinaryTarget;
use super::{Found, NotInstalled, Site};

/// The interpreters that an entry may name as its program; they come from PATH.
const INTERPRETERS: [&str; 5] = ["node", "python", "python3", "java", "ruby"];

/// The longest path below the unpacked archive at which the program is searched.
const DEEPEST: usize = 6;

/// Downloads or copies the archive, compares its digest, and unpacks it.
pub(super) async fn install(site: &Site<'_>, target: &BinaryTarget) -> Result<Found, NotInstalled> {
    let archive = site.folder.join(file_name(&target.archive));
    if let Some(path) = target.archive.strip_prefix("file://") {
        fs::copy(path, &archive).map_err(|error| NotInstalled::new(format!("cannot copy {path}: {error}")))?;
    } else {
        download(site, &target.archive, &archive).await?;
    }
    let digest = sha256(&archive).map_err(|error| NotInstalled::io(&archive, &error))?;
    if let Some(wanted) = target.sha256.as_deref().filter(|wanted| !wanted.eq_ignore_ascii_case(&digest)) {
        let text = format!("the SHA-256 of {} is {digest}; the entry has {wanted}", target.archive);
        return Err(NotInstalled::new(text));
    }
    let unpacked = site.folder.join("unpacked");
    fs::create_dir(&unpacked).map_err(|error| NotInstalled::io(&unpacked, &error))?;
    unpack(site, &archive, &unpacked, target).await?;
    let (program, cwd) = if INTERPRETERS.contains(&target.cmd.as_str()) {
        (PathBuf::from(&target.cmd), Some(unpacked))
    } else {
        (program(&unpacked, &target.cmd)?, None)
    };
    Ok(Found { program, cwd, digest: Some(format!("sha256-{digest}")) })
}

/// Downloads a file; also the index of a registry.
pub(super) async fn download(site: &Site<'_>, url: &str, file: &Path) -> Result<(), NotInstalled> {
    let (file, most) = (file.display().to_string(), site.install.limits.disk.to_string());
    let quiet = ["--fail", "--silent", "--show-error", "--location", "--proto", "=https,http"];
    let args = [quiet.as_slice(), &["--max-filesize", &most, "--output", &file, "--", url]].concat();
    site.run("curl", &args, &[])
        .await
        .map_err(|failure| NotInstalled { reason: format!("cannot download {url}: {}", failure.reason), ..failure })
}

async fn unpack(site: &Site<'_>, archive: &Path, into: &Path, target: &BinaryTarget) -> Result<(), NotInstalled> {
    let name = file_name(&target.archive);
    let (from, folder) = (archive.display().to_string(), into.display().to_string());
    if name.ends_with(".zip") {
        return site.run("unzip", &["-q", "-o", &from, "-d", &folder], &[]).await;
    }
    let is_tar = [".tar", ".tgz", ".tbz2", ".txz"].iter().any(|end| name.ends_with(end)) || name.contains(".tar.");
    if is_tar {
        return site.run("tar", &["-xf", &from, "-C", &folder, "--no-same-owner"], &[]).await;
    }
    // The file is the program itself.
    let place = into.join(file_name(&target.cmd));
    fs::copy(archive, &place).map(drop).map_err(|error| NotInstalled::io(&place, &error))
}

/// Finds the program at its path in the archive, or else by its name below it, and makes it executable.
fn program(unpacked: &Path, cmd: &str) -> Result<PathBuf, NotInstalled> {
    let missing = || NotInstalled::new(format!("{cmd} is not in the archive"));
    let direct = unpacked.join(cmd);
    let found = if direct.is_file() { Some(direct) } else { search(unpacked, &file_name(cmd), DEEPEST) };
    // A link in the archive may lead out of it.
    let path = found.and_then(|path| path.canonicalize().ok()).ok_or_else(missing)?;
    let root = unpacked.canonicalize().map_err(|error| NotInstalled::io(unpacked, &error))?;
    if !path.starts_with(&root) {
        return Err(missing());
    }
    let mode = path.metadata().map_err(|error| NotInstalled::io(&path, &error))?.permissions().mode();
    fs::set_permissions(&path, Permissions::from_mode(mode | 0o755))
        .map_err(|error| NotInstalled::io(&path, &error))?;
    Ok(path)
}

fn search(folder: &Path, name: &str, depth: usize) -> Option<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).ok()?.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let here = entries.iter().find(|entry| !is_folder(entry) && entry.file_name() == name);
    here.map(fs::DirEntry::path).or_else(|| {
        let below = entries.iter().filter(|entry| depth > 0 && is_folder(entry));
        below.filter_map(|entry| search(&entry.path(), name, depth - 1)).next()
    })
}

/// Returns the last part of a path or an address, without a query.
fn file_name(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.is_empty() || name.starts_with('.') { "archive".to_owned() } else { name.to_owned() }
}

fn sha256(file: &Path) -> io::Result<String> {
    let mut digest = Sha256::new();
    io::copy(&mut File::open(file)?, &mut digest)?;
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_last_part_of_their_address() {
        for (address, name) in
            [("https://a/b/c.tar.gz?x=/y", "c.tar.gz"), ("./a/b", "b"), ("https://a/..", "archive"), ("", "archive")]
        {
            assert_eq!(file_name(address), name);
        }
    }

    #[test]
    fn program_is_inside_the_archive() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir_all(root.join("a/bin")).expect("folders");
        fs::write(root.join("a/bin/agent"), "x").expect("a file");
        let found = program(root, "./agent").expect("by its name");
        assert_eq!(found.metadata().expect("a file").permissions().mode() & 0o111, 0o111);
        std::os::unix::fs::symlink("/bin/sh", root.join("link")).expect("a link");
        assert!(program(root, "link").is_err() && program(root, "other").is_err());
    }
}
