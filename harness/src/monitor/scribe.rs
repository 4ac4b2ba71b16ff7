//! Writes the trace of a session while it runs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};

use super::follow::Written;
use super::tap::{Sight, Tap};
use crate::requirement::Party;
use crate::trace::{Event, Header, ProcessEvent, TraceWriter, What};
use crate::transport::between::Start;
use crate::wire::Framer;

/// Turns the observations into events.
pub(super) struct Scribe<'s> {
    writer: TraceWriter<BufWriter<&'s File>>,
    framers: BTreeMap<Party, Framer>,
    n: usize,
}

impl<'s> Scribe<'s> {
    /// Begins the trace.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn new(file: &'s File, header: &Header) -> io::Result<Self> {
        let writer = TraceWriter::new(BufWriter::new(file), header)?;
        Ok(Self { writer, framers: Party::ALL.into_iter().map(|party| (party, Framer::default())).collect(), n: 0 })
    }

    /// Writes the observations from the tap to its end.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn write(mut self, pid: u32, start: Start, tap: &Tap, progress: &Written) -> io::Result<()> {
        let spawned = match start.failure() {
            None => ProcessEvent::Spawned { pid },
            Some(why) => ProcessEvent::NotSpawned(why),
        };
        self.event(0, What::Process(spawned))?;
        loop {
            self.writer.flush()?;
            progress.reach(self.writer.written);
            let sights = tap.take();
            if sights.is_empty() {
                return Ok(());
            }
            for (us, sight) in sights {
                self.sight(us, sight)?;
            }
        }
    }

    fn sight(&mut self, us: u64, sight: Sight) -> io::Result<()> {
        match sight {
            Sight::Bytes(from, bytes) => {
                let mut frames = Vec::new();
                self.framer(from).feed(&bytes, |frame| frames.push(frame));
                frames.into_iter().try_for_each(|frame| {
                    self.event(us, What::Line { from, bytes: frame.bytes, end: frame.end, deliberate: false })
                })
            }
            Sight::Ended(party) => {
                if let Some(rest) = self.framer(party).finish() {
                    self.event(us, What::Line { from: party, bytes: rest.bytes, end: rest.end, deliberate: false })?;
                }
                let ended = match party {
                    Party::Agent => ProcessEvent::StdoutEnded,
                    Party::Client => ProcessEvent::StdinClosed,
                };
                self.event(us, What::Process(ended))
            }
            Sight::AgentDeaf => self.event(us, What::Process(ProcessEvent::StdinBroken)),
        }
    }

    fn event(&mut self, us: u64, what: What) -> io::Result<()> {
        let n = self.n;
        self.n += 1;
        self.writer.event(&Event { n, us, connection: 0, what })
    }

    fn framer(&mut self, party: Party) -> &mut Framer {
        self.framers.entry(party).or_default()
    }
}
