//! The subjects: a correct agent and a correct client, each of which misbehaves at its stage.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};

use acp_conformance::requirement::Party;
use serde_json::{Value, json};

use super::table::{self, Row, Stage};
use super::{actions, this_program};

/// The first argument of this program if it is a subject.
pub const WORD: &str = "--subject";

/// Returns the command line of a subject.
pub fn command(row: &Row) -> Vec<String> {
    let places: &[&str] = if row.party() == Party::Client { &["{agent}", "{cwd}", "{prompt}"] } else { &[] };
    let words = [WORD, &row.party().to_string(), &row.that];
    let words = words.iter().chain(places).map(|word| (*word).to_owned());
    std::iter::once(this_program().display().to_string()).chain(words).collect()
}

/// Runs a subject, or a child of one.
pub fn play(args: &[&str]) -> ExitCode {
    match args {
        [actions::CHILD, rest @ ..] => actions::play_child(rest),
        [party, that, rest @ ..] => {
            let mut conversation = Conversation::new(table::find(party, that));
            conversation.play(rest);
            ExitCode::SUCCESS
        }
        _ => ExitCode::FAILURE,
    }
}

/// A conversation from the side of the subject.
pub struct Conversation {
    pub row: Row,
    output: Box<dyn Write + Send>,
    input: Box<dyn BufRead>,
    /// The session that a client has opened.
    pub session: String,
    /// The next id of a request.
    next: u64,
    /// The working directory of the session.
    pub cwd: String,
    /// The program of the MCP server of the session.
    pub server: String,
    /// The process that it starts as its agent, if it is a client.
    pub agent: Option<Child>,
    /// The way in which a client starts its agent, if not the usual one.
    pub starter: Option<Command>,
    /// Whether everything is written one byte at a time.
    pub in_bytes: bool,
    /// Whether every answer is sent twice.
    pub twice: bool,
}

impl Conversation {
    fn new(row: Row) -> Self {
        Self {
            row,
            output: Box::new(io::stdout()),
            input: Box::new(io::stdin().lock()),
            session: String::new(),
            next: 0,
            cwd: String::new(),
            server: String::new(),
            agent: None,
            starter: None,
            in_bytes: false,
            twice: false,
        }
    }

    fn play(&mut self, args: &[&str]) {
        match args {
            [agent, cwd, ..] => self.play_client(agent, cwd),
            _ => self.play_agent(),
        }
    }

    fn play_agent(&mut self) {
        self.comes_to(Stage::Start);
        let mut turn = None;
        while let Some(message) = self.hear() {
            let (method, id) = (message["method"].as_str(), message.get("id"));
            match (method, id) {
                (Some("initialize"), Some(id)) => {
                    let info = json!({ "name": "hostile", "version": "1" });
                    self.answer(id, json!({ "protocolVersion": 1, "agentInfo": info }));
                    self.comes_to(Stage::Initialized);
                }
                (Some("session/new"), Some(id)) => {
                    let text = |at: &str| message.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
                    (self.cwd, self.server) = (text("/params/cwd"), text("/params/mcpServers/0/command"));
                    self.answer(id, json!({ "sessionId": "s" }));
                    self.comes_to(Stage::Session);
                }
                (Some("session/prompt"), Some(id)) => {
                    turn = Some(id.clone());
                    self.say(&update("Let me see."));
                    self.comes_to(Stage::Turn);
                    // The case for servers has no cancel.
                    if !self.server.is_empty() {
                        self.answer(id, json!({ "stopReason": "end_turn" }));
                    }
                }
                (Some("session/cancel"), None) => {
                    self.comes_to(Stage::Cancel);
                    turn.take().into_iter().for_each(|id| self.answer(&id, json!({ "stopReason": "cancelled" })));
                }
                (Some(_), Some(id)) => self.refuse(id),
                _ => {}
            }
        }
        self.comes_to(Stage::End);
    }

    fn play_client(&mut self, agent: &str, cwd: &str) {
        cwd.clone_into(&mut self.cwd);
        agent.clone_into(&mut self.server);
        self.comes_to(Stage::Start);
        let mut command = self.starter.take().unwrap_or_else(|| Command::new(agent));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the agent starts");
        self.output = Box::new(child.stdin.take().expect("a pipe"));
        self.input = Box::new(BufReader::new(child.stdout.take().expect("a pipe")));
        self.agent = Some(child);
        self.comes_to(Stage::Started);
        let name = json!({ "name": "hostile", "version": "1" });
        self.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {}, "clientInfo": name }));
        self.comes_to(Stage::Initialized);
        let session = self.ask("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
        session["sessionId"].as_str().unwrap_or_default().clone_into(&mut self.session);
        self.comes_to(Stage::Session);
        let words = json!([{ "type": "text", "text": "Hello." }]);
        self.ask("session/prompt", json!({ "sessionId": self.session, "prompt": words }));
        self.comes_to(Stage::End);
        self.close();
        self.agent.take().map(|mut agent| agent.wait());
    }

    fn comes_to(&mut self, stage: Stage) {
        if self.row.at == stage {
            actions::act(self);
        }
    }

    /// Sends a request and serves the agent until the answer comes; a client without an agent exits.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        loop {
            let Some(message) = self.hear() else { std::process::exit(0) };
            match message.get("id") {
                Some(found) if message.get("method").is_none() && *found == json!(id) => {
                    return message["result"].clone();
                }
                Some(asked) if message["method"] == "session/request_permission" => {
                    self.comes_to(Stage::Turn);
                    self.answer(asked, allowed(&message));
                }
                Some(asked) if message.get("method").is_some() => self.refuse(asked),
                _ => {}
            }
        }
    }

    /// Sends a request, and returns its id.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Answers the first request, and at the same time the next one, which has not come yet.
    pub fn run_ahead(&mut self) {
        let Some(first) = self.hear() else { return };
        let info = json!({ "name": "hostile", "version": "1" });
        let greeting = json!({ "protocolVersion": 1, "agentInfo": info });
        let answers = [(&first["id"], greeting), (&json!(1), json!({ "sessionId": "s" }))];
        let lines =
            answers.map(|(id, result)| format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "result": result })));
        self.write(lines.concat().as_bytes());
    }

    pub fn refuse(&mut self, id: &Value) {
        let error = json!({ "code": -32601, "message": "unknown" });
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    pub fn answer(&mut self, id: &Value, result: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        (0..=usize::from(self.twice)).for_each(|_| self.say(&message));
    }

    /// Reads the next message; `None` at the end.
    pub fn hear(&mut self) -> Option<Value> {
        Some(serde_json::from_str(&self.hear_line()?).unwrap_or_default())
    }

    /// Reads the next line; `None` at the end.
    pub fn hear_line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.input.read_line(&mut line).ok().filter(|n| *n > 0)?;
        Some(line)
    }

    pub fn say(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Writes bytes; false if the reader has gone.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        let size = if self.in_bytes { 1 } else { bytes.len() };
        bytes.chunks(size.max(1)).all(|piece| self.output.write_all(piece).and_then(|()| self.output.flush()).is_ok())
    }

    /// Ends the stream to the other party.
    pub fn close(&mut self) {
        self.output = Box::new(io::sink());
        if self.row.party() == Party::Agent {
            let nowhere = std::fs::OpenOptions::new().write(true).open("/dev/null").expect("it is there");
            rustix::stdio::dup2_stdout(&nowhere).expect("a file in the place of another");
        }
    }
}

/// Builds a piece of an answer.
pub fn update(text: &str) -> Value {
    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } })
}

fn allowed(request: &Value) -> Value {
    let options = request.pointer("/params/options").and_then(Value::as_array);
    let allow = options.into_iter().flatten().find(|option| option["kind"] == "allow_once").expect("it is offered");
    json!({ "outcome": { "outcome": "selected", "optionId": allow["optionId"] } })
}
