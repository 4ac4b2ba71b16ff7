//! Carries out intents. A real agent would ask its model for the next action.

use std::{path::Path, time::Duration};

use serde_json::json;

use super::{
    configure, elicitation,
    errors::describe,
    extension, files,
    intent::{CallMcpTool, Intent, prompt_text},
    permission::{self, Answer},
    search, shows, subagent, terminal,
    turn::{Cancelled, Turn},
    update::{Block, Diff, Location, Stop, ToolCall, Update},
};

/// Time between two chunks of a busy turn.
const BEAT: Duration = Duration::from_millis(10);
const BUSY: Duration = Duration::from_secs(30);
/// The kinds of tool calls, and a title for each.
const TOOL_KINDS: [(&str, &str); 10] = [
    ("read", "Read"),
    ("edit", "Edit"),
    ("delete", "Delete"),
    ("move", "Move"),
    ("search", "Search"),
    ("execute", "Execute"),
    ("think", "Think"),
    ("fetch", "Fetch"),
    ("switch_mode", "Switch mode"),
    ("other", "Other"),
];

/// Obeys one intent and returns the stop reason of the turn.
pub(super) async fn obey(turn: &Turn, intent: Intent, prompt: &[Block]) -> Result<Stop, Cancelled> {
    match intent {
        Intent::Say { text } => turn.say(&text.unwrap_or_else(|| prompt_text(prompt))),
        Intent::Think { text } => {
            let text = text.unwrap_or_else(|| "I think.".to_owned());
            turn.session.update(Update::Thought(turn.next_message_id(), text));
            turn.say("I thought about it.");
        }
        Intent::Plan => shows::plan(turn),
        Intent::Content => shows::content(turn),
        Intent::ReadFile(read) => files::read(turn, read).await?,
        Intent::ReadFiles { paths } => files::read_all(turn, paths).await?,
        Intent::WriteFile(write) => files::write(turn, write).await?,
        Intent::RunCommand(command) => terminal::run(turn, command).await?,
        Intent::RunInBackground(command) => terminal::run_in_background(turn, command).await?,
        Intent::AskPermission => ask_permission(turn).await?,
        Intent::AskAndWait => {
            turn.say("Waiting for permission.");
            ask_permission(turn).await?;
        }
        Intent::KeepBusy { ms, chunks } => keep_busy(turn, ms.map_or(BUSY, Duration::from_millis), chunks).await?,
        Intent::Search { text } => search::search(turn, &text),
        Intent::SetMode { mode_id } => match configure::switch_mode(&turn.session, &mode_id) {
            Ok(()) => turn.say(&format!("The mode is {mode_id} now.")),
            Err(error) => turn.say(&format!("The mode stays: {}", describe(&error))),
        },
        Intent::Commands => {
            turn.session.update(Update::Commands);
            turn.say("These are my commands.");
        }
        Intent::Info { title } => shows::info(turn, title),
        Intent::Usage => shows::usage(turn),
        Intent::Notice { title } => shows::notice(turn, title),
        Intent::Compact => shows::compact(turn),
        Intent::SpawnSubagent { ms, background } => {
            subagent::spawn(turn, Duration::from_millis(ms.unwrap_or(0)), background).await?;
        }
        Intent::ToolKinds => {
            for (kind, title) in TOOL_KINDS {
                let mut call = ToolCall::new("demonstrate", title, kind);
                if kind == "move" {
                    show_move(turn, &mut call);
                }
                let tool = turn.announce(call);
                tool.begin();
                tool.complete("done", None);
            }
            turn.say("I used a tool of every kind.");
        }
        Intent::FailTool => {
            let tool = turn.announce(ToolCall::new("fail", "Fail", "other"));
            tool.begin();
            tool.fail("this tool always fails");
            turn.say("The tool failed.");
        }
        Intent::ModelError => match configure::fall_back(turn) {
            Some(model) => turn.say(&format!("The model failed. From now on, {model} answers.")),
            None => return Ok(Stop::Error),
        },
        Intent::Refuse => return end(turn, "I refuse.", Stop::Refusal),
        Intent::MaxTokens => return end(turn, "This is cut off bec", Stop::MaxTokens),
        Intent::MaxTurnRequests => return end(turn, "I asked the model too often.", Stop::MaxTurnRequests),
        Intent::Ext => extension::exchange(turn).await?,
        Intent::Elicit(wish) => elicitation::elicit(turn, wish).await?,
        Intent::CallMcpTool(call) => call_mcp_tool(turn, call).await?,
    }
    Ok(Stop::EndTurn)
}

/// Adds the move of an invented file to a tool call.
fn show_move(turn: &Turn, call: &mut ToolCall) {
    let [from, path] = ["old.txt", "new.txt"].map(|name| turn.session.resolve(Path::new(name)));
    let text = "moved\n".to_owned();
    call.locations = vec![Location { path: path.clone(), line: Some(1) }];
    call.diff = Some(Diff { path, from: Some(from), old: Some(text.clone()), new: text });
}

fn end(turn: &Turn, text: &str, stop: Stop) -> Result<Stop, Cancelled> {
    turn.say(text);
    Ok(stop)
}

async fn ask_permission(turn: &Turn) -> Result<(), Cancelled> {
    let title = "Ask for permission";
    let tool = turn.announce(ToolCall::new("ask", title, "other"));
    let answer = permission::ask_once(turn, &tool, title, None).await?;
    match answer {
        Answer::Allowed => {
            tool.begin();
            tool.complete("allowed", json!({"outcome": "allowed"}));
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
            turn.say_part(&id, &format!("busy {n_chunks} "));
        }
        n_chunks += 1;
        turn.pause(BEAT).await?;
    }
    Ok(())
}

async fn call_mcp_tool(turn: &Turn, call: CallMcpTool) -> Result<(), Cancelled> {
    let CallMcpTool { server, tool: name, arguments } = call;
    let title = format!("{server}: {name}");
    let call = ToolCall { input: Some(arguments.clone()), ..ToolCall::new(&name, &title, "other") };
    let tool = turn.announce(call);
    tool.begin();
    match turn.unless_cancelled(turn.session.call_mcp_tool(&server, &name, arguments)).await? {
        Ok(text) => {
            tool.complete(&*text, json!({"text": text}));
            turn.say(&text);
        }
        Err(problem) => {
            tool.fail(&problem);
            turn.say(&format!("The MCP tool failed: {problem}"));
        }
    }
    Ok(())
}
