//! Carries out intents. A real agent would ask its model for the next action.

use std::time::Duration;

use agent_client_protocol::v1::schema::{ContentBlock, StopReason, ToolKind};
use serde_json::{Value, json};

use super::{
    content, elicitation, extension, fs,
    intent::{Intent, prompt_text},
    permission::{self, Answer},
    plan,
    reply::describe,
    search, settings, terminal,
    tool::text_content,
    turn::{Cancelled, Turn},
    updates,
};

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
        Intent::Plan => plan::follow(turn),
        Intent::Content => content::show(turn),
        Intent::ReadFile(read) => fs::read(turn, read).await?,
        Intent::ReadFiles { paths } => fs::read_all(turn, paths).await?,
        Intent::WriteFile(write) => fs::write(turn, write).await?,
        Intent::RunCommand(command) => terminal::run(turn, command).await?,
        Intent::AskPermission => ask_permission(turn).await?,
        Intent::AskAndWait => {
            turn.say("Waiting for permission.");
            ask_permission(turn).await?;
        }
        Intent::KeepBusy { ms, chunks } => keep_busy(turn, ms.map_or(BUSY, Duration::from_millis), chunks).await?,
        Intent::Search { text } => search::search(turn, &text),
        Intent::SetMode { mode_id } => match settings::switch_mode(&turn.client, &turn.session, &mode_id) {
            Ok(()) => turn.say(&format!("The mode is {mode_id} now.")),
            Err(error) => turn.say(&format!("The mode stays: {}", describe(&error))),
        },
        Intent::Commands => {
            settings::announce_commands(&turn.client, &turn.session);
            turn.say("These are my commands.");
        }
        Intent::Info { title } => updates::info(turn, title),
        Intent::Usage => updates::usage(turn),
        Intent::Notice { title } => updates::notice(turn, title),
        Intent::Compact => updates::compact(turn),
        Intent::ToolKinds => {
            for (kind, title) in TOOL_KINDS {
                let tool = turn.announce(title, kind, |call| call);
                tool.begin();
                tool.complete(text_content("done"), Value::Null);
            }
            turn.say("I used a tool of every kind.");
        }
        Intent::FailTool => {
            let tool = turn.announce("Fail", ToolKind::Other, |call| call);
            tool.begin();
            tool.fail("this tool always fails");
            turn.say("The tool failed.");
        }
        Intent::ModelError => {
            let model = settings::fall_back(&turn.client, &turn.session);
            turn.say(&format!("The model failed. From now on, {model} answers."));
        }
        Intent::RunInBackground(_) => turn.say("Version 1 of the protocol cannot express that."),
        Intent::Refuse => {
            turn.say("I refuse.");
            return Ok(StopReason::Refusal);
        }
        Intent::MaxTokens => {
            turn.say("This is cut off bec");
            return Ok(StopReason::MaxTokens);
        }
        Intent::MaxTurnRequests => {
            turn.say("I asked the model too often.");
            return Ok(StopReason::MaxTurnRequests);
        }
        Intent::Ext => extension::exchange(turn).await?,
        Intent::Elicit(wish) => elicitation::elicit(turn, wish).await?,
        Intent::CallMcpTool { server, tool, arguments } => call_mcp_tool(turn, &server, &tool, arguments).await?,
    }
    Ok(StopReason::EndTurn)
}

async fn ask_permission(turn: &Turn) -> Result<(), Cancelled> {
    let tool = turn.announce("Ask for permission", ToolKind::Other, |call| call);
    let answer = permission::ask_once(turn, &tool).await?;
    match answer {
        Answer::Allowed => {
            tool.begin();
            tool.complete(text_content("allowed"), json!({"outcome": "allowed"}));
        }
        Answer::Rejected | Answer::Dismissed => tool.fail(answer.word()),
    }
    turn.say(answer.word());
    Ok(())
}

/// Sends a chunk at once and then one every 10 ms, `chunks` of them at most, until the time is up.
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

async fn call_mcp_tool(turn: &Turn, server: &str, name: &str, arguments: Value) -> Result<(), Cancelled> {
    let title = format!("{server}: {name}");
    let tool = turn.announce(&title, ToolKind::Other, |call| call.raw_input(arguments.clone()));
    tool.begin();
    match turn.unless_cancelled(turn.session.call_mcp_tool(server, name, arguments)).await? {
        Ok(text) => {
            tool.complete(text_content(&text), json!({"text": text}));
            turn.say(&text);
        }
        Err(problem) => {
            tool.fail(&problem);
            turn.say(&format!("The MCP tool failed: {problem}"));
        }
    }
    Ok(())
}
