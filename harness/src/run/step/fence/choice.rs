//! Chooses the requests of the protocol that may serve as a fence at this point of a case.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::case::model::{Action, Case, Incoming, IncomingBody, Outgoing, UserPermission};
use crate::protocol::Feature;
use crate::requirement::{Area, Party};
use crate::trace::{Event, What};
use crate::wire::{Call, Content, Envelope, RpcId, read_line};

/// A request that serves as a fence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// The name of a file that no case has; the client has to answer that it does not exist.
const NO_FILE: &str = ".acp-conformance-fence";

/// The facts on which the choice depends.
pub(super) struct Scene<'c> {
    case: &'c Case,
    by_person: bool,
    conversation: Conversation,
}

/// The state of one connection, as far as the choice depends on it.
#[derive(Debug, Default)]
struct Conversation {
    capabilities: Option<Value>,
    is_initialized: bool,
    /// The open sessions, in the order of their opening.
    sessions: Vec<String>,
    /// The sessions with a running turn.
    in_turn: Vec<String>,
    /// The requests without an answer: sender, id, method and params.
    open: Vec<(Party, RpcId, String, Value)>,
}

impl<'c> Scene<'c> {
    pub(super) fn of<'e>(
        case: &'c Case,
        events: impl Iterator<Item = &'e Event>,
        connection: usize,
        by_person: bool,
    ) -> Self {
        Self { case, by_person, conversation: Conversation::of(case, events, connection) }
    }

    /// Returns the requests that may follow an unknown one, the best first. Each leaves the state of the subject
    /// unchanged, and the case itself is not about its method.
    pub(super) fn requests(&self, cwd: &Path) -> Vec<Request> {
        if !self.conversation.is_initialized {
            return Vec::new();
        }
        let about = methods_of(self.case);
        let all = match self.case.subject {
            Party::Client => [self.read(cwd), self.permission()],
            Party::Agent => [self.list(), self.session(cwd, &about)],
        };
        all.into_iter().flatten().filter(|request| !about.contains(request.method) || request.method == NEW).collect()
    }

    /// Reads a file that does not exist, so that no client shows anything to its user.
    fn read(&self, cwd: &Path) -> Option<Request> {
        let session = self.conversation.sessions.last().filter(|_| self.advertises("fs/read_text_file"))?;
        let path = cwd.join(NO_FILE).display().to_string();
        Some(Request { method: "fs/read_text_file", params: json!({ "sessionId": session, "path": path }) })
    }

    /// Asks for a permission, which every client answers once its user does. Outside a turn, some clients have no place
    /// to ask.
    fn permission(&self) -> Option<Request> {
        let is_answered = self.case.user.permission != UserPermission::Hold && !self.by_person;
        let session = self.conversation.in_turn.last().filter(|_| is_answered && !self.is_about(Area::PERMISSION))?;
        let options = json!([
            { "optionId": "allow", "name": "Allow", "kind": "allow_once" },
            { "optionId": "reject", "name": "Reject", "kind": "reject_once" },
        ]);
        let call =
            json!({ "toolCallId": "acp-conformance-fence", "title": "Nothing", "kind": "other", "status": "pending" });
        let params = json!({ "sessionId": session, "toolCall": call, "options": options });
        Some(Request { method: "session/request_permission", params })
    }

    fn list(&self) -> Option<Request> {
        let listed = self.advertises("session/list") && !self.is_about(Area::LIST);
        listed.then(|| Request { method: "session/list", params: json!({}) })
    }

    /// Opens a session, which every agent answers, if only with the error that it requires a login. It adds a session,
    /// so it does not suit cases on which sessions exist and who may open them.
    fn session(&self, cwd: &Path, about: &BTreeSet<&str>) -> Option<Request> {
        let is_apart = ["session/list", "authenticate", "logout", "auth/login", "auth/logout"]
            .iter()
            .any(|method| about.contains(method))
            || [Area::AUTH, Area::LIST, Area::SESSION].into_iter().any(|area| self.is_about(area));
        let params = json!({ "cwd": cwd.display().to_string(), "mcpServers": [] });
        (!is_apart).then_some(Request { method: NEW, params })
    }

    /// Whether the subject advertises the capability for a method.
    fn advertises(&self, method: &str) -> bool {
        let capabilities = self.conversation.capabilities.as_ref();
        self.case.edition.adapter.has(self.case.subject, capabilities, Feature::Method(method))
    }

    fn is_about(&self, area: Area<'_>) -> bool {
        self.case.requirements.iter().any(|id| Area::of(id) == area)
    }
}

/// Nearly every case opens a session, and another one does not disturb it.
pub(super) const NEW: &str = "session/new";

/// Returns the methods that a case sends, awaits, forbids or answers.
fn methods_of(case: &Case) -> BTreeSet<&str> {
    let mut methods: BTreeSet<&str> = case.tester.answers.keys().map(String::as_str).collect();
    for step in &case.steps {
        match &step.action {
            Action::Send(lines) => methods.extend(lines.iter().filter_map(Outgoing::method)),
            Action::Expect { line, .. } | Action::Never(line) => methods.extend(called(line)),
            Action::AnyOrder(lines) => methods.extend(lines.iter().filter_map(called)),
            _ => {}
        }
    }
    methods
}

fn called(line: &Incoming) -> Option<&str> {
    match &line.body {
        IncomingBody::Call { method, .. } => Some(method),
        _ => None,
    }
}

impl Conversation {
    fn of<'e>(case: &Case, events: impl Iterator<Item = &'e Event>, connection: usize) -> Self {
        let mut conversation = Self::default();
        for event in events.filter(|event| event.connection == connection) {
            let What::Line { from, bytes, .. } = &event.what else { continue };
            let Content::One { value, .. } = read_line(bytes) else { continue };
            match Envelope::of(&value) {
                Envelope::Call(call) => conversation.call(*from, &call),
                Envelope::Response { id: Some(id), result, .. } => {
                    conversation.answer(case, from.other(), &RpcId::new(id), result);
                }
                _ => {}
            }
        }
        conversation
    }

    fn call(&mut self, from: Party, call: &Call<'_>) {
        let params = call.params.cloned().unwrap_or_default();
        let Some(id) = call.id else { return };
        if call.method == "session/prompt" {
            self.in_turn.extend(session_of(&params));
        }
        self.open.push((from, RpcId::new(id), call.method.to_owned(), params));
    }

    fn answer(&mut self, case: &Case, asker: Party, id: &RpcId, result: Option<&Value>) {
        let Some(at) = self.open.iter().position(|(from, open, ..)| *from == asker && open == id) else { return };
        let (_, _, method, params) = self.open.remove(at);
        let session = session_of(&params);
        match (method.as_str(), result) {
            ("initialize", Some(result)) => {
                self.is_initialized = true;
                let said = if case.subject == Party::Client { &params } else { result };
                self.capabilities = case.edition.adapter.capabilities(case.subject, said).cloned();
            }
            ("session/new", Some(result)) => self.sessions.extend(session_of(result)),
            ("session/load" | "session/resume", Some(_)) => self.sessions.extend(session),
            ("session/close" | "session/delete", _) => self.sessions.retain(|open| Some(open) != session.as_ref()),
            ("session/prompt", _) => self.in_turn.retain(|open| Some(open) != session.as_ref()),
            _ => {}
        }
    }
}

fn session_of(value: &Value) -> Option<String> {
    Some(value.get("sessionId")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests;
