//! Traces in a form for writing by hand, for tests and examples.
//!
//! A text has lines about the trace (`subject: client` if the client is tested, `in a case` if the trace is complete
//! from its start, `edition: NAME` if another than version 1 decides, where the name of an edition counts as chosen
//! exactly, `over: http` or `over: ws` if these are not standard streams), then a line `---`, then the conversation,
//! one letter and message per line: `A` the agent's, `C` the client's, `!` the tester's, deliberately wrong, `E` the
//! subject's standard error, `P` a process event, `M` one of an MCP server, `F` the mark of a fence that follows, `V` a
//! visit to the HTTP endpoint, `H` an event of HTTP or a WebSocket that carries the messages, `W` a request to the
//! scripted model and `S` a step event, all as JSON, `B` a line of the subject and `D` its standard error in base64,
//! `L` the last line of the subject, without a line feed, also in base64, `N` the number of the connection for the
//! following lines, and `T` the milliseconds that pass before the next line. A line `base NAME` stands for the lines of
//! that name in `bases.txt`.

use std::error::Error;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::edition::{Editions, V1};
use crate::requirement::{Party, Transport};
use crate::trace::{Event, Header, Trace, What};
use crate::wire::LineEnd;

/// The line for a tested client.
pub const CLIENT: &str = "subject: client";
/// The line for a trace that is complete from its start.
pub const CASE: &str = "in a case";
/// The beginning of the line with the edition that decides, where version 1 usually does.
pub const EDITION: &str = "edition: ";

/// The beginning of the line with the transport, where it is another than standard streams.
pub const OVER: &str = "over: ";

/// The beginnings of many conversations.
const BASES: &str = include_str!("bases.txt");

/// Reads a conversation line by line.
pub struct Reader {
    /// The trace so far.
    pub trace: Trace,
    subject: Party,
    /// Microseconds that passed in addition to those of the lines.
    passed: u64,
    connection: usize,
}

impl Reader {
    /// Starts with the lines above the conversation.
    pub fn new(above: &str) -> Self {
        let subject = if above.lines().any(|line| line == CLIENT) { Party::Client } else { Party::Agent };
        let case = above.lines().find(|line| *line == CASE).map(str::to_owned);
        let edition = above.lines().find_map(|line| line.strip_prefix(EDITION));
        // A version stands for its newest edition.
        let edition = edition.map_or(Ok(&V1), |name| Editions::built_in().named(name));
        let edition = edition.map_or_else(|unknown| unknown.name, |bundle| bundle.name().to_owned());
        let exact_edition = above.lines().any(|line| line == format!("{EDITION}{edition}"));
        let transport = above.lines().find_map(|line| Transport::named(line.strip_prefix(OVER)?)).unwrap_or_default();
        let recording = Header::of_recording(&edition, Vec::new());
        let header = Header { subject: Some(subject), case, exact_edition, transport, ..recording };
        Self { trace: Trace { header, events: Vec::new() }, subject, passed: 0, connection: 0 }
    }

    /// Reads the next line; blank ones and those that begin with `#` are ignored.
    ///
    /// # Errors
    ///
    /// The line has another form.
    pub fn line(&mut self, line: &str) -> Result<(), Box<dyn Error>> {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let bytes = || rest.as_bytes().to_vec();
        let said = |from, bytes, end, deliberate| What::Line { from, bytes, end, deliberate };
        let subject = self.subject;
        let what = match kind {
            "A" => said(Party::Agent, bytes(), LineEnd::Lf, false),
            "C" => said(Party::Client, bytes(), LineEnd::Lf, false),
            "!" => said(subject.other(), bytes(), LineEnd::Lf, true),
            "B" => said(subject, STANDARD.decode(rest)?, LineEnd::Lf, false),
            "L" => said(subject, STANDARD.decode(rest)?, LineEnd::Eof, false),
            "D" => What::Stderr(STANDARD.decode(rest)?),
            "E" => What::Stderr(bytes()),
            "P" => What::Process(serde_json::from_str(rest)?),
            "M" => What::Mcp(serde_json::from_str(rest)?),
            "F" => What::Fence(rest.to_owned()),
            "V" => What::Visit(serde_json::from_str(rest)?),
            "H" => What::Http(serde_json::from_str(rest)?),
            "W" => What::Model(serde_json::from_str(rest)?),
            "S" => What::Step(serde_json::from_str(rest)?),
            "N" => {
                self.connection = rest.parse()?;
                return Ok(());
            }
            "base" => {
                let lines = BASES.lines().skip_while(|line| *line != format!("[{rest}]")).skip(1);
                let mut lines = lines.take_while(|line| !line.starts_with('[')).peekable();
                lines.peek().ok_or_else(|| format!("bases.txt has no `{rest}`"))?;
                return lines.try_for_each(|line| self.line(line));
            }
            "T" => {
                self.passed = self.passed.saturating_add(1000 * u64::from(rest.parse::<u32>()?));
                return Ok(());
            }
            "" => return Ok(()),
            other if other.starts_with('#') => return Ok(()),
            other => return Err(format!("`{other}` begins no line of a conversation").into()),
        };
        let n = self.trace.events.len();
        let us = self.passed.saturating_add(1000 * n as u64);
        self.trace.events.push(Event { n, us, connection: self.connection, what });
        Ok(())
    }
}
