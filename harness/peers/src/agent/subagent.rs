//! A pretended subagent: its session, its work, and the messages between it and the session that owns it.

use std::{sync::Arc, time::Duration};

use agent_client_protocol::UntypedMessage;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    session::Session,
    turn::{Cancelled, Turn},
    update::{Block, ToolCall, Work},
};

/// Delegates work to a subagent, and waits for its end, unless the work shall go on in the background. Only some
/// clients take the session of a subagent; the others get a tool call.
pub(super) async fn spawn(turn: &Turn, time: Duration, in_background: bool) -> Result<(), Cancelled> {
    let tool = turn.announce(ToolCall::new("delegate", "Delegate to a subagent", "other"));
    let work = turn.client.capabilities().takes_subagents.then(|| Subagent::announce(turn, &tool.id));
    tool.begin();
    let is_done = match work {
        Some(work) => {
            work.start(turn, &tool.id);
            if in_background && turn.client.is_v2() {
                work.go_on(time);
                tool.complete(None, json!({"background": true}));
                turn.say("The subagent works in the background.");
                return Ok(());
            }
            let waited = tokio::select! {
                waited = turn.pause(time) => waited.map(|()| true),
                () = work.stop.notified() => Ok(false),
            };
            work.end(matches!(waited, Ok(true)));
            waited?
        }
        None => turn.pause(time).await.map(|()| true)?,
    };
    if is_done {
        tool.complete("cherry", None);
        turn.say("The subagent found cherry.");
    } else {
        tool.fail("cancelled");
        turn.say("The subagent was stopped.");
    }
    Ok(())
}

/// A subagent with a session of its own.
struct Subagent {
    owner: Arc<Session>,
    id: String,
    /// Notified when the client cancels the work.
    stop: Arc<Notify>,
}

impl Subagent {
    /// Announces the session on that of the turn, which owns it. The client may cancel its work.
    fn announce(turn: &Turn, tool: &str) -> Self {
        let owner = Arc::clone(&turn.session);
        let id = format!("{}-{tool}", owner.id);
        let stop = owner.subagents.offer(&id);
        let work = Self { owner, id, stop };
        let details = json!({"title": "Searcher", "cwd": work.owner.cwd, "capabilities": {"cancel": {}}});
        work.report(details, json!({"state": "running"}));
        work
    }

    /// Begins the work that the tool call delegates.
    fn start(&self, turn: &Turn, tool: &str) {
        let reference = json!([{"type": "session", "sessionId": self.id}]);
        self.send(
            &self.owner.id,
            json!({"sessionUpdate": "tool_call_update", "toolCallId": tool, "content": reference}),
        );
        self.instruct(&turn.next_message_id(), "Look for cherry.");
        let text = Block::text("I found cherry.");
        let message = json!({"sessionUpdate": "agent_message_chunk", "messageId": "found", "content": text});
        self.send(&self.id, message);
    }

    /// Works in the background for some time, or until the client cancels it.
    fn go_on(self, time: Duration) {
        let work = Work::Subagent(self.id.clone());
        self.owner.change_state(|state| state.background.push(work.clone()), None);
        let owner = Arc::clone(&self.owner);
        owner.run_in_background(async move {
            let is_done = tokio::time::timeout(time, self.stop.notified()).await.is_err();
            self.end(is_done);
            self.owner.change_state(|state| state.background.retain(|other| *other != work), None);
        });
    }

    /// Ends the work, which was done or cancelled.
    fn end(&self, is_done: bool) {
        self.owner.subagents.withdraw(&self.id);
        let reason = if is_done { "end_turn" } else { "cancelled" };
        self.report(json!({}), json!({"state": "idle", "stopReason": reason}));
    }

    /// Sends the task to the subagent: both sessions show the message.
    fn instruct(&self, sent: &str, text: &str) {
        let owner = &self.owner.id;
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
        self.send(owner, view(sent, "recipientMessageId", "task"));
        self.send(&self.id, view("task", "senderMessageId", sent));
    }

    /// Reports a state of the work: on the owning session, and in version 2 on that of the subagent as well.
    fn report(&self, details: Value, state: Value) {
        let mut report = details;
        report["sessionUpdate"] = "subagent_update".into();
        report["sessionId"] = self.id.as_str().into();
        report["state"] = state.clone();
        self.send(&self.owner.id, report);
        if self.owner.client.is_v2() {
            let mut own = state;
            own["sessionUpdate"] = "state_update".into();
            self.send(&self.id, own);
        }
    }

    /// Sends an update of a session. The history of a session has no subagents.
    fn send(&self, session: &str, update: Value) {
        let params = json!({"sessionId": session, "update": update});
        self.owner.client.notify(UntypedMessage::new("session/update", params));
    }
}
