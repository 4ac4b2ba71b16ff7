//! The two walks over a trace: the first collects its texts, the second replaces them.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::cipher::{Cipher, Lexicon, RedactionKey};
use super::line::{Part, walk};
use super::literal::Literal;
use super::place::{self, Fate, LineKind};
use super::speech::{PIECE, Speech};
use super::step;
use super::words;
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::trace::{CaseMark, Event, McpEvent, McpWhat, ProcessEvent, Trace, What};
use crate::wire::{Content, Envelope, RpcId, read_line};

/// MCP messages are not part of ACP, so the meaning of their content is unknown.
const OF_MCP: LineKind = LineKind { is_own: true, is_introduction: false };

/// A trace without content, and the number of quotes that could not be replaced.
#[derive(Debug)]
pub struct Redacted {
    /// The trace.
    pub trace: Trace,
    /// The number of removed texts and values that step results quote.
    pub cut: usize,
}

/// Replaces the content of a trace; see the head of this module.
#[must_use]
pub fn redact(trace: &Trace, key: RedactionKey, edition: &'static Edition) -> Redacted {
    let mut reader = Reader::new(edition);
    trace.events.iter().for_each(|event| reader.read(event));
    let mut writer = reader.close(key);
    let mut redacted = trace.clone();
    for event in &mut redacted.events {
        writer.replace(event);
    }
    for (position, word) in redacted.header.command.iter_mut().enumerate() {
        *word = writer.argument(position, word);
    }
    // The title of a user's case and the folder of their cases are private; the path below that folder is the id, which stays.
    redacted.header.title = redacted.header.title.filter(|_| trace.header.file.is_none());
    redacted.header.file = trace.header.file.as_ref().and(trace.header.case.as_deref()).map(file_below);
    Redacted { trace: redacted, cut: writer.cut }
}

/// Returns the path of a case below the folder of cases.
fn file_below(case: &str) -> String {
    format!("{}.yaml", case.split('@').next().unwrap_or(case))
}

/// The first walk.
struct Reader {
    edition: &'static Edition,
    lexicon: Lexicon,
    speech: Speech,
    settings: Settings,
    variables: HashSet<String>,
}

impl Reader {
    fn new(edition: &'static Edition) -> Self {
        Self {
            edition,
            lexicon: Lexicon::default(),
            speech: Speech::default(),
            settings: Settings::default(),
            variables: HashSet::new(),
        }
    }

    fn read(&mut self, event: &Event) {
        let (bytes, from) = match &event.what {
            What::Line { bytes, from, .. } => (bytes, Some(*from)),
            What::Unattributed(bytes) => (bytes, None),
            What::Stderr(bytes) | What::Stdout(bytes) => {
                return self.lexicon.learn(&String::from_utf8_lossy(bytes));
            }
            What::Process(ProcessEvent::AgentStarted(start)) => return self.lexicon.learn(&start.cwd),
            What::Process(ProcessEvent::Reused(reuse)) => {
                return reuse.sessions.iter().for_each(|session| self.id(session));
            }
            What::Mcp(McpEvent { what: McpWhat::FromAgent(text) | McpWhat::ToAgent(text), .. }) => {
                return self.message(text.as_bytes(), false, OF_MCP);
            }
            What::Process(_)
            | What::Step(_)
            | What::Mcp(_)
            | What::Visit(_)
            | What::Model(_)
            | What::Fence(_)
            | What::Case(_) => return,
        };
        let message = message(bytes);
        if let Some(Envelope::Call(call)) = message.as_ref().map(Envelope::of)
            && place::looks_like_a_word(call.method)
        {
            self.lexicon.learn_id(call.method);
        }
        let is_piece = message.as_ref().is_some_and(|message| self.speech.hear(event, message));
        let setting = self.settings.next(event.connection, from, message.as_ref());
        if !is_json(bytes) {
            return self.lexicon.learn(&String::from_utf8_lossy(bytes));
        }
        self.message(bytes, is_piece, setting);
    }

    fn message(&mut self, bytes: &[u8], is_piece: bool, setting: LineKind) {
        walk(bytes, |range, part| {
            let text = Literal::read(&bytes[range], true).text();
            let members = match part {
                Part::Outside => return,
                Part::Key([.., env]) if setting.is_introduction && env == "env" => {
                    self.variables.insert(text);
                    return;
                }
                Part::Key(_) => return,
                Part::Value(members) => members,
            };
            match place::of_value(members, &text, setting, self.edition) {
                Fate::Stays | Fate::Media => {}
                Fate::Id if place::looks_like_an_id(&text) => self.lexicon.learn_id(&text),
                _ if is_piece && members == PIECE => {}
                _ => self.lexicon.learn(&text),
            }
        });
    }

    fn id(&mut self, id: &str) {
        if place::looks_like_an_id(id) { self.lexicon.learn_id(id) } else { self.lexicon.learn(id) }
    }

    fn close(mut self, key: RedactionKey) -> Writer {
        self.speech.texts.iter().for_each(|text| self.lexicon.learn(text));
        let mut cipher = self.lexicon.close(key);
        let spoken = self.speech.texts.iter().map(|text| cipher.text(text, &words::in_a_report(text))).collect();
        let settings = Settings::default();
        Writer {
            cipher,
            speech: self.speech,
            spoken,
            settings,
            variables: self.variables,
            cut: 0,
            edition: self.edition,
        }
    }
}

/// The second walk.
struct Writer {
    cipher: Cipher,
    speech: Speech,
    /// The replaced streams.
    spoken: Vec<String>,
    settings: Settings,
    /// The variables that login methods set; their names are in `initialize`, and stay.
    variables: HashSet<String>,
    cut: usize,
    edition: &'static Edition,
}

impl Writer {
    fn replace(&mut self, event: &mut Event) {
        let (n, connection) = (event.n, event.connection);
        match &mut event.what {
            What::Line { bytes, from, .. } => {
                let setting = self.settings.next(connection, Some(*from), message(bytes).as_ref());
                *bytes = self.line(n, bytes, setting);
            }
            What::Unattributed(bytes) => {
                let setting = self.settings.next(connection, None, message(bytes).as_ref());
                *bytes = self.line(n, bytes, setting);
            }
            What::Stderr(bytes) | What::Stdout(bytes) => *bytes = self.print(bytes),
            What::Fence(_) => {}
            What::Process(process) => self.process(process),
            What::Mcp(mcp) => self.mcp(n, &mut mcp.what),
            What::Visit(visit) => {
                visit.url = self.cipher.text(&visit.url, &place::shown_of_url(&visit.url));
                for (name, value) in &mut visit.headers {
                    (*name, *value) = (self.plain(name), self.plain(value));
                }
            }
            // The names of tools come from a profile, which may be private.
            What::Model(model) => {
                let (kept, tools) = model.split_tools();
                model.did = kept.to_owned() + &self.plain(tools);
            }
            What::Step(step) => self.cut += step::remove_quotes(step),
            What::Case(CaseMark::Begins(case)) => {
                case.title = case.title.take().filter(|_| case.file.is_none());
                case.file = case.file.as_ref().map(|_| file_below(&case.id));
            }
            What::Case(CaseMark::Ends) => {}
        }
    }

    fn line(&mut self, n: usize, bytes: &[u8], setting: LineKind) -> Vec<u8> {
        if !is_json(bytes) {
            return self.print(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        let numbers_stay = matches!(read_line(bytes), Content::One { .. } | Content::Several { .. });
        walk(bytes, |range, part| {
            let inside = &bytes[range];
            match part {
                Part::Outside => self.outside(inside, numbers_stay, &mut out),
                Part::Key(around) => {
                    let literal = Literal::read(inside, true);
                    let name = literal.text();
                    let new = if place::is_name(&name, around, setting, self.edition) {
                        name
                    } else {
                        self.cipher.text(&name, &[])
                    };
                    literal.spell(&new, &mut out);
                }
                Part::Value(members) => {
                    let literal = Literal::read(inside, true);
                    let new = self.value(n, members, literal.text(), setting);
                    literal.spell(&new, &mut out);
                }
            }
        });
        out
    }

    fn value(&mut self, n: usize, members: &[String], text: String, setting: LineKind) -> String {
        if members == PIECE
            && let Some((stream, part)) = self.speech.piece(n, &text)
        {
            return self.spoken[stream][part].to_owned();
        }
        let mut shown = match place::of_value(members, &text, setting, self.edition) {
            Fate::Stays => return text,
            Fate::Id if place::looks_like_an_id(&text) => return text,
            Fate::Media => return self.media(&text),
            Fate::Url => place::shown_of_url(&text),
            Fate::Error => words::in_an_error(&text, self.edition),
            Fate::Report => words::in_a_report(&text),
            Fate::Patch => words::in_a_patch(&text),
            Fate::Id | Fate::Text => Vec::new(),
        };
        shown.extend(words::in_any_text(&text));
        self.cipher.text(&text, &shown)
    }

    /// Replaces base64 by base64 of the same length, hexadecimal digits by such, and anything else by invalid base64.
    fn media(&mut self, text: &str) -> String {
        let config = GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true);
        let is_base64 = GeneralPurpose::new(&base64::alphabet::STANDARD, config).decode(text).is_ok();
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match text.split_at_checked(place::MAGIC).filter(|_| is_hex) {
            Some((magic, rest)) => {
                magic.to_owned() + &self.cipher.whole(rest).replace(|c: char| !c.is_ascii_digit(), "c")
            }
            None if is_base64 => self.cipher.whole(text),
            None => self.cipher.text(text, &[]),
        }
    }

    /// Replaces the parts outside strings: marks, numbers and the three words of JSON, or any bytes in a broken line. There a
    /// number may be part of anything, so it is replaced.
    fn outside(&mut self, bytes: &[u8], numbers_stay: bool, out: &mut Vec<u8>) {
        let is_mark = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"+-.".contains(byte);
        for piece in bytes.split_inclusive(is_mark) {
            let mark = piece.last().is_some_and(is_mark);
            let (word, end) = piece.split_at(piece.len() - usize::from(mark));
            match serde_json::from_slice::<IgnoredAny>(word) {
                Ok(_) if is_number(word) && !numbers_stay => out.extend(self.number(word)),
                Ok(_) => out.extend_from_slice(word),
                Err(_) if word.is_empty() => {}
                Err(_) => out.extend(self.print(word)),
            }
            out.extend_from_slice(end);
        }
    }

    /// Returns another number with as many digits, and with the sign of its exponent at the same place.
    fn number(&mut self, word: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(word);
        let exponent = text.find(['e', 'E']).map_or(0..0, |at| at..at + 1);
        self.cipher.text(&text, &[exponent]).into_bytes()
    }

    /// Replaces bytes that are not JSON.
    fn print(&mut self, bytes: &[u8]) -> Vec<u8> {
        let literal = Literal::read(bytes, false);
        let mut out = Vec::with_capacity(bytes.len());
        literal.spell(&self.cipher.text(&literal.text(), &[]), &mut out);
        out
    }

    fn process(&mut self, process: &mut ProcessEvent) {
        match process {
            ProcessEvent::AgentStarted(start) => {
                self.words(&mut start.args);
                for name in &mut start.environment {
                    if !self.variables.contains(name) && !name.starts_with(words::OWN_VARIABLES) {
                        *name = self.plain(name);
                    }
                }
                start.cwd = self.plain(&start.cwd);
                start.values.values_mut().for_each(|value| *value = self.plain(value));
            }
            ProcessEvent::NotSpawned(why) => *why = self.cipher.text(why, &words::in_an_error(why, self.edition)),
            ProcessEvent::Reused(reuse) => {
                let sessions = std::mem::take(&mut reuse.sessions).into_iter();
                reuse.sessions = sessions.map(|session| self.id(session)).collect();
            }
            _ => {}
        }
    }

    /// Replaces the content of an MCP server's events. Its arguments and variables are compared with those that the client
    /// named.
    fn mcp(&mut self, n: usize, what: &mut McpWhat) {
        match what {
            McpWhat::Started { command, args, cwd, env, environment, .. } => {
                *command = self.plain(command);
                *cwd = self.plain(cwd);
                self.words(args);
                self.words(environment);
                let named = std::mem::take(env).into_iter();
                *env = named.map(|(name, value)| (self.plain(&name), self.plain(&value))).collect();
            }
            McpWhat::FromAgent(text) | McpWhat::ToAgent(text) => {
                *text = String::from_utf8_lossy(&self.line(n, text.as_bytes(), OF_MCP)).into_owned();
            }
            McpWhat::Ended => {}
        }
    }

    /// Returns an id as replaced in messages.
    fn id(&mut self, id: String) -> String {
        if place::looks_like_an_id(&id) { id } else { self.cipher.text(&id, &words::in_any_text(&id)) }
    }

    fn plain(&mut self, text: &str) -> String {
        self.cipher.text(text, &[])
    }

    fn words(&mut self, words: &mut [String]) {
        words.iter_mut().for_each(|word| *word = self.plain(word));
    }

    /// Replaces a word of a command line; the name of the program and the names of options stay.
    fn argument(&mut self, position: usize, word: &str) -> String {
        let shown = match word.rfind('/') {
            _ if word.starts_with("--") => 0..word.find('=').unwrap_or(word.len()),
            at if position == 0 => at.map_or(0, |at| at + 1)..word.len(),
            _ => 0..0,
        };
        self.cipher.text(word, &[shown])
    }
}

/// The context of each line from earlier lines: the open requests of extension methods.
#[derive(Default)]
struct Settings {
    own: HashSet<(usize, Party, RpcId)>,
}

impl Settings {
    fn next(&mut self, connection: usize, from: Option<Party>, message: Option<&Value>) -> LineKind {
        let Some(message) = message else { return LineKind::default() };
        match Envelope::of(message) {
            Envelope::Call(call) => {
                let is_own = call.method.starts_with('_');
                if let (true, Some(from), Some(id)) = (is_own, from, call.id) {
                    self.own.insert((connection, from, RpcId::new(id)));
                }
                LineKind { is_own, is_introduction: call.method == "initialize" }
            }
            Envelope::Response { id: Some(id), result, .. } => LineKind {
                is_own: from.is_some_and(|from| self.own.remove(&(connection, from.other(), RpcId::new(id)))),
                is_introduction: result.is_some_and(|result| result.get("protocolVersion").is_some()),
            },
            Envelope::Response { .. } | Envelope::Unclear => LineKind::default(),
        }
    }
}

fn message(bytes: &[u8]) -> Option<Value> {
    read_line(bytes).one()
}

/// Whether a word of JSON is a number.
fn is_number(word: &[u8]) -> bool {
    word.first().is_some_and(|first| *first == b'-' || first.is_ascii_digit())
}

/// Whether a line is meant to be JSON, valid or not.
fn is_json(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().first().is_some_and(|first| b"{[".contains(first)) || message(bytes).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trace::{
        AgentStart, Excerpt, Expected, ExpectedText, Header, McpTransport, Observed, Outcome, StepEvent, StepKind,
        Visit,
    };
    use crate::wire::LineEnd;

    fn line(from: Party, text: &str) -> What {
        What::Line { from, bytes: text.as_bytes().to_vec(), end: LineEnd::Lf, deliberate: false }
    }

    /// Builds a trace with private data in every place that may contain it.
    fn private() -> Trace {
        let step = StepEvent {
            kind: StepKind::Reply,
            line: 1,
            include: None,
            text: "reply: { id: turn }".to_owned(),
            outcome: Outcome::Missed,
            decides: Vec::new(),
            events: Vec::new(),
            expected: Some(Expected::File {
                path: "/x/alice/secret".to_owned(),
                content: ExpectedText::Contains(Excerpt::of("hunter2")),
            }),
            observed: Some(Observed::Reply { text: Excerpt::of("hunter2 secret"), repeats_prompt: true }),
            intent: None,
        };
        let started = ProcessEvent::AgentStarted(AgentStart {
            args: vec!["--token=hunter2".to_owned(), "secret".to_owned()],
            cwd: "/x/alice/secret".to_owned(),
            environment: vec!["ALICE_TOKEN".to_owned()],
            values: [("KEY".to_owned(), "hunter2".to_owned())].into(),
            ..AgentStart::default()
        });
        let server = McpWhat::Started {
            command: "/x/alice/secret".to_owned(),
            pid: 1,
            args: vec!["--token=hunter2".to_owned()],
            cwd: "/x/alice".to_owned(),
            env: [("ALICE".to_owned(), "hunter2".to_owned())].into(),
            environment: vec!["ALICE_TOKEN".to_owned()],
        };
        let mcp =
            |what| What::Mcp(McpEvent { server: "tools".to_owned(), over: McpTransport::Stdio, instance: 0, what });
        let call = json!({ "id": 1, "method": "tools/call", "params": { "secret": "hunter2", "name": "alice" } });
        let visit = Visit {
            method: "GET".to_owned(),
            url: "http://localhost:1/secret?token=hunter2".to_owned(),
            headers: vec![("x-alice".to_owned(), "hunter2".to_owned())],
        };
        let own = json!({ "id": 9, "method": "_acme/do", "params": { "secret": "hunter2" } });
        let whats = vec![
            What::Process(started),
            mcp(server),
            mcp(McpWhat::FromAgent(call.to_string())),
            What::Visit(visit),
            line(Party::Client, &json!({ "id": 1, "method": "session/new", "params": { "cwd": "/x/alice/secret", "mcpServers": [{ "name": "secret", "command": "secret", "args": ["hunter2"], "env": [{ "name": "ALICE_TOKEN", "value": "hunter2" }] }] } }).to_string()),
            line(Party::Agent, &json!({ "id": 1, "result": { "sessionId": "sess-0001" } }).to_string()),
            line(Party::Client, &json!({ "id": 2, "method": "session/prompt", "params": { "sessionId": "sess-0001", "prompt": [{ "type": "text", "text": "my secret is hunter2" }] } }).to_string()),
            line(Party::Agent, &json!({ "method": "session/update", "params": { "sessionId": "sess-0001", "update": { "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "hun" } } } }).to_string()),
            line(Party::Agent, &json!({ "method": "session/update", "params": { "sessionId": "sess-0001", "update": { "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "ter2" } } } }).to_string()),
            line(Party::Agent, &json!({ "method": "session/update", "params": { "sessionId": "sess-0001", "update": { "sessionUpdate": "tool_call", "toolCallId": "/x/alice/secret", "title": "secret", "rawInput": { "/x/alice/secret": { "secret": "hunter2" } }, "_meta": { "alice": "secret" } } } }).to_string()),
            line(Party::Agent, &own.to_string()),
            line(Party::Client, &json!({ "id": 9, "result": { "secret": "hunter2" } }).to_string()),
            line(Party::Agent, &json!({ "id": 2, "error": { "code": -32603, "message": "there is no key of alice for hunter2", "data": { "secret": "hunter2" } } }).to_string()),
            line(Party::Agent, "{\"broken\": \"hunter2"),
            line(Party::Agent, "hunter2 secret alice"),
            What::Unattributed(b"\"hunter2\"".to_vec()),
            What::Stderr(b"secret \xffhunter2".to_vec()),
            What::Stdout(b"alice".to_vec()),
            What::Step(step),
        ];
        let events = whats.into_iter().enumerate();
        let events = events.map(|(n, what)| Event { n, us: 0, connection: 0, what }).collect();
        let command = ["/x/alice/bin/agent", "--key=hunter2", "secret"].map(str::to_owned).to_vec();
        let (case, file) = (Some("v1/agent/own".to_owned()), Some("/x/alice/secret/v1/agent/own.yaml".to_owned()));
        Trace { header: Header { command, case, file, ..Header::of_recording("v1", Vec::new()) }, events }
    }

    #[test]
    fn nothing_private_is_left() {
        let mut file = Vec::new();
        let redacted = redact(&private(), RedactionKey::new([3; 32]), crate::testing::v1());
        redacted.trace.write(&mut file).expect("a vector takes everything");
        let text = String::from_utf8(file).expect("traces are UTF-8").to_lowercase();
        for word in ["hunter2", "secret", "alice"] {
            assert!(!text.contains(word), "{word}:\n{text}");
        }
        for word in ["sess-0001", "/agent", "--key=", "_acme/do", "rawinput", " no key "] {
            assert!(text.contains(word), "{word}:\n{text}");
        }
        assert_eq!(redacted.cut, 3);
    }

    #[test]
    fn the_pieces_of_a_message_are_one_text() {
        let redacted = redact(&private(), RedactionKey::new([3; 32]), crate::testing::v1()).trace;
        let text = |n: usize, pointer: &str| match &redacted.events[n].what {
            What::Line { bytes, .. } => {
                let value: Value = serde_json::from_slice(bytes).expect("JSON");
                value.pointer(pointer).and_then(Value::as_str).expect("a text").to_owned()
            }
            _ => String::new(),
        };
        let piece = "/params/update/content/text";
        let whole = text(7, piece) + &text(8, piece);
        assert_eq!(whole, text(4, "/params/mcpServers/0/env/0/value"));
        assert!(text(6, "/params/prompt/0/text").ends_with(&whole));
    }
}
