//! The content of the pages of `session/list`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::areas::Event;
use crate::conversation::{Answer, CallSeen, Conversation, Exchange, Memory};
use crate::requirement::Party;
use crate::wire::Members;

/// The last walk through the pages of `session/list`.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The event of the last answer.
    pub n: usize,
    /// The time at which it came, in microseconds.
    pub us: u64,
    /// The `cwd` that the walk filters by.
    pub filter: Option<String>,
    /// The cursor of the last page.
    pub next: Option<String>,
    /// The sessions on the pages so far, each with its `updatedAt`.
    pub seen: BTreeMap<String, Option<String>>,
    /// Whether only listings have happened since.
    pub quiet: bool,
    /// Whether every `updatedAt` had changed since the previous listing, with no other event in between.
    pub touched: bool,
}

impl Listing {
    /// Whether this request asks for the next page of the walk, with the same filter.
    pub fn goes_on(&self, request: &Exchange) -> bool {
        let filter = self.filter.as_deref() == request.text("cwd");
        filter && self.next.is_some() && self.next.as_deref() == request.text("cursor")
    }

    /// Returns for each session of this page that is also in the walk, whether its `updatedAt` differs.
    pub fn changes(&self, page: &Value) -> Vec<bool> {
        let both = entries(page).filter_map(|(id, now)| Some((now?, self.seen.get(id)?.as_deref()?)));
        both.map(|(now, then)| now != then).collect()
    }
}

/// The most sessions that are remembered from listings.
const MOST_LISTED: usize = 10_000;

/// Returns the id and `updatedAt` of each entry of a page.
pub fn entries(page: &Value) -> impl Iterator<Item = (&str, Option<&str>)> {
    page.list("sessions").iter().filter_map(|entry| Some((entry.text("sessionId")?, entry.text("updatedAt"))))
}

/// Whether all have changed, and there are several, so that a change of a single session does not explain it.
pub fn all_of_several(changed: &[bool]) -> bool {
    changed.len() > 1 && changed.iter().all(|changed| *changed)
}

/// What the listings showed.
#[derive(Debug, Default)]
pub struct State {
    /// Cursors that the agent handed out.
    pub(super) cursors: BTreeSet<String>,
    /// The last walk through the pages.
    pub(in crate::areas) walk: Option<Listing>,
    /// The sessions that any listing contained.
    pub(in crate::areas) listed: BTreeSet<String>,
    /// How many cursors that are not empty the client followed.
    pub(super) followed: usize,
    /// Whether it ever left such a cursor, and began a list instead.
    pub(super) has_left: bool,
    /// Their working directories, by id.
    pub(in crate::areas) cwds: BTreeMap<String, String>,
}

impl State {
    /// Returns the previous listing, if it was the same as this request and nothing has happened since.
    pub(super) fn listed_before(&self, conversation: &Conversation, request: &Exchange) -> Option<&Listing> {
        let quiet = self.walk.as_ref().filter(|walk| walk.quiet && conversation.turns().next().is_none());
        quiet.filter(|walk| request.text("cursor").is_none() && walk.filter.as_deref() == request.text("cwd"))
    }

    /// Reads a call, which may change the content of a listing. A list of commands says nothing about the activity in a
    /// session, and often comes some time after the session.
    pub(in crate::areas) fn call(&mut self, call: &CallSeen<'_>) {
        if call.method == "session/list" {
            let cursor = call.text("cursor");
            self.followed += usize::from(cursor.is_some_and(|cursor| !cursor.is_empty()));
            let left = self.walk.as_ref().and_then(|walk| walk.next.as_ref()).filter(|_| cursor.is_none());
            self.has_left |= left.is_some_and(|next| !next.is_empty());
        }
        let Some(walk) = self.walk.as_mut().filter(|walk| walk.quiet && changes(call.method)) else { return };
        let update = call.params.and_then(|params| params.member("update")?.member("sessionUpdate")?.as_str());
        walk.quiet = call.method == "session/update" && update == Some("available_commands_update");
    }

    pub(in crate::areas) fn response(&mut self, event: &Event<'_>, answer: &Answer<'_>) {
        if let Some((request, page)) = answer.result_of("session/list").filter(|_| event.from == Party::Agent) {
            self.read_page(event, request, page);
        } else if let Some(walk) = self.walk.as_mut()
            && answer.exchange.is_some_and(|exchange| changes(&exchange.method))
        {
            walk.quiet = false;
        }
    }

    fn read_page(&mut self, event: &Event<'_>, request: &Exchange, page: &Value) {
        let next = page.text("nextCursor").map(str::to_owned);
        self.cursors.extend(next.clone());
        let before = self.listed_before(event.conversation, request);
        let touched = before.is_some_and(|before| all_of_several(&before.changes(page)));
        let mut walk = self.walk.take().filter(|walk| walk.goes_on(request)).unwrap_or_default();
        for (id, updated) in entries(page) {
            if walk.seen.len() < MOST_LISTED {
                walk.seen.insert(id.to_owned(), updated.map(str::to_owned));
            }
            if self.listed.len() < MOST_LISTED {
                self.listed.insert(id.to_owned());
            }
        }
        let sessions = page.list("sessions").iter();
        let text = |entry: &Value, name: &str| Some(entry.text(name)?.to_owned());
        let cwds = sessions.filter_map(|entry| Some((text(entry, "sessionId")?, text(entry, "cwd")?)));
        self.cwds.extend(cwds.filter(|(id, _)| self.listed.contains(id)));
        let (n, us, filter) = (event.n, event.us, request.text("cwd").map(str::to_owned));
        self.walk = Some(Listing { n, us, filter, next, quiet: true, touched: touched || walk.touched, ..walk });
    }

    /// What is still of use on the next connection: a new process of the agent may have other cursors.
    pub(in crate::areas) fn on_next_connection(&self) -> Self {
        Self { listed: self.listed.clone(), ..Self::default() }
    }

    /// Drops the cursors if there are too many.
    pub(in crate::areas) fn forget(&mut self, memory: Memory) -> bool {
        let many = self.cursors.len() > memory.sessions;
        if many {
            self.cursors.clear();
        }
        many
    }
}

/// Whether a call of the method may change the content of a listing.
fn changes(method: &str) -> bool {
    method != "session/list" && !method.starts_with('_')
}
