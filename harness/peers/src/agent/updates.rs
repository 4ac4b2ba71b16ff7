//! Updates other than messages and tool calls: session info, usage, notices and compactions.

use agent_client_protocol::v1::schema::{
    CompactionStatus, CompactionSummaryChunk, CompactionUpdate, ContentBlock, Cost, Notice, NoticeSeverity,
    SessionInfoUpdate, SessionUpdate, UsageUpdate,
};

use super::{clock, turn::Turn};

/// Gives the session a new title.
pub(super) fn info(turn: &Turn, title: Option<String>) {
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

/// Reports a usage that only grows; the numbers are invented.
pub(super) fn usage(turn: &Turn) {
    let n_turns = turn.session.record().turns;
    let cents = f64::from(u32::try_from(n_turns).unwrap_or(u32::MAX));
    let update = UsageUpdate::new(n_turns * 1_000, 200_000).cost(Cost::new(cents / 100.0, "USD"));
    turn.update(SessionUpdate::UsageUpdate(update));
    turn.say("The usage is reported.");
}

/// Shows a notice; for a client without notices the title is a message.
pub(super) fn notice(turn: &Turn, title: Option<String>) {
    let title = title.unwrap_or_else(|| "Reference notice".to_owned());
    if turn.client.capabilities().shows_notices {
        turn.client.update(&turn.session, SessionUpdate::Notice(Notice::new(NoticeSeverity::Info, title)));
        turn.say("The notice is shown.");
    } else {
        turn.say(&title);
    }
}

/// Pretends to compact the context, and reports it from its beginning to its end if the client supports that.
pub(super) fn compact(turn: &Turn) {
    if turn.client.capabilities().shows_compactions {
        let id = format!("compaction-{}", turn.session.record().turns);
        let summary = ContentBlock::from("We spoke of fruit.".to_owned());
        let begun = CompactionUpdate::new(id.clone(), CompactionStatus::InProgress);
        let chunk = CompactionSummaryChunk::new(id.clone(), summary);
        let done = CompactionUpdate::new(id, CompactionStatus::Completed);
        turn.update(SessionUpdate::CompactionUpdate(begun));
        turn.update(SessionUpdate::CompactionSummaryChunk(chunk));
        turn.update(SessionUpdate::CompactionUpdate(done));
    }
    turn.say("The context is compacted.");
}
