//! Redacts a trace for the public: it removes content and keeps the structure.
//!
//! [`redact`] replaces each character of a text by `x`, except line ends, so that a text keeps its length and its
//! lines. Ids, names, arguments and the parts of paths and URLs become numbered words: equal ones stay equal, different
//! ones different. Words of the protocol, member names of the schema, numbers and times stay. Requirements on
//! the content cannot be checked any more; the catalogue names them. `docs/redaction.md` lists what remains visible.

mod aside;

use std::collections::{HashMap, HashSet};
use std::str::Utf8Chunk;

use serde_json::{Number, Value, json};

use crate::protocol::{
    CONFIGURED, Edition, NotBase64, WITHDRAWN_MEMBERS, alias_in, is_respelt, not_base64, plain_name,
};
use crate::trace::{
    CaseMark, Event, Excerpt, Expected, ExpectedMessage, ExpectedText, Lack, McpEvent, McpWhat, Observed, ProcessEvent,
    StepEvent, Trace, What,
};
use crate::wire::{Content, read_line};

/// Members whose texts are words of the protocol or of a standard, unless they are longer than a word.
const WORDS: [&str; 21] = [
    "action",
    "category",
    "currency",
    "fileType",
    "format",
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

/// The schemes of URLs that stay, and the host that looks like one if its URL lacks a scheme.
const SCHEMES: [&str; 6] = ["data", "file", "http", "https", "localhost", "urn"];

/// Members that contain media.
const MEDIA: [&str; 2] = ["blob", "data"];

/// The member that contains environment variables, by name or as a list.
const VARIABLES: &str = "env";

/// Members with free content: only the two programs know its names and values.
const FREE: [&str; 4] = ["_meta", "data", "rawInput", "rawOutput"];

/// The fields of a form: their names are free, and their definitions are not.
const FIELDS: &str = "properties";

/// The member of `_meta` with the ids of a distributed trace.
const TRACE_PARENT: &str = "traceparent";

/// Limits for the field of a form, which are removed: the redacted answer would violate them.
const LIMITS: [&str; 6] = ["format", "maxLength", "maximum", "minLength", "minimum", "pattern"];

/// Members in the data of the error for an unsupported version, which only version 2 defines.
const VERSIONS: [&str; 2] = ["requested", "supported"];

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

/// A byte that UTF-8 does not contain.
const NOT_UTF8: u8 = 0xff;

/// The characters that separate the parts of a path.
const IN_PATHS: &[char] = &['/', '\\'];

/// The characters that separate the parts of a URL.
const IN_URLS: &[char] = &['/', '\\', ':', '@', '?', '#', ' '];

/// The members that end a request.
const ENDS: [&str; 2] = ["result", "error"];

/// The longest word of the protocol, in bytes.
const LONGEST_WORD: usize = 64;

/// Replaces the content of a trace; see the head of this module.
pub fn redact(trace: &Trace, edition: &Edition) -> Trace {
    let mut redacted = trace.clone();
    let header = &mut redacted.header;
    let mut redactor = Redactor::new(edition, header.file.is_some());
    for (position, word) in header.command.iter_mut().enumerate() {
        *word = redactor.argument(position, word);
    }
    // The title of a user's case and the folder of their cases are private; the path below that folder is the id, which
    // stays.
    header.title = header.title.take().filter(|_| header.file.is_none());
    header.file = header.file.as_ref().and(header.case.as_deref()).map(file_below);
    if !header.lacks.contains(&Lack::Content) {
        header.lacks.push(Lack::Content);
    }
    redacted.events.iter_mut().for_each(|event| redactor.event(event));
    redacted
}

/// Returns the path of a case below the folder of cases.
fn file_below(case: &str) -> String {
    format!("{}.yaml", case.split('@').next().unwrap_or(case))
}

/// Replaces each character by a letter x with as many bytes. Line ends stay, and so do the replacements of bytes that
/// are not UTF-8. The pieces of a split text become the pieces of the replaced text.
fn mask(text: &str) -> String {
    let masked = |c: char| match c.len_utf8() {
        _ if is_line_end(c) || c == char::REPLACEMENT_CHARACTER => c,
        1 => 'x',
        2 => '\u{d7}',
        3 => '\u{ff58}',
        _ => '\u{1d431}',
    };
    text.chars().map(masked).collect()
}

/// As [`mask`], for bytes that need not be UTF-8 and are so afterwards only if they were before. The halves of a
/// character that was cut become the halves of its replacement.
fn mask_bytes(bytes: &[u8]) -> Vec<u8> {
    let with = |invalid: fn(u8) -> u8| -> Vec<u8> {
        let masked = |chunk: Utf8Chunk<'_>| {
            let invalid = chunk.invalid().iter().map(|byte| invalid(*byte));
            mask(chunk.valid()).into_bytes().into_iter().chain(invalid).collect::<Vec<u8>>()
        };
        bytes.utf8_chunks().flat_map(masked).collect()
    };
    let masked = with(|byte| match byte {
        // Of these, any follows any that begins a character.
        0x80..=0xbf => 0x97,
        0xc2..=0xdf => 0xc3,
        0xe0..=0xef => 0xef,
        0xf0..=0xf4 => 0xf0,
        _ => NOT_UTF8,
    });
    let is_still_broken = std::str::from_utf8(bytes).is_ok() || std::str::from_utf8(&masked).is_err();
    if is_still_broken { masked } else { with(|_| NOT_UTF8) }
}

/// Whether a program may read a line end here. Those of Unicode are part of a line.
fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_word(text: &str) -> bool {
    text.len() <= LONGEST_WORD && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-/.$+".contains(&byte))
}

fn is_version(name: &str, number: &Number) -> bool {
    VERSIONS.contains(&name) && number.as_u64().is_some_and(|number| number <= u64::from(u16::MAX))
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
    /// The names of members in the schema, in the form that is the same for all spellings.
    spellings: HashSet<String>,
    /// The numbered word of each text that became one.
    words: HashMap<String, String>,
    /// The ids of sessions.
    sessions: Vec<String>,
    /// The methods of earlier messages.
    methods: HashSet<String>,
    /// Whether the events belong to a case in a file of the user.
    is_own_case: bool,
}

impl<'e> Redactor<'e> {
    fn new(edition: &'e Edition, is_own_case: bool) -> Self {
        let spellings = edition.member_names.iter().map(|name| plain_name(name)).collect();
        let (words, sessions, methods) = (HashMap::new(), Vec::new(), HashSet::new());
        Self { edition, spellings, words, sessions, methods, is_own_case }
    }

    fn event(&mut self, event: &mut Event) {
        match &mut event.what {
            What::Line { bytes, .. } | What::Unattributed(bytes) => *bytes = self.line(bytes),
            What::Stderr(bytes) | What::Stdout(bytes) => {
                *bytes = mask_bytes(bytes);
            }
            What::Fence(_) => {}
            What::Process(process) => self.process(process),
            What::Mcp(McpEvent { what, server, .. }) => {
                *server = self.text(server, "name", false);
                self.mcp(what);
            }
            What::Http(http) => self.http(http),
            What::Visit(visit) => {
                visit.url = self.url(&visit.url);
                for (name, value) in &mut visit.headers {
                    (*name, *value) = self.variable(name, value);
                }
            }
            What::Model(model) => self.model(model),
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
            ProcessEvent::Left(commands) => self.texts(commands, "command"),
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
            Some((folder, program)) if position == 0 => format!("{}/{program}", self.path(folder, IN_PATHS)),
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
            Content::NotUtf8(_) => self.not_utf8(bytes),
            Content::NotJson { .. } => self.not_json(bytes),
        }
    }

    /// Replaces the content of a line that is not UTF-8. A message stays one, apart from such bytes.
    fn not_utf8(&mut self, bytes: &[u8]) -> Vec<u8> {
        let line = self.line(String::from_utf8_lossy(bytes).as_bytes());
        let line = String::from_utf8_lossy(&line);
        let parts: Vec<&[u8]> = line.split(char::REPLACEMENT_CHARACTER).map(str::as_bytes).collect();
        if parts.len() == 1 { mask_bytes(bytes) } else { parts.join(&NOT_UTF8) }
    }

    /// Replaces the content of a line that is not JSON by one that is as far from being JSON. Names and ids of messages
    /// stay as in messages, since they show what the line looks like.
    fn not_json(&mut self, bytes: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(bytes);
        let mut after_id = false;
        let pieces = text.split('"').enumerate().map(|(position, piece)| {
            let is_string = position % 2 == 1;
            let is_known = is_string && (self.is_known(piece) || ENDS.contains(&piece));
            let stays = |c: char| "{}[]:,".contains(c) || c.is_ascii_whitespace() || after_id && c.is_ascii_digit();
            let replaced = match self.words.get(piece).filter(|_| is_string) {
                _ if is_known => piece.to_owned(),
                Some(word) => word.clone(),
                None if is_string => mask(piece),
                None => piece.chars().map(|c| if stays(c) { c } else { 'x' }).collect(),
            };
            after_id = is_string && piece == "id";
            replaced
        });
        let mut line = pieces.collect::<Vec<_>>().join("\"").into_bytes();
        let is_unfinished = |line: &[u8]| match read_line(line) {
            Content::NotJson { unfinished, .. } => Some(unfinished),
            _ => None,
        };
        let wanted = is_unfinished(bytes);
        if is_unfinished(&line) != wanted {
            line = mask_bytes(bytes);
            // An open string makes the value unfinished.
            if wanted == Some(true) {
                let first = bytes.trim_ascii_start().first().copied().unwrap_or(b'[');
                line.splice(..1, [first, b'"']);
            }
        }
        line
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
                members.into_iter().map(|(key, value)| self.member(key, value, name, is_free)).collect()
            }
            Value::Array(items) => items.into_iter().map(|item| self.value(item, name, is_free)).collect(),
            Value::String(text) => self.text(&text, name, is_free).into(),
            Value::Number(number) if is_free && !is_version(name, &number) => 0.into(),
            other => other,
        }
    }

    fn member(&mut self, key: String, mut value: Value, around: &str, is_free: bool) -> (String, Value) {
        let is_request_id = key == "requestId" || key == "id" && around.is_empty();
        // A number as a text is another id than the number.
        if is_request_id && value.as_str().is_some_and(|text| text.parse::<i64>().is_ok()) {
            return (key, value);
        }
        if let Some(field) = value.as_object_mut().filter(|_| around == FIELDS) {
            field.retain(|name, _| !LIMITS.contains(&name.as_str()));
        }
        let is_known = self.is_known(&key);
        let is_free = is_free || FREE.contains(&key.as_str()) || !is_known && around != FIELDS;
        let value = self.value(value, &key, is_free);
        // The name of an environment variable is in lists as well.
        let is_legacy = WITHDRAWN_MEMBERS.contains(&key.as_str());
        let stays = is_known || around != VARIABLES && (is_legacy || self.is_misspelt(&key));
        (if stays { key } else { self.text(&key, "name", false) }, value)
    }

    fn is_known(&self, key: &str) -> bool {
        let edition = self.edition;
        edition.member_names.contains(key)
            || edition.other_revision_has_name(key)
            || ENVELOPE.contains(&key)
            || VERSIONS.contains(&key)
            || key == TRACE_PARENT
    }

    /// Whether a name is another spelling of one in the schema.
    fn is_misspelt(&self, key: &str) -> bool {
        !key.starts_with('_') && self.spellings.contains(&plain_name(key))
    }

    fn text(&mut self, text: &str, name: &str, is_free: bool) -> String {
        let is_hex = || text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        match name {
            _ if text.trim().is_empty() => text.to_owned(),
            TRACE_PARENT if is_hex() => text.to_owned(),
            "name" if text == CONFIGURED => text.to_owned(),
            // An error may name the method or the member to which it belongs.
            _ if is_free && (self.methods.contains(text) || self.is_known(text)) => text.to_owned(),
            _ if MEDIA.contains(&name) => match not_base64(text) {
                None => "A".repeat(text.len().next_multiple_of(4)),
                // The beginning of a sound.
                Some(NotBase64::Hexadecimal) => format!("{:0<1$}", "52494646", text.len()),
                Some(NotBase64::Invalid(_)) if text.contains(is_line_end) => mask(text),
                Some(NotBase64::Invalid(_)) => self.numbered(text),
            },
            _ if is_absolute(text) && name != "text" => self.path(text, IN_PATHS),
            _ if is_free && !text.contains(is_line_end) && !text.contains('`') => self.numbered(text),
            _ if is_free || name == "message" => self.mask_around_names(text),
            "method" if is_word(text) => {
                self.methods.insert(text.to_owned());
                text.to_owned()
            }
            _ if WORDS.contains(&name) && is_word(text) || is_timestamp(name, text) => text.to_owned(),
            "mimeType" => match text.split_once('/').filter(|(kind, _)| is_word(kind)) {
                Some((kind, rest)) => format!("{kind}/{}", mask(rest)),
                None => mask(text),
            },
            "required" if self.is_known(text) => text.to_owned(),
            // Upper and lower case are alike in the name of a header.
            "name" | "required" => self.numbered(&text.to_lowercase()),
            "sessionId" => self.session(text),
            _ if IDS.contains(&name) || NAMES.contains(&name) || name.ends_with("Id") => self.numbered(text),
            _ if PATHS.contains(&name) => self.path(text, IN_PATHS),
            _ if URLS.contains(&name) => self.url(text),
            _ => mask(text),
        }
    }

    /// As [`mask`], except for member names of the schema in backquotes, which tell what an error is about.
    fn mask_around_names(&self, text: &str) -> String {
        let parts = text.split('`').map(|part| if self.is_known(part) { part.to_owned() } else { mask(part) });
        parts.collect::<Vec<_>>().join("`")
    }

    /// Returns a word with the number of the text. An alias of a value stays one, and a blank stays.
    fn numbered(&mut self, text: &str) -> String {
        let next = self.words.len() + 1;
        let joint = if text.contains(char::is_whitespace) { ' ' } else { '-' };
        let alias = alias_in(text).map(|word| format!("-{word}")).unwrap_or_default();
        self.words.entry(text.to_owned()).or_insert_with(|| format!("word{joint}{next}{alias}")).clone()
    }

    /// Returns the word for the id of a session. Another spelling of an earlier id becomes that of its word.
    fn session(&mut self, id: &str) -> String {
        if self.sessions.iter().any(|known| known == id) {
            return self.numbered(id);
        }
        let respelt: Vec<&String> = self.sessions.iter().filter(|known| is_respelt(known, id)).collect();
        if let Some(word) = respelt.first().and_then(|first| self.words.get(*first)) {
            let other = word.clone() + &"-".repeat(respelt.len());
            self.words.entry(id.to_owned()).or_insert(other);
        }
        self.sessions.push(id.to_owned());
        self.numbered(id)
    }

    /// Replaces the parts of a path or URL. The characters between them stay, a drive, `.` and `..`.
    fn path(&mut self, path: &str, between: &[char]) -> String {
        let mut replaced = String::with_capacity(path.len());
        for piece in path.split_inclusive(between) {
            let part = piece.trim_end_matches(between);
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

    /// Replaces the parts of a URL. A usual scheme, a loopback host and a port stay.
    fn url(&mut self, url: &str) -> String {
        let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        let scheme = url.split_once(':').filter(|(scheme, _)| !scheme.is_empty() && scheme.bytes().all(is_scheme));
        let Some((scheme, rest)) = scheme else { return self.path(url, IN_URLS) };
        let in_scheme = |c: char| if c.is_ascii_alphanumeric() { 'x' } else { c };
        let named = SCHEMES.contains(&scheme).then(|| scheme.to_owned());
        let scheme = named.unwrap_or_else(|| scheme.chars().map(in_scheme).collect());
        let host = rest.strip_prefix("//").map_or("", |rest| rest.split('/').next().unwrap_or_default());
        let port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let name = port.map_or(host, |(name, _)| name);
        let kept = if matches!(name, "localhost" | "127.0.0.1" | "[::1]") { host.len() + 2 } else { 0 };
        // A port after the first colon shows that the scheme is missing.
        let port = if rest.starts_with(|c: char| c.is_ascii_digit()) { "0" } else { "" };
        format!("{scheme}:{port}{}{}", &rest[..kept], self.path(&rest[kept..], IN_URLS))
    }
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
        Some(Expected::NoMessageWith { params, .. }) if is_own => *params = Value::Null,
        _ => {}
    }
    match &mut step.observed {
        Some(Observed::Mismatch(difference) | Observed::TimedOut { differing: Some(difference), .. }) => {
            difference.expected = mask(&difference.expected);
            difference.actual = mask(&difference.actual);
        }
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
