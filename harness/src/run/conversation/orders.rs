//! Carries out the orders of a case.

use serde_json::Value;

use super::Conversation;
use crate::run::channel::{AgentOrder, Line, Order};
use crate::trace::{ProcessEvent, What};
use crate::transport::event::Outgoing;
use crate::wire::{Envelope, LineEnd, RpcId};

impl Conversation {
    pub(super) fn carry_out(&mut self, order: Order) -> Option<Vec<usize>> {
        match order {
            Order::Lines { connection, lines, end, split } => {
                return Some(self.send_lines(connection, &lines, end, split));
            }
            Order::Fence { connection, marked, line } => {
                if let Some(method) = marked {
                    self.state.recorder.record_on(connection, What::Fence(method.to_owned()));
                }
                return Some(self.write(connection, &[line], LineEnd::Lf, None));
            }
            Order::Http(connection, request) => self.link.dialled(connection, Outgoing::Request(request)),
            Order::Binary(connection, bytes) => self.link.dialled(connection, Outgoing::Binary(bytes)),
            Order::CloseInput(connection) => self.close_input(connection),
            Order::Type(bytes) => self.link.type_in(bytes),
            Order::EndTyping => self.link.end_typing(),
            Order::Signal(name) => return self.link.signal(&name).then(Vec::new),
            Order::Restart(start) => return self.restart(&start),
            Order::AgentProcess(connection, order) => self.order_agent(connection, order),
            Order::LoginPrint(connection, bytes) => self.print_in_login(connection, bytes),
            Order::LoginEnd(connection, code) => self.end_login(connection, code),
            Order::AnswerUnscripted(connection, id) => self.answer_unscripted(connection, &id),
            Order::RecordVisits => self.take_in_visits(),
        }
        Some(Vec::new())
    }

    fn order_agent(&mut self, connection: usize, order: AgentOrder) {
        match order {
            AgentOrder::Stderr(bytes) => self.link.agent_stderr(connection, bytes),
            AgentOrder::Linger => {
                if let Some(connection) = self.connections.get_mut(connection) {
                    connection.lingers = true;
                }
            }
            AgentOrder::Exit(code) => self.exit_agent(connection, code),
            AgentOrder::Kill => {
                self.state.recorder.record_on(connection, What::Process(ProcessEvent::AgentKilled));
                self.link.kill_agent(connection);
            }
        }
    }

    /// Writes the lines of a step, and then updates the services.
    fn send_lines(&mut self, to: usize, lines: &[Line], end: LineEnd, split: Option<usize>) -> Vec<usize> {
        let events = self.write(to, lines, end, split);
        let messages = || lines.iter().filter_map(|line| line.message.as_ref());
        for message in messages() {
            if let Envelope::Response { id: Some(id), .. } = Envelope::of(message) {
                self.closed(to, id);
            }
        }
        let mut cancelled = Vec::new();
        for message in messages() {
            let Envelope::Call(call) = Envelope::of(message) else { continue };
            let params = call.params.unwrap_or(&Value::Null);
            let session = params.get("sessionId").and_then(Value::as_str);
            match (call.method, call.id) {
                ("session/update", None) => self.state.note_update(to, params),
                ("session/prompt", Some(_)) => session.into_iter().for_each(|session| self.turn_begins(session)),
                ("session/new" | "session/load" | "session/resume", Some(id)) => {
                    self.openings.push((RpcId::new(id), params.clone()));
                }
                // Later versions withdraw each request; only then it is answered.
                ("session/cancel", None) if self.edition.adapter.response_ends_turn() => {
                    cancelled.extend(session.map(str::to_owned))
                }
                _ => {}
            }
        }
        cancelled.iter().for_each(|session| self.cancelled(session));
        events
    }
}
