//! A pretended subagent: its session, its work, and the messages between it and the session that owns it.

use std::time::Duration;

use agent_client_protocol::UntypedMessage;
use serde_json::{Value, json};

use super::{
    turn::{Cancelled, Turn},
    update::{Block, ToolCall},
};

/// Delegates work to a subagent, and waits for its end. Only some clients take the session of a subagent; the others
/// get a tool call.
pub(super) async fn spawn(turn: &Turn, time: Duration) -> Result<(), Cancelled> {
    let tool = turn.announce(ToolCall::new("delegate", "Delegate to a subagent", "other"));
    let work = turn.client.capabilities().takes_subagents.then(|| Subagent::announce(turn, &tool.id));
    tool.begin();
    let waited = match &work {
        Some(work) => work.run(turn, &tool.id, time).await,
        None => turn.pause(time).await.map(|()| true),
    };
    match waited? {
        true => {
            tool.complete("cherry", None);
            turn.say("The subagent found cherry.");
        }
        false => {
            tool.fail("cancelled");
            turn.say("The subagent was stopped.");
        }
    }
    Ok(())
}

/// A subagent with a session of its own.
struct Subagent<'turn> {
    turn: &'turn Turn,
    id: String,
}

impl<'turn> Subagent<'turn> {
    /// Announces the session on that of the turn, which owns it. The client may cancel its work.
    fn announce(turn: &'turn Turn, tool: &str) -> Self {
        let work = Self { turn, id: format!("{}-{tool}", turn.session.id) };
        let details = json!({"title": "Searcher", "cwd": turn.session.cwd, "capabilities": {"cancel": {}}});
        work.report(details, json!({"state": "running"}));
        work
    }

    /// Works for some time; returns false if the client cancels the work.
    async fn run(&self, turn: &Turn, tool: &str, time: Duration) -> Result<bool, Cancelled> {
        let stop = turn.session.subagents.offer(&self.id);
        let reference = json!([{"type": "session", "sessionId": self.id}]);
        self.send(
            &turn.session.id,
            json!({"sessionUpdate": "tool_call_update", "toolCallId": tool, "content": reference}),
        );
        self.instruct("Look for cherry.");
        let text = Block::text("I found cherry.");
        let message = json!({"sessionUpdate": "agent_message_chunk", "messageId": "found", "content": text});
        self.send(&self.id, message);
        let waited = tokio::select! {
            waited = turn.pause(time) => waited.map(|()| true),
            () = stop.notified() => Ok(false),
        };
        turn.session.subagents.withdraw(&self.id);
        let reason = if matches!(waited, Ok(true)) { "end_turn" } else { "cancelled" };
        self.report(json!({}), json!({"state": "idle", "stopReason": reason}));
        waited
    }

    /// Sends the task to the subagent: both sessions show the message.
    fn instruct(&self, text: &str) {
        let owner = &self.turn.session.id;
        let view = |id: &str, other: &str, of_other: &str| {
            let mut view = json!({
                "sessionUpdate": "session_message",
                "messageId": id,
                "senderSessionId": owner,
                "recipientSessionId": self.id,
                "content": [Block::text(text)],
            });
            view[other] = of_other.into();
            view
        };
        let sent = self.turn.next_message_id();
        self.send(owner, view(&sent, "recipientMessageId", "task"));
        self.send(&self.id, view("task", "senderMessageId", &sent));
    }

    /// Reports a state of the work: on the owning session, and in version 2 on that of the subagent as well.
    fn report(&self, details: Value, state: Value) {
        let mut report = details;
        report["sessionUpdate"] = "subagent_update".into();
        report["sessionId"] = self.id.as_str().into();
        report["state"] = state.clone();
        self.send(&self.turn.session.id, report);
        if self.turn.client.is_v2() {
            let mut own = state;
            own["sessionUpdate"] = "state_update".into();
            self.send(&self.id, own);
        }
    }

    /// Sends an update of a session. The history of a session has no subagents.
    fn send(&self, session: &str, update: Value) {
        let params = json!({"sessionId": session, "update": update});
        self.turn.client.notify(UntypedMessage::new("session/update", params));
    }
}
