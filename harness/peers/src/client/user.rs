//! The user: prompts from the command line, then acts from standard input.

use std::{io::BufRead as _, sync::Arc, thread};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    Options,
    act::Act,
    auth, elicitation, lifecycle, listing,
    output::log,
    question, settings,
    state::{Client, describe},
    turn,
};

/// Why an act was not done.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The protocol forbids it here, or it makes no sense.
    Refused(String),
    /// The agent failed or refused.
    Failed(String),
}

impl Trouble {
    /// Builds a refusal.
    pub(super) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(reason.into())
    }

    /// Tells that the agent answered a request with an error.
    pub(super) fn failed(method: &str, error: &agent_client_protocol::Error) -> Self {
        Self::Failed(format!("{method} failed: {}", describe(error)))
    }
}

/// The acts as they come from standard input.
#[derive(Debug)]
pub(super) struct Acts {
    lines: Option<mpsc::UnboundedReceiver<String>>,
}

impl Acts {
    /// Begins to read standard input, if the options say so.
    pub(super) fn open(options: &Options) -> Self {
        if !options.acts {
            return Self { lines: None };
        }
        let (sender, lines) = mpsc::unbounded_channel();
        thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines: Some(lines) }
    }

    async fn next(&mut self) -> Option<String> {
        self.lines.as_mut()?.recv().await
    }
}

/// Does all that the user wants; fails if there is no point in going on.
pub(super) async fn run(client: &Arc<Client>, mut acts: Acts) -> Result<(), String> {
    auth::initialize(client).await?;
    // A fault may have opened one already.
    if client.current().is_none()
        && let Err(Trouble::Refused(reason) | Trouble::Failed(reason)) = lifecycle::new_session(client).await
    {
        return Err(reason);
    }
    for text in client.options.prompts.clone() {
        tell(client, perform(client, Act::Prompt { text, attach: Vec::new() }).await);
    }
    while let Some(line) = acts.next().await {
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(&line) {
            Ok(Act::Quit) => {
                lifecycle::quit(client).await;
                return Ok(());
            }
            Ok(act) => tell(client, perform(client, act).await),
            Err(error) => log(&format!("not an act: {error}: {line}")),
        }
    }
    client.turns_ended().await;
    lifecycle::leave(client).await;
    Ok(())
}

fn tell(client: &Client, done: Result<(), Trouble>) {
    match done {
        Ok(()) => {}
        Err(Trouble::Refused(reason)) => log(&format!("not done: {reason}")),
        Err(Trouble::Failed(reason)) => {
            client.fail();
            log(&reason);
        }
    }
}

/// Asks the agent for something of its own; that it does not know it is an answer as well.
async fn custom_request(client: &Arc<Client>, method: &str) -> Result<(), Trouble> {
    if !method.starts_with('_') {
        return Err(Trouble::refused(format!("`{method}` is no custom method: it does not begin with an underscore")));
    }
    let answer = client.call::<Value>(method, json!({}), |_| ()).await;
    answer.map_or_else(|error| log(&format!("{method}: {error}")), |result| log(&format!("{method}: {result}")));
    Ok(())
}

async fn perform(client: &Arc<Client>, act: Act) -> Result<(), Trouble> {
    match act {
        Act::Prompt { text, attach } => turn::prompt(client, text, &attach).await,
        Act::Command { name, input } => turn::command(client, &name, input.as_deref()).await,
        Act::Cancel => turn::cancel(client),
        Act::CancelRequest => turn::cancel_request(client),
        Act::NewSession => lifecycle::new_session(client).await,
        Act::Load { session_id } => lifecycle::load(client, session_id.into()).await,
        Act::Resume { session_id } => lifecycle::resume(client, session_id.into()).await,
        Act::Close { session_id } => lifecycle::close(client, session_id.into()).await,
        Act::Delete { session_id } => lifecycle::delete(client, session_id.into()).await,
        Act::Switch { session_id } => lifecycle::switch(client, session_id.into()),
        Act::List { dir } => listing::list(client, dir.as_deref()).await,
        Act::SetMode { mode_id } => settings::set_mode(client, &mode_id).await,
        Act::SetOption { config_id, value } => settings::set_option(client, &config_id, value).await,
        Act::Authenticate { method_id } => auth::authenticate(client, &method_id).await,
        Act::Logout => auth::logout(client).await,
        Act::CustomRequest { method } => custom_request(client, &method).await,
        Act::Decide { option_id } => question::decide(client, &option_id).await.map_err(Trouble::Refused),
        Act::Answer { action } => elicitation::answer_oldest(client, action).await.map_err(Trouble::Refused),
        Act::Quit => Ok(()),
    }
}
