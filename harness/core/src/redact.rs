//! Redacts a trace for the public: it removes content and keeps the structure.
//!
//! [`redact`] replaces each character of a text by `x`, except line ends, so that a text keeps its length and its
//! lines. Ids, names, arguments and the parts of paths and URLs become numbered words: equal ones stay equal, different
//! ones different. Words of the protocol, member names of the schema, numbers and times stay. The loading of sessions
//! cannot be checked any more, since texts of equal length look alike. `docs/redaction.md` lists what remains visible.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Value, json};

use crate::protocol::Edition;
use crate::trace::{
    CaseMark, Event, Excerpt, Expected, ExpectedMessage, ExpectedText, Lack, McpEvent, McpWhat, Observed, ProcessEvent,
    StepEvent, Trace, What,
};
use crate::wire::{Content, read_line};

/// Members whose texts are words of the protocol or of a standard, unless they are longer than a word.
const WORDS: [&str; 20] = [
    "action",
    "category",
    "currency",
    "fileType",
    "jsonrpc",
    "kind",
    "method",
    "mimeType",
    "mode",
    "operation",
    "outcome",
    "priority",
    "role",
    "sessionUpdate",
    "severity",
    "signal",
    "state",
    "status",
    "stopReason",
    "type",
];

/// Members that contain ids, besides those that end in `Id`. The value of a configuration option is one.
const IDS: [&str; 5] = ["currentValue", "cursor", "id", "nextCursor", "value"];

/// Members that contain choices and words of a command line, which must stay distinct.
const NAMES: [&str; 5] = ["args", "command", "const", "default", "enum"];

/// Members that contain paths.
const PATHS: [&str; 5] = ["additionalDirectories", "cwd", "newPath", "oldPath", "path"];

/// Members that contain URLs.
const URLS: [&str; 3] = ["src", "uri", "url"];

/// The schemes of URLs that stay.
const SCHEMES: [&str; 5] = ["data", "file", "http", "https", "urn"];

/// Members that contain media.
const MEDIA: [&str; 2] = ["blob", "data"];

/// Members with free content: only the two programs know its names and values.
const FREE: [&str; 4] = ["_meta", "data", "rawInput", "rawOutput"];

/// The fields of a form: their names are free, and their definitions are not.
const FIELDS: &str = "properties";

/// Limits for the field of a form, which are removed: the redacted answer would violate them.
const LIMITS: [&str; 6] = ["format", "maxLength", "maximum", "minLength", "minimum", "pattern"];

/// The member of `_meta` with the ids of a distributed trace.
const TRACE_PARENT: &str = "traceparent";

/// Members that describe a program in `initialize`.
const PROGRAMS: [&str; 3] = ["agentInfo", "clientInfo", "info"];

/// The members of an envelope and of `initialize`, which are not in the schema of every edition.
const ENVELOPE: [&str; 12] = [
    "agentCapabilities",
    "agentInfo",
    "clientCapabilities",
    "clientInfo",
    "code",
    "data",
    "error",
    "id",
    "jsonrpc",
    "message",
    "method",
    "params",
];

/// The beginning of a patch in Git's format.
const PATCH: &str = "diff --git ";

/// The longest word of the protocol, in bytes.
const LONGEST_WORD: usize = 64;

/// Replaces the content of a trace; see the head of this module.
#[must_use]
pub fn redact(trace: &Trace, edition: &Edition) -> Trace {
    let mut redacted = trace.clone();
    let header = &mut redacted.header;
    let mut redactor = Redactor { edition, numbers: HashMap::new(), is_own_case: header.file.is_some() };
    for (position, word) in header.command.iter_mut().enumerate() {
        *word = redactor.argument(position, word);
    }
    // The title of a user's case and the folder of their cases are private; the path below that folder is the id, which
    // stays.
    header.title = header.title.take().filter(|_| header.file.is_none());
    header.file = header.file.as_ref().and(header.case.as_deref()).map(file_below);
    // Of texts of equal length, nothing shows which one was replayed.
    if !header.lacks.contains(&Lack::Replays) {
        header.lacks.push(Lack::Replays);
    }
    redacted.events.iter_mut().for_each(|event| redactor.event(event));
    redacted
}

/// Returns the path of a case below the folder of cases.
fn file_below(case: &str) -> String {
    format!("{}.yaml", case.split('@').next().unwrap_or(case))
}

/// Replaces everything except line ends by `x`, and keeps the mark of a patch. The pieces of a split text become the
/// pieces of the replaced text.
fn mask(text: &str) -> String {
    let (mark, rest) = text.split_at(if text.starts_with(PATCH) { PATCH.len() } else { 0 });
    mark.chars().chain(rest.chars().map(|c| if matches!(c, '\n' | '\r') { c } else { 'x' })).collect()
}

/// Replaces bytes that are not JSON by bytes that are as far from being JSON.
fn mask_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut masked = mask(&String::from_utf8_lossy(bytes)).into_bytes();
    match read_line(bytes) {
        Content::Blank => return bytes.to_vec(),
        // An open string makes the value unfinished.
        Content::NotJson { unfinished: true, .. } => {
            let first = bytes.trim_ascii_start().first().copied().unwrap_or(b'[');
            masked.splice(..1, [first, b'"']);
        }
        Content::NotUtf8(_) => masked.push(0xff),
        _ => {}
    }
    masked
}

fn is_word(text: &str) -> bool {
    text.len() <= LONGEST_WORD && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-/.$+".contains(&byte))
}

fn is_timestamp(name: &str, text: &str) -> bool {
    name.ends_with("At")
        && text.len() <= LONGEST_WORD
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"-:.,+TtWZz ".contains(&byte))
}

/// Whether a text is an absolute path on any system. A text with a line end or a `//` at its beginning is none.
fn is_absolute(text: &str) -> bool {
    let is_drive = matches!(text.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic());
    (is_drive || text.starts_with('/')) && !text.contains(['\n', '\r'])
}

/// The state of a redaction.
struct Redactor<'e> {
    edition: &'e Edition,
    /// The number of each text that became a numbered word.
    numbers: HashMap<String, usize>,
    /// Whether the events belong to a case in a file of the user.
    is_own_case: bool,
}

impl Redactor<'_> {
    fn event(&mut self, event: &mut Event) {
        match &mut event.what {
            What::Line { bytes, .. } | What::Unattributed(bytes) => *bytes = self.line(bytes),
            What::Stderr(bytes) | What::Stdout(bytes) => {
                *bytes = mask(&String::from_utf8_lossy(bytes)).into_bytes();
            }
            What::Fence(_) => {}
            What::Process(process) => self.process(process),
            What::Mcp(McpEvent { what, server, .. }) => {
                *server = self.text(server, "name", false);
                self.mcp(what);
            }
            What::Visit(visit) => {
                visit.url = self.url(&visit.url);
                for (name, value) in &mut visit.headers {
                    (*name, *value) = self.variable(name, value);
                }
            }
            // The names of tools come from a profile, which may be private.
            What::Model(model) => {
                let (kept, tools) = model.split_tools();
                model.did = kept.to_owned() + &mask(tools);
            }
            What::Step(step) => redact_step(step, self.is_own_case),
            What::Case(CaseMark::Begins(case)) => {
                self.is_own_case = case.file.is_some();
                case.title = case.title.take().filter(|_| !self.is_own_case);
                case.file = case.file.as_ref().map(|_| file_below(&case.id));
            }
            What::Case(CaseMark::Ends) => {}
        }
    }

    fn process(&mut self, process: &mut ProcessEvent) {
        match process {
            ProcessEvent::AgentStarted(start) => {
                self.texts(&mut start.args, "args");
                self.texts(&mut start.environment, "name");
                start.cwd = self.text(&start.cwd, "cwd", false);
                let values = std::mem::take(&mut start.values).into_iter();
                start.values = values.map(|(name, value)| self.variable(&name, &value)).collect();
            }
            ProcessEvent::NotSpawned(why) => *why = mask(why),
            _ => {}
        }
    }

    /// Replaces the content of an MCP server's events. Its arguments and variables are compared with those that the
    /// client named.
    fn mcp(&mut self, what: &mut McpWhat) {
        match what {
            McpWhat::Started { command, args, cwd, env, environment, .. } => {
                *command = self.text(command, "command", false);
                *cwd = self.text(cwd, "cwd", false);
                self.texts(args, "args");
                self.texts(environment, "name");
                let named = std::mem::take(env).into_iter();
                *env = named.map(|(name, value)| self.variable(&name, &value)).collect();
            }
            McpWhat::FromAgent(text) | McpWhat::ToAgent(text) => {
                *text = String::from_utf8_lossy(&self.line(text.as_bytes())).into_owned();
            }
            McpWhat::Ended => {}
        }
    }

    /// Replaces an environment variable or a header as in the messages that name it.
    fn variable(&mut self, name: &str, value: &str) -> (String, String) {
        (self.text(name, "name", false), self.text(value, "value", false))
    }

    fn texts(&mut self, texts: &mut [String], name: &str) {
        texts.iter_mut().for_each(|text| *text = self.text(text, name, false));
    }

    /// Replaces a word of a command line; the name of the program and the names of options stay.
    fn argument(&mut self, position: usize, word: &str) -> String {
        match word.rsplit_once(['/', '\\']) {
            _ if word.starts_with("--") => match word.split_once('=') {
                Some((option, value)) => format!("{option}={}", mask(value)),
                None => word.to_owned(),
            },
            Some((folder, program)) if position == 0 => format!("{}/{program}", self.path(folder)),
            None if position == 0 => word.to_owned(),
            _ => self.text(word, "args", false),
        }
    }

    fn line(&mut self, bytes: &[u8]) -> Vec<u8> {
        match read_line(bytes) {
            Content::Blank => bytes.to_vec(),
            Content::One { value, .. } => self.message(value).into_bytes(),
            Content::Several { values, .. } => {
                let values: Vec<_> = values.into_iter().map(|value| self.message(value)).collect();
                values.join(" ").into_bytes()
            }
            Content::NotUtf8(_) | Content::NotJson { .. } => mask_bytes(bytes),
        }
    }

    fn message(&mut self, value: Value) -> String {
        let is_message = value.is_object() || value.is_array();
        self.value(value, "", !is_message).to_string()
    }

    /// Replaces the content of a value in the member `name`; `is_free` if only the two programs know its meaning.
    fn value(&mut self, value: Value, name: &str, is_free: bool) -> Value {
        match value {
            Value::Object(members) if PROGRAMS.contains(&name) && !is_free => {
                let is_short = |value: &Value| value.as_str().is_none_or(|text| text.len() <= LONGEST_WORD);
                let members = members.into_iter().map(|(key, value)| {
                    let stays = matches!(key.as_str(), "name" | "title" | "version") && is_short(&value);
                    if stays { (key, value) } else { self.member(key, value, name, is_free) }
                });
                members.collect()
            }
            Value::Object(members) => {
                let kept = members.into_iter().filter(|(key, _)| !LIMITS.contains(&key.as_str()));
                kept.map(|(key, value)| self.member(key, value, name, is_free)).collect()
            }
            Value::Array(items) => items.into_iter().map(|item| self.value(item, name, is_free)).collect(),
            Value::String(text) => self.text(&text, name, is_free).into(),
            Value::Number(_) if is_free => 0.into(),
            other => other,
        }
    }

    fn member(&mut self, key: String, value: Value, around: &str, is_free: bool) -> (String, Value) {
        let is_known = self.is_known(&key);
        let is_free = is_free || FREE.contains(&key.as_str()) || !is_known && around != FIELDS;
        let value = self.value(value, &key, is_free);
        (if is_known { key } else { self.numbered(&key.to_lowercase()) }, value)
    }

    fn is_known(&self, key: &str) -> bool {
        let edition = self.edition;
        edition.member_names.contains(key)
            || edition.other_revision_has_name(key)
            || ENVELOPE.contains(&key)
            || key == TRACE_PARENT
    }

    fn text(&mut self, text: &str, name: &str, is_free: bool) -> String {
        let is_hex = || text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        match name {
            _ if text.is_empty() => String::new(),
            TRACE_PARENT if is_hex() => text.to_owned(),
            _ if MEDIA.contains(&name) && is_base64(text) => "A".repeat(text.len().next_multiple_of(4)),
            _ if is_absolute(text) && name != "text" => self.path(text),
            _ if is_free && !text.contains('\n') => self.numbered(text),
            _ if is_free => mask(text),
            _ if WORDS.contains(&name) && is_word(text) || is_timestamp(name, text) => text.to_owned(),
            "required" if self.is_known(text) => text.to_owned(),
            // Upper and lower case are alike in the name of a header.
            "name" | "required" => self.numbered(&text.to_lowercase()),
            _ if IDS.contains(&name) || NAMES.contains(&name) || name.ends_with("Id") => self.numbered(text),
            _ if PATHS.contains(&name) => self.path(text),
            _ if URLS.contains(&name) => self.url(text),
            _ => mask(text),
        }
    }

    /// Returns a word with the number of the text.
    fn numbered(&mut self, text: &str) -> String {
        let next = self.numbers.len() + 1;
        let number = self.numbers.entry(text.to_owned()).or_insert(next);
        format!("word-{number}")
    }

    /// Replaces the parts of a path. Its separators, its drive, `.` and `..` stay.
    fn path(&mut self, path: &str) -> String {
        let mut replaced = String::with_capacity(path.len());
        for piece in path.split_inclusive(['/', '\\']) {
            let part = piece.trim_end_matches(['/', '\\']);
            let is_drive = replaced.is_empty() && part.len() == 2 && part.ends_with(':');
            if part.is_empty() || part == "." || part == ".." || is_drive {
                replaced.push_str(part);
            } else {
                replaced.push_str(&self.numbered(part));
            }
            replaced.push_str(&piece[part.len()..]);
        }
        replaced
    }

    /// Replaces the parts of a URL. A usual scheme and a loopback host with its port stay.
    fn url(&mut self, url: &str) -> String {
        let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        let scheme = url.split_once(':').filter(|(scheme, _)| !scheme.is_empty() && scheme.bytes().all(is_scheme));
        let Some((scheme, rest)) = scheme else { return self.path(url) };
        let scheme = if SCHEMES.contains(&scheme) { scheme } else { "x" };
        let host = rest.strip_prefix("//").map_or("", |rest| rest.split('/').next().unwrap_or_default());
        let port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let name = port.map_or(host, |(name, _)| name);
        let kept = if matches!(name, "localhost" | "127.0.0.1" | "[::1]") { host.len() + 2 } else { 0 };
        format!("{scheme}:{}{}", &rest[..kept], self.path(&rest[kept..]))
    }
}

fn is_base64(text: &str) -> bool {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(&base64::alphabet::STANDARD, config).decode(text).is_ok()
}

/// Removes everything from a step result that may quote a message, a file or a user; `is_own` for a step of a user's
/// case.
fn redact_step(step: &mut StepEvent, is_own: bool) {
    if is_own {
        step.text = mask(&step.text);
    }
    match &mut step.expected {
        Some(Expected::Reply(text)) => expected_text(text),
        Some(Expected::NoFile(path)) => *path = mask(path),
        Some(Expected::File { path, content }) => {
            *path = mask(path);
            expected_text(content);
        }
        // A pattern is text of the case.
        Some(Expected::Message(message) | Expected::NoMessage(message)) if is_own => match message {
            ExpectedMessage::Result(answer) | ExpectedMessage::Error(answer) | ExpectedMessage::Answer(answer) => {
                answer.pattern = None;
            }
            ExpectedMessage::Request(_) | ExpectedMessage::Notification(_) => {}
        },
        _ => {}
    }
    match &mut step.observed {
        Some(Observed::Mismatch { expected, actual, .. }) => (*expected, *actual) = (mask(expected), mask(actual)),
        Some(Observed::Error(error)) => *error = json!({ "code": error["code"], "message": "x" }),
        Some(Observed::Result(result)) => *result = "x".into(),
        Some(Observed::Reply { text, .. } | Observed::File(text)) => excerpt(text),
        Some(Observed::NoProcessId { path: text } | Observed::FileUnreadable(text) | Observed::Problem(text)) => {
            *text = mask(text);
        }
        Some(Observed::ActUnknown { act: text } | Observed::SettingUnknown { setting: text }) if is_own => {
            *text = mask(text);
        }
        _ => {}
    }
}

fn expected_text(text: &mut ExpectedText) {
    let (ExpectedText::Equals(text) | ExpectedText::Contains(text) | ExpectedText::Lacks(text)) = text;
    excerpt(text);
}

fn excerpt(excerpt: &mut Excerpt) {
    excerpt.text = mask(&excerpt.text);
}

#[cfg(test)]
mod tests;
