//! Search for a text in the files below the session's cwd.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    turn::Turn,
    update::{Location, ToolBegins, ToolCall},
};

/// Largest number of files that are searched; the agent is not meant for large trees.
const MAX_FILES: usize = 1_000;
/// Largest number of places that are reported.
const MAX_HITS: usize = 20;

/// Searches and reports the places with 1-based line numbers.
pub(super) fn search(turn: &Turn, text: &str) {
    let cwd = turn.session.resolve(Path::new(""));
    let tool = turn.announce(ToolCall {
        locations: vec![Location { path: cwd.clone(), line: None }],
        input: Some(json!({"text": text, "cwd": cwd})),
        ..ToolCall::new("search", &format!("Search for {text}"), "search")
    });
    let hits = find(&cwd, text);
    let place = |hit: &Location| format!("{}:{}", hit.path.display(), hit.line.unwrap_or_default());
    let places: Vec<String> = hits.iter().map(place).collect();
    tool.begin_with(ToolBegins { locations: Some(hits), ..ToolBegins::default() });
    tool.complete(&*places.join("\n"), json!({"places": places}));
    turn.say(&format!("Found {} places.\n{}", places.len(), places.join("\n")));
}

fn find(cwd: &Path, text: &str) -> Vec<Location> {
    let mut files = Vec::new();
    collect(cwd, &mut files);
    let hits = files.into_iter().flat_map(|path| {
        let content = fs::read_to_string(&path).unwrap_or_default();
        let hits = content.lines().zip(1..).filter(|(line, _)| line.contains(text));
        hits.map(|(_, line)| Location { path: path.clone(), line: Some(line) }).collect::<Vec<_>>()
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
