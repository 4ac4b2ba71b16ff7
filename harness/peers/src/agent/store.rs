//! Sessions on disk, one file each, so that another process can load and list them. Each line of a file is the session
//! as JSON, and the last one counts.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};

use super::{
    clock,
    settings::{EFFORTS, MODELS, MODES},
    update::Update,
};

/// The largest number of sessions on one page of a listing.
const PAGE_SIZE: usize = 5;

/// How many sessions this process created.
static N_CREATED: AtomicU64 = AtomicU64::new(0);

/// Everything of a session that outlives the process.
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
    pub effort: String,
    pub verbose: bool,
    pub turns: u64,
    pub last_message: u64,
    pub last_tool: u64,
    /// The conversation as the updates that replay it.
    pub history: Vec<Update>,
    /// The ids of the messages that were inserted for prompts with a key.
    #[serde(default)]
    pub keys: BTreeMap<String, String>,
}

impl Record {
    /// Creates the record of a new session.
    pub(super) fn fresh() -> Self {
        let created = clock::now_micros();
        let number = N_CREATED.fetch_add(1, Ordering::Relaxed) + 1;
        Self {
            id: format!("ref-{created:x}-{:x}-{number:x}", std::process::id()),
            cwd: PathBuf::new(),
            roots: Vec::new(),
            title: None,
            created,
            updated: created,
            mode: MODES[0].0.to_owned(),
            model: MODELS[0].0.to_owned(),
            effort: EFFORTS[0].0.to_owned(),
            verbose: false,
            turns: 0,
            last_message: 0,
            last_tool: 0,
            history: Vec::new(),
            keys: BTreeMap::new(),
        }
    }

    /// Returns the place of the session in the listing, by its last activity.
    fn cursor(&self) -> String {
        format!("{:020}-{}", self.updated, self.id)
    }
}

/// The folder with the session files of one protocol version.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    /// Opens a folder below `$HOME/.acp-reference-agent`; it is made when the first session is saved.
    pub(super) fn open(folder: &str) -> Self {
        let home = std::env::var_os("HOME").map_or_else(std::env::temp_dir, PathBuf::from);
        Self { folder: home.join(".acp-reference-agent").join(folder) }
    }

    /// Saves a session. Adding a line is much faster than replacing the file, since ext4 creates files slowly while
    /// others are deleted.
    pub(super) fn save(&self, record: &Record) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut file = fs::OpenOptions::new().create(true).append(true).open(self.path(&record.id))?;
        // A process that was killed may have left part of a line, so each begins with its line break.
        let mut line = b"\n".to_vec();
        serde_json::to_writer(&mut line, record)?;
        file.write_all(&line)
    }

    /// Reads one session, if there is one with that id.
    pub(super) fn find(&self, id: &str) -> Option<Record> {
        // An id is a file name here, never a path.
        let is_plain = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        is_plain.then(|| read(&self.path(id))).flatten()
    }

    /// Reads one page of the sessions in a folder or in any, the most recently active first, and the cursor of the next
    /// page; none for a cursor that does not come from here.
    pub(super) fn page(&self, cwd: Option<&Path>, cursor: Option<&str>) -> Option<(Vec<Record>, Option<String>)> {
        let mut records = self.all();
        records.reverse();
        records.retain(|record| cwd.is_none_or(|cwd| record.cwd == cwd));
        if let Some(cursor) = cursor {
            if !is_cursor(cursor) {
                return None;
            }
            records.retain(|record| *record.cursor() < *cursor);
        }
        let more = records.len() > PAGE_SIZE;
        records.truncate(PAGE_SIZE);
        let next = records.last().filter(|_| more).map(Record::cursor);
        Some((records, next))
    }

    /// Reads all sessions, the most recently active last.
    fn all(&self) -> Vec<Record> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_session = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
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
        self.folder.join(format!("{id}.jsonl"))
    }
}

fn read(path: &Path) -> Option<Record> {
    let lines = fs::read(path).ok()?;
    lines.rsplit(|byte| *byte == b'\n').find_map(|line| serde_json::from_slice(line).ok())
}

/// Returns whether a text has the form of the cursors that the listing hands out.
fn is_cursor(text: &str) -> bool {
    let Some((updated, id)) = text.split_once('-') else { return false };
    updated.len() == 20 && updated.chars().all(|c| c.is_ascii_digit()) && id.starts_with("ref-")
}

#[cfg(test)]
mod tests {
    use super::{Record, Store, is_cursor};

    #[test]
    fn last_whole_line_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store { folder: folder.path().to_owned() };
        let mut record = Record::fresh();
        for turns in 1..=3 {
            record.turns = turns;
            store.save(&record).expect("a file");
        }
        let path = store.path(&record.id);
        let whole = std::fs::read(&path).expect("its lines");
        std::fs::write(&path, &whole[..whole.len() - 1]).expect("a part of the last line");
        assert_eq!(store.find(&record.id).expect("the session").turns, 2);
        record.turns = 4;
        store.save(&record).expect("another line");
        assert_eq!(store.find(&record.id).expect("the session").turns, 4);
    }

    #[test]
    fn recognizes_own_cursors() {
        assert!(is_cursor("00001763683199250000-ref-6441-1-1"));
        assert!(!is_cursor("bogus"));
        assert!(!is_cursor("1763683199250000-ref-6441-1-1"));
    }
}
