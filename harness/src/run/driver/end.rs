//! How the subject ends, and how it is ended: in bounded time, with everything that it started.

use tokio::time::{Duration, Instant};

use super::{Driver, LAST_WORDS};
use crate::peer::link::Link;
use crate::requirement::Party;
use crate::trace::{Exit, ProcessEvent, What};

/// How long the process that a client takes for its agent has to end when it was told to.
const FAREWELL: Duration = Duration::from_secs(2);

/// What a shell adds to the number of the signal that ended a program.
const BY_SIGNAL: i32 = 128;

impl Driver {
    /// Ends the protocol stream to the subject.
    pub fn close_input(&mut self, connection: usize) {
        self.link.close_input(connection);
        self.recorder.record_on(connection, What::Process(ProcessEvent::StdinClosed));
    }

    /// Has the process that a client takes for its agent write to its standard error.
    pub fn agent_stderr(&self, connection: usize, bytes: Vec<u8>) {
        self.link.agent_stderr(connection, bytes);
    }

    /// Has the process that a client takes for its agent stay when its input ends or a signal comes.
    pub fn agent_lingers(&mut self, connection: usize) {
        if let Some(connection) = self.connections.get_mut(connection) {
            connection.lingers = true;
        }
    }

    /// Has the process that a client takes for its agent exit.
    pub fn exit_agent(&mut self, connection: usize, code: i32) {
        self.recorder.record_on(connection, What::Process(ProcessEvent::AgentExited(code)));
        self.link.exit_agent(connection, code);
    }

    /// Has SIGKILL end the process that a client takes for its agent.
    pub fn kill_agent(&mut self, connection: usize) {
        self.recorder.record_on(connection, What::Process(ProcessEvent::AgentKilled));
        self.link.kill_agent(connection);
    }

    /// Sends the subject itself a signal; false when there is none of this name.
    pub fn signal(&self, name: &str) -> bool {
        self.link.signal(name)
    }

    /// Gives a client a line on its standard input.
    pub fn type_in(&self, bytes: Vec<u8>) {
        self.link.type_in(bytes);
    }

    /// Ends the standard input of a client.
    pub fn end_typing(&mut self) {
        self.link.end_typing();
    }

    /// An agent whose input ends, or that gets a signal to stop, goes; unless it was told to linger.
    pub(super) fn leave(&mut self, connection: usize, code: i32) {
        if self.subject == Party::Client && !self.connections[connection].lingers {
            self.link.exit_agent(connection, code);
        }
    }

    pub(super) fn agent_signalled(&mut self, connection: usize, name: String) {
        let number = match name.as_str() {
            "SIGHUP" => 1,
            "SIGINT" => 2,
            _ => 15,
        };
        self.recorder.record_on(connection, What::Process(ProcessEvent::AgentSignalled(name)));
        self.leave(connection, BY_SIGNAL + number);
    }

    pub(super) fn exited(&mut self, exit: Exit) {
        let (code, signal) = match &exit {
            Exit::Code(code) => (Some(*code), None),
            Exit::Signal(name) => (None, Some(name.clone())),
        };
        self.recorder.record(What::Process(ProcessEvent::Exited { code, signal }));
        self.life.exit = Some(exit);
        self.last_output = Some(match self.subject {
            Party::Agent => {
                // What the agent leaves behind would hold its pipes open; nothing of it is part of the conversation.
                self.link.kill();
                Link::last_output_deadline()
            }
            Party::Client => Instant::now() + LAST_WORDS,
        });
    }

    /// Ends a subject that has sent more than there is room for.
    pub(super) fn stop_flood(&mut self) {
        if self.recorder.is_full() {
            self.flooded();
        }
    }

    /// Ends a subject that is too much, and hears no more of it.
    pub(super) fn flooded(&mut self) {
        if !self.life.flooded {
            self.life.flooded = true;
            self.waiting.clear();
            self.recorder.record(What::Process(ProcessEvent::Flooded));
            self.link.kill();
        }
    }

    /// Whether a client has ended and starts no agent any more. One that it started with its last breath may be on its way.
    pub(super) fn has_left(&self) -> bool {
        let on_its_way = || self.last_output.is_some_and(|last| Instant::now() < last) && self.link.runs();
        self.life.exit.is_some() && !(self.connections.is_empty() && on_its_way())
    }

    /// Ends the subject in bounded time: closes its input, then asks it, then kills its group.
    pub async fn shut_down(&mut self, patience: Duration, already_closed: bool) {
        self.give_up_logins();
        if self.link.pid.is_none() {
            return self.hang_up().await;
        }
        match self.subject {
            Party::Agent if !already_closed && !self.over() => self.close_input(0),
            Party::Agent => {}
            Party::Client => self.end_typing(),
        }
        let gone = |driver: &Self| driver.life.exit.is_some();
        if !self.until(Instant::now() + patience, gone).await {
            self.recorder.record(What::Process(ProcessEvent::Signalled("SIGTERM".to_owned())));
            self.link.terminate();
            if !self.until(Instant::now() + patience, gone).await {
                self.recorder.record(What::Process(ProcessEvent::Signalled("SIGKILL".to_owned())));
            }
        }
        self.link.kill();
        self.until(Link::last_output_deadline(), |driver: &Self| gone(driver) && driver.over()).await;
        let last_words =
            [self.stdout.finish().map(|f| What::Stdout(f.bytes)), self.stderr.finish().map(|f| What::Stderr(f.bytes))];
        last_words.into_iter().flatten().for_each(|last| self.printed(last));
        self.end_services().await;
    }

    /// Ends the connections with a client that a person has started, and that goes on running.
    async fn hang_up(&mut self) {
        let open: Vec<_> = (0..self.connections.len()).filter(|&n| !self.connections[n].gone).collect();
        for &connection in &open {
            self.exit_agent(connection, 0);
        }
        // One that calls meanwhile, because its client starts it again, is none of these.
        let gone = |driver: &Self| open.iter().all(|&connection| driver.connections[connection].gone);
        self.until(Instant::now() + FAREWELL, gone).await;
    }
}
