//! Start and end of the client.

use std::{process::ExitCode, sync::Arc};

use agent_client_protocol::{Agent, ConnectionTo, Error, Protocol, on_receive_notification, on_receive_request};

use super::{
    connection::respond,
    dial::{DialRules, Dialer},
    end,
    errors::describe,
    launch::{AgentProgram, Launcher},
    options::{self, Options},
    output::log,
    state::Client,
    transport,
    user::{self, Acts, End},
    v1::V1,
    v2::V2,
    version::Version,
};

/// Returns what starts the agent of the options, or dials it.
pub fn launcher(options: &Options, rules: DialRules) -> Arc<dyn Launcher> {
    match &options.url {
        Some(url) => Arc::new(Dialer::new(url.clone(), rules)),
        None => Arc::new(AgentProgram::new(options)),
    }
}

/// Runs the client until its user has no more acts, or it cannot continue.
pub fn run(options: Options, launcher: Arc<dyn Launcher>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
        let options = options.with_absolute_paths().map_err(|error| format!("no working directory: {error}"))?;
        let served = runtime.block_on(serve_user(options, &launcher));
        // A pending read of standard input must not hold the client.
        runtime.shutdown_background();
        served
    });
    let went_well = served.unwrap_or_else(|reason| {
        log(&reason);
        false
    });
    if went_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Does all acts of the user, on a new connection after a login in a terminal; returns whether nothing failed.
async fn serve_user(options: Options, launcher: &Arc<dyn Launcher>) -> Result<bool, String> {
    let mut acts = Acts::open(&options);
    let mut went_well = true;
    loop {
        let (end, has_failed) = match options.protocol {
            options::Protocol::V1 => connect::<V1>(options.clone(), launcher, &mut acts).await?,
            options::Protocol::V2 => connect::<V2>(options.clone(), launcher, &mut acts).await?,
        };
        went_well &= !has_failed;
        if end == End::Done {
            return Ok(went_well);
        }
    }
}

/// Serves the user on one connection; returns the reason for its end, and whether something failed.
async fn connect<V: Version>(
    options: Options,
    launcher: &Arc<dyn Launcher>,
    acts: &mut Acts,
) -> Result<(End, bool), String> {
    let client = Arc::new(Client::new(&V::MAJOR, options, Arc::clone(launcher)));
    let started = launcher.start();
    let (mut process, pipes) = started.map_err(|error| format!("the agent cannot be started: {error}"))?;
    let (transport, writer) = transport::open(pipes);
    let (requests, notifications) = (Arc::clone(&client), Arc::clone(&client));
    let builder = V::builder()
        .name("acp-reference-client")
        .on_receive_request(
            async move |request: V::Request, responder, _: <V::Protocol as Protocol>::Connection<Agent>| {
                let client = Arc::clone(&requests);
                let withdrawn = V::withdrawn(&request);
                respond(responder, async move { V::answer(&client, request).await }, withdrawn);
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: V::Notification, _: <V::Protocol as Protocol>::Connection<Agent>| {
                V::note(&notifications, notification);
                Ok(())
            },
            on_receive_notification!(),
        );
    let served = builder.connect_with(transport, async |connection| {
        let connection: ConnectionTo<Agent> = connection.into();
        client.connection.set(connection.clone());
        let user = user::run(&client, acts);
        let end = end::wait(user, &connection, &mut process, || client.has_failed()).await;
        shut_down(&client).await;
        Ok::<_, Error>(end)
    });
    let served = served.await;
    let end = match served {
        Ok(end) => end,
        // Writing to an exited agent may fail first.
        Err(error) => {
            shut_down(&client).await;
            let gone = end::broken_off(&mut process).await;
            Err(gone.unwrap_or_else(|| format!("the connection failed: {}", describe(&error))))
        }
    };
    writer.finish().await;
    process.end().await;
    client.printer.end_line();
    Ok((end?, client.has_failed()))
}

/// Answers the open questions and ends the commands of the agent.
async fn shut_down(client: &Client) {
    client.questions.dismiss_all();
    client.terminals.shut_down().await;
    // Separate tasks answer the requests that waited for these ends.
    tokio::task::yield_now().await;
}
