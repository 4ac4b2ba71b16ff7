//! Area `list`: the pages of `session/list`.

mod state;

use std::collections::BTreeSet;

use serde_json::Value;

pub use self::state::State;
use self::state::all_of_several;
pub(super) use self::state::entries;
use super::common::{BAD_PARAMS, NO_METHOD, NOT_FOUND, decide_absolute, decide_implemented, proper};
use super::support::{last_part, same_path};
use crate::areas::timestamp::timestamp;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::timing::{CURSOR_LIFETIME, NEXT_PAGE, between};
use crate::conversation::{Answer, CallSeen, Exchange, Outcome, Payload};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::{Feature, is_absolute};
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("list.implemented", On::Response(implemented)).alone().only(&[LIST]),
    Check::agent("list.no-match-empty", On::Response(no_match_empty)).only(&[LIST]),
    Check::agent("list.cwd-filter", On::Response(cwd_filter)).only(&[LIST]),
    Check::agent("list.entry-shape", On::Payload(entry_cwd)).only(&["session/list"]),
    Check::agent("list.entry-shape", On::Response(cwd_of_other_session)).only(&[LIST]),
    Check::agent("list.unique-ids", On::Response(unique_ids)).only(&[LIST]),
    Check::agent("list.updated-at", On::Payload(updated_at)).only(&["session/list"]),
    Check::agent("list.most-recent-first", On::Response(most_recent_first)).alone().only(&[LIST]),
    Check::agent("list.cursor-accepted", On::Response(cursor_accepted)).only(&[LIST]),
    Check::agent("list.read-only", On::Response(read_only)).only(&[LIST]),
    Check::agent("list.params-optional", On::Response(params_optional)).only(&[LIST]),
    Check::client("list.cwd-absolute", On::Call(filter_absolute)).alone().only(&[LIST]),
    Check::client("list.cursor-opaque", On::Call(cursor_opaque)).only(&[LIST]),
    Check::client("list.cursor-opaque", On::CaseEnd(empty_cursor_left_in_v1)),
    Check::client("list.empty-cursor", On::Call(empty_cursor_followed)).only(&[LIST]),
    Check::client("list.empty-cursor", On::CaseEnd(empty_cursor_left)),
    Check::client("list.cwd-kept", On::Call(cwd_kept)).only(&[LIST]),
];

const LIST: &str = "session/list";
const CAPABILITY: Feature<'static> = Feature::Method("session/list");

/// "The Agent MUST respond with a list of sessions"; the table of shapes checks its type, unless it is null. Separate
/// requirements cover the single params.
///
/// Correct but unusual: an empty list, an agent that requires a login first, or a store that cannot be read. Only
/// -32601 and a result without a list fail.
fn implemented(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let Some((_, Value::Null)) = answer.result_of(LIST) {
        ruling.fail(fact!(
            "null-result",
            "the agent answered {method} with null; expected an object",
            method = LIST; pointer = "/result"
        ));
    } else if ctx.conversation.agent_has(CAPABILITY) && answer.outcome.error_code() != Some(BAD_PARAMS) {
        let good = matches!(answer.outcome, Outcome::Result(result) if !result["sessions"].is_array());
        if !good {
            decide_implemented(answer, LIST, ruling);
        }
    }
}

/// Returns the request and the page, if the answer is one.
fn page<'m>(answer: &Answer<'m>) -> Option<(&'m Exchange, &'m Value)> {
    answer.result_of(LIST).filter(|(exchange, _)| !exchange.deliberate)
}

/// "When no sessions match the criteria, the Agent MUST return an empty `sessions` array."
///
/// Correct but unusual: the agent still lists a session for the filter, since a link or an earlier run has it there.
/// Only a `sessions` that is null or missing fails.
fn no_match_empty(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = page(answer) else { return };
    let Some(filter) = exchange.text("cwd") else { return };
    let matched = ctx.conversation.sessions.values().any(|session| session.cwd == filter);
    match result.member("sessions") {
        Some(Value::Array(sessions)) if sessions.is_empty() => ruling.pass(),
        None | Some(Value::Null) if !matched => ruling.proved_by(&[exchange.n]).fail(fact!(
            "sessions-missing",
            "the agent listed no sessions for the cwd `{cwd}`; expected an empty list, not null or no member",
            cwd = filter; pointer = "/result/sessions"
        )),
        _ => {}
    }
}

/// "Only sessions with a matching `cwd` are returned."
///
/// Correct but unusual: the directory has several names by links, or its path has another case or a slash at its end.
/// So only a directory of another name fails, and only in a case, whose directories are not links.
fn cwd_filter(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = page(answer) else { return };
    let Some(filter) = exchange.text("cwd") else { return };
    let trim = |path: &str| path.trim_end_matches(['/', '\\']).to_owned();
    for entry in result.list("sessions") {
        let text = |name: &str| entry.text(name).unwrap_or_default();
        let (id, cwd) = (text("sessionId"), text("cwd"));
        let given = ctx.conversation.session(id).map(|session| session.cwd.as_str());
        match given {
            _ if trim(cwd) == trim(filter) => ruling.pass(),
            _ if cwd.is_empty() => {}
            Some(given) if ctx.conversation.whole && last_part(given) != last_part(filter) && !given.is_empty() => {
                ruling.proved_by(&[exchange.n]).fail(fact!(
                    "session-of-other-cwd",
                    "the agent listed `{session_id}` of `{actual}`; expected only sessions of `{expected}`",
                    session_id = id, actual = given, expected = filter; pointer = "/result/sessions"
                ));
            }
            // With symbolic links, the same directory has several names.
            _ => ruling.proved_by(&[exchange.n]).inconclusive(fact!(
                "other-cwd",
                "the agent listed `{session_id}` with the cwd `{actual}` for the filter `{expected}`, perhaps \
                the same place",
                session_id = id, actual = cwd, expected = filter;
                pointer = "/result/sessions"
            )),
        }
    }
}

/// "Working directory for the session": not that of another one.
///
/// Correct but unusual: a session that was opened again elsewhere, a directory with several names by links, and an
/// agent that reports the root of a project. So only the directory of another session fails, in a case, if it has
/// another name and is not a parent of the session's own. An id that is listed twice fails elsewhere.
fn cwd_of_other_session(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let Some((exchange, result)) = page(answer).filter(|_| conversation.whole) else { return };
    let ids: Vec<&str> = entries(result).map(|(id, _)| id).collect();
    for (at, entry) in result.list("sessions").iter().enumerate() {
        let text = |name: &str| entry.text(name).unwrap_or_default();
        let (id, cwd) = (text("sessionId"), text("cwd"));
        let session = conversation.session(id).filter(|session| !session.was_reopened && is_absolute(&session.cwd));
        let is_sole = ids.iter().filter(|other| **other == id).count() == 1;
        let Some(own) = session.filter(|_| is_sole).map(|session| session.cwd.as_str()) else { continue };
        if last_part(own) == last_part(cwd) || own.to_lowercase().starts_with(&cwd.to_lowercase()) {
            continue;
        }
        if let Some(other) = conversation.sessions.values().find(|other| same_path(&other.cwd, cwd)) {
            ruling.proved_by(&[exchange.n, session.map_or(other.known, |session| session.known)]).fail(fact!(
                "cwd-of-other-session",
                "the agent listed `{session_id}` with the cwd `{actual}` of another session; expected `{expected}`",
                session_id = id, actual = cwd, expected = own;
                pointer = format!("/result/sessions/{at}/cwd")
            ));
        }
    }
}

/// "Working directory for the session. Always an absolute path."
///
/// Correct but unusual: a path of Windows, or a relative one that the client used.
fn entry_cwd(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (at, entry) in payload.places("SessionInfo") {
        if let Some(cwd) = entry.text("cwd") {
            let pointer = payload.pointer(at) + "/cwd";
            decide_absolute(ctx, entry.text("sessionId"), (payload.method, &pointer), cwd, ruling);
        }
    }
}

/// A session is in a listing once; it may move to another page while other things happen.
///
/// Correct but unusual: between two pages a session moves since its `updatedAt` changes, another process writes to the
/// same store, or the client asks with another filter. A session on two pages fails only in a case, without other
/// events between the pages, with the same `updatedAt` or without one on both.
fn unique_ids(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = page(answer) else { return };
    let walk = ctx.areas.list.walk.as_ref().filter(|walk| walk.goes_on(exchange));
    let mut here = BTreeSet::new();
    let doubled = entries(result).map(|(id, _)| id).find(|id| !here.insert(*id));
    let again: Vec<&str> =
        here.iter().copied().filter(|id| walk.is_some_and(|walk| walk.seen.contains_key(*id))).collect();
    match (doubled, again.as_slice()) {
        (Some(id), _) => ruling.proved_by(&[exchange.n]).fail(fact!(
            "listed-twice",
            "the agent listed `{session_id}` twice on a page; expected each session once",
            session_id = id; pointer = "/result/sessions"
        )),
        // All of several entries are old: the page was repeated, and `list.cursor-accepted` reports that.
        (None, all) if !all.is_empty() && all.len() == here.len() && is_repeated(exchange, result, all) => {}
        (None, [id, ..]) => {
            let now = entries(result).find(|(entry, _)| entry == id).and_then(|(_, updated)| updated);
            let still =
                walk.is_some_and(|walk| walk.quiet && walk.seen.get(*id).is_some_and(|then| then.as_deref() == now));
            repeated(id, still && ctx.conversation.whole, exchange, ruling);
        }
        (None, []) if here.len() > 1 || walk.is_some() && !here.is_empty() => ruling.pass(),
        (None, []) => {}
    }
}

/// Whether the entries of a page, which are all old, show that the page itself was repeated.
fn is_repeated(exchange: &Exchange, result: &Value, entries: &[&str]) -> bool {
    entries.len() > 1 || result.text("nextCursor") == exchange.text("cursor")
}

fn repeated(id: &str, certain: bool, exchange: &Exchange, ruling: &mut Ruling<'_>) {
    if certain {
        ruling.proved_by(&[exchange.n]).fail(fact!(
            "listed-on-two-pages",
            "the agent listed `{session_id}` on two pages; expected each session once",
            session_id = id; pointer = "/result/sessions"
        ));
    } else {
        ruling.proved_by(&[exchange.n]).inconclusive(fact!(
            "moved-between-pages",
            "the agent listed `{session_id}` on two pages; it may have moved between them",
            session_id = id; pointer = "/result/sessions"
        ));
    }
}

/// "ISO 8601 timestamp of the last activity in the session."
///
/// Correct but unusual: null, a date without a time, a week date, the basic form, a comma before the fraction.
///
/// Version 2 asks for a timestamp of RFC 3339, which has a time and a zone.
fn updated_at(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for member in payload.members(&[("SessionInfo", "updatedAt")]) {
        if let Some(time) = member.value.as_str() {
            let (good, form) = timestamp(ctx.conversation.edition, time);
            ruling.decide(good, || {
                fact!(
                    "invalid-timestamp",
                    "the agent sent the updatedAt `{actual}`; expected {expected} timestamp",
                    actual = time, expected = form; method = payload.method, pointer = payload.pointer(&member.at())
                )
            });
        }
    }
}

/// "Agents SHOULD return the sessions with the most recent activity first."
///
/// Correct but unusual: sessions with equal times or without one, and activity between two pages. Only the times on one
/// page are compared.
fn most_recent_first(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = page(answer) else { return };
    let times = entries(result).filter_map(|(id, updated)| Some((id, updated?.parse::<jiff::Timestamp>().ok()?)));
    let times: Vec<_> = times.collect();
    let late = times.windows(2).find(|pair| pair[1].1 > pair[0].1);
    if let Some([(before, _), (after, _)]) = late {
        ruling.proved_by(&[exchange.n]).fail(fact!(
            "older-session-first",
            "the agent listed `{before}` before `{after}`, which was active later; expected the most recent first",
            before, after; pointer = "/result/sessions"
        ));
    } else if times.first().map(|(_, first)| first) != times.last().map(|(_, last)| last) {
        ruling.pass();
    }
}

/// "If present, pass this in the next request's `cursor` parameter to fetch the next page."
///
/// Correct but unusual: the cursor is bound to its filter, expires after a while, or the store fails. A refusal fails
/// only with the same filter, within a minute, and with a code for a wrong request. A last page with a single session
/// that moved there from an earlier page is inconclusive.
fn cursor_accepted(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, LIST) else { return };
    let Some(walk) = ctx.areas.list.walk.as_ref().filter(|walk| walk.goes_on(exchange)) else { return };
    let Outcome::Result(result) = answer.outcome else {
        let blamed = matches!(answer.outcome.error_code(), Some(-32600 | BAD_PARAMS | NOT_FOUND | NO_METHOD));
        let soon = between(walk.us, exchange.us) < CURSOR_LIFETIME;
        return if blamed && walk.quiet && soon {
            ruling.proved_by(&[exchange.n, walk.n]).fail(fact!(
                "cursor-refused",
                "the agent answered the cursor of its last page with {answer}; expected the next page",
                answer = answer.outcome.describe(); code = answer.outcome.error_code(), cursor = exchange.text("cursor")
            ));
        } else {
            ruling.proved_by(&[exchange.n, walk.n]).inconclusive(fact!(
                "error-response",
                "the agent answered the cursor of its last page with {answer}, which may have another reason",
                answer = answer.outcome.describe(); code = answer.outcome.error_code(), cursor = exchange.text("cursor")
            ));
        };
    };
    let ids: Vec<&str> = entries(result).map(|(id, _)| id).collect();
    if !ids.is_empty() && ids.iter().all(|id| walk.seen.contains_key(*id)) {
        let fact = fact!(
            "page-repeated",
            "the agent answered a cursor with sessions of earlier pages alone; expected the next page";
            cursor = exchange.text("cursor"), pointer = "/result/sessions"
        );
        if walk.quiet && is_repeated(exchange, result, &ids) {
            ruling.proved_by(&[exchange.n, walk.n]).fail(fact);
        } else {
            ruling.proved_by(&[exchange.n]).inconclusive(fact);
        }
    } else {
        ruling.pass();
    }
}

/// It "does not restore or modify sessions": with nothing in between, two listings are equal. A single entry may have
/// changed by itself, and all of several at one time, so only all of several in each of two listings in a row count.
///
/// Correct but unusual: one session is busy, or a maintenance task changes all of them once.
fn read_only(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = page(answer) else { return };
    let Some(before) = ctx.areas.list.listed_before(ctx.conversation, exchange) else { return };
    let changed = before.changes(result);
    if changed.is_empty() {
        return;
    }
    if !changed.contains(&true) {
        ruling.pass();
    } else if before.touched && all_of_several(&changed) {
        ruling.proved_by(&[exchange.n, before.n]).fail(fact!(
            "listing-changes-all",
            "the agent changed `updatedAt` of every session with each listing; expected no change";
            pointer = "/result/sessions"
        ));
    } else {
        ruling.proved_by(&[exchange.n, before.n]).inconclusive(fact!(
            "changed-between-listings",
            "the agent listed another `updatedAt` of a session than before, perhaps for another reason";
            pointer = "/result/sessions"
        ));
    }
}

/// "All parameters are optional."
///
/// Correct but unusual: the agent refuses a member that the protocol does not define, or a `cwd` that is not a string.
/// Only a refusal of params that the schema allows fails.
fn params_optional(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, LIST).filter(|exchange| exchange.params.is_object()) else { return };
    let good = |(name, value): (&String, &Value)| match name.as_str() {
        "cwd" => value.is_null() || value.as_str().is_some_and(is_absolute),
        "cursor" => value.is_null(),
        "_meta" => true,
        _ => false,
    };
    match answer.outcome.error_code() {
        Some(BAD_PARAMS) if exchange.params.as_object().is_some_and(|params| params.iter().all(good)) => {
            ruling.proved_by(&[exchange.n]).fail(fact!(
                "params-refused",
                "the agent answered {method} with the params {params} with {answer}; expected a list",
                method = LIST, params = exchange.params, answer = answer.outcome.describe(); code = BAD_PARAMS
            ));
        }
        None if matches!(answer.outcome, Outcome::Result(_)) && ctx.conversation.agent_has(CAPABILITY) => ruling.pass(),
        _ => {}
    }
}

/// The filter by working directory "Must be an absolute path".
///
/// Correct but unusual: null, which means no filter, or a path of Windows.
fn filter_absolute(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(cwd) = call.text_of(LIST, "cwd") {
        ruling.decide(is_absolute(cwd), || {
            fact!(
                "relative-path",
                "the client sent the relative path `{path}` in {method} at {pointer}; expected an absolute path",
                path = cwd,
                method = LIST,
                pointer = "/params/cwd"
            )
        });
    }
}

/// "Opaque cursor token from a previous response's `nextCursor` field": as it was received, on this connection.
///
/// Correct but unusual: the client goes back to an earlier page, walks two lists at the same time, or asks for a page
/// again. Every cursor from this connection is valid. "Do not … persist them" forbids one from an earlier connection.
fn cursor_opaque(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(cursor) = call.text_of(LIST, "cursor") else { return };
    let conversation = ctx.conversation;
    let last = ctx.areas.list.walk.as_ref().map(|walk| walk.n);
    if ctx.areas.list.cursors.contains(cursor) {
        ruling.pass();
    } else if last.is_some_and(|n| conversation.deliberate.contains(&n)) {
        ruling.proved_by(last.as_slice()).inconclusive(fact!(
            "cursor-after-deliberate-fault",
            "the client sent the unknown cursor `{cursor}` after a deliberately wrong page",
            cursor; pointer = "/params/cursor"
        ));
    } else if conversation.initialize.is_some() {
        ruling.proved_by(last.as_slice()).fail(fact!(
            "unknown-cursor",
            "the client sent the cursor `{cursor}`; expected a nextCursor of this connection",
            cursor; pointer = "/params/cursor"
        ));
    }
}

/// As above, for an empty cursor: only a page without `nextCursor` is the last one.
///
/// Correct but unusual: a client that shows a page at a time, and asks for the next one when its user wants it. So this
/// one followed every other cursor, of which there were several; and it was silent for [`NEXT_PAGE`], and answered a
/// request meanwhile.
fn empty_cursor_left(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let list = &ctx.areas.list;
    let Some(walk) = list.walk.as_ref().filter(|walk| walk.next.as_deref() == Some("")) else { return };
    let was_served = ctx.conversation.fence.is_some_and(|fence| fence > walk.n);
    let is_silent = between(walk.us, ctx.us) > NEXT_PAGE && ctx.conversation.is_of_case(walk.n);
    if list.followed > 1 && !list.has_left && was_served && is_silent {
        ruling.proved_by(&[walk.n]).fail_in_case(fact!(
            "empty-cursor-left",
            "the client asked for no page after one with an empty nextCursor, and followed all others; expected a \
            request for the next page"
        ));
    }
}

/// As above; version 2 has a requirement of its own for it.
fn empty_cursor_left_in_v1(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    if ctx.conversation.edition.major == 1 {
        empty_cursor_left(ctx, ruling);
    }
}

/// "An empty string cursor is a valid cursor".
fn empty_cursor_followed(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let next = ctx.areas.list.walk.as_ref().and_then(|walk| walk.next.as_deref());
    if next == Some("") && call.text_of(LIST, "cursor") == Some("") {
        ruling.pass();
    }
}

/// The filter by working directory: "Clients keep the same value when following `nextCursor`".
///
/// Correct but unusual: null instead of no member, and a cursor of an earlier walk, whose filter is not remembered.
fn cwd_kept(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(cursor) = call.text_of(LIST, "cursor") else { return };
    let Some(walk) = ctx.areas.list.walk.as_ref().filter(|walk| walk.next.as_deref() == Some(cursor)) else { return };
    let (kept, now) = (walk.filter.as_deref(), call.text("cwd"));
    if kept != now {
        ruling.proved_by(&[walk.n]).fail(fact!(
            "filter-changed",
            "the client sent the cursor of a page for {expected} with {actual}; expected the same cwd",
            expected = kept.map_or_else(|| "all sessions".to_owned(), |cwd| format!("the cwd `{cwd}`")),
            actual = now.map_or_else(|| "no cwd".to_owned(), |cwd| format!("the cwd `{cwd}`"));
            pointer = "/params/cwd"
        ));
    } else if kept.is_some() {
        ruling.pass();
    }
}
