//! Updates that an agent sends only to a client that advertised them: notices and compactions.

use agent_client_protocol::v1::schema::{
    CompactionStatus, CompactionSummaryChunk, CompactionUpdate, ContentBlock, Notice, NoticeSeverity, SessionUpdate,
};

use super::turn::Turn;

/// Shows a notice; without notices the title is a message.
pub(super) fn notice(turn: &Turn, title: &str) {
    if turn.agent.client().shows_notices {
        let notice = Notice::new(NoticeSeverity::Info, title);
        turn.agent.notify(&turn.session, SessionUpdate::Notice(notice));
        turn.say("The notice is shown.");
    } else {
        turn.say(title);
    }
}

/// Pretends to compact the context, and reports it from its beginning to its end.
pub(super) fn compact(turn: &Turn) {
    if turn.agent.client().shows_compactions {
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
