//! Start and end of the client.

use std::{pin::pin, process::ExitCode, sync::Arc, time::Duration};

use agent_client_protocol::{
    Agent, Client as ClientRole, ConnectionTo as RawConnectionTo, Error, on_receive_notification, on_receive_request,
    v1::{
        ConnectionTo,
        schema::{AgentNotification, AgentRequest},
    },
};

use super::{
    AgentProcess, Launcher, Options,
    errors::describe,
    options::Protocol,
    output::log,
    serve,
    state::Client,
    transport, update,
    user::{self, Acts, End},
    v2,
};

/// Time for the output of an exited agent to end.
const HELD_OPEN: Duration = Duration::from_secs(1);

/// Time for the user to see that the agent has gone, and for its exit status to come.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(100);

/// Runs the client until its user has no more acts, or it cannot continue.
#[must_use]
pub fn run(options: Options, launcher: Arc<dyn Launcher>) -> ExitCode {
    match run_to_end(options, &launcher) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            log(&reason);
            ExitCode::FAILURE
        }
    }
}

/// Runs the client; the result is an error if something failed.
fn run_to_end(options: Options, launcher: &Arc<dyn Launcher>) -> Result<bool, String> {
    let options = options.with_absolute_paths().map_err(|error| format!("no working directory: {error}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(serve_user(options, launcher))
}

/// Does all acts of the user, on a new connection after a login in a terminal.
async fn serve_user(options: Options, launcher: &Arc<dyn Launcher>) -> Result<bool, String> {
    let mut acts = Acts::open(&options);
    let mut well = true;
    loop {
        let (end, has_failed) = if options.protocol == Protocol::V2 {
            v2::connect(&options, launcher, &mut acts).await?
        } else {
            let client = Arc::new(Client::new(options.clone(), Arc::clone(launcher)));
            (connect(&client, &mut acts).await?, client.has_failed())
        };
        well &= !has_failed;
        if end == End::Done {
            return Ok(well);
        }
    }
}

/// Serves the user on one connection; the result is the reason for its end.
async fn connect(client: &Arc<Client>, acts: &mut Acts) -> Result<End, String> {
    let started = client.launcher.start();
    let (mut process, pipes) = started.map_err(|error| format!("the agent cannot be started: {error}"))?;
    let (transport, writer) = transport::open(pipes);
    let (requests, notifications) = (Arc::clone(client), Arc::clone(client));
    let served = ClientRole
        .v1()
        .name("acp-reference-client")
        .on_receive_request(
            async move |request: AgentRequest, responder, _: ConnectionTo<Agent>| {
                serve::handle(&requests, request, responder)
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: AgentNotification, _: ConnectionTo<Agent>| {
                update::note(&notifications, notification);
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_with(transport, async |connection| {
            client.connection.set(connection.clone().into_raw());
            let end = live(client, acts, &connection, &mut process).await;
            shut_down(client).await;
            Ok::<_, Error>(end)
        })
        .await;
    let end = match served {
        Ok(end) => end,
        // Writing to an exited agent may fail first.
        Err(error) => {
            shut_down(client).await;
            let gone = broken_off(&mut process).await;
            Err(gone.unwrap_or_else(|| format!("the connection failed: {}", describe(&error))))
        }
    };
    writer.finish().await;
    process.end().await;
    client.printer.end_line();
    end
}

/// Answers the open questions and ends the commands of the agent.
async fn shut_down(client: &Client) {
    client.questions.dismiss_all();
    client.terminals.shut_down().await;
    // Separate tasks answer the requests that waited for these ends.
    tokio::task::yield_now().await;
}

/// Does the user's acts until there are no more, or the agent has gone.
async fn live(
    client: &Arc<Client>,
    acts: &mut Acts,
    connection: &ConnectionTo<Agent>,
    process: &mut AgentProcess,
) -> Result<End, String> {
    let raw = connection.clone().into_raw();
    let mut user = pin!(user::run(client, acts));
    let end = tokio::select! {
        biased;
        end = &mut user => Some(end),
        () = stop_signal() => return Err("told to stop".to_owned()),
        () = gone(&raw, process) => None,
    };
    let end = match end {
        Some(end) => Some(end),
        // The agent's last messages may be the ones that the user waits for.
        None => tokio::time::timeout(LAST_WORDS, user).await.ok(),
    };
    match end {
        Some(Ok(end)) if !(client.has_failed() && connection.is_incoming_closed()) => return Ok(end),
        Some(Err(reason)) if !connection.is_incoming_closed() => return Err(reason),
        _ => {}
    }
    let told = broken_off(process).await;
    Err(told.unwrap_or_else(|| "the agent broke off early: it closed its output".to_owned()))
}

/// Tells how the agent ended, if it has.
pub(super) async fn broken_off(process: &mut AgentProcess) -> Option<String> {
    let status = tokio::time::timeout(LAST_WORDS, process.exited()).await.ok().flatten();
    status.map(|status| format!("the agent broke off early: {status}"))
}

/// Waits until nothing more can come from the agent.
pub(super) async fn gone(connection: &RawConnectionTo<Agent>, process: &mut AgentProcess) {
    tokio::select! {
        () = connection.incoming_closed() => {}
        _ = process.exited() => {
            // The last messages may still be in the pipe, and a child of the agent may hold that open forever.
            let _ = tokio::time::timeout(HELD_OPEN, connection.incoming_closed()).await;
        }
    }
}

pub(super) async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
