//! The intents: what the agent does in place of a model's decisions.

use std::time::Duration;

use agent_client_protocol::{
    UntypedMessage,
    v1::schema::{
        ContentBlock, Cost, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionInfoUpdate, SessionUpdate,
        StopReason, ToolKind, UsageUpdate,
    },
};
use serde_json::{Value, json};

use super::{
    clock, content, elicitation, files, gated,
    intent::{Intent, prompt_text},
    permission::{self, Answer},
    search, terminal,
    tool::text_content,
    turn::{Cancelled, Turn},
};

/// Time between two chunks of a busy turn.
const BEAT: Duration = Duration::from_millis(10);
const BUSY: Duration = Duration::from_secs(30);
const STEPS: [&str; 3] = ["Read the task", "Do the task", "Check the result"];
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

/// Plays one intent and says how the turn ends.
pub(super) async fn play(turn: &Turn, intent: Intent, prompt: &[ContentBlock]) -> Result<StopReason, Cancelled> {
    match intent {
        Intent::Say { text } => turn.say(&text.unwrap_or_else(|| prompt_text(prompt))),
        Intent::Think { text } => {
            turn.think(text.as_deref().unwrap_or("I think."));
            turn.say("I thought about it.");
        }
        Intent::Plan => plan(turn),
        Intent::Content => content::show(turn),
        Intent::ReadFile(read) => files::read(turn, read).await?,
        Intent::ReadFiles { paths } => files::read_all(turn, paths).await?,
        Intent::WriteFile(write) => files::write(turn, write).await?,
        Intent::RunCommand(command) => terminal::run(turn, command).await?,
        Intent::AskPermission => ask_permission(turn).await?,
        Intent::AskAndWait => {
            turn.say("Waiting for permission.");
            ask_permission(turn).await?;
        }
        Intent::KeepBusy { ms, chunks } => keep_busy(turn, ms.map_or(BUSY, Duration::from_millis), chunks).await?,
        Intent::Search { text } => search::search(turn, &text),
        Intent::SetMode { mode_id } => set_mode(turn, &mode_id),
        Intent::Commands => {
            turn.agent.announce_commands(&turn.session);
            turn.say("These are my commands.");
        }
        Intent::Info { title } => info(turn, title),
        Intent::Usage => usage(turn),
        Intent::Notice { title } => gated::notice(turn, title.as_deref().unwrap_or("Reference notice")),
        Intent::Compact => gated::compact(turn),
        Intent::ToolKinds => {
            TOOL_KINDS.iter().for_each(|(kind, title)| show_tool(turn, *kind, title));
            turn.say("I used a tool of every kind.");
        }
        Intent::FailTool => {
            let tool = turn.announce("Fail", ToolKind::Other, |call| call);
            tool.begin();
            tool.fail("this tool always fails");
            turn.say("The tool failed.");
        }
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
        Intent::Ext => extension(turn).await?,
        Intent::Elicit(wish) => elicitation::elicit(turn, wish).await?,
        Intent::CallMcpTool { server, tool, arguments } => call_mcp_tool(turn, &server, &tool, arguments).await?,
    }
    Ok(StopReason::EndTurn)
}

/// Shows a plan and its progress; every update holds all entries.
fn plan(turn: &Turn) {
    for done in 0..=STEPS.len() {
        for has_begun in [false, true] {
            if done == STEPS.len() && has_begun {
                continue;
            }
            let status = |step: usize| match step {
                step if step < done => PlanEntryStatus::Completed,
                step if step == done && has_begun => PlanEntryStatus::InProgress,
                _ => PlanEntryStatus::Pending,
            };
            let entries = STEPS.iter().zip(0..).map(|(text, step)| PlanEntry::new(*text, priority(step), status(step)));
            turn.update(SessionUpdate::Plan(Plan::new(entries.collect())));
        }
    }
    turn.say("The plan is completed.");
}

fn priority(step: usize) -> PlanEntryPriority {
    match step {
        0 => PlanEntryPriority::High,
        1 => PlanEntryPriority::Medium,
        _ => PlanEntryPriority::Low,
    }
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

fn set_mode(turn: &Turn, mode: &str) {
    match turn.agent.switch_mode(&turn.session, mode) {
        Ok(()) => turn.say(&format!("The mode is {mode} now.")),
        Err(error) => turn.say(&format!("The mode stays: {}", files::describe(&error))),
    }
}

fn info(turn: &Turn, title: Option<String>) {
    let title = title.unwrap_or_else(|| "Reference session".to_owned());
    let updated = {
        let mut record = turn.session.record();
        record.title = Some(title.clone());
        clock::iso8601(record.updated)
    };
    let update = SessionInfoUpdate::new().title(title).updated_at(updated);
    turn.update(SessionUpdate::SessionInfoUpdate(update));
    turn.say("The session has a new title.");
}

/// Reports a usage that only grows; the numbers are made up.
fn usage(turn: &Turn) {
    let n_turns = turn.session.record().turns;
    let cents = f64::from(u32::try_from(n_turns).unwrap_or(u32::MAX));
    let update = UsageUpdate::new(n_turns * 1_000, 200_000).cost(Cost::new(cents / 100.0, "USD"));
    turn.update(SessionUpdate::UsageUpdate(update));
    turn.say("The usage is reported.");
}

fn show_tool(turn: &Turn, kind: ToolKind, title: &str) {
    let tool = turn.announce(title, kind, |call| call);
    tool.begin();
    tool.complete(text_content("done"), Value::Null);
}

async fn extension(turn: &Turn) -> Result<(), Cancelled> {
    if !turn.agent.client().knows_extension {
        turn.say("The client does not know my extension.");
        return Ok(());
    }
    let session = json!({"sessionId": turn.session.id, "text": "hello"});
    let (Ok(notice), Ok(echo)) =
        (UntypedMessage::new("_acp-reference/notice", &session), UntypedMessage::new("_acp-reference/echo", &session))
    else {
        return Ok(());
    };
    // Fails only when the connection has ended.
    let _ = turn.connection.send_notification(notice);
    match turn.request(echo).await? {
        Ok(answer) => turn.say(&format!("The client echoed {answer}")),
        Err(error) => turn.say(&format!("The client refused the echo with {}", error.code.value())),
    }
    Ok(())
}

async fn call_mcp_tool(turn: &Turn, server: &str, name: &str, arguments: Value) -> Result<(), Cancelled> {
    let title = format!("{server}: {name}");
    let tool = turn.announce(&title, ToolKind::Other, |call| call.raw_input(arguments.clone()));
    tool.begin();
    let called = turn
        .unless_cancelled(async {
            let mut servers = turn.session.mcp.lock().await;
            match servers.iter_mut().find(|client| client.name == server) {
                Some(client) => client.call(name, arguments).await,
                None => Err(format!("no MCP server {server} is running")),
            }
        })
        .await?;
    match called {
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
