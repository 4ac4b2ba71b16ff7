//! What the area remembers: the exchanges of a connection.

use std::collections::{BTreeMap, BTreeSet};

use crate::areas::Event;
use crate::conversation::{Conversation, LineSeen};
use crate::requirement::Party;
use crate::trace::{CONNECTION_ID, HttpEvent, Posted, SESSION_ID};
use crate::wire::RpcId;

/// The most exchanges that are remembered, since a recording may be long. The oldest are forgotten, except streams.
const MOST: usize = 1 << 12;

/// The exchanges of a connection, and the ids that the server gave.
#[derive(Debug, Default)]
pub struct State {
    exchanges: BTreeMap<usize, Sent>,
    /// The exchange that carries the next line.
    next: Option<usize>,
    /// The exchange that carried the last line.
    carrier: Option<usize>,
    /// The id of the connection.
    pub(super) id: Option<String>,
    /// The names of the cookies that the server set.
    pub(super) cookies: BTreeSet<String>,
    /// The event in which the server accepted the end of the connection, and its time in microseconds.
    pub(super) deleted: Option<(usize, u64)>,
    /// The ids of messages in binary frames.
    pub(super) binary: Vec<(usize, Option<RpcId>)>,
}

/// A request, and what came back.
#[derive(Debug)]
pub(super) struct Sent {
    /// The event.
    pub n: usize,
    /// Microseconds since the start of the trace.
    pub us: u64,
    pub method: String,
    headers: Vec<(String, String)>,
    pub message: Option<Posted>,
    pub scripted: bool,
    /// The headers of the response, and its status.
    pub response: Option<(u16, Vec<(String, String)>)>,
    /// The event of the response.
    pub answered: Option<usize>,
    /// The stream has ended.
    pub ended: bool,
    /// The first event that shows that the server works on the message: its answer, or anything else on the stream of
    /// the session; with its time in microseconds.
    pub effect: Option<(usize, u64)>,
}

/// What a request asks for. Where two things are wrong with it, the draft does not say which one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// A POST of `initialize` opens a connection.
    Initialize,
    /// The same with the id of a connection.
    InitializeAgain,
    /// A POST sends a message.
    Message,
    /// The body is a list.
    List,
    /// The body is not declared as JSON.
    OtherContent,
    /// A GET opens the stream of the connection.
    ConnectionStream,
    /// A GET opens the stream of a session.
    SessionStream,
    /// The same for a session that the connection does not know.
    UnknownSessionStream,
    /// A GET asks for something else than events.
    OtherAccept,
    /// A request has no id of a connection.
    NoConnection,
    /// A request has the id of no connection.
    UnknownConnection,
    /// A request has the id of a connection that has ended.
    EndedConnection,
    /// A message of a session has no header with its id.
    NoSession,
    /// The header names another session than the message.
    OtherSession,
    /// A DELETE ends the connection.
    Delete,
    /// The same for a connection that the server never opened.
    DeleteUnknown,
    /// A GET asks for a WebSocket.
    Upgrade,
    /// The method has no meaning.
    OtherMethod,
}

impl Sent {
    /// Returns the value of a header, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Whether it asks for a WebSocket.
    pub(super) fn is_upgrade(&self) -> bool {
        self.header("upgrade").is_some_and(|kind| kind.eq_ignore_ascii_case("websocket"))
    }

    /// Whether the body is declared as JSON.
    pub(super) fn is_json(&self) -> bool {
        is_media_type(self.header("content-type"), "application/json")
    }

    /// Whether it asks for a stream of events.
    pub(super) fn accepts_events(&self) -> bool {
        self.header("accept").is_some_and(|kinds| kinds.to_ascii_lowercase().contains("text/event-stream"))
    }

    /// Returns the session of the stream that it opened: none for that of the connection. `None` if it opened none.
    pub(super) fn stream(&self) -> Option<Option<&str>> {
        let opened = self.method == "GET" && self.response.as_ref().is_some_and(|(status, _)| *status == 200);
        opened.then(|| self.header(SESSION_ID))
    }

    /// Returns the method of its message, if that is a request or a notification.
    pub(super) fn called(&self) -> Option<&str> {
        self.message.as_ref()?.method.as_deref()
    }

    /// Returns the session that its message names.
    pub(super) fn session(&self) -> Option<&str> {
        self.message.as_ref()?.session_id.as_deref()
    }

    /// Describes it with its peculiarity.
    pub(super) fn words(&self, asked: Asked) -> String {
        let method = &self.method;
        let called = self.called().map_or_else(|| "a message".to_owned(), str::to_owned);
        match asked {
            Asked::Initialize => "the POST of initialize".to_owned(),
            Asked::InitializeAgain => "a POST of initialize with the id of a connection".to_owned(),
            Asked::Message => format!("the POST of {called}"),
            Asked::List => "a POST of a list".to_owned(),
            Asked::OtherContent => match self.header("content-type") {
                Some(kind) => format!("a POST with the content type {kind}"),
                None => "a POST without a content type".to_owned(),
            },
            Asked::ConnectionStream => "the GET for the stream of the connection".to_owned(),
            Asked::SessionStream => "the GET for the stream of a session".to_owned(),
            Asked::UnknownSessionStream => "a GET for the stream of an unknown session".to_owned(),
            Asked::OtherAccept => match self.header("accept") {
                Some(kind) => format!("a GET that accepts {kind}"),
                None => "a GET that accepts nothing in particular".to_owned(),
            },
            Asked::NoConnection => format!("a {method} without Acp-Connection-Id"),
            Asked::UnknownConnection | Asked::DeleteUnknown => format!("a {method} with an unknown Acp-Connection-Id"),
            Asked::EndedConnection => format!("a {method} for a connection that has ended"),
            Asked::NoSession => format!("a POST of {called} without Acp-Session-Id"),
            Asked::OtherSession => format!("a POST of {called} whose Acp-Session-Id names another session"),
            Asked::Delete => "the DELETE of the connection".to_owned(),
            Asked::Upgrade => "the GET for a WebSocket".to_owned(),
            Asked::OtherMethod => format!("a {method}"),
        }
    }
}

/// Returns the value of a header, by its name in lower case.
pub(super) fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Whether a content type is this media type, with or without parameters.
pub(super) fn is_media_type(content_type: Option<&str>, media_type: &str) -> bool {
    content_type
        .and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case(media_type))
}

impl State {
    /// Returns an exchange.
    pub(super) fn exchange(&self, exchange: usize) -> Option<&Sent> {
        self.exchanges.get(&exchange)
    }

    /// Returns all exchanges.
    pub(super) fn all(&self) -> impl Iterator<Item = &Sent> {
        self.exchanges.values()
    }

    /// Returns the exchange that carries the line of the current message.
    pub(super) fn carrying(&self) -> Option<&Sent> {
        self.exchange(self.carrier?)
    }

    /// Returns the exchange that carries the current line of the agent, which has not been observed yet.
    pub(super) fn announced(&self) -> Option<&Sent> {
        self.exchange(self.next?).filter(|sent| sent.response.is_some())
    }

    /// Whether the client has left each stream that it had opened for this session, or for the connection.
    pub(in crate::areas) fn has_left(&self, session: Option<&str>) -> bool {
        let mut streams = self.all().filter(|sent| !sent.is_upgrade() && sent.stream() == Some(session)).peekable();
        streams.peek().is_some() && streams.all(|sent| sent.ended)
    }

    /// Returns what a request asks for; `None` if more than one thing is wrong with it.
    pub(super) fn asked(&self, conversation: &Conversation, sent: &Sent) -> Option<Asked> {
        let id = sent.header(CONNECTION_ID);
        let wrong_connection = || match id {
            None => Some(Asked::NoConnection),
            Some(id) if self.id.as_deref() == Some(id) => {
                self.deleted.filter(|(n, _)| sent.n > *n).map(|_| Asked::EndedConnection)
            }
            // An id that the trace does not contain may still be one of the server's.
            Some(_) => sent.scripted.then_some(Asked::UnknownConnection),
        };
        let (wrong, asked): ([Option<Asked>; 3], Asked) = match sent.method.as_str() {
            "POST" => {
                let starts = sent.called() == Some("initialize");
                let is_list = sent.message.as_ref().is_some_and(|message| message.list);
                let content = (!sent.is_json()).then_some(Asked::OtherContent);
                let session =
                    sent.session().filter(|_| sent.called().is_some_and(|called| called.starts_with("session/")));
                let session = match (session, sent.header(SESSION_ID)) {
                    (Some(_), None) => Some(Asked::NoSession),
                    (Some(session), Some(named)) if named != session => Some(Asked::OtherSession),
                    _ => None,
                };
                let asked = match (starts, id) {
                    (true, None) => Asked::Initialize,
                    (true, Some(_)) => Asked::InitializeAgain,
                    _ if is_list => Asked::List,
                    _ => Asked::Message,
                };
                let connection = if starts { None } else { wrong_connection() };
                ([content, connection, session], asked)
            }
            "GET" if sent.is_upgrade() => ([None; 3], Asked::Upgrade),
            "GET" => {
                let accept = (!sent.accepts_events()).then_some(Asked::OtherAccept);
                let asked = match sent.header(SESSION_ID) {
                    None => Asked::ConnectionStream,
                    Some(session) if conversation.session(session).is_some() => Asked::SessionStream,
                    Some(_) => Asked::UnknownSessionStream,
                };
                ([accept, wrong_connection(), None], asked)
            }
            "DELETE" => {
                let connection = wrong_connection().map(|wrong| match wrong {
                    Asked::UnknownConnection => Asked::DeleteUnknown,
                    other => other,
                });
                ([connection, None, None], Asked::Delete)
            }
            _ => ([None; 3], Asked::OtherMethod),
        };
        let mut wrong = wrong.into_iter().flatten();
        match (wrong.next(), wrong.next()) {
            (None, _) => Some(asked),
            (Some(one), None) => Some(one),
            _ => None,
        }
    }

    /// Returns the id of the client's request that this response refuses by its status.
    pub(in crate::areas) fn refused(&self, http: &HttpEvent) -> Option<RpcId> {
        let HttpEvent::Response { exchange, status: 400.., .. } = http else { return None };
        let posted = self.exchange(*exchange).filter(|sent| !sent.scripted)?.message.as_ref()?;
        posted.method.as_ref().and(posted.id.as_ref()).map(RpcId::new)
    }

    /// Reads an event of the transport.
    pub(in crate::areas) fn http(&mut self, event: &Event<'_>, http: &HttpEvent) {
        match http {
            HttpEvent::Request { exchange, method, headers, message, scripted } => {
                let sent = Sent {
                    n: event.n,
                    us: event.us,
                    method: method.clone(),
                    headers: headers.clone(),
                    message: message.clone(),
                    scripted: *scripted,
                    response: None,
                    answered: None,
                    ended: false,
                    effect: None,
                };
                self.exchanges.insert(*exchange, sent);
                if self.exchanges.len() > MOST {
                    let is_over = |sent: &Sent| sent.method != "GET" || sent.ended;
                    let oldest = self.exchanges.iter().find(|(_, sent)| is_over(sent)).map(|(exchange, _)| *exchange);
                    oldest.map(|exchange| self.exchanges.remove(&exchange));
                }
            }
            HttpEvent::Response { exchange, status, headers, .. } => {
                self.responded(event, *exchange, *status, headers);
            }
            HttpEvent::Carries { exchange } => self.next = Some(*exchange),
            HttpEvent::Frame { by_server: false, message: Some(message), .. } => {
                self.binary.push((event.n, message.id.as_ref().map(RpcId::new)));
            }
            HttpEvent::Ended { exchange, .. } | HttpEvent::Failed { exchange, .. } => {
                if let Some(sent) = self.exchanges.get_mut(exchange) {
                    sent.ended = true;
                }
            }
            HttpEvent::Frame { .. } => {}
        }
    }

    fn responded(&mut self, event: &Event<'_>, exchange: usize, status: u16, headers: &[(String, String)]) {
        let sent = self.exchange(exchange);
        let is_scripted = sent.is_some_and(|sent| sent.scripted);
        match sent.and_then(|sent| self.asked(event.conversation, sent)) {
            Some(Asked::Initialize | Asked::Upgrade) if status < 300 && !is_scripted => {
                self.id = header(headers, CONNECTION_ID).map(str::to_owned);
            }
            Some(Asked::Delete) if status < 300 => self.deleted = Some((event.n, event.us)),
            _ => {}
        }
        let set = headers.iter().filter(|(name, _)| name == "set-cookie");
        self.cookies.extend(set.map(|(_, cookie)| cookie.clone()));
        if let Some(sent) = self.exchanges.get_mut(&exchange) {
            sent.response = Some((status, headers.to_vec()));
            sent.answered = Some(event.n);
        }
    }

    /// Reads a line, which the last event may have announced.
    pub(in crate::areas) fn line(&mut self, event: &Event<'_>, line: &LineSeen<'_>) {
        // The body of a request comes before its response.
        let sender = |sent: &Sent| if sent.response.is_some() { Party::Agent } else { Party::Client };
        let is_carried = self.next.and_then(|next| self.exchange(next)).map(sender) == Some(event.from);
        self.carrier = if is_carried { self.next.take() } else { None };
        if event.from == Party::Client {
            return;
        }
        let Some(session) = self.carrying().map(|sent| sent.stream().flatten().map(str::to_owned)) else { return };
        let value = match line.content {
            crate::wire::Content::One { value, .. } => value,
            _ => return,
        };
        let answers = value.get("id").filter(|_| value.get("method").is_none()).map(RpcId::new);
        let waiting = self.exchanges.values_mut().filter(|sent| sent.response.is_none() && sent.effect.is_none());
        for sent in waiting {
            let Some(posted) = &sent.message else { continue };
            let is_answer = answers.is_some() && posted.id.as_ref().map(RpcId::new) == answers;
            let prompts = posted.method.as_deref() == Some("session/prompt") && posted.session_id == session;
            if is_answer || prompts && session.is_some() {
                sent.effect = Some((event.n, event.us));
            }
        }
    }
}
