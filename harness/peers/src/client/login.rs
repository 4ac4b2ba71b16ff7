//! A login in a terminal: the agent's own program, run where its user could type.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    process::{ExitStatus, Stdio},
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
};

use super::{
    Fault, Options,
    state::{Client, LoginMethod},
    user::Trouble,
};

/// How much is read at once.
const PIECE: usize = 4096;

/// What a method adds to the way in which the agent is started.
#[derive(Debug, Clone, Default)]
pub(super) struct Additions {
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
}

impl Additions {
    /// Reads them out of a login method, leaving out what is no text.
    pub(super) fn read(method: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let args = method["args"].as_array().into_iter().flatten().filter_map(text).collect();
        let env = method["env"].as_object().into_iter().flatten();
        Self { args, env: env.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect() }
    }
}

/// How a login went.
struct Ended {
    status: ExitStatus,
    printed: Vec<u8>,
}

/// Logs in, and wants a new connection for it.
pub(super) async fn run(client: &Client, method: &LoginMethod) -> Result<(), Trouble> {
    let command = command(&client.options, &method.additions);
    let ended =
        if client.commits(Fault::LoginPiped) { piped(command).await } else { on_terminal(client, command).await };
    let ended = ended.map_err(|error| Trouble::Failed(format!("the login cannot be started: {error}")))?;
    match succeeded(client, &ended) {
        true if client.commits(Fault::LoginKeepsConnection) => Ok(()),
        true => Err(Trouble::LoggedIn),
        false => Err(Trouble::Failed(format!("the login `{}` failed: {}", method.id, ended.status))),
    }
}

fn succeeded(client: &Client, ended: &Ended) -> bool {
    let said_so = || String::from_utf8_lossy(&ended.printed).to_lowercase().contains("login successful");
    ended.status.success()
        || client.commits(Fault::LoginAlwaysSucceeds)
        || client.commits(Fault::LoginKilledSucceeds) && ended.status.code().is_none()
        || client.commits(Fault::LoginWordsSucceed) && said_so()
}

/// The command that starts the agent, with what the method adds to it.
fn command(options: &Options, additions: &Additions) -> Command {
    let mut command = options.agent_command();
    if options.commits(Fault::LoginArgsReplaced) {
        command = Command::new(options.agent.first().map_or("", String::as_str));
        command.envs(options.env.iter().cloned());
    }
    command.args(&additions.args).envs(&additions.env).kill_on_drop(true);
    for (name, value) in &options.env {
        if options.commits(Fault::LoginBare) && !additions.env.contains_key(name) {
            command.env_remove(name);
        } else if options.commits(Fault::LoginEnvLoses) {
            command.env(name, value);
        }
    }
    command
}

/// Runs a login on a terminal of its own, and shows what it prints there.
async fn on_terminal(client: &Client, command: Command) -> io::Result<Ended> {
    let (mut terminal, screen) = pty_process::open().map_err(io::Error::other)?;
    terminal.resize(pty_process::Size::new(24, 80)).map_err(io::Error::other)?;
    let mut child = pty_process::Command::from(command).spawn(screen).map_err(io::Error::other)?;
    if client.commits(Fault::LoginAddressed) {
        let message = super::auth::first_message(&client.options);
        terminal.write_all(format!("{message}\n").as_bytes()).await?;
    }
    let mut printed = Vec::new();
    let mut piece = [0; PIECE];
    // A terminal that nobody uses any more cannot be read, which is its end.
    while let Ok(n @ 1..) = terminal.read(&mut piece).await {
        printed.extend_from_slice(&piece[..n]);
        // Nobody who closed stderr wants to see it.
        let _ = io::stderr().write_all(&piece[..n]);
    }
    Ok(Ended { status: child.wait().await?, printed })
}

/// Runs a login without a terminal, on behalf of a fault.
async fn piped(mut command: Command) -> io::Result<Ended> {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let output = child.wait_with_output().await?;
    Ok(Ended { status: output.status, printed: output.stdout })
}
