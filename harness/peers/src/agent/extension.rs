//! An extension: messages whose names begin with an underscore, sent only to a client that advertised them.

use agent_client_protocol::UntypedMessage;
use serde_json::{Map, Value, json};

use super::{
    turn::{Cancelled, Turn},
    update::Foreground,
};

/// Key of this extension in `_meta` of the capabilities, on both sides.
const KEY: &str = "acp-reference";
/// Key by which an agent allows the cases of the harness to log in and out.
const CONFORMANCE: &str = "acp-conformance";
/// Request of either side, which is answered with its params.
pub(super) const ECHO: &str = "_acp-reference/echo";
/// Notification of the client that its user has visited a page.
pub(super) const VISITED: &str = "_acp-reference/visited";
/// Notification of the agent, which says hello.
const NOTICE: &str = "_acp-reference/notice";
/// State of a session while the agent says hello, in version 2.
pub(super) const GREETING: &str = "_acp-reference/greeting";

/// Returns `_meta` of the agent's capabilities.
pub(super) fn capabilities() -> Map<String, Value> {
    Map::from_iter([(KEY.to_owned(), json!({"echo": true})), (CONFORMANCE.to_owned(), json!({"login": true}))])
}

/// Returns whether `_meta` of the client's capabilities has the extension.
pub(super) fn is_in(meta: Option<&Map<String, Value>>) -> bool {
    meta.and_then(|meta| meta.get(KEY)) == Some(&json!(true))
}

/// Sends a notice and asks for an echo.
pub(super) async fn exchange(turn: &Turn) -> Result<(), Cancelled> {
    if !turn.client.capabilities().knows_extension {
        turn.say("The client does not know my extension.");
        return Ok(());
    }
    let params = json!({"sessionId": turn.session.id, "text": "hello"});
    turn.session.change_state(|state| state.foreground = Foreground::Greeting, None);
    turn.session.change_state(|state| state.foreground = Foreground::Running, None);
    turn.client.notify(UntypedMessage::new(NOTICE, &params));
    match turn.request(UntypedMessage::new(ECHO, &params)).await? {
        Ok(answer) => turn.say(&format!("The client echoed {answer}")),
        Err(error) => turn.say(&format!("The client refused the echo with {}", error.code.value())),
    }
    Ok(())
}
