//! The connection to the agent, for requests and notifications of the client.

use std::sync::OnceLock;

use agent_client_protocol::{Agent, ConnectionTo, Error, RequestCancellationHandle, UntypedMessage};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::errors::failed;

/// The connection, as soon as it is open.
#[derive(Default)]
pub(super) struct Connection {
    agent: OnceLock<ConnectionTo<Agent>>,
}

impl Connection {
    /// Takes over the connection of the SDK.
    pub(super) fn set(&self, agent: ConnectionTo<Agent>) {
        self.agent.get_or_init(|| agent);
    }

    /// Sends a request; `note` gets the answer before the client handles any later message of the agent.
    pub(super) fn begin<T: DeserializeOwned + 'static>(
        &self,
        method: &str,
        params: impl Serialize,
        note: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) -> Result<RequestCancellationHandle, Error> {
        let agent = self.agent.get().ok_or_else(|| broken_off(method))?;
        let request = agent.prepare_request(UntypedMessage::new(method, params)?);
        let handle = request.cancellation_handle();
        let method = method.to_owned();
        request.on_receiving_result(move |result| {
            note(result.and_then(|value| decode(&method, value)));
            std::future::ready(Ok(()))
        })?;
        Ok(handle)
    }

    /// Sends a request and waits for the answer, which `note` gets as in [`Self::begin`].
    pub(super) async fn call<T: DeserializeOwned + Send + 'static>(
        &self,
        method: &str,
        params: impl Serialize,
        note: impl FnOnce(&Result<T, Error>) + Send + 'static,
    ) -> Result<T, Error> {
        let (answered, answer) = oneshot::channel();
        self.begin(method, params, move |result| {
            note(&result);
            // The receiver is dropped when the client ends.
            let _ = answered.send(result);
        })?;
        answer.await.unwrap_or_else(|_| Err(broken_off(method)))
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: impl Serialize) -> Result<(), Error> {
        let agent = self.agent.get().ok_or_else(|| broken_off(method))?;
        agent.send_notification(UntypedMessage::new(method, params)?)
    }
}

/// Reads a result; null means an object without members.
fn decode<T: DeserializeOwned>(method: &str, value: Value) -> Result<T, Error> {
    let value = if value.is_null() { json!({}) } else { value };
    serde_json::from_value(value).map_err(|error| failed(&format!("cannot read the result of {method}: {error}")))
}

fn broken_off(method: &str) -> Error {
    failed(&format!("the connection ended before the answer to {method}"))
}
