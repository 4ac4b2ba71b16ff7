//! Text files: read and write requests, limited to permitted directories.
//!
//! This limit keeps an agent from mistakes outside its workspace; it does not protect against a process that swaps
//! links while a request is served.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::answer::{Answer, Refusal};
use super::params::Params;

/// The largest file that is read, in bytes: far above what cases use, but small enough for parallel cases. Memory holds
/// several copies of an answer while it is built.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// The most symbolic links in one path, as on Linux.
const MAX_LINKS: usize = 40;

/// The directories below which files are served.
#[derive(Debug)]
pub(super) struct Files {
    roots: Vec<PathBuf>,
}

impl Files {
    pub(super) fn new(workspace: &Path) -> Self {
        let mut files = Self { roots: Vec::new() };
        files.allow(workspace);
        files
    }

    /// Permits files below `root`, unless it is relative or does not exist.
    pub(super) fn allow(&mut self, root: &Path) {
        if let (true, Ok(root)) = (root.is_absolute(), root.canonicalize()) {
            self.roots.push(root);
        }
    }

    /// Answers `fs/read_text_file`.
    pub(super) fn read(&self, params: &Value) -> Result<Answer, Refusal> {
        let params = Params::new(params)?;
        params.session()?;
        let path = self.permitted(params.string("path")?)?;
        let line = params.optional_count("line")?.unwrap_or(1);
        let limit = params.optional_count("limit")?;
        if line == 0 {
            return Err(Refusal::invalid("`line` counts from 1"));
        }
        let text = read_text(&path)?;
        Ok(Answer::Result(json!({ "content": window(&text, line, limit) })))
    }

    /// Answers `fs/write_text_file`.
    ///
    /// > The Client **MUST** create the file if it doesn't exist.
    pub(super) fn write(&self, params: &Value) -> Result<Answer, Refusal> {
        let params = Params::new(params)?;
        params.session()?;
        let content = params.string("content")?;
        let path = self.permitted(params.string("path")?)?;
        write_text(&path, content)?;
        Ok(Answer::done())
    }

    /// Resolves the links in the path of a request, and refuses a path outside the permitted directories.
    fn permitted(&self, path: &str) -> Result<PathBuf, Refusal> {
        let asked = Path::new(path);
        if !asked.is_absolute() {
            return Err(Refusal::invalid(format!("path `{path}` is not absolute")));
        }
        if path.contains('\0') {
            return Err(Refusal::invalid("path contains a NUL character"));
        }
        let real = resolve(asked).map_err(|error| failure(asked, &error))?;
        if self.roots.iter().any(|root| real.starts_with(root)) {
            Ok(real)
        } else {
            Err(Refusal::invalid(format!("path `{path}` is outside the workspace")))
        }
    }
}

/// Follows every symbolic link and `..` of an absolute path, any part of which may be missing.
///
/// `fs::canonicalize` is not enough: a link to a missing file would look like a missing file, and writing to it would
/// create the file elsewhere.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut real = PathBuf::new();
    let mut rest: VecDeque<PathBuf> = parts(path).collect();
    let mut n_links = 0;
    while let Some(part) = rest.pop_front() {
        if part.as_os_str() == ".." {
            real.pop();
            continue;
        }
        // An absolute part, which starts the path or the target of a link, replaces everything before it.
        real.push(part);
        if real.is_symlink() {
            n_links += 1;
            if n_links > MAX_LINKS {
                return Err(io::Error::other("too many symbolic links"));
            }
            let target = fs::read_link(&real)?;
            real.pop();
            for part in parts(&target).rev() {
                rest.push_front(part);
            }
        }
    }
    Ok(real)
}

fn parts(path: &Path) -> impl DoubleEndedIterator<Item = PathBuf> {
    path.components().filter(|part| *part != Component::CurDir).map(|part| PathBuf::from(part.as_os_str()))
}

fn read_text(path: &Path) -> Result<String, Refusal> {
    let metadata = fs::metadata(path).map_err(|error| failure(path, &error))?;
    check_regular(path, &metadata)?;
    let file = fs::File::open(path).map_err(|error| failure(path, &error))?;
    let mut bytes = Vec::new();
    // The limit applies to the bytes read, not to the size found before, since the file may be growing.
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| failure(path, &error))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(Refusal::failed(format!("`{}` is larger than {MAX_FILE} bytes", path.display())));
    }
    String::from_utf8(bytes).map_err(|_| Refusal::failed(format!("`{}` is not UTF-8 text", path.display())))
}

/// Returns the part of `text` that begins at the 1-based `line`, at most `limit` lines, with their line endings.
fn window(text: &str, line: u64, limit: Option<u64>) -> String {
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let lines = text.split_inclusive('\n').skip(count(line - 1));
    lines.take(limit.map_or(usize::MAX, count)).collect()
}

fn write_text(path: &Path, content: &str) -> Result<(), Refusal> {
    let failed = |error: io::Error| Refusal::failed(format!("cannot write `{}`: {error}", path.display()));
    if let Ok(metadata) = fs::metadata(path) {
        check_regular(path, &metadata)?;
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::write(path, content).map_err(failed)
}

/// Refuses everything but regular files, in particular pipes, since opening one would block.
fn check_regular(path: &Path, metadata: &fs::Metadata) -> Result<(), Refusal> {
    if metadata.is_dir() {
        Err(Refusal::failed(format!("`{}` is a directory", path.display())))
    } else if metadata.is_file() {
        Ok(())
    } else {
        Err(Refusal::failed(format!("`{}` is not a regular file", path.display())))
    }
}

fn failure(path: &Path, error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            // The SDKs use these words for this code: some agents rely on them to learn that a file does not exist yet.
            Refusal::not_found(format!("Resource not found: {}", path.display()))
        }
        _ => Refusal::failed(format!("cannot read `{}`: {error}", path.display())),
    }
}
