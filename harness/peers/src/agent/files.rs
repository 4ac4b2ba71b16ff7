//! Reads and writes files, through the client if it offers that.

use std::path::{Path, PathBuf};

use futures::future::join_all;
use serde_json::json;

use super::{
    intent::{ReadFile, WriteFile},
    permission::{self, Answer},
    turn::{Cancelled, Turn},
    update::{Diff, Location, ToolCall},
    v1::tools as client_tools,
};

/// Reads one file and quotes it.
pub(super) async fn read(turn: &Turn, intent: ReadFile) -> Result<(), Cancelled> {
    match read_as_tool(turn, &intent).await? {
        Ok(text) => turn.say(&format!("The file says:\n{text}")),
        Err(problem) => turn.say(&format!("The file could not be read: {problem}")),
    }
    Ok(())
}

/// Reads several files at the same time and quotes one per line.
pub(super) async fn read_all(turn: &Turn, paths: Vec<PathBuf>) -> Result<(), Cancelled> {
    let intents: Vec<_> = paths.into_iter().map(|path| ReadFile { path, line: None, limit: None }).collect();
    let reads = join_all(intents.iter().map(|intent| read_as_tool(turn, intent))).await;
    let mut lines = Vec::new();
    for (intent, read) in intents.iter().zip(reads) {
        let text = read?.unwrap_or_else(|problem| format!("({problem})"));
        lines.push(format!("{}: {text}", intent.path.display()));
    }
    turn.say(&lines.join("\n"));
    Ok(())
}

async fn read_as_tool(turn: &Turn, intent: &ReadFile) -> Result<Result<String, String>, Cancelled> {
    let path = turn.session.resolve(&intent.path);
    let title = format!("Read {}", intent.path.display());
    let tool = turn.announce(ToolCall {
        locations: vec![Location { path: path.clone(), line: intent.line }],
        input: Some(json!({"path": path, "line": intent.line, "limit": intent.limit})),
        ..ToolCall::new("read_file", &title, "read")
    });
    tool.begin();
    let text = if turn.client.capabilities().reads_files {
        client_tools::read_file(turn, &path, intent.line, intent.limit).await?
    } else {
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        text.map(|text| part_of(&text, intent.line, intent.limit))
    };
    match &text {
        Ok(text) => tool.complete(text.as_str(), json!({"content": text})),
        Err(problem) => tool.fail(problem),
    }
    Ok(text)
}

/// Returns `limit` lines from the 1-based `line` on.
fn part_of(text: &str, line: Option<u32>, limit: Option<u32>) -> String {
    let skip = line.map_or(0, |line| line.saturating_sub(1)) as usize;
    let take = limit.map_or(usize::MAX, |limit| limit as usize);
    text.split_inclusive('\n').skip(skip).take(take).collect()
}

/// Writes one file, with permission unless the intent skips it.
pub(super) async fn write(turn: &Turn, intent: WriteFile) -> Result<(), Cancelled> {
    let path = turn.session.resolve(&intent.path);
    let title = format!("Write {}", intent.path.display());
    let old = std::fs::read_to_string(&path).ok();
    let tool = turn.announce(ToolCall {
        locations: vec![Location { path: path.clone(), line: None }],
        input: Some(json!({"path": path, "content": intent.content})),
        diff: Some(Diff { path: path.clone(), from: None, old, new: intent.content.clone() }),
        ..ToolCall::new("write_file", &title, "edit")
    });
    if !turn.session.is_inside(&path) {
        tool.fail("the path lies outside of the session's directories");
        turn.say("I write only in the session's directories.");
        return Ok(());
    }
    let answer = if intent.ask { permission::ask(turn, &tool, &title, None).await? } else { Answer::Allowed };
    if answer != Answer::Allowed {
        permission::refuse(turn, tool, answer);
        return Ok(());
    }
    tool.begin();
    match write_text(turn, &path, &intent.content).await? {
        Ok(()) => {
            tool.complete(None, json!({"written": intent.content.len()}));
            turn.say(&format!("I wrote {}.", intent.path.display()));
        }
        Err(problem) => {
            tool.fail(&problem);
            turn.say(&format!("The file could not be written: {problem}"));
        }
    }
    Ok(())
}

async fn write_text(turn: &Turn, path: &Path, content: &str) -> Result<Result<(), String>, Cancelled> {
    if turn.client.capabilities().writes_files {
        return client_tools::write_file(turn, path, content).await;
    }
    turn.check()?;
    Ok(std::fs::write(path, content).map_err(|error| error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::part_of;

    #[test]
    fn counts_lines_from_one() {
        let text = "a\nb\nc\n";
        assert_eq!(part_of(text, None, None), text);
        assert_eq!(part_of(text, Some(2), Some(1)), "b\n");
        assert_eq!(part_of(text, Some(9), None), "");
    }
}
