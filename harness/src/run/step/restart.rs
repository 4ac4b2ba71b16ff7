//! The step that ends the agent and starts it again.

use tokio::time::Instant;

use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::{Channel, Order};
use crate::trace::{Outcome, ProcessEvent, StepKind, What};
use crate::transport::link::Link;

/// Ends the agent by the end of its input, or else by signals, and starts it again in the same folders.
pub(super) async fn restart<C: Channel>(running: &mut RunningCase<'_, C>) -> StepResult {
    running.close_input();
    if !exits(running).await && running.channel.send(Order::Signal("SIGTERM".to_owned())).is_some() {
        running.channel.record(What::Process(ProcessEvent::Signalled("SIGTERM".to_owned())));
        exits(running).await;
    }
    running.until(Link::last_output_deadline(), |running| running.channel.state().over).await;
    let started = running.channel.send(Order::Restart(Box::new(running.env.launch.clone()))).is_some();
    running.input_closed = false;
    running.connection = running.channel.state().connections.len() - 1;
    StepResult::new(StepKind::Send, if started { Outcome::Done } else { Outcome::HarnessError })
}

async fn exits<C: Channel>(running: &mut RunningCase<'_, C>) -> bool {
    let deadline = Instant::now() + running.limits.exit;
    running.until(deadline, |running| running.channel.state().exit.is_some()).await
}
