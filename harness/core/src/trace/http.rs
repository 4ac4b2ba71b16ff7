//! What HTTP and WebSocket show around the messages.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An event of HTTP or of a WebSocket. The exchanges of a connection, each a request with its response, have numbers
/// from 0 in the order of the requests; a WebSocket is one exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum HttpEvent {
    /// The client sent a request.
    Request {
        /// The number of the exchange.
        exchange: usize,
        /// The method, such as `POST`.
        method: String,
        /// The headers that the protocol is about, with their names in lower case. No secret is among them.
        headers: Vec<(String, String)>,
        /// What its body holds, if that is a message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Posted>,
        /// The step of the case that sent it, rather than the connection of the tester; its message is not among the
        /// lines of the trace.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        scripted: bool,
    },
    /// The server answered the request.
    Response {
        /// The number of the exchange.
        exchange: usize,
        /// The status, such as 202.
        status: u16,
        /// The version of HTTP, such as `HTTP/2.0`.
        version: String,
        /// The headers that the protocol is about, with their names in lower case.
        headers: Vec<(String, String)>,
        /// The beginning of the body, if it is neither empty nor a message nor a stream.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<String>,
    },
    /// The next line of the connection is the body of a request or response, or an event of a stream.
    Carries {
        /// The number of the exchange.
        exchange: usize,
    },
    /// A frame of a WebSocket that is not a text, such as `binary`; with the status and the reason for `close`.
    Frame {
        /// The number of the exchange.
        exchange: usize,
        /// Whether the server sent it.
        by_server: bool,
        /// The kind of the frame.
        kind: String,
        /// What it holds, if that is a message which a case sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Posted>,
    },
    /// The stream of the response, or the WebSocket, ended.
    Ended {
        /// The number of the exchange.
        exchange: usize,
        /// The reason, if it broke.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The request got no answer, or the server could not be reached.
    Failed {
        /// The number of the exchange.
        exchange: usize,
        /// The reason.
        why: String,
    },
}

impl HttpEvent {
    /// Returns the number of the exchange.
    pub const fn exchange(&self) -> usize {
        match self {
            Self::Request { exchange, .. }
            | Self::Response { exchange, .. }
            | Self::Carries { exchange }
            | Self::Frame { exchange, .. }
            | Self::Ended { exchange, .. }
            | Self::Failed { exchange, .. } => *exchange,
        }
    }
}

/// One line for people, such as `client → agent  POST session/cancel, acp-session-id: s1`.
impl fmt::Display for HttpEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers = |headers: &[(String, String)]| {
            headers.iter().map(|(name, value)| format!(", {name}: {value}")).collect::<String>()
        };
        match self {
            Self::Request { method, headers: sent, message, .. } => {
                let called = match message {
                    Some(Posted { method: Some(called), .. }) => format!(" {called}"),
                    Some(Posted { list: true, .. }) => " of a list".to_owned(),
                    Some(_) => " of an answer".to_owned(),
                    None => String::new(),
                };
                write!(f, "client → agent  {method}{called}{}", headers(sent))
            }
            Self::Response { status, version, headers: sent, body, .. } => {
                write!(f, "agent → client  {version} {status}{}", headers(sent))?;
                body.as_ref().map_or(Ok(()), |body| write!(f, ": {body}"))
            }
            Self::Carries { .. } => f.write_str("the next message"),
            Self::Frame { by_server, kind, .. } => {
                let way = if *by_server { "agent → client" } else { "client → agent" };
                write!(f, "{way}  {kind} frame")
            }
            Self::Ended { why, .. } => {
                f.write_str("the stream ended")?;
                why.as_ref().map_or(Ok(()), |why| write!(f, ": {why}"))
            }
            Self::Failed { why, .. } => write!(f, "no response: {why}"),
        }
    }
}

/// What a transport has to know of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Posted {
    /// Its method; absent for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Its id; absent for a notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// The id of the session in its params.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Whether it is a list instead of a message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub list: bool,
}

impl Posted {
    /// Describes a body; `None` if it is neither an object nor a list.
    pub fn of(body: &Value) -> Option<Self> {
        let text = |at: &str| body.pointer(at).and_then(Value::as_str).map(str::to_owned);
        match body {
            Value::Array(_) => Some(Self { list: true, ..Self::default() }),
            Value::Object(members) => Some(Self {
                method: text("/method"),
                id: members.get("id").cloned(),
                session_id: text("/params/sessionId"),
                list: false,
            }),
            _ => None,
        }
    }
}

/// The header with the id of the connection.
pub const CONNECTION_ID: &str = "acp-connection-id";

/// The header with the id of the session.
pub const SESSION_ID: &str = "acp-session-id";

/// The other headers that the protocol is about; their values are recorded, except those of cookies.
const RECORDED: [&str; 6] =
    ["accept", "acp-protocol-version", "content-encoding", "content-type", "last-event-id", "upgrade"];

/// The headers of which only the names of the cookies are recorded.
const COOKIES: [&str; 2] = ["cookie", "set-cookie"];

/// Returns the headers to record of these names in lower case and values.
pub fn recorded_headers<'h>(headers: impl Iterator<Item = (&'h str, &'h str)>) -> Vec<(String, String)> {
    let kept = headers.filter_map(|(name, value)| {
        if COOKIES.contains(&name) {
            let cookies = if name == "cookie" { value.split(';').collect() } else { vec![value] };
            let names = cookies.iter().map(|cookie| cookie.split('=').next().unwrap_or_default().trim());
            return Some((name.to_owned(), names.collect::<Vec<_>>().join("; ")));
        }
        let is_kept = [CONNECTION_ID, SESSION_ID].contains(&name) || RECORDED.contains(&name);
        is_kept.then(|| (name.to_owned(), value.to_owned()))
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{HttpEvent, Posted, SESSION_ID, recorded_headers};

    #[test]
    fn a_line_says_what_was_sent() {
        let message = Posted::of(&json!({ "method": "session/cancel", "params": { "sessionId": "s" } }));
        let headers = vec![(SESSION_ID.to_owned(), "s".to_owned())];
        let request = HttpEvent::Request { exchange: 1, method: "POST".to_owned(), headers, message, scripted: false };
        assert_eq!(request.to_string(), "client → agent  POST session/cancel, acp-session-id: s");
        let (version, body) = ("HTTP/2.0".to_owned(), Some("no".to_owned()));
        let response = HttpEvent::Response { exchange: 1, status: 400, version, headers: Vec::new(), body };
        assert_eq!(response.to_string(), "agent → client  HTTP/2.0 400: no");
    }

    #[test]
    fn values_of_cookies_and_unknown_headers_are_not_recorded() {
        let headers = [("authorization", "Bearer x"), ("cookie", "a=1; b=2"), ("acp-session-id", "s")];
        let expected = [("cookie", "a; b"), ("acp-session-id", "s")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(recorded_headers(headers.into_iter()), expected);
    }
}
