//! The connection to the agent: requests, notifications and responses of the client.

use std::sync::OnceLock;

use agent_client_protocol::{
    Agent, ConnectionTo, Error, Protocol, RequestCancellationHandle, Responder, UntypedMessage,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::errors::failed;

/// The connection, as soon as it is open.
#[derive(Default)]
pub(super) struct Connection(OnceLock<ConnectionTo<Agent>>);

impl Connection {
    /// Takes over the connection of the SDK.
    pub(super) fn set(&self, agent: ConnectionTo<Agent>) {
        self.0.get_or_init(|| agent);
    }

    /// Sends a request; `note` gets the result before the client handles any later message of the agent.
    pub(super) fn begin(
        &self,
        method: &str,
        params: Value,
        note: impl FnOnce(Result<Value, Error>) + Send + 'static,
    ) -> Result<RequestCancellationHandle, Error> {
        let agent = self.0.get().ok_or_else(|| broken_off(method))?;
        let request = agent.prepare_request(UntypedMessage::new(method, params)?);
        let handle = request.cancellation_handle();
        request.on_receiving_result(move |result| {
            // Null means an object without members.
            note(result.map(|value: Value| if value.is_null() { json!({}) } else { value }));
            std::future::ready(Ok(()))
        })?;
        Ok(handle)
    }

    /// Sends a request and waits for the result, which `note` gets as in [`Self::begin`].
    pub(super) async fn call(
        &self,
        method: &str,
        params: Value,
        note: impl FnOnce(&Result<Value, Error>) + Send + 'static,
    ) -> Result<Value, Error> {
        let (answered, answer) = oneshot::channel();
        self.begin(method, params, move |result| {
            note(&result);
            // The receiver is dropped when the client ends.
            let _ = answered.send(result);
        })?;
        answer.await.unwrap_or_else(|_| Err(broken_off(method)))
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: Value) -> Result<(), Error> {
        let agent = self.0.get().ok_or_else(|| broken_off(method))?;
        agent.send_notification(UntypedMessage::new(method, params)?)
    }
}

fn broken_off(method: &str) -> Error {
    failed(&format!("the connection ended before the answer to {method}"))
}

/// Answers a request of the agent in a task of its own, with `withdrawn` if the agent cancels the request before.
pub(super) fn respond<P: Protocol>(
    responder: Responder<Value, P>,
    answer: impl Future<Output = Result<Value, Error>> + Send + 'static,
    withdrawn: Result<Value, Error>,
) {
    tokio::spawn(async move {
        let cancellation = responder.cancellation();
        let result = tokio::select! {
            biased;
            result = answer => result,
            () = cancellation.cancelled() => withdrawn,
        };
        // This fails only if the connection has ended.
        let _ = responder.respond_with_result(result);
    });
}
