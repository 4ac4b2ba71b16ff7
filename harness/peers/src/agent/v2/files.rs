//! Reading and writing files. In version 2 the agent does that itself.

use std::path::PathBuf;

use agent_client_protocol::v2::schema::{AbsolutePath, ToolCallContent, ToolCallLocation, ToolKind};
use serde_json::json;

use super::{patch, permission, turn::Turn};
use crate::agent::{
    fs::part_of,
    intent::{ReadFile, WriteFile},
    permission::Answer,
    turn::Cancelled,
};

/// Reads one file and quotes it.
pub(super) fn read(turn: &Turn, intent: &ReadFile) {
    let (text, is_read) = match read_as_tool(turn, intent) {
        Ok(text) => (text, true),
        Err(problem) => (problem, false),
    };
    let start = if is_read { "The file says:\n" } else { "The file could not be read: " };
    turn.say(&format!("{start}{text}"));
}

/// Reads several files and quotes one per line.
pub(super) fn read_all(turn: &Turn, paths: Vec<PathBuf>) {
    let mut lines = Vec::new();
    for path in paths {
        let intent = ReadFile { path, line: None, limit: None };
        let text = read_as_tool(turn, &intent).unwrap_or_else(|problem| format!("({problem})"));
        lines.push(format!("{}: {text}", intent.path.display()));
    }
    turn.say(&lines.join("\n"));
}

fn read_as_tool(turn: &Turn, intent: &ReadFile) -> Result<String, String> {
    let path = turn.session.resolve(&intent.path);
    let title = format!("Read {}", intent.path.display());
    let tool = turn.announce("read_file", &title, ToolKind::Read, |call| {
        let place = ToolCallLocation::new(AbsolutePath::new(&path)).line(intent.line.filter(|line| *line > 0));
        call.locations(vec![place]).raw_input(json!({"path": path, "line": intent.line, "limit": intent.limit}))
    });
    tool.begin();
    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
    let text = text.map(|text| part_of(&text, intent.line, intent.limit));
    match &text {
        Ok(text) => {
            tool.append(text);
            tool.complete(json!({"content": text}));
        }
        Err(problem) => tool.fail(problem),
    }
    text
}

/// Writes one file, with permission unless the intent says otherwise.
pub(super) async fn write(turn: &Turn, intent: WriteFile) -> Result<(), Cancelled> {
    let path = turn.session.resolve(&intent.path);
    let diff = patch::of_write(&path, std::fs::read_to_string(&path).ok().as_deref(), &intent.content);
    let title = format!("Write {}", intent.path.display());
    let tool = turn.announce("write_file", &title, ToolKind::Edit, |call| {
        call.content(vec![ToolCallContent::Diff(diff)])
            .locations(vec![ToolCallLocation::new(AbsolutePath::new(&path))])
            .raw_input(json!({"path": path, "content": intent.content}))
    });
    if !turn.session.is_inside(&path) {
        tool.fail("the path lies outside of the session's directories");
        turn.say("I write only in the session's directories.");
        return Ok(());
    }
    let subject = permission::about_call(&tool);
    let answer = if intent.ask { permission::ask(turn, &tool, &title, subject).await? } else { Answer::Allowed };
    if answer != Answer::Allowed {
        permission::refuse(turn, tool, answer);
        return Ok(());
    }
    tool.begin();
    match std::fs::write(&path, &intent.content) {
        Ok(()) => {
            tool.complete(json!({"written": intent.content.len()}));
            turn.say(&format!("I wrote {}.", intent.path.display()));
        }
        Err(problem) => {
            tool.fail(&problem.to_string());
            turn.say(&format!("The file could not be written: {problem}"));
        }
    }
    Ok(())
}
