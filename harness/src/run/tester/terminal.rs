//! Terminal requests: keeps the commands by terminal and session, and starts each.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::time::timeout;

use super::answer::{Answer, Refusal};
use super::command::{Command, KILLED, STRAGGLERS};
use super::params::Params;
use crate::sync::lock;
use crate::transport::process::{Environment, Launch};

/// Bytes kept of the output if the request sets no limit.
const DEFAULT_LIMIT: usize = 1024 * 1024;

/// The most bytes of output kept, whatever the request asks for, so that no agent can fill the memory.
const MAX_LIMIT: usize = 16 * 1024 * 1024;

/// The most terminals at the same time; together they keep at most half a gigabyte.
const MAX_TERMINALS: usize = 32;

/// All terminals of one connection.
#[derive(Debug)]
pub(super) struct Terminals {
    workspace: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct Terminal {
    session: String,
    command: Command,
}

#[derive(Debug, Default)]
struct State {
    terminals: HashMap<String, Arc<Terminal>>,
    session_cwds: HashMap<String, PathBuf>,
    environment: Environment,
    n_created: u64,
    closed: bool,
}

impl Terminals {
    pub(super) fn new(workspace: PathBuf) -> Self {
        Self { workspace, state: Mutex::default() }
    }

    pub(super) fn set_environment(&self, environment: Environment) {
        lock(&self.state).environment = environment;
    }

    pub(super) fn set_session_cwd(&self, session: &str, cwd: PathBuf) {
        lock(&self.state).session_cwds.insert(session.to_owned(), cwd);
    }

    /// Continues the numbers of an earlier case, so that each id is used once in a conversation.
    pub fn continue_after(&self, earlier: &Self) {
        let count = lock(&earlier.state).n_created;
        lock(&self.state).n_created = count;
    }

    /// Answers `terminal/create`.
    ///
    /// > The Client returns a Terminal ID immediately without waiting for completion
    pub(super) fn create(&self, params: &Value) -> Result<Answer, Refusal> {
        let params = Params::new(params)?;
        let session = params.session()?;
        let limit = byte_limit(params)?;
        let mut state = lock(&self.state);
        if state.closed {
            return Err(Refusal::failed("the client is shutting down"));
        }
        if state.terminals.len() >= MAX_TERMINALS {
            return Err(Refusal::failed(format!("{MAX_TERMINALS} terminals are open, and no more are to be had")));
        }
        let default_cwd = state.session_cwds.get(session).unwrap_or(&self.workspace);
        let launch = launch(params, default_cwd, state.environment.clone())?;
        let process = launch.spawn_merged().map_err(|error| Refusal::failed(error.to_string()))?;
        let command = Command::start(process, limit, STRAGGLERS);
        let terminal = Terminal { session: session.to_owned(), command };
        state.n_created += 1;
        let id = format!("term-{}", state.n_created);
        state.terminals.insert(id.clone(), Arc::new(terminal));
        Ok(Answer::Result(json!({ "terminalId": id })))
    }

    /// Answers `terminal/output`.
    pub(super) fn output(&self, params: &Value) -> Result<Answer, Refusal> {
        let terminal = self.find(params)?;
        // The exit is read first: once it is reported, the output is complete.
        let end = terminal.command.end();
        let (output, truncated) = terminal.command.output();
        let mut result = json!({ "output": output, "truncated": truncated });
        if let Some(end) = end {
            result["exitStatus"] = end.to_json();
        }
        Ok(Answer::Result(result))
    }

    /// Answers `terminal/wait_for_exit`once the command has exited.
    pub(super) async fn wait_for_exit(&self, params: &Value) -> Result<Answer, Refusal> {
        // Only the wait is kept, not the terminal, since a release must be able to drop it meanwhile.
        let ended = self.find(params)?.command.ended();
        let end = ended.await.ok_or_else(|| Refusal::not_found("the terminal was released"))?;
        Ok(Answer::Result(end.to_json()))
    }

    /// Answers `terminal/kill`once the command has exited or a limit is reached.
    pub(super) async fn kill(&self, params: &Value) -> Result<Answer, Refusal> {
        self.find(params)?.command.kill().await;
        Ok(Answer::done())
    }

    /// Answers `terminal/release`; from its arrival on the terminal is unknown.
    pub(super) async fn release(&self, params: &Value) -> Result<Answer, Refusal> {
        let terminal = self.find(params)?;
        lock(&self.state).terminals.retain(|_, other| !Arc::ptr_eq(other, &terminal));
        terminal.command.kill().await;
        Ok(Answer::done())
    }

    /// Whether any terminal has not been released.
    pub(super) fn any(&self) -> bool {
        !lock(&self.state).terminals.is_empty()
    }

    /// Kills every terminal, waits for their exits up to a limit, and accepts no new one.
    pub(super) async fn shutdown(&self) {
        let terminals = {
            let mut state = lock(&self.state);
            state.closed = true;
            std::mem::take(&mut state.terminals)
        };
        for terminal in terminals.values() {
            terminal.command.signal();
        }
        let all_ended = async {
            for terminal in terminals.values() {
                terminal.command.ended().await;
            }
        };
        // A command that has not exited in this time is dropped, which signals it once more.
        let _ = timeout(KILLED, all_ended).await;
    }

    /// Finds the terminal that a request names; a terminal of another session counts as unknown.
    fn find(&self, params: &Value) -> Result<Arc<Terminal>, Refusal> {
        let params = Params::new(params)?;
        let (session, id) = (params.session()?, params.string("terminalId")?);
        let state = lock(&self.state);
        let found = state.terminals.get(id).filter(|terminal| terminal.session == session);
        found.cloned().ok_or_else(|| Refusal::not_found(format!("no terminal `{id}` in session `{session}`")))
    }
}

fn byte_limit(params: Params<'_>) -> Result<usize, Refusal> {
    let asked = params.optional_count("outputByteLimit")?;
    Ok(asked.map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX).min(MAX_LIMIT)))
}

fn launch(params: Params<'_>, default_cwd: &Path, mut environment: Environment) -> Result<Launch, Refusal> {
    let program = text("command", params.string("command")?)?;
    if program.is_empty() {
        return Err(Refusal::invalid("`command` is empty"));
    }
    let mut args = Vec::new();
    for arg in params.array_or_empty("args")? {
        let arg = arg.as_str().ok_or_else(|| Refusal::invalid("`args` must be strings"))?;
        args.push(text("args", arg)?.into());
    }
    for variable in params.array_or_empty("env")? {
        let variable = Params::new(variable)?;
        let (name, value) = (variable.string("name")?, text("env", variable.string("value")?)?);
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Refusal::invalid(format!("`{}` cannot name a variable", name.escape_debug())));
        }
        environment = environment.with(name, value);
    }
    // A whole line as `command` is left open by the specification, and many clients run it in a shell.
    let is_line = args.is_empty() && program.contains(char::is_whitespace) && !Path::new(program).exists();
    let (program, args) = if is_line { ("sh", vec!["-c".into(), program.into()]) } else { (program, args) };
    let cwd = match params.optional_string("cwd")? {
        Some(cwd) if !Path::new(cwd).is_absolute() => {
            return Err(Refusal::invalid(format!("`cwd` `{cwd}` is not absolute")));
        }
        Some(cwd) => PathBuf::from(text("cwd", cwd)?),
        None => default_cwd.to_owned(),
    };
    Ok(Launch { program: program.into(), args, cwd, environment })
}

/// Refuses NUL, the only character that no program argument can contain.
fn text<'a>(name: &str, value: &'a str) -> Result<&'a str, Refusal> {
    if value.contains('\0') {
        return Err(Refusal::invalid(format!("`{name}` contains a NUL character")));
    }
    Ok(value)
}
