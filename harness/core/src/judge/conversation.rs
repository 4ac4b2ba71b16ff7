//! The conversation: what has been said so far, as far as later messages are judged by it.

mod apply;
mod course;
pub(in crate::judge) mod exchange;
mod fence;
mod forget;
mod listing;
mod notifications;
mod open;
mod options;
mod replay;
mod services;
pub(super) mod session;
mod terminal;
mod visits;
mod work;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::Value;

pub(in crate::judge) use self::course::plan_texts;
pub use self::course::{After, AtCancel, CancelRequest, Course, Deed, GarbledKind, Login, SessionCourse, TurnCourse};
pub use self::exchange::Exchange;
pub use self::forget::{Holes, Memory};
pub use self::listing::{Listing, all_of_several, entries};
pub use self::notifications::PendingNotifications;
pub use self::open::OpenRequests;
pub use self::options::{option_id, option_text, option_values};
pub use self::services::{Refusal, Write};
pub use self::session::{Decision, Ended, Opening, Permission, Session, ToolCall, Turn};
pub use self::terminal::{Terminal, TerminalExit};
pub use self::visits::{VisitState, Visits};
pub use self::work::{Work, asks_replay, message_of};
use crate::judge::timing::{CLEAN_UP, between};
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::trace::INVENTED;
use crate::wire::{Members, RpcId};

/// What a party said about itself in `initialize`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Introduction {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

/// The requests by which a client changes the settings of a session; an agent may take up the change late.
pub(in crate::judge) const SETTERS: [&str; 2] = ["session/set_mode", "session/set_config_option"];

/// What has been said before the event at hand.
pub struct Conversation {
    /// The edition that the conversation is judged by.
    pub edition: &'static Edition,
    /// Whether everything was seen from the start, as in a case; a recording may begin in the middle.
    pub whole: bool,
    /// The event with which the current case begins.
    case_from: usize,
    /// Whether a message was seen.
    pub begun: bool,
    /// In a case: the events in which the agent reported a tool call, asked permission for one, or its scripted model called one.
    pub tool_reports: BTreeSet<usize>,
    /// What may have been said that was not seen, or that was forgotten.
    pub holes: Holes,
    /// The last message that holds more values than are read. What it lacks may be what a later check misses.
    pub cut: Option<usize>,
    /// Requests that were sent and not answered yet.
    pub open: OpenRequests,
    /// The requests that were answered, by sender and id: the event of the answer.
    pub answered: HashMap<(Party, RpcId), usize>,
    /// By sender: the ids of requests that were given to another one before they were answered; each of the two has an answer.
    pub shared_ids: BTreeSet<(Party, RpcId)>,
    /// The params of `initialize`, and the event that carried them.
    pub initialize: Option<(usize, Value)>,
    /// The result of `initialize`, and the event that carried it.
    pub initialized: Option<(usize, Value)>,
    /// The version in that result.
    pub(in crate::judge) version: Option<u64>,
    /// The same, where it exists and is not the version that is judged.
    pub(in crate::judge) other_version: Option<u64>,
    /// The sessions that the client knows, by id.
    pub sessions: BTreeMap<String, Session>,
    /// The entries of MCP servers that the client has named for its sessions.
    pub mcp_servers: Vec<Value>,
    /// The terminals that the client made, by id.
    pub terminals: BTreeMap<String, Terminal>,
    /// The last line that each party sent and that could not be read as a message: its event, and whether it was on
    /// purpose.
    pub unreadable: BTreeMap<Party, usize>,
    /// The last notification that each party sent, by its event and method.
    pub last_notification: BTreeMap<Party, (usize, String)>,
    /// The notifications that an answer to no request may be to.
    pub notifications: PendingNotifications,
    /// How many requests were answered by each party.
    pub answers: BTreeMap<Party, usize>,
    /// Methods that a party sent, for rules on what was announced.
    pub methods_used: BTreeMap<Party, BTreeSet<String>>,
    /// Whether the subject's output ended.
    pub stdout_ended: Option<usize>,
    /// Whether the tester stopped the subject, or closed its input: what is unanswered then is nobody's fault.
    pub shutting_down: Option<usize>,
    /// The requests that were waited for until their time limit, by their event, with the event of the verdict.
    pub timed_out: BTreeMap<usize, usize>,
    /// The event of the last fence that was answered: whatever was sent before it and is still open was passed over.
    pub fence: Option<usize>,
    /// When that fence was answered, in microseconds.
    pub fence_us: u64,
    /// Answers that were errors: event → method and code.
    pub errors: BTreeMap<usize, (String, i64)>,
    /// Session ids that the client used and nobody gave it. It named them first, so whoever answers may use them too.
    pub invented_sessions: BTreeSet<String>,
    /// Cursors that `session/list` handed out.
    pub cursors: BTreeSet<String>,
    /// The finer course of things.
    pub course: Course,
    /// Sessions that were deleted and not named since: id → event of the answer.
    pub deleted: BTreeMap<String, usize>,
    /// The events of lines that the tester sent in breach of the protocol, on purpose.
    pub deliberate: BTreeSet<usize>,
    /// The last walk through `session/list`.
    pub listing: Option<Listing>,
    /// The sessions that some listing showed.
    pub listed: BTreeSet<String>,
    /// The working directories that listings gave for sessions, by id.
    pub listed_cwds: BTreeMap<String, String>,
    /// The kinds of requests that each party has answered at once, in whatever way, with the event of the first such answer;
    /// see [`Self::has_replied_before`].
    replied: BTreeMap<(Party, String), usize>,
    /// The methods that the client has served with a result.
    pub served: BTreeSet<String>,
    /// The pages that the agent asked the user to visit.
    pub visits: Visits,
    /// The ids of requests of which nobody knows who sent them, and that are not answered.
    stray_requests: BTreeSet<RpcId>,
    /// By sender: the event of its last request, in the order of sending, that was answered.
    pub latest_answered: BTreeMap<Party, usize>,
}

impl Conversation {
    /// Whether the client called a method that this edition does not know, and that may open sessions, as a draft's
    /// `session/fork` or an extension. The tester's own extension methods open none.
    #[must_use]
    pub fn may_open_otherwise(&self) -> bool {
        let mut used = self.methods_of(Party::Client);
        used.any(|method| !self.edition.methods.knows(Party::Client, method) && !method.starts_with(INVENTED))
    }

    /// Whether the client may know a session that no request of this edition opened: it learned of it before the trace
    /// began or by another method, or named it first.
    #[must_use]
    pub fn may_know_session(&self, id: &str) -> bool {
        self.initialized.is_none() || self.invented_sessions.contains(id) || self.may_open_otherwise()
    }

    /// A conversation in which nothing was said; `whole` as in the field.
    #[must_use]
    pub fn new(edition: &'static Edition, whole: bool) -> Self {
        Self {
            edition,
            whole,
            case_from: 0,
            begun: false,
            tool_reports: BTreeSet::new(),
            holes: Holes::default(),
            cut: None,
            open: OpenRequests::default(),
            answered: HashMap::new(),
            shared_ids: BTreeSet::new(),
            initialize: None,
            initialized: None,
            version: None,
            other_version: None,
            sessions: BTreeMap::new(),
            mcp_servers: Vec::new(),
            terminals: BTreeMap::new(),
            unreadable: BTreeMap::new(),
            last_notification: BTreeMap::new(),
            notifications: PendingNotifications::default(),
            answers: BTreeMap::new(),
            methods_used: BTreeMap::new(),
            stdout_ended: None,
            shutting_down: None,
            timed_out: BTreeMap::new(),
            fence: None,
            fence_us: 0,
            errors: BTreeMap::new(),
            invented_sessions: BTreeSet::new(),
            cursors: BTreeSet::new(),
            course: Course::default(),
            deleted: BTreeMap::new(),
            deliberate: BTreeSet::new(),
            listing: None,
            listed: BTreeSet::new(),
            listed_cwds: BTreeMap::new(),
            replied: BTreeMap::new(),
            served: BTreeSet::new(),
            visits: Visits::default(),
            latest_answered: BTreeMap::new(),
            stray_requests: BTreeSet::new(),
        }
    }

    /// Begins a further case of the conversation. A change that the client made in an earlier case has had its effect by now.
    pub(in crate::judge) fn begin_case(&mut self, n: usize) {
        self.case_from = n;
        for used in self.methods_used.values_mut() {
            used.retain(|method| !SETTERS.contains(&method.as_str()));
        }
    }

    /// Whether the event is of the current case; true for all events where a conversation holds one case.
    #[must_use]
    pub const fn is_of_case(&self, n: usize) -> bool {
        n >= self.case_from
    }

    /// Notes that the tester stopped the subject, or ended its input.
    pub(in crate::judge) fn shut_down(&mut self, n: usize, us: u64) {
        self.shutting_down = self.shutting_down.or(Some(n));
        self.course.closed_us.get_or_insert(us);
    }

    /// Whether the client advertised the capability; false as long as it has not said anything.
    #[must_use]
    pub fn client_has(&self, path: &[&str]) -> bool {
        let params = self.initialize.as_ref().map(|(_, params)| params);
        let adapter = self.edition.adapter;
        adapter.advertises(params.and_then(|params| adapter.client_capabilities(params)), path)
    }

    /// Whether the agent advertised the capability; false as long as it has not said anything.
    #[must_use]
    pub fn agent_has(&self, path: &[&str]) -> bool {
        let result = self.initialized.as_ref().map(|(_, result)| result);
        let adapter = self.edition.adapter;
        adapter.advertises(result.and_then(|result| adapter.agent_capabilities(result)), &adapter.agent_path(path))
    }

    /// The area of an optional method that the agent did not announce, or of which that is not known. Its rules bind only who announces the method,
    /// so what an agent answers to it all the same breaks none of them.
    #[must_use]
    pub fn unannounced_area<'m>(&self, method: &'m str) -> Option<&'m str> {
        let path = self.edition.adapter.capability_of(method)?;
        let area = method.strip_prefix("session/")?;
        let known = self.initialized.is_some();
        (if known { !self.agent_has(path) } else { self.holes.anywhere }).then_some(area)
    }

    /// Whether the client said in `initialize` that it lacks what this method of its own needs, or may have said so. What it answers all the
    /// same breaks none of the rules on the form of such answers.
    #[must_use]
    pub fn is_unoffered(&self, method: &str) -> bool {
        let unknown = self.initialize.is_none() && self.holes.anywhere;
        self.edition.adapter.client_capability_of(method).is_some_and(|path| unknown || self.client_lacks(path))
    }

    /// Whether the party had answered a request of this method at once before the event `n`, in whatever way; all custom
    /// methods count as one. Programs that answer such requests late or never do so in calm moments as well.
    #[must_use]
    pub fn has_replied_before(&self, party: Party, method: &str, n: usize) -> bool {
        let mut known = self.replied.iter().filter(|((who, known), _)| *who == party && known == kind_of(method));
        known.any(|(_, at)| *at < n)
    }

    /// Returns the event of a fence that shows that an agent had time to clean up after something that happened then.
    #[must_use]
    pub fn settled_since(&self, us: u64) -> Option<usize> {
        self.fence.filter(|_| between(us, self.fence_us) >= CLEAN_UP)
    }

    /// The open requests of one party, in the order in which they were sent.
    pub fn open_of(&self, sender: Party) -> impl Iterator<Item = &Exchange> {
        self.open.values().map(Rc::as_ref).filter(move |exchange| exchange.from == sender)
    }

    /// The event of a prompt of this session that has no answer yet.
    #[must_use]
    pub fn open_prompt(&self, session: &str) -> Option<usize> {
        let of = |open: &&Rc<Exchange>| open.from == Party::Client && open.method == "session/prompt";
        self.open.values().filter(of).find(|open| open.session() == Some(session)).map(|open| open.n)
    }

    /// Whether prompts of one session overlap in the session that the params name, or did in its last turn.
    #[must_use]
    pub fn is_overlapped(&self, session: &str) -> bool {
        let turn = self.course.session(session).and_then(|course| course.turn.as_ref());
        turn.is_some_and(|turn| turn.overlapped.is_some())
    }

    /// Whether the party said something that may not have been understood, so that an answer without an id may be to that.
    /// A request whose id has a fraction or exceeds 2^53 counts: some readers refuse such an id and answer with null.
    #[must_use]
    pub fn is_unclear(&self, sender: Party) -> bool {
        let refusable = |open: &Exchange| !open.is_sound() || !open.id.is_integral();
        self.unreadable.contains_key(&sender) || self.open_of(sender).any(refusable)
    }

    /// Whether the party has sent the method.
    #[must_use]
    pub fn has_sent(&self, party: Party, method: &str) -> bool {
        self.methods_used.get(&party).is_some_and(|used| used.contains(method))
    }

    /// The methods that the party has sent, sorted.
    pub fn methods_of(&self, party: Party) -> impl Iterator<Item = &str> {
        self.methods_used.get(&party).into_iter().flatten().map(String::as_str)
    }

    /// The session with this id, if the client knows it.
    #[must_use]
    pub fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.get(id)
    }

    /// The sessions in which a turn is running.
    pub fn turns(&self) -> impl Iterator<Item = (&Session, &Turn)> {
        self.sessions.values().filter_map(|session| Some((session, session.turn.as_ref()?)))
    }

    /// What a party said about itself.
    #[must_use]
    pub fn introduction(&self, party: Party) -> Option<Introduction> {
        let info = match party {
            Party::Agent => {
                self.initialized.as_ref().map(|(_, result)| result.member("agentInfo").or(result.member("info")))??
            }
            Party::Client => {
                self.initialize.as_ref().map(|(_, asked)| asked.member("clientInfo").or(asked.member("info")))??
            }
        };
        let text = |name: &str| info.member(name).and_then(Value::as_str).map(str::to_owned);
        Some(Introduction { name: Some(text("name")?), version: text("version") })
    }

    /// Whether both agreed on another major than the one that is judged, so that its rules on content do not hold.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.version().is_some_and(|version| version != u64::from(self.edition.major))
    }

    /// The version that both agreed on, when it exists and is not the one that is judged.
    #[must_use]
    pub const fn other_version(&self) -> Option<u64> {
        self.other_version
    }

    /// The version above the edition's that the client asked for, when the agent answered the edition's and the client then
    /// left without another request.
    #[must_use]
    pub fn turned_down(&self) -> Option<u64> {
        let major = u64::from(self.edition.major);
        let asked = self.initialize.as_ref()?.1.member("protocolVersion")?.as_u64()?;
        let silent = self.methods_of(Party::Client).all(|method| method == "initialize");
        (asked > major && self.version() == Some(major) && silent).then_some(asked)
    }

    /// The version that both agreed on, when it was agreed on.
    #[must_use]
    pub const fn version(&self) -> Option<u64> {
        self.version
    }
}

/// What a request is, as far as it matters whether it is answered at all: its method, or that it is none of the protocol's.
fn kind_of(method: &str) -> &str {
    if method.starts_with('_') { "_" } else { method }
}
