//! Updates outside of tool calls: plans, content, session info, usage, notices, compactions and the extension.

use std::collections::BTreeMap;

use agent_client_protocol::{
    UntypedMessage,
    v2::schema::{
        AgentMessage, AudioContent, BlobResourceContents, CompactionStatus, CompactionSummaryChunk, CompactionUpdate,
        ContentBlock, Cost, EmbeddedResource, EmbeddedResourceResource, ImageContent, Notice, NoticeSeverity,
        OtherStateUpdate, PlanEntry, PlanEntryPriority, PlanEntryStatus, PlanItems, PlanUpdate, PlanUpdateContent,
        ResourceLink, SessionInfoUpdate, SessionUpdate, StateUpdate, TextResourceContents, UsageUpdate,
    },
};
use serde_json::json;

use super::turn::Turn;
use crate::agent::{
    clock,
    content::{BLOB, PNG, WAV},
    extension::{ECHO, GREETING, NOTICE},
    turn::Cancelled,
};

const STEPS: [(&str, PlanEntryPriority); 3] = [
    ("Read the task", PlanEntryPriority::High),
    ("Do the task", PlanEntryPriority::Medium),
    ("Check the result", PlanEntryPriority::Low),
];

/// Shows a plan, and each step as it begins and ends.
pub(super) fn plan(turn: &Turn) {
    let id = format!("plan-{}", turn.session.record().turns);
    for n_done in 0..STEPS.len() {
        show_plan(turn, &id, n_done, &PlanEntryStatus::Pending);
        show_plan(turn, &id, n_done, &PlanEntryStatus::InProgress);
    }
    show_plan(turn, &id, STEPS.len(), &PlanEntryStatus::Completed);
    turn.say("The plan is completed.");
}

/// Sends all entries, as every update does; the first ones are completed, and the next one has this status.
fn show_plan(turn: &Turn, id: &str, n_done: usize, next: &PlanEntryStatus) {
    let status = |step: usize| match step {
        step if step < n_done => PlanEntryStatus::Completed,
        step if step == n_done => next.clone(),
        _ => PlanEntryStatus::Pending,
    };
    let entries =
        STEPS.iter().zip(0..).map(|((text, priority), step)| PlanEntry::new(*text, priority.clone(), status(step)));
    let plan = PlanUpdateContent::Items(PlanItems::new(id, entries.collect()));
    turn.session.update(SessionUpdate::PlanUpdate(PlanUpdate::new(plan)));
}

/// Shows one block of each type in one whole message.
pub(super) fn content(turn: &Turn) {
    let link = ResourceLink::new("notes.txt", "file:///notes.txt").mime_type("text/plain");
    let text = TextResourceContents::new("embedded text", "file:///embedded.txt").mime_type("text/plain");
    let blob = BlobResourceContents::new(BLOB, "file:///embedded.bin").mime_type("application/octet-stream");
    let resource = |contents| ContentBlock::Resource(EmbeddedResource::new(contents));
    let blocks = vec![
        ContentBlock::from("Every type of content:".to_owned()),
        ContentBlock::Image(ImageContent::new(PNG, "image/png")),
        ContentBlock::Audio(AudioContent::new(WAV, "audio/wav")),
        ContentBlock::ResourceLink(link),
        resource(EmbeddedResourceResource::TextResourceContents(text)),
        resource(EmbeddedResourceResource::BlobResourceContents(blob)),
    ];
    let message = AgentMessage::new(turn.next_message_id()).content(blocks);
    turn.session.update(SessionUpdate::AgentMessage(message));
}

/// Gives the session a new title.
pub(super) fn info(turn: &Turn, title: Option<String>) {
    let title = title.unwrap_or_else(|| "Reference session".to_owned());
    let updated = {
        let mut record = turn.session.record();
        record.title = Some(title.clone());
        clock::iso8601(record.updated)
    };
    let update = SessionInfoUpdate::new().title(title).updated_at(updated);
    turn.session.update(SessionUpdate::SessionInfoUpdate(update));
    turn.say("The session has a new title.");
}

/// Reports a usage that only grows; the numbers are made up.
pub(super) fn usage(turn: &Turn) {
    let n_turns = turn.session.record().turns;
    let cents = f64::from(u32::try_from(n_turns).unwrap_or(u32::MAX));
    let update = UsageUpdate::new(n_turns * 1_000, 200_000).cost(Cost::new(cents / 100.0, "USD"));
    turn.session.update(SessionUpdate::UsageUpdate(update));
    turn.say("The usage is reported.");
}

/// Shows a notice.
pub(super) fn notice(turn: &Turn, title: Option<String>) {
    let title = title.unwrap_or_else(|| "Reference notice".to_owned());
    turn.session.update(SessionUpdate::Notice(Notice::new(NoticeSeverity::Info, title)));
    turn.say("The notice is shown.");
}

/// Pretends to compact the context, and reports it from its beginning to its end.
pub(super) fn compact(turn: &Turn) {
    let id = format!("compaction-{}", turn.session.record().turns);
    let summary = ContentBlock::from("We spoke of fruit.".to_owned());
    let update = |status| SessionUpdate::CompactionUpdate(CompactionUpdate::new(id.clone(), status));
    turn.session.update(update(CompactionStatus::InProgress));
    turn.session.update(SessionUpdate::CompactionSummaryChunk(CompactionSummaryChunk::new(id.clone(), summary)));
    turn.session.update(update(CompactionStatus::Completed));
    turn.say("The context is compacted.");
}

/// Reports a state of the extension between the standard ones, sends a notice and asks for an echo.
pub(super) async fn extension(turn: &Turn) -> Result<(), Cancelled> {
    if !turn.client.capabilities().knows_extension {
        turn.say("The client does not know my extension.");
        return Ok(());
    }
    let params = json!({"sessionId": turn.session.id, "text": "hello"});
    let (Ok(notice), Ok(echo)) = (UntypedMessage::new(NOTICE, &params), UntypedMessage::new(ECHO, &params)) else {
        return Ok(());
    };
    let greeting = OtherStateUpdate::new(GREETING, BTreeMap::from([("background".to_owned(), json!([]))]));
    turn.session.update(SessionUpdate::StateUpdate(StateUpdate::Other(greeting)));
    turn.session.change_state(|_| {}, None);
    turn.client.notify(notice);
    match turn.request(echo).await? {
        Ok(answer) => turn.say(&format!("The client echoed {answer}")),
        Err(error) => turn.say(&format!("The client refused the echo with {}", error.code.value())),
    }
    Ok(())
}
