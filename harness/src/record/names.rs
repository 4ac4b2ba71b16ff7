//! Replaces the values of a trace in a case by names, labels and patterns.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

/// Members with an id that the subject invents, and the name for such an id.
const MADE: [(&str, &str); 6] = [
    ("compactionId", "compaction"),
    ("elicitationId", "elicitation"),
    ("nextCursor", "cursor"),
    ("sessionId", "session"),
    ("terminalId", "terminal"),
    ("toolCallId", "tool"),
];

/// Members whose texts are likely to repeat: words of the protocol, and ids of things that a program offers.
const WORDS: [&str; 17] = [
    "action",
    "configId",
    "currentModeId",
    "currentValue",
    "kind",
    "methodId",
    "mode",
    "modeId",
    "optionId",
    "outcome",
    "priority",
    "role",
    "sessionUpdate",
    "signal",
    "status",
    "stopReason",
    "type",
];

/// Members whose numbers are likely to repeat.
const NUMBERS: [&str; 6] = ["code", "exitCode", "limit", "line", "outputByteLimit", "protocolVersion"];

/// Members that do not matter for the exchange, or that only the two programs understand.
const DROPPED: [&str; 13] = [
    "_meta",
    "agentCapabilities",
    "agentInfo",
    "authMethods",
    "clientCapabilities",
    "clientInfo",
    "configOptions",
    "messageId",
    "modes",
    "models",
    "rawInput",
    "rawOutput",
    "usage",
];

/// The names of further sessions, as in the includes.
const SESSIONS: [&str; 5] = ["session", "second", "third", "fourth", "fifth"];

/// The names of a case.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Directories with the names that replace them, the working directory first.
    places: Vec<(String, &'static str)>,
    /// The name of each id.
    ids: HashMap<String, String>,
    counts: BTreeMap<String, usize>,
    labels: HashMap<usize, String>,
}

impl Names {
    /// Creates the names of a case whose first session uses this directory: the folder `work`, next to the HOME.
    pub(super) fn new(cwd: Option<&str>) -> Self {
        let sandbox = cwd.and_then(|cwd| Some(&cwd[..cwd.find("/work")?]));
        let places =
            sandbox.map(|sandbox| [(format!("{sandbox}/work"), "<cwd>"), (format!("{sandbox}/home"), "<home>")]);
        Self { places: places.into_iter().flatten().collect(), ..Self::default() }
    }

    /// Returns the path relative to the working directory, if it is inside.
    pub(super) fn below_cwd<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (cwd, _) = self.places.first()?;
        path.strip_prefix(cwd.as_str())?.strip_prefix('/').filter(|rest| !rest.split('/').any(|part| part == ".."))
    }

    /// Returns the label of the request at this place of the exchange.
    pub(super) fn label(&mut self, at: usize, method: &str) -> String {
        if let Some(label) = self.labels.get(&at) {
            return label.clone();
        }
        let base = match method {
            "session/prompt" => "turn",
            "session/new" => "session-new",
            "session/request_permission" => "permission",
            "fs/read_text_file" => "read",
            "fs/write_text_file" => "write",
            "terminal/wait_for_exit" => "wait",
            _ => method.rsplit('/').next().unwrap_or(method),
        };
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let base = base.trim_matches(|c: char| !c.is_ascii_alphanumeric()).replace(|c| plain(c) == '-', "-");
        let label = self.numbered(&base.to_ascii_lowercase(), "request");
        self.labels.insert(at, label.clone());
        label
    }

    /// Whether a name has a value.
    pub(super) fn has(&self, name: &str) -> bool {
        ["cwd", "home", "start", "client-capabilities", "agent-capabilities"].contains(&name)
            || self.ids.values().any(|known| known == name)
    }

    /// Returns a value that the tester sends, with names instead of named values.
    pub(super) fn said(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.said(item)).collect(),
            Value::Object(members) => members.iter().map(|(key, member)| (key.clone(), self.said(member))).collect(),
            other => other.clone(),
        }
    }

    /// Returns the pattern for a payload of the subject; ids get a name at their first use.
    pub(super) fn pattern(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(members) => Value::Object(self.members(members)),
            other => self.member("", other).unwrap_or_else(|| json!("<any>")),
        }
    }

    fn members(&mut self, members: &Map<String, Value>) -> Map<String, Value> {
        let kept = members.iter().filter(|(key, _)| !DROPPED.contains(&key.as_str()));
        let patterns: Vec<_> = kept.map(|(key, value)| (key.clone(), self.member(key, value))).collect();
        patterns.into_iter().filter_map(|(key, pattern)| Some((key, pattern?))).collect()
    }

    fn member(&mut self, name: &str, value: &Value) -> Option<Value> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(_) => value.clone(),
            Value::Number(_) if NUMBERS.contains(&name) => value.clone(),
            Value::Number(_) => json!("<number>"),
            Value::Array(_) => json!("<array>"),
            Value::Object(members) => Value::Object(self.members(members)),
            Value::String(text) => self.awaited(name, text).into(),
        })
    }

    fn awaited(&mut self, name: &str, text: &str) -> String {
        if let Some((_, kind)) = MADE.iter().find(|(member, _)| *member == name) {
            return format!("<{}>", self.name(kind, text));
        }
        match self.text(text) {
            written if written.starts_with("<cwd>") || self.ids.contains_key(text) => written,
            written if WORDS.contains(&name) => written,
            _ if text.starts_with('/') => "<absolute-path>".to_owned(),
            _ => "<string>".to_owned(),
        }
    }

    fn name(&mut self, kind: &str, id: &str) -> String {
        if let Some(name) = self.ids.get(id) {
            return name.clone();
        }
        let name = self.numbered(kind, kind);
        self.ids.insert(id.to_owned(), name.clone());
        name
    }

    /// Returns the base alone the first time, and with a number from then on; sessions are numbered in words.
    fn numbered(&mut self, base: &str, otherwise: &str) -> String {
        let base = if base.starts_with(|c: char| c.is_ascii_lowercase()) { base } else { otherwise };
        let count = self.counts.entry(base.to_owned()).or_default();
        *count += 1;
        match *count {
            count if base == "session" && count <= SESSIONS.len() => SESSIONS[count - 1].to_owned(),
            1 => base.to_owned(),
            count => format!("{base}-{count}"),
        }
    }

    /// Returns a text with names instead of named values, and with an escaped `<` where it would look like a name.
    fn text(&self, text: &str) -> String {
        if let Some(name) = self.ids.get(text) {
            return format!("<{name}>");
        }
        let text = text.replace('<', "<lt>");
        self.places.iter().fold(text, |text, (path, name)| replace_path(&text, path, name))
    }
}

/// Replaces a path by its name, but not where it is the beginning of a longer path.
fn replace_path(text: &str, path: &str, name: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, after) = (&rest[..at], &rest[at + path.len()..]);
        out.push_str(before);
        let continues = after.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
        out.push_str(if continues { path } else { name });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_paths_get_names() {
        let mut names = Names::new(Some("/p/work"));
        let seen = json!({ "sessionId": "s", "path": "/p/work/a.txt", "other": "/etc/x", "line": 2, "used": 3, "text": "hi", "kind": "edit", "gone": null, "list": [1] });
        let wanted = json!({ "sessionId": "<session>", "path": "<cwd>/a.txt", "other": "<absolute-path>", "line": 2, "used": "<number>", "text": "<string>", "kind": "edit", "list": "<array>" });
        assert_eq!(names.pattern(&seen), wanted);
        let said = json!(["s", "/p/work", "/p/workshop", "/p/home/x", "a <b>"]);
        assert_eq!(names.said(&said), json!(["<session>", "<cwd>", "/p/workshop", "<home>/x", "a <lt>b>"]));
        assert_eq!(names.pattern(&json!({ "sessionId": "t" })), json!({ "sessionId": "<second>" }));
    }

    #[test]
    fn labels_are_short_and_unique() {
        let mut names = Names::new(None);
        let labels = ["session/prompt", "session/prompt", "_Acme/doIt!", "_"].iter().enumerate();
        let labels: Vec<_> = labels.map(|(at, method)| names.label(at, method)).collect();
        assert_eq!(labels, ["turn", "turn-2", "doit", "request"]);
        assert_eq!(names.label(0, "session/prompt"), "turn");
    }
}
