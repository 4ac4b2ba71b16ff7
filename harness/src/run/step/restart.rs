//! The step that ends the agent and starts it again.

use tokio::time::Instant;

use super::exit;
use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::{Channel, Order};
use crate::run::timing::EXIT_AFTER_OTHERS;
use crate::trace::{Outcome, StepKind};
use crate::transport::link::Link;

/// Ends the agent by the end of its input, and a server by SIGTERM, and starts it again in the same folders. An agent
/// that has to be stopped may not have saved its sessions, so nothing after it would count.
pub(super) async fn restart<C: Channel>(running: &mut RunningCase<'_, C>) -> StepResult {
    running.close_input();
    let limit = running.limits.answer;
    if running.subject.is_server() {
        running.until(Instant::now() + limit, |running| running.channel.state().ended(running.connection)).await;
        running.channel.send(Order::Signal("SIGTERM".to_owned()));
    }
    let limit = if running.channel.state().goes_on { limit.min(EXIT_AFTER_OTHERS) } else { limit };
    if !running.subject.runs_already() {
        let end = exit::exit(running, None, limit).await;
        // A server need not handle the signal: it has saved what it reported to a client.
        let is_stopped = running.subject.is_server() && running.channel.state().exit.is_some();
        if end.outcome != Outcome::Done && !is_stopped {
            return end;
        }
    }
    running.until(Link::last_output_deadline(), |running| running.channel.state().over).await;
    let started = running.channel.send(Order::Restart(Box::new(running.env.start.clone()))).is_some();
    running.input_closed = false;
    running.connection = running.channel.state().connections.len() - 1;
    StepResult::new(StepKind::Send, if started { Outcome::Done } else { Outcome::HarnessError })
}
