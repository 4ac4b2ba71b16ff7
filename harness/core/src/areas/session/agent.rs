//! The agent's half of the areas `session` and `update`: sessions, and the updates that name them.

use serde_json::Value;

use crate::areas::remembered::decide_own_history;
use crate::areas::timestamp::timestamp;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, CallSeen, Conversation, Opening, Session, ToolCall, UpdateSeen};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::protocol::{Feature, Kind};
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("session.new.returns-id", On::Response(returns_id)).alone().only(&["session/new"]),
    Check::agent("session.new.unique-id", On::Response(unique_id)).only(&["session/new"]),
    Check::agent("session.new.independent", On::Response(independent)).only(&["session/load", "session/resume"]),
    Check::agent("session.new.independent", On::CaseEnd(question_elsewhere)),
    Check::agent("session.new.independent", On::Response(decide_own_history)).only(&["session/prompt"]),
    Check::agent("session.unknown-id", On::Response(unknown_id)).only(&[
        "session/prompt",
        "session/set_mode",
        "session/set_config_option",
    ]),
    Check::agent("session.update-after-new", On::Response(update_after_new)).only(&["session/new"]),
    Check::agent("update.session-known", On::Update(update_session_known)),
    Check::agent("update.session-known", On::End(unknown_sessions_stayed)),
    Check::agent("update.session-known", On::Call(request_session_known_v2)).only(REQUESTS),
    Check::agent("update.is-notification", On::Call(update_is_notification)).alone().only(&["session/update"]),
    Check::agent("permission.session-known", On::Call(permission_session_known)).only(&["session/request_permission"]),
    Check::agent("usage.currency", On::Update(usage_currency)).alone().only(&["usage_update"]),
    Check::agent("info.partial", On::Update(info_partial)).alone().only(&["session_info_update"]),
    Check::agent("info.updated-at", On::Update(info_updated_at)).alone().only(&["session_info_update"]),
];

/// "The Agent MUST respond with a unique Session ID": a result that is null or has an empty id names no session.
///
/// Correct but unusual: an id of blanks, of a thousand letters, or in another script. Only an empty text fails.
fn returns_id(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("session/new") else { return };
    if result.is_null() {
        ruling.fail(fact!(
            "null-result",
            "the agent answered session/new with null; expected an object with a session id";
            pointer = "/result"
        ));
    } else if result.text("sessionId") == Some("") {
        ruling.fail(
            fact!("empty-id", "the agent answered session/new with an empty session id"; pointer = "/result/sessionId"),
        );
    }
}

/// "The Agent MUST respond with a unique Session ID that identifies this conversation."
///
/// Correct but unusual: the agent reuses the id of a session that was closed or deleted. That is inconclusive.
fn unique_id(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of("session/new") else { return };
    let Some(id) = result.text("sessionId").filter(|id| !id.is_empty()) else { return };
    match ctx.conversation.session(id) {
        Some(other) => {
            let fact = fact!(
                "id-reused",
                "the agent answered session/new with `{session_id}`, the id of another session; expected a new id",
                session_id = id;
                pointer = "/result/sessionId"
            );
            let also = [other.known, exchange.n];
            ruling.proved_by(&also).fail_unless(other.was_ended, fact);
        }
        None if !ctx.conversation.sessions.is_empty() => ruling.pass(),
        None => {}
    }
}

/// "Each session maintains its own context, conversation history, and state": a mode that was chosen for one session
/// does not appear in another that had a different one and was not changed.
///
/// Correct but unusual: a reopened session is in the default mode, or in one that the client did not choose. An agent
/// may also keep the mode that was chosen last as its default, or change it in a turn. So the mode that was chosen for
/// another session fails only when a session that was created after that choice began in another mode, and the reopened
/// one had no turn.
fn independent(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of("session/resume").or(answer.result_of("session/load")) else {
        return;
    };
    let mode = |state: &Value| Some(state.text("currentModeId")?.to_owned());
    let Some((id, now)) = exchange.session().zip(result.member("modes").and_then(mode)) else { return };
    let before = ctx.conversation.session(id).and_then(|session| mode(session.modes.as_ref()?));
    let others = ctx.conversation.sessions.iter().filter(|(other, _)| *other != id);
    let mut chosen =
        others.filter_map(|(_, other)| other.mode_set.as_ref().filter(|set| Some(&set.mode) != before.as_ref()));
    match before {
        Some(ref before) if *before == now && chosen.next().is_some() => ruling.pass(),
        Some(ref before) if *before != now => {
            if let Some(set) = chosen.find(|set| set.mode == now) {
                let shared = || {
                    fact!(
                        "mode-of-another-session",
                        "the agent reports the mode `{actual}`, which the client chose for another session; expected \
                        `{expected}`",
                        actual = now, expected = before;
                        session_id = id
                    )
                };
                let maybe_own = || {
                    fact!(
                        "mode-maybe-own",
                        "the agent reports the mode `{actual}`, chosen for another session; it may be the default, or a change of its own; \
                         expected `{expected}`",
                        actual = now, expected = before;
                        session_id = id
                    )
                };
                let mut newer = ctx.conversation.sessions.values();
                let begins_elsewhere = newer.any(|session| {
                    session.opening == Opening::New
                        && session.known > set.n
                        && session.first_mode.as_ref().is_some_and(|mode| *mode != set.mode)
                });
                // In a turn, an agent may change the mode itself, and telling the client is only a SHOULD.
                let had_turn =
                    ctx.conversation.session(id).is_some_and(|own| own.prompts > own.mode_kept.unwrap_or_default());
                match begins_elsewhere && !had_turn {
                    true => ruling.proved_by(&[set.n, exchange.n]).fail(shared()),
                    false => ruling.proved_by(&[set.n, exchange.n]).inconclusive(maybe_own()),
                }
            }
        }
        _ => {}
    }
}

/// "Each session maintains its own context": a permission is requested in the session whose turn makes the tool call.
///
/// Correct but unusual: ids of tool calls that are unique in their session only, and tool calls that are reported after
/// the request or never. So the request names a running call of another session, which never asks for it, and its own
/// session never reports it although the agent reported another call for which it asked.
fn question_elsewhere(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let sessions = &ctx.conversation.sessions;
    let mut tools = sessions.values().flat_map(|session| session.tools.values());
    let is_of_case = |tool: &ToolCall| tool.permissions.iter().any(|question| ctx.conversation.is_of_case(question.n));
    if !tools.any(|tool| tool.reported && is_of_case(tool)) {
        return;
    }
    // Without a turn elsewhere, no question can go to a wrong session.
    let has_turn = |session: &&Session| session.log.as_ref().is_some_and(|log| ctx.conversation.is_of_case(log.n));
    if sessions.values().filter(has_turn).count() > 1 {
        ruling.pass();
    }
    for (id, session) in sessions {
        for (tool_call_id, asked) in session.tools.iter().filter(|(_, tool)| !tool.reported && is_of_case(tool)) {
            let Some(question) = asked.permissions.first() else { continue };
            let is_alike = |tool: &ToolCall| asked.title.is_empty() || tool.title == asked.title;
            let is_its_own =
                |tool: &ToolCall| tool.reported && tool.permissions.is_empty() && is_alike(tool) && tool.n < question.n;
            let mut others = sessions.iter().filter(|(other, _)| *other != id);
            let owner = others.find_map(|(other, session)| Some((other, session.tools.get(tool_call_id)?)));
            if let Some((other, tool)) = owner.filter(|(_, tool)| is_its_own(tool)) {
                ruling.proved_by(&[tool.n, question.n]).fail(fact!(
                    "question-in-other-session",
                    "the agent requested permission in the session `{actual}` for the tool call `{tool_call_id}` of the \
                    session `{expected}`; expected the request in its own session",
                    actual = id, tool_call_id, expected = other;
                    pointer = "/params/sessionId"
                ));
            }
        }
    }
}

/// An agent cannot serve prompts or settings for an unknown session.
fn unknown_id(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate) else { return };
    let concerned =
        matches!(exchange.method.as_str(), "session/prompt" | "session/set_mode" | "session/set_config_option");
    let Some(id) = exchange.session().filter(|id| concerned && conversation.session(id).is_none()) else { return };
    let stored = ["session/load", "session/resume", "session/list"].map(Feature::Method);
    match answer.outcome.error_code() {
        _ if conversation.initialized.is_none() => {}
        Some(code) => {
            if !matches!(code, -32002 | -32602) {
                ruling.note(fact!(
                    "other-code",
                    "the agent refused {method} of an unknown session with error {code}; expected {expected}",
                    method = exchange.method,
                    code,
                    expected = -32002
                ));
            }
            ruling.pass();
        }
        // An agent that stores sessions may know one from another connection.
        None if stored.into_iter().any(|feature| conversation.agent_has(feature)) => {
            ruling.proved_by(&[exchange.n]).inconclusive(fact!(
                "session-from-elsewhere",
                "the agent accepted {method} for the session `{session_id}`, which was not opened on this \
                connection",
                method = exchange.method,
                session_id = id
            ));
        }
        None => ruling.proved_by(&[exchange.n]).fail(fact!(
            "unknown-session-accepted",
            "the agent accepted {method} for the unknown session `{session_id}`; expected an error",
            method = exchange.method,
            session_id = id
        )),
    }
}

/// The client learns the id of a new session by the answer, and cannot attribute an update before it.
fn update_after_new(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of("session/new") else { return };
    let Some(id) = result.text("sessionId") else { return };
    match ctx.conversation.unknown_sessions.get(id) {
        Some(&early) => ruling.proved_by(&[early, exchange.n]).fail(fact!(
            "update-before-response",
            "the agent sent an update for the new session `{session_id}` before the response to session/new",
            session_id = id
        )),
        None => ruling.pass(),
    }
}

/// Returns the fact that the client never opened the session that a message names.
fn unknown_session(method: &str, session_id: &str) -> Fact {
    fact!(
        "unknown-session",
        "the agent sent {method} for the session `{session_id}`, which the client did not open",
        method,
        session_id;
        pointer = "/params/sessionId"
    )
}

fn is_being_made(conversation: &Conversation) -> bool {
    conversation.open_of(Party::Client).any(|open| open.method == "session/new")
}

/// An update belongs to a session that the client created, or asked to load or resume.
///
/// Correct but unusual: an update comes before the answer to `session/new` that names its session, or that reports why
/// there is none; a draft method opened the session, or the client named it first. These do not fail. Updates of the
/// session of a subagent, also of one below another subagent or after the turn, pass.
fn update_session_known(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if ctx.conversation.knows_session(update.session) {
        ruling.pass();
    } else if !ctx.conversation.may_know_session(update.session) && !is_being_made(ctx.conversation) {
        ruling.fail(unknown_session("session/update", update.session));
    }
}

/// As above, for an update that came while a session was being created, and was not for that one.
fn unknown_sessions_stayed(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    if is_being_made(ctx.conversation) {
        return;
    }
    let unknown = |id: &str| !ctx.conversation.knows_session(id) && !ctx.conversation.may_know_session(id);
    for (id, &n) in ctx.conversation.unknown_sessions.iter().filter(|(id, _)| unknown(id)) {
        let mut later = ctx.conversation.errors.range(n..).filter(|(_, (method, _))| method == "session/new");
        match later.next() {
            Some((&failed, _)) => ruling.proved_by(&[n, failed]).inconclusive(fact!(
                "session-not-created",
                "the agent sent session/update for `{session_id}`, and session/new failed later",
                session_id = id
            )),
            None => ruling.proved_by(&[n]).fail(unknown_session("session/update", id)),
        }
    }
}

/// `session/update` is a notification.
///
/// Correct but unusual: none known. An `id` of null is also an id.
fn update_is_notification(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.method == "session/update" {
        ruling.decide(call.kind == Kind::Notification, || {
            fact!(
                "update-as-request",
                "the agent sent session/update with an id, as a request; expected a notification";
                pointer = "/id"
            )
        });
    }
}

/// The requests of an agent that name a session, in version 2.
const REQUESTS: &[&str] = &["session/request_permission", "elicitation/create"];

/// In version 2, the annotation `x-scope` says the same of the sessions in requests as of those in updates.
fn request_session_known_v2(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if ctx.conversation.edition.major > 1 && REQUESTS.contains(&call.method) {
        session_of_request_known(ctx, call, ruling);
    }
}

/// In version 1, permission requests have a requirement of their own.
fn permission_session_known(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.method == "session/request_permission" {
        session_of_request_known(ctx, call, ruling);
    }
}

/// A request belongs to a session that the client knows, which may be that of a subagent.
fn session_of_request_known(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = call.text("sessionId").filter(|_| !is_being_made(ctx.conversation)) else { return };
    if ctx.conversation.knows_session(id) {
        ruling.pass();
    } else if !ctx.conversation.may_know_session(id) {
        ruling.fail(unknown_session(call.method, id));
    }
}

/// "currency is an ISO 4217 currency code like \"USD\""; the schema allows other units as well, so those are noted.
fn usage_currency(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let currency = update.body.member("cost").and_then(|cost| cost.member("currency")).and_then(Value::as_str);
    let Some(currency) = currency.filter(|_| update.variant == "usage_update") else { return };
    let iso = currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase());
    if !iso && !currency.trim().is_empty() {
        ruling.note(fact!(
            "unknown-currency",
            "the agent sent the currency `{actual}`; expected an ISO 4217 code",
            actual = currency;
            pointer = "/params/update/cost/currency"
        ));
    }
    ruling.decide(!currency.trim().is_empty(), || {
        fact!(
            "empty-currency",
            "the agent sent an empty currency; expected an ISO 4217 code";
            pointer = "/params/update/cost/currency"
        )
    });
}

/// A `session_info_update` holds the metadata that changed, and not the identity of the session.
fn info_partial(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if update.variant == "session_info_update" {
        let fixed = ["sessionId", "cwd", "additionalDirectories"]
            .into_iter()
            .find(|member| update.body.member(member).is_some());
        ruling.decide(fixed.is_none(), || {
            fact!(
                "identity-in-update",
                "the agent sent a session_info_update with the member `{member}`, which never changes",
                member = fixed;
                pointer = format!("/params/update/{}", fixed.unwrap_or_default())
            )
        });
    }
}

/// `updatedAt`: "ISO 8601 timestamp of last activity. Set to null to clear." Version 2 asks for one of RFC 3339.
fn info_updated_at(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let stamp = update.body.text("updatedAt");
    if let Some(stamp) = stamp.filter(|_| update.variant == "session_info_update") {
        let (good, form) = timestamp(ctx.conversation.edition, stamp);
        ruling.decide(good, || {
            fact!(
                "malformed-timestamp",
                "the agent sent `{actual}` as updatedAt; expected {expected} timestamp",
                actual = stamp, expected = form; pointer = "/params/update/updatedAt"
            )
        });
    }
}
