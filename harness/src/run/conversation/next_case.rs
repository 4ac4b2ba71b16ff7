//! Continues a conversation with another case.

use std::collections::HashSet;
use std::io;

use serde_json::{Value, json};

use super::Conversation;
use super::serve::Role;
use crate::case::model::TesterSetup;
use crate::requirement::Party;
use crate::run::channel::{Message, OpenRequest, State};
use crate::run::tester::{Answer, McpServers, Services};
use crate::trace::{Event, What};
use crate::transport::web::Web;
use crate::wire::{Envelope, RpcId, read_line};

/// JSON-RPC's code for errors that the other side could not have avoided.
const INTERNAL_ERROR: i32 = -32603;

/// The sessions and requests of the cases before the current one. No transcript gets messages about them.
#[derive(Default)]
pub(super) struct EarlierCases {
    /// The connection to which they belong, if the subject is an agent: a process that is started again may use the
    /// same ids for other sessions.
    connection: Option<usize>,
    sessions: HashSet<String>,
    /// The ids of the tester's requests.
    requests: HashSet<RpcId>,
}

impl EarlierCases {
    /// Whether a message of the subject is about one of the sessions, or answers one of the requests.
    pub(super) fn is_about(&self, connection: usize, message: &Value) -> bool {
        if self.connection.is_some_and(|own| own != connection) {
            return false;
        }
        match Envelope::of(message) {
            Envelope::Call(call) => {
                let session = call.params.and_then(|params| params.get("sessionId")?.as_str());
                session.is_some_and(|session| self.sessions.contains(session))
            }
            Envelope::Response { id: Some(id), .. } => self.requests.contains(&RpcId::new(id)),
            Envelope::Response { id: None, .. } | Envelope::Unclear => false,
        }
    }

    /// Removes an id from the earlier ones when the current case uses it again.
    pub(super) fn reuse(&mut self, line: &[u8]) {
        if let Some(id) = read_line(line).one().as_ref().and_then(|message| message.get("id")) {
            self.requests.remove(&RpcId::new(id));
        }
    }

    /// Adds the sessions and requests of a case with this subject.
    fn extend<'e>(&mut self, subject: Party, events: impl Iterator<Item = &'e Event>) {
        let of_it = events.filter(|event| self.connection.is_none_or(|own| own == event.connection));
        for event in of_it {
            let What::Line { from, bytes, .. } = &event.what else { continue };
            let Some(message) = read_line(bytes).one() else { continue };
            match (from, Envelope::of(&message)) {
                (from, Envelope::Call(call)) if *from == subject.other() => {
                    self.requests.extend(call.id.map(RpcId::new));
                }
                // A session that a client loads has its id from an earlier process.
                (Party::Client, Envelope::Call(call)) if OPENING_OLD.contains(&call.method) => {
                    self.sessions.extend(call.params.and_then(session_in));
                }
                (Party::Agent, Envelope::Response { result: Some(result), .. }) => {
                    self.sessions.extend(session_in(result));
                }
                _ => {}
            }
        }
    }
}

/// The requests of a client that open an old session.
const OPENING_OLD: [&str; 2] = ["session/load", "session/resume"];

fn session_in(value: &Value) -> Option<String> {
    value.get("sessionId").and_then(Value::as_str).map(str::to_owned)
}

impl Conversation {
    /// Continues with another case and prepares the tester's side for it; `mark` is recorded as its beginning.
    /// `services` makes what an agent may use.
    pub(in crate::run) fn go_on(
        self,
        services: impl FnOnce(&TesterSetup) -> Services,
        (mcp, web): (McpServers, Option<Web>),
        setup: TesterSetup,
        mark: What,
    ) -> Self {
        let role = match &self.role {
            Role::Client(before) => {
                let services = services(&setup);
                services.continue_after(before);
                Role::Client(services)
            }
            Role::Agent(before) => Role::Agent(Box::new(before.with_setup(&setup))),
        };
        let subject = self.state.subject;
        let connection = (subject == Party::Agent).then(|| self.connections.len().saturating_sub(1));
        let same_process = self.earlier.filter(|earlier| earlier.connection == connection);
        let mut earlier = same_process.unwrap_or_else(|| EarlierCases { connection, ..EarlierCases::default() });
        earlier.extend(subject, self.state.recorder.of_case());
        let Self { edition, link, state, connections, stdout, stderr, mut writing, model, .. } = self;
        let Self { base, n_inserted, .. } = self;
        let State { recorder, connections: opened, exit, flooded, .. } = state;
        writing.turn_to(setup.wire);
        let fresh = Self::new(link, State::new(subject, recorder), role, setup, edition);
        let kept = Self { connections, stdout, stderr, writing, model, base, n_inserted, ..fresh };
        let mut conversation = Self { web, ..kept };
        let state = &mut conversation.state;
        (state.connections, state.exit, state.flooded, state.goes_on) = (opened, exit, flooded, true);
        state.mcp = mcp;
        conversation.deliver_initialize();
        conversation.state.recorder.begin_case(mark);
        conversation.earlier = Some(earlier);
        conversation
    }

    /// Whether another case can use the same connection: it is the only one, and nothing has ended it.
    pub(in crate::run) fn is_one_connection(&self) -> bool {
        matches!(self.state.connections.as_slice(), [only] if !only.ended)
    }

    /// Makes the model write its exchanges to the record of another case.
    pub(in crate::run) fn turn_model_to(&mut self, case: &str) -> io::Result<()> {
        self.model.as_mut().map_or(Ok(()), |model| model.turn_to(case))
    }

    /// Delivers what the subject sent at `initialize` to the next case as well: its request, or its answer. It counts
    /// for the connection of the next case, also if a case before started the agent again.
    fn deliver_initialize(&mut self) {
        let connection = self.connections.len().saturating_sub(1);
        let mut lines = self.state.recorder.of_case().filter_map(|event| match &event.what {
            What::Line { from, bytes, .. } => Some((*from, event.n, bytes)),
            _ => None,
        });
        let asked = lines.find(|(from, ..)| *from == Party::Client);
        let Some((n, request)) = asked.and_then(|(_, n, bytes)| Some((n, read_line(bytes).one()?))) else { return };
        if self.state.subject == Party::Client {
            return self.unread.push(Message { n, connection, value: request });
        }
        let id = request.get("id");
        let answer = lines.filter(|(from, ..)| *from == Party::Agent).find_map(|(_, n, bytes)| {
            let value = read_line(bytes).one()?;
            (value.get("id") == id && id.is_some()).then_some(Message { n, connection, value })
        });
        self.unread.extend(answer);
    }

    /// Answers a request that is about an earlier case, since no transcript does.
    pub(super) fn late(&mut self, connection: usize, value: &Value) {
        let Envelope::Call(call) = Envelope::of(value) else { return };
        let Some(id) = call.id else { return };
        let params = call.params.cloned().unwrap_or_default();
        let Role::Agent(agent) = &mut self.role else {
            return self.send_error(
                connection,
                id,
                json!({ "code": INTERNAL_ERROR, "message": "the session is over" }),
            );
        };
        // The session of a client is still open: its user has only turned to another one.
        match agent.answer(call.method, &params) {
            Answer::Held => {
                let (id, method) = (id.clone(), call.method.to_owned());
                self.state.open.push(OpenRequest { connection, id: id.clone(), method, params, cancelled: false });
                let id = RpcId::new(&id);
                self.end_turns_if(|open| open.is(connection, &id));
            }
            answer => self.answer(connection, id, call.method, answer),
        }
    }

    /// Ends the services of the case, and all terminals that still run.
    pub(in crate::run) async fn end_services(&self) {
        if let Role::Client(services) = &self.role {
            services.clone().shutdown().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{EarlierCases, RpcId};

    #[test]
    fn recognizes_messages_about_earlier_cases() {
        let requests = [json!(0), json!(2), json!("a")].iter().map(RpcId::new).collect();
        let mut earlier = EarlierCases { connection: Some(0), sessions: ["s-1".to_owned()].into(), requests };
        for (message, is_about) in [
            (json!({ "method": "session/update", "params": { "sessionId": "s-1", "update": {} } }), true),
            (json!({ "id": 0, "method": "fs/read_text_file", "params": { "sessionId": "s-1" } }), true),
            (json!({ "id": 2, "result": {} }), true),
            (json!({ "method": "session/update", "params": { "sessionId": "s-2", "update": {} } }), false),
            (json!({ "id": 3, "result": {} }), false),
            (json!({ "id": "2", "result": {} }), false),
            (json!({ "id": "a", "error": {} }), true),
            (json!({ "id": null, "error": {} }), false),
        ] {
            assert_eq!(earlier.is_about(0, &message), is_about, "{message}");
            assert!(!earlier.is_about(1, &message), "it is from a process that was started again");
        }
        earlier.reuse(br#"{"jsonrpc":"2.0","id":2,"method":"_x"}"#);
        assert!(!earlier.is_about(0, &json!({ "id": 2, "result": {} })), "the current case sent it as well");
    }
}
