//! `fs/read_text_file` and `fs/write_text_file`.

use std::{
    collections::HashMap,
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Mutex,
};

use agent_client_protocol::{Error, ErrorCode};
use serde_json::json;

use super::errors::invalid;
use crate::sync::lock;

/// The files of the user, on disk or in unsaved buffers.
#[derive(Debug)]
pub(super) struct Files {
    /// The written texts by path, for a client that saves no file.
    unsaved: Option<Mutex<HashMap<PathBuf, String>>>,
}

impl Files {
    pub(super) fn new(keeps_unsaved: bool) -> Self {
        Self { unsaved: keeps_unsaved.then(Mutex::default) }
    }

    /// Returns the text of a file, or `limit` of its lines from the 1-based `line` on.
    pub(super) fn read(&self, path: &Path, line: Option<u32>, limit: Option<u32>) -> Result<String, Error> {
        let path = absolute(path)?;
        let unsaved = self.unsaved.as_ref().and_then(|texts| lock(texts).get(path).cloned());
        let text = unsaved.map_or_else(|| read_text(path), Ok).map_err(|error| refusal(path, &error))?;
        Ok(window(&text, line, limit))
    }

    /// Writes a file.
    pub(super) fn write(&self, path: &Path, content: String) -> Result<(), Error> {
        let path = absolute(path)?;
        match &self.unsaved {
            Some(texts) => drop(lock(texts).insert(path.to_owned(), content)),
            None => write_text(path, &content).map_err(|error| refusal(path, &error))?,
        }
        Ok(())
    }
}

fn write_text(path: &Path, content: &str) -> io::Result<()> {
    // Writing to a pipe or a device might never end.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other("not a regular file"));
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content)
}

fn read_text(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    fs::read_to_string(path)
}

fn absolute(path: &Path) -> Result<&Path, Error> {
    if path.is_absolute() { Ok(path) } else { Err(invalid("the path is not absolute")) }
}

fn refusal(path: &Path, error: &io::Error) -> Error {
    let data = json!({"path": path, "reason": error.to_string()});
    if error.kind() == ErrorKind::NotFound {
        Error::new(ErrorCode::RESOURCE_NOT_FOUND, "Resource not found").data(data)
    } else {
        Error::internal_error().data(data)
    }
}

/// Returns `limit` lines from the 1-based `line` on, each with its line end unchanged.
fn window(text: &str, line: Option<u32>, limit: Option<u32>) -> String {
    let skip = line.map_or(0, |line| line.saturating_sub(1) as usize);
    let take = limit.map_or(usize::MAX, |limit| limit as usize);
    text.split_inclusive('\n').skip(skip).take(take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_count_from_one_and_keep_line_ends() {
        let table = [
            (None, None, "a\nb\r\nc\nd"),
            (Some(1), None, "a\nb\r\nc\nd"),
            (Some(2), Some(2), "b\r\nc\n"),
            (None, Some(1), "a\n"),
            (Some(4), Some(9), "d"),
            (Some(5), None, ""),
            (Some(0), Some(1), "a\n"),
            (None, Some(0), ""),
        ];
        for (line, limit, wanted) in table {
            assert_eq!(window("a\nb\r\nc\nd", line, limit), wanted, "line {line:?} limit {limit:?}");
        }
    }
}
