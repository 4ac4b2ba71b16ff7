//! The conversation: the history that later messages are checked against.

mod announced;
mod apply;
mod exchange;
mod fence;
mod forget;
mod history;
mod model_log;
mod notifications;
mod open;
mod options;
mod outcome;
mod permission;
mod replay;
mod seen;
mod services;
mod session;
mod terminal;
pub(crate) mod timing;
mod trials;
mod turn_log;
mod work;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use serde_json::Value;

pub use self::announced::Child;
pub(crate) use self::announced::SUBAGENT;
pub use self::exchange::Exchange;
pub(crate) use self::exchange::{PROXY_INITIALIZE, opens_connection};
pub use self::forget::{Holes, Memory};
pub use self::history::{History, message_of, text_of_content};
pub(crate) use self::model_log::words_of;
pub use self::model_log::{Block, IntentPrompt, ModelAsked, ModelLog, Reported};
pub use self::notifications::PendingNotifications;
pub use self::open::OpenRequests;
pub use self::options::{current_values, option_id, option_values, value_name};
pub use self::outcome::Outcome;
pub use self::permission::{Decision, Permission};
pub use self::seen::{Answer, CallSeen, LineSeen, Payload, UpdateSeen};
pub use self::session::{Ended, Opening, Refusal, Session, ToolCall, Turn, is_final};
pub use self::terminal::{Terminal, TerminalExit};
pub use self::trials::{StoppedBy, Trial, Trials, has_entries};
pub use self::turn_log::{After, AtCancel, CancelRequest, Login, Refused, SideEffect, Target, TurnLog};
pub use self::work::{Activity, EndedBy, Ending, Work, asks_replay};
use crate::conversation::timing::{CLEAN_UP, between};
use crate::protocol::{Capability, Edition, Feature};
use crate::requirement::{Area, Party, Transports};
use crate::trace::INVENTED;
use crate::wire::{Members, RpcId};

/// The name and version of a party in `initialize`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Introduction {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

/// The requests by which a client changes the settings of a session; an agent may take up the change late.
pub(crate) const SETTERS: [&str; 2] = ["session/set_mode", "session/set_config_option"];

/// The history before the current event.
pub struct Conversation {
    /// The edition that the conversation is checked by.
    pub edition: &'static Edition,
    /// Whether the trace contains everything from the start, as in a case; a recording may begin in the middle.
    pub whole: bool,
    /// The event with which the current case begins.
    case_from: usize,
    /// What carries the messages.
    pub transports: Transports,
    /// Whether a message has come.
    pub begun: bool,
    /// In a case: the events in which the agent reported a tool call, asked permission for one, or its scripted model
    /// called one.
    pub tool_reports: BTreeSet<usize>,
    /// The kinds of messages that may be missing from the trace or were forgotten.
    pub holes: Holes,
    /// Whether the content of the trace was replaced: texts of equal length look alike, so nothing follows from two
    /// equal ones.
    pub is_redacted: bool,
    /// The last message with more values than are read. A later check may miss the values that were cut.
    pub cut: Option<usize>,
    /// Requests that were sent and not answered yet.
    pub open: OpenRequests,
    /// The requests that were answered, by sender and id: the event of the answer.
    pub answered: HashMap<(Party, RpcId), usize>,
    /// By sender: the ids of requests that were given to another one before they were answered; each of the two has an
    /// answer.
    pub shared_ids: BTreeSet<(Party, RpcId)>,
    /// The params of `initialize`, and their event.
    pub initialize: Option<(usize, Value)>,
    /// The result of `initialize`, and its event.
    pub initialized: Option<(usize, Value)>,
    /// The version in that result.
    pub(crate) version: Option<u64>,
    /// The same, if it exists and is not the version that is checked.
    pub(crate) other_version: Option<u64>,
    /// The sessions that the client knows, by id.
    pub sessions: BTreeMap<String, Session>,
    /// The sessions of the agent's earlier processes, by id, until the client opens them again.
    earlier_sessions: BTreeMap<String, Session>,
    /// The digests of the instructions in requests to the model, each with the first event.
    pub instructions: BTreeMap<String, usize>,
    /// The last request to the model that belongs to no prompt, or to one of several.
    pub other_model_request: Option<usize>,
    /// A request to the model that held the earlier prompt of a session which was not opened again in between.
    pub passes_history: Option<usize>,
    /// The sorts of images, sounds and embedded resources that reached the model, each with the first request.
    pub passed: BTreeMap<(String, bool, String), usize>,
    /// The entries of MCP servers that the client has named for its sessions.
    pub mcp_servers: Vec<Value>,
    /// The terminals that the client made, by id.
    pub terminals: BTreeMap<String, Terminal>,
    /// The ids of those that the agent has not released.
    pub unreleased: BTreeSet<String>,
    /// The last line of each party that could not be read as a message: its event.
    pub unreadable: BTreeMap<Party, usize>,
    /// The notifications that an answer without a request may belong to.
    pub notifications: PendingNotifications,
    /// The number of requests that each party answered.
    pub answers: BTreeMap<Party, usize>,
    /// The methods that a party sent, for requirements about announced capabilities.
    pub methods_used: BTreeMap<Party, BTreeSet<String>>,
    /// The last lines on standard error of the subject: their events.
    pub stderr: VecDeque<usize>,
    /// The event at which the subject's output ended.
    pub stdout_ended: Option<usize>,
    /// The event at which the tester stopped the subject or closed its input: requests that are unanswered then are
    /// not a failure of any party.
    pub shutting_down: Option<usize>,
    /// The requests whose answer did not come within their time limit, by their event, with the event of the timeout.
    pub timed_out: BTreeMap<usize, usize>,
    /// The event of the last answered fence: a request that was sent before it and is still open was ignored.
    pub fence: Option<usize>,
    /// The time at which that fence was answered, in microseconds.
    pub fence_us: u64,
    /// Whether the agent took a prompt that had to wait for the end of other work.
    pub holds_prompts: bool,
    /// Answers that were errors, by event: method and code.
    pub errors: BTreeMap<usize, (String, i64)>,
    /// Session ids that the client used although no agent created them. The client used them first, so its partner may
    /// use them too.
    pub invented_sessions: BTreeSet<String>,
    /// The sessions of subagents, by id. The client knows them from their announcement on.
    pub children: BTreeMap<String, Child>,
    /// Session ids in updates that only a draft or another revision defines, and those of subagents that the client may
    /// know. It may know these sessions.
    pub announced_sessions: BTreeSet<String>,
    /// The last line of each party: its event and microseconds.
    pub last_line: BTreeMap<Party, (usize, u64)>,
    /// The bytes of all lines so far, of both parties; see [`Self::in_between`].
    pub heard: u64,
    /// The agent's first request or notification.
    pub first_call: Option<usize>,
    /// The microseconds at which the subject's input was closed, or the subject stopped.
    pub closed_us: Option<u64>,
    /// The state of the login.
    pub login: Login,
    /// Sessions that an update named before the client knew them, with the event.
    pub unknown_sessions: BTreeMap<String, usize>,
    /// The `$/cancel_request`s of both parties.
    pub cancel_requests: Vec<CancelRequest>,
    /// Sessions that were deleted and not named since, by id, with the event of the answer.
    pub deleted: BTreeMap<String, usize>,
    /// The events of lines in which the tester violated the protocol on purpose.
    pub deliberate: BTreeSet<usize>,
    /// The kinds of requests that each party has answered at once in any way, with the event of the first such answer;
    /// see [`Self::has_replied_before`].
    replied: BTreeMap<(Party, String), usize>,
    /// The methods that the client has served with a result.
    pub served: BTreeSet<String>,
    /// The answered requests of a case.
    pub trials: Trials,
    /// The ids of unanswered requests whose sender is unknown.
    stray_requests: BTreeSet<RpcId>,
    /// By sender: the event of its last request, in the order of sending, that has an answer.
    pub latest_answered: BTreeMap<Party, usize>,
}

impl Conversation {
    /// Whether the client called a method that this edition does not define and that may open sessions, such as a
    /// draft's `session/fork` or an extension. The tester's own extension methods open none.
    pub fn may_open_otherwise(&self) -> bool {
        let mut used = self.methods_of(Party::Client);
        used.any(|method| !self.edition.methods.knows(Party::Client, method) && !method.starts_with(INVENTED))
    }

    /// Whether the client may know a session that no request of this edition opened: it may know it from before the
    /// trace or by another method, or have used the id first.
    pub fn may_know_session(&self, id: &str) -> bool {
        self.initialized.is_none()
            || self.invented_sessions.contains(id)
            || self.announced_sessions.contains(id)
            || self.may_open_otherwise()
    }

    /// Creates a conversation without messages; `whole` as in the field.
    pub fn new(edition: &'static Edition, whole: bool) -> Self {
        Self {
            edition,
            whole,
            case_from: 0,
            transports: Transports::default(),
            begun: false,
            tool_reports: BTreeSet::new(),
            holes: Holes::default(),
            is_redacted: false,
            cut: None,
            open: OpenRequests::default(),
            answered: HashMap::new(),
            shared_ids: BTreeSet::new(),
            initialize: None,
            initialized: None,
            version: None,
            other_version: None,
            sessions: BTreeMap::new(),
            earlier_sessions: BTreeMap::new(),
            instructions: BTreeMap::new(),
            other_model_request: None,
            passes_history: None,
            passed: BTreeMap::new(),
            mcp_servers: Vec::new(),
            terminals: BTreeMap::new(),
            unreleased: BTreeSet::new(),
            unreadable: BTreeMap::new(),
            notifications: PendingNotifications::default(),
            answers: BTreeMap::new(),
            methods_used: BTreeMap::new(),
            stderr: VecDeque::new(),
            stdout_ended: None,
            shutting_down: None,
            timed_out: BTreeMap::new(),
            fence: None,
            fence_us: 0,
            holds_prompts: false,
            errors: BTreeMap::new(),
            invented_sessions: BTreeSet::new(),
            children: BTreeMap::new(),
            announced_sessions: BTreeSet::new(),
            last_line: BTreeMap::new(),
            heard: 0,
            first_call: None,
            closed_us: None,
            login: Login::default(),
            unknown_sessions: BTreeMap::new(),
            cancel_requests: Vec::new(),
            deleted: BTreeMap::new(),
            deliberate: BTreeSet::new(),
            replied: BTreeMap::new(),
            served: BTreeSet::new(),
            latest_answered: BTreeMap::new(),
            trials: Trials::default(),
            stray_requests: BTreeSet::new(),
        }
    }

    /// Creates the conversation on the next connection. In a case of an agent that has ended, this is that of its next
    /// process, which may open the sessions of this one again.
    pub(crate) fn on_next_connection(&self, is_agents: bool) -> Self {
        let next = Self::new(self.edition, self.whole).over(self.transports);
        if !(is_agents && self.whole && self.shutting_down.is_some()) {
            return next;
        }
        let mut earlier_sessions = self.earlier_sessions.clone();
        for (id, session) in &self.sessions {
            let mut session = session.clone();
            session.uneven |= session.turn.take().is_some();
            (session.loading, session.resuming, session.reopened, session.was_ended) = (None, None, None, true);
            session.work.shown.clear();
            // What the next process sends belongs to no turn of this one.
            (session.log, session.asked, session.refused) = (None, None, None);
            earlier_sessions.insert(id.clone(), session);
        }
        // The client may show the children of these sessions again, before the agent announces them again.
        let announced_sessions = self.children.keys().chain(&self.announced_sessions).cloned().collect();
        // An agent may have kept one that was still active.
        let is_gone = |id: &String| self.sessions.get(id).is_none_or(|session| session.closed.is_some());
        let deleted = self.deleted.iter().filter(|(id, _)| is_gone(id)).map(|(id, n)| (id.clone(), *n)).collect();
        Self { earlier_sessions, announced_sessions, deleted, passes_history: self.passes_history, ..next }
    }

    /// Sets what carries the messages.
    pub const fn over(mut self, transports: Transports) -> Self {
        self.transports = transports;
        self
    }

    /// Whether its client may open sessions of an earlier process of the agent.
    pub(crate) fn has_earlier_sessions(&self) -> bool {
        !self.earlier_sessions.is_empty()
    }

    /// Begins another case of the conversation. A change that the client made in an earlier case has taken effect by
    /// now.
    pub(crate) fn begin_case(&mut self, n: usize) {
        self.case_from = n;
        for used in self.methods_used.values_mut() {
            used.retain(|method| !SETTERS.contains(&method.as_str()));
        }
    }

    /// Whether the event belongs to the current case; true for all events if the conversation holds one case.
    pub const fn is_of_case(&self, n: usize) -> bool {
        n >= self.case_from
    }

    /// Records output on standard error, which may explain an exit.
    pub(crate) fn note_stderr(&mut self, n: usize) {
        const MOST: usize = 12;
        if self.stderr.len() == MOST {
            self.stderr.pop_front();
        }
        self.stderr.push_back(n);
    }

    /// Records that the tester stopped the subject, or ended its input.
    pub(crate) fn shut_down(&mut self, n: usize, us: u64) {
        self.shutting_down = self.shutting_down.or(Some(n));
        self.closed_us.get_or_insert(us);
    }

    /// Returns the message of `initialize` in which a party advertises its capabilities, with its event.
    pub const fn introduced(&self, party: Party) -> Option<&(usize, Value)> {
        match party {
            Party::Agent => self.initialized.as_ref(),
            Party::Client => self.initialize.as_ref(),
        }
    }

    /// Returns the capabilities that a party advertises.
    pub fn capabilities(&self, party: Party) -> Option<&Value> {
        self.edition.adapter.capabilities(party, &self.introduced(party)?.1)
    }

    /// Returns the name of the client's capability for a feature, for people.
    pub fn capability_name(&self, feature: Feature<'_>) -> String {
        self.edition.adapter.capability(Party::Client, feature).map(Capability::name).unwrap_or_default()
    }

    /// Whether the client advertises the capability for a feature; false before its `initialize`.
    pub fn client_has(&self, feature: Feature<'_>) -> bool {
        self.edition.adapter.has(Party::Client, self.capabilities(Party::Client), feature)
    }

    /// Whether the agent advertises the capability for a feature; false before its answer to `initialize`.
    pub fn agent_has(&self, feature: Feature<'_>) -> bool {
        self.edition.adapter.has(Party::Agent, self.capabilities(Party::Agent), feature)
    }

    /// Whether the client lacks the capability for a feature in `initialize`: it is absent, null or false. False before
    /// `initialize`.
    pub fn client_lacks(&self, feature: Feature<'_>) -> bool {
        let capabilities = self.capabilities(Party::Client);
        let needed = self.edition.adapter.capability(Party::Client, feature);
        let found =
            needed.and_then(|needed| needed.path.iter().try_fold(capabilities?, |value, key| value.member(key)));
        self.initialize.is_some() && matches!(found, None | Some(Value::Null | Value::Bool(false)))
    }

    /// Whether the agent answered `initialize` without advertising the capability for a feature; false before that
    /// answer.
    pub fn agent_lacks(&self, feature: Feature<'_>) -> bool {
        self.initialized.is_some() && !self.agent_has(feature)
    }

    /// Whether the trace, or what is kept of it, may miss work that the agent reported in the session.
    pub fn may_miss_work(&self, session: &Session) -> bool {
        session.work.overflown || self.holes.anywhere || self.holes.sessions || self.holes.tools
    }

    /// Returns the area of an optional method that the agent did not announce, or may not have announced. The
    /// requirements of the area apply only to agents that announce the method, so answers to it cannot violate
    /// them.
    pub fn unannounced_area<'m>(&self, method: &'m str) -> Option<Area<'m>> {
        let feature = Feature::Method(method);
        self.edition.adapter.capability(Party::Agent, feature)?;
        let unknown = self.initialized.is_none() && self.holes.anywhere;
        Area::of_session_method(method).filter(|_| unknown || self.agent_lacks(feature))
    }

    /// Whether the client lacks, or may lack, a capability that this method of its own needs. Its answers then violate
    /// no requirement on the form of such answers.
    pub fn is_unoffered(&self, method: &str) -> bool {
        let unknown = self.initialize.is_none() && self.holes.anywhere;
        let feature = Feature::Method(method);
        let needed = self.edition.adapter.capability(Party::Client, feature);
        needed.is_some() && (unknown || self.client_lacks(feature))
    }

    /// Whether the party had answered a request of this method at once in any way before the event `n`; all custom
    /// methods count as one. Programs that answer such requests late or never do so at calm times as well.
    pub fn has_replied_before(&self, party: Party, method: &str, n: usize) -> bool {
        let mut known = self.replied.iter().filter(|((who, known), _)| *who == party && known == kind_of(method));
        known.any(|(_, at)| *at < n)
    }

    /// Returns the event of a fence that proves that an agent had time to clean up after something at that time.
    pub fn settled_since(&self, us: u64) -> Option<usize> {
        self.fence.filter(|_| between(us, self.fence_us) >= CLEAN_UP)
    }

    /// Returns the open requests of one party, in the order of sending.
    pub fn open_of(&self, sender: Party) -> impl Iterator<Item = &Exchange> {
        self.open.values().map(Rc::as_ref).filter(move |exchange| exchange.from == sender)
    }

    /// Returns the prompts that have no answer yet, in the order of sending, without those that are wrong on purpose.
    pub fn open_prompts(&self) -> impl Iterator<Item = &Exchange> {
        self.open_of(Party::Client).filter(|open| open.method == "session/prompt" && open.is_sound())
    }

    /// Returns the event of a prompt of this session that has no answer yet.
    pub fn open_prompt(&self, session: &str) -> Option<usize> {
        let of = |open: &&Rc<Exchange>| open.from == Party::Client && open.method == "session/prompt";
        self.open.values().filter(of).find(|open| open.session() == Some(session)).map(|open| open.n)
    }

    /// Whether prompts of one session overlap in the session that the params name, or did in its last turn.
    pub fn is_overlapped(&self, session: &str) -> bool {
        self.session(session).and_then(|session| session.log.as_ref()).is_some_and(|log| log.overlapped.is_some())
    }

    /// Whether the party sent a message that the other may not have understood, so that an answer without an id may
    /// belong to it. A request whose id has a fraction or exceeds 2^53 counts: some readers refuse such an id and
    /// answer with null.
    pub fn is_unclear(&self, sender: Party) -> bool {
        let refusable = |open: &Exchange| !open.is_sound() || !open.id.is_integral();
        self.unreadable.contains_key(&sender) || self.open_of(sender).any(refusable)
    }

    /// Whether the party has sent the method.
    pub fn has_sent(&self, party: Party, method: &str) -> bool {
        self.methods_used.get(&party).is_some_and(|used| used.contains(method))
    }

    /// Returns the methods that the party has sent, sorted.
    pub fn methods_of(&self, party: Party) -> impl Iterator<Item = &str> {
        self.methods_used.get(&party).into_iter().flatten().map(String::as_str)
    }

    /// Returns the session with this id, if the client knows it.
    pub fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.get(id)
    }

    /// Returns the sessions with a running turn.
    pub fn turns(&self) -> impl Iterator<Item = (&Session, &Turn)> {
        self.sessions.values().filter_map(|session| Some((session, session.turn.as_ref()?)))
    }

    /// Returns the name and version of a party in `initialize`.
    pub fn introduction(&self, party: Party) -> Option<Introduction> {
        let info = match party {
            Party::Agent => {
                self.initialized.as_ref().map(|(_, result)| result.member("agentInfo").or(result.member("info")))??
            }
            Party::Client => {
                self.initialize.as_ref().map(|(_, asked)| asked.member("clientInfo").or(asked.member("info")))??
            }
        };
        let text = |name: &str| info.text(name).map(str::to_owned);
        Some(Introduction { name: Some(text("name")?), version: text("version") })
    }

    /// Whether the parties agreed on another major than the edition's, so that its requirements on content do not
    /// apply.
    pub fn is_foreign(&self) -> bool {
        self.version().is_some_and(|version| version != u64::from(self.edition.major))
    }

    /// Returns the agreed version, if it exists and is not the edition's, or the version of an agent that supports only
    /// a later one.
    pub const fn other_version(&self) -> Option<u64> {
        self.other_version
    }

    /// Whether the messages of the party belong to another version than the edition's. A client speaks the version that
    /// it asked for, or an earlier one that its agent chose; no answer makes it speak a later one.
    pub fn is_uncovered(&self, party: Party) -> bool {
        let agreed = self.other_version.or(self.version);
        let asked = self.asked_version().filter(|&asked| asked > 0 && agreed.is_some_and(|agreed| asked < agreed));
        match asked.filter(|_| party == Party::Client) {
            Some(asked) => asked != u64::from(self.edition.major),
            None => self.other_version.is_some(),
        }
    }

    /// Returns the version that the client asked for.
    pub fn asked_version(&self) -> Option<u64> {
        self.initialize.as_ref()?.1.member("protocolVersion")?.as_u64()
    }

    /// Returns the version above the edition's that the client requested, if the agent answered with the edition's and
    /// the client then left without another request.
    pub fn turned_down(&self) -> Option<u64> {
        let major = u64::from(self.edition.major);
        let asked = self.asked_version()?;
        let silent = self.methods_of(Party::Client).all(|method| method == "initialize");
        (asked > major && self.version() == Some(major) && silent).then_some(asked)
    }

    /// Returns the agreed version, if there is one.
    pub const fn version(&self) -> Option<u64> {
        self.version
    }
}

/// Returns the method of a request, with one common value for all methods that the protocol does not define.
fn kind_of(method: &str) -> &str {
    if method.starts_with('_') { "_" } else { method }
}
