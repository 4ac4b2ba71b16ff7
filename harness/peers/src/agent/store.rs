//! Sessions on disk, one JSON file each, so that another process can load and list them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use agent_client_protocol::v1::schema::{SessionInfo, SessionUpdate};
use serde::{Deserialize, Serialize};

use super::clock;

/// The data of a session that outlives the process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub id: String,
    pub cwd: PathBuf,
    pub roots: Vec<PathBuf>,
    pub title: Option<String>,
    /// Microseconds since the Unix epoch, as is `updated`.
    pub created: u64,
    pub updated: u64,
    pub mode: String,
    pub model: String,
    pub verbose: bool,
    pub turns: u64,
    pub last_message: u64,
    pub last_tool: u64,
    /// The conversation as the updates that replay it.
    pub history: Vec<SessionUpdate>,
}

impl Record {
    /// Describes the session for `session/list`.
    pub(super) fn info(&self) -> SessionInfo {
        SessionInfo::new(self.id.clone(), &self.cwd)
            .additional_directories(self.roots.clone())
            .title(self.title.clone())
            .updated_at(clock::iso8601(self.updated))
    }

    /// Returns the place of the session in the listing, which later changes do not move.
    pub(super) fn cursor(&self) -> String {
        format!("{:020}-{}", self.created, self.id)
    }
}

/// The folder with the session files.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    /// Opens the folder below `$HOME`; it is created when the first session is saved.
    pub(super) fn open() -> Self {
        let home = std::env::var_os("HOME").map_or_else(std::env::temp_dir, PathBuf::from);
        Self { folder: home.join(".acp-reference-agent/sessions") }
    }

    /// Saves a session, replacing its earlier file in one step.
    pub(super) fn save(&self, record: &Record) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let partial = self.folder.join(format!("{}.{}.partial", record.id, std::process::id()));
        fs::write(&partial, serde_json::to_vec(record)?)?;
        fs::rename(partial, self.path(&record.id))
    }

    /// Reads one session, if there is one with that id.
    pub(super) fn find(&self, id: &str) -> Option<Record> {
        // An id is a file name here, never a path.
        let is_plain = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        is_plain.then(|| read(&self.path(id))).flatten()
    }

    /// Reads all sessions, oldest first.
    pub(super) fn all(&self) -> Vec<Record> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_session = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
        let mut records: Vec<Record> =
            entries.map(|entry| entry.path()).filter(is_session).filter_map(|path| read(&path)).collect();
        records.sort_by_key(Record::cursor);
        records
    }

    /// Removes a session; one that does not exist is already removed.
    pub(super) fn delete(&self, id: &str) {
        if self.find(id).is_some() {
            // Another process may have been faster, which has the same effect.
            let _ = fs::remove_file(self.path(id));
        }
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

fn read(path: &Path) -> Option<Record> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
