//! Reads and writes files, through the client if it offers that.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    Diff, ReadTextFileRequest, ToolCallContent, ToolCallLocation, ToolKind, WriteTextFileRequest,
};
use futures::future::join_all;
use serde_json::json;

use super::{
    intent::{ReadFile, WriteFile},
    permission::{self, Answer},
    reply::describe,
    tool::text_content,
    turn::{Cancelled, Turn},
};

/// Reads one file and quotes it.
pub(super) async fn read(turn: &Turn, intent: ReadFile) -> Result<(), Cancelled> {
    let (text, is_read) = match read_as_tool(turn, &intent).await? {
        Ok(text) => (text, true),
        Err(problem) => (problem, false),
    };
    let start = if is_read { "The file says:\n" } else { "The file could not be read: " };
    turn.say(&format!("{start}{text}"));
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
    let tool = turn.announce(&title, ToolKind::Read, |call| {
        call.locations(vec![ToolCallLocation::new(&path).line(intent.line)])
            .raw_input(json!({"path": path, "line": intent.line, "limit": intent.limit}))
    });
    tool.begin();
    let text = read_text(turn, &path, intent.line, intent.limit).await?;
    match &text {
        Ok(text) => tool.complete(text_content(text), json!({"content": text})),
        Err(problem) => tool.fail(problem),
    }
    Ok(text)
}

async fn read_text(
    turn: &Turn,
    path: &Path,
    line: Option<u32>,
    limit: Option<u32>,
) -> Result<Result<String, String>, Cancelled> {
    if turn.client.capabilities().reads_files {
        let request = ReadTextFileRequest::new(turn.session.id.clone(), path).line(line).limit(limit);
        let response = turn.request(request).await?;
        return Ok(response.map(|response| response.content).map_err(|error| describe(&error)));
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    Ok(text.map(|text| part_of(&text, line, limit)))
}

/// Returns `limit` lines from the 1-based `line` on.
pub(super) fn part_of(text: &str, line: Option<u32>, limit: Option<u32>) -> String {
    let skip = line.map_or(0, |line| line.saturating_sub(1)) as usize;
    let take = limit.map_or(usize::MAX, |limit| limit as usize);
    text.split_inclusive('\n').skip(skip).take(take).collect()
}

/// Writes one file, with permission unless the intent skips it.
pub(super) async fn write(turn: &Turn, intent: WriteFile) -> Result<(), Cancelled> {
    let path = turn.session.resolve(&intent.path);
    let diff = Diff::new(&path, &intent.content).old_text(std::fs::read_to_string(&path).ok());
    let title = format!("Write {}", intent.path.display());
    let tool = turn.announce(&title, ToolKind::Edit, |call| {
        call.content(vec![ToolCallContent::Diff(diff)])
            .locations(vec![ToolCallLocation::new(&path)])
            .raw_input(json!({"path": path, "content": intent.content}))
    });
    if !turn.session.is_inside(&path) {
        tool.fail("the path lies outside of the session's directories");
        turn.say("I write only in the session's directories.");
        return Ok(());
    }
    let answer = if intent.ask { permission::ask(turn, &tool).await? } else { Answer::Allowed };
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
        let request = WriteTextFileRequest::new(turn.session.id.clone(), path, content);
        return Ok(turn.request(request).await?.map(|_| ()).map_err(|error| describe(&error)));
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
