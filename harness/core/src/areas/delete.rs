//! Area `delete`: sessions that are removed from the list.

use super::common::{LOGIN, decide_implemented, note_null, proper};
use crate::areas::list::entries;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Outcome};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("delete.implemented", On::Response(implemented)).alone().only(&[DELETE]),
    Check::agent("delete.gone-from-list", On::Response(gone_from_list)).only(&["session/list"]),
    Check::agent("delete.idempotent", On::Response(idempotent)).only(&[DELETE]),
];

const DELETE: &str = "session/delete";
const CAPABILITY: Feature<'static> = Feature::Method(DELETE);

/// "Supplying `{}` means the Agent supports the method."
///
/// Correct but unusual: the agent refuses to delete a session that is active or that it does not know. Only -32601
/// fails.
fn implemented(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    note_null(answer, DELETE, ruling);
    if ctx.conversation.agent_has(CAPABILITY) {
        decide_implemented(answer, DELETE, ruling);
    }
}

/// "Deleted sessions no longer appear in future `session/list` results."
///
/// Correct but unusual: the agent keeps listing a session that is still active ("Behavior for deleting an active
/// session is implementation-defined"), lists one that was used again, or continues a listing that began before. These
/// do not fail; a session that was closed before, or not opened on this connection, does.
fn gone_from_list(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, page)) = answer.result_of("session/list") else { return };
    let conversation = ctx.conversation;
    let deleted = |id: &str| conversation.deleted.get(id).filter(|&&answered| exchange.n > answered);
    let mut listed = entries(page).filter_map(|(id, _)| Some((id, *deleted(id)?))).peekable();
    let is_active =
        |id: &str| conversation.session(id).is_some_and(|session| session.closed.is_none() && session.is_introduced());
    let begun_before = |answered: usize| {
        exchange.text("cursor").is_some() && ctx.areas.list.walk.as_ref().is_none_or(|walk| walk.n < answered)
    };
    let may_stay = |id: &str, answered: usize| is_active(id) || begun_before(answered);
    let first = listed.peek().copied();
    // One that had to go may come after others that may stay.
    if let Some((id, answered)) = listed.find(|(id, answered)| !may_stay(id, *answered)).or(first) {
        let fact = fact!(
            "deleted-session-listed",
            "the agent listed the deleted session `{session_id}`; expected it to be gone",
            session_id = id; method = "session/list", pointer = "/result/sessions"
        );
        let has_holes = conversation.holes.anywhere || conversation.holes.sessions;
        ruling.proved_by(&[answered]).fail_unless(may_stay(id, answered) || has_holes, fact);
    } else if page.member("nextCursor").is_none_or(serde_json::Value::is_null)
        && conversation.deleted.keys().any(|id| ctx.areas.list.listed.contains(id) && deleted(id).is_some())
    {
        ruling.pass();
    }
}

/// "Deleting an already-deleted session … SHOULD succeed silently."
fn idempotent(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, DELETE) else { return };
    let Some(first) = exchange.session().and_then(|id| ctx.conversation.deleted.get(id)) else { return };
    match answer.outcome {
        Outcome::Result(_) => ruling.pass(),
        Outcome::Error(_) if answer.outcome.error_code() == Some(LOGIN) => {}
        Outcome::Error(_) => ruling.proved_by(&[exchange.n, *first]).fail(fact!(
            "second-delete-refused",
            "the agent answered a second {method} for one session with {answer}; expected a result",
            method = DELETE, answer = answer.outcome.describe(); code = answer.outcome.error_code()
        )),
    }
}
