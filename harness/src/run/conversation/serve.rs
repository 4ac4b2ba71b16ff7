//! Answers the requests of the subject: by the transcript, by a fixed answer of the case, or by default.

use std::path::Path;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};

use super::Conversation;
use crate::case::model::{FixedAnswer, PermissionPolicy};
use crate::protocol::Kind;
use crate::requirement::Party;
use crate::run::channel::{Line, OpenRequest};
use crate::run::tester::{Agent, Answer, Services};
use crate::wire::{LineEnd, RpcId, write_json};

/// The requests of a subject that may be unanswered at the same time. The judge scans all of them for each message.
const MOST_UNANSWERED: usize = 1000;

/// The side of the tester.
pub(super) enum Role {
    Client(Services),
    Agent(Box<Agent>),
}

/// The answer of a service to a request of the subject.
pub(super) struct Answered {
    pub(super) connection: usize,
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) answer: Answer,
}

impl Conversation {
    pub(super) fn requested(&mut self, connection: usize, id: &Value, method: &str, params: &Value) {
        self.unanswered += 1;
        if self.unanswered > MOST_UNANSWERED {
            return self.flooded();
        }
        let (id, method, params) = (id.clone(), method.to_owned(), params.clone());
        if self.state.subject == Party::Client && method == "session/prompt" {
            self.prompted.insert((connection, params.get("sessionId").and_then(Value::as_str).map(str::to_owned)));
        }
        if let Role::Agent(agent) = &mut self.role {
            agent.asked(connection, &id, &method, &params);
        }
        let request = OpenRequest { connection, id, method, params, cancelled: false };
        if self.unscripted || !self.setup.by_hand.contains(&request.method) {
            self.answer_by_setup(request);
        } else {
            self.state.open.push(request);
        }
    }

    /// Answers a request with the fixed answer of the case or with the default; a prompt is left open.
    fn answer_by_setup(&mut self, request: OpenRequest) {
        let (connection, id, method) = (request.connection, &request.id, &request.method);
        match self.setup.answers.get(method) {
            Some(FixedAnswer::Result(result)) => return self.send_result(connection, id, method, result.clone()),
            Some(FixedAnswer::Error(error)) => return self.send_error(connection, id, error.clone()),
            None => {}
        }
        match &mut self.role {
            Role::Agent(agent) => match agent.answer(method, &request.params) {
                Answer::Held => {
                    self.state.open.push(request);
                    if self.unscripted {
                        self.end_turns();
                    }
                }
                answer => {
                    if method == "session/resume" && matches!(answer, Answer::Result(_)) {
                        self.end_replay(connection, &request.params);
                    }
                    self.answer(connection, id, method, answer);
                }
            },
            Role::Client(services) => {
                if method == "session/request_permission" && self.setup.permission == PermissionPolicy::Hold {
                    if let Some(answer) = services.hold(request.id.clone(), request.params) {
                        self.answer(connection, &request.id, &request.method, answer);
                    }
                    return;
                }
                self.waiting.push_back(request);
            }
        }
    }

    /// Serves the agent's next request, at once or when its answer is ready. It serves one at a time, so that answers
    /// cannot exceed the room in the trace.
    pub(super) fn serve_next(&mut self) {
        let Role::Client(services) = &self.role else { return };
        let Some(OpenRequest { connection, id, method, params, .. }) = self.waiting.pop_front() else { return };
        let pending = (connection, RpcId::new(&id));
        let services = services.clone();
        let mut answered = Box::pin(async move {
            let answer = services.answer(&method, &params).await;
            Answered { connection, id, method, answer }
        });
        match answered.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Answered { connection, id, method, answer }) => self.answer(connection, &id, &method, answer),
            Poll::Pending => {
                self.pending.push(pending);
                let done = self.answers.0.clone();
                tokio::spawn(async move { done.send(answered.await) });
            }
        }
        self.stop_flood();
    }

    /// Sends the answer of a service, unless the agent has cancelled its request.
    pub(super) fn answered(&mut self, Answered { connection, id, method, answer }: Answered) {
        if self.take_pending(connection, &id) {
            self.answer(connection, &id, &method, answer);
        }
    }

    /// Takes a wait for an exit that has no answer yet, so that it gets none later.
    fn take_wait(&mut self, connection: usize, id: &Value) -> bool {
        let known = RpcId::new(id);
        let is_wait = |open: &OpenRequest| open.method == "terminal/wait_for_exit" && open.is(connection, &known);
        let waiting = self.waiting.iter().position(is_wait);
        waiting.and_then(|at| self.waiting.remove(at)).is_some() || self.take_pending(connection, id)
    }

    fn take_pending(&mut self, connection: usize, id: &Value) -> bool {
        let wanted = (connection, RpcId::new(id));
        let found = self.pending.iter().position(|pending| *pending == wanted);
        found.map(|at| self.pending.swap_remove(at)).is_some()
    }

    pub(super) fn answer(&mut self, connection: usize, id: &Value, method: &str, answer: Answer) {
        match answer {
            Answer::Result(result) => self.send_result(connection, id, method, result),
            Answer::Error { code, message, data } => {
                let mut error = json!({ "code": code, "message": message });
                if let Some(data) = data {
                    error["data"] = data;
                }
                self.send_error(connection, id, error);
            }
            Answer::Held => {}
        }
    }

    fn send_result(&mut self, connection: usize, id: &Value, method: &str, result: Value) {
        let edition = self.edition;
        let definition =
            edition.methods.find(self.state.subject, Kind::Request, method).and_then(|m| m.result.as_deref());
        let problems = definition.map_or_else(Vec::new, |definition| edition.stable.problems(definition, &result));
        if let Some(problem) = problems.iter().find(|problem| !problem.is_null_capability(&result)) {
            self.state.own_fault =
                Some(format!("the tester's answer to {method} breaks the schema: {}", problem.message));
        }
        let result = self.writing.result(method, result);
        self.answer_with(connection, &json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        self.closed(connection, id);
    }

    pub(super) fn send_error(&mut self, connection: usize, id: &Value, error: Value) {
        self.answer_with(connection, &json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        self.closed(connection, id);
    }

    fn answer_with(&mut self, connection: usize, message: &Value) {
        let line = Line { bytes: write_json(message).into_bytes(), deliberate: false, message: None };
        self.write(connection, &[line], LineEnd::Lf, None);
    }

    /// Answers a request by default that was kept for the transcript.
    pub(super) fn answer_unscripted(&mut self, connection: usize, id: &Value) {
        let id = RpcId::new(id);
        if let Some(index) = self.state.open.iter().position(|open| open.is(connection, &id)) {
            let request = self.state.open.remove(index);
            self.answer_by_setup(request);
        }
    }

    /// Records that a request of the subject has its answer.
    pub(super) fn closed(&mut self, connection: usize, id: &Value) {
        self.unanswered = self.unanswered.saturating_sub(1);
        let id = RpcId::new(id);
        self.state.open.retain(|open| !open.is(connection, &id));
    }

    /// Handles a notification of the subject.
    pub(super) fn notified(&mut self, connection: usize, method: &str, params: &Value) {
        if let Role::Client(services) = &self.role
            && method == "$/cancel_request"
            && !self.edition.adapter.response_ends_turn()
            && let Some((id, answer)) = params.get("requestId").and_then(|id| services.withdraw(id))
        {
            self.answer(connection, &id, "session/request_permission", answer);
        }
        // An agent that cancels its wait for an exit may wait for this answer before it releases the terminal.
        if method == "$/cancel_request"
            && let Some(id) = params.get("requestId").filter(|id| self.take_wait(connection, id))
        {
            self.send_error(connection, id, json!({ "code": -32800, "message": "Request cancelled" }));
        }
        if self.state.subject == Party::Client && method == "session/cancel" {
            let session = params.get("sessionId");
            for open in self.state.open.iter_mut().filter(|open| open.params.get("sessionId") == session) {
                open.cancelled |= open.method == "session/prompt";
            }
            if self.unscripted || !self.setup.by_hand.contains("session/prompt") {
                self.end_cancelled_turns();
            }
        }
    }

    /// Answers every open request of a client after the transcript, so that the client can exit.
    pub(in crate::run) fn answer_open_requests(&mut self) {
        self.unscripted = true;
        if let Role::Agent(_) = self.role {
            let open = std::mem::take(&mut self.state.open).into_iter();
            let (prompts, others): (Vec<OpenRequest>, Vec<OpenRequest>) =
                open.partition(|open| open.method == "session/prompt");
            self.state.open = prompts;
            others.into_iter().for_each(|request| self.answer_by_setup(request));
            self.end_turns();
            if !self.edition.adapter.response_ends_turn() {
                for (connection, session) in std::mem::take(&mut self.prompted) {
                    self.send_idle(connection, session, "end_turn");
                }
            }
        }
    }

    fn end_cancelled_turns(&mut self) {
        self.end_turns_if(|open| open.cancelled);
    }

    fn end_turns(&mut self) {
        self.end_turns_if(|_| true);
    }

    pub(super) fn end_turns_if(&mut self, wanted: impl Fn(&OpenRequest) -> bool) {
        let is_over = |open: &OpenRequest| open.method == "session/prompt" && wanted(open);
        let (over, open) = std::mem::take(&mut self.state.open).into_iter().partition::<Vec<_>, _>(is_over);
        self.state.open = open;
        for OpenRequest { connection, id, params, cancelled, .. } in over {
            let reason = if cancelled { "cancelled" } else { "end_turn" };
            if self.edition.adapter.response_ends_turn() {
                self.send_result(connection, &id, "session/prompt", json!({ "stopReason": reason }));
                continue;
            }
            let session = params.get("sessionId").and_then(Value::as_str).map(str::to_owned);
            let key = params.get("idempotencyKey").and_then(Value::as_str).map(str::to_owned);
            let attempt = session.clone().zip(key);
            if let Some(message) = attempt.as_ref().and_then(|attempt| self.inserted.get(attempt)).cloned() {
                self.send_result(connection, &id, "session/prompt", json!({ "messageId": message }));
                continue;
            }
            self.n_inserted += 1;
            let message = format!("Message-{}.aB", self.n_inserted);
            self.inserted.extend(attempt.map(|attempt| (attempt, message.clone())));
            let content = self.sound_blocks(params.get("prompt"));
            let echo = json!({ "sessionUpdate": "user_message", "messageId": message, "content": content });
            let running = json!({ "sessionUpdate": "state_update", "state": "running" });
            for update in [running, echo] {
                self.send_update(connection, session.as_deref(), update);
            }
            self.send_result(connection, &id, "session/prompt", json!({ "messageId": message }));
            self.prompted.remove(&(connection, session.clone()));
            self.send_idle(connection, session, reason);
        }
    }

    /// Returns the blocks of a prompt that fit the schema: the tester does not repeat a client's mistakes.
    fn sound_blocks(&self, prompt: Option<&Value>) -> Vec<Value> {
        let blocks = prompt.and_then(Value::as_array).into_iter().flatten();
        blocks.filter(|block| self.edition.stable.problems("ContentBlock", block).is_empty()).cloned().collect()
    }

    /// Ends the empty replay of a session in version 2, if the client asked for one, and reports its state.
    fn end_replay(&mut self, connection: usize, params: &Value) {
        if self.edition.adapter.response_ends_turn() {
            return;
        }
        let session = params.get("sessionId").and_then(Value::as_str);
        let is_asked = params.get("replayFrom").is_some_and(|from| !from.is_null());
        if is_asked && self.edition.stable.has_value("SessionUpdate", "replay_complete") {
            self.send_update(connection, session, json!({ "sessionUpdate": "replay_complete" }));
        }
        self.send_update(connection, session, json!({ "sessionUpdate": "state_update", "state": "idle" }));
    }

    /// Reports to a client that the work in a session has ended.
    fn send_idle(&mut self, connection: usize, session: Option<String>, reason: &str) {
        let idle = json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": reason });
        self.send_update(connection, session.as_deref(), idle);
    }

    /// Sends a client an update of a session.
    fn send_update(&mut self, connection: usize, session: Option<&str>, update: Value) {
        let params = json!({ "sessionId": session, "update": update });
        self.answer_with(connection, &json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    }

    /// Notes that a turn begins, as far as the services want to know.
    pub(super) fn turn_begins(&self, session: &str) {
        if let Role::Client(services) = &self.role {
            services.begin_turn(session);
        }
    }

    /// Answers every open permission request with the outcome `cancelled`, as a client must after `session/cancel`.
    pub(super) fn cancelled(&mut self, session: &str) {
        if let Role::Client(services) = &self.role {
            for (id, answer) in services.cancel_turn(session) {
                self.answer(0, &id, "session/request_permission", answer);
            }
        }
    }

    /// Tells the services about a session: they start its commands in its working directory and permit files below all
    /// of its roots.
    pub(super) fn learn_session(&mut self, value: &Value) {
        let (Role::Client(services), Some(id), Some(result)) = (&self.role, value.get("id"), value.get("result"))
        else {
            return;
        };
        let id = RpcId::new(id);
        let Some((_, params)) = self.openings.iter().find(|(opening, _)| *opening == id) else { return };
        let session = result.get("sessionId").or_else(|| params.get("sessionId")).and_then(Value::as_str);
        let cwd = params.get("cwd").and_then(Value::as_str);
        if let (Some(session), Some(cwd)) = (session, cwd) {
            services.set_session_cwd(session, cwd);
        }
        let further = params.get("additionalDirectories").and_then(Value::as_array).into_iter().flatten();
        for root in cwd.into_iter().chain(further.filter_map(Value::as_str)) {
            services.allow_root(Path::new(root));
        }
    }
}
