//! An extension: messages whose names begin with an underscore, sent only to a client that advertised them.

use agent_client_protocol::UntypedMessage;
use serde_json::{Value, json};

use super::turn::{Cancelled, Turn};

/// Key of this extension in `_meta` of the capabilities, on both sides.
pub(super) const KEY: &str = "acp-reference";
/// Request of either side, which is answered with its params.
pub(super) const ECHO: &str = "_acp-reference/echo";
/// Notification of the client that its user has visited a page.
pub(super) const VISITED: &str = "_acp-reference/visited";
/// Notification of the agent, which says hello.
pub(super) const NOTICE: &str = "_acp-reference/notice";
/// State of a session while the agent says hello, in version 2.
pub(super) const GREETING: &str = "_acp-reference/greeting";

/// Builds the answer to an echo request.
pub(super) fn echo(params: &str) -> Value {
    let params: Value = serde_json::from_str(params).unwrap_or_default();
    json!({"echo": params})
}

/// Sends a notice and asks for an echo.
pub(super) async fn exchange(turn: &Turn) -> Result<(), Cancelled> {
    if !turn.client.capabilities().knows_extension {
        turn.say("The client does not know my extension.");
        return Ok(());
    }
    let params = json!({"sessionId": turn.session.id, "text": "hello"});
    let (Ok(notice), Ok(echo)) = (UntypedMessage::new(NOTICE, &params), UntypedMessage::new(ECHO, &params)) else {
        return Ok(());
    };
    turn.client.notify(notice);
    match turn.request(echo).await? {
        Ok(answer) => turn.say(&format!("The client echoed {answer}")),
        Err(error) => turn.say(&format!("The client refused the echo with {}", error.code.value())),
    }
    Ok(())
}
