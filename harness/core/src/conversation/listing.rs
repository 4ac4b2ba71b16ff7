//! The content of the pages of `session/list`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Conversation, Exchange};
use crate::protocol::Update;
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
    #[must_use]
    pub fn goes_on(&self, request: &Exchange) -> bool {
        let filter = self.filter.as_deref() == request.text("cwd");
        filter && self.next.is_some() && self.next.as_deref() == request.text("cursor")
    }

    /// Returns for each session of this page that is also in the walk, whether its `updatedAt` differs.
    #[must_use]
    pub fn changes(&self, page: &Value) -> Vec<bool> {
        let both = entries(page).filter_map(|(id, now)| Some((now?, self.seen.get(id)?.as_deref()?)));
        both.map(|(now, then)| now != then).collect()
    }
}

/// The most sessions that are remembered from listings.
const MOST_LISTED: usize = 10_000;

/// Returns the id and `updatedAt` of each entry of a page.
pub fn entries(page: &Value) -> impl Iterator<Item = (&str, Option<&str>)> {
    let sessions = page.member("sessions").and_then(Value::as_array).into_iter().flatten();
    sessions.filter_map(|entry| {
        Some((entry.member("sessionId")?.as_str()?, entry.member("updatedAt").and_then(Value::as_str)))
    })
}

/// Whether all have changed, and there are several, so that a change of a single session does not explain it.
#[must_use]
pub fn all_of_several(changed: &[bool]) -> bool {
    changed.len() > 1 && changed.iter().all(|changed| *changed)
}

impl Conversation {
    /// Returns the previous listing, if it was the same as this request and nothing has happened since.
    #[must_use]
    pub fn listed_before(&self, request: &Exchange) -> Option<&Listing> {
        let quiet = self.listing.as_ref().filter(|walk| walk.quiet && self.turns().next().is_none());
        quiet.filter(|walk| request.text("cursor").is_none() && walk.filter.as_deref() == request.text("cwd"))
    }

    /// Processes one page.
    pub(super) fn apply_page(&mut self, (n, us): (usize, u64), request: &Exchange, page: &Value) {
        let next = page.member("nextCursor").and_then(Value::as_str).map(str::to_owned);
        self.cursors.extend(next.clone());
        let touched = self.listed_before(request).is_some_and(|before| all_of_several(&before.changes(page)));
        let mut walk = self.listing.take().filter(|walk| walk.goes_on(request)).unwrap_or_default();
        for (id, updated) in entries(page) {
            if walk.seen.len() < MOST_LISTED {
                walk.seen.insert(id.to_owned(), updated.map(str::to_owned));
            }
            if self.listed.len() < MOST_LISTED {
                self.listed.insert(id.to_owned());
            }
        }
        let sessions = page.member("sessions").and_then(Value::as_array).into_iter().flatten();
        let text = |entry: &Value, name: &str| Some(entry.member(name)?.as_str()?.to_owned());
        let cwds = sessions.filter_map(|entry| Some((text(entry, "sessionId")?, text(entry, "cwd")?)));
        self.listed_cwds.extend(cwds.filter(|(id, _)| self.listed.contains(id)));
        let filter = request.text("cwd").map(str::to_owned);
        self.listing = Some(Listing { n, us, filter, next, quiet: true, touched: touched || walk.touched, ..walk });
    }

    /// Records a message that may change the content of a listing. A list of commands says nothing about the activity in a session,
    /// and often comes some time after the session.
    pub(super) fn stir_by(&mut self, method: &str, update: Option<&Update<'_>>) {
        let of_commands = update.is_some_and(|update| update.variant == "available_commands_update");
        let changes = method != "session/list" && !method.starts_with('_') && !of_commands;
        if let Some(listing) = self.listing.as_mut().filter(|_| changes) {
            listing.quiet = false;
        }
    }
}
