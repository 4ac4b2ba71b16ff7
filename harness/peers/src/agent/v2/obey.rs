//! Obeys intents. Another agent would ask its model what to do.

use std::{path::Path, time::Duration};

use agent_client_protocol::v2::schema::{
    AbsolutePath, ContentBlock, Error as SchemaError, ErrorCode, ErrorStopReason, StopReason, ToolCallLocation,
    ToolKind,
};
use serde_json::{Value, json};

use super::{elicitation, files, intent::prompt_text, permission, settings, terminal, turn::Turn, updates};
use crate::agent::{intent::Intent, permission::Answer, reply::describe, search, turn::Cancelled};

/// Time between two chunks of a busy turn.
const BEAT: Duration = Duration::from_millis(10);
const BUSY: Duration = Duration::from_secs(30);
const TOOL_KINDS: [(ToolKind, &str); 10] = [
    (ToolKind::Read, "Read"),
    (ToolKind::Edit, "Edit"),
    (ToolKind::Delete, "Delete"),
    (ToolKind::Move, "Move"),
    (ToolKind::Search, "Search"),
    (ToolKind::Execute, "Execute"),
    (ToolKind::Think, "Think"),
    (ToolKind::Fetch, "Fetch"),
    (ToolKind::SwitchMode, "Switch mode"),
    (ToolKind::Other, "Other"),
];

/// Obeys one intent and returns the stop reason of the turn.
pub(super) async fn obey(turn: &Turn, intent: Intent, prompt: &[ContentBlock]) -> Result<StopReason, Cancelled> {
    match intent {
        Intent::Say { text } => turn.say(&text.unwrap_or_else(|| prompt_text(prompt))),
        Intent::Think { text } => {
            turn.think(text.as_deref().unwrap_or("I think."));
            turn.say("I thought about it.");
        }
        Intent::Plan => updates::plan(turn),
        Intent::Content => updates::content(turn),
        Intent::ReadFile(read) => files::read(turn, &read),
        Intent::ReadFiles { paths } => files::read_all(turn, paths),
        Intent::WriteFile(write) => files::write(turn, write).await?,
        Intent::RunCommand(command) => terminal::run(turn, command).await?,
        Intent::RunInBackground(command) => terminal::run_in_background(turn, command).await?,
        Intent::AskPermission => ask_permission(turn).await?,
        Intent::AskAndWait => {
            turn.say("Waiting for permission.");
            ask_permission(turn).await?;
        }
        Intent::KeepBusy { ms, chunks } => keep_busy(turn, ms.map_or(BUSY, Duration::from_millis), chunks).await?,
        Intent::Search { text } => search(turn, &text),
        Intent::SetMode { mode_id } => match settings::switch_mode(&turn.session, &mode_id) {
            Ok(()) => turn.say(&format!("The mode is {mode_id} now.")),
            Err(error) => turn.say(&format!("The mode stays: {}", describe(&error))),
        },
        Intent::Commands => {
            settings::announce_commands(&turn.session);
            turn.say("These are my commands.");
        }
        Intent::Info { title } => updates::info(turn, title),
        Intent::Usage => updates::usage(turn),
        Intent::Notice { title } => updates::notice(turn, title),
        Intent::Compact => updates::compact(turn),
        Intent::ToolKinds => {
            for (kind, title) in TOOL_KINDS {
                let tool = turn.announce("demonstrate", title, kind, |call| call);
                tool.begin();
                tool.append("done");
                tool.complete(Value::Null);
            }
            turn.say("I used a tool of every kind.");
        }
        Intent::FailTool => {
            let tool = turn.announce("fail", "Fail", ToolKind::Other, |call| call);
            tool.begin();
            tool.fail("this tool always fails");
            turn.say("The tool failed.");
        }
        Intent::Refuse => {
            turn.say("I refuse.");
            return Ok(StopReason::Refusal);
        }
        Intent::ModelError => {
            let error = SchemaError::new(ErrorCode::InternalError.into(), "The model failed");
            return Ok(StopReason::Error(ErrorStopReason::new().error(error)));
        }
        Intent::MaxTokens => {
            turn.say("This is cut off bec");
            return Ok(StopReason::MaxTokens);
        }
        Intent::MaxTurnRequests => {
            turn.say("I asked the model too often.");
            return Ok(StopReason::MaxTurnRequests);
        }
        Intent::Ext => updates::extension(turn).await?,
        Intent::Elicit(wish) => elicitation::elicit(turn, wish).await?,
        Intent::CallMcpTool { server, tool, arguments } => call_mcp_tool(turn, &server, &tool, arguments).await?,
    }
    Ok(StopReason::EndTurn)
}

async fn ask_permission(turn: &Turn) -> Result<(), Cancelled> {
    let title = "Ask for permission";
    let tool = turn.announce("ask", title, ToolKind::Other, |call| call);
    let answer = permission::ask_once(turn, &tool, title, permission::about_call(&tool)).await?;
    match answer {
        Answer::Allowed => {
            tool.begin();
            tool.append("allowed");
            tool.complete(json!({"outcome": "allowed"}));
        }
        Answer::Rejected | Answer::Dismissed => tool.fail(answer.word()),
    }
    turn.say(answer.word());
    Ok(())
}

/// Sends a chunk at once and then one every 10 ms, `chunks` of them at most, until the time is over.
async fn keep_busy(turn: &Turn, time: Duration, chunks: Option<u64>) -> Result<(), Cancelled> {
    let id = turn.next_message_id();
    let end = tokio::time::Instant::now() + time;
    let mut n_chunks = 0;
    while n_chunks == 0 || tokio::time::Instant::now() < end {
        if chunks.is_none_or(|limit| n_chunks < limit) {
            turn.say_part(&id, ContentBlock::from(format!("busy {n_chunks} ")));
        }
        n_chunks += 1;
        turn.pause(BEAT).await?;
    }
    Ok(())
}

/// Searches and reports the places with 1-based line numbers.
fn search(turn: &Turn, text: &str) {
    let cwd = turn.session.resolve(Path::new(""));
    let tool = turn.announce("search", &format!("Search for {text}"), ToolKind::Search, |call| {
        call.locations(vec![ToolCallLocation::new(AbsolutePath::new(&cwd))])
            .raw_input(json!({"text": text, "cwd": cwd}))
    });
    let hits = search::find(&cwd, text);
    let lines: Vec<String> = hits.iter().map(|(path, line)| format!("{}:{line}", path.display())).collect();
    let place = |(path, line): &(_, u32)| ToolCallLocation::new(AbsolutePath::new(path)).line(*line);
    tool.begin_with(|update| update.locations(hits.iter().map(place).collect::<Vec<_>>()));
    tool.append(&lines.join("\n"));
    tool.complete(json!({"places": lines}));
    turn.say(&format!("Found {} places.\n{}", lines.len(), lines.join("\n")));
}

async fn call_mcp_tool(turn: &Turn, server: &str, name: &str, arguments: Value) -> Result<(), Cancelled> {
    let title = format!("{server}: {name}");
    let tool = turn.announce(name, &title, ToolKind::Other, |call| call.raw_input(arguments.clone()));
    tool.begin();
    match turn.unless_cancelled(turn.session.call_mcp_tool(server, name, arguments)).await? {
        Ok(text) => {
            tool.append(&text);
            tool.complete(json!({"text": text}));
            turn.say(&text);
        }
        Err(problem) => {
            tool.fail(&problem);
            turn.say(&format!("The MCP tool failed: {problem}"));
        }
    }
    Ok(())
}
