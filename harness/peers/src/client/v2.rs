//! The client in version 2 of the protocol, a draft.
//!
//! It does the same acts as in version 1. Reading order: `user` turns acts into requests, `serve` answers the agent, and
//! `state` is what the client knows.

mod serve;
mod state;
mod user;

use std::{pin::pin, sync::Arc};

use agent_client_protocol::{
    Agent, Client as ClientRole, Error, on_receive_notification, on_receive_request,
    v2::{
        ConnectionTo,
        schema::{AgentNotification, AgentRequest},
    },
};

use self::state::Client;
use super::{
    Launcher, Options,
    errors::describe,
    run::{LAST_WORDS, broken_off, gone, stop_signal},
    transport,
    user::{Acts, End},
};

/// Serves the user on one connection; the result tells why that ended, and whether something failed.
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
            let mut user = pin!(user::run(&client, &connection, acts));
            let end = tokio::select! {
                biased;
                end = &mut user => Some(end),
                () = stop_signal() => return Ok(Err("told to stop".to_owned())),
                () = gone(&raw, &mut process) => None,
            };
            let end = match end {
                Some(end) => Some(end),
                // What the agent said before it went may be all that the user waits for.
                None => tokio::time::timeout(LAST_WORDS, user).await.ok(),
            };
            serve::dismiss_all(&client);
            // Tasks of their own make the last answers.
            tokio::task::yield_now().await;
            Ok::<_, Error>(end.unwrap_or_else(|| Err("the agent broke off early".to_owned())))
        })
        .await;
    let end = match served {
        Ok(end) => end,
        // Writing to an agent that has gone fails first at times.
        Err(error) => {
            let gone = broken_off(&mut process).await;
            Err(gone.unwrap_or_else(|| format!("the connection failed: {}", describe(&error))))
        }
    };
    writer.finish().await;
    process.end().await;
    client.printer.end_line();
    Ok((end?, client.has_failed()))
}
