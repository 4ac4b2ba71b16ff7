//! The streams on which the messages of a server came. Messages of different streams have no common order.

use std::collections::{BTreeMap, BTreeSet};

use crate::trace::HttpEvent;

/// The most lines of which the stream is remembered, since a recording may be long.
const MOST: usize = 1 << 16;

/// The streams of the lines of a server.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// By the position of a line: its connection and exchange.
    of_line: BTreeMap<usize, (usize, usize)>,
    /// The exchange that carries the next line.
    next: Option<usize>,
    /// By connection and session: the exchange of the last update.
    of_session: BTreeMap<(usize, String), usize>,
    /// The answers that came on another stream than the session that they open.
    apart: BTreeSet<usize>,
}

impl Streams {
    /// Reads an event of the transport.
    pub(crate) fn event(&mut self, event: &HttpEvent) {
        self.next = if let HttpEvent::Carries { exchange } = event { Some(*exchange) } else { None };
    }

    /// Reads the line at this position, which the server sent on this connection.
    pub(crate) fn line(&mut self, n: usize, connection: usize) {
        if let Some(exchange) = self.next.take() {
            self.of_line.insert(n, (connection, exchange));
            if self.of_line.len() > MOST {
                self.of_line.pop_first();
            }
        }
    }

    /// Reads an update of this session, which the line at this position holds.
    pub(crate) fn update(&mut self, n: usize, session: &str) {
        if let Some((connection, exchange)) = self.of_line.get(&n) {
            self.of_session.insert((*connection, session.to_owned()), *exchange);
        }
    }

    /// Reads the answer to a request that opens this session, which the line at this position holds.
    pub(crate) fn opened(&mut self, n: usize, session: &str) {
        let Some((connection, exchange)) = self.of_line.get(&n) else { return };
        if self.of_session.get(&(*connection, session.to_owned())) != Some(exchange) {
            self.apart.insert(n);
        }
    }

    /// Whether some of these events are lines of different streams.
    pub(crate) fn differ(&self, events: impl Iterator<Item = usize>) -> bool {
        let events: Vec<usize> = if self.of_line.is_empty() { Vec::new() } else { events.collect() };
        let mut streams = events.iter().filter_map(|n| self.of_line.get(n));
        let first = streams.next();
        first.is_some_and(|first| streams.any(|other| other != first)) || events.iter().any(|n| self.apart.contains(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_two_streams_differ() {
        let mut streams = Streams::default();
        for (n, exchange) in [(3, Some(1)), (5, Some(2)), (7, Some(1)), (8, None)] {
            if let Some(exchange) = exchange {
                streams.event(&HttpEvent::Carries { exchange });
            }
            streams.line(n, 0);
        }
        assert!(streams.differ([7, 5].into_iter()));
        assert!(!streams.differ([7, 4, 3, 8].into_iter()));
        streams.update(5, "s");
        streams.opened(7, "s");
        assert!(streams.differ([7].into_iter()), "the replay came on another stream");
    }
}
