//! Search for a text in the files below the session's cwd.

use std::{
    fs,
    path::{Path, PathBuf},
};

use agent_client_protocol::v1::schema::{ToolCallLocation, ToolCallUpdateFields, ToolKind};
use serde_json::json;

use super::{tool::text_content, turn::Turn};

/// Largest number of files that are searched; the agent is not meant for large trees.
const MAX_FILES: usize = 1_000;
/// Largest number of places that are reported.
const MAX_HITS: usize = 20;

/// Searches and reports the places with 1-based line numbers.
pub(super) fn search(turn: &Turn, text: &str) {
    let cwd = turn.session.resolve(Path::new(""));
    let tool = turn.announce(&format!("Search for {text}"), ToolKind::Search, |call| {
        call.locations(vec![ToolCallLocation::new(&cwd)]).raw_input(json!({"text": text, "cwd": cwd}))
    });
    let hits = find(&cwd, text);
    let lines: Vec<String> = hits.iter().map(|(path, line)| format!("{}:{line}", path.display())).collect();
    let locations: Vec<_> = hits.iter().map(|(path, line)| ToolCallLocation::new(path).line(*line)).collect();
    tool.begin_with(ToolCallUpdateFields::new().locations(locations));
    tool.complete(text_content(&lines.join("\n")), json!({"places": lines}));
    turn.say(&format!("Found {} places.\n{}", lines.len(), lines.join("\n")));
}

/// Returns the places of a text, with 1-based line numbers.
pub(super) fn find(cwd: &Path, text: &str) -> Vec<(PathBuf, u32)> {
    let mut files = Vec::new();
    collect(cwd, &mut files);
    let hits = files.into_iter().flat_map(|path| {
        let content = fs::read_to_string(&path).unwrap_or_default();
        let hits = content.lines().zip(1..).filter(|(line, _)| line.contains(text));
        hits.map(|(_, number)| (path.clone(), number)).collect::<Vec<_>>()
    });
    hits.take(MAX_HITS).collect()
}

/// Collects regular files in a fixed order, without hidden ones and without following links.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if files.len() >= MAX_FILES || entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}
