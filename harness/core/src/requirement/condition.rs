//! The preconditions of requirements, as written in the catalogue.
//!
//! ```text
//! always
//! agent has loadSession
//! client lacks terminal
//! agent has sessionCapabilities.delete and (agent has loadSession or agent has sessionCapabilities.resume)
//! modes and config options
//! "the agent runs its model loop in another process"
//! ```
//!
//! `and` binds stronger than `or`. A text in quotes is for people: no program can evaluate it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Party, Transport};

/// The precondition of a requirement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct AppliesWhen {
    text: String,
    /// The parsed text.
    pub condition: Condition,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// It is true in every conversation.
    Always,
    /// All of these are true.
    All(Vec<Self>),
    /// One of these is true.
    Any(Vec<Self>),
    /// A party advertises a capability in `initialize`, or lacks it.
    Capability {
        /// The party.
        party: Party,
        /// The members of its capabilities that lead to it.
        path: Vec<String>,
        /// Whether it has to be advertised; otherwise it has to be absent.
        advertised: bool,
    },
    /// A fact about the conversation.
    Fact(ConversationFact),
    /// A text for people.
    Words,
}

/// A fact about a conversation on which requirements depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConversationFact {
    /// The messages are lines on standard input and output.
    Stdio,
    /// They travel in another way.
    OtherTransport,
    /// They travel over Streamable HTTP.
    Http,
    /// They travel in the frames of a WebSocket.
    WebSocket,
    /// The agent offers modes in a session.
    Modes,
    /// The agent opens a session without modes.
    NoModes,
    /// The agent offers config options in a session.
    ConfigOptions,
    /// The agent advertises a login.
    AuthMethods,
    /// The agent advertises no login.
    NoAuthMethods,
    /// The agent advertises a login without a type, or of the type `agent`.
    AgentAuthMethod,
    /// The agent advertises a login in a terminal.
    TerminalAuthMethod,
    /// The agent opens sessions only after a login.
    LoginRequired,
    /// The client names an MCP server on standard input and output.
    StdioMcpServer,
    /// The client names an MCP server with a URL.
    RemoteMcpServer,
    /// The client offers a later version of the protocol.
    LaterVersionOffered,
}

impl ConversationFact {
    const ALL: [(&'static str, Self); 15] = [
        ("stdio", Self::Stdio),
        ("other transport", Self::OtherTransport),
        ("HTTP", Self::Http),
        ("WebSocket", Self::WebSocket),
        ("modes", Self::Modes),
        ("no modes", Self::NoModes),
        ("config options", Self::ConfigOptions),
        ("auth methods", Self::AuthMethods),
        ("no auth methods", Self::NoAuthMethods),
        ("agent auth method", Self::AgentAuthMethod),
        ("terminal auth method", Self::TerminalAuthMethod),
        ("login required", Self::LoginRequired),
        ("stdio MCP server", Self::StdioMcpServer),
        ("remote MCP server", Self::RemoteMcpServer),
        ("later version offered", Self::LaterVersionOffered),
    ];
}

impl AppliesWhen {
    /// Whether a program can evaluate it, and it is not always true.
    pub fn is_evaluated(&self) -> bool {
        !matches!(self.condition, Condition::Always | Condition::Words)
    }

    /// Returns it as written, without the quotes of a text for people.
    pub fn text(&self) -> &str {
        self.text.trim_matches('"')
    }
}

impl Condition {
    /// Whether it can only be true if this party advertises a capability.
    pub fn requires_offer(&self, of: Party) -> bool {
        match self {
            Self::All(all) => all.iter().any(|one| one.requires_offer(of)),
            Self::Any(any) => any.iter().all(|one| one.requires_offer(of)),
            Self::Capability { party, advertised, .. } => *advertised && *party == of,
            Self::Always | Self::Fact(_) | Self::Words => false,
        }
    }

    /// Whether it can be true in a conversation over this transport.
    pub fn is_possible_over(&self, transport: Transport) -> bool {
        match self {
            Self::All(all) => all.iter().all(|one| one.is_possible_over(transport)),
            Self::Any(any) => any.iter().any(|one| one.is_possible_over(transport)),
            Self::Fact(ConversationFact::Stdio) => transport == Transport::Stdio,
            Self::Fact(ConversationFact::OtherTransport) => transport != Transport::Stdio,
            Self::Fact(ConversationFact::Http) => transport == Transport::Http,
            Self::Fact(ConversationFact::WebSocket) => transport == Transport::WebSocket,
            _ => true,
        }
    }
}

/// A condition that cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("cannot parse the condition `{0}`; a text for people stands in quotes")]
pub struct ConditionError(String);

impl TryFrom<String> for AppliesWhen {
    type Error = ConditionError;

    fn try_from(text: String) -> Result<Self, ConditionError> {
        match any(&text) {
            Some(condition) => Ok(Self { text, condition }),
            None => Err(ConditionError(text)),
        }
    }
}

impl From<AppliesWhen> for String {
    fn from(applies: AppliesWhen) -> Self {
        applies.text
    }
}

impl fmt::Display for AppliesWhen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

fn any(text: &str) -> Option<Condition> {
    let terms: Vec<Condition> = split(text, " or ").into_iter().map(all).collect::<Option<_>>()?;
    Some(one_of(terms, Condition::Any))
}

fn all(text: &str) -> Option<Condition> {
    let factors: Vec<Condition> = split(text, " and ").into_iter().map(factor).collect::<Option<_>>()?;
    Some(one_of(factors, Condition::All))
}

fn one_of(mut parts: Vec<Condition>, several: impl FnOnce(Vec<Condition>) -> Condition) -> Condition {
    match parts.len() {
        1 => parts.remove(0),
        _ => several(parts),
    }
}

fn factor(text: &str) -> Option<Condition> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return any(inner);
    }
    if text.len() > 2 && text.starts_with('"') && text.ends_with('"') {
        return Some(Condition::Words);
    }
    if text == "always" {
        return Some(Condition::Always);
    }
    if let Some((_, fact)) = ConversationFact::ALL.iter().find(|(name, _)| *name == text) {
        return Some(Condition::Fact(*fact));
    }
    let (party, rest) = Party::ALL.iter().find_map(|party| Some((*party, text.strip_prefix(party.name())?)))?;
    let (advertised, path) = match (rest.strip_prefix(" has "), rest.strip_prefix(" lacks ")) {
        (Some(path), _) => (true, path),
        (_, Some(path)) => (false, path),
        _ => return None,
    };
    let is_path = !path.is_empty() && path.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
    is_path.then(|| Condition::Capability { party, path: path.split('.').map(str::to_owned).collect(), advertised })
}

/// Splits a text at a separator outside of parentheses and quotes.
fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let (mut parts, mut from, mut depth, mut quoted) = (Vec::new(), 0, 0_usize, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && !quoted && at >= from && text[at..].starts_with(separator) => {
                parts.push(&text[from..at]);
                from = at + separator.len();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Condition> {
        AppliesWhen::try_from(text.to_owned()).ok().map(|applies| applies.condition)
    }

    fn agent(path: &str, advertised: bool) -> Condition {
        let path = path.split('.').map(str::to_owned).collect();
        Condition::Capability { party: Party::Agent, path, advertised }
    }

    #[test]
    fn parses_capabilities_and_facts() {
        assert_eq!(parsed("always"), Some(Condition::Always));
        assert_eq!(parsed("agent has a.b"), Some(agent("a.b", true)));
        assert_eq!(parsed("agent lacks a"), Some(agent("a", false)));
        assert_eq!(parsed("no modes"), Some(Condition::Fact(ConversationFact::NoModes)));
        assert_eq!(parsed("\"a person and a plan\""), Some(Condition::Words));
    }

    #[test]
    fn and_binds_stronger_than_or() {
        let wanted = Condition::Any(vec![
            Condition::All(vec![agent("a", true), Condition::Fact(ConversationFact::Modes)]),
            agent("b", true),
        ]);
        assert_eq!(parsed("agent has a and modes or agent has b"), Some(wanted));
        let wanted = Condition::All(vec![agent("a", true), Condition::Any(vec![agent("b", true), agent("c", false)])]);
        assert_eq!(parsed("agent has a and (agent has b or agent lacks c)"), Some(wanted));
    }

    #[test]
    fn rejects_other_texts() {
        for text in [
            "",
            "sometimes",
            "agent has",
            "agent has a b",
            "editor has a",
            "agent has a and",
            "agentCapabilities.a = true",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
