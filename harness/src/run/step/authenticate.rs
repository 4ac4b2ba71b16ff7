//! Logs in to an agent that refuses a request without a login.

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::case::model::{Incoming, Outgoing};
use crate::requirement::Party;
use crate::run::case::RunningCase;
use crate::run::case::inbox::{SentRequest, answers};
use crate::run::channel::{Channel, Line, Order};
use crate::trace::{Event, What};
use crate::wire::{LineEnd, RpcId, read_line, write_json};

/// The requests that log in or out, in all versions.
const LOGINS: [&str; 4] = ["authenticate", "logout", "auth/login", "auth/logout"];

impl<C: Channel> RunningCase<'_, C> {
    /// Sends the request whose answer the line expects again, after a login: one for each process of the agent. Returns
    /// false if the harness may not log in, or the login did not help.
    ///
    /// A login may open a browser, so the user or the agent must permit it. A case that logs in or out itself gets no
    /// further login.
    pub(super) async fn log_in_and_repeat(&mut self, line: &Incoming) -> bool {
        let logs_in = |sent: &Outgoing| sent.method().is_some_and(|method| LOGINS.contains(&method));
        if self.case.sent().any(|sent| logs_in(sent) || sent.illegal) {
            return false;
        }
        let Some(label) = line.body.answers().map(str::to_owned) else { return false };
        let Some(refused) = self.inbox.requests.get(&label) else { return false };
        let (refused_at, connection) = (refused.n, refused.connection);
        let (method, params) = (refused.method.clone(), refused.params.clone());
        let logged_in = match self.login_before(connection) {
            // Requests that were sent together are all refused before the login.
            Some(login) => login > refused_at,
            None => self.log_in(connection).await,
        };
        logged_in && self.write_request(&label, connection, &method, params)
    }

    /// Logs in by a method of the agent that it runs itself.
    async fn log_in(&mut self, connection: usize) -> bool {
        const LABEL: &str = "login of the harness";
        let Some(login) = self.permitted_login() else { return false };
        let is_first = self.case.edition.major == 1;
        let method = if is_first { "authenticate" } else { "auth/login" };
        if !self.write_request(LABEL, connection, method, json!({ "methodId": login })) {
            return false;
        }
        let Some(SentRequest { id, from, .. }) = self.inbox.requests.remove(LABEL) else { return false };
        let came = |case: &Self| case.inbox.messages[from..].iter().position(|message| answers(&message.value, &id));
        let deadline = Instant::now() + self.limits.answer;
        self.until(deadline, |case| came(case).is_some() || case.channel.state().ended(connection)).await;
        came(self).is_some_and(|at| self.inbox.messages[from + at].value.get("result").is_some())
    }

    /// Returns the id of the method by which the harness may log in: the one that the user names, or, if the agent
    /// permits logins by an entry in `_meta`, the first that needs no terminal.
    fn permitted_login(&self) -> Option<String> {
        let mut messages = self.channel.state().recorder.messages_of(Party::Agent);
        let result =
            messages.find_map(|message| message.get("result").filter(|it| it.get("authMethods").is_some()).cloned())?;
        let id = |method: &Value| {
            let id = method.get("id").or_else(|| method.get("methodId"))?.as_str()?.to_owned();
            method.get("type").is_none_or(|kind| kind.is_null() || kind == "agent").then_some(id)
        };
        let mut methods = result.get("authMethods")?.as_array()?.iter().filter_map(id);
        let capabilities = self.case.edition.adapter.capabilities(Party::Agent, &result);
        let permits =
            capabilities.and_then(|it| it.pointer("/_meta/acp-conformance/login")) == Some(&Value::Bool(true));
        match &self.subject.login {
            Some(named) => methods.find(|id| id == named),
            None => methods.next().filter(|_| permits),
        }
    }

    /// Returns the event of the last request for a login on this connection.
    fn login_before(&self, connection: usize) -> Option<usize> {
        let asks = |event: &&Event| match &event.what {
            What::Line { from: Party::Client, bytes, .. } if event.connection == connection => read_line(bytes)
                .one()
                .is_some_and(|message| message["method"].as_str().is_some_and(|method| LOGINS.contains(&method))),
            _ => false,
        };
        self.channel.state().recorder.events().iter().rev().find(asks).map(|event| event.n)
    }

    fn write_request(&mut self, label: &str, connection: usize, method: &str, params: Value) -> bool {
        let id = self.channel.writing().fresh_id();
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let line = Line { bytes: write_json(&message).into_bytes(), deliberate: false, message: Some(message) };
        let from = self.inbox.len();
        let order = Order::Lines { connection, lines: vec![line], end: LineEnd::Lf, split: None };
        let Some(&n) = self.channel.send(order).unwrap_or_default().first() else { return false };
        let at = Instant::now();
        self.sent_at = Some(at);
        let request = SentRequest { n, connection, id: RpcId::new(&id), method: method.to_owned(), params, from, at };
        self.inbox.requests.insert(label.to_owned(), request);
        true
    }
}
