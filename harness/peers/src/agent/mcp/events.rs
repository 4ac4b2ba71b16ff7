//! Reads server-sent events.

use http_body_util::BodyExt as _;
use hyper::body::Incoming;

/// A stream of events.
pub(super) struct Events {
    body: Incoming,
    /// What was read and is no whole event yet.
    rest: String,
}

/// One event.
#[derive(Debug, PartialEq)]
pub(super) struct Event {
    pub kind: String,
    pub data: String,
}

impl Events {
    pub(super) fn new(body: Incoming) -> Self {
        Self { body, rest: String::new() }
    }

    /// Waits for the next event.
    pub(super) async fn next(&mut self) -> Result<Event, String> {
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let (event, rest) = (parse(event), rest.to_owned());
                self.rest = rest;
                return Ok(event);
            }
            let frame = self.body.frame().await.ok_or("the stream ended")?.map_err(|error| error.to_string())?;
            if let Some(data) = frame.data_ref() {
                self.rest.push_str(&String::from_utf8_lossy(data).replace('\r', ""));
            }
        }
    }
}

fn parse(text: &str) -> Event {
    let fields = |name: &'static str| {
        text.lines().filter_map(move |line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim_start()))
    };
    Event {
        kind: fields("event").next_back().unwrap_or("message").to_owned(),
        data: fields("data").collect::<Vec<_>>().join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, parse};

    #[test]
    fn an_event_has_a_kind_and_lines_of_data() {
        let event = |kind: &str, data: &str| Event { kind: kind.to_owned(), data: data.to_owned() };
        assert_eq!(parse("event: endpoint\ndata: /a?b=c"), event("endpoint", "/a?b=c"));
        assert_eq!(parse(": a comment\ndata: {\"a\":\ndata: 1}"), event("message", "{\"a\":\n1}"));
    }
}
