//! The lines between a program on the SDK and the other side, with the faults between them.

use std::{io, pin::Pin, time::Duration};

use agent_client_protocol::{Error, Lines};
use futures::{
    Sink, SinkExt as _, Stream, StreamExt as _,
    channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded},
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::{
    fault::inject::{Injector, Passed},
    layer::{Chain, Layer, Onward},
    layered::{Faults, Kind},
};

/// Time for sending the last lines to a slow reader.
const DRAIN_LIMIT: Duration = Duration::from_millis(500);

/// The program's side of the relay.
pub(crate) type Transport = Lines<Pin<Box<dyn Sink<String, Error = io::Error> + Send>>, UnboundedReceiver<Incoming>>;

type Incoming = io::Result<String>;

/// Serves a program between two pipes, with these faults, until the program ends.
pub(crate) async fn run<S>(
    faults: &Faults,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    program: impl FnOnce(Transport) -> S,
) -> Result<(), Error>
where
    S: Future<Output = Result<(), Error>>,
{
    let (to_program, incoming) = unbounded();
    let (outgoing, from_program) = unbounded();
    let (to_other, lines) = unbounded();
    let relay = tokio::spawn(Relay::new(faults, to_program, to_other).run(input, from_program));
    let writer = tokio::spawn(write(output, lines));
    let outgoing = outgoing.sink_map_err(|_| io::ErrorKind::BrokenPipe.into());
    let served = program(Lines::new(Box::pin(outgoing), incoming)).await;
    // The relay ends with the program, and the writer with the relay.
    let _ = tokio::time::timeout(DRAIN_LIMIT, async { tokio::join!(relay, writer) }).await;
    served
}

/// Writes lines until no more can come, or the other side stops reading.
pub(crate) async fn write(mut output: impl AsyncWrite + Unpin, mut lines: impl Stream<Item: AsRef<[u8]>> + Unpin) {
    while let Some(line) = lines.next().await {
        let written = async {
            output.write_all(line.as_ref()).await?;
            output.flush().await
        };
        if written.await.is_err() {
            return;
        }
    }
}

/// The faults between a program and the other side.
pub(crate) struct Relay {
    bytes: Vec<fn(Vec<u8>) -> Vec<u8>>,
    ends_at_bad_input: bool,
    chain: Chain,
    /// The edits between the layers and the other side.
    injector: Option<Injector>,
    /// The channels in both directions; `None` once the program has to end.
    to_program: Option<UnboundedSender<Incoming>>,
    to_other: Option<UnboundedSender<Vec<u8>>>,
    /// The incomplete line at the end.
    partial: Vec<u8>,
}

impl Relay {
    pub(crate) fn new(
        faults: &Faults,
        to_program: UnboundedSender<Incoming>,
        to_other: UnboundedSender<Vec<u8>>,
    ) -> Self {
        let mut relay = Self {
            bytes: Vec::new(),
            ends_at_bad_input: false,
            chain: Chain::default(),
            injector: faults.injector(),
            to_program: Some(to_program),
            to_other: Some(to_other),
            partial: Vec::new(),
        };
        for layer in &faults.layers {
            match layer.kind {
                Kind::Start(act) => act(),
                Kind::Bytes(read) => relay.bytes.push(read),
                Kind::EndAtBadInput => relay.ends_at_bad_input = true,
                Kind::Messages(layer) => relay.chain.add(layer()),
                Kind::Launch(_) | Kind::Listen(_) | Kind::Dial(_) => {}
            }
        }
        relay
    }

    /// Adds a layer next to the program.
    pub(crate) fn add(&mut self, layer: Box<dyn Layer>) {
        self.chain.add(layer);
    }

    /// Forwards messages until the program ends.
    pub(crate) async fn run(mut self, mut input: impl AsyncRead + Unpin, mut from_program: UnboundedReceiver<String>) {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            tokio::select! {
                read = input.read(&mut buffer), if self.to_program.is_some() => match read {
                    Ok(0) | Err(_) => self.close(),
                    Ok(length) => self.read(&buffer[..length]),
                },
                line = from_program.next() => match line {
                    Some(line) => self.leave(line),
                    None => return self.finish(),
                },
            }
        }
    }

    /// Handles the bytes of one `read()`.
    fn read(&mut self, bytes: &[u8]) {
        let bytes = self.bytes.iter().fold(bytes.to_vec(), |bytes, read| read(bytes));
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(part);
            if self.partial.pop_if(|byte| *byte == b'\n').is_some() {
                let line = std::mem::take(&mut self.partial);
                self.enter(line);
            }
        }
    }

    /// Handles the end of the input; a last line may lack its line feed.
    fn close(&mut self) {
        let rest = std::mem::take(&mut self.partial);
        if !rest.is_empty() {
            self.enter(rest);
        }
        self.to_program = None;
    }

    /// Sends what the edits hold back until the end.
    fn finish(&mut self) {
        let held = self.injector.as_mut().map_or_else(Vec::new, Injector::finish);
        held.into_iter().for_each(|line| self.put(line));
    }

    fn enter(&mut self, line: Vec<u8>) {
        match &mut self.injector {
            Some(injector) => {
                let passed = injector.inward(line);
                self.pass(passed);
            }
            None => self.take(line),
        }
    }

    /// Forwards the lines of the injector.
    fn pass(&mut self, passed: Passed) {
        // One write, so that no answer to the first line comes before the second one.
        if !passed.to_other.is_empty() {
            self.put(passed.to_other.join(&b'\n'));
        }
        passed.to_program.into_iter().for_each(|line| self.take(line));
        if passed.ends {
            self.end();
        }
    }

    /// Handles a line next to the layers.
    fn take(&mut self, line: Vec<u8>) {
        match serde_json::from_slice(&line) {
            Ok(message @ Value::Object(_)) => {
                let onward = self.chain.inward(message);
                self.send(onward);
            }
            _ if self.ends_at_bad_input => self.end(),
            _ => self.give(String::from_utf8(line).map_err(io::Error::other)),
        }
    }

    fn leave(&mut self, line: String) {
        match serde_json::from_str(&line) {
            Ok(message) => {
                let onward = self.chain.outward(message);
                self.send(onward);
            }
            Err(_) => self.write(line),
        }
    }

    fn send(&mut self, onward: Onward) {
        let (inward, outward) = onward.into_parts();
        outward.iter().for_each(|message| self.write(message.to_string()));
        inward.iter().for_each(|message| self.give(Ok(message.to_string())));
    }

    fn end(&mut self) {
        self.to_program = None;
        self.to_other = None;
    }

    fn give(&self, line: Incoming) {
        if let Some(program) = &self.to_program {
            // This fails only if the program has ended.
            let _ = program.unbounded_send(line);
        }
    }

    fn write(&mut self, line: String) {
        match &mut self.injector {
            Some(injector) => {
                let passed = injector.outward(line.into());
                self.pass(passed);
            }
            None => self.put(line.into()),
        }
    }

    fn put(&self, mut line: Vec<u8>) {
        if let Some(other) = &self.to_other {
            line.push(b'\n');
            // This fails only if the other side no longer reads.
            let _ = other.unbounded_send(line);
        }
    }
}
