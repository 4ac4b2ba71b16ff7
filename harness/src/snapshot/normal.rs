//! The normalised text of a trace: one message per line, without the parts that differ from run to run.
//!
//! The two directions have no common order: it is random whether the tester wrote its next line just before or just
//! after a message that it did not wait for. So the lines are sorted into an order that does not depend on this. The
//! lines of each party keep their own order, and a line of the tester comes as early as the lines that it waited for
//! allow: those that earlier steps matched, and the request that it answers. Output outside the protocol has no order
//! relative to messages and is left out. Connections and MCP servers have no common order either, so one follows the
//! other. Only the order in which *one* party sends independent messages remains open, such as the answers to two
//! parallel requests.

use std::collections::{BTreeMap, BTreeSet};

use super::aside;
use super::message::content;
use super::renamer::Renamer;
use crate::requirement::Party;
use crate::trace::{Event, Outcome, ProcessEvent, StepEvent, StepKind, What};
use crate::wire::{Content, Envelope, LineEnd, RpcId, read_line};

/// Writes the messages of a trace, `→` from client to agent and `←` from agent to client, and the exit of the subject.
///
/// ```text
/// → <client-request-1> session/prompt {"sessionId": "<session-1>", "prompt": […]}
/// ← session/update {"sessionId": "<session-1>", "update": {…}}
/// ← <client-request-1> result {"stopReason": "end_turn"}
/// ```
///
/// A message with unexpected parts is shown as JSON, and a line that is not a message in quotes.
pub fn normalised(subject: Party, events: &[Event]) -> String {
    let mut renamer = Renamer::new();
    let mut text = String::new();
    // The first is shown even if it has no messages; the numbers of the others are those in the file.
    let connections: BTreeSet<usize> = [0].into_iter().chain(events.iter().map(|event| event.connection)).collect();
    for connection in connections {
        if connection > 0 {
            renamer.begin_connection();
            text.push_str(&format!("\nconnection {}\n", connection.saturating_add(1)));
        }
        let side = Side { subject, connection };
        let lines = side.in_order(events).into_iter().filter_map(|event| line(subject, &event.what, &mut renamer));
        lines.for_each(|line| text.push_str(&(line + "\n")));
    }
    aside::write(events, &mut renamer, &mut text);
    let exits = events.iter().filter_map(|event| exit(subject, &event.what));
    exits.fold(text, |text, line| text + &line + "\n")
}

fn line(subject: Party, what: &What, renamer: &mut Renamer) -> Option<String> {
    let (to_agent, to_client) = ("→", "←");
    match what {
        What::Line { from, bytes, end, deliberate } => {
            let arrow = if *from == Party::Client { to_agent } else { to_client };
            let mark = if *deliberate { " (wrong on purpose)" } else { "" };
            let cut = if *end == LineEnd::Lf { String::new() } else { format!(" (line end: {end:?})").to_lowercase() };
            Some(format!("{arrow}{mark}{cut} {}", content(*from, bytes, renamer)))
        }
        What::Process(process) => match (subject, process) {
            (Party::Agent, ProcessEvent::StdinClosed) | (Party::Client, ProcessEvent::StdoutEnded) => {
                Some(format!("{to_agent} end of input"))
            }
            (Party::Client, ProcessEvent::StdinClosed) => Some(format!("{to_client} end of output")),
            (_, ProcessEvent::AgentSignalled(name)) => Some(format!("{to_agent} {name}")),
            (_, ProcessEvent::AgentExited(code)) => Some(format!("{to_client} exit with {code}")),
            (_, ProcessEvent::AgentKilled) => Some(format!("{to_client} SIGKILL")),
            _ => None,
        },
        _ => None,
    }
}

fn exit(subject: Party, what: &What) -> Option<String> {
    match what {
        What::Process(ProcessEvent::Exited { code: Some(code), .. }) => {
            Some(format!("the {subject} exits with {code}"))
        }
        What::Process(ProcessEvent::Exited { signal, .. }) => {
            Some(format!("the {subject} is ended by {}", signal.as_deref().unwrap_or("a signal")))
        }
        _ => None,
    }
}

/// One connection, seen from the tester.
#[derive(Clone, Copy)]
struct Side {
    subject: Party,
    connection: usize,
}

impl Side {
    /// Returns the messages on the connection in an order that does not depend on chance.
    fn in_order(self, events: &[Event]) -> Vec<&Event> {
        let here = || events.iter().filter(|event| event.connection == self.connection);
        let waits = Waits::of(self, events);
        let mut theirs = here().filter(|event| self.speaker(&event.what) == Some(self.subject)).peekable();
        let mut order: Vec<&Event> = Vec::new();
        for event in here().filter(|event| self.speaker(&event.what) == Some(self.subject.other())) {
            let needed = waits.of_line(event);
            while let Some(next) = theirs.next_if(|next| needed.is_some_and(|needed| next.n <= needed)) {
                order.push(next);
            }
            order.push(event);
        }
        order.extend(theirs);
        order
    }

    /// Returns the party that does something which the other side notices.
    fn speaker(self, what: &What) -> Option<Party> {
        match what {
            What::Line { from, .. } => Some(*from),
            What::Process(ProcessEvent::StdinClosed) => Some(self.subject.other()),
            What::Process(ProcessEvent::AgentExited(_) | ProcessEvent::AgentKilled) => Some(Party::Agent),
            What::Process(ProcessEvent::AgentSignalled(_)) => Some(Party::Client),
            What::Process(ProcessEvent::StdoutEnded) if self.subject == Party::Client => Some(Party::Client),
            _ => None,
        }
    }

    /// Whether the event is a line of the subject on this connection.
    fn is_of_subject(self, events: &[Event], n: usize) -> bool {
        let line = |event: &Event| matches!(&event.what, What::Line { from, .. } if *from == self.subject);
        events.get(n).is_some_and(|event| event.connection == self.connection && line(event))
    }
}

/// The last line of the subject that each line of the tester waited for.
#[derive(Default)]
struct Waits {
    /// By the event of the line.
    lines: BTreeMap<usize, usize>,
    /// The positions of the messages of the subject with an id.
    requests: BTreeMap<RpcId, usize>,
    answers: BTreeMap<RpcId, usize>,
}

impl Waits {
    fn of(side: Side, events: &[Event]) -> Self {
        let mut waits = Self::default();
        // A recording of other traffic has no steps; there, every answer counts as awaited.
        let scripted = events.iter().any(|event| matches!(&event.what, What::Step(_)));
        let mut latest = None;
        for event in events {
            let waited = match &event.what {
                What::Step(step) if step.outcome == Outcome::Done => {
                    let matched = step.events.iter().copied().filter(|&n| side.is_of_subject(events, n)).max();
                    latest = latest.max(waits.fence(side, events, step)).max(matched);
                    continue;
                }
                _ if event.connection != side.connection => continue,
                What::Line { from, .. } if *from == side.subject => {
                    match id(&event.what) {
                        Some((Form::Request, id)) => drop(waits.requests.insert(id, event.n)),
                        Some((Form::Response, id)) => {
                            waits.answers.insert(id, event.n);
                            latest = if scripted { latest } else { Some(event.n) };
                        }
                        None => {}
                    }
                    continue;
                }
                What::Line { .. } => match id(&event.what) {
                    Some((Form::Response, id)) => latest.max(waits.requests.get(&id).copied()),
                    _ => latest,
                },
                _ => latest,
            };
            waits.lines.extend(waited.map(|n| (event.n, n)));
        }
        waits
    }

    /// Returns the answer to the request of a fence on this connection.
    fn fence(&self, side: Side, events: &[Event], step: &StepEvent) -> Option<usize> {
        let &request = step.events.first().filter(|_| step.kind == StepKind::Fence)?;
        // If there are several requests, the step names the answered one.
        let request = events.get(request).filter(|event| event.connection == side.connection)?;
        self.answers.get(&id(&request.what)?.1).copied()
    }

    fn of_line(&self, event: &Event) -> Option<usize> {
        self.lines.get(&event.n).copied()
    }
}

enum Form {
    Request,
    Response,
}

/// Returns the id of a message, with the form of that message.
fn id(what: &What) -> Option<(Form, RpcId)> {
    let What::Line { bytes, .. } = what else { return None };
    let Content::One { value, .. } = read_line(bytes) else { return None };
    match Envelope::of(&value) {
        Envelope::Call(call) => call.id.map(|id| (Form::Request, RpcId::new(id))),
        Envelope::Response { id, .. } => id.map(|id| (Form::Response, RpcId::new(id))),
        Envelope::Unclear => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(from: Party, text: &str) -> What {
        What::Line { from, bytes: text.as_bytes().to_vec(), end: LineEnd::Lf, deliberate: false }
    }

    fn matched(events: &[usize]) -> What {
        What::Step(StepEvent { line: 1, events: events.to_vec(), ..StepEvent::new(StepKind::Must, Outcome::Done) })
    }

    fn normal(whats: Vec<What>) -> String {
        normal_of(Party::Agent, whats.into_iter().map(|what| (0, what)).collect())
    }

    fn normal_of(subject: Party, whats: Vec<(usize, What)>) -> String {
        let event = |(n, (connection, what))| Event { n, us: 0, connection, what };
        normalised(subject, &whats.into_iter().enumerate().map(event).collect::<Vec<_>>())
    }

    #[test]
    fn what_was_not_waited_for_has_one_place() {
        let (agent, client) = (|text| line(Party::Agent, text), |text| line(Party::Client, text));
        let asked = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;
        let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"a":[1,2]}}"#;
        let (news, next) = (r#"{"jsonrpc":"2.0","method":"news"}"#, r#"{"jsonrpc":"2.0","method":"next","extra":1}"#);
        let before = vec![client(asked), agent(answer), agent(news), matched(&[1, 0]), client(next)];
        let after = vec![client(asked), agent(answer), matched(&[1, 0]), client(next), agent(news)];
        let wanted = "→ <client-request-1> initialize {\"protocolVersion\": 1}\n\
            ← <client-request-1> result {\"a\": [1, 2]}\n\
            → {\"jsonrpc\": \"2.0\", \"method\": \"next\", \"extra\": 1}\n\
            ← news\n";
        assert_eq!(normal(before), wanted);
        assert_eq!(normal(after), wanted);
    }

    #[test]
    fn what_is_no_message_is_quoted_and_what_is_meant_is_marked() {
        let wrong = What::Line { from: Party::Client, bytes: b"{\"x".to_vec(), end: LineEnd::Cut, deliberate: true };
        let ended = What::Process(ProcessEvent::Exited { code: Some(0), signal: None });
        let wanted = "→ (wrong on purpose) (line end: cut) \"{\\\"x\"\n← \"hm\"\nthe agent exits with 0\n";
        assert_eq!(normal(vec![wrong, ended, line(Party::Agent, "hm")]), wanted);
    }

    #[test]
    fn the_number_of_a_connection_may_be_any() {
        let answer = line(Party::Agent, r#"{"jsonrpc":"2.0","id":0,"result":{}}"#);
        let normal = normal_of(Party::Client, vec![(usize::MAX, answer)]);
        assert!(normal.starts_with(&format!("\nconnection {}\n← ", usize::MAX)), "{normal}");
    }

    #[test]
    fn a_client_may_have_several_connections_and_each_is_told_by_itself() {
        let (agent, client) = (|text| line(Party::Agent, text), |text| line(Party::Client, text));
        let asked = r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#;
        let answer = r#"{"jsonrpc":"2.0","id":0,"result":{}}"#;
        let news = r#"{"jsonrpc":"2.0","method":"news"}"#;
        let ended = || What::Process(ProcessEvent::StdoutEnded);
        let exited = What::Process(ProcessEvent::Exited { code: Some(1), signal: None });
        let normal = normal_of(
            Party::Client,
            vec![
                (0, client(asked)),
                (1, client(asked)),
                (0, matched(&[0])),
                (0, client(news)),
                (1, agent(answer)),
                (0, agent(answer)),
                (0, ended()),
                (1, What::Process(ProcessEvent::StdinClosed)),
                (1, ended()),
                (1, exited),
            ],
        );
        let wanted = "→ <client-request-1> initialize\n\
            ← <client-request-1> result {}\n\
            → news\n\
            → end of input\n\
            \n\
            connection 2\n\
            → <client-request-2> initialize\n\
            ← <client-request-2> result {}\n\
            ← end of output\n\
            → end of input\n\
            the client exits with 1\n";
        assert_eq!(normal, wanted);
    }
}
