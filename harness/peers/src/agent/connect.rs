//! The connection of an agent to the SDK, in each version of the protocol.

use std::sync::Arc;

use agent_client_protocol::{
    Agent as AgentRole, Client as ClientRole, ConnectTo, Error, JsonRpcMessage, JsonRpcRequest, UntypedMessage,
    on_receive_notification, on_receive_request, v1, v2,
};
use serde_json::Value;

use super::requests::Agent;

/// Builds the connection of an agent in version 1.
pub(super) fn v1(agent: &Arc<Agent>) -> impl ConnectTo<ClientRole> + use<> {
    let (requests, notifications, end) = (Arc::clone(agent), Arc::clone(agent), Arc::clone(agent));
    AgentRole
        .v1()
        .name("acp-reference-agent")
        .on_receive_request(
            async move |request: v1::schema::ClientRequest, responder, connection: v1::ConnectionTo<ClientRole>| {
                requests.handle(request.to_untyped_message(), responder, connection.into_raw())
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: v1::schema::ClientNotification, _: v1::ConnectionTo<ClientRole>| {
                notifications.note(notification.to_untyped_message());
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_close(async move |_| {
            end.shut_down().await;
            Ok(())
        })
}

/// The members of requests that the SDK does not know yet.
const NEWER: [&str; 1] = ["idempotencyKey"];

/// A request of the client in version 2 that fits the types of the SDK, with the members that these do not have.
#[derive(Debug, Clone)]
struct ClientRequest(UntypedMessage);

impl JsonRpcMessage for ClientRequest {
    fn matches_method(method: &str) -> bool {
        v2::schema::ClientRequest::matches_method(method)
    }

    fn method(&self) -> &str {
        &self.0.method
    }

    fn to_untyped_message(&self) -> Result<UntypedMessage, Error> {
        Ok(self.0.clone())
    }

    fn parse_message(method: &str, params: &Value) -> Result<Self, Error> {
        let mut message = v2::schema::ClientRequest::parse_message(method, params)?.to_untyped_message()?;
        for name in NEWER {
            if let Some(value) = params.get(name) {
                message.params[name] = value.clone();
            }
        }
        Ok(Self(message))
    }
}

impl JsonRpcRequest for ClientRequest {
    type Response = Value;
}

/// Builds the connection of an agent in version 2.
pub(super) fn v2(agent: &Arc<Agent>) -> impl ConnectTo<ClientRole> + use<> {
    let (requests, notifications, end) = (Arc::clone(agent), Arc::clone(agent), Arc::clone(agent));
    AgentRole
        .v2()
        .name("acp-reference-agent")
        .on_receive_request(
            async move |request: ClientRequest, responder, connection: v2::ConnectionTo<ClientRole>| {
                requests.handle(request.to_untyped_message(), responder, connection.into_raw())
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: v2::schema::ClientNotification, _: v2::ConnectionTo<ClientRole>| {
                notifications.note(notification.to_untyped_message());
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_close(async move |_| {
            end.shut_down().await;
            Ok(())
        })
}
