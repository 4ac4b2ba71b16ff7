//! Notices that an agent has ended all work: in version 1 by its answers to prompts, in version 2 by its updates.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::time::Instant;

use crate::case::model::{Incoming, IncomingBody};
use crate::protocol::Adapter;
use crate::requirement::Party;
use crate::run::case::RunningCase;
use crate::run::channel::Channel;
use crate::run::timing::AT_REST;

/// The work of an agent while a line is awaited.
#[derive(Default)]
pub(super) struct Rest {
    examined: usize,
    /// Whether each session, tool call and terminal with a state goes on, by its kind and id.
    works: BTreeMap<(&'static str, String), bool>,
    since: Option<Instant>,
}

impl Rest {
    /// Returns the end of the wait, which is soon once the agent rests: then only work of its own could bring the line.
    pub(super) fn deadline<C: Channel>(
        &mut self,
        running: &RunningCase<'_, C>,
        line: &Incoming,
        deadline: Instant,
    ) -> Instant {
        for message in &running.inbox.messages[self.examined..] {
            self.works.extend(work(&message.value["params"]));
        }
        self.examined = running.inbox.len();
        let (adapter, state) = (running.case.edition.adapter, running.channel.state());
        let (may_rest, works) = if adapter.response_ends_turn() {
            let has_prompted = running.inbox.has_prompted(running.connection);
            // The answer to a load comes after the replay.
            (has_prompted && is_of_turn(line, adapter), state.unanswered(running.connection).next().is_some())
        } else {
            let has_states = self.works.keys().any(|(kind, _)| *kind == SESSION);
            let goes_on = self.works.values().any(|goes_on| *goes_on);
            (has_states && line.body.answers().is_none(), goes_on || state.in_turn(running.connection))
        };
        let may_rest = may_rest && running.party() == Party::Agent;
        self.since = (may_rest && !works).then(|| self.since.unwrap_or_else(Instant::now));
        self.since.map_or(deadline, |since| deadline.min(since + AT_REST))
    }
}

/// Whether the line is a request of an agent or content, which belong to a turn. What it says of a session may come at
/// any time, and an agent may release its terminals after the turn.
fn is_of_turn(line: &Incoming, adapter: &dyn Adapter) -> bool {
    let IncomingBody::Call { label, method, params } = &line.body else { return false };
    let variant = params.as_ref().and_then(|params| params.written().pointer("/update/sessionUpdate")?.as_str());
    (label.is_some() && !method.starts_with("terminal/"))
        || variant.is_some_and(|variant| adapter.is_turn_content(variant))
}

const SESSION: &str = "session";

/// Returns what an update says about a session, a tool call or a terminal: whether it goes on.
fn work(params: &Value) -> Option<((&'static str, String), bool)> {
    let update = &params["update"];
    let of = |kind, id: &Value, goes_on| Some(((kind, id.as_str()?.to_owned()), goes_on));
    match update["sessionUpdate"].as_str()? {
        "state_update" => {
            let in_background = update["background"].as_array().is_some_and(|background| !background.is_empty());
            of(SESSION, &params["sessionId"], update["state"] != "idle" || in_background)
        }
        "tool_call_update" => {
            let status = update["status"].as_str()?;
            of("tool call", &update["toolCallId"], !["completed", "failed", "cancelled"].contains(&status))
        }
        "terminal_update" => of("terminal", &update["terminalId"], update["exitStatus"].is_null()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_update_says_what_goes_on() {
        let goes_on = |update: Value| work(&json!({ "sessionId": "s", "update": update })).map(|(_, goes_on)| goes_on);
        assert_eq!(goes_on(json!({ "sessionUpdate": "state_update", "state": "running" })), Some(true));
        assert_eq!(goes_on(json!({ "sessionUpdate": "state_update", "state": "idle", "background": [] })), Some(false));
        assert_eq!(
            goes_on(json!({ "sessionUpdate": "state_update", "state": "idle", "background": [{}] })),
            Some(true)
        );
        let tool = |status| json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": status });
        assert_eq!(goes_on(tool(json!("in_progress"))), Some(true));
        assert_eq!(goes_on(tool(json!("cancelled"))), Some(false));
        assert_eq!(goes_on(tool(json!(null))), None, "the status stays");
        let terminal = |exit| json!({ "sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": exit });
        assert_eq!(goes_on(terminal(json!(null))), Some(true));
        assert_eq!(goes_on(terminal(json!({ "exitCode": 0 }))), Some(false));
    }
}
