//! Ends the subject in bounded time, with everything that it started.

use tokio::time::{Instant, sleep};

use super::{Connection, Conversation};
use crate::requirement::Party;
use crate::run::case::Closing;
use crate::run::environment::Start;
use crate::run::timing::{AGENT_EXIT, CHILDREN_END, CHILDREN_POLL, CONNECTION_END, OUTPUT_AFTER_EXIT};
use crate::trace::{Exit, ProcessEvent, What};
use crate::transport::link::Link;
use crate::transport::process::left_behind;

/// The number that a shell adds to a signal to form an exit code.
const BY_SIGNAL: i32 = 128;

impl Conversation {
    /// Ends the protocol stream to the subject.
    pub(super) fn close_input(&mut self, connection: usize) {
        self.link.close_input(connection);
        self.state.recorder.record_on(connection, What::Process(ProcessEvent::StdinClosed));
    }

    /// Makes the process that a client takes for its agent exit.
    pub(super) fn exit_agent(&mut self, connection: usize, code: i32) {
        self.state.recorder.record_on(connection, What::Process(ProcessEvent::AgentExited(code)));
        self.link.exit_agent(connection, code);
    }

    /// Makes the agent exit when its input ends or a signal asks it to stop, unless the case lets it linger.
    pub(super) fn leave(&mut self, connection: usize, code: i32) {
        if self.state.subject == Party::Client && !self.connections[connection].lingers {
            self.link.exit_agent(connection, code);
        }
    }

    pub(super) fn agent_signalled(&mut self, connection: usize, name: String) {
        let number = match name.as_str() {
            "SIGHUP" => 1,
            "SIGINT" => 2,
            _ => 15,
        };
        self.state.recorder.record_on(connection, What::Process(ProcessEvent::AgentSignalled(name)));
        self.leave(connection, BY_SIGNAL + number);
    }

    pub(super) fn exited(&mut self, exit: Exit) {
        let (code, signal) = match &exit {
            Exit::Code(code) => (Some(*code), None),
            Exit::Signal(name) => (None, Some(name.clone())),
        };
        self.state.recorder.record(What::Process(ProcessEvent::Exited { code, signal }));
        self.state.exit = Some(exit);
        self.last_output = Some(match self.state.subject {
            Party::Agent => {
                // Leftover processes would hold the pipes open; their output is not part of the conversation.
                if !self.looks_for_left {
                    self.link.kill();
                }
                Link::last_output_deadline()
            }
            Party::Client => Instant::now() + OUTPUT_AFTER_EXIT,
        });
    }

    /// Ends a subject that has sent more than the trace can hold.
    pub(super) fn stop_flood(&mut self) {
        if self.state.recorder.is_full() {
            self.flooded();
        }
    }

    /// Stops a flooding subject and reads nothing more from it.
    pub(super) fn flooded(&mut self) {
        if !self.state.flooded {
            self.state.flooded = true;
            self.waiting.clear();
            self.state.recorder.record(What::Process(ProcessEvent::Flooded));
            self.link.kill();
        }
    }

    /// Whether a client has exited and can start no agent any more. An agent that it started just before may still
    /// connect.
    pub(super) fn has_left(&self) -> bool {
        let on_its_way = || self.last_output.is_some_and(|last| Instant::now() < last) && self.link.runs();
        self.state.exit.is_some() && !(self.connections.is_empty() && on_its_way())
    }

    /// Starts an agent again, whose process has ended. The next process has a connection of its own, and finds the
    /// folders as the one before left them.
    pub(super) fn restart(&mut self, start: &Start) -> Option<Vec<usize>> {
        self.state.connections.iter_mut().for_each(|connection| connection.ended = true);
        // Requests that no service has seen yet came from a process that reads no answer.
        self.waiting.clear();
        let connection = self.connections.len();
        match start.link(connection) {
            Ok(link) => self.link = link,
            Err(error) => {
                self.state.own_fault = Some(format!("cannot start the agent again: {error}"));
                return None;
            }
        }
        (self.state.exit, self.last_output) = (None, None);
        self.opens(Connection::default(), false);
        if let Some(pid) = self.link.pid {
            self.state.recorder.record_on(connection, What::Process(ProcessEvent::Spawned { pid }));
        }
        Some(Vec::new())
    }

    /// Ends the subject in bounded time: closes its input, then signals it, then kills its group. The processes that it
    /// started carry the marker.
    pub(in crate::run) async fn shut_down(&mut self, closing: &Closing, marker: &str) {
        let (patience, already_closed) = (closing.limits.exit, closing.input_closed);
        self.give_up_logins();
        if self.link.serves() {
            if !already_closed && !self.over() {
                self.close_input(self.connections.len() - 1);
            }
            self.until(Instant::now() + CONNECTION_END, Self::over).await;
        }
        if self.link.pid.is_none() {
            return self.hang_up().await;
        }
        if self.link.serves() && self.state.exit.is_none() {
            self.state.recorder.record(What::Process(ProcessEvent::Signalled("SIGTERM".to_owned())));
            self.link.terminate();
        }
        match self.state.subject {
            Party::Agent if !already_closed && !self.over() && !self.link.serves() => {
                self.looks_for_left = true;
                self.close_input(self.connections.len() - 1);
            }
            Party::Agent => {}
            Party::Client => self.link.end_typing(),
        }
        let gone = |conversation: &Self| conversation.state.exit.is_some();
        if !self.until(Instant::now() + patience, gone).await {
            self.looks_for_left = false;
            self.state.recorder.record(What::Process(ProcessEvent::Signalled("SIGTERM".to_owned())));
            self.link.terminate();
            if !self.until(Instant::now() + patience, gone).await {
                self.state.recorder.record(What::Process(ProcessEvent::Signalled("SIGKILL".to_owned())));
            }
        }
        if self.looks_for_left {
            self.record_left(marker).await;
        }
        self.link.kill();
        self.until(Link::last_output_deadline(), |conversation: &Self| gone(conversation) && conversation.over()).await;
        let last_words =
            [self.stdout.finish().map(|f| What::Stdout(f.bytes)), self.stderr.finish().map(|f| What::Stderr(f.bytes))];
        last_words.into_iter().flatten().for_each(|last| self.printed(last));
        self.end_services().await;
    }

    /// Records which processes of an agent that has exited still run a while later.
    async fn record_left(&mut self, marker: &str) {
        // Commands and servers of the tester carry the marker too.
        self.end_services().await;
        let deadline = Instant::now() + CHILDREN_END;
        let mut left = left_behind(marker);
        while left.as_ref().is_some_and(|left| !left.is_empty()) && Instant::now() < deadline {
            sleep(CHILDREN_POLL).await;
            left = left_behind(marker);
        }
        if let Some(left) = left {
            self.state.recorder.record(What::Process(ProcessEvent::Left(left)));
        }
    }

    /// Ends the connections with a client that a person started, and leaves the client running.
    async fn hang_up(&mut self) {
        let open: Vec<_> = (0..self.connections.len()).filter(|&n| !self.connections[n].gone).collect();
        for &connection in &open {
            self.exit_agent(connection, 0);
        }
        // A connection that opens meanwhile, because the client starts its agent again, does not count.
        let gone = |conversation: &Self| open.iter().all(|&connection| conversation.connections[connection].gone);
        self.until(Instant::now() + AGENT_EXIT, gone).await;
    }
}
