//! Which requirements apply to a conversation: the preconditions of the catalogue, evaluated.

use std::collections::BTreeMap;

use serde_json::Value;

use super::registry::Registry;
use crate::conversation::{Conversation, Session};
use crate::protocol::Edition;
use crate::requirement::{Condition, ConversationFact, Party};
use crate::wire::Members;

/// Whether the requirements with a precondition apply to a conversation, as far as it is known.
#[derive(Debug, Clone, Default)]
pub(super) struct Conditions {
    /// `None` before the first evaluation.
    depends_on: Option<Inputs>,
    /// By the place of the requirement in the registry.
    by_place: Vec<Option<bool>>,
    /// By id, for requirements that only steps of cases decide.
    others: BTreeMap<&'static str, bool>,
}

/// What the preconditions depend on. While it stays the same, so do they.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Inputs {
    sessions: SessionFacts,
    /// The events of `initialize` and of its result, which hold the capabilities and the ways to log in.
    introduced: [Option<usize>; 2],
    wants_login: bool,
    mcp_servers: usize,
    misses_anything: bool,
}

impl Inputs {
    fn of(sessions: SessionFacts, conversation: &Conversation) -> Self {
        let introduced = [&conversation.initialize, &conversation.initialized];
        Self {
            sessions,
            introduced: introduced.map(|message| message.as_ref().map(|(n, _)| *n)),
            wants_login: conversation.login.wanted.is_some(),
            mcp_servers: conversation.mcp_servers.len(),
            misses_anything: conversation.holes.anywhere,
        }
    }
}

/// What the open sessions of a conversation show together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SessionFacts {
    is_any_open: bool,
    has_modes: bool,
    lacks_modes: bool,
    has_options: bool,
}

impl SessionFacts {
    fn of(conversation: &Conversation) -> Self {
        conversation.sessions.values().fold(Self::default(), Self::with)
    }

    fn with(self, session: &Session) -> Self {
        Self {
            is_any_open: self.is_any_open || session.is_introduced(),
            has_modes: self.has_modes || session.modes.is_some(),
            lacks_modes: self.lacks_modes || session.modes.is_none(),
            has_options: self.has_options || session.options.is_some(),
        }
    }
}

impl Conditions {
    /// Evaluates the preconditions.
    pub(super) fn of(conversation: &Conversation) -> Self {
        Self::evaluate(Inputs::of(SessionFacts::of(conversation), conversation), conversation)
    }

    /// Evaluates them again after a message that changed at most this session, if they may have changed. A conversation
    /// may have thousands of other sessions.
    pub(super) fn update(&mut self, session: Option<&Session>, conversation: &Conversation) {
        let before = self.depends_on.map_or_else(SessionFacts::default, |inputs| inputs.sessions);
        let sessions = session.map_or(before, |session| before.with(session));
        let depends_on = Inputs::of(sessions, conversation);
        if self.depends_on != Some(depends_on) {
            *self = Self::evaluate(depends_on, conversation);
        }
    }

    fn evaluate(depends_on: Inputs, conversation: &Conversation) -> Self {
        let registry = Registry::all();
        let by_place = vec![None; registry.places().count()];
        let mut conditions = Self { depends_on: Some(depends_on), by_place, others: BTreeMap::new() };
        for (id, value) in evaluated_with(depends_on.sessions, conversation) {
            match registry.place(id) {
                Some(place) => conditions.by_place[place] = Some(value),
                None => drop(conditions.others.insert(id, value)),
            }
        }
        conditions
    }

    /// Whether the requirement at this place of the registry applies; `None` if that is unknown.
    pub(super) fn at(&self, place: usize) -> Option<bool> {
        self.by_place.get(place).copied().flatten()
    }

    /// The same for a requirement that has no place.
    pub(super) fn of_other(&self, id: &str) -> Option<bool> {
        self.others.get(id).copied()
    }
}

/// Returns whether each requirement with a precondition applies, as far as the conversation shows that.
pub(super) fn evaluated(conversation: &Conversation) -> impl Iterator<Item = (&'static str, bool)> {
    evaluated_with(SessionFacts::of(conversation), conversation)
}

fn evaluated_with(sessions: SessionFacts, conversation: &Conversation) -> impl Iterator<Item = (&'static str, bool)> {
    let edition: &'static Edition = conversation.edition;
    let conditional = edition.catalogue.iter().filter(|requirement| requirement.applies_when.is_evaluated());
    conditional.filter_map(move |requirement| {
        Some((
            requirement.id.as_str(),
            holds(&requirement.applies_when.condition, sessions, (conversation, requirement.party))?,
        ))
    })
}

/// Evaluates the condition of a requirement of this party; `None` if it depends on something that is unknown.
fn holds(condition: &Condition, sessions: SessionFacts, of: (&Conversation, Party)) -> Option<bool> {
    let (conversation, _) = of;
    match condition {
        Condition::Always => Some(true),
        Condition::Words => None,
        Condition::All(all) => {
            let values: Vec<_> = all.iter().map(|one| holds(one, sessions, of)).collect();
            let is_false = values.contains(&Some(false));
            if is_false { Some(false) } else { values.into_iter().collect::<Option<Vec<_>>>().map(|_| true) }
        }
        Condition::Any(any) => {
            let values: Vec<_> = any.iter().map(|one| holds(one, sessions, of)).collect();
            let is_true = values.contains(&Some(true));
            if is_true { Some(true) } else { values.into_iter().collect::<Option<Vec<_>>>().map(|_| false) }
        }
        Condition::Capability { party, path, advertised } => {
            let adapter = conversation.edition.adapter;
            conversation.introduced(*party)?;
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            Some(adapter.advertises(conversation.capabilities(*party), &path) == *advertised)
        }
        Condition::Fact(fact) => is_true(*fact, sessions, of),
    }
}

fn is_true(
    fact: ConversationFact,
    sessions: SessionFacts,
    (conversation, of_party): (&Conversation, Party),
) -> Option<bool> {
    // What was not seen may have been before a recording.
    let unless_missed = |is_seen: bool| is_seen.then_some(true).or((!conversation.holes.anywhere).then_some(false));
    let of_sessions = |is_seen: bool| if sessions.is_any_open { unless_missed(is_seen) } else { None };
    let methods = || {
        let result = conversation.initialized.as_ref().map(|(_, result)| result);
        Some(result?.list("authMethods"))
    };
    let kind = |entry: &Value| entry.text("type").unwrap_or("agent").to_owned();
    let servers = |is_stdio: bool| {
        let has_url = |server: &Value| server.member("url").is_some();
        conversation.mcp_servers.iter().any(|server| has_url(server) != is_stdio)
    };
    match fact {
        ConversationFact::Stdio
        | ConversationFact::OtherTransport
        | ConversationFact::Http
        | ConversationFact::WebSocket => {
            Some(Condition::Fact(fact).is_possible_over(conversation.transports.of(of_party)))
        }
        ConversationFact::Modes => of_sessions(sessions.has_modes),
        ConversationFact::NoModes => of_sessions(sessions.lacks_modes),
        ConversationFact::ConfigOptions => of_sessions(sessions.has_options),
        ConversationFact::AuthMethods => Some(!methods()?.is_empty()),
        ConversationFact::NoAuthMethods => Some(methods()?.is_empty()),
        ConversationFact::AgentAuthMethod => Some(methods()?.iter().any(|entry| kind(entry) == "agent")),
        ConversationFact::TerminalAuthMethod => Some(methods()?.iter().any(|entry| kind(entry) == "terminal")),
        // A login may expire in any request, so an agent that answered some without one proves nothing.
        ConversationFact::LoginRequired => conversation.login.wanted.is_some().then_some(true),
        ConversationFact::StdioMcpServer => of_sessions(servers(true)),
        ConversationFact::RemoteMcpServer => of_sessions(servers(false)),
        ConversationFact::LaterVersionOffered => {
            let (_, params) = conversation.initialize.as_ref()?;
            Some(params.member("protocolVersion")?.as_u64()? > u64::from(conversation.edition.major))
        }
    }
}
