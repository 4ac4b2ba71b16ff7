//! The end of a connection: the user has done all acts, a signal stops the client, or the agent exits.

use std::{pin::pin, time::Duration};

use agent_client_protocol::{Agent, ConnectionTo};

use super::{AgentProcess, user::End};
use crate::signal::stop_signal;

/// Time for the output of an exited agent to end.
const HELD_OPEN: Duration = Duration::from_secs(1);

/// Time for the user to process the last messages of an exited agent, and for its exit status to come.
const AFTER_EXIT: Duration = Duration::from_millis(100);

/// Waits until the user has done all acts; fails if the client has to stop or the agent exits before that.
pub(super) async fn wait(
    user: impl Future<Output = Result<End, String>>,
    connection: &ConnectionTo<Agent>,
    process: &mut AgentProcess,
    has_failed: impl FnOnce() -> bool,
) -> Result<End, String> {
    let mut user = pin!(user);
    let end = tokio::select! {
        biased;
        end = &mut user => Some(end),
        () = stop_signal() => return Err("told to stop".to_owned()),
        () = gone(connection, process) => None,
    };
    let end = match end {
        Some(end) => Some(end),
        // The agent's last messages may be the ones that the user waits for.
        None => tokio::time::timeout(AFTER_EXIT, user).await.ok(),
    };
    match end {
        Some(Ok(end)) if !(has_failed() && connection.is_incoming_closed()) => return Ok(end),
        Some(Err(reason)) if !connection.is_incoming_closed() => return Err(reason),
        _ => {}
    }
    let exited = broken_off(process).await;
    Err(exited.unwrap_or_else(|| "the agent broke off early: it closed its output".to_owned()))
}

/// Returns how the agent exited; `None` if it is still running.
pub(super) async fn broken_off(process: &mut AgentProcess) -> Option<String> {
    let status = tokio::time::timeout(AFTER_EXIT, process.exited()).await.ok().flatten();
    status.map(|status| format!("the agent broke off early: {status}"))
}

/// Waits until the agent has exited or closed its output.
async fn gone(connection: &ConnectionTo<Agent>, process: &mut AgentProcess) {
    tokio::select! {
        () = connection.incoming_closed() => {}
        _ = process.exited() => {
            // The last messages may still be in the pipe, and a child of the agent may hold that open forever.
            let _ = tokio::time::timeout(HELD_OPEN, connection.incoming_closed()).await;
        }
    }
}
