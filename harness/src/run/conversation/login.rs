//! Logins in a terminal: the client starts the agent's program there, and that process does not serve as an agent.

use super::{Connection, Conversation};
use crate::protocol::TerminalLogin;
use crate::run::channel::LoginStart;
use crate::trace::{AgentStart, ProcessEvent, What};
use crate::transport::relay::Caller;
use crate::wire::{Frame, LineEnd};

impl Conversation {
    /// Records a start of the agent's program.
    pub(super) fn agent_started(&mut self, connection: usize, caller: Caller) {
        let logins: Vec<TerminalLogin> = self.setup.auth_methods.iter().filter_map(TerminalLogin::of).collect();
        let start = start_of(caller, &logins);
        let base = self.base.get_or_insert_with(|| start.clone());
        let is_login = logins.iter().any(|login| start.is_login(base, &login.args, &login.env));
        let on_terminal = start.terminal == Some(true);
        let started = What::Process(ProcessEvent::AgentStarted(start));
        if is_login {
            self.opens(Connection::default(), true);
            let n = self.state.recorder.record_at_login(connection, started);
            self.state.logins.push(LoginStart { n, connection, on_terminal });
        } else {
            self.opens(Connection::default(), false);
            self.state.recorder.record_on(connection, started);
        }
    }

    /// Prints something on the terminal of a login.
    pub(super) fn print_in_login(&mut self, connection: usize, bytes: Vec<u8>) {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (line, end) = line.strip_suffix(b"\n").map_or((line, LineEnd::Cut), |line| (line, LineEnd::Lf));
            let line = What::Line { from: self.state.subject.other(), bytes: line.to_vec(), end, deliberate: false };
            self.state.recorder.record_at_login(connection, line);
        }
        self.link.write(connection, vec![bytes]);
    }

    /// Ends a login with an exit code, or by SIGKILL.
    pub(super) fn end_login(&mut self, connection: usize, code: Option<i32>) {
        let ended = code.map_or(ProcessEvent::AgentKilled, ProcessEvent::AgentExited);
        self.state.recorder.record_at_login(connection, What::Process(ended));
        match code {
            Some(code) => self.link.exit_agent(connection, code),
            None => self.link.kill_agent(connection),
        }
    }

    /// Ends every running login, so that a client that waits for one can exit.
    pub(super) fn give_up_logins(&mut self) {
        let open: Vec<usize> = (0..self.connections.len())
            .filter(|&connection| self.state.connections[connection].is_login && !self.connections[connection].gone)
            .collect();
        open.into_iter().for_each(|connection| self.link.exit_agent(connection, 1));
    }

    /// Records a line that the client typed on the terminal of a login. Such a line is never a request.
    pub(super) fn typed(&mut self, connection: usize, frame: Frame) {
        let line = What::Line { from: self.state.subject, bytes: frame.bytes, end: frame.end, deliberate: false };
        self.state.recorder.record_at_login(connection, line);
    }

    /// Handles the end of the terminal's input. The case decides whether the login is over.
    pub(super) fn login_input_ended(&mut self, connection: usize) {
        if let Some(frame) = self.connections[connection].framer.finish() {
            self.typed(connection, frame);
        }
        self.state.connections[connection].ended = true;
        self.state.recorder.record_at_login(connection, What::Process(ProcessEvent::StdoutEnded));
    }
}

/// Builds the record of a start. It holds values of variables only where a login names them.
fn start_of(caller: Caller, logins: &[TerminalLogin]) -> AgentStart {
    let Caller { pid, parent, args, cwd, environment, terminal } = caller;
    let named = |name: &str| logins.iter().any(|login| login.env.contains_key(name));
    let values = environment.iter().filter(|(name, _)| named(name));
    let values = values.map(|(name, value)| (name.clone(), value.clone())).collect();
    AgentStart {
        pid,
        parent,
        args,
        cwd,
        environment: environment.into_keys().collect(),
        values,
        terminal: Some(terminal),
    }
}
