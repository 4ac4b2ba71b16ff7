//! The client in version 2 of the protocol, a draft.
//!
//! It does the same acts as in version 1. Reading order: `user` turns acts into requests, `serve` answers the agent, and
//! `state` holds the client's state.

mod serve;
mod state;
mod user;

use std::sync::Arc;

use agent_client_protocol::{
    Agent, Client as ClientRole, Error, on_receive_notification, on_receive_request,
    v2::{
        ConnectionTo,
        schema::{AgentNotification, AgentRequest},
    },
};

use self::state::Client;
use super::{
    Launcher, Options, end,
    errors::describe,
    transport,
    user::{Acts, End},
};

/// Serves the user on one connection; returns the reason for its end, and whether something failed.
pub(super) async fn connect(
    options: &Options,
    launcher: &Arc<dyn Launcher>,
    acts: &mut Acts,
) -> Result<(End, bool), String> {
    let client = Arc::new(Client::new(options.clone(), Arc::clone(launcher)));
    let started = launcher.start();
    let (mut process, pipes) = started.map_err(|error| format!("the agent cannot be started: {error}"))?;
    let (transport, writer) = transport::open(pipes);
    let (requests, notifications) = (Arc::clone(&client), Arc::clone(&client));
    let served = ClientRole
        .v2()
        .name("acp-reference-client")
        .on_receive_request(
            async move |request: AgentRequest, responder, _: ConnectionTo<Agent>| {
                serve::handle(&requests, request, responder)
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: AgentNotification, _: ConnectionTo<Agent>| {
                serve::note(&notifications, notification);
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_with(transport, async |connection: ConnectionTo<Agent>| {
            let raw = connection.clone().into_raw();
            client.connection.set(raw.clone());
            let user = user::run(&client, &connection, acts);
            let end = end::wait(user, &raw, &mut process, || client.has_failed()).await;
            serve::dismiss_all(&client);
            // Separate tasks answer the requests that waited for the user.
            tokio::task::yield_now().await;
            Ok::<_, Error>(end)
        })
        .await;
    let end = match served {
        Ok(end) => end,
        // Writing to an exited agent may fail first.
        Err(error) => {
            let gone = end::broken_off(&mut process).await;
            Err(gone.unwrap_or_else(|| format!("the connection failed: {}", describe(&error))))
        }
    };
    writer.finish().await;
    process.end().await;
    client.printer.end_line();
    Ok((end?, client.has_failed()))
}
