//! A major version of the protocol in the types of the SDK.

use agent_client_protocol::{
    Builder, Client as ClientRole, Error, JsonRpcNotification, JsonRpcRequest, NullClose, NullHandler, NullRun,
    Protocol,
};
use serde_json::Value;

use super::{major::Major, state::Client};

/// Translates the messages of the agent to calls of the client.
pub(super) trait Version {
    /// What the client needs to know of the version.
    const MAJOR: Major;

    type Protocol: Protocol;
    type Request: JsonRpcRequest<Response = Value>;
    type Notification: JsonRpcNotification;

    /// Begins the client's side of a connection.
    fn builder() -> Builder<ClientRole, NullHandler, NullRun, NullClose, Self::Protocol>;

    fn answer(client: &Client, request: Self::Request) -> impl Future<Output = Result<Value, Error>> + Send;

    /// Returns the answer to a request that the agent cancels before there is another one.
    fn withdrawn(_request: &Self::Request) -> Result<Value, Error> {
        Err(Error::request_cancelled())
    }

    /// Handles a notification, which may come at any time; the SDK ignores unknown ones.
    fn note(client: &Client, notification: Self::Notification);
}
