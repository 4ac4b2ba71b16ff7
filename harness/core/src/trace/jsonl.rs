//! The trace file: a header line, then one event per line.

use std::io::{BufRead, Write};
use std::mem::take;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::case::CaseMark;
use super::event::{Event, McpEvent, ProcessEvent, Visit, What, is_first};
use super::http::HttpEvent;
use super::model::ModelEvent;
use super::step::StepEvent;
use crate::requirement::{Party, Transport, Transports};
use crate::wire::LineEnd;

/// The name and version of the format.
pub const FORMAT: &str = "acp-conformance-trace/2";

/// The first line of a trace file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Always `acp-conformance-trace/2`.
    pub format: String,
    /// The version of the program that wrote it.
    pub suite: String,
    /// The edition of the protocol that the case was written for.
    pub edition: String,
    /// Whether the user chose exactly this edition, and not its version: then a subject that may be older has the
    /// duties that are new in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact_edition: bool,
    /// The id of the case; absent for a recording of other traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The title of the case; absent in traces of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The number of the conversation in its run, from 1, if it holds several cases; marks among the events name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<usize>,
    /// Whether the case is a walk: several cases in one session or in several.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub walk: bool,
    /// The file of the case, unless it is built into the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What carried the messages; absent for standard streams.
    #[serde(default, skip_serializing_if = "Transport::is_stdio")]
    pub transport: Transport,
    /// The party whose messages are lines on standard streams all the same, because a bridge translates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridged: Option<Party>,
    /// The party that is the subject; absent if both are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Party>,
    /// The command line of the subject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The requirements of the case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// The gaps of a recording of other traffic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<Lack>,
    /// What the importer of a recording left out, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// A gap of a recording. Requirements that depend on it cannot be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lack {
    /// The bytes on the wire: the recorded messages were parsed and written again.
    Bytes,
    /// The encoding on the wire: the recorder decoded the messages to text.
    Encoding,
    /// Whether and how lines ended.
    Ends,
    /// The times of the events.
    Times,
    /// The events of the processes, such as signals that end them.
    Processes,
    /// The order of the messages; only that an answer came after its request is known.
    Order,
    /// All messages: some were left out.
    Messages,
    /// All updates: those of a replay may have been left out.
    Replays,
    /// The content: texts, names and values were replaced, so that texts of equal length look alike.
    Content,
}

impl Header {
    /// Creates the header of a recording that is not a run of a case.
    pub fn of_recording(edition: &str, lacks: Vec<Lack>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            suite: env!("CARGO_PKG_VERSION").to_owned(),
            edition: edition.to_owned(),
            exact_edition: false,
            case: None,
            title: None,
            conversation: None,
            walk: false,
            file: None,
            transport: Transport::default(),
            bridged: None,
            subject: None,
            command: Vec::new(),
            requirements: Vec::new(),
            lacks,
            remarks: Vec::new(),
        }
    }
}

impl Header {
    /// Returns what carried the messages of each party.
    pub fn transports(&self) -> Transports {
        let of = |party| if self.bridged == Some(party) { Transport::Stdio } else { self.transport };
        Transports { agent: of(Party::Agent), client: of(Party::Client) }
    }
}

/// A header with its events, in the order of observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The facts about the trace.
    pub header: Header,
    /// The observations.
    pub events: Vec<Event>,
}

/// One event line of a trace file. Of `from` (with `line` or `base64`), `stderr`, `stdout`, `process`, `mcp`, `http`,
/// `visit`, `model`, `step` and `case`, exactly one is present; a line without any of them has an unknown sender.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EventLine {
    /// Position in the trace, from 0.
    n: usize,
    /// Microseconds since the start, monotonic.
    us: u64,
    /// The connection, from 0; absent for the first.
    #[serde(default, skip_serializing_if = "is_first")]
    connection: usize,
    /// The sender of the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<Party>,
    /// The exact text of the line, without its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    /// The exact bytes of the line (or of `stderr` or `stdout`), if they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    /// The line end; `lf` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<LineEnd>,
    /// Whether the tester violated the protocol on purpose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    deliberate: bool,
    /// The subject's output on standard error; empty next to `base64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
    /// The client's output on standard output; empty next to `base64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stdout: Option<String>,
    /// The method of the request of the protocol that follows as a fence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fence: Option<String>,
    /// An event of the subject's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process: Option<ProcessEvent>,
    /// An event of an MCP server of the tester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mcp: Option<McpEvent>,
    /// An event of HTTP or of a WebSocket, if one of them carries the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    http: Option<HttpEvent>,
    /// A request to the HTTP endpoint of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    visit: Option<Visit>,
    /// A request to the scripted model of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<ModelEvent>,
    /// The result of a step of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<StepEvent>,
    /// The beginning or end of a case, in a conversation that holds several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    case: Option<CaseMark>,
}

/// The reason why a trace file could not be read; lines count from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be read at all.
    #[error("cannot read: {0}")]
    Io(#[from] std::io::Error),
    /// The file is empty.
    #[error("the file is empty; a trace begins with a header line")]
    Empty,
    /// The first line is not a header.
    #[error("line 1 is not a trace header: {0}")]
    Header(String),
    /// The header names another format.
    #[error("line 1: the format is `{0}`, and this program reads `{FORMAT}`")]
    Format(String),
    /// An event could not be read.
    #[error("line {line}: {message}")]
    Event {
        /// 1-based.
        line: usize,
        /// The problem.
        message: String,
    },
    /// The file ends in the middle of an event.
    #[error("line {0}: the trace is cut off in the middle of this line")]
    CutOff(usize),
}

impl Trace {
    /// Writes header and events.
    pub fn write(&self, to: &mut dyn Write) -> std::io::Result<()> {
        let mut writer = TraceWriter::new(to, &self.header)?;
        self.events.iter().try_for_each(|event| writer.event(event))
    }

    /// Reads a trace file.
    ///
    /// # Errors
    ///
    /// The first line that does not follow the format.
    pub fn read(from: impl BufRead) -> Result<Self, ReadError> {
        let reader = TraceReader::new(from)?;
        let header = reader.header.clone();
        Ok(Self { header, events: reader.collect::<Result<_, _>>()? })
    }
}

/// Writes a trace file event by event.
pub struct TraceWriter<W> {
    to: W,
    /// The number of bytes written so far.
    pub written: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Writes the header.
    pub fn new(to: W, header: &Header) -> std::io::Result<Self> {
        let mut writer = Self { to, written: 0 };
        writer.line(header)?;
        Ok(writer)
    }

    /// Writes the next event.
    pub fn event(&mut self, event: &Event) -> std::io::Result<()> {
        self.line(&EventLine::from(event))
    }

    /// Flushes the writer.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }

    fn line(&mut self, what: &impl Serialize) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        self.written += line.len() as u64;
        self.to.write_all(&line)
    }
}

/// Reads a trace file event by event, with the memory of one line.
pub struct TraceReader<R> {
    /// The facts about the trace.
    pub header: Header,
    from: R,
    line: Vec<u8>,
    position: usize,
}

impl<R: BufRead> TraceReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    ///
    /// The file is empty, or its first line is not a header of this format.
    pub fn new(mut from: R) -> Result<Self, ReadError> {
        let mut line = Vec::new();
        if from.read_until(b'\n', &mut line)? == 0 {
            return Err(ReadError::Empty);
        }
        let probe: serde_json::Value = serde_json::from_slice(&line).map_err(|e| ReadError::Header(e.to_string()))?;
        match probe.get("format").and_then(serde_json::Value::as_str) {
            Some(FORMAT) => {}
            Some(other) => return Err(ReadError::Format(other.to_owned())),
            None => return Err(ReadError::Header("it has no member `format`".to_owned())),
        }
        let header = serde_json::from_value(probe).map_err(|e| ReadError::Header(e.to_string()))?;
        Ok(Self { header, from, line, position: 0 })
    }
}

impl<R: BufRead> Iterator for TraceReader<R> {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.line.clear();
        match self.from.read_until(b'\n', &mut self.line) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(error.into())),
        }
        let event = read_event(&self.line, self.position);
        self.position += 1;
        let line = self.position + 1;
        let is_cut = || !self.line.ends_with(b"\n") && serde_json::from_slice::<IgnoredAny>(&self.line).is_err();
        Some(
            event
                .map_err(|message| if is_cut() { ReadError::CutOff(line) } else { ReadError::Event { line, message } }),
        )
    }
}

fn read_event(line: &[u8], position: usize) -> Result<Event, String> {
    let line: EventLine = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    if line.n != position {
        return Err(format!("`n` is {}, and the event stands at position {position}", line.n));
    }
    let EventLine {
        line: text,
        base64,
        from,
        end,
        deliberate,
        stderr,
        stdout,
        fence,
        process,
        mcp,
        http,
        visit,
        model,
        step,
        case,
        ..
    } = line;
    let has_text = text.is_some() || base64.is_some();
    if from.is_some() && !has_text {
        return Err("`from` needs `line` or `base64`".to_owned());
    }
    let (is_stderr, is_stdout) = (stderr.is_some(), stdout.is_some());
    let mut bytes = match base64 {
        Some(code) => STANDARD.decode(code).map_err(|e| format!("`base64`: {e}"))?,
        None => text.or(stderr).or(stdout).unwrap_or_default().into_bytes(),
    };
    let given = [
        from.map(|from| What::Line { from, bytes: take(&mut bytes), end: end.unwrap_or_default(), deliberate }),
        is_stderr.then(|| What::Stderr(take(&mut bytes))),
        is_stdout.then(|| What::Stdout(take(&mut bytes))),
        fence.map(What::Fence),
        process.map(What::Process),
        mcp.map(What::Mcp),
        http.map(What::Http),
        visit.map(What::Visit),
        model.map(What::Model),
        step.map(What::Step),
        case.map(What::Case),
    ];
    let mut given = given.into_iter().flatten();
    let what = match (given.next(), given.next()) {
        (Some(what), None) => what,
        (None, _) if has_text => What::Unattributed(bytes),
        _ => {
            return Err(
                "exactly one of `from`, `stderr`, `stdout`, `fence`, `process`, `mcp`, `http`, `visit`, `model`, `step` and `case` is wanted"
                    .to_owned(),
            );
        }
    };
    Ok(Event { n: line.n, us: line.us, connection: line.connection, what })
}

impl Event {
    /// Returns the event as in a trace file.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(EventLine::from(self)).unwrap_or_default()
    }
}

impl From<&Event> for EventLine {
    fn from(event: &Event) -> Self {
        let mut line = Self {
            n: event.n,
            us: event.us,
            connection: event.connection,
            from: None,
            line: None,
            base64: None,
            end: None,
            deliberate: false,
            stderr: None,
            stdout: None,
            fence: None,
            process: None,
            mcp: None,
            http: None,
            visit: None,
            model: None,
            step: None,
            case: None,
        };
        match &event.what {
            What::Line { from, bytes, end, deliberate } => {
                line.from = Some(*from);
                (line.line, line.base64) = text_or_code(bytes);
                line.end = (*end != LineEnd::Lf).then_some(*end);
                line.deliberate = *deliberate;
            }
            What::Unattributed(bytes) => (line.line, line.base64) = text_or_code(bytes),
            What::Stderr(bytes) => {
                let (text, code) = text_or_code(bytes);
                line.stderr = Some(text.unwrap_or_default());
                line.base64 = code;
            }
            What::Stdout(bytes) => {
                let (text, code) = text_or_code(bytes);
                line.stdout = Some(text.unwrap_or_default());
                line.base64 = code;
            }
            What::Fence(method) => line.fence = Some(method.clone()),
            What::Process(process) => line.process = Some(process.clone()),
            What::Mcp(mcp) => line.mcp = Some(mcp.clone()),
            What::Http(http) => line.http = Some(http.clone()),
            What::Visit(visit) => line.visit = Some(visit.clone()),
            What::Model(model) => line.model = Some(model.clone()),
            What::Step(step) => line.step = Some(step.clone()),
            What::Case(mark) => line.case = Some(mark.clone()),
        }
        line
    }
}

fn text_or_code(bytes: &[u8]) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(STANDARD.encode(bytes))),
    }
}

/// Returns the JSON Schema of the two kinds of line.
pub fn file_schema() -> serde_json::Value {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let header = generator.subschema_for::<Header>();
    let event = generator.subschema_for::<EventLine>();
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of an acp-conformance trace file: the first is a header, every other one an event",
        "anyOf": [header, event],
        "$defs": generator.take_definitions(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Expected, McpTransport, McpWhat, Observed, Outcome, StepKind};

    fn sample() -> Trace {
        let line = |bytes: &[u8], end| What::Line { from: Party::Agent, bytes: bytes.to_vec(), end, deliberate: false };
        let step = StepEvent {
            kind: StepKind::Must,
            line: 7,
            include: None,
            text: "agent: …".to_owned(),
            outcome: Outcome::TimedOut,
            decides: vec!["init.respond".to_owned()],
            events: vec![1],
            expected: Some(Expected::FenceAnswer),
            observed: Some(Observed::FenceUnanswered(vec!["session/list".to_owned()])),
            intent: Some("read-file".to_owned()),
        };
        let what = [
            What::Process(ProcessEvent::Spawned { pid: 7 }),
            line(b"{ \"spaces\" : 1.0 }", LineEnd::CrLf),
            line(b"\xff\xfe", LineEnd::Eof),
            What::Stderr(b"\xc3".to_vec()),
            What::Stderr("warning é".as_bytes().to_vec()),
            What::Stdout(b"printed".to_vec()),
            What::Unattributed(b"{}".to_vec()),
            What::Fence("session/list".to_owned()),
            What::Process(ProcessEvent::NotSpawned("no".to_owned())),
            What::Process(ProcessEvent::Exited { code: None, signal: Some("SIGKILL".to_owned()) }),
            What::Mcp(McpEvent {
                server: "files".to_owned(),
                over: McpTransport::Stdio,
                instance: 1,
                what: McpWhat::FromAgent("{}".to_owned()),
            }),
            What::Visit(Visit {
                method: "GET".to_owned(),
                url: "http://127.0.0.1:1/".to_owned(),
                headers: vec![("host".to_owned(), "127.0.0.1:1".to_owned())],
            }),
            What::Step(step),
        ];
        let events = what
            .into_iter()
            .enumerate()
            .map(|(n, what)| Event { n, us: 10 * n as u64, connection: n % 2, what })
            .collect();
        let header = Header { subject: Some(Party::Agent), ..Header::of_recording("v1", vec![Lack::Times]) };
        Trace { header, events }
    }

    #[test]
    fn what_is_written_is_read_back_byte_for_byte() {
        let mut file = Vec::new();
        sample().write(&mut file).expect("a vector takes everything");
        assert_eq!(Trace::read(&file[..]).expect("our own file"), sample());
        let schema = jsonschema::validator_for(&file_schema()).expect("a valid schema");
        for line in String::from_utf8(file).expect("traces are UTF-8").lines() {
            let value = serde_json::from_str(line).expect("JSON");
            assert!(schema.is_valid(&value), "{line}");
        }
    }

    #[test]
    fn broken_files_are_told_with_their_line() {
        let header = serde_json::to_string(&sample().header).expect("serialises");
        let cases = [
            (String::new(), "the file is empty; a trace begins with a header line"),
            ("{}".to_owned(), "line 1 is not a trace header: it has no member `format`"),
            (r#"{"format":"other/2"}"#.to_owned(), "line 1: the format is `other/2`"),
            (
                format!("{header}\n{{\"n\":1,\"us\":0,\"stderr\":\"\"}}"),
                "line 2: `n` is 1, and the event stands at position 0",
            ),
            (format!("{header}\n{{\"n\":0,\"us\":0}}"), "line 2: exactly one of"),
            (format!("{header}\n{{\"n\":0,\"us\":0,\"from\":\"agent\"}}"), "line 2: `from` needs"),
            (format!("{header}\n{{\"n\":0,\"us\":0,\"from\":\"agent\",\"base64\":\"*\"}}"), "line 2: `base64`"),
            (format!("{header}\n{{\"n\":0,\"us\":0,\"from\":\"ag"), "line 2: the trace is cut off"),
        ];
        for (text, expected) in cases {
            let error = Trace::read(text.as_bytes()).expect_err("broken").to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
