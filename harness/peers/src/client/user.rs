//! The user: converts prompts from the command line, and then acts from standard input, to requests.

use std::{collections::VecDeque, sync::Arc};

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin, stdin};

use super::{
    act::Act,
    authenticate, config_options,
    errors::{Trouble, describe},
    options::Options,
    output::log,
    prompt, session_setup,
    state::Client,
};

/// The reason for the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// All acts are done.
    Done,
    /// The remaining acts need a new connection.
    LoggedIn,
}

/// The acts: the prompts of the command line, then those from standard input.
#[derive(Debug)]
pub(super) struct Acts {
    prompts: VecDeque<String>,
    lines: Option<Lines<BufReader<Stdin>>>,
}

impl Acts {
    /// Reads standard input only if the options require it.
    pub(super) fn open(options: &Options) -> Self {
        let lines = options.acts.then(|| BufReader::new(stdin()).lines());
        Self { prompts: options.prompts.clone().into(), lines }
    }

    pub(super) async fn next(&mut self) -> Option<Act> {
        if let Some(text) = self.prompts.pop_front() {
            return Some(Act::Prompt { text, attach: None });
        }
        loop {
            let line = self.lines.as_mut()?.next_line().await.ok()??;
            match serde_json::from_str(&line) {
                Ok(act) => return Some(act),
                Err(_) if line.trim().is_empty() => {}
                Err(error) => log(&format!("not an act: {error}: {line}")),
            }
        }
    }
}

/// Does the user's acts as long as one connection can serve them; fails if continuing makes no sense.
pub(super) async fn run(client: &Arc<Client>, acts: &mut Acts) -> Result<End, String> {
    initialize(client).await?;
    match session_setup::new_session(client).await {
        Ok(()) => {}
        Err(Trouble::LoggedIn) => return Ok(End::LoggedIn),
        Err(Trouble::Refused(reason) | Trouble::Failed(reason)) => return Err(reason),
    }
    while let Some(act) = acts.next().await {
        if act == Act::Quit {
            prompt::quit(client).await;
            return Ok(End::Done);
        }
        match perform(client, act).await {
            Ok(()) => {}
            Err(Trouble::LoggedIn) => {
                client.sessions.idle(None).await;
                return Ok(End::LoggedIn);
            }
            Err(Trouble::Refused(reason)) => log(&format!("not done: {reason}")),
            Err(Trouble::Failed(reason)) => {
                client.fail();
                log(&reason);
            }
        }
    }
    client.sessions.idle(None).await;
    Ok(End::Done)
}

/// Agrees with the agent on the version, and exchanges the capabilities.
async fn initialize(client: &Arc<Client>) -> Result<(), String> {
    let noted = Arc::clone(client);
    let answer = client.connection.call("initialize", (client.major.initialize)(&client.options), move |answer| {
        if let Ok(answer) = answer {
            noted.agent.get_or_init(|| (noted.major.agent)(answer));
        }
    });
    let answer = answer.await.map_err(|error| format!("initialize failed: {}", describe(&error)))?;
    if answer["protocolVersion"] != client.major.number {
        return Err(format!("the agent wants protocol version {}", answer["protocolVersion"]));
    }
    Ok(())
}

/// Sends the agent a custom request; the error of an unknown method is a valid answer.
async fn custom_request(client: &Client, method: &str) -> Result<(), Trouble> {
    if !method.starts_with('_') {
        return Err(Trouble::refused(format!(
            "`{method}` is not a custom method: it does not begin with an underscore"
        )));
    }
    let answer = client.connection.call(method, json!({}), |_| ()).await;
    answer.map_or_else(|error| log(&format!("{method}: {error}")), |result| log(&format!("{method}: {result}")));
    Ok(())
}

async fn perform(client: &Arc<Client>, act: Act) -> Result<(), Trouble> {
    match act {
        Act::Prompt { text, attach } => prompt::prompt(client, text, &attach.unwrap_or_default()).await,
        Act::Command { name, input } => prompt::command(client, &name, input.as_deref()).await,
        Act::Cancel => prompt::cancel(client),
        Act::CancelRequest => prompt::cancel_request(client),
        Act::CancelTool => {
            prompt::cancel_offered(client, "tool_call/cancel", "toolCallId", |session| &session.tools).await
        }
        Act::CancelTerminal => {
            prompt::cancel_offered(client, "terminal/cancel", "terminalId", |session| &session.terminals).await
        }
        Act::NewSession { cwd } => {
            client.go_to(cwd);
            session_setup::new_session(client).await
        }
        Act::Load { session_id } => session_setup::load(client, session_id).await,
        Act::Resume { session_id } => session_setup::resume(client, session_id).await,
        Act::Close { session_id } => session_setup::close(client, &session_id).await,
        Act::Delete { session_id } => session_setup::delete(client, &session_id).await,
        Act::Switch { session_id } => session_setup::switch(client, &session_id),
        Act::List { dir } => session_setup::list(client, dir.as_deref()).await,
        Act::SetMode { mode_id } => config_options::set_mode(client, mode_id).await,
        Act::SetOption { config_id, value } => config_options::set_option(client, &config_id, value).await,
        Act::Authenticate { method_id } => authenticate::authenticate(client, &method_id).await,
        Act::Logout => authenticate::log_out(client).await,
        Act::CustomRequest { method } => custom_request(client, &method).await,
        Act::Decide { .. } | Act::Answer { .. } => client.questions.answer(&act).await,
        Act::Quit => Ok(()),
    }
}
