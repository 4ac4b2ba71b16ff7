//! The steps below the messages: a request of HTTP, and a binary frame of a WebSocket.

use serde_json::Value;
use tokio::time::Instant;

use crate::case::model::HttpRequest;
use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::{Channel, Order};
use crate::run::timing::SCRIPTED_RESPONSE;
use crate::trace::{Outcome, StepKind};
use crate::transport::event::ScriptedRequest;

/// Sends a request and waits for its response. What that means is for the judge.
pub(super) async fn request<C: Channel>(running: &mut RunningCase<'_, C>, request: &HttpRequest) -> StepResult {
    let text = |value: &Value| serde_json::to_vec(value).unwrap_or_default();
    let scripted = ScriptedRequest {
        method: request.method.clone(),
        headers: request
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.as_ref().map(|value| value.render(&running.bindings))))
            .collect(),
        body: request.body.as_ref().map(|body| text(&running.bindings.interpolate(body))).unwrap_or_default(),
    };
    send(running, Order::Http(running.connection, scripted)).await
}

/// Sends a message in a binary frame.
pub(super) async fn binary<C: Channel>(running: &mut RunningCase<'_, C>, message: &Value) -> StepResult {
    let bytes = serde_json::to_vec(&running.bindings.interpolate(message)).unwrap_or_default();
    send(running, Order::Binary(running.connection, bytes)).await
}

/// Gives an order, and waits until the trace has what came of it, so that later messages stand after it.
async fn send<C: Channel>(running: &mut RunningCase<'_, C>, order: Order) -> StepResult {
    let before = running.channel.state().scripted.1.len();
    running.channel.send(order);
    let is_done = |running: &RunningCase<'_, C>| running.channel.state().scripted.1.len() > before;
    running.until(Instant::now() + SCRIPTED_RESPONSE, is_done).await;
    let events = running.channel.state().scripted.1.get(before).copied().into_iter().collect();
    StepResult { events, ..StepResult::new(StepKind::Send, Outcome::Done) }
}
