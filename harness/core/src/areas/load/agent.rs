//! Area `load`: the request, what comes before and after its response, and the turns after it.

use super::{AGENT, LOAD, USER};
use crate::areas::common::{
    decide_continues, decide_implemented, is_history, note_null, plain, repeats_history, rest_of_begun,
};
use crate::areas::remembered::decide_remembers;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Opening, Session, UpdateSeen, is_final};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("load.implemented", On::Response(implemented)).alone().only(&[LOAD]),
    Check::agent("load.replay-before-response", On::Update(replay_before_response)),
    Check::agent("load.replay-before-response", On::Response(replay_then_response)).only(&[LOAD]),
    Check::agent("load.replay-session-id", On::Update(replay_session_id)),
    Check::agent("load.replay-valid", On::Update(replay_valid)),
    Check::agent("load.message-ids-unique", On::Update(message_ids_unique)).only(&[
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
    ]),
    Check::agent("load.no-notice-replay", On::Update(notice_replayed)).only(&["notice"]),
    Check::agent("load.no-notice-replay", On::Response(notices_left_out)).only(&[LOAD]),
    Check::agent("load.result-shape", On::Response(result_shape)).alone().only(&[LOAD]),
    Check::agent("load.continues", On::Response(continues)).only(&["session/prompt"]),
];

/// "Agents that support the `loadSession` capability allow Clients to resume previous conversations."
///
/// Correct but unusual: the agent does not find the session, or requires a login first. Only -32601 fails; any other
/// error is inconclusive.
fn implemented(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if ctx.conversation.agent_has(Feature::Method(LOAD)) {
        decide_implemented(answer, LOAD, ruling);
    }
}

/// "When all the conversation entries have been streamed to the Client, the Agent MUST respond": no history follows.
///
/// Correct but unusual: a live greeting follows, in pieces as short as a word, perhaps one that also began the message
/// of an earlier turn; or another client of the same session writes something new. Only text of the known history that
/// was not replayed before fails, and a user's message if nothing was replayed. While a second load of the session is
/// open, its replay may follow.
fn replay_before_response(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|_| is_history(update.variant)) else { return };
    let Some((Opening::Load, response)) = session.reopened else { return };
    if session.turn.is_some() || session.loading.is_some() || session.deleted {
        return;
    }
    let text = plain(update.text().unwrap_or_default());
    let replayed =
        session.replay.iter().any(|(variant, shown)| variant == update.variant && plain(shown).contains(&text));
    let whole = !ctx.conversation.holes.anywhere;
    let unknown = whole && session.opening != Opening::New && session.replay.is_empty() && update.variant == USER;
    let has_replay = |rest: String| session.replay.iter().any(|(_, shown)| plain(shown).contains(&rest));
    let is_greeting = rest_of_begun(session, update).is_some_and(has_replay);
    if unknown || repeats_history(ctx, session, update) && !replayed && !is_greeting {
        ruling.proved_by(&[response]).fail(fact!(
            "replay-after-response",
            "the agent replayed {update} after its response to {method}; expected it before the response",
            update = update.variant, method = LOAD; session_id = update.session, pointer = "/params/update"
        ));
    } else {
        ruling.proved_by(&[response]).inconclusive(fact!(
            "update-after-response",
            "the agent sent {update} after its response to {method} and before any prompt",
            update = update.variant, method = LOAD; session_id = update.session, pointer = "/params/update"
        ));
    }
}

/// Passes when a response comes after history.
fn replay_then_response(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let session = answer.result_of(LOAD).and_then(|(exchange, _)| ctx.conversation.session(exchange.session()?));
    if session.is_some_and(|session| !session.replay.is_empty()) {
        ruling.pass();
    }
}

/// The replay names the session that is being loaded.
///
/// Correct but unusual: another session has a turn, is created, or is opened at the same time by a method that this
/// edition does not define. History for a session that is known or may be known then decides nothing.
fn replay_session_id(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let mut open = conversation.open_of(ctx.from.other());
    let Some(load) = open.find(|open| open.method == LOAD && !open.deliberate) else { return };
    match update.known {
        _ if !is_history(update.variant) => {}
        Some(session) if session.loading.is_some() => ruling.pass(),
        Some(_) => {}
        None if conversation.open_of(ctx.from.other()).any(|open| open.method == "session/new") => {}
        // Children that the replay announced have ids of their own.
        None if conversation.children.contains_key(update.session) => {}
        None if conversation.may_open_otherwise() || conversation.announced_sessions.contains(update.session) => {}
        None => ruling.proved_by(&[load.n]).fail(fact!(
            "wrong-session",
            "the agent replayed {update} for the unknown session `{session_id}`; expected `{expected}`",
            update = update.variant, session_id = update.session, expected = load.session();
            pointer = "/params/sessionId"
        )),
    }
}

/// The replay consists of ordinary updates; a tool call is created before it is updated.
///
/// Correct but unusual: a live report on an earlier call crosses the request, before the replay begins, or comes in the
/// middle of the replay since the call still runs. Both are inconclusive.
fn replay_valid(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = update.known.filter(|session| session.turn.is_none());
    let loading = |session: &&Session| session.loading.is_some() && !session.deleted;
    let Some(session) = session.filter(|session| loading(session) && is_history(update.variant)) else {
        return;
    };
    let id = update.body.text("toolCallId");
    match id.filter(|_| update.variant == "tool_call_update") {
        Some(id) if !session.tools.contains_key(id) => {
            let fact = fact!(
                "unknown-tool-call",
                "the agent replayed an update of the unknown tool call `{tool_call_id}`; expected its tool_call first",
                tool_call_id = id; pointer = "/params/update/toolCallId"
            );
            let begun = !session.replay.is_empty() || !session.tools.is_empty();
            match session.earlier_tools.get(id) {
                Some((status, _)) if !begun || !is_final(status) => ruling.inconclusive(fact),
                _ => ruling.fail(fact),
            }
        }
        _ => ruling.pass(),
    }
}

/// "each `messageId` is an opaque, unique identifier for the replayed message": a user's and an agent's message never
/// share one, nor do the answers to two messages of the user.
///
/// Correct but unusual: the replay uses the ids of the live turns again, gives a thought the id of its message, or
/// gives no ids; the agent went on with its message after a second prompt during its turn. So only an id that a user's
/// and an agent's message of one replay share fails, and in a case one that comes again after a message of the user.
fn message_ids_unique(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = update.known.filter(|session| session.loading.is_some() && session.turn.is_none());
    let Some(session) = session.filter(|_| update.variant.ends_with("_chunk") && is_history(update.variant)) else {
        return;
    };
    let Some(id) = update.body.text("messageId") else { return };
    let last = session.loading.and_then(|load| ctx.areas.load.replayed_id(update.session, load, id));
    let follows_user = |place: usize| session.replay[place..].iter().any(|(variant, _)| variant == USER);
    if let Some((_, n)) = last.filter(|(place, _)| update.variant == AGENT && follows_user(*place) && !session.uneven) {
        return ruling.proved_by(&[n]).fail_in_case(fact!(
            "id-of-two-messages",
            "the agent replayed the messageId `{message_id}` again after a message of the user; expected one message \
            per id",
            message_id = id; pointer = "/params/update/messageId"
        ));
    }
    match session.message_ids.get(id) {
        Some((variant, _)) if (variant == USER) != (update.variant == USER) => ruling.fail(fact!(
            "id-of-two-kinds",
            "the agent replayed the messageId `{message_id}` in {actual} after {first}; expected one message per \
            id",
            message_id = id, actual = update.variant, first = variant;
            pointer = "/params/update/messageId"
        )),
        Some(_) => {}
        None if session.message_ids.is_empty() => {}
        None => ruling.pass(),
    }
}

/// "Notices are live events rather than session history": a notice of an earlier turn is no longer live.
fn notice_replayed(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = update.known.filter(|_| update.variant == "notice");
    if session.is_none_or(|session| session.loading.is_none() || session.turn.is_some()) {
        return;
    }
    let title = update.body.text("title").unwrap_or_default();
    if ctx.areas.load.notices(update.session).any(|notice| notice == title) {
        ruling.fail(fact!(
            "notice-replayed",
            "the agent sent the notice `{title}` of an earlier turn during {method}; expected no notices in a replay",
            title, method = LOAD; pointer = "/params/update/title"
        ));
    }
}

/// Exercised by loading a session that had a notice.
fn notices_left_out(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let session = answer.result_of(LOAD).and_then(|(exchange, _)| exchange.session());
    if session.is_some_and(|session| ctx.areas.load.notices(session).next().is_some()) {
        ruling.pass();
    }
}

/// The schema requires an object here, the page null.
///
/// Correct but unusual: `null`, or an object whose members are all null. Both pass.
fn result_shape(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    note_null(answer, LOAD, ruling);
}

/// "The Client can then continue sending prompts as if the session was never interrupted."
///
/// See [`decide_continues`] and [`decide_remembers`] for the unusual cases.
fn continues(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    decide_continues(ctx, answer, Opening::Load, ruling);
    decide_remembers(ctx, answer, Opening::Load, ruling);
}
