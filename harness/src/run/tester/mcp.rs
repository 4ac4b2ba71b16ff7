//! The tester's MCP servers for an agent: on standard streams by relays, over HTTP by the endpoint of the case.
//!
//! Every message to and from such a server is recorded. Requests are answered at once; [`protocol`] has the answers.

mod protocol;

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::task::Poll;

use serde_json::Value;

pub(in crate::run) use self::protocol::tool_name;
use crate::case::Bindings;
use crate::requirement::Party;
use crate::run::recorder::Recorder;
use crate::trace::{Aside, McpEvent, McpTransport, McpWhat, What};
use crate::transport::event::LinkEvent;
use crate::transport::link::Link;
use crate::transport::relay::{Caller, Relays};
use crate::transport::web::{WebReply, WebRequest, WebStream};
use crate::wire::{Content, Framer, read_line, write_json};

/// The headers of an answer in JSON.
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// The most bytes of answers that may wait for the reader of a server's standard output. Beyond that, the server sends
/// nothing.
const MOST_UNREAD: usize = 16 << 20;

/// A message to a server.
pub struct McpMessage {
    /// The position of its event in the trace.
    pub n: usize,
    /// The server.
    pub server: String,
    /// The message.
    pub value: Value,
}

/// The MCP servers of a case.
#[derive(Default)]
pub struct McpServers {
    servers: Vec<Server>,
    /// The open streams of events, with the index of the server of each.
    streams: Vec<(usize, WebStream)>,
    /// The messages to the servers.
    pub messages: Vec<McpMessage>,
    /// Whether the servers got more messages than fit into the trace; the others are not in `messages`.
    pub lost: bool,
}

struct Server {
    name: String,
    /// The path by which its process is started.
    program: String,
    /// The link to its processes, each of which is a connection.
    link: Link,
    inputs: Vec<Input>,
}

/// An event of one process of a server.
#[derive(Default)]
struct Input {
    framer: Framer,
    ended: bool,
}

/// One transport to a server, as the trace records it.
#[derive(Clone, Copy)]
struct Way {
    server: usize,
    over: McpTransport,
    instance: usize,
}

impl McpServers {
    /// Makes the servers with these names below a folder; needs a Tokio runtime.
    pub fn open(names: &[String], folder: &Path) -> io::Result<Self> {
        let server = |name: &String| {
            let folder = folder.join(name);
            let program = folder.join("server");
            let link = Link::to_relays(Relays::open(&folder, &program)?);
            Ok(Server { name: name.clone(), program: program.display().to_string(), link, inputs: Vec::new() })
        };
        let servers = names.iter().map(server).collect::<io::Result<_>>()?;
        Ok(Self { servers, ..Self::default() })
    }

    /// Binds the names of a case: the path of each server, and its URLs below `origin`.
    pub fn bind(&self, origin: &str, bindings: &mut Bindings) {
        for Server { name, program, .. } in &self.servers {
            bindings.set(format!("mcp-{name}"), Value::from(program.as_str()));
            bindings.set(format!("mcp-{name}-url"), Value::from(format!("{origin}/{name}")));
            bindings.set(format!("mcp-{name}-sse"), Value::from(format!("{origin}/{name}/sse")));
        }
    }

    /// Waits for the next event of a server's process, and returns it with the index of the server. Cancelling the wait
    /// loses nothing.
    pub async fn next(&mut self) -> (usize, LinkEvent) {
        poll_fn(|context| {
            for (index, server) in self.servers.iter_mut().enumerate() {
                if let Poll::Ready(Some(event)) = server.link.poll_next(context) {
                    return Poll::Ready((index, event));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Processes an event of a server's process.
    pub fn take_in(&mut self, server: usize, event: LinkEvent, recorder: &mut Recorder) {
        match event {
            LinkEvent::Connected { connection, caller, input } => {
                self.servers[server].link.accept(input);
                self.servers[server].inputs.push(Input::default());
                let started = started(&self.servers[server].program, *caller.unwrap_or_default(), recorder);
                self.record(Way { server, over: McpTransport::Stdio, instance: connection }, started, recorder);
            }
            LinkEvent::Output { connection, bytes } => {
                let mut frames = Vec::new();
                self.servers[server].inputs[connection].framer.feed(&bytes, |frame| frames.push(frame));
                frames.into_iter().for_each(|frame| self.line(server, connection, &frame.bytes, recorder));
            }
            LinkEvent::OutputEnded { connection } => {
                if let Some(frame) = self.servers[server].inputs[connection].framer.finish() {
                    self.line(server, connection, &frame.bytes, recorder);
                }
                self.ended(server, connection, recorder);
            }
            LinkEvent::AgentSignalled { connection, .. } => self.ended(server, connection, recorder),
            LinkEvent::Http { .. }
            | LinkEvent::InputBroken { .. }
            | LinkEvent::AgentEnded { .. }
            | LinkEvent::Stdout(_)
            | LinkEvent::Stderr(_)
            | LinkEvent::Exited(_) => {}
        }
    }

    /// Makes a server exit when its input ends or a signal asks it to stop.
    fn ended(&mut self, server: usize, connection: usize, recorder: &mut Recorder) {
        if std::mem::replace(&mut self.servers[server].inputs[connection].ended, true) {
            return;
        }
        self.record(Way { server, over: McpTransport::Stdio, instance: connection }, McpWhat::Ended, recorder);
        self.servers[server].link.exit_agent(connection, 0);
    }

    fn line(&mut self, server: usize, connection: usize, bytes: &[u8], recorder: &mut Recorder) {
        let way = Way { server, over: McpTransport::Stdio, instance: connection };
        let answers = self.answer_message(way, bytes, recorder).unwrap_or_default();
        // A flood of requests whose answers are not read would fill the memory.
        if self.servers[server].link.unread(connection) > MOST_UNREAD {
            return;
        }
        for answer in answers {
            self.servers[server].link.write(connection, vec![(write_json(&answer) + "\n").into_bytes()]);
        }
    }

    /// Answers a request to the endpoint of the case.
    pub fn visited(&mut self, request: WebRequest, recorder: &mut Recorder) {
        let WebRequest { method, path, body, reply, .. } = request;
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        // Only the target of a CONNECT does not begin with a slash.
        let path = path.strip_prefix('/').unwrap_or_default();
        let (name, place) = path.split_once('/').unwrap_or((path, ""));
        let Some(server) = self.servers.iter().position(|server| server.name == name) else {
            return reply.send(404, &[], "");
        };
        match (method.as_str(), place) {
            ("POST", "") => self.posted(server, &body, reply, recorder),
            ("DELETE", "") => reply.send(200, &[], ""),
            ("GET", "sse") => self.stream(server, reply),
            ("POST", "messages") => {
                let stream = query.strip_prefix("stream=").and_then(|number| number.parse().ok());
                self.posted_to_stream(server, stream, &body, reply, recorder);
            }
            (_, "") => reply.send(405, &[("allow", "POST, DELETE")], ""),
            (_, "sse") => reply.send(405, &[("allow", "GET")], ""),
            _ => reply.send(404, &[], ""),
        }
    }

    fn posted(&mut self, server: usize, body: &[u8], reply: WebReply, recorder: &mut Recorder) {
        let way = Way { server, over: McpTransport::Http, instance: 0 };
        match self.answer_message(way, body, recorder).as_deref() {
            None => reply.send(400, &JSON, protocol::UNREADABLE),
            Some([]) => reply.send(202, &[], ""),
            Some([one]) => reply.send(200, &JSON, write_json(one)),
            Some(several) => reply.send(200, &JSON, write_json(&Value::from(several))),
        }
    }

    fn stream(&mut self, server: usize, reply: WebReply) {
        let mut stream = reply.stream();
        let number = self.streams.len();
        stream.send("endpoint", &format!("/{}/messages?stream={number}", self.servers[server].name));
        self.streams.push((server, stream));
    }

    fn posted_to_stream(
        &mut self,
        server: usize,
        stream: Option<usize>,
        body: &[u8],
        reply: WebReply,
        recorder: &mut Recorder,
    ) {
        let Some(instance) = stream.filter(|n| self.streams.get(*n).is_some_and(|(of, _)| *of == server)) else {
            return reply.send(404, &[], "");
        };
        let way = Way { server, over: McpTransport::Sse, instance };
        let Some(answers) = self.answer_message(way, body, recorder) else {
            return reply.send(400, &JSON, protocol::UNREADABLE);
        };
        reply.send(202, &[], "");
        for answer in answers {
            self.streams[instance].1.send("message", &write_json(&answer));
        }
    }

    /// Processes a message to a server and returns the answers; `None` if the message cannot be parsed. A server also
    /// answers messages that do not fit into the trace.
    fn answer_message(&mut self, way: Way, bytes: &[u8], recorder: &mut Recorder) -> Option<Vec<Value>> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let n = self.record(way, McpWhat::FromAgent(text), recorder);
        let messages = match read_line(bytes) {
            Content::One { value, .. } => vec![value],
            Content::Several { values, .. } => values,
            Content::Blank => return Some(Vec::new()),
            Content::NotUtf8(_) | Content::NotJson { .. } => return None,
        };
        let server = &self.servers[way.server].name;
        let answers: Vec<Value> = messages.iter().filter_map(|message| protocol::answer(server, message)).collect();
        match n {
            Some(n) => {
                let message = |value| McpMessage { n, server: server.clone(), value };
                self.messages.extend(messages.into_iter().map(message));
            }
            None => self.lost = true,
        }
        for answer in &answers {
            self.record(way, McpWhat::ToAgent(write_json(answer)), recorder);
        }
        Some(answers)
    }

    fn record(&self, way: Way, what: McpWhat, recorder: &mut Recorder) -> Option<usize> {
        let size = match &what {
            McpWhat::FromAgent(text) | McpWhat::ToAgent(text) => text.len(),
            McpWhat::Started { .. } | McpWhat::Ended => 0,
        };
        let Way { server, over, instance } = way;
        let event = McpEvent { server: self.servers[server].name.clone(), over, instance, what };
        recorder.record_aside(Aside::Mcp, size, What::Mcp(event))
    }
}

/// Records a start of a server, with values only for the variables that the tester asked for.
fn started(program: &str, caller: Caller, recorder: &Recorder) -> McpWhat {
    let asked = variables_asked_for(program, recorder);
    let Caller { pid, args, cwd, environment, .. } = caller;
    let (env, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
        environment.into_iter().partition(|(name, _)| asked.contains(name));
    McpWhat::Started { command: program.to_owned(), pid, args, cwd, env, environment: others.into_keys().collect() }
}

/// Returns the names of all variables that the tester has asked for a server with this path.
fn variables_asked_for(program: &str, recorder: &Recorder) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for message in recorder.messages_of(Party::Client) {
        let entries = message.pointer("/params/mcpServers").and_then(Value::as_array).into_iter().flatten();
        for entry in entries.filter(|entry| entry.get("command").and_then(Value::as_str) == Some(program)) {
            let variables = entry.get("env").and_then(Value::as_array).into_iter().flatten();
            names.extend(variables.filter_map(|variable| Some(variable.get("name")?.as_str()?.to_owned())));
        }
    }
    names
}
