//! The connection from its start to its end.

use std::{fmt::Display, process::ExitCode, sync::Arc};

use agent_client_protocol::{Agent as AgentRole, ByteStreams, ConnectTo, Error, Stdio};
use futures::future::BoxFuture;
use tokio::io::DuplexStream;
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

use super::{
    connect,
    errors::log,
    listen::{ListenRules, listen},
    options::{Options, Protocol},
    requests::Agent,
    v1::V1,
    v2::V2,
};
use crate::signal::stop_signal;

/// Runs the agent on stdin and stdout until stdin ends, or where the options say, until a signal stops the process.
pub fn run(options: &Options) -> ExitCode {
    let Some(address) = options.listen else { return block_on(serve(options, Stdio::new())) };
    let options = options.clone();
    let converse = move |stream: DuplexStream| {
        let options = options.clone();
        let served = async move {
            let (input, output) = tokio::io::split(stream);
            serve(&options, ByteStreams::new(output.compat_write(), input.compat())).await
        };
        Box::pin(served) as BoxFuture<'static, Result<(), Error>>
    };
    block_on(listen(address, ListenRules::default(), Arc::new(converse)))
}

/// Waits for the end of a connection or of all, and converts it to an exit code.
pub fn block_on(served: impl Future<Output = Result<(), impl Display>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
        let served = runtime.block_on(served).map_err(|error| error.to_string());
        // This does not wait for threads that still read from a pipe.
        runtime.shutdown_background();
        served
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(&format!("the connection failed: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the agent on a transport until its input ends or a signal stops the process.
///
/// # Errors
///
/// The connection fails.
pub async fn serve(options: &Options, transport: impl ConnectTo<AgentRole>) -> Result<(), Error> {
    let (first, second) = (Arc::new(Agent::new(options, &V1)), Arc::new(Agent::new(options, &V2)));
    // The version that `initialize` asks for decides which of the two serves the connection.
    let router = || AgentRole.protocol_router();
    let served = async {
        match options.protocol {
            None => router().with_v1(connect::v1(&first)).with_v2(connect::v2(&second)).connect_to(transport).await,
            Some(Protocol::V1) => router().with_v1(connect::v1(&first)).connect_to(transport).await,
            Some(Protocol::V2) => router().with_v2(connect::v2(&second)).connect_to(transport).await,
        }
    };
    let served = tokio::select! {
        served = served => served,
        () = stop_signal() => Ok(()),
    };
    first.shut_down().await;
    second.shut_down().await;
    served
}
