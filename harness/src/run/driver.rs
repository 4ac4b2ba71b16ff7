//! One connection of a case while it lives: sends, receives, records, and answers the subject's requests as a client.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::record::Recorder;
use super::tester::{Answer, Services};
use crate::case::model::{FixedAnswer, PermissionPolicy, TesterSetup};
use crate::fault::Injector;
use crate::peer::link::{Link, LinkEvent};
use crate::peer::process::Exit;
use crate::protocol::{Edition, Kind};
use crate::requirement::Party;
use crate::trace::{ProcessEvent, What};
use crate::wire::{Content, Envelope, Frame, Framer, LineEnd, RpcId, read_line};

/// A message of the subject that was read.
pub struct Seen {
    /// Its event.
    pub n: usize,
    /// The message.
    pub value: Value,
    /// Whether an expectation of the transcript took it.
    pub taken: bool,
}

/// A request of the tester.
pub struct Asked {
    /// Its event.
    pub n: usize,
    /// Its id on the wire.
    pub id: RpcId,
    /// Its method.
    pub method: String,
    /// Its params.
    pub params: Value,
    /// How many messages of the subject had come before it.
    pub from: usize,
    /// When it was sent.
    pub at: Instant,
}

/// The state of the subject's streams and process.
#[derive(Default)]
pub struct Life {
    /// Its output ended, so nothing more will come.
    pub output_ended: bool,
    /// How it ended.
    pub exit: Option<Exit>,
    /// It sent more than is recorded.
    pub flooded: bool,
}

/// A line that is written to the subject.
pub struct Written {
    /// The bytes, without the line feed.
    pub bytes: Vec<u8>,
    /// Whether it breaks the protocol on purpose.
    pub deliberate: bool,
}

/// What a service has to say to a request of the subject: its id, its method, and the answer.
type Answered = (Value, String, Answer);

/// A connection with everything that has happened on it.
pub struct Driver {
    link: Link,
    framer: Framer,
    stderr: Framer,
    /// The trace.
    pub recorder: Recorder,
    /// The messages of the subject.
    pub inbox: Vec<Seen>,
    /// The requests of the tester, by label.
    pub asked: BTreeMap<String, Asked>,
    /// What is known about the subject's streams.
    pub life: Life,
    /// The services of the tester.
    pub services: Services,
    setup: TesterSetup,
    answers: (mpsc::UnboundedSender<Answered>, mpsc::UnboundedReceiver<Answered>),
    next_id: u64,
    /// Something that the tester did wrong by itself.
    pub own_fault: Option<String>,
    /// Until when output is waited for after the subject's end.
    last_output: Option<Instant>,
    /// The fault that the subject was given, which changes what it says.
    pub injector: Option<Injector>,
}

impl Driver {
    /// Takes over a link.
    pub fn new(link: Link, mut recorder: Recorder, services: Services, setup: TesterSetup) -> Self {
        recorder.record(What::Process(ProcessEvent::Spawned { pid: link.pid }));
        Self {
            link,
            framer: Framer::default(),
            stderr: Framer::with_longest(64 << 10),
            recorder,
            inbox: Vec::new(),
            asked: BTreeMap::new(),
            life: Life::default(),
            services,
            setup,
            answers: mpsc::unbounded_channel(),
            next_id: 0,
            own_fault: None,
            last_output: None,
            injector: None,
        }
    }

    /// A fresh request id. Integers from 0 are what every subject copes with.
    pub fn fresh_id(&mut self) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        json!(id)
    }

    /// Writes lines in one go, cut into pieces of `split` bytes if that is asked for, and records them.
    pub fn write(&mut self, lines: Vec<Written>, end: LineEnd, split: Option<usize>) -> Vec<usize> {
        let mut all = Vec::new();
        let mut events = Vec::new();
        for Written { bytes, deliberate } in lines {
            let reaches = self.injector.as_mut().map_or_else(|| Some(bytes.clone()), |injector| injector.sent(&bytes));
            if let Some(bytes) = reaches {
                all.extend_from_slice(&bytes);
                all.extend_from_slice(end.bytes());
            }
            events.push(self.recorder.record(What::Line { from: Party::Client, bytes, end, deliberate }));
        }
        let size = split.unwrap_or(all.len()).max(1);
        self.link.write(all.chunks(size).map(<[u8]>::to_vec).collect());
        events
    }

    /// Waits for the next thing to happen and takes it in; false when the deadline came first or nothing can come.
    pub async fn step(&mut self, deadline: Instant) -> bool {
        // A process that left the subject's group may hold its output open for ever; the subject itself says no more.
        let last = self.last_output.filter(|_| !self.life.output_ended);
        let deadline = last.map_or(deadline, |last| last.min(deadline));
        tokio::select! {
            biased;
            Some((id, method, answer)) = self.answers.1.recv() => { self.answer(&id, &method, answer); true }
            event = self.link.next(deadline) => match event {
                Some(event) => { self.take_in(event); true }
                None if last.is_some_and(|last| Instant::now() >= last) => { self.life.output_ended = true; true }
                None => false,
            }
        }
    }

    fn take_in(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Output(bytes) => {
                let mut frames = Vec::new();
                self.framer.feed(&bytes, |frame| frames.push(frame));
                frames.into_iter().for_each(|frame| self.arrived(frame));
                if self.recorder.is_full() && !self.life.flooded {
                    self.life.flooded = true;
                    self.recorder.record(What::Process(ProcessEvent::Flooded));
                    self.link.kill();
                }
            }
            LinkEvent::OutputEnded => {
                if let Some(frame) = self.framer.finish() {
                    self.arrived(frame);
                }
                let held_back = self.injector.as_mut().map_or_else(Vec::new, Injector::finish);
                held_back.into_iter().for_each(|frame| self.line(frame));
                self.life.output_ended = true;
                self.recorder.record(What::Process(ProcessEvent::StdoutEnded));
            }
            LinkEvent::Stderr(bytes) => {
                let mut frames = Vec::new();
                self.stderr.feed(&bytes, |frame| frames.push(frame));
                frames.into_iter().for_each(|frame| self.stderr_line(frame));
            }
            LinkEvent::InputBroken => {
                self.recorder.record(What::Process(ProcessEvent::StdinBroken));
            }
            LinkEvent::Exited(exit) => {
                let (code, signal) = match &exit {
                    Exit::Code(code) => (Some(*code), None),
                    Exit::Signal(name) => (None, Some(name.clone())),
                };
                self.recorder.record(What::Process(ProcessEvent::Exited { code, signal }));
                self.life.exit = Some(exit);
                // What the subject leaves behind would hold its pipes open; nothing of it is part of the conversation.
                self.link.kill();
                self.last_output = Some(Link::last_output_deadline());
            }
        }
    }

    fn stderr_line(&mut self, frame: Frame) {
        if !self.life.flooded {
            self.recorder.record(What::Stderr(frame.bytes));
        }
    }

    /// A line of the process, which is the line of the subject unless that was given a fault.
    fn arrived(&mut self, frame: Frame) {
        match &mut self.injector {
            Some(injector) => injector.received(frame).into_iter().for_each(|frame| self.line(frame)),
            None => self.line(frame),
        }
    }

    fn line(&mut self, frame: Frame) {
        if self.life.flooded {
            return;
        }
        let content = read_line(&frame.bytes);
        let line = What::Line { from: Party::Agent, bytes: frame.bytes, end: frame.end, deliberate: false };
        let n = self.recorder.record(line);
        match content {
            Content::One { value, .. } => self.message(n, value),
            Content::Several(values) => values.into_iter().for_each(|value| self.message(n, value)),
            _ => {}
        }
    }

    fn message(&mut self, n: usize, value: Value) {
        if let Envelope::Call(call) = Envelope::of(&value)
            && let Some(id) = call.id
        {
            self.requested(id, call.method, call.params.unwrap_or(&Value::Null));
        }
        self.learn_session(&value);
        self.inbox.push(Seen { n, value, taken: false });
    }

    /// A request of the subject: the transcript answers it, or a fixed answer of the case, or the tester's services.
    fn requested(&mut self, id: &Value, method: &str, params: &Value) {
        if self.setup.by_hand.contains(method) {
            return;
        }
        match self.setup.answers.get(method) {
            Some(FixedAnswer::Result(result)) => return self.send_result(id, method, result.clone()),
            Some(FixedAnswer::Error(error)) => return self.send_error(id, error.clone()),
            None => {}
        }
        if method == "session/request_permission" && self.setup.permission == PermissionPolicy::Hold {
            if let Some(answer) = self.services.hold(id.clone(), params.clone()) {
                self.answer(id, method, answer);
            }
            return;
        }
        let (services, done) = (self.services.clone(), self.answers.0.clone());
        let (id, method, params) = (id.clone(), method.to_owned(), params.clone());
        tokio::spawn(async move {
            let answer = services.answer(&method, &params).await;
            let _ = done.send((id, method, answer));
        });
    }

    fn answer(&mut self, id: &Value, method: &str, answer: Answer) {
        match answer {
            Answer::Result(result) => self.send_result(id, method, result),
            Answer::Error { code, message, data } => {
                let mut error = json!({ "code": code, "message": message });
                if let Some(data) = data {
                    error["data"] = data;
                }
                self.send_error(id, error);
            }
            Answer::Held => {}
        }
    }

    fn send_result(&mut self, id: &Value, method: &str, result: Value) {
        let edition = Edition::v1();
        let definition = edition.methods.find(Party::Agent, Kind::Request, method).and_then(|m| m.result.as_deref());
        let problems = definition.map_or_else(Vec::new, |definition| edition.stable.problems(definition, &result));
        if let Some(problem) = problems.first() {
            self.own_fault = Some(format!("the tester's answer to {method} breaks the schema: {}", problem.message));
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn send_error(&mut self, id: &Value, error: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    fn send(&mut self, message: &Value) {
        self.write(vec![Written { bytes: message.to_string().into_bytes(), deliberate: false }], LineEnd::Lf, None);
    }

    /// After `session/cancel` was sent: the client owes every open permission request the outcome `cancelled`.
    pub fn cancelled(&mut self, session: &str) {
        for (id, answer) in self.services.cancel_turn(session) {
            self.answer(&id, "session/request_permission", answer);
        }
    }

    /// The services start commands in the working directory of the session that asks.
    fn learn_session(&mut self, value: &Value) {
        let (Some(id), Some(session)) = (value.get("id"), value.pointer("/result/sessionId").and_then(Value::as_str))
        else {
            return;
        };
        let id = RpcId::new(id);
        let asked = self.asked.values().find(|asked| asked.id == id && asked.method == "session/new");
        if let Some(cwd) = asked.and_then(|asked| asked.params.get("cwd")?.as_str()) {
            self.services.set_session_cwd(session, cwd);
        }
    }

    /// Closes the subject's input.
    pub fn close_input(&mut self) {
        self.link.close_input();
        self.recorder.record(What::Process(ProcessEvent::StdinClosed));
    }

    /// Takes in whatever comes until `done` or the deadline; true when it is done.
    pub async fn until(&mut self, deadline: Instant, mut done: impl FnMut(&Self) -> bool) -> bool {
        while !done(self) {
            if !self.step(deadline).await {
                return done(self);
            }
        }
        true
    }

    /// Ends the subject in bounded time: closes its input, then asks it, then kills its group.
    pub async fn shut_down(&mut self, patience: std::time::Duration, already_closed: bool) {
        if !already_closed && !self.life.output_ended {
            self.close_input();
        }
        let over = |driver: &Self| driver.life.exit.is_some() && driver.life.output_ended;
        let gone = |driver: &Self| driver.life.exit.is_some();
        if !self.until(Instant::now() + patience, gone).await {
            self.recorder.record(What::Process(ProcessEvent::Signalled("SIGTERM".to_owned())));
            self.link.terminate();
            if !self.until(Instant::now() + patience, gone).await {
                self.recorder.record(What::Process(ProcessEvent::Signalled("SIGKILL".to_owned())));
            }
        }
        self.link.kill();
        self.until(Link::last_output_deadline(), over).await;
        if let Some(frame) = self.stderr.finish() {
            self.stderr_line(frame);
        }
        self.services.shutdown().await;
    }
}
