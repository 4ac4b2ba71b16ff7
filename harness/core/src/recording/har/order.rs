//! The order of the exchanges and their messages, as far as a HAR shows it.
//!
//! The times of requests and responses are known. An event of a stream came at some time while the stream was open. It
//! gets the latest place: before the first request that depends on it, or at the end of the stream.

use std::collections::{BTreeMap, BTreeSet};

use super::exchange::{Exchange, Message, Response};
use crate::recording::item::Item;
use crate::requirement::Party;
use crate::trace::{HttpEvent, What};
use crate::wire::{LineEnd, RpcId};

/// A request, response or end, in the order in which those of one exchange come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Request,
    Response,
    End,
}

/// An exchange with its place.
struct Placed {
    exchange: Exchange,
    connection: usize,
    /// Its number in the connection.
    number: usize,
    is_sent: bool,
    is_answered: bool,
}

/// The events so far.
struct Timeline {
    exchanges: Vec<Placed>,
    /// The sessions whose opening is among the events.
    opened: BTreeSet<(usize, String)>,
    items: Vec<Item>,
}

/// Returns the events of exchanges, which are sorted by the time of their requests.
pub(super) fn items(exchanges: Vec<Exchange>) -> Vec<Item> {
    let exchanges = placed(exchanges);
    let mut asked: BTreeMap<(usize, RpcId), i64> = BTreeMap::new();
    for Placed { exchange, connection, .. } in &exchanges {
        let asks = exchange.posted.as_ref().filter(|posted| posted.method.is_some());
        asked.extend(asks.and_then(|posted| Some(((*connection, RpcId::new(posted.id.as_ref()?)), exchange.started))));
    }
    let mut steps: Vec<(i64, Step, usize)> = Vec::new();
    for (at, Placed { exchange, connection, .. }) in exchanges.iter().enumerate() {
        let answered = exchange.events.iter().filter_map(|event| asked.get(&(*connection, event.answers.clone()?)));
        // Some tools do not measure the end of a stream that broke. It is after the requests that the stream answers.
        let is_measured = answered.max().is_none_or(|asked| *asked <= exchange.ended);
        steps.push((exchange.started, Step::Request, at));
        steps.push((exchange.answered, Step::Response, at));
        steps.push((if is_measured { exchange.ended } else { i64::MAX }, Step::End, at));
    }
    steps.sort_unstable();
    let mut timeline = Timeline { exchanges, opened: BTreeSet::new(), items: Vec::new() };
    for (_, step, at) in steps {
        match step {
            Step::Request => timeline.request(at),
            Step::Response => timeline.response(at),
            Step::End => timeline.end(at),
        }
    }
    timeline.items
}

/// Assigns the exchanges to connections, as the gateway of the monitor does.
fn placed(exchanges: Vec<Exchange>) -> Vec<Placed> {
    let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
    let mut numbers: Vec<usize> = Vec::new();
    let mut placed = Vec::new();
    for exchange in exchanges {
        let starts = exchange.posted.as_ref().is_some_and(|posted| posted.method.as_deref() == Some("initialize"));
        let known = exchange.connection.as_ref().and_then(|id| by_id.get(id)).copied();
        let last = numbers.len().checked_sub(1).filter(|_| exchange.connection.is_none() && !starts);
        let connection = known.or(last).unwrap_or_else(|| {
            numbers.push(0);
            numbers.len() - 1
        });
        let given = match &exchange.response {
            Response::Given { connection, .. } if starts => connection.clone(),
            _ => None,
        };
        by_id.extend(exchange.connection.clone().or(given).map(|id| (id, connection)));
        let number = numbers[connection];
        numbers[connection] += 1;
        placed.push(Placed { exchange, connection, number, is_sent: false, is_answered: false });
    }
    placed
}

impl Timeline {
    /// Adds a request, after the events that it depends on.
    fn request(&mut self, at: usize) {
        let Placed { exchange, connection, is_sent, .. } = &self.exchanges[at];
        let (connection, session) = (*connection, exchange.session.clone());
        if *is_sent {
            return;
        }
        let posted = exchange.posted.clone().unwrap_or_default();
        let answers = posted.id.as_ref().filter(|_| posted.method.is_none()).map(RpcId::new);
        if let Some(id) = answers {
            self.events_up_to(connection, session.as_deref(), |message| message.asks.as_ref() == Some(&id));
        }
        if let Some(named) = session.or(posted.session_id)
            && !self.opened.contains(&(connection, named.clone()))
        {
            self.events_up_to(connection, None, |message| message.opens.as_ref() == Some(&named));
        }
        self.send(at);
    }

    /// Adds the events of a stream up to the first one that fits, if there is one. The stream of this session comes
    /// first.
    fn events_up_to(&mut self, connection: usize, session: Option<&str>, fits: impl Fn(&Message) -> bool) {
        let of_connection = self.exchanges.iter().enumerate().filter(|(_, placed)| placed.connection == connection);
        let found = of_connection.filter_map(|(at, placed)| Some((at, placed.exchange.events.iter().position(&fits)?)));
        let is_other = |(at, _): &(usize, usize)| self.exchanges[*at].exchange.session.as_deref() != session;
        if let Some((at, position)) = found.min_by_key(is_other) {
            self.response(at);
            (0..=position).for_each(|_| self.event(at));
        }
    }

    /// Adds a request, if it is not there yet.
    fn send(&mut self, at: usize) {
        let Placed { exchange, connection, number, is_sent, .. } = &mut self.exchanges[at];
        if std::mem::replace(is_sent, true) {
            return;
        }
        let (connection, exchange_number, posted) = (*connection, *number, exchange.posted.clone());
        let (method, headers) = (exchange.method.clone(), exchange.headers.clone());
        let message = exchange.message.take();
        let event = HttpEvent::Request { exchange: exchange_number, method, headers, message: posted, scripted: false };
        self.add(connection, What::Http(event));
        if let Some(bytes) = message {
            self.line(connection, exchange_number, Party::Client, bytes);
        }
    }

    /// Adds a response, if it is not there yet.
    fn response(&mut self, at: usize) {
        self.send(at);
        let Placed { exchange, connection, number, is_answered, .. } = &mut self.exchanges[at];
        if std::mem::replace(is_answered, true) {
            return;
        }
        let (connection, number) = (*connection, *number);
        match std::mem::replace(&mut exchange.response, Response::Unknown) {
            Response::Unknown => {}
            Response::Failed(why) => self.add(connection, What::Http(HttpEvent::Failed { exchange: number, why })),
            Response::Given { status, version, headers, body, message, .. } => {
                let event = HttpEvent::Response { exchange: number, status, version, headers, body };
                self.add(connection, What::Http(event));
                if let Some(message) = message {
                    self.message(connection, number, message);
                }
            }
        }
    }

    /// Adds the rest of a stream.
    fn end(&mut self, at: usize) {
        while !self.exchanges[at].exchange.events.is_empty() {
            self.event(at);
        }
        let Placed { exchange, connection, number, .. } = &self.exchanges[at];
        if exchange.is_stream {
            self.add(*connection, What::Http(HttpEvent::Ended { exchange: *number, why: None }));
        }
    }

    /// Adds the next event of a stream.
    fn event(&mut self, at: usize) {
        let Placed { exchange, connection, number, .. } = &mut self.exchanges[at];
        let (connection, number) = (*connection, *number);
        if let Some(message) = exchange.events.pop_front() {
            self.message(connection, number, message);
        }
    }

    /// Adds a message of the server.
    fn message(&mut self, connection: usize, number: usize, message: Message) {
        self.opened.extend(message.opens.map(|session| (connection, session)));
        self.line(connection, number, Party::Agent, message.bytes);
    }

    fn line(&mut self, connection: usize, exchange: usize, from: Party, bytes: Vec<u8>) {
        self.add(connection, What::Http(HttpEvent::Carries { exchange }));
        self.add(connection, What::Line { from, bytes, end: LineEnd::Lf, deliberate: false });
    }

    fn add(&mut self, connection: usize, what: What) {
        // The times of events are unknown, so requirements on durations must find none.
        self.items.push(Item { us: 0, connection, what });
    }
}
