//! Writes the trace of a session while it runs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};

use super::follow::Written;
use super::tap::{Seen, Sight, Tap};
use crate::requirement::Party;
use crate::trace::{Event, Header, HttpEvent, ProcessEvent, TraceWriter, What};
use crate::transport::between::Start;
use crate::wire::{Frame, Framer};

/// Turns the observations into events.
pub(super) struct Scribe<'s> {
    writer: TraceWriter<BufWriter<&'s File>>,
    /// By connection and party.
    framers: BTreeMap<(usize, Party), Framer>,
    n: usize,
}

impl<'s> Scribe<'s> {
    /// Begins the trace.
    pub(super) fn new(file: &'s File, header: &Header) -> io::Result<Self> {
        let writer = TraceWriter::new(BufWriter::new(file), header)?;
        Ok(Self { writer, framers: BTreeMap::new(), n: 0 })
    }

    /// Writes the start of the agent, unless it runs already, and the observations from the tap to its end.
    pub(super) fn write(mut self, start: Option<(u32, Start)>, tap: &Tap, progress: &Written) -> io::Result<()> {
        if let Some((pid, start)) = start {
            let spawned = match start.failure() {
                None => ProcessEvent::Spawned { pid },
                Some(why) => ProcessEvent::NotSpawned(why),
            };
            self.event(0, 0, What::Process(spawned))?;
        }
        loop {
            self.writer.flush()?;
            progress.reach(self.writer.written);
            let sights = tap.take();
            if sights.is_empty() {
                return Ok(());
            }
            for seen in sights {
                self.sight(seen)?;
            }
        }
    }

    fn sight(&mut self, Seen { us, connection, sight }: Seen) -> io::Result<()> {
        match sight {
            Sight::Bytes(from, bytes) => {
                let mut frames = Vec::new();
                self.framer(connection, from).feed(&bytes, |frame| frames.push(frame));
                frames.into_iter().try_for_each(|frame| self.line(us, connection, from, frame))
            }
            Sight::Message(from, exchange, bytes) => {
                self.event(us, connection, What::Http(HttpEvent::Carries { exchange }))?;
                self.sight(Seen { us, connection, sight: Sight::Bytes(from, bytes) })
            }
            Sight::Http(event) => self.event(us, connection, What::Http(event)),
            Sight::Process(process) => self.event(us, connection, What::Process(process)),
            Sight::Ended(party) => {
                if let Some(rest) = self.framer(connection, party).finish() {
                    self.line(us, connection, party, rest)?;
                }
                let ended = match party {
                    Party::Agent => ProcessEvent::StdoutEnded,
                    Party::Client => ProcessEvent::StdinClosed,
                };
                self.event(us, connection, What::Process(ended))
            }
            Sight::AgentDeaf => self.event(us, connection, What::Process(ProcessEvent::StdinBroken)),
        }
    }

    fn line(&mut self, us: u64, connection: usize, from: Party, frame: Frame) -> io::Result<()> {
        self.event(us, connection, What::Line { from, bytes: frame.bytes, end: frame.end, deliberate: false })
    }

    fn event(&mut self, us: u64, connection: usize, what: What) -> io::Result<()> {
        let n = self.n;
        self.n += 1;
        self.writer.event(&Event { n, us, connection, what })
    }

    fn framer(&mut self, connection: usize, party: Party) -> &mut Framer {
        self.framers.entry((connection, party)).or_default()
    }
}
