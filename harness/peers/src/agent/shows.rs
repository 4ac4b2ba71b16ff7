//! What the agent shows without a tool: a plan, content, session info, usage, notices and compactions.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    clock,
    turn::Turn,
    update::{Block, Status, Update},
};

/// A PNG of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
/// A WAV file with a header and one silent sample.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQEAAACAAA==";
/// The bytes of "blob".
const BLOB: &str = "YmxvYg==";
/// The steps of the plan, and their priorities.
const STEPS: [(&str, &str); 3] = [("Read the task", "high"), ("Do the task", "medium"), ("Check the result", "low")];

/// Shows a plan, and each step at its beginning and end; where plans have ids, also another one as text, which the
/// agent removes again.
pub(super) fn plan(turn: &Turn) {
    let id = format!("plan-{}", turn.session.record().turns);
    for n_done in 0..STEPS.len() {
        show_plan(turn, &id, n_done, Status::Pending);
        show_plan(turn, &id, n_done, Status::InProgress);
    }
    show_plan(turn, &id, STEPS.len(), Status::Completed);
    if turn.client.capabilities().shows_plans {
        let notes = format!("{id}-notes");
        let path = turn.session.resolve(Path::new("plan.md"));
        let text =
            json!({"type": "markdown", "planId": notes, "content": "# Notes\n\nNothing is left.\n", "path": path});
        turn.session.update(Update::Newer(json!({"sessionUpdate": "plan_update", "plan": text})));
        show(turn, json!({"sessionUpdate": "plan_removed", "planId": notes}));
    }
    turn.say("The plan is completed.");
}

/// Sends all entries, as every update does; the first ones are completed, and the next one has this status.
fn show_plan(turn: &Turn, id: &str, n_done: usize, next: Status) {
    let status = |step: usize| match step {
        step if step < n_done => Status::Completed,
        step if step == n_done => next,
        _ => Status::Pending,
    };
    let entry = |(step, (content, priority)): (usize, (&str, &str))| json!({"content": content, "priority": priority, "status": status(step)});
    let entries = STEPS.into_iter().enumerate().map(entry).collect();
    turn.session.update(Update::Plan(id.to_owned(), entries));
}

/// Shows one block of each type in one message.
pub(super) fn content(turn: &Turn) {
    let text = json!({"uri": "file:///embedded.txt", "mimeType": "text/plain", "text": "embedded text"});
    let blob = json!({"uri": "file:///embedded.bin", "mimeType": "application/octet-stream", "blob": BLOB});
    let content = [
        json!({"type": "text", "text": "Every type of content:", "annotations": {"priority": 0.5}}),
        json!({"type": "image", "data": PNG, "mimeType": "image/png"}),
        json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"}),
        json!({
            "type": "resource_link",
            "name": "notes.txt",
            "uri": "file:///notes.txt",
            "mimeType": "text/plain",
            // Version 1 has no icons.
            "icons": [{"src": format!("data:image/png;base64,{PNG}"), "mimeType": "image/png", "sizes": ["1x1"]}],
        }),
        json!({"type": "resource", "resource": text}),
        json!({"type": "resource", "resource": blob}),
    ];
    let content = content.map(Block).into();
    turn.session.update(Update::AgentMessage(turn.next_message_id(), content));
}

/// Gives the session a new title.
pub(super) fn info(turn: &Turn, title: Option<String>) {
    let title = title.unwrap_or_else(|| "Reference session".to_owned());
    let updated = {
        let mut record = turn.session.record();
        record.title = Some(title.clone());
        clock::iso8601(record.updated)
    };
    show(turn, json!({"sessionUpdate": "session_info_update", "title": title, "updatedAt": updated}));
    turn.say("The session has a new title.");
}

/// Reports a usage that only grows; the numbers are invented.
pub(super) fn usage(turn: &Turn) {
    let n_turns = turn.session.record().turns;
    let cents = f64::from(u32::try_from(n_turns).unwrap_or(u32::MAX));
    let cost = json!({"amount": cents / 100.0, "currency": "USD"});
    show(turn, json!({"sessionUpdate": "usage_update", "used": n_turns * 1_000, "size": 200_000, "cost": cost}));
    turn.say("The usage is reported.");
}

/// Shows a notice; for a client without notices the title is a message.
pub(super) fn notice(turn: &Turn, title: Option<String>) {
    let title = title.unwrap_or_else(|| "Reference notice".to_owned());
    if turn.client.capabilities().shows_notices {
        show(turn, json!({"sessionUpdate": "notice", "severity": "info", "title": title}));
        turn.say("The notice is shown.");
    } else {
        turn.say(&title);
    }
}

/// Pretends to compact the context, and reports it from its beginning to its end if the client supports that.
pub(super) fn compact(turn: &Turn) {
    if turn.client.capabilities().shows_compactions {
        let id = format!("compaction-{}", turn.session.record().turns);
        let update = |status: Status| {
            show(turn, json!({"sessionUpdate": "compaction_update", "compactionId": id, "status": status}));
        };
        update(Status::InProgress);
        let summary = Block::text("We spoke of fruit.");
        show(turn, json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": id, "content": summary}));
        update(Status::Completed);
    }
    turn.say("The context is compacted.");
}

/// Shows something that all versions write alike.
fn show(turn: &Turn, update: Value) {
    turn.session.update(Update::Alike(update));
}
