//! Replaces the parts of messages that differ from run to run: ids, paths and times, each by its member.
//!
//! The same id always gets the same name, `<session-1>` and so on in the order of first appearance, so that it remains
//! visible when two messages concern the same object. Apart from times, no value is recognised by its form.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::requirement::Party;
use crate::trace::{Event, What};
use crate::wire::{Content, Envelope, RpcId, read_line};

/// Members with an id, and the kind of that id.
const IDS: [(&str, &str); 5] = [
    ("sessionId", "session"),
    ("terminalId", "terminal"),
    ("toolCallId", "tool-call"),
    ("messageId", "message"),
    ("elicitationId", "elicitation"),
];

/// The member with the id of a request that its sender made.
const REQUEST_ID: &str = "requestId";

/// Members with the number of a process.
const PIDS: [&str; 2] = ["pid", "processId"];

/// Members that describe a program; their version changes with every release.
const PROGRAMS: [&str; 3] = ["agentInfo", "clientInfo", "serverInfo"];

/// The shortest id that is also searched inside longer texts; a shorter one occurs by chance.
const SHORTEST: usize = 8;

/// Gives stable names to values that differ from run to run.
#[derive(Debug, Clone, Default)]
pub struct Renamer {
    /// The name of each value, by its kind.
    names: BTreeMap<(String, String), String>,
    /// The number of named values of each kind.
    counts: BTreeMap<String, usize>,
    /// The replacements inside texts, the longest first.
    texts: Vec<(String, String)>,
}

impl Renamer {
    /// Creates a renamer without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Learns every path and id of a trace, in the order of their appearance.
    pub fn learn(&mut self, events: &[Event]) {
        for event in events {
            if let What::Line { from, bytes, .. } = &event.what
                && let Content::One { value, .. } = read_line(bytes)
            {
                let _ = self.message(*from, &value);
            }
        }
    }

    /// Names a path, such as `<cwd>`, together with everything below it.
    pub fn path(&mut self, path: &str, name: &str) {
        if path.len() > 1 && !self.texts.iter().any(|(known, _)| known == path) {
            self.replace(path, name.to_owned());
        }
    }

    /// Switches to another connection, on which the ids of requests start again.
    pub fn begin_connection(&mut self) {
        self.names.retain(|(kind, _), _| ![Party::Agent, Party::Client].map(request_of).contains(kind));
    }

    /// Returns a message of a party with all replacements.
    pub fn message(&mut self, from: Party, message: &Value) -> Value {
        self.learn_paths(message);
        let asker = match Envelope::of(message) {
            Envelope::Call(_) => from,
            Envelope::Response { .. } | Envelope::Unclear => from.other(),
        };
        let Some(members) = message.as_object() else { return self.value(from, "", message) };
        let replaced = members.iter().map(|(name, value)| {
            let value = if name == "id" { self.request(asker, value) } else { self.value(from, name, value) };
            (name.clone(), value)
        });
        Value::Object(replaced.collect())
    }

    /// Returns a text with its paths replaced, and its ids that are too long to occur by chance.
    pub fn text(&self, text: &str) -> String {
        self.texts.iter().fold(text.to_owned(), |text, (known, name)| text.replace(known, name))
    }

    /// Learns the sandbox from the working directory of a session: the folder `work` next to the folder `home`, the one
    /// of a later case of the conversation, such as `work-7`, or one below it. Learns the endpoint of the case from the
    /// URLs of MCP servers and of pages.
    fn learn_paths(&mut self, message: &Value) {
        let servers = message.pointer("/params/mcpServers").and_then(Value::as_array).into_iter().flatten();
        let urls = servers.filter_map(|server| server.get("url")).chain(message.pointer("/params/url"));
        for address in urls.filter_map(|url| url.as_str()?.split('/').nth(2)).filter(|host| host.contains(':')) {
            self.path(address, "<address>");
        }
        let Some(cwd) = message.pointer("/params/cwd").and_then(Value::as_str) else { return };
        if let Some((sandbox, workspace)) = sandbox_of(cwd) {
            self.path(&format!("{sandbox}/{workspace}"), "<cwd>");
            self.path(&format!("{sandbox}/home"), "<home>");
            self.path(sandbox, "<sandbox>");
        }
    }

    fn value(&mut self, from: Party, member: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.named_text(member, text)),
            _ if member == REQUEST_ID => self.request(from, value),
            Value::Number(_) if PIDS.contains(&member) => self.name("pid", &value.to_string()).into(),
            Value::Array(items) => items.iter().map(|item| self.value(from, member, item)).collect(),
            Value::Object(members) => self.members(from, member, members),
            _ => value.clone(),
        }
    }

    fn members(&mut self, from: Party, of: &str, members: &Map<String, Value>) -> Value {
        let replaced = members.iter().map(|(name, value)| {
            let version = name == "version" && PROGRAMS.contains(&of);
            (name.clone(), if version { "<version>".into() } else { self.value(from, name, value) })
        });
        Value::Object(replaced.collect())
    }

    fn named_text(&mut self, member: &str, text: &str) -> String {
        if let Some((_, kind)) = IDS.iter().find(|(name, _)| *name == member) {
            return self.name(kind, text);
        }
        if is_time(text) { "<time>".to_owned() } else { self.text(text) }
    }

    fn request(&mut self, asker: Party, id: &Value) -> Value {
        if id.is_null() {
            return Value::Null;
        }
        self.name(&request_of(asker), &RpcId::new(id).to_string()).into()
    }

    fn name(&mut self, kind: &str, value: &str) -> String {
        if let Some(name) = self.names.get(&(kind.to_owned(), value.to_owned())) {
            return name.clone();
        }
        let count = self.counts.entry(kind.to_owned()).or_default();
        *count += 1;
        let name = format!("<{kind}-{count}>");
        self.names.insert((kind.to_owned(), value.to_owned()), name.clone());
        let bare = value.trim_matches('"');
        if bare.len() >= SHORTEST {
            self.replace(bare, name.clone());
        }
        name
    }

    fn replace(&mut self, text: &str, name: String) {
        let at = self.texts.partition_point(|(known, _)| known.len() >= text.len());
        self.texts.insert(at, (text.to_owned(), name));
    }
}

/// Returns the folder around the folders of a case, and the name of its workspace.
fn sandbox_of(cwd: &str) -> Option<(&str, &str)> {
    cwd.match_indices("/work").find_map(|(at, _)| {
        let (sandbox, workspace) = (&cwd[..at], cwd[at + 1..].split('/').next()?);
        let number = workspace.strip_prefix("work")?;
        let is_workspace = number.is_empty() || number.strip_prefix('-').is_some_and(|it| it.parse::<usize>().is_ok());
        let is_sandbox = sandbox.rsplit('/').next()?.starts_with("acp-");
        (is_workspace && is_sandbox).then_some((sandbox, workspace))
    })
}

/// Returns the kind of the id of a request of this party.
fn request_of(asker: Party) -> String {
    format!("{asker}-request")
}

/// Whether a text is exactly a date with a time. Times are not numbered, since two equal ones are a coincidence.
fn is_time(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes();
    let fits = |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
    bytes.len() > FORM.len()
        && bytes.iter().zip(FORM).all(fits)
        && bytes[FORM.len()..].iter().all(|byte| byte.is_ascii_digit() || b".:+-Zz".contains(byte))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_thing_has_the_same_name_wherever_it_stands() {
        let mut renamer = Renamer::new();
        let new = json!({ "id": 7, "method": "session/new", "params": { "cwd": "/x/acp-1/work", "mcpServers": [] } });
        assert_eq!(
            renamer.message(Party::Client, &new),
            json!({ "id": "<client-request-1>", "method": "session/new", "params": { "cwd": "<cwd>", "mcpServers": [] } })
        );
        let opened = renamer.message(Party::Agent, &json!({ "id": 7, "result": { "sessionId": "sess-abcdef" } }));
        assert_eq!(opened, json!({ "id": "<client-request-1>", "result": { "sessionId": "<session-1>" } }));
        let asked =
            json!({ "id": 7, "method": "fs/read_text_file", "params": { "path": "/x/acp-1/work/a", "line": 7 } });
        assert_eq!(
            renamer.message(Party::Agent, &asked),
            json!({ "id": "<agent-request-1>", "method": "fs/read_text_file", "params": { "path": "<cwd>/a", "line": 7 } })
        );
        let withdrawn = json!({ "method": "$/cancel_request", "params": { "requestId": 7 } });
        assert_eq!(renamer.message(Party::Agent, &withdrawn)["params"]["requestId"], "<agent-request-1>");
        assert_eq!(renamer.text("file:///x/acp-1/home/sess-abcdef"), "file://<home>/<session-1>");
    }

    #[test]
    fn workspace_of_each_case_of_a_conversation_has_the_same_name() {
        for (cwd, wanted) in [
            ("/x/acp-1/work-74", "<cwd>"),
            ("/x/acp-1/work/workshop", "<cwd>/workshop"),
            ("/x/acp-1/work-shop", "/x/acp-1/work-shop"),
            ("/x/work", "/x/work"),
        ] {
            let message = json!({ "method": "session/new", "params": { "cwd": cwd } });
            assert_eq!(Renamer::new().message(Party::Client, &message)["params"]["cwd"], wanted);
        }
    }

    #[test]
    fn ids_of_different_types_are_different() {
        let mut renamer = Renamer::new();
        let mut id = |id: Value| renamer.message(Party::Client, &json!({ "id": id, "method": "m" }))["id"].clone();
        assert_eq!(
            [id(json!(1)), id(json!("1")), id(json!(1.0)), id(Value::Null)].map(|id| id.to_string()),
            ["\"<client-request-1>\"", "\"<client-request-2>\"", "\"<client-request-1>\"", "null"]
        );
    }

    #[test]
    fn times_and_versions_have_no_number() {
        let mut renamer = Renamer::new();
        let message = json!({ "result": { "agentInfo": { "name": "a", "version": "1.2.3" }, "updatedAt": "2026-01-02T03:04:05.6Z", "title": "2026-01-02T then", "pid": 12 } });
        let wanted = json!({ "result": { "agentInfo": { "name": "a", "version": "<version>" }, "updatedAt": "<time>", "title": "2026-01-02T then", "pid": "<pid-1>" } });
        assert_eq!(renamer.message(Party::Agent, &message), wanted);
    }
}
