//! A realistic conversation, for the measurements.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};

use acp_conformance::requirement::Party;

/// The size of a conversation.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// The least number of messages.
    pub messages: usize,
    /// The number of sessions, which have turns alternately.
    pub sessions: usize,
    /// The bytes of text in each chunk of an answer.
    pub text: usize,
}

/// The written conversation.
pub struct Written {
    /// The recording, in the format of sacp-tee, from its beginning.
    pub file: File,
    /// The number of its messages.
    pub messages: usize,
    /// Its length.
    pub bytes: u64,
}

/// Writes a conversation of this size.
pub fn write(size: Size) -> std::io::Result<Written> {
    let mut file = tempfile::tempfile()?;
    let text = "Some words of the answer. ".chars().cycle().take(size.text).collect();
    let mut writer = Writer { to: BufWriter::new(&file), size, text, written: 0, id: [0, 0] };
    writer.conversation()?;
    let messages = writer.written;
    drop(writer);
    let bytes = file.stream_position()?;
    file.rewind()?;
    Ok(Written { file, messages, bytes })
}

/// Writes turns of several sessions, with tools, files and terminals.
struct Writer<'f> {
    to: BufWriter<&'f File>,
    size: Size,
    text: String,
    written: usize,
    /// The next id of the agent and of the client.
    id: [usize; 2],
}

impl Writer<'_> {
    fn conversation(&mut self) -> std::io::Result<()> {
        let capabilities = r#"{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}"#;
        self.ask(
            Party::Client,
            "initialize",
            &format!(
                r#"{{"protocolVersion":1,"clientCapabilities":{capabilities},"clientInfo":{{"name":"bench","version":"1"}}}}"#
            ),
            r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":false},"authMethods":[],"agentInfo":{"name":"bench","version":"1"}}"#,
        )?;
        for session in 0..self.size.sessions {
            let params = format!(r#"{{"cwd":"/project/{session}","mcpServers":[]}}"#);
            self.ask(Party::Client, "session/new", &params, &format!(r#"{{"sessionId":"session-{session}"}}"#))?;
        }
        let mut turn = 0;
        while self.written < self.size.messages {
            self.turn(turn % self.size.sessions, turn)?;
            turn += 1;
        }
        self.to.flush()
    }

    fn turn(&mut self, session: usize, turn: usize) -> std::io::Result<()> {
        let of = format!(r#""sessionId":"session-{session}""#);
        let prompt = self.request(
            Party::Client,
            "session/prompt",
            &format!(r#"{{{of},"prompt":[{{"type":"text","text":"Please look at the tests, turn {turn}."}}]}}"#),
        )?;
        let tool = format!(r#""toolCallId":"call-{turn}""#);
        self.update(&of, r#""sessionUpdate":"plan","entries":[{"content":"Run the tests","priority":"high","status":"in_progress"}]"#)?;
        self.update(
            &of,
            &format!(r#""sessionUpdate":"tool_call",{tool},"title":"cargo test","kind":"execute","status":"pending","rawInput":{{"command":"cargo test"}}"#),
        )?;
        self.ask(
            Party::Agent,
            "session/request_permission",
            &format!(r#"{{{of},"toolCall":{{{tool}}},"options":[{{"optionId":"yes","name":"Allow","kind":"allow_once"}},{{"optionId":"no","name":"Reject","kind":"reject_once"}}]}}"#),
            r#"{"outcome":{"outcome":"selected","optionId":"yes"}}"#,
        )?;
        self.update(&of, &format!(r#""sessionUpdate":"tool_call_update",{tool},"status":"in_progress""#))?;
        let terminal = format!(r#""terminalId":"terminal-{turn}""#);
        self.ask(
            Party::Agent,
            "terminal/create",
            &format!(
                r#"{{{of},"command":"cargo","args":["test"],"cwd":"/project/{session}","outputByteLimit":10000}}"#
            ),
            &format!("{{{terminal}}}"),
        )?;
        let content = format!(r#""content":[{{"type":"terminal",{terminal}}}]"#);
        self.update(&of, &format!(r#""sessionUpdate":"tool_call_update",{tool},{content}"#))?;
        let named = format!("{{{of},{terminal}}}");
        self.ask(Party::Agent, "terminal/wait_for_exit", &named, r#"{"exitCode":0,"signal":null}"#)?;
        let output = r#"{"output":"running 3 tests\ntest result: ok. 3 passed\n","truncated":false,"exitStatus":{"exitCode":0,"signal":null}}"#;
        self.ask(Party::Agent, "terminal/output", &named, output)?;
        self.ask(Party::Agent, "terminal/release", &named, "{}")?;
        let path = format!("/project/{session}/src/lib.rs");
        let read = format!(r#"{{{of},"path":"{path}","line":1,"limit":20}}"#);
        self.ask(
            Party::Agent,
            "fs/read_text_file",
            &read,
            r#"{"content":"fn main() {\n    println!(\"hello\");\n}\n"}"#,
        )?;
        let place = format!(r#""locations":[{{"path":"{path}","line":3}}]"#);
        self.update(&of, &format!(r#""sessionUpdate":"tool_call_update",{tool},"status":"completed",{place}"#))?;
        for part in 0..20 {
            let text = format!(r#""content":{{"type":"text","text":"{part} {}"}}"#, self.text);
            self.update(&of, &format!(r#""sessionUpdate":"agent_message_chunk",{text},"messageId":"message-{turn}""#))?;
        }
        self.answer(Party::Agent, prompt, r#"{"stopReason":"end_turn"}"#)
    }

    fn update(&mut self, of: &str, update: &str) -> std::io::Result<()> {
        let params = format!(r#"{{{of},"update":{{{update}}}}}"#);
        self.line(Party::Agent, &format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#))
    }

    fn ask(&mut self, from: Party, method: &str, params: &str, result: &str) -> std::io::Result<()> {
        let id = self.request(from, method, params)?;
        self.answer(from.other(), id, result)
    }

    fn request(&mut self, from: Party, method: &str, params: &str) -> std::io::Result<usize> {
        let id = self.id[from as usize];
        self.id[from as usize] += 1;
        self.line(from, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#))?;
        Ok(id)
    }

    fn answer(&mut self, from: Party, id: usize, result: &str) -> std::io::Result<()> {
        self.line(from, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    }

    fn line(&mut self, from: Party, message: &str) -> std::io::Result<()> {
        self.written += 1;
        writeln!(self.to, "{} {message}", if from == Party::Client { '→' } else { '←' })
    }
}
